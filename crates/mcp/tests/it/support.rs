//! A project in a temporary directory, with MCP servers in its room.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_mcp::{McpHost, McpServers, ServerConfig};
use autonoe_sandbox::{Bounds, RoomConfig, RoomLimits, Sandbox, SandboxLayer, SessionSandbox};
use autonoe_test_kit::{example, npm_package, until_async};
use autonoe_tools::{Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Far above what any test here needs: reaching it is a failure, not a measurement.
const DEADLINE: Duration = Duration::from_secs(30);

pub struct McpFixture {
    pub dir: TempDir,
    pub host: McpHost,
}

impl McpFixture {
    pub fn new() -> Self {
        Self::of(Sandbox::none(example("mcp_supervisor")), |_| {})
    }

    /// A project with a bubblewrap room; `None` if the machine does not support it.
    pub fn with_bubblewrap(change: impl FnOnce(&mut Bounds)) -> Option<Self> {
        match Sandbox::with_layer(&example("mcp_supervisor"), SandboxLayer::Bubblewrap, OsStr::new(&path())) {
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
        bounds.limits = RoomLimits { disk_reserve: 0, ..RoomLimits::default() };
        change(&mut bounds);
        let env = vec![("PATH".to_owned(), path())];
        let session_sandbox = Arc::new(SessionSandbox::new(RoomConfig {
            sandbox,
            bounds,
            egress: Arc::default(),
            env,
            guarded: Arc::default(),
            sessions: Default::default(),
        }));
        let mut host = McpHost::new(root, session_sandbox);
        host.start_limit = DEADLINE;
        Self { dir, host }
    }

    pub fn root(&self) -> &Path {
        &self.host.root
    }

    /// The configuration of the example server with this behavior.
    pub fn misbehaving(&self, behavior: &str) -> Value {
        json!({"command": example("mcp_server"), "args": [behavior, self.log_file()]})
    }

    pub fn log_file(&self) -> PathBuf {
        self.dir.path().join("events")
    }

    /// Lets the example server continue where it waits.
    pub fn go(&self) {
        fs::write(self.log_file().with_extension("go"), "").unwrap();
    }

    /// The events that the example server has logged.
    pub fn events(&self) -> Vec<String> {
        fs::read_to_string(self.log_file()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub fn count(&self, event: &str) -> usize {
        self.events().iter().filter(|line| line.starts_with(event)).count()
    }

    /// Starts one server with the name `x` and waits until it is ready or has failed.
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

/// Calls the only tool of the example server.
pub async fn echo(servers: &McpServers) -> ToolOutput {
    call(servers, "mcp__x__echo", json!({"text": "hello"})).await
}

/// Waits for a problem and returns all problems until then.
pub async fn problems_until(servers: &McpServers, part: &str) -> Vec<String> {
    let mut problems = Vec::new();
    until_async(part, || {
        problems.extend(servers.problems());
        problems.iter().any(|problem| problem.contains(part))
    })
    .await;
    problems
}

/// The test's own PATH, which servers get too, since node may be installed anywhere.
pub fn path() -> String {
    std::env::var("PATH").expect("PATH is set")
}

/// The path of an installed package's script; `None` if the npm packages are not installed.
pub fn package(entry: &str) -> Option<PathBuf> {
    npm_package(&format!("@modelcontextprotocol/{entry}"))
}
