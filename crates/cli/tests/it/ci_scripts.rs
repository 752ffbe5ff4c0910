//! The steps of `action.yml`, one after another, as GitHub runs them: their scripts with the real binary and a scripted model. Only `gh`,
//! which would ask GitHub, is a stand-in.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use autonoe_scripted::ScriptedServer;
use autonoe_test_kit::PATH;

use super::support::{CliTestProject, assert_script_followed, model};

const MODEL: &str = r#"
[[conversation]]
name = "plan"
when = "lay the foundation"
plays = 1
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__create", input = { deliverables = [{ id = "A-1", description = "A greeting", acceptanceCriteria = ["it greets"] }] } }]
  [[conversation.turn]]
  text = "Planned."

[[conversation]]
name = "build"
when = "one deliverable"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "echo 'echo hello' > greet.sh && git add greet.sh && git commit -qm 'Add a greeting'" } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A-1", status = "passed" } }]
  [[conversation.turn]]
  text = "Done."
"#;

/// A maintainer has started the workflow; a pull request is written down.
const GH: &str = "#!/bin/sh
case \"$1 $2\" in
    'api repos/o/r/collaborators/ada/permission') echo maintain ;;
    'pr create') for word; do echo \"<$word>\"; done >\"$HOME/asked\"; cat >\"$HOME/body\" ;;
esac
";

/// The checkout of a job, on the default branch, with a remote repository.
struct Checkout {
    project: CliTestProject,
    model: ScriptedServer,
}

impl Checkout {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = CliTestProject::empty();
        for (name, text) in files {
            project.write(name, text);
        }
        let project = project.in_repository();
        let remote = project.home().join("remote.git");
        project.git(&["init", "-q", "--bare", &remote.display().to_string()]);
        project.git(&["remote", "add", "origin", &remote.display().to_string()]);
        project.git(&["push", "-q", "origin", "main"]);
        let programs = project.home().join("programs");
        fs::create_dir(&programs).expect("made");
        symlink(env!("CARGO_BIN_EXE_autonoe"), programs.join("autonoe")).expect("linked");
        fs::write(programs.join("gh"), GH).expect("written");
        fs::set_permissions(programs.join("gh"), fs::Permissions::from_mode(0o755)).expect("executable");
        Self { project, model: model(MODEL) }
    }

    fn step(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = self.command("sh");
        command.arg(top.join("packaging/ci").join(script)).envs(variables.iter().copied());
        command.output().expect("started")
    }

    fn command(&self, program: &str) -> Command {
        let home = self.project.home();
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.project.root()).env("HOME", &home);
        command.env("PATH", format!("{}:{PATH}", home.join("programs").display()));
        command.env("GITHUB_REPOSITORY", "o/r").env("GITHUB_STEP_SUMMARY", home.join("summary.md"));
        command
            .env("ANTHROPIC_API_KEY", "test-key-never-real")
            .env("ANTHROPIC_BASE_URL", self.model.base_url());
        command
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project.home().join(name)).expect(name)
    }

    /// Every step after the specification.
    #[track_caller]
    fn build_and_open(&self) {
        let run = self.step("run.sh", &[("MAX_COST", "5"), ("BACKEND", "native")]);
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert!(self.read("summary.md").contains("A greeting"), "{}", self.read("summary.md"));
        let pr =
            self.command("autonoe").args(["pr", "--yes"]).env("GH_TOKEN", "t").output().expect("started");
        assert_eq!(pr.status.code(), Some(0), "{pr:?}");
        assert!(
            self.read("asked").starts_with("<pr>\n<create>\n<--head>\n<autonoe/1>\n"),
            "{}",
            self.read("asked")
        );
        let remote = self.project.home().join("remote.git");
        let pushed = self.project.git_in(&remote, &["log", "--format=%s", "main..autonoe/1"]);
        assert_eq!(pushed, "Add a greeting");
        assert_script_followed(&self.model);
    }
}

const SPEC: &str = "# Greeting\n\n```check A-1\n$ sh greet.sh\nhello\n```\n";

#[test]
fn a_started_workflow_builds_the_specification_of_the_base_branch() {
    let checkout = Checkout::new(&[("SPEC.md", SPEC)]);
    let started = checkout.step("may-start.sh", &[("ACTOR", "ada")]);
    assert_eq!(started.status.code(), Some(0), "{started:?}");
    let specified = checkout.step("specification.sh", &[("SOURCE", "spec")]);
    assert_eq!(specified.status.code(), Some(0), "{specified:?}");
    checkout.build_and_open();
}

#[test]
fn a_labelled_issue_is_built_without_being_committed() {
    if Command::new("jq").arg("--version").output().is_err() {
        assert!(std::env::var("CI").is_err(), "jq is not installed, so that this was not tested");
        return;
    }
    let checkout = Checkout::new(&[("README.md", "# Greeting\n")]);
    let event = checkout.project.home().join("event.json");
    let body = SPEC.split_once("\n\n").expect("two parts").1;
    let issue = serde_json::json!({"action": "labeled", "issue": {"title": "Greeting", "body": body}});
    fs::write(&event, issue.to_string()).expect("written");
    let variables = [("SOURCE", "issue"), ("GITHUB_EVENT_PATH", event.to_str().expect("UTF-8"))];
    let specified = checkout.step("specification.sh", &variables);
    assert_eq!(specified.status.code(), Some(0), "{specified:?}");
    checkout.build_and_open();
}
