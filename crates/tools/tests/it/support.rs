//! A workspace in a temporary directory, with its tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_core::files::{FileAccess, FileDenial, FileRules};
use autonoe_sandbox::{Bounds, RoomConfig, Sandbox, SandboxLayer, SessionSandbox};
use autonoe_test_kit::example;
use autonoe_tools::{Tool, ToolContext, ToolErrorCode, ToolOptions, ToolOutput, Workspace, builtin};
use serde_json::Value;
use tempfile::TempDir;

pub struct ToolFixture {
    pub dir: TempDir,
    pub session_sandbox: Arc<SessionSandbox>,
    pub workspace: Arc<Workspace>,
    pub outputs: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl ToolFixture {
    pub fn new() -> Self {
        Self::with_supervisor(supervisor())
    }

    pub fn with_supervisor(supervisor: PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::build(dir, Sandbox::none(supervisor), Arc::new(AllFiles), &ToolOptions::default())
    }

    pub fn with_options(options: &ToolOptions) -> Self {
        Self::build(tempfile::tempdir().unwrap(), Sandbox::none(supervisor()), Arc::new(AllFiles), options)
    }

    /// A workspace whose commands run in bubblewrap, with an egress proxy that allows nothing.
    pub fn with_bubblewrap() -> Self {
        let sandbox =
            Sandbox::with_layer(&supervisor(), SandboxLayer::Bubblewrap, "/usr/bin:/bin".as_ref()).unwrap();
        Self::build(tempfile::tempdir().unwrap(), sandbox, Arc::new(AllFiles), &ToolOptions::default())
    }

    /// A workspace in `dir` with these file rules.
    pub fn with_rules(dir: TempDir, rules: Arc<dyn FileRules>) -> Self {
        Self::build(dir, Sandbox::none(supervisor()), rules, &ToolOptions::default())
    }

    fn build(dir: TempDir, sandbox: Sandbox, rules: Arc<dyn FileRules>, options: &ToolOptions) -> Self {
        let env =
            vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("NAMED".to_owned(), "value".to_owned())];
        let room_config = RoomConfig {
            bounds: bounds(&dir, sandbox.layer()),
            sandbox,
            egress: Arc::default(),
            env,
            guarded: Arc::default(),
            sessions: Default::default(),
        };
        let session_sandbox = Arc::new(SessionSandbox::new(room_config));
        let outputs = tempfile::tempdir().unwrap();
        let workspace =
            Workspace::new(dir.path(), Arc::clone(&session_sandbox), rules, outputs.path().join("outputs"))
                .unwrap();
        let workspace = Arc::new(workspace);
        let tools = builtin(&workspace, options);
        Self { dir, session_sandbox, workspace, outputs, tools }
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
        assert!(!output.is_error(), "{}", output.output);
        output.output
    }

    pub async fn error(&self, name: &str, args: Value) -> String {
        let output = self.call(name, args).await;
        assert!(output.is_error(), "{}", output.output);
        output.output
    }

    /// Asserts that a call fails with this code, and returns its output.
    pub async fn fails(&self, name: &str, args: Value, code: ToolErrorCode) -> String {
        let output = self.call(name, args).await;
        assert_eq!(output.error_code(), Some(code), "{}", output.output);
        output.output
    }
}

/// With a sandbox, its own directories are next to the project.
fn bounds(dir: &TempDir, layer: SandboxLayer) -> Bounds {
    let beside =
        if layer == SandboxLayer::None { dir.path().to_owned() } else { dir.path().with_extension("beside") };
    Bounds::new(dir.path(), beside.join(".home"), beside.join(".tmp"))
}

/// Rules that allow everything.
#[derive(Debug)]
struct AllFiles;

impl FileRules for AllFiles {
    fn judge(&self, _: &Path, _: FileAccess) -> Result<(), FileDenial> {
        Ok(())
    }
}

fn supervisor() -> PathBuf {
    example("supervisor")
}
