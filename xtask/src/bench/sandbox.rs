//! Measures what the sandbox adds to a command: `true` in a room, compared with a bare `true`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use autonoe_sandbox::{Bounds, Room, Sandbox, SandboxLayer};

use super::sample::Sample;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const ROUNDS: usize = 300;
const TARGET_MS: f64 = 10.0;
const PROGRAM: &str = "/bin/true";

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut rows = Vec::new();
        for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
            match Sandbox::with_layer(autonoe, layer, OsStr::new("/usr/local/bin:/usr/bin:/bin")) {
                Ok(sandbox) => rows.extend(of_layer(&sandbox).await?),
                Err(error) => eprintln!("{} is not measured: {error}", layer.name()),
            }
        }
        Ok(rows)
    })
}

async fn of_layer(sandbox: &Sandbox) -> Result<Vec<BenchRow>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path();
    std::fs::create_dir(path.join("project"))?;
    let bounds = Bounds::new(path.join("project"), path.join("home"), path.join("tmp"));
    let mut opening = Sample::default();
    for _ in 0..ROUNDS / 10 {
        let start = std::time::Instant::now();
        let room = sandbox.open(bounds.clone()).await?;
        opening.add(start.elapsed());
        room.close().await;
    }
    let room = sandbox.open(bounds).await?;
    let (mut bare, mut in_room) = (Sample::default(), Sample::default());
    for _ in 0..ROUNDS {
        bare.time(|| Command::new(PROGRAM).status())?;
        let start = std::time::Instant::now();
        run(&room).await?;
        in_room.add(start.elapsed());
    }
    room.close().await;
    let difference = in_room.median() - bare.median();
    let name = sandbox.layer().name();
    Ok(vec![
        BenchRow {
            what: format!("a command in a room ({name})"),
            target: format!("at most {TARGET_MS} ms above a bare one"),
            measured: format!("{}: {difference:+.2} ms median ({ROUNDS} times)", in_room.summary()),
            peer: format!("`true`: {}", bare.summary()),
            verdict: BenchVerdict::at_most(difference, TARGET_MS),
        },
        BenchRow {
            what: format!("… opening the room, once a session ({name})"),
            target: String::new(),
            measured: format!("{} ({} times)", opening.summary(), opening.count()),
            peer: "none".to_owned(),
            verdict: BenchVerdict::NoTarget,
        },
    ])
}

async fn run(room: &Room) -> Result {
    let exit = room.command(PROGRAM).leaving_background().spawn()?.wait().await?;
    if exit.is_success() { Ok(()) } else { Err(format!("{PROGRAM} failed in the room: {exit:?}").into()) }
}
