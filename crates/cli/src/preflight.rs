//! Whether agents could work in a project, asked from a room like theirs before the first session: that we can write it does not mean
//! that their commands can, and git has its own ideas about whose repository it works in.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, Layer as FaultLayer};
use autonoe_sandbox::{
    BoundedCommand, Bounds, EgressRules, Ending, Kept, Layer, Repository, RoomConfig, SessionSandbox,
};
use autonoe_store::Project;

/// How long the questions may take, and the hook that is tried.
const LIMIT: Duration = Duration::from_secs(20);
const HOOK_LIMIT: Duration = Duration::from_secs(10);

/// How much of what is said is kept.
const KEPT: Kept = Kept { head: 4096, tail: 4096 };

/// How many directories are named that cannot be written.
const MAX_NAMED: usize = 3;

/// Asks about the project `$1`, which has a repository if `$2` says so; each line of the answer is a word and what it is about.
const QUESTIONS: &str = r#"
cd "$1" 2>/dev/null || { echo "enter $1"; exit 0; }
test -w . || { echo "write $1"; exit 0; }
for place in */; do
    test "$place" = '*/' || test -h "${place%/}" || test -w "$place" || echo "part ${place%/}"
done
test "$2" = repository && command -v git > /dev/null 2>&1 || exit 0
paths=$(git rev-parse --git-path . --git-path objects --git-path refs --git-path refs/heads --git-path logs \
    --git-path hooks/pre-commit 2> /dev/null) || { echo "git $(git rev-parse --git-dir 2>&1 > /dev/null)"; exit 0; }
test "$(git config --local --type=bool --get commit.gpgSign 2> /dev/null)" != true || echo signs
echo "$paths" | while IFS= read -r path; do
    case $path in
        */pre-commit) test ! -x "$path" || echo hook ;;
        *) test ! -e "$path" || test -w "$path" || echo "write $path" ;;
    esac
done
"#;

/// Tries the hook, which decides about every commit. It may only read the project: nothing is to be changed. A git that is too old to
/// run one by itself shows no help for that.
const HOOK: &str = r#"
cd "$1" || exit 0
git hook -h > /dev/null 2>&1
test $? = 129 || exit 0
GIT_OPTIONAL_LOCKS=0 git hook run --ignore-missing pre-commit
"#;

/// Makes sure that agents could work in a project. Returns what a person should know, as sentences.
pub async fn check(project: &Project, room_config: &RoomConfig) -> Result<Vec<String>, Fault> {
    let root = project.root();
    // One around the user's home is not there for agents.
    let may_write = |place: &PathBuf| place.starts_with(root) || room_config.bounds.write.contains(place);
    let is_there = Repository::around(root).directories.iter().any(may_write);
    let kind = if is_there { "repository" } else { "plain" };
    let mut asking = room_config.clone();
    asking.bounds.protected = Vec::new();
    asking.bounds.records = None;
    asking.guarded = Arc::default();
    asking.egress = Arc::new(EgressRules::default());
    let (ending, said) = ask(asking, QUESTIONS, &[root.as_os_str(), kind.as_ref()], LIMIT).await;
    if ending != Ending::Exit(0) {
        return Err(unusable(format!(
            "The project cannot be looked at from within the sandbox: {}",
            last_line(&said, &ending)
        )));
    }
    let mut told = Vec::new();
    let mut parts = Vec::new();
    for line in said.lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("enter" | "write", path) => return Err(not_writable(root, path, room_config.sandbox.layer())),
            ("git", refusal) => return Err(refused(root, refusal)),
            ("part", name) => parts.push(name),
            ("signs", _) if room_config.sandbox.layer() != Layer::None => told.push(
                "This repository requires signed commits (commit.gpgsign). Agents cannot sign, so their commits are unsigned."
                    .to_owned(),
            ),
            ("hook", _) => told.extend(try_hook(project, room_config).await),
            // What git says may have more lines than one.
            (_, _) => {}
        }
    }
    if !parts.is_empty() {
        let more = if parts.len() > MAX_NAMED { ", …" } else { "" };
        let named = parts.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        told.push(format!("Agents cannot write these directories of the project: {named}{more}."));
    }
    Ok(told)
}

/// What the hook says against a commit, if it does. Without a sandbox nothing keeps it from changing something.
async fn try_hook(project: &Project, room_config: &RoomConfig) -> Option<String> {
    if room_config.sandbox.layer() == Layer::None {
        return None;
    }
    let (root, mut reading) = (project.root(), room_config.clone());
    let usual = &room_config.bounds;
    let repository = Repository::around(root);
    let mut bounds = Bounds::new(&usual.temp, &usual.home, &usual.temp);
    bounds.read = usual
        .read
        .iter()
        .cloned()
        .chain([repository.top(root).to_owned()])
        .chain(repository.directories.clone())
        .collect();
    bounds.limits = usual.limits;
    reading.bounds = bounds;
    reading.guarded = Arc::default();
    reading.egress = Arc::new(EgressRules::default());
    let (ending, said) = ask(reading, HOOK, &[root.as_os_str()], HOOK_LIMIT).await;
    let why = match ending {
        // One that takes long does its work.
        Ending::Exit(0) | Ending::TimedOut => return None,
        Ending::Exit(code) => format!("exit code {code}: {}", last_line(&said, &ending)),
        Ending::TooMuchOutput | Ending::NotRun { .. } => last_line(&said, &ending),
    };
    Some(format!(
        "The pre-commit hook fails in the sandbox ({why}). It was tried with nothing staged and the project read-only; if it fails for \
         agents too, they cannot commit. Make it work without your home directory and the network, or disable it for the run."
    ))
}

async fn ask(
    room_config: RoomConfig,
    script: &str,
    args: &[&std::ffi::OsStr],
    time_limit: Duration,
) -> (Ending, String) {
    let session_sandbox = SessionSandbox::new(room_config);
    let launch = match session_sandbox.command("/bin/sh").await {
        Ok(launch) => launch.args(["-c", script, "sh"]).args(args),
        Err(error) => return (Ending::NotRun { why: error.to_string() }, String::new()),
    };
    let bounded_command =
        BoundedCommand { launch, input: Vec::new(), keeps_errors_apart: false, time_limit, kept: KEPT };
    let ran = bounded_command.run(|_| {}).await;
    session_sandbox.close().await;
    (ran.ending, ran.output.text())
}

fn last_line(said: &str, ending: &Ending) -> String {
    match (said.lines().rev().find(|line| !line.trim().is_empty()), ending) {
        (_, Ending::NotRun { why }) => why.clone(),
        (Some(line), _) => line.trim().to_owned(),
        (None, Ending::TimedOut) => "it took too long".to_owned(),
        (None, _) => "it said nothing".to_owned(),
    }
}

fn unusable(message: String) -> Fault {
    Fault::lasting(FaultLayer::Config, "project_unusable", message)
}

fn not_writable(root: &Path, path: &str, layer: Layer) -> Fault {
    let us = rustix::process::geteuid().as_raw();
    let place = root.join(path);
    let owner = place.metadata().or_else(|_| root.metadata()).map_or(us, |metadata| metadata.uid());
    let place = place.display();
    if owner == us {
        return unusable(format!("Agents cannot write {place} from within the sandbox."))
            .hint("Change its permissions, or choose another directory with --project-dir.");
    }
    let powers = match us == 0 && layer != Layer::None {
        true => "; commands in the sandbox run without root's privileges",
        false => "",
    };
    let (owner, us) = (name_of(owner), name_of(us));
    unusable(format!("Agents cannot write {place}: it belongs to {owner} and you are {us}{powers}.")).hint(format!(
        "Run autonoe as {owner} (`runuser -u`, or `--user` of a container), or change the owner of the project with chown."
    ))
}

fn refused(root: &Path, refusal: &str) -> Fault {
    let refusal = refusal.trim_start_matches("fatal: ").trim_end_matches('.');
    let fault = unusable(format!("git refuses to work in this project: {refusal}."));
    let root = root.display();
    match refusal.contains("dubious ownership") {
        true => fault.hint(format!("If you trust it: git config --global --add safe.directory '{root}'")),
        false => fault.hint(format!("`git -C '{root}' status` says what is the matter.")),
    }
}

/// A user by name and number.
fn name_of(uid: u32) -> String {
    let list = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse::<u32>().ok()? == uid).then(|| name.to_owned())
    });
    named.map_or_else(|| format!("uid {uid}"), |name| format!("{name} (uid {uid})"))
}
