//! Measures the clean checkout of a large repository for a check, compared with git's own clone with shared objects.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use autonoe_sandbox::{Bounds, EgressRules, RoomConfig, Sandbox};
use autonoe_verify::CheckoutFactory;

use super::project::BenchProject;
use super::sample::Sample;
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const TARGET_MS: f64 = 300.0;
const DIRECTORIES: usize = 100;
const FILES_EACH: usize = 50;
const ROUNDS: usize = 20;
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let project = BenchProject::new()?;
    fill(&project.root())?;
    for arguments in [&["init", "-q", "-b", "main", "."][..], &["add", "."], &["commit", "-q", "-m", "all"]] {
        git(&project, arguments)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut rows = runtime.block_on(compare(autonoe, &project, "loose objects"))?;
    git(&project, &["gc", "-q"])?;
    rows.extend(runtime.block_on(compare(autonoe, &project, "packed"))?);
    Ok(rows)
}

async fn compare(autonoe: &Path, project: &BenchProject, objects: &str) -> Result<Vec<BenchRow>> {
    let scratch = project.home().join("scratch");
    fs::create_dir_all(&scratch)?;
    let factory = CheckoutFactory {
        root: project.root().canonicalize()?,
        scratch: scratch.clone(),
        history: project.home().join("history"),
        room_config: room_config(autonoe, &scratch).await?,
        hub: None,
        repository: None,
        network: None,
        secrets: autonoe_core::redact::SecretValues::default(),
    };
    let (mut ours, mut cloned) = (Sample::default(), Sample::default());
    // Kept until the end: ext4 is slow to create files right after many were removed.
    let mut checkouts = Vec::new();
    for round in 0..ROUNDS {
        let start = Instant::now();
        let checkout = factory.check_out(None).await?;
        let files = checkout.files().await?;
        ours.add(start.elapsed());
        if !files.root.join(name(DIRECTORIES - 1, FILES_EACH - 1)).exists() {
            return Err("The checkout is incomplete.".into());
        }
        checkouts.push((checkout, files));
        let target = project.home().join(format!("{objects}-{round}"));
        let target = target.to_str().ok_or("The path of the temporary directory is not valid UTF-8.")?;
        cloned.time(|| git(project, &["clone", "-q", "--shared", ".", target]))?;
    }
    for (checkout, _) in checkouts {
        checkout.close().await;
    }
    let files = DIRECTORIES * FILES_EACH;
    Ok(vec![BenchRow {
        what: format!("clean checkout of {files} files, in its room ({objects})"),
        target: format!("at most {TARGET_MS} ms"),
        measured: format!("{} ({ROUNDS} times)", ours.summary()),
        peer: format!("`git clone --shared`: {}", cloned.summary()),
        verdict: BenchVerdict::at_most(ours.median(), TARGET_MS),
    }])
}

/// Rooms for git, with what they need in `scratch`.
pub async fn room_config(autonoe: &Path, scratch: &Path) -> Result<RoomConfig> {
    let sandbox =
        Sandbox::find(autonoe, OsStr::new(PATH), scratch).await.map_err(|error| error.to_string())?;
    Ok(RoomConfig {
        sandbox,
        bounds: Bounds::new(scratch, scratch, scratch),
        egress: Arc::new(EgressRules::default()),
        env: vec![("PATH".to_owned(), PATH.to_owned())],
        guarded: Arc::default(),
        sessions: Default::default(),
    })
}

fn name(directory: usize, file: usize) -> String {
    format!("part-{directory:03}/file-{file:02}.txt")
}

/// Writes files of 1 to 8 kB that have little in common.
pub fn fill(root: &Path) -> Result {
    let mut number: u64 = 1;
    for directory in 0..DIRECTORIES {
        fs::create_dir_all(root.join(format!("part-{directory:03}")))?;
        for file in 0..FILES_EACH {
            let mut text = String::new();
            for _ in 0..30 * (1 + (directory + file) % 7) {
                number =
                    number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(&format!("line {:016x} of it\n", number >> 3));
            }
            fs::write(root.join(name(directory, file)), text)?;
        }
    }
    Ok(())
}

pub fn git(project: &BenchProject, arguments: &[&str]) -> Result {
    let mut command: Command = project.command(Path::new("git"));
    command.args([
        "-c",
        "user.name=User",
        "-c",
        "user.email=user@example.invalid",
        "-c",
        "gc.autoDetach=false",
    ]);
    match command.args(arguments).status()?.success() {
        true => Ok(()),
        false => Err(format!("git {arguments:?} failed.").into()),
    }
}
