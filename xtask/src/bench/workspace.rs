//! Measures a workspace: how long it takes to make and to reuse one, how long a landing takes, and what it costs on disk. The peer is a
//! linked working tree of git.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use autonoe_workspace::{Hub, HubLayout, Landing, LandingConsent, LandingTarget, UsersMachine};

use super::checkout::{fill, git, room_config};
use super::project::BenchProject;
use super::sample::Sample;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const CREATE_MS: f64 = 300.0;
const REUSE_MS: f64 = 100.0;
const LAND_MS: f64 = 200.0;
const ROUNDS: usize = 15;

/// Size of the repository whose cost on disk is measured, and of each of its files.
const LARGE_BYTES: u64 = 1 << 30;
const LARGE_FILE: u64 = 16 << 20;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut rows = runtime.block_on(times(autonoe))?;
    rows.push(runtime.block_on(disk(autonoe))?);
    Ok(rows)
}

async fn times(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let project = BenchProject::new()?;
    fill(&project.root())?;
    commit_all(&project)?;
    git(&project, &["gc", "-q"])?;
    age();
    git(&project, &["status"])?;
    let [mut created, mut reused, mut landed, mut linked] = std::array::from_fn(|_| Sample::default());
    let state = project.home().join("state");
    fs::create_dir_all(&state)?;
    let room_config = room_config(autonoe, &state).await?;
    for round in 0..ROUNDS {
        let hub = Hub::new(
            project.root().canonicalize()?,
            HubLayout::new(state.join(format!("hub-{round}"))),
            room_config.clone(),
            UsersMachine::default(),
        );
        let start = Instant::now();
        let mut revision = hub.update().await?;
        let (workspace, _) = hub.workspace("1", "autonoe/1", &revision).await?;
        created.add(start.elapsed());
        age();
        hub.settle(&workspace).await?;
        let start = Instant::now();
        revision = hub.update().await?;
        let (workspace, _) = hub.workspace("1", "autonoe/2", &revision).await?;
        reused.add(start.elapsed());

        for file in 0..10 {
            fs::write(
                workspace.tree().join(format!("part-{file:03}/file-00.txt")),
                format!("round {round}"),
            )?;
        }
        let tree = workspace.tree();
        let tree = tree.to_str().ok_or("The path of the temporary directory is not valid UTF-8.")?;
        git(&project, &["-C", tree, "commit", "-q", "-a", "-m", "work"])?;
        let fetched = hub.fetch(&workspace).await?;
        let start = Instant::now();
        let target = &LandingTarget::CheckedOut;
        let landing = hub.land(&workspace, &fetched, &revision, target, LandingConsent::default()).await?;
        landed.add(start.elapsed());
        if !matches!(landing, Landing::Landed { .. }) {
            return Err(format!("It did not land: {landing:?}").into());
        }
        let other = project.home().join(format!("linked-{round}"));
        let other = other.to_str().ok_or("The path of the temporary directory is not valid UTF-8.")?;
        linked.time(|| git(&project, &["worktree", "add", "-q", "--detach", other]))?;
    }
    let peer = format!("`git worktree add`: {}", linked.summary());
    let row = |what: &str, sample: &Sample, target: f64| BenchRow {
        what: format!("{what} (5,000 files)"),
        target: format!("at most {target} ms"),
        measured: format!("{} ({ROUNDS} times)", sample.summary()),
        peer: peer.clone(),
        verdict: BenchVerdict::at_most(sample.median(), target),
    };
    Ok(vec![
        row("a workspace is made, with its hub", &created, CREATE_MS),
        row("a workspace is reused", &reused, REUSE_MS),
        row("a landing of 10 changed files", &landed, LAND_MS),
    ])
}

/// What the hub and a workspace of a large repository cost, beside the checkout itself.
async fn disk(autonoe: &Path) -> Result<BenchRow> {
    let project = BenchProject::new()?;
    let mut random = fs::File::open("/dev/urandom")?;
    for number in 0..LARGE_BYTES / LARGE_FILE {
        let mut file = fs::File::create(project.root().join(format!("large-{number:03}")))?;
        std::io::copy(&mut random.by_ref().take(LARGE_FILE), &mut file)?;
    }
    commit_all(&project)?;
    let state = project.home().join("state");
    fs::create_dir_all(&state)?;
    let room_config = room_config(autonoe, &state).await?;
    let layout = HubLayout::in_state(&state);
    let hub = Hub::new(project.root().canonicalize()?, layout, room_config, UsersMachine::default());
    let revision = hub.update().await?;
    let (workspace, _) = hub.workspace("1", "autonoe/1", &revision).await?;
    let checkout = own_bytes(&workspace.tree())?;
    let beside = own_bytes(&state)? - checkout;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Ok(BenchRow {
        what: "disk that a workspace of a 1 GiB repository costs beside its checkout".to_owned(),
        target: "at most 10 MiB".to_owned(),
        measured: format!("{:.1} MiB", mib(beside)),
        peer: format!("its checkout: {:.0} MiB", mib(checkout)),
        verdict: BenchVerdict::at_most(mib(beside), 10.0),
    })
}

/// Git trusts what an index says about a file only if the file is older by a second, as it usually is.
fn age() {
    thread::sleep(Duration::from_millis(1100));
}

fn commit_all(project: &BenchProject) -> Result {
    for arguments in [&["init", "-q", "-b", "main", "."][..], &["add", "."], &["commit", "-q", "-m", "all"]] {
        git(project, arguments)?;
    }
    Ok(())
}

/// Bytes on disk below a directory, without files that are linked from elsewhere too.
fn own_bytes(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            bytes += own_bytes(&entry.path())?;
        } else if metadata.nlink() == 1 {
            bytes += metadata.blocks() * 512;
        }
    }
    Ok(bytes)
}
