//! `cargo xtask bench`: measures the cost of Autonoe in release mode and prints a Markdown table.
//!
//! Timings on a shared machine are noisy, so each measurement alternates with a peer in the same run and reports the median,
//! a high percentile and the difference. The measurements are compiled only with the feature `bench`; without it this file
//! only starts a build of itself that has it.

#[cfg(feature = "bench")]
mod agents;
#[cfg(feature = "bench")]
mod append;
#[cfg(feature = "bench")]
mod checkout;
#[cfg(feature = "bench")]
mod clock;
#[cfg(feature = "bench")]
mod crowd;
#[cfg(feature = "bench")]
mod harness;
#[cfg(feature = "bench")]
mod honesty;
#[cfg(feature = "bench")]
mod kills;
#[cfg(feature = "bench")]
mod machine;
#[cfg(feature = "bench")]
mod memory;
#[cfg(feature = "bench")]
mod plain_client;
#[cfg(feature = "bench")]
mod policy;
#[cfg(feature = "bench")]
mod process;
#[cfg(feature = "bench")]
mod project;
#[cfg(feature = "bench")]
mod resume;
#[cfg(feature = "bench")]
mod sample;
#[cfg(feature = "bench")]
mod sandbox;
#[cfg(feature = "bench")]
mod script;
#[cfg(feature = "bench")]
mod session;
#[cfg(feature = "bench")]
mod size;
#[cfg(feature = "bench")]
mod startup;
#[cfg(feature = "bench")]
mod table;
#[cfg(feature = "bench")]
mod workspace;

use crate::result::Result;
use crate::workspace::cargo;

/// Builds this program in release mode with the feature `bench` and starts the measurements.
pub fn launch(options: &[&str]) -> Result {
    let build =
        ["run", "--release", "--quiet", "--package", "xtask", "--features", "bench", "--", "bench-run"];
    let status = cargo().args(build).args(options).status()?;
    if status.success() { Ok(()) } else { Err("The measurement failed; see above.".into()) }
}

#[cfg(feature = "bench")]
pub fn run(options: &[&str]) -> Result {
    const MEASUREMENTS: [(&str, table::Measure); 13] = [
        ("startup", startup::measure),
        ("memory", memory::measure),
        ("crowd", crowd::measure),
        ("append", append::measure),
        ("resume", resume::measure),
        ("session", session::measure),
        ("sandbox", sandbox::measure),
        ("policy", policy::measure),
        ("checkout", checkout::measure),
        ("workspace", workspace::measure),
        ("harness", harness::measure),
        ("honesty", honesty::measure),
        ("size", size::measure),
    ];
    /// Only measured when named: they take longer or install something first.
    const WHEN_NAMED: [(&str, table::Measure); 2] = [("agents", agents::measure), ("kills", kills::measure)];
    let build = options.contains(&"--build");
    let named: Vec<&str> = options.iter().copied().filter(|option| *option != "--build").collect();
    let all = || MEASUREMENTS.into_iter().chain(WHEN_NAMED);
    if let Some(unknown) = named.iter().find(|name| all().all(|(known, _)| known != **name)) {
        let known: Vec<_> = all().map(|(name, _)| name).collect();
        return Err(format!("Unknown measurement `{unknown}`. Choose from: {}.", known.join(", ")).into());
    }
    let autonoe = crate::workspace::build_autonoe()?;
    println!("{}\n", machine::describe());
    let chosen: Vec<_> = match named.is_empty() {
        true => MEASUREMENTS.to_vec(),
        false => all().filter(|(name, _)| named.contains(name)).collect(),
    };
    let mut rows = Vec::new();
    for (name, measure) in chosen {
        eprintln!("measuring {name} …");
        rows.extend(measure(&autonoe)?);
    }
    if build {
        eprintln!("measuring a clean build …");
        rows.extend(size::measure_build()?);
    }
    println!("{}", table::render(&rows));
    Ok(())
}
