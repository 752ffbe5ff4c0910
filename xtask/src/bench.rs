//! `cargo xtask bench`: measures the cost of Autonoe in release mode and prints a Markdown table.
//!
//! Timings on a shared machine are noisy, so each measurement alternates with a peer in the same run and reports the median,
//! a high percentile and the difference.

mod agents;
mod append;
mod checkout;
mod clock;
mod crowd;
mod fleet;
mod harness;
mod harnesses;
mod honesty;
mod kills;
mod machine;
mod memory;
mod plain_client;
mod policy;
mod process;
mod project;
mod resume;
mod sample;
mod sandbox;
mod script;
mod session;
mod size;
mod startup;
mod table;
mod workspace;

use crate::result::Result;

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
    const WHEN_NAMED: [(&str, table::Measure); 4] = [
        ("agents", agents::measure),
        ("fleet", fleet::measure),
        ("harnesses", harnesses::measure),
        ("kills", kills::measure),
    ];
    let build = options.contains(&"--build");
    let binary = options.iter().find_map(|option| option.strip_prefix("--binary="));
    let named: Vec<&str> = options.iter().copied().filter(|option| !option.starts_with("--b")).collect();
    let all = || MEASUREMENTS.into_iter().chain(WHEN_NAMED);
    if let Some(unknown) = named.iter().find(|name| all().all(|(known, _)| known != **name)) {
        let known: Vec<_> = all().map(|(name, _)| name).collect();
        return Err(format!("Unknown measurement `{unknown}`. Choose from: {}.", known.join(", ")).into());
    }
    let autonoe = match binary {
        Some(other) => std::fs::canonicalize(other).map_err(|error| format!("{other}: {error}"))?,
        None => crate::workspace::build_autonoe()?,
    };
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
