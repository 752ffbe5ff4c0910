//! What checks see outside of their checkouts, on every layer: nothing that agents could have prepared.

use std::fs;

use autonoe_honesty::Layer;
use serde_json::{Value, json};

use super::support::{CliTestProject, RunOutput, always, model};

/// Runs `leave.sh`, and claims.
const LEAVES_AND_CLAIMS: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "bash leave.sh" } }]
  [[conversation.turn]]
  expect = "left"
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done""#;

struct CheckRooms {
    project: CliTestProject,
    layer: Layer,
}

/// A project on each layer of this machine.
fn on_every_layer() -> impl Iterator<Item = CheckRooms> {
    let layers = Layer::bubblewrap().into_iter().chain([Layer::landlock().expect("links")]);
    layers.map(|layer| {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        project.write("leave.sh", "echo left\n");
        CheckRooms { project, layer }
    })
}

impl CheckRooms {
    fn configure(&self, settings: &str) {
        let config = self.project.home().join(".config/autonoe");
        fs::create_dir_all(&config).expect("made");
        fs::write(config.join("config.toml"), settings).expect("written");
    }

    /// Whether each command succeeds as a check, after the session has run `leave.sh`.
    fn claims(&self, commands: &[&str], env: &[(&str, &str)]) -> Vec<bool> {
        let check = |(number, command): (usize, &&str)| -> Value {
            json!({ "name": number.to_string(), "deliverable": "A", "run": command })
        };
        let checks: Vec<Value> = commands.iter().enumerate().map(check).collect();
        self.project.write(".autonoe/checks.json", &json!({ "checks": checks }).to_string());
        let model = model(&always(LEAVES_AND_CLAIMS));
        let mut command = self.project.command(&model, &["run", "-n", "1"]);
        command.env("PATH", self.layer.path()).envs(env.iter().copied());
        let run = RunOutput::from(command.output().expect("started"));
        assert_eq!(model.problems(), Vec::<String>::new(), "{}", run.stderr);
        let claims = run.of_type("checked").filter(|event| event["purpose"] == "claim");
        claims.map(|event| event["passed"] == true).collect()
    }
}

#[test]
fn what_agents_may_write_is_hidden_below_what_may_be_read() {
    for rooms in on_every_layer() {
        let shared = rooms.project.home().join("shared");
        for name in ["cache/deep", "both", "kept"] {
            fs::create_dir_all(shared.join(name)).expect("made");
        }
        fs::write(shared.join("kept/file"), "kept").expect("written");
        let path = |name: &str| shared.join(name).display().to_string();
        rooms.configure(&format!(
            "[sandbox]\nread = ['{}', '{}', '{}']\nwrite = ['{}', '{}']\n",
            shared.display(),
            path("both"),
            path("cache/deep"),
            path("cache"),
            path("both"),
        ));
        let places = ["cache/code", "cache/deep/code", "both/code"].map(path);
        let leave: String = places.iter().map(|place| format!("echo x > '{place}' && ")).collect();
        rooms.project.write("leave.sh", &format!("{leave}echo left\n"));
        let reads = places.map(|place| format!("cat '{place}'"));
        let [kept, absent] = [path("kept/file"), path("kept/no")].map(|file| format!("cat '{file}'"));
        let commands: Vec<&str> = reads.iter().chain([&kept, &absent]).map(String::as_str).collect();
        let claims = rooms.claims(&commands, &[]);
        assert_eq!(claims, [false, false, false, true, false], "{}", rooms.layer.name());
    }
}

#[test]
fn no_program_is_found_where_one_could_be_created() {
    for rooms in on_every_layer() {
        let (agents, linked) = (rooms.project.home().join("agents"), rooms.project.home().join("linked"));
        let users = rooms.project.home().join("users");
        for directory in [&agents, &users] {
            fs::create_dir_all(directory).expect("made");
        }
        std::os::unix::fs::symlink(&users, &linked).expect("linked");
        rooms.configure(&format!("[sandbox]\nwrite = ['{}']\n", agents.display()));
        let usual = rooms.layer.path().display();
        let (agents, linked) = (agents.display(), linked.display());
        let path = format!("/tmp/autonoe-no-such/bin:/dev/shm/autonoe-no-such:{agents}:{linked}:{usual}");
        // Each entry must be there when the check starts, or nowhere that it can be made.
        let entries = "echo \"$PATH\" | (IFS=:; read -r path; for entry in $path; do test -d \"$entry\" || exit 1; done)";
        let has_none = |place: &str| format!("case :$PATH: in *:{place}*) exit 1;; esac");
        let [memory, temporary, written] =
            ["/dev/shm/autonoe", "/tmp/autonoe", &agents.to_string()].map(has_none);
        let has_users = format!("case :$PATH: in *:{}:*) ;; *) exit 1;; esac", users.display());
        let commands = [entries, &memory, &temporary, &written, &has_users];
        assert_eq!(rooms.claims(&commands, &[("PATH", &path)]), [true; 5], "{}", rooms.layer.name());
    }
}

#[test]
fn a_tool_is_not_looked_for_where_it_could_be_created() {
    for rooms in on_every_layer() {
        let java = rooms.project.home().join("java");
        fs::create_dir_all(&java).expect("made");
        let claims = |home: &str| rooms.claims(&["test -n \"$JAVA_HOME\""], &[("JAVA_HOME", home)]);
        assert_eq!(claims("/tmp/autonoe-no-such/java"), [false], "{}", rooms.layer.name());
        assert_eq!(claims(&java.display().to_string()), [true], "{}", rooms.layer.name());
    }
}
