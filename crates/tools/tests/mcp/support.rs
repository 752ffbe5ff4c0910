//! A project in a temporary directory, with servers in its room.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use autonoe_sandbox::{Bounds, Layer, Limits, RoomConfig, Sandbox, SessionSandbox};
use autonoe_tools::{McpHost, McpServers, ServerConfig, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Far above what anything here needs: reaching it is the failure, not a measurement.
const DEADLINE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Where `cargo xtask test` has put the public servers and the suite.
const NPM: &str = "AUTONOE_TEST_NPM";

pub struct Bench {
    pub dir: TempDir,
    pub host: McpHost,
}

impl Bench {
    pub fn new() -> Self {
        Self::of(Sandbox::none(example("supervisor")), |_| {})
    }

    /// A bench whose room is held by the kernel; none where the machine cannot.
    pub fn held(change: impl FnOnce(&mut Bounds)) -> Option<Self> {
        match Sandbox::with_layer(&example("supervisor"), Layer::Bubblewrap, OsStr::new(&path())) {
            Ok(sandbox) => Some(Self::of(sandbox, change)),
            Err(why) => {
                eprintln!("skipped: {why}");
                None
            }
        }
    }

    fn of(sandbox: Sandbox, change: impl FnOnce(&mut Bounds)) -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().join("project");
        fs::create_dir(&root).unwrap();
        let mut bounds = Bounds::new(&root, dir.path().join("home"), dir.path().join("tmp"));
        bounds.limits = Limits { disk_reserve: 0, ..Limits::default() };
        change(&mut bounds);
        let env = vec![("PATH".to_owned(), path())];
        let session_sandbox = Arc::new(SessionSandbox::new(RoomConfig {
            sandbox,
            bounds,
            egress: Arc::default(),
            env,
            guarded: Arc::default(),
        }));
        let mut host = McpHost::new(root, session_sandbox);
        host.start_limit = DEADLINE;
        Self { dir, host }
    }

    pub fn root(&self) -> &Path {
        &self.host.root
    }

    /// Our own server, behaving like `how`.
    pub fn misbehaving(&self, how: &str) -> Value {
        json!({"command": example("mcp_server"), "args": [how, self.trace_file()]})
    }

    pub fn trace_file(&self) -> PathBuf {
        self.dir.path().join("traces")
    }

    /// Has our own server go on, where it waits for it.
    pub fn go(&self) {
        fs::write(self.trace_file().with_extension("go"), "").unwrap();
    }

    pub fn traces(&self) -> Vec<String> {
        fs::read_to_string(self.trace_file()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub fn count(&self, trace: &str) -> usize {
        self.traces().iter().filter(|line| line.starts_with(trace)).count()
    }

    /// Starts one server, called `x`, and waits for it.
    pub async fn settled(&self, config: Value) -> McpServers {
        let servers = self.start([("x", config)]);
        servers.settled().await;
        servers
    }

    pub fn start<const N: usize>(&self, configs: [(&str, Value); N]) -> McpServers {
        let parse = |(name, value): (&str, Value)| {
            (name.to_owned(), ServerConfig::parse(name, &value).expect("a valid configuration"))
        };
        McpServers::start(configs.into_iter().map(parse).collect::<BTreeMap<_, _>>(), self.host.clone())
    }
}

pub fn names(servers: &McpServers) -> Vec<String> {
    servers.tools().iter().map(|tool| tool.spec().name).collect()
}

pub fn tool(servers: &McpServers, name: &str) -> Arc<dyn Tool> {
    let tools = servers.tools();
    let found = tools.into_iter().find(|tool| tool.spec().name == name);
    found.unwrap_or_else(|| panic!("{name} is not among {:?}; {:?}", names(servers), servers.problems()))
}

pub async fn call(servers: &McpServers, name: &str, args: Value) -> ToolOutput {
    tool(servers, name).call(args, &ToolContext::default()).await
}

/// Calls our own server's only tool.
pub async fn echo(servers: &McpServers) -> ToolOutput {
    call(servers, "mcp__x__echo", json!({"text": "hello"})).await
}

/// Waits for a problem and gives all there were until then.
pub async fn problems_until(servers: &McpServers, part: &str) -> Vec<String> {
    let mut seen = Vec::new();
    until(part, || {
        seen.extend(servers.problems());
        seen.iter().any(|problem| problem.contains(part))
    })
    .await;
    seen
}

pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// An example, which cargo builds along with the tests of this package.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let example = test.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        example.exists(),
        "{} is missing: build it with `cargo build -p autonoe-tools --examples`",
        example.display()
    );
    example
}

/// Whether a process of that program, with that in its command line, is there.
pub fn is_running(part: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(part))
}

/// Where programs are: the one variable that servers get from us, since node may be anywhere.
pub fn path() -> String {
    std::env::var("PATH").expect("PATH is set")
}

/// The entry of an installed package, as node is given it; none where npm's packages are not installed.
pub fn package(entry: &str) -> Option<PathBuf> {
    let Some(place) = std::env::var_os(NPM).map(PathBuf::from) else {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{NPM} is not set");
        eprintln!("skipped: {NPM} is not set; `cargo xtask test` installs the packages and sets it");
        return None;
    };
    let entry = place.join("node_modules/@modelcontextprotocol").join(entry);
    assert!(entry.exists(), "{} is missing", entry.display());
    Some(entry)
}
