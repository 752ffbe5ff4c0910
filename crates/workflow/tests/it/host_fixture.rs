//! A project in a temporary directory with an agent, and a `SystemHost` for it.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use autonoe_sandbox::{Bounds, RoomConfig, RoomLimits, Sandbox, SandboxLayer, SessionSandbox};
use autonoe_test_kit::{PATH, example, write_program};
use autonoe_workflow::system_host::{GithubIssues, SystemHost, WebhookTiming, Webhooks};
use tempfile::TempDir;

/// Far above what anything here needs.
pub const LONG: Duration = Duration::from_secs(120);

pub struct HostFixture {
    pub dir: TempDir,
    pub host: SystemHost,
}

impl HostFixture {
    pub fn new() -> Self {
        Self::with_sandbox(Sandbox::none(supervisor()))
    }

    /// A fixture with a real sandbox; `None` where bubblewrap does not work.
    pub fn sandboxed() -> Option<Self> {
        match Sandbox::with_layer(&supervisor(), SandboxLayer::Bubblewrap, OsStr::new(PATH)) {
            Ok(sandbox) => Some(Self::with_sandbox(sandbox)),
            Err(why) => {
                eprintln!("skipped: {why}");
                None
            }
        }
    }

    fn with_sandbox(sandbox: Sandbox) -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().join("project");
        let directory = root.join("agents/a");
        fs::create_dir_all(&directory).unwrap();
        let mut bounds = Bounds::new(&root, dir.path().join("home"), dir.path().join("tmp"));
        bounds.limits = RoomLimits { disk_reserve: 0, ..RoomLimits::default() };
        let session_sandbox = SessionSandbox::new(RoomConfig {
            sandbox,
            bounds,
            egress: Arc::default(),
            env: vec![("PATH".to_owned(), PATH.to_owned())],
            guarded: Arc::default(),
            sessions: Default::default(),
        });
        let issues = GithubIssues {
            gh: None,
            environment: vec![("PATH".to_owned(), PATH.to_owned())],
            ourselves: supervisor(),
            scratch: dir.path().join("scratch"),
        };
        let webhooks =
            Webhooks { hosts: Vec::new(), signer: None, proxy: None, timing: WebhookTiming::default() };
        let host = SystemHost {
            root,
            directory,
            session_sandbox: Arc::new(session_sandbox),
            issues,
            webhooks,
            gates: None,
        };
        Self { dir, host }
    }

    pub fn file(&self, name: &str, text: &str) {
        fs::write(self.host.root.join(name), text).unwrap();
    }

    pub fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.host.directory.join(name);
        write_program(&path, script);
        path
    }
}

fn supervisor() -> PathBuf {
    example("workflow_supervisor")
}
