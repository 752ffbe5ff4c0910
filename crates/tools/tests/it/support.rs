//! A workspace in a temporary directory, with the tools on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use autonoe_core::files::{Access, FileRules};
use autonoe_sandbox::{Bounds, Premises, Quarters, Sandbox};
use autonoe_tools::{Tool, ToolContext, ToolOutput, Workspace, builtin};
use serde_json::Value;
use tempfile::TempDir;

/// Far above what anything here needs: reaching it is the failure, not a measurement.
const DEADLINE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub struct Bench {
    pub dir: TempDir,
    pub quarters: Arc<Quarters>,
    tools: Vec<Arc<dyn Tool>>,
}

impl Bench {
    pub fn new() -> Self {
        Self::with_keeper(keeper())
    }

    pub fn with_keeper(keeper: PathBuf) -> Self {
        Self::build(tempfile::tempdir().unwrap(), keeper, Arc::new(AllFiles))
    }

    /// A workspace in `dir` whose files are judged by `rules`.
    pub fn with_rules(dir: TempDir, rules: Arc<dyn FileRules>) -> Self {
        Self::build(dir, keeper(), rules)
    }

    fn build(dir: TempDir, keeper: PathBuf, rules: Arc<dyn FileRules>) -> Self {
        let env =
            vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("NAMED".to_owned(), "value".to_owned())];
        let premises = Premises {
            sandbox: Sandbox::none(keeper),
            bounds: Bounds::new(dir.path(), dir.path().join(".home"), dir.path().join(".tmp")),
            door: Arc::default(),
            env,
        };
        let quarters = Arc::new(Quarters::new(premises));
        let workspace = Workspace::new(dir.path(), Arc::clone(&quarters), rules).unwrap();
        Self { dir, quarters, tools: builtin(Arc::new(workspace)) }
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

/// Rules that let everything through.
#[derive(Debug)]
struct AllFiles;

impl FileRules for AllFiles {
    fn judge(&self, _: &Path, _: Access) -> Result<(), String> {
        Ok(())
    }
}

fn keeper() -> PathBuf {
    example("keeper")
}

/// An example, which cargo builds along with the tests of this package.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let example = test.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        example.exists(),
        "{} is missing: run the tests with `cargo test -p autonoe-tools` or `cargo nextest run`, \
         which build it, or build it with `cargo build -p autonoe-tools --examples`",
        example.display()
    );
    example
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
