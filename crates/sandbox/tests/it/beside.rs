//! A sandbox beside that of an agent: nothing that the agent's programs leave behind or do reaches the programs in it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use autonoe_egress::{EgressRules, SocketRoute};
use autonoe_sandbox::{Bounds, RoomConfig, Sandbox, SandboxLayer, SessionSandbox, StdioTarget};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::support::{PATH, SUPERVISOR};

const ATTACKS: &str = include_str!("attacks.py");

/// The sandbox of an agent and one beside it; `None` if the machine does not support the layer.
fn sandboxes(layer: SandboxLayer) -> Option<(TempDir, SessionSandbox, SessionSandbox)> {
    let sandbox = Sandbox::with_layer(Path::new(SUPERVISOR), layer, OsStr::new(PATH)).ok()?;
    let dir = TempDir::new().unwrap();
    let [project, home] = ["project", "home"].map(|name| dir.path().join(name));
    for directory in [&project.join("bin"), &home.join("bin")] {
        fs::create_dir_all(directory).unwrap();
    }
    fs::write(project.join("attacks.py"), ATTACKS).unwrap();
    let mut bounds = Bounds::new(&project, &home, dir.path().join("tmp"));
    bounds.tracing = true;
    let places = [&project, &home].map(|place| place.join("bin").display().to_string());
    let variable = |name: &str, value: String| (name.to_owned(), value);
    let env = vec![
        variable("PATH", format!("bin:{}:{}:{PATH}", places[0], places[1])),
        variable("COMPILED", home.join("compiled").display().to_string()),
    ];
    let socket = SocketRoute { name: "calls".to_owned(), path: dir.path().join("socket") };
    let egress = Arc::new(EgressRules { sockets: vec![socket], ..EgressRules::default() });
    let (guarded, sessions) = (Arc::default(), Default::default());
    let agents = SessionSandbox::new(RoomConfig { sandbox, bounds, egress, env, guarded, sessions });
    let beside = agents.beside(&dir.path().join("hooks"));
    Some((dir, agents, beside))
}

/// Runs a script in the project. Its background processes stay.
async fn run(session_sandbox: &SessionSandbox, script: &str) -> String {
    let launch = session_sandbox.shell(script).await.unwrap().cwd(&session_sandbox.bounds().root);
    let mut child = launch.stdout(StdioTarget::Piped).leaving_background().spawn().unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).await.unwrap();
    child.wait().await.unwrap();
    output
}

#[tokio::test]
async fn nothing_in_the_agents_home_or_search_path_is_used() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let Some((dir, agents, beside)) = sandboxes(layer) else { continue };
        let plant = r#"echo x > ~/.bashrc; for d in bin ~/bin; do printf 'echo planted\n' > $d/id; chmod +x $d/id; done; id"#;
        assert_eq!(run(&agents, plant).await, "planted\n", "{layer:?}");
        let seen =
            run(&beside, "ls -A ~ \"$TMPDIR\"/; id -u; echo $HOME $COMPILED $PATH; touch mine ~/own").await;
        assert!(!seen.contains("planted") && !seen.contains("bashrc"), "{layer:?}: {seen}");
        let own = dir.path().join("hooks/home");
        let variables = format!("{0} {0}/compiled {PATH}\n", own.display());
        assert!(seen.ends_with(&variables), "{layer:?}: {seen}");
        assert!(dir.path().join("project/mine").exists() && own.join("own").exists(), "{layer:?}");
        let agents_view = run(&agents, &format!("ls {} 2>&1", own.display())).await;
        assert!(!agents_view.contains("own\n"), "{layer:?}: {agents_view}");
        assert!(agents.route_url("calls").await.is_some() && beside.route_url("calls").await.is_none());
        beside.close().await;
        agents.close().await;
    }
}

#[tokio::test]
async fn programs_of_the_agent_cannot_trace_those_beside() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let Some((_dir, agents, beside)) = sandboxes(layer) else { continue };
        if run(&agents, "command -v python3").await.is_empty() {
            eprintln!("skipped: no python3");
            return;
        }
        run(&agents, "sleep 60 > /dev/null 2>&1 & echo $! > own").await;
        // Process numbers are those of this machine, which bubblewrap's rooms do not know.
        let pid = run(&beside, "sleep 61 > /dev/null 2>&1 & readlink /proc/self > /dev/null; echo $!").await;
        let found = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done 2> /dev/null";
        let visible = run(&agents, found).await.contains("sleep 61");
        assert!(!(visible && layer == SandboxLayer::Bubblewrap), "{layer:?}");
        if layer == SandboxLayer::Landlock {
            let traced = run(&agents, &format!("python3 attacks.py trace {}", pid.trim())).await;
            assert_eq!(traced, "", "{layer:?}");
            let control = run(&agents, "python3 attacks.py trace $(cat own)").await;
            assert_ne!(control, "", "{layer:?}: a debugger works within a room");
        }
        beside.close().await;
        agents.close().await;
    }
}
