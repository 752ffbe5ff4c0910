//! Preflight: checks, from inside a room like the agents', that they can work in the project. That this process can write it does not
//! mean that commands in the sandbox can, and git may refuse a repository that belongs to another user.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_sandbox::{
    BoundedCommand, Bounds, CommandEnd, EgressRules, OutputLimits, Repository, RoomConfig, SandboxLayer,
    SessionSandbox,
};
use autonoe_store::Project;

const PROBE_LIMIT: Duration = Duration::from_secs(20);
const HOOK_LIMIT: Duration = Duration::from_secs(10);

/// Bytes of output that are kept.
const OUTPUT_LIMITS: OutputLimits = OutputLimits { head: 4096, tail: 4096 };

/// Maximum number of unwritable directories to name in a message.
const MAX_NAMED: usize = 3;

/// Probes the project `$1`, which has a git repository if `$2` is `repository`. Each line of output is a keyword and its subject. Of git's
/// settings in the agents' home only ours count: an agent may have left anything at other places where git looks.
const PROBE: &str = r#"
export GIT_CONFIG_GLOBAL="$HOME/.gitconfig"
cd "$1" 2>/dev/null || { echo "enter $1"; exit 0; }
test -w . || { echo "write $1"; exit 0; }
for dir in */; do
    test "$dir" = '*/' || test -h "${dir%/}" || test -w "$dir" || echo "part ${dir%/}"
done
command -v git > /dev/null 2>&1 || { echo missing; exit 0; }
test "$2" = repository || exit 0
top=$(git rev-parse --show-toplevel 2> /dev/null) || { echo "git $(git rev-parse --show-toplevel 2>&1 > /dev/null)"; exit 0; }
case $1/ in "${top%/}"/*) ;; *) echo "elsewhere $top"; exit 0 ;; esac
paths=$(git rev-parse --git-path . --git-path objects --git-path refs --git-path refs/heads --git-path logs --git-path hooks/pre-commit \
    --git-path hooks/prepare-commit-msg --git-path hooks/commit-msg) || exit
test "$(git config --local --type=bool --get commit.gpgSign 2> /dev/null)" != true || echo signs
echo "$paths" | while IFS= read -r path; do
    case $path in
        */pre-commit | */prepare-commit-msg | */commit-msg) test ! -x "$path" || echo "hook ${path##*/}" ;;
        *) test ! -e "$path" || test -w "$path" || echo "write $path" ;;
    esac
done
"#;

/// Runs the hook `$2`, which can reject every commit, with the message `$3` if it expects one. The project is read-only meanwhile, so that
/// nothing changes. `git hook -h` exits with 129 only where git is new enough to run a hook on its own.
const HOOK: &str = r#"
export GIT_CONFIG_GLOBAL="$HOME/.gitconfig"
cd "$1" || exit 0
git hook -h > /dev/null 2>&1
test $? = 129 || exit 0
hook=$2 file=${TMPDIR:-/tmp}/COMMIT_EDITMSG
printf '%s\n' "$3" > "$file" || exit 0
case $hook in
    pre-commit) set -- ;;
    prepare-commit-msg) set -- "$file" message ;;
    *) set -- "$file" ;;
esac
GIT_OPTIONAL_LOCKS=0 git hook run --ignore-missing "$hook" -- "$@"
"#;

/// The message of the commit with which hooks are tried: one that usual rules for messages accept.
const TRIED_MESSAGE: &str = "chore: try the hooks";

/// Where the agents of a run work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkMode {
    /// In the user's checkout.
    InPlace,
    /// In a clone, from which commits are brought to the user's checkout. None of its hooks run.
    Workspace,
}

/// Fails if agents cannot work in the project, or their commits cannot be brought there. `room_config` is for the user's checkout. Returns
/// warnings for the user, as sentences.
pub async fn check(
    project: &Project,
    room_config: &RoomConfig,
    work_mode: WorkMode,
) -> Result<Vec<String>, Fault> {
    let root = project.root();
    // Agents do not see a repository that contains the user's home.
    let may_write = |path: &PathBuf| path.starts_with(root) || room_config.bounds.write.contains(path);
    let has_repository = Repository::around(root).directories.iter().any(may_write);
    let must_read = has_repository && work_mode == WorkMode::InPlace;
    if let Some(borrowed) = unreadable_objects(root, room_config).filter(|_| must_read) {
        return Err(borrows_objects(root, &borrowed));
    }
    let kind = if has_repository { "repository" } else { "plain" };
    let mut probing = room_config.clone();
    probing.bounds.protected = Vec::new();
    probing.bounds.records = None;
    probing.guarded = Arc::default();
    probing.egress = Arc::new(EgressRules::default());
    let arguments = [root.as_os_str(), kind.as_ref()];
    let (mut ending, mut output) = run_script(probing.clone(), PROBE, &arguments, PROBE_LIMIT).await;
    if !matches!(ending, CommandEnd::Exit(0) | CommandEnd::TimedOut) && output.trim().is_empty() {
        // It may have been killed, and it changes nothing.
        (ending, output) = run_script(probing, PROBE, &arguments, PROBE_LIMIT).await;
    }
    if ending != CommandEnd::Exit(0) {
        let fault = unusable(format!(
            "The project cannot be inspected from inside the sandbox: {}.",
            last_line(&output, &ending).trim_end_matches('.')
        ));
        return Err(match ending {
            CommandEnd::TimedOut => fault.hint(format!(
                "Run `git -C '{0}' status`. If that hangs too, look for a named pipe: `find '{0}' -type p`.",
                root.display()
            )),
            CommandEnd::Exit(_) | CommandEnd::TooMuchOutput | CommandEnd::NotRun { .. } => fault,
        });
    }
    let mut warnings = Vec::new();
    let mut unwritable = Vec::new();
    for line in output.lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("enter" | "write", path) => return Err(not_writable(root, path, room_config.sandbox.layer())),
            ("git", refusal) => return Err(refused_by_git(root, refusal)),
            ("elsewhere", top) => return Err(other_work_tree(root, top)),
            ("missing", _) if work_mode == WorkMode::Workspace => {
                return Err(unusable("git was not found on the PATH.".to_owned()).hint(
                    "Install git, or let agents work without it in your checkout with --in-place.",
                ));
            }
            ("missing", _) => warnings.push(
                "git was not found on the PATH: agents cannot commit their work, and checks run on a copy of the files.".to_owned(),
            ),
            ("part", name) => unwritable.push(name),
            ("signs", _) if room_config.sandbox.layer() != SandboxLayer::None => warnings.push(
                "This repository requires signed commits (commit.gpgsign). Agents cannot sign, so their commits are unsigned."
                    .to_owned(),
            ),
            ("hook", _) if work_mode == WorkMode::Workspace => {}
            ("hook", name) => warnings.extend(try_hook(project, room_config, name).await),
            // Further lines of an error message from git.
            (_, _) => {}
        }
    }
    if !unwritable.is_empty() {
        let more = if unwritable.len() > MAX_NAMED { ", …" } else { "" };
        let named = unwritable.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        let what = match work_mode {
            WorkMode::InPlace => "Agents cannot write these directories of the project",
            WorkMode::Workspace => {
                "Commits that change these directories of the project cannot be brought to it"
            }
        };
        warnings.push(format!("{what}: {named}{more}."));
    }
    Ok(warnings)
}

/// A directory of objects that the repository borrows and that agents cannot read. What the repository says about it may be theirs, so it is
/// not made readable.
fn unreadable_objects(root: &Path, room_config: &RoomConfig) -> Option<PathBuf> {
    let is_held = room_config.sandbox.layer() != SandboxLayer::None;
    let borrowed = Repository::around(root).object_directories().ok()?;
    borrowed.into_iter().find(|path| is_held && !room_config.bounds.can_read(path))
}

fn borrows_objects(root: &Path, from: &Path) -> Fault {
    let message = format!(
        "The repository of {} borrows objects from {}, which agents in your checkout cannot read.",
        root.display(),
        from.display()
    );
    unusable(message).hint(
        "Leave out --in-place, add the directory to `read` under [sandbox] in your settings, or make the repository whole: \
         `git repack -a -d`, then remove .git/objects/info/alternates.",
    )
}

/// A warning if a hook fails or hangs. Without a sandbox it is not run, since nothing would keep it from changing files.
async fn try_hook(project: &Project, room_config: &RoomConfig, name: &str) -> Option<String> {
    if room_config.sandbox.layer() == SandboxLayer::None {
        return None;
    }
    let (root, mut reading) = (project.root(), room_config.clone());
    let session_bounds = &room_config.bounds;
    let repository = Repository::around(root);
    let mut bounds = Bounds::new(&session_bounds.temp, &session_bounds.home, &session_bounds.temp);
    bounds.read = session_bounds
        .read
        .iter()
        .cloned()
        .chain([repository.top(root).to_owned()])
        .chain(repository.directories.clone())
        .collect();
    bounds.limits = session_bounds.limits;
    reading.bounds = bounds;
    reading.guarded = Arc::default();
    reading.egress = Arc::new(EgressRules::default());
    let args = [root.as_os_str(), name.as_ref(), TRIED_MESSAGE.as_ref()];
    let (ending, output) = run_script(reading, HOOK, &args, HOOK_LIMIT).await;
    let what = match ending {
        CommandEnd::Exit(0) => return None,
        CommandEnd::Exit(code) => {
            format!("fails in the sandbox (exit code {code}: {})", last_line(&output, &ending))
        }
        CommandEnd::TimedOut => format!("did not finish within {} s in the sandbox", HOOK_LIMIT.as_secs()),
        CommandEnd::TooMuchOutput | CommandEnd::NotRun { .. } => {
            format!("fails in the sandbox ({})", last_line(&output, &ending))
        }
    };
    let with = match name {
        "pre-commit" => "nothing staged".to_owned(),
        _ => format!("the message '{TRIED_MESSAGE}'"),
    };
    Some(format!(
        "The {name} hook {what}. It was tried with {with} and the project read-only; if it does so for agents too, they cannot commit. Make \
         it work without your home directory and the network, or disable it for the run."
    ))
}

async fn run_script(
    room_config: RoomConfig,
    script: &str,
    args: &[&std::ffi::OsStr],
    time_limit: Duration,
) -> (CommandEnd, String) {
    let session_sandbox = SessionSandbox::new(room_config);
    let launch = match session_sandbox.command("/bin/sh").await {
        Ok(launch) => launch.args(["-c", script, "sh"]).args(args),
        Err(error) => return (CommandEnd::NotRun { why: error.to_string() }, String::new()),
    };
    let bounded_command = BoundedCommand {
        launch,
        input: Vec::new(),
        separate_stderr: false,
        time_limit,
        output_limits: OUTPUT_LIMITS,
    };
    let ran = bounded_command.run(|_| {}).await;
    session_sandbox.close().await;
    (ran.ending, ran.output.text())
}

fn last_line(output: &str, ending: &CommandEnd) -> String {
    match (output.lines().rev().find(|line| !line.trim().is_empty()), ending) {
        (_, CommandEnd::NotRun { why }) => why.clone(),
        (Some(line), _) => line.trim().to_owned(),
        (None, CommandEnd::TimedOut) => "it took too long".to_owned(),
        (None, _) => "it printed nothing".to_owned(),
    }
}

fn unusable(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "project_unusable", message)
}

fn not_writable(root: &Path, path: &str, layer: SandboxLayer) -> Fault {
    let us = rustix::process::geteuid().as_raw();
    let path = root.join(path);
    let owner = path.metadata().or_else(|_| root.metadata()).map_or(us, |metadata| metadata.uid());
    let path = path.display();
    if owner == us {
        return unusable(format!("Agents cannot write {path} from inside the sandbox."))
            .hint("Change its permissions, or choose another directory with --project-dir.");
    }
    let note = match us == 0 && layer != SandboxLayer::None {
        true => "; commands in the sandbox run without root's privileges",
        false => "",
    };
    let (owner, us) = (name_of(owner), name_of(us));
    unusable(format!("Agents cannot write {path}: it belongs to {owner} and you are {us}{note}.")).hint(format!(
        "Run autonoe as {owner} (`runuser -u`, or `--user` of a container), or change the owner of the project with chown."
    ))
}

fn refused_by_git(root: &Path, refusal: &str) -> Fault {
    let refusal = refusal.trim_start_matches("fatal: ").trim_end_matches('.');
    let fault = unusable(format!("git refuses to work in this project: {refusal}."));
    let root = root.display();
    fault.hint(if refusal.contains("dubious ownership") {
        format!("If you trust it: git config --global --add safe.directory '{root}'")
    } else if refusal.contains("must be run in a work tree") || refusal.contains("bare repository") {
        format!("It is a bare repository. If it should not be: git -C '{root}' config core.bare false")
    } else {
        format!("Run `git -C '{root}' status` for details.")
    })
}

fn other_work_tree(root: &Path, top: &str) -> Fault {
    let root = root.display();
    unusable(format!("The repository of this project works on other files: its core.worktree is {top}."))
        .hint(format!("If that is wrong: git -C '{root}' config --unset core.worktree"))
}

fn name_of(uid: u32) -> String {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse::<u32>().ok()? == uid).then(|| name.to_owned())
    });
    named.map_or_else(|| format!("uid {uid}"), |name| format!("{name} (uid {uid})"))
}
