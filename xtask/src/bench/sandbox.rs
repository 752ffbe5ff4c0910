//! What the sandbox adds to a command: `true` in a room, beside a bare `true`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use autonoe_sandbox::{Bounds, Layer, Room, Sandbox};

use super::sample::Sample;
use super::table::{Row, Verdict};
use crate::Result;

const ROUNDS: usize = 300;
const TARGET_MS: f64 = 10.0;
const PROGRAM: &str = "/bin/true";

/// Measures it with each layer that this machine has.
pub fn measure(autonoe: &Path) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut rows = Vec::new();
        for layer in [Layer::Bubblewrap, Layer::Landlock] {
            match Sandbox::with_layer(autonoe, layer, OsStr::new("/usr/local/bin:/usr/bin:/bin")) {
                Ok(sandbox) => rows.extend(of_layer(&sandbox).await?),
                Err(why) => eprintln!("{} is not measured: {why}", layer.name()),
            }
        }
        Ok(rows)
    })
}

async fn of_layer(sandbox: &Sandbox) -> Result<Vec<Row>> {
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
    let (mut bare, mut held) = (Sample::default(), Sample::default());
    for _ in 0..ROUNDS {
        bare.time(|| Command::new(PROGRAM).status())?;
        let start = std::time::Instant::now();
        run(&room).await?;
        held.add(start.elapsed());
    }
    room.close().await;
    let difference = held.median() - bare.median();
    let name = sandbox.layer().name();
    Ok(vec![
        Row {
            what: format!("a command in a room ({name})"),
            target: format!("at most {TARGET_MS} ms above a bare one"),
            measured: format!("{}: {difference:+.2} ms median ({ROUNDS} times)", held.summary()),
            peer: format!("`true`: {}", bare.summary()),
            verdict: Verdict::at_most(difference, TARGET_MS),
        },
        Row {
            what: format!("… opening the room, once a session ({name})"),
            target: String::new(),
            measured: format!("{} ({} times)", opening.summary(), opening.count()),
            peer: "none".to_owned(),
            verdict: Verdict::NoTarget,
        },
    ])
}

async fn run(room: &Room) -> Result {
    let exit = room.command(PROGRAM).leaving_background().spawn()?.wait().await?;
    if exit.is_success() { Ok(()) } else { Err(format!("{PROGRAM} failed in the room: {exit:?}").into()) }
}
