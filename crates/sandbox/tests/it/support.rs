//! Opens real rooms and watches processes start and exit.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use autonoe_sandbox::{
    Bounds, Exit, Launch, Repository, Room, RoomLimits, Sandbox, SandboxLayer, StdioTarget,
};
use autonoe_test_kit::pid_in;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

pub const SUPERVISOR: &str = env!("CARGO_BIN_EXE_supervisor");
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Far above what any test here needs: reaching it is a failure, not a measurement.
const DEADLINE: Duration = Duration::from_secs(60);

/// The layers that this machine may support.
pub const LAYERS: [SandboxLayer; 3] = [SandboxLayer::None, SandboxLayer::Bubblewrap, SandboxLayer::Landlock];

/// A project with a room around it, and a secret file outside.
pub struct TestRoom {
    pub room: Room,
    pub dir: TempDir,
}

impl TestRoom {
    /// A room without restrictions.
    pub async fn open() -> Self {
        Self::of(&Sandbox::none(SUPERVISOR), |_| {}).await
    }

    /// A room with this layer; `None` if the machine does not support it.
    pub async fn with_layer(layer: SandboxLayer, change: impl FnOnce(&mut Bounds)) -> Option<Self> {
        Self::below(&std::env::temp_dir(), layer, change).await
    }

    /// On a disk, which knows more calls than temporary files in memory.
    pub async fn on_disk(layer: SandboxLayer, change: impl FnOnce(&mut Bounds)) -> Option<Self> {
        Self::below(Path::new("/var/tmp"), layer, change).await
    }

    async fn below(parent: &Path, layer: SandboxLayer, change: impl FnOnce(&mut Bounds)) -> Option<Self> {
        let sandbox = match Sandbox::with_layer(Path::new(SUPERVISOR), layer, OsStr::new(PATH)) {
            Ok(sandbox) => sandbox,
            Err(why) => {
                eprintln!("skipped: {why}");
                return None;
            }
        };
        Some(Self::in_directory(&sandbox, TempDir::new_in(parent).unwrap(), change).await)
    }

    async fn of(sandbox: &Sandbox, change: impl FnOnce(&mut Bounds)) -> Self {
        Self::in_directory(sandbox, TempDir::new().unwrap(), change).await
    }

    async fn in_directory(sandbox: &Sandbox, dir: TempDir, change: impl FnOnce(&mut Bounds)) -> Self {
        for name in ["project", "outside"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("outside/secret"), "the secret").unwrap();
        let mut bounds =
            Bounds::new(dir.path().join("project"), dir.path().join("home"), dir.path().join("tmp"));
        bounds.limits = RoomLimits { disk_reserve: 0, ..RoomLimits::default() };
        change(&mut bounds);
        Self { room: sandbox.open(bounds).await.unwrap(), dir }
    }

    pub fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// A shell script in the project.
    pub fn script(&self, text: &str) -> Launch {
        self.room
            .command("bash")
            .args(["-c", text])
            .envs([("PATH", PATH), ("HOME", self.dir.path().join("home").to_str().unwrap())])
            .envs([("OUTSIDE", self.outside())])
            .cwd(self.project())
    }

    /// Runs a script to its end and returns its exit code and its output.
    pub async fn run(&self, text: &str) -> (i32, String) {
        let (reader, writer) = std::io::pipe().unwrap();
        let launch = self.script(text).stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut child = launch.leaving_background().spawn().unwrap();
        let exit = tokio::time::timeout(DEADLINE, child.wait()).await.expect("it ends").unwrap();
        let mut output = String::new();
        let mut reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into()).unwrap();
        // A background process may keep the pipe open; output from before the exit is already there.
        let _ = tokio::time::timeout(Duration::from_millis(200), reader.read_to_string(&mut output)).await;
        if let Exit::NotStarted { why, .. } = &exit {
            output.push_str(why);
        }
        (exit.code(), output)
    }

    /// Asserts that a script fails, and returns its output.
    #[track_caller]
    pub fn fails(&self, text: &str) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        async move {
            let (code, output) = self.run(text).await;
            assert_ne!(code, 0, "{caller}: {text} succeeded: {output}");
            output
        }
    }

    /// Asserts that a script succeeds, and returns its output.
    #[track_caller]
    pub fn succeeds(&self, text: &str) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        async move {
            let (code, output) = self.run(text).await;
            assert_eq!(code, 0, "{caller}: {text} failed: {output}");
            output
        }
    }
}

/// An orchestrator in a separate process, so that it can be killed: the calling test, started again with an environment
/// variable. It opens a room with a record around `directory/project` and runs a script in it.
pub struct Orchestrator(pub Child);

const ORCHESTRATOR: &str = "AUTONOE_TEST_ORCHESTRATOR_IN";

impl Orchestrator {
    /// Call this first in a test. In the orchestrator process it never returns.
    pub async fn run_if_requested() {
        let Ok(request) = std::env::var(ORCHESTRATOR) else { return };
        let [layer, directory, script] =
            <[&str; 3]>::try_from(request.splitn(3, '\n').collect::<Vec<_>>()).unwrap();
        let layer = LAYERS.into_iter().find(|known| known.name() == layer).unwrap();
        let sandbox = Sandbox::with_layer(Path::new(SUPERVISOR), layer, OsStr::new(PATH)).unwrap();
        let mut dir = TempDir::new().unwrap();
        dir.disable_cleanup(true);
        let bounds = with_record(Path::new(directory));
        let room = sandbox.open(bounds).await.unwrap();
        let test_room = TestRoom { room, dir };
        let launch = test_room.script(script).cwd(Path::new(directory).join("project"));
        let _child = launch.spawn().unwrap();
        std::future::pending::<()>().await;
    }

    /// Starts the test of this name as the orchestrator; `None` if the machine does not support the layer.
    pub fn start(test: &str, layer: SandboxLayer, directory: &Path, script: &str) -> Option<Self> {
        if let Err(why) = Sandbox::with_layer(Path::new(SUPERVISOR), layer, OsStr::new(PATH)) {
            eprintln!("skipped: {why}");
            return None;
        }
        fs::create_dir_all(directory.join("project")).unwrap();
        let mut own_binary = Command::new(std::env::current_exe().unwrap());
        own_binary.args([test, "--exact", "--nocapture"]);
        own_binary.env(ORCHESTRATOR, format!("{}\n{}\n{script}", layer.name(), directory.display()));
        Some(Self(own_binary.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()))
    }

    /// Kills only the orchestrator.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Kills the orchestrator and everything it has started, the supervisor first, as the kernel may when memory runs out.
    pub fn kill_everything(mut self) {
        let mut doomed = vec![self.0.id().to_string()];
        let mut next = 0;
        while let Some(pid) = doomed.get(next).cloned() {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
            doomed.extend(
                children.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
            );
            next += 1;
        }
        for pid in doomed.iter().skip(1) {
            let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Bounds around `directory/project`, with a record and two protected directories that do not exist.
pub fn with_record(directory: &Path) -> Bounds {
    let root = directory.join("project").canonicalize().unwrap();
    let mut bounds = Bounds::new(&root, directory.join("home"), directory.join("tmp"));
    bounds.limits = RoomLimits { disk_reserve: 0, ..RoomLimits::default() };
    bounds.protected = vec![root.join(".claude"), root.join(".git/hooks")];
    bounds.records = Some(directory.join("rooms"));
    // A linked working tree has its repository elsewhere.
    bounds.write = Repository::around(&root).directories;
    bounds
}

pub fn piped(launch: Launch) -> Launch {
    launch.stdin(StdioTarget::Piped).stdout(StdioTarget::Piped)
}

/// A shell script that starts three kinds of descendants and writes their ids to files `a`, `b` and `c`:
/// a plain one, one in a session of its own, and an orphan in a session of its own that ignores SIGTERM.
pub const THREE_DESCENDANTS: &str = r#"
    sleep 300 & echo $! > a.new; mv a.new a
    setsid sh -c 'echo $$ > b.new; mv b.new b; exec sleep 300' &
    (setsid sh -c 'trap "" TERM; echo $$ > c.new; mv c.new c; exec sleep 300' &)
    while ! { test -e b && test -e c; }; do sleep 0.01; done
"#;

/// Waits for the three descendants and returns their ids.
pub fn three(dir: &Path) -> Vec<i32> {
    ["a", "b", "c"].iter().map(|name| pid_in(&dir.join(name))).collect()
}
