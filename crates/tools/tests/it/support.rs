//! A workspace in a temporary directory, with the tools on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use autonoe_sandbox::Launcher;
use autonoe_tools::{Tool, ToolContext, ToolOutput, Workspace, builtin};
use serde_json::Value;
use tempfile::TempDir;

/// Far above what anything here needs: reaching it is the failure, not a measurement.
const DEADLINE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub struct Bench {
    pub dir: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Bench {
    pub fn new() -> Self {
        Self::with_keeper(keeper())
    }

    pub fn with_keeper(keeper: PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env =
            vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("NAMED".to_owned(), "value".to_owned())];
        let workspace = Workspace::new(dir.path(), Launcher::new(keeper), env).unwrap();
        Self { dir, tools: builtin(Arc::new(workspace)) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name);
        Arc::clone(tool.expect("a built-in tool"))
    }

    pub async fn call(&self, name: &str, args: Value) -> ToolOutput {
        self.tool(name).call(args, &ToolContext::default()).await
    }

    pub async fn ok(&self, name: &str, args: Value) -> String {
        let output = self.call(name, args).await;
        assert!(!output.is_error, "{}", output.content);
        output.content
    }

    pub async fn error(&self, name: &str, args: Value) -> String {
        let output = self.call(name, args).await;
        assert!(output.is_error, "{}", output.content);
        output.content
    }
}

/// The example `keeper`, which cargo builds along with the tests of this package.
fn keeper() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let keeper = test.ancestors().nth(2).unwrap().join("examples/keeper");
    assert!(
        keeper.exists(),
        "{} is missing: run the tests with `cargo test -p autonoe-tools` or `cargo nextest run`, \
         which build it, or build it with `cargo build -p autonoe-tools --examples`",
        keeper.display()
    );
    keeper
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Waits for a file with a process id in it.
pub fn pid_in(file: &Path) -> i32 {
    let mut pid = None;
    until(&format!("{} holds a process id", file.display()), || {
        pid = fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    pid.unwrap()
}

pub fn is_running(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        !matches!(state, Some('Z' | 'X'))
    })
}
