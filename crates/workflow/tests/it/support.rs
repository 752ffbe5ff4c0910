//! A project in a temporary directory, with an agent in it and the machine around.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use autonoe_sandbox::{Bounds, Layer, Limits, RoomConfig, Sandbox, SessionSandbox};
use autonoe_workflow::machine::{Issues, Machine, Patience, Webhooks};
use tempfile::TempDir;

pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Far above what anything here needs.
pub const LONG: Duration = Duration::from_secs(120);

pub struct Bench {
    pub dir: TempDir,
    pub machine: Machine,
}

impl Bench {
    pub fn new() -> Self {
        Self::of(Sandbox::none(supervisor()))
    }

    /// A bench whose room is held by the kernel; none where the machine cannot.
    pub fn held() -> Option<Self> {
        match Sandbox::with_layer(&supervisor(), Layer::Bubblewrap, OsStr::new(PATH)) {
            Ok(sandbox) => Some(Self::of(sandbox)),
            Err(why) => {
                eprintln!("skipped: {why}");
                None
            }
        }
    }

    fn of(sandbox: Sandbox) -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().join("project");
        let directory = root.join("agents/a");
        fs::create_dir_all(&directory).unwrap();
        let mut bounds = Bounds::new(&root, dir.path().join("home"), dir.path().join("tmp"));
        bounds.limits = Limits { disk_reserve: 0, ..Limits::default() };
        let session_sandbox = SessionSandbox::new(RoomConfig {
            sandbox,
            bounds,
            egress: Arc::default(),
            env: vec![("PATH".to_owned(), PATH.to_owned())],
            guarded: Arc::default(),
        });
        let issues = Issues {
            gh: None,
            environment: vec![("PATH".to_owned(), PATH.to_owned())],
            ourselves: supervisor(),
            scratch: dir.path().join("scratch"),
        };
        let webhooks =
            Webhooks { hosts: Vec::new(), signer: None, proxy: None, patience: Patience::default() };
        let machine = Machine {
            root,
            directory,
            session_sandbox: Arc::new(session_sandbox),
            issues,
            webhooks,
            gates: None,
        };
        Self { dir, machine }
    }

    /// A file of the project.
    pub fn file(&self, name: &str, text: &str) {
        fs::write(self.machine.root.join(name), text).unwrap();
    }

    /// A program in the agent's directory.
    pub fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.machine.directory.join(name);
        write_program(&path, script);
        path
    }
}

/// Writes an executable shell script. Another process does that: as long as one that was just begun holds a file that is
/// written to, nobody can run it.
pub fn write_program(path: &Path, script: &str) {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    write!(writer.stdin.take().unwrap(), "#!/bin/sh\n{script}\n").unwrap();
    assert!(writer.wait().unwrap().success());
}

/// An example, which cargo builds along with the tests of this package.
fn supervisor() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let supervisor = test.ancestors().nth(2).unwrap().join("examples/workflow_supervisor");
    assert!(
        supervisor.exists(),
        "{} is missing: build it with `cargo build -p autonoe-workflow --examples`",
        supervisor.display()
    );
    supervisor
}

/// Whether a process is there that has this among its arguments.
pub fn is_running(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut arguments = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    arguments.any(|arguments| String::from_utf8_lossy(&arguments).contains(mark))
}
