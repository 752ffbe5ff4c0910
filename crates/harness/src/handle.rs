//! A handle to a harness that runs in another process: its state, and requests to it.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::alerts::Alert;
use crate::control::{
    HarnessDirectory, HarnessFileError, HarnessStop, LoopStatus, LostBackend, Priority, StatusFile,
};
use crate::process::ProcessRef;
use crate::state_view::{HarnessCounts, StateManager};

/// How long a harness may take to end before it is killed.
pub const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// Lines of the log that are usually asked for.
pub const LOG_TAIL: usize = 100;

/// How long the kernel may take to end a killed process.
const KILLED: Duration = Duration::from_secs(5);

/// Characters of a task's output in a result, and of all of them.
const MAX_TASK_OUTPUT: usize = 2000;
pub const MAX_OUTPUT: usize = 8000;

/// Characters of a task's description that are shown.
const MAX_TASK: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HarnessStatus {
    Pending,
    Running,
    Paused,
    Completed,
    Failed,
    Stopped,
}

impl HarnessStatus {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Stopped)
    }
}

/// What a harness that is over has achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HarnessResult {
    pub harness_id: String,
    pub success: bool,
    pub tasks_completed: u32,
    /// Tasks all of whose attempts failed.
    pub tasks_failed: u32,
    /// Completed tasks whose checks have passed on a clean checkout; the others are claimed.
    pub tasks_verified: u32,
    /// 0.0 to 1.0.
    pub progress: f64,
    pub execution_seconds: f64,
    /// `None` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// Why it failed, in a sentence.
    pub error: Option<String>,
    /// What the sessions of its completed tasks said last, cut to [`MAX_OUTPUT`].
    pub output: String,
    /// Name of the outcome of its run; `None` if it did not say.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Of its last session.
    #[serde(default)]
    pub backend: Option<String>,
    /// Backends that it found without quota or login.
    #[serde(default)]
    pub lost_backends: Vec<LostBackend>,
}

impl HarnessResult {
    /// Of a harness that has achieved nothing.
    pub fn unsuccessful(id: &str, error: Option<String>) -> Self {
        Self {
            harness_id: id.to_owned(),
            success: false,
            tasks_completed: 0,
            tasks_failed: 0,
            tasks_verified: 0,
            progress: 0.0,
            execution_seconds: 0.0,
            cost_usd: None,
            error,
            output: String::new(),
            outcome: None,
            backend: None,
            lost_backends: Vec::new(),
        }
    }
}

/// The fields are as they were at the last [`HarnessHandle::refresh`].
#[derive(Debug)]
pub struct HarnessHandle {
    pub harness_id: String,
    pub pid: u32,
    pub working_dir: PathBuf,
    pub state_db: PathBuf,
    pub status: HarnessStatus,
    /// 0.0 to 1.0.
    pub progress: f64,
    pub current_task: Option<String>,
    /// Sessions so far.
    pub current_iteration: u32,
    /// `None` until it is over.
    pub result: Option<HarnessResult>,
    pub error: Option<String>,
    harness: HarnessDirectory,
    process: ProcessRef,
    /// If it is a child of ours, whose exit code we get.
    child: Option<Child>,
    exit: Option<ExitStatus>,
}

impl HarnessHandle {
    /// For a harness that anyone has started.
    pub fn attach(project: &Path, id: &str, pid: u32) -> Result<Self, HarnessFileError> {
        let harness = HarnessDirectory::open(project, id)?;
        Ok(Self::new(project, harness, pid, None))
    }

    /// For a harness that we have started.
    pub fn of_child(project: &Path, id: &str, child: Child) -> Result<Self, HarnessFileError> {
        let harness = HarnessDirectory::create(project, id)?;
        let pid = child.id();
        Ok(Self::new(project, harness, pid, Some(child)))
    }

    fn new(project: &Path, harness: HarnessDirectory, pid: u32, child: Option<Child>) -> Self {
        let mut handle = Self {
            harness_id: harness.id().to_owned(),
            pid,
            working_dir: project.to_owned(),
            state_db: harness.state_db(),
            status: HarnessStatus::Pending,
            progress: 0.0,
            current_task: None,
            current_iteration: 0,
            result: None,
            error: None,
            process: ProcessRef::find(pid),
            harness,
            child,
            exit: None,
        };
        handle.refresh();
        handle
    }

    /// Leaves an instruction in `inbox/`; the next session reads it.
    pub fn send_instruction(&self, instruction: &str) -> Result<String, HarnessFileError> {
        self.harness.send(instruction, Priority::Normal, Timestamp::now())
    }

    /// Creates `pause`.
    pub fn request_pause(&self) -> Result<(), HarnessFileError> {
        self.harness.request_pause()
    }

    /// Removes `pause`.
    pub fn request_resume(&self) -> Result<(), HarnessFileError> {
        self.harness.resume()
    }

    /// Creates `stop`: the harness ends after its session.
    pub fn request_stop(&self) -> Result<(), HarnessFileError> {
        self.harness.request_stop(HarnessStop::AfterSession)
    }

    /// Creates `stop`: the harness ends now.
    pub fn request_abort(&self) -> Result<(), HarnessFileError> {
        self.harness.request_stop(HarnessStop::Now)
    }

    /// `None` while it runs, if it was ended by a signal, and if it is not a child of ours.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit.and_then(|exit| exit.code())
    }

    /// The process, to wait for its end together with those of others.
    pub fn process(&self) -> &ProcessRef {
        &self.process
    }

    pub fn directory(&self) -> &HarnessDirectory {
        &self.harness
    }

    /// Asks the process to end, and kills it if it has not ended after `timeout`. Returns whether it has ended.
    pub fn force_kill(&mut self, timeout: Duration) -> bool {
        self.process.signal(Signal::TERM);
        let mut has_ended = self.process.has_ended(timeout);
        if !has_ended {
            self.process.signal(Signal::KILL);
            has_ended = self.process.has_ended(KILLED);
        }
        self.refresh();
        has_ended
    }

    /// The last `tail` lines of `harness.log`.
    pub fn get_logs(&self, tail: usize) -> Result<Vec<String>, HarnessFileError> {
        self.harness.read_log(tail)
    }

    /// The alerts in `alerts.log`, the newest last.
    pub fn get_alerts(&self) -> Result<Vec<Alert>, HarnessFileError> {
        self.harness.read_alerts()
    }

    /// Looks at the process and its files. What cannot be read stays as it was.
    pub fn refresh(&mut self) {
        let file = self.harness.read_status().ok().flatten();
        let counts = StateManager::find(&self.harness).ok().flatten().and_then(|state| state.counts().ok());
        if let Some(file) = &file {
            self.current_iteration = file.current_iteration;
        }
        // The view may be missing or damaged; the harness has written the numbers twice.
        let counts = counts.or_else(|| file.as_ref().map(counts_of));
        if let Some(counts) = &counts {
            self.progress = counts.progress();
        }
        let described = counts.as_ref().and_then(|counts| counts.current_task.clone());
        let task = described.or_else(|| file.as_ref()?.task_description.clone());
        let has_ended = self.has_ended();
        (self.status, self.error) = self.judge(has_ended, file.as_ref());
        self.current_task =
            task.filter(|_| !self.status.is_over()).map(|text| text.chars().take(MAX_TASK).collect());
        if self.status.is_over() {
            self.result = Some(self.outcome(&counts.unwrap_or_default(), file.as_ref()));
        }
    }

    fn has_ended(&mut self) -> bool {
        if let Some(child) = &mut self.child {
            // Also takes the exit code, without which the process would stay as a zombie.
            self.exit = child.try_wait().ok().flatten().or(self.exit);
            return self.exit.is_some();
        }
        self.process.has_ended(Duration::ZERO)
    }

    fn output(&self) -> String {
        let state = StateManager::find(&self.harness).ok().flatten();
        let outputs = state.and_then(|state| state.completed_outputs().ok()).unwrap_or_default();
        let said = outputs.iter().filter(|(_, text)| !text.trim().is_empty());
        let all: Vec<String> =
            said.map(|(id, text)| format!("{id}: {}", cut(text.trim(), MAX_TASK_OUTPUT))).collect();
        cut(&all.join("\n\n"), MAX_OUTPUT).to_owned()
    }

    /// A harness that is over is never called paused or stopped because of a file that is left.
    fn judge(&self, has_ended: bool, file: Option<&StatusFile>) -> (HarnessStatus, Option<String>) {
        if !has_ended {
            // It may have been paused by `autonoe pause` too, which leaves no file here.
            let is_paused = file.is_some_and(|file| file.status == LoopStatus::Paused);
            return match (self.harness.is_paused() || is_paused, file) {
                (true, _) => (HarnessStatus::Paused, None),
                (false, Some(_)) => (HarnessStatus::Running, None),
                (false, None) => (HarnessStatus::Pending, None),
            };
        }
        match (file.map(|file| file.status), self.exit) {
            (Some(LoopStatus::Stopped), _) => (HarnessStatus::Stopped, None),
            (Some(LoopStatus::Failed), _) => {
                let why = file.and_then(|file| file.error.clone());
                (HarnessStatus::Failed, why.or_else(|| self.exit.map(exit_words)))
            }
            (_, Some(exit)) if !exit.success() => (HarnessStatus::Failed, Some(exit_words(exit))),
            (Some(LoopStatus::Complete), _) | (_, Some(_)) => (HarnessStatus::Completed, None),
            (Some(LoopStatus::Running | LoopStatus::Paused) | None, None) => {
                (HarnessStatus::Failed, Some("The process has ended without a result.".to_owned()))
            }
        }
    }

    fn outcome(&self, counts: &HarnessCounts, file: Option<&StatusFile>) -> HarnessResult {
        HarnessResult {
            harness_id: self.harness_id.clone(),
            success: self.status == HarnessStatus::Completed,
            tasks_completed: counts.completed,
            tasks_failed: counts.failed,
            tasks_verified: file.map_or(0, |file| file.tasks_verified),
            progress: self.progress,
            cost_usd: file.and_then(|file| file.cost_usd),
            error: self.error.clone(),
            output: self.output(),
            outcome: file.and_then(|file| file.outcome.clone()),
            backend: file.and_then(|file| file.current_cli.clone()),
            lost_backends: file.map(|file| file.lost_backends.clone()).unwrap_or_default(),
            execution_seconds: counts.total_execution_time.as_secs_f64(),
        }
    }
}

/// What the status file says about tasks.
fn counts_of(file: &StatusFile) -> HarnessCounts {
    HarnessCounts {
        tasks: file.tasks_total,
        completed: file.tasks_completed,
        failed: file.tasks_failed,
        ..HarnessCounts::default()
    }
}

/// The beginning of a text of at most `limit` characters.
fn cut(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

fn exit_words(exit: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (exit.code(), exit.signal()) {
        (Some(code), _) => format!("Process exited with code {code}"),
        (None, Some(signal)) => format!("Process was ended by signal {signal}"),
        (None, None) => "Process ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use jiff::Timestamp;

    use super::{HarnessHandle, HarnessStatus, LOG_TAIL};
    use crate::alerts::{Alert, AlertManager, AlertType, OnCritical};
    use crate::control::{HarnessDirectory, HarnessStop, LogLevel, LoopStatus, StatusFile};
    use crate::roadmap::Roadmap;
    use crate::schedule::{TaskRecord, TaskStatus};
    use crate::state_view::StateManager;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("a shell")
    }

    /// A shell that ignores what it is asked, once it says so.
    fn deaf_shell() -> Child {
        let mut child = shell("trap '' TERM; echo ready; exec sleep 60");
        let mut line = String::new();
        let output = child.stdout.take().expect("output");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
        child
    }

    fn write_status(project: &Path, status: LoopStatus) {
        let harness = HarnessDirectory::create(project, "main").expect("a harness");
        let file = StatusFile { status, current_iteration: 4, ..StatusFile::default() };
        harness.write_status(&file).expect("written");
    }

    #[test]
    fn fields_follow_the_process_and_its_files() {
        let project = tempfile::tempdir().expect("directory");
        let mut handle = HarnessHandle::of_child(project.path(), "main", deaf_shell()).expect("a handle");
        assert_eq!((handle.status, handle.progress), (HarnessStatus::Pending, 0.0));
        let harness = HarnessDirectory::open(project.path(), "main").expect("a harness");
        let (state, _) = StateManager::open(&harness).expect("opened");
        let roadmap =
            Roadmap::parse("## Tasks\n- [ ] **a**: First\n- [ ] **b**: Second\n", &[]).expect("a roadmap");
        for (task, status) in roadmap.tasks.iter().zip([TaskStatus::Completed, TaskStatus::InProgress]) {
            state.save_task(task, TaskRecord { status, attempts: 1 }).expect("saved");
        }
        write_status(project.path(), LoopStatus::Running);
        handle.refresh();
        assert_eq!((handle.status, handle.progress), (HarnessStatus::Running, 0.5));
        assert_eq!((handle.current_task.as_deref(), handle.current_iteration), (Some("Second"), 4));
        handle.request_pause().expect("paused");
        handle.refresh();
        assert_eq!(handle.status, HarnessStatus::Paused);
        handle.request_resume().expect("resumed");
        assert!(handle.force_kill(Duration::from_millis(100)), "it is killed if it does not end");
        assert_eq!((handle.status, handle.current_task.clone()), (HarnessStatus::Failed, None));
        assert_eq!(handle.error.as_deref(), Some("Process was ended by signal 9"));
        let result = handle.result.expect("a result");
        assert_eq!((result.success, result.tasks_completed, result.tasks_failed), (false, 1, 0));
    }

    #[test]
    fn a_process_that_ends_when_it_is_asked_is_not_killed() {
        let project = tempfile::tempdir().expect("directory");
        let mut handle = HarnessHandle::of_child(project.path(), "main", shell("read x")).expect("a handle");
        assert!(handle.force_kill(Duration::from_secs(30)));
        assert_eq!(handle.error.as_deref(), Some("Process was ended by signal 15"));
    }

    #[test]
    fn the_exit_code_decides_unless_the_harness_has_said_more() {
        for (script, status, expected, error) in [
            ("exit 0", None, HarnessStatus::Completed, None),
            ("exit 0", Some(LoopStatus::Complete), HarnessStatus::Completed, None),
            ("exit 7", Some(LoopStatus::Running), HarnessStatus::Failed, Some("Process exited with code 7")),
            ("exit 0", Some(LoopStatus::Stopped), HarnessStatus::Stopped, None),
            ("exit 3", Some(LoopStatus::Failed), HarnessStatus::Failed, Some("Process exited with code 3")),
        ] {
            let project = tempfile::tempdir().expect("directory");
            if let Some(status) = status {
                write_status(project.path(), status);
            }
            let mut child = shell(script);
            child.wait().expect("ended");
            let mut handle = HarnessHandle::of_child(project.path(), "main", child).expect("a handle");
            handle.request_pause().expect("a file that is left");
            handle.request_stop().expect("a file that is left");
            handle.refresh();
            assert_eq!((handle.status, handle.error.as_deref()), (expected, error), "{script}");
            assert_eq!(
                handle.result.map(|result| result.success),
                Some(expected == HarnessStatus::Completed)
            );
        }
    }

    #[test]
    fn a_harness_of_somebody_else_is_known_by_its_number() {
        let project = tempfile::tempdir().expect("directory");
        HarnessHandle::attach(project.path(), "main", 1).expect_err("no such harness");
        write_status(project.path(), LoopStatus::Running);
        let mut child = shell("read x");
        let mut handle = HarnessHandle::attach(project.path(), "main", child.id()).expect("a handle");
        assert_eq!(handle.status, HarnessStatus::Running);
        child.kill().expect("killed");
        child.wait().expect("ended");
        handle.refresh();
        assert_eq!(handle.error.as_deref(), Some("The process has ended without a result."));
        write_status(project.path(), LoopStatus::Complete);
        handle.refresh();
        assert_eq!((handle.status, handle.error), (HarnessStatus::Completed, None));
    }

    #[test]
    fn requests_logs_and_alerts_go_through_the_files() {
        let project = tempfile::tempdir().expect("directory");
        let harness = HarnessDirectory::create(project.path(), "main").expect("a harness");
        let handle = HarnessHandle::attach(project.path(), "main", std::process::id()).expect("a handle");
        handle.send_instruction("use sqlite").expect("sent");
        handle.request_pause().expect("paused");
        handle.request_stop().expect("stop");
        let requests = harness.requests().expect("requests");
        assert_eq!(
            requests.instructions.first().map(|instruction| instruction.text.as_str()),
            Some("use sqlite")
        );
        assert_eq!((requests.is_paused, requests.stop), (true, Some(HarnessStop::AfterSession)));
        for number in 0..150 {
            harness.log(LogLevel::Info, number, "x", Timestamp::UNIX_EPOCH).expect("logged");
        }
        assert_eq!(handle.get_logs(LOG_TAIL).expect("lines").len(), 100);
        let mut alerts = AlertManager::open(harness.into(), OnCritical::Continue).expect("opened");
        alerts.alert(Alert::new(AlertType::GoalComplete, "Done.", 9, Timestamp::UNIX_EPOCH)).expect("raised");
        assert_eq!(handle.get_alerts().expect("alerts")[0].kind, AlertType::GoalComplete);
    }
}
