//! `autonoe demo`

use std::fs;
use std::path::{Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_scripted::{ModelScript, ScriptedServer};
use autonoe_workspace::SiteOptions;
use clap::{Args, Parser};

use crate::arguments::{CommonArgs, SpecArgs};
use crate::engine::{RunJob, RunRequest, drive};
use crate::environment::Environment;
use crate::present;
use crate::scratch::ScratchDir;
use crate::write_fault::cannot_write;

const SPEC: &str = include_str!("demo/SPEC.md");
const SCRIPT: &str = include_str!("demo/script.toml");
const CONFIG: &str = include_str!("demo/config.toml");
const CONVENTIONS_SERVER: &str = include_str!("demo/conventions-server.sh");
const SKILL: &str = include_str!("demo/skill.md");

/// Watch a complete run with a scripted model: no key, no network
///
/// Creates a small project from a SPEC.md that ships with autonoe and runs the real `autonoe run` on it, with its own configuration:
/// two model providers, an MCP server, a skill, a sub-agent, real files, real tests, real git commits, and a check that rejects a
/// deliverable once before it is verified.
/// Only the models are not real: their replies are read from a script.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Create the project in this directory, which must be empty or missing [default: a temporary directory]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Show every event
    #[arg(long, short)]
    debug: bool,
}

pub fn cmd_demo(args: DemoArgs, mut environment: Environment) -> Result<u8, Fault> {
    let directory = prepare(args.keep.as_deref())?;
    let server = ModelScript::parse(SCRIPT).and_then(ScriptedServer::start).map_err(|error| {
        Fault::permanent(FaultLayer::System, "scripted_model", format!("The scripted model failed: {error}."))
    })?;
    let config = configure(&server.base_url())?;
    environment.config_home = Some(config.path().to_owned());
    environment.set("ANTHROPIC_API_KEY", "not-needed-for-the-demo".to_owned());
    environment.set("ANTHROPIC_BASE_URL", server.base_url());
    // The user's git settings, such as commit signing, must not interfere.
    let settings = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Autonoe demo"),
        ("GIT_AUTHOR_EMAIL", "demo@example.invalid"),
        ("GIT_COMMITTER_NAME", "Autonoe demo"),
        ("GIT_COMMITTER_EMAIL", "demo@example.invalid"),
    ];
    environment.for_children.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));

    present::print(&format!(
        "This is a demo. The models are scripted: their replies are read from a file. Everything else is real: the loop, \
         the sandbox, the tools, the MCP server, the files, the tests and the git commits, in {}\n\
         Costs are what these tokens would cost at list price; nothing is spent.\n\n",
        directory.display()
    ));
    let run_args = run_args(&directory, args.debug)?;
    let job = RunJob::Run { is_strict: false, no_sync: false, verifier: None };
    let request = RunRequest {
        // The project is a shell script, so that nothing has to be installed. No profile allows `sh`.
        allow_commands: vec!["sh".to_owned()],
        site: Some(SiteOptions::default()),
        ..RunRequest::of_spec(job, &run_args.common, &run_args.spec)
    };
    let code = drive(request, &environment)?;
    let problems = server.problems();
    if !problems.is_empty() {
        let message = format!("The demo did not follow its script: {}", problems.join("; "));
        return Err(Fault::permanent(FaultLayer::System, "scripted_model", message));
    }
    if code != exit::DONE {
        return Ok(code);
    }
    let path = directory.display();
    present::print(&format!(
        "\nLook around: cd {path}\n  \
         git log --stat           what was committed\n  \
         autonoe status           the state of the deliverables\n  \
         autonoe report --open    what was built, and how it was checked\n  \
         autonoe verify           rerun the checks on a fresh checkout\n  \
         autonoe sessions list    what the agents did\n  \
         cat .autonoe-note.md     the hand-over note of the last session\n"
    ));
    Ok(code)
}

#[derive(Parser)]
struct DemoRunArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    spec: SpecArgs,
}

fn run_args(directory: &Path, debug: bool) -> Result<DemoRunArgs, Fault> {
    let path = directory.display().to_string();
    let detail = if debug { "--debug" } else { "--verbose" };
    let mut args =
        vec!["run", "--project-dir", &path, "--session-delay", "1s", "--max-iterations", "8", detail];
    args.extend(["--plan-model", "anthropic/opus", "--model", "demo/scripted-coder"]);
    let parsed = DemoRunArgs::try_parse_from(args);
    parsed.map_err(|error| {
        Fault::permanent(FaultLayer::System, "demo", format!("The demo cannot start: {error}."))
    })
}

/// Writes the demo's own configuration, so that the user's is neither needed nor used.
fn configure(scripted: &str) -> Result<ScratchDir, Fault> {
    let written = ScratchDir::new().and_then(|directory| {
        let path = directory.path().canonicalize()?;
        let config = CONFIG.replace("{scripted}", scripted).replace("{here}", &path.display().to_string());
        fs::write(path.join("config.toml"), config)?;
        fs::write(path.join("conventions-server.sh"), CONVENTIONS_SERVER)?;
        let skill = path.join("skills/shell-tests");
        fs::create_dir_all(&skill)?;
        fs::write(skill.join("SKILL.md"), SKILL)?;
        Ok(directory)
    });
    written.map_err(|error| cannot_write(FaultLayer::System, "demo_directory", &std::env::temp_dir(), &error))
}

fn prepare(keep: Option<&Path>) -> Result<PathBuf, Fault> {
    let failed = |what: &str| {
        Fault::permanent(
            FaultLayer::Config,
            "demo_directory",
            format!("The demo needs an empty directory: {what}."),
        )
        .hint("Choose one with --keep, or omit it to use a temporary directory.")
    };
    let directory = match keep {
        Some(directory) => {
            fs::create_dir_all(directory)
                .map_err(|error| failed(&format!("{}: {error}", directory.display())))?;
            let mut entries = fs::read_dir(directory).map_err(|error| failed(&error.to_string()))?;
            if entries.next().is_some() {
                return Err(failed(&format!("{} is not empty", directory.display())));
            }
            directory.to_owned()
        }
        None => tempfile::Builder::new()
            .prefix("autonoe-demo-")
            .tempdir()
            .map_err(|error| failed(&error.to_string()))?
            .keep(),
    };
    fs::write(directory.join("SPEC.md"), SPEC).map_err(|error| failed(&error.to_string()))?;
    directory.canonicalize().map_err(|error| failed(&error.to_string()))
}
