//! The provenance statement: which files were made from which commit, with which tools. In the format of in-toto and SLSA 1.0, so that
//! their tools can read it; the signature of SHA256SUMS covers it.

use std::process::Command;

use serde_json::{Value, json};

use super::output::ReleaseFile;
use super::release::Release;
use super::target::Target;
use super::tools;
use crate::result::Result;

/// Who built; a release workflow says its own address.
const BUILDER_VARIABLE: &str = "AUTONOE_BUILDER";

pub fn statement(release: &Release, targets: &[&Target], files: Vec<ReleaseFile>) -> Result<String> {
    let rustc = Command::new("rustc").arg("--version").output()?;
    let rustc = String::from_utf8_lossy(&rustc.stdout).trim().to_owned();
    let builder = std::env::var(BUILDER_VARIABLE).unwrap_or_else(|_| "by hand".to_owned());
    Ok(format!("{}\n", serde_json::to_string_pretty(&document(release, targets, &files, &rustc, &builder))?))
}

fn document(
    release: &Release,
    targets: &[&Target],
    files: &[ReleaseFile],
    rustc: &str,
    builder: &str,
) -> Value {
    let subject = |file: &ReleaseFile| json!({"name": file.name, "digest": {"sha256": file.sha256}});
    let triples: Vec<_> = targets.iter().map(|target| target.triple).collect();
    let source = format!("git+{}@{}", release.repository, release.commit);
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": files.iter().map(subject).collect::<Vec<_>>(),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": format!("{}/blob/main/docs/install.md#what-a-release-contains", release.repository),
                "externalParameters": {"command": "cargo xtask dist", "targets": triples},
                "internalParameters": {
                    "rustc": rustc,
                    "zig": tools::ZIG_VERSION,
                    "sourceDateEpoch": release.seconds,
                    "filesDifferFromCommit": release.is_modified,
                },
                "resolvedDependencies": [{"uri": source, "digest": {"gitCommit": release.commit}}],
            },
            "runDetails": {"builder": {"id": builder}},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::release::example;
    use super::super::target::TARGETS;
    use super::{ReleaseFile, document};

    #[test]
    fn the_statement_binds_files_to_their_commit() {
        let file = ReleaseFile { name: "autonoe.deb".to_owned(), sha256: "ab".repeat(32) };
        let statement = document(&example(), &[&TARGETS[0]], &[file], "rustc 1.95.0", "by hand");
        assert_eq!(statement["subject"][0]["digest"]["sha256"], "ab".repeat(32));
        let definition = &statement["predicate"]["buildDefinition"];
        assert_eq!(definition["resolvedDependencies"][0]["digest"]["gitCommit"], example().commit);
        assert_eq!(definition["internalParameters"]["filesDifferFromCommit"], false);
        assert_eq!(definition["externalParameters"]["targets"][0], "x86_64-unknown-linux-musl");
    }
}
