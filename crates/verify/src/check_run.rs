//! One run of a check in a room. Whatever goes wrong is a verdict other than a pass.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use autonoe_core::check::Check;
use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::list_names;
use autonoe_core::redact::Redactor;
use autonoe_sandbox::{BoundedCommand, CommandEnd, MAX_OUTPUT, OutputLimits, SessionSandbox};
use autonoe_store::{CheckRegistry, Project};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::blocking::blocking;
use crate::checkout::{Checkout, CheckoutFiles, PreparedFiles, UNCOPIED_FILES};
use crate::linked_directories::linked_directories;
use crate::oracles::{
    Protector, changed_in, differences, protected_directories, restore_in, stamps, turned_links,
};
use crate::output;
#[cfg(target_os = "linux")]
use crate::path_watch::PathWatch;
use crate::python_caches::empty_caches;

/// How much of the output is kept.
const OUTPUT_LIMITS: OutputLimits = OutputLimits { head: 64 * 1024, tail: 192 * 1024 };

/// Exit code of a shell if a program does not exist.
const NOT_FOUND: i32 = 127;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckRun {
    pub check: String,
    #[serde(flatten)]
    pub verdict: CheckVerdict,
    /// `None` if the command did not run to its end.
    pub exit: Option<i32>,
    /// The middle is omitted if it is long.
    pub output: String,
    /// Hash of the whole output.
    pub output_sha256: String,
    /// Size of the whole output.
    pub output_bytes: u64,
    #[serde(rename = "seconds", with = "autonoe_core::duration::seconds")]
    pub duration: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum CheckVerdict {
    /// The result is as expected.
    Passed,
    /// Wrong exit code.
    WrongExit {
        expected: i32,
    },
    /// Wrong output.
    MissingOutput {
        /// The mismatch.
        expected: String,
    },
    TimedOut {
        #[serde(rename = "limit_seconds", with = "autonoe_core::duration::seconds")]
        limit: Duration,
    },
    TooMuchOutput,
    /// The check needs the network, and the user has not allowed that.
    NetworkNotAllowed,
    NotRun {
        why: String,
    },
    /// A command that prepares it failed.
    SetupFailed {
        command: String,
        why: String,
    },
    /// Files that judge were changed while it ran.
    ChangedFiles {
        files: Vec<String>,
    },
}

impl CheckRun {
    pub fn passed(&self) -> bool {
        self.verdict == CheckVerdict::Passed
    }

    /// Whether the program of the command was there and ran.
    pub(crate) fn was_started(&self) -> bool {
        self.was_run() && self.exit != Some(NOT_FOUND)
    }

    /// Whether the command ran at all: otherwise nothing is known.
    pub(crate) fn was_run(&self) -> bool {
        !matches!(self.verdict, CheckVerdict::NetworkNotAllowed | CheckVerdict::NotRun { .. })
    }

    pub(crate) fn not_run(check: &Check, verdict: CheckVerdict) -> Self {
        Self {
            check: check.name.clone(),
            verdict,
            exit: None,
            output: String::new(),
            output_sha256: hex(&Sha256::digest(b"")),
            output_bytes: 0,
            duration: Duration::ZERO,
        }
    }

    /// Removes secrets from what is kept and shown.
    fn redact(&mut self, redactor: &Redactor) {
        self.output = redactor.text(&self.output).into_owned();
        match &mut self.verdict {
            CheckVerdict::MissingOutput { expected } => *expected = redactor.text(expected).into_owned(),
            CheckVerdict::NotRun { why } | CheckVerdict::SetupFailed { why, .. } => {
                *why = redactor.text(why).into_owned();
            }
            CheckVerdict::Passed
            | CheckVerdict::WrongExit { .. }
            | CheckVerdict::TimedOut { .. }
            | CheckVerdict::TooMuchOutput
            | CheckVerdict::NetworkNotAllowed
            | CheckVerdict::ChangedFiles { .. } => {}
        }
    }

    /// The result in a clause about "it", the check.
    pub fn sentence(&self) -> String {
        match (&self.verdict, self.exit) {
            (CheckVerdict::Passed, _) => "it passed".to_owned(),
            (CheckVerdict::WrongExit { expected }, Some(NOT_FOUND)) => {
                format!("its command was not found (expected exit {expected}, got {NOT_FOUND})")
            }
            (CheckVerdict::WrongExit { expected }, code) => {
                let code = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
                format!("expected exit {expected}, got {code}")
            }
            (CheckVerdict::MissingOutput { expected }, _) => {
                format!("wrong output: {expected}")
            }
            (CheckVerdict::TimedOut { limit }, _) => {
                format!("it was killed after its time limit of {}", format_duration(*limit))
            }
            (CheckVerdict::TooMuchOutput, _) => {
                format!("it was killed after it had printed {MAX_OUTPUT} bytes")
            }
            (CheckVerdict::NetworkNotAllowed, _) => {
                "it needs the network, which you have not allowed; set `network = true` under \
                                                [checks] in your config.toml"
                    .to_owned()
            }
            (CheckVerdict::NotRun { why }, _) => format!("it could not be run: {why}"),
            (CheckVerdict::SetupFailed { command, why }, _) => {
                format!("`{command}`, which must run before it, failed: {why}")
            }
            (CheckVerdict::ChangedFiles { files }, _) => {
                format!("files that it relies on were changed while it ran: {}", list_names(files))
            }
        }
    }
}

/// Runs a check on a clean checkout, in which only its setup has run, with the accepted versions of protected files. Nothing that the
/// check started is left when this returns.
pub(crate) async fn run(
    check: &Check,
    checkout: &Checkout,
    registry: &CheckRegistry,
    project: &Project,
) -> Result<CheckRun, Fault> {
    let seen = match Protector::of(check) {
        Protector::User => registry.of_user(),
        Protector::Builder => registry.clone(),
    };
    let room = CheckRoom { checkout, registry: &seen, all: registry, project };
    if check.setup.is_empty() && !check.can_prepare() {
        return room.run(check, &room.clean_files().await?).await;
    }
    let mut prepared = checkout.prepared.lock().await;
    // Kept only if everything goes well.
    let mut state = match prepared.take().filter(|prepared| prepared.is_for(check)) {
        Some(state) => state,
        None => match room.prepare(check).await? {
            Setup::Done(state) => state,
            Setup::Failed(run) => return Ok(run),
        },
    };
    if !check.can_prepare() {
        let copy = match checkout.set_aside(&state.files).await {
            Err(fault) if fault.code == UNCOPIED_FILES => {
                let command = check.setup.last().cloned().unwrap_or_default();
                let verdict = CheckVerdict::SetupFailed { command, why: fault.message };
                return Ok(CheckRun::not_run(check, verdict));
            }
            copy => copy?,
        };
        let run = room.run(check, &state.files).await?;
        checkout.put_back(copy, &state.files)?;
        *prepared = Some(state);
        return Ok(run);
    }
    let run = room.run(check, &state.files).await?;
    if run.passed() {
        state.commands.push(check.command.clone());
        *prepared = Some(state);
    }
    Ok(run)
}

/// What the rooms of a look have in common.
struct CheckRoom<'a> {
    checkout: &'a Checkout,
    /// What the check sees of the protected files.
    registry: &'a CheckRegistry,
    all: &'a CheckRegistry,
    project: &'a Project,
}

/// How the setup of a check ended.
enum Setup {
    Done(PreparedFiles),
    /// The run of the check, which did not get that far.
    Failed(CheckRun),
}

impl CheckRoom<'_> {
    /// A clean checkout. What the commit has changed is noted before the accepted files are restored in it.
    async fn clean_files(&self) -> Result<CheckoutFiles, Fault> {
        let files = self.checkout.files().await?;
        if self.checkout.changed.get().is_none() {
            let (registry, root) = (self.all.clone(), files.root.clone());
            let changed = blocking(move |cancel| differences(&registry, &root, cancel)).await?;
            // Another one has found the same.
            let _ = self.checkout.changed.set(changed);
        }
        Ok(files)
    }

    /// Runs the setup of a check in a clean checkout.
    async fn prepare(&self, check: &Check) -> Result<Setup, Fault> {
        let files = self.clean_files().await?;
        for command in &check.setup {
            let step = Check {
                command: command.clone(),
                setup: Vec::new(),
                exit: 0,
                output: Vec::new(),
                ..check.clone()
            };
            let run = self.run(&step, &files).await?;
            if !run.passed() {
                let (command, why) = (command.clone(), run.sentence());
                let verdict = CheckVerdict::SetupFailed { command, why };
                return Ok(Setup::Failed(CheckRun { verdict, ..run }));
            }
        }
        let protector = Protector::of(check);
        Ok(Setup::Done(PreparedFiles { commands: check.setup.clone(), protector, files }))
    }

    /// Watches the protected files, as they are after they were restored.
    #[cfg(target_os = "linux")]
    fn watch(&self, files: &CheckoutFiles, closed: &[PathBuf]) -> Result<PathWatch, Fault> {
        let protected = self.registry.paths_at(&files.root).into_iter();
        PathWatch::start(files.top(), protected, closed).map_err(|error| unwatchable(&error))
    }

    /// Runs one command in a new room.
    async fn run(&self, check: &Check, files: &CheckoutFiles) -> Result<CheckRun, Fault> {
        restore_in(&files.root, self.registry, self.project).await?;
        let root = files.root.clone();
        let protected = self.registry.paths_at(&root);
        let links = blocking(move |_: &_| linked_directories(&root, &protected)).await;
        self.checkout.links.lock().unwrap_or_else(PoisonError::into_inner).extend(links);
        if let Some(turned) = turned_links(&files.root, self.registry) {
            return Ok(CheckRun::not_run(check, CheckVerdict::ChangedFiles { files: turned }));
        }
        // Nor can anything be added where everything is protected.
        let directories = protected_directories(&self.registry.globs, &files.root);
        let accepted = self.registry.paths_at(&files.root).into_iter();
        // Each costs time.
        let alone = |file: &PathBuf| !directories.iter().any(|directory| file.starts_with(directory));
        let alone: Vec<PathBuf> = accepted.filter(alone).collect();
        let caches = empty_caches(&alone).map_err(|error| uncleared(&error))?;
        let read_only: Vec<PathBuf> = alone.into_iter().chain(directories.clone()).chain(caches).collect();
        files.close_withheld(&read_only);
        let Some(sandbox) = self.checkout.room(files, check.network, read_only) else {
            return Ok(CheckRun::not_run(check, CheckVerdict::NetworkNotAllowed));
        };
        let before = stamps(&files.root, self.registry);
        #[cfg(target_os = "linux")]
        let watch = self.watch(files, &directories)?;
        let mut run = run_in(check, &sandbox, &files.root, self.checkout.output_stream(files)).await;
        run.redact(&self.checkout.redactor());
        sandbox.close().await;
        let mut changed = changed_in(&files.root, self.registry).await?;
        if changed.is_empty() {
            let after = stamps(&files.root, self.registry);
            let touched = before.iter().filter(|(file, stamp)| after.get(file) != Some(stamp));
            changed.extend(touched.map(|(file, _)| file.to_string()));
        }
        #[cfg(target_os = "linux")]
        if changed.is_empty() {
            let moved = watch.changed().map_err(|error| unwatchable(&error))?;
            let shown = |path: String| {
                path.strip_prefix(&format!("{}/", files.root.display())).map(str::to_owned).unwrap_or(path)
            };
            changed.extend(moved.into_iter().map(shown));
        }
        if run.passed() && !changed.is_empty() {
            run.verdict = CheckVerdict::ChangedFiles { files: changed };
        }
        files.open_withheld().await;
        self.checkout.note_decisive_files(check, files).await;
        Ok(run)
    }
}

#[cfg(target_os = "linux")]
fn uncleared(error: &std::io::Error) -> Fault {
    let message = format!("A cache beside protected files cannot be emptied: {error}.");
    Fault::transient(FaultLayer::System, "oracle", message)
}

fn unwatchable(error: &std::io::Error) -> Fault {
    let message = format!("The protected files cannot be watched while a check runs: {error}.");
    Fault::transient(FaultLayer::System, "oracle", message)
}

async fn run_in(
    check: &Check,
    session_sandbox: &SessionSandbox,
    cwd: &Path,
    stream: Option<PathBuf>,
) -> CheckRun {
    let started = Instant::now();
    let launch = match session_sandbox.shell_printing_to(stream.as_deref(), &check.command).await {
        Ok(launch) => launch.cwd(cwd),
        Err(error) => {
            let why = format!("its room could not be opened ({error})");
            return CheckRun::not_run(check, CheckVerdict::NotRun { why });
        }
    };
    let bounded_command = BoundedCommand {
        launch,
        input: Vec::new(),
        separate_stderr: false,
        time_limit: check.time_limit,
        output_limits: OUTPUT_LIMITS,
    };
    let mut hash = Sha256::new();
    let ran = bounded_command.run_printing_to(stream.as_deref(), |bytes| hash.update(bytes)).await;
    let mut output = ran.output.text();
    let (verdict, exit) = match ran.ending {
        CommandEnd::TimedOut => (CheckVerdict::TimedOut { limit: check.time_limit }, None),
        CommandEnd::TooMuchOutput => (CheckVerdict::TooMuchOutput, None),
        CommandEnd::NotRun { why } => (CheckVerdict::NotRun { why }, None),
        CommandEnd::Exit(code) => (judge(check, code, &output), Some(code)),
    };
    let refused: Vec<String> =
        session_sandbox.refusals().await.iter().map(|refusal| refusal.host.clone()).collect();
    if !refused.is_empty() {
        let _ = write!(output, "\n[autonoe: blocked network access to {}]", refused.join(", "));
    }
    CheckRun {
        check: check.name.clone(),
        verdict,
        exit,
        output,
        output_sha256: hex(&hash.finalize()),
        output_bytes: ran.output.bytes(),
        duration: started.elapsed(),
    }
}

fn judge(check: &Check, code: i32, printed: &str) -> CheckVerdict {
    if code != check.exit {
        return CheckVerdict::WrongExit { expected: check.exit };
    }
    let mismatch = match check.accepts_every_output() {
        true => None,
        false => output::mismatch(printed, &check.output, check.exact),
    };
    match mismatch {
        Some(expected) => CheckVerdict::MissingOutput { expected },
        None => CheckVerdict::Passed,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
