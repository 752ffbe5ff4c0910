//! Runs git in a room of its own, without anyone's settings: the repositories that it reads were written by agents or strangers.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_sandbox::{Bounds, Launch, RoomConfig, RoomLimits, SandboxedChild, SessionSandbox};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::locked_dir::LockedDir;

/// Time limit of one script. Packing a gigabyte takes about half a minute.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Fault code of a script that was killed at its time limit.
pub const TIMED_OUT: &str = "git_timeout";

/// Maximum output of a script, in bytes.
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

const ENVIRONMENT: [(&str, &str); 31] = [
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_ADVICE", "0"),
    ("GIT_CONFIG_COUNT", "11"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
    ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_1", "false"),
    ("GIT_CONFIG_KEY_2", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_2", "/dev/null"),
    ("GIT_CONFIG_KEY_3", "core.warnAmbiguousRefs"),
    ("GIT_CONFIG_VALUE_3", "false"),
    // One worker per processor.
    ("GIT_CONFIG_KEY_4", "checkout.workers"),
    ("GIT_CONFIG_VALUE_4", "0"),
    ("GIT_CONFIG_KEY_5", "checkout.thresholdForParallelism"),
    ("GIT_CONFIG_VALUE_5", "200"),
    ("GIT_CONFIG_KEY_6", "maintenance.auto"),
    ("GIT_CONFIG_VALUE_6", "false"),
    ("GIT_CONFIG_KEY_7", "gc.auto"),
    ("GIT_CONFIG_VALUE_7", "0"),
    // Indexes of commits and objects could claim what the objects do not say.
    ("GIT_CONFIG_KEY_8", "core.commitGraph"),
    ("GIT_CONFIG_VALUE_8", "false"),
    ("GIT_CONFIG_KEY_9", "core.multiPackIndex"),
    ("GIT_CONFIG_VALUE_9", "false"),
    ("GIT_CONFIG_KEY_10", "pack.useBitmaps"),
    ("GIT_CONFIG_VALUE_10", "false"),
];

/// A room with these paths, and nothing else of the user's or the agent's.
pub struct GitRoom {
    sandbox: SessionSandbox,
    // Last, so that the room is closed before its directory is gone.
    directory: LockedDir,
}

/// How a script ended.
#[derive(Debug)]
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// The last error that git reported, for a message; otherwise its last line. Versions before 2.46 give hints that cannot be switched
    /// off, also behind an error.
    pub fn reason(&self) -> String {
        let lines = || self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).rev();
        let errors =
            || lines().filter_map(|line| line.strip_prefix("fatal: ").or(line.strip_prefix("error: ")));
        // The line before says which object is missing.
        let error = errors().find(|error| *error != "Error building trees").or_else(|| errors().next());
        let other = || lines().find(|line| !line.starts_with("hint:"));
        error.or_else(other).unwrap_or("git gave no reason").trim_end_matches(['.', ':', ' ']).to_owned()
    }
}

impl GitRoom {
    /// `scratch` is a directory of ours for what the room itself needs.
    pub fn new(
        usual: &RoomConfig,
        scratch: &Path,
        read: impl IntoIterator<Item = PathBuf>,
        write: impl IntoIterator<Item = PathBuf>,
    ) -> io::Result<Self> {
        let directory = LockedDir::new_in(scratch, "git-")?;
        for name in ["work", "home", "tmp"] {
            fs::create_dir(directory.path().join(name))?;
        }
        let path = |name: &str| directory.path().join(name);
        let mut config = usual.clone();
        let (read, write): (Vec<_>, Vec<_>) = (read.into_iter().collect(), write.into_iter().collect());
        config.bounds = Bounds {
            // A repository may have committed files of such names. To git they would seem to be gone.
            unmasked: [read.as_slice(), &write].concat(),
            read: read.into_iter().chain(usual.bounds.read.iter().cloned()).collect(),
            write,
            // The reserve is for programs that fill the disk; git stops by itself on a full one.
            limits: RoomLimits { disk_reserve: 0, ..usual.bounds.limits },
            ..Bounds::new(path("work"), path("home"), path("tmp"))
        };
        config.egress = std::sync::Arc::default();
        config.guarded = std::sync::Arc::default();
        Ok(Self { sandbox: SessionSandbox::new(config), directory })
    }

    /// Opens the room before the first script needs it, which tries again if that fails.
    pub async fn open(&self) {
        let _ = self.sandbox.ensure_open().await;
    }

    /// A directory that the room can write.
    pub fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// A shell script with arguments `$1`, `$2` and so on, in [`GitRoom::work`].
    pub async fn script(
        &self,
        script: &str,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Launch, Fault> {
        let shell = self.sandbox.command("sh").await.map_err(|error| {
            let message = format!("Cannot open a room for git: {error}.");
            Fault::transient(FaultLayer::System, "room", message)
        })?;
        Ok(shell.envs(ENVIRONMENT).args(["-c", script, "sh"]).args(args).cwd(self.work()))
    }

    /// Runs a script to its end.
    pub async fn run(
        &self,
        script: &str,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Finished, Fault> {
        finish(self.script(script, args).await?).await
    }

    pub async fn close(self) {
        self.sandbox.close().await;
    }
}

/// Runs a program to its end, whose standard output is read here.
async fn finish(launch: Launch) -> Result<Finished, Fault> {
    let (reader, writer) = io::pipe().map_err(|error| broken(&error))?;
    let (errors, error_writer) = io::pipe().map_err(|error| broken(&error))?;
    let child = launch.stdout(writer).stderr(error_writer).spawn().map_err(|error| broken(&error))?;
    outcome(child, Some(reader), errors).await
}

/// Runs two programs to their end, the second of which reads what the first writes.
pub async fn pipe(from: Launch, to: Launch) -> Result<(Finished, Finished), Fault> {
    let pipe = || io::pipe().map_err(|error| broken(&error));
    let ((between, writer), (errors, error_writer)) = (pipe()?, pipe()?);
    let first = from.stdout(writer).stderr(error_writer).spawn().map_err(|error| broken(&error))?;
    let (first, second) = tokio::join!(outcome(first, None, errors), finish(to.stdin(between)));
    Ok((first?, second?))
}

/// Waits for a program whose streams are these.
pub async fn outcome(
    mut child: SandboxedChild,
    stdout: Option<io::PipeReader>,
    stderr: io::PipeReader,
) -> Result<Finished, Fault> {
    let work = async {
        let (stdout, stderr) = tokio::join!(read(stdout), read(Some(stderr)));
        io::Result::Ok(Finished { stdout: stdout?, stderr: stderr?, code: child.wait().await?.code() })
    };
    match timeout(TIME_LIMIT, work).await {
        Ok(result) => result.map_err(|error| broken(&error)),
        Err(_) => {
            let message = format!("git did not finish within {} s and was killed.", TIME_LIMIT.as_secs());
            Err(Fault::transient(FaultLayer::System, TIMED_OUT, message))
        }
    }
}

async fn read(pipe: Option<io::PipeReader>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let pipe = tokio::net::unix::pipe::Receiver::from_owned_fd(pipe.into())?;
        pipe.take(MAX_OUTPUT + 1).read_to_end(&mut bytes).await?;
        // What is cut could be what matters, such as a file that must not land.
        if bytes.len() as u64 > MAX_OUTPUT {
            return Err(io::Error::other("it printed too much"));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub fn broken(error: &dyn std::fmt::Display) -> Fault {
    Fault::transient(FaultLayer::System, "git", format!("git failed: {error}."))
}

#[cfg(test)]
mod tests {
    use super::Finished;

    #[test]
    fn the_reason_is_the_error_and_not_a_hint() {
        for (stderr, reason) in [
            ("", "git gave no reason"),
            ("warning: one\nsomething else.\n", "something else"),
            (
                "fatal: not a tree.\nhint: Support for <GIT_DIR>/info/grafts is deprecated\nhint: \n",
                "not a tree",
            ),
            ("error: first\nfatal: second\nAborting\n", "second"),
            ("hint: only this\n", "git gave no reason"),
            (
                "error: invalid object 100644 1 for 'a'\nerror: Error building trees\n",
                "invalid object 100644 1 for 'a'",
            ),
            ("error: Error building trees\n", "Error building trees"),
            ("fatal: unterminated line in .git/packed-refs: \n", "unterminated line in .git/packed-refs"),
        ] {
            let finished = Finished { code: 1, stdout: String::new(), stderr: stderr.to_owned() };
            assert_eq!(finished.reason(), reason, "{stderr}");
        }
    }
}
