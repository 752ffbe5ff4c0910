//! The bill of materials of a binary, in the format of CycloneDX 1.6: every crate in it with version, licence and checksum.

use serde_json::{Value, json};

use super::dependencies::Dependency;
use super::release::Release;
use super::sums::sha256;
use super::target::Target;
use crate::result::Result;

pub fn document(release: &Release, target: &Target, dependencies: &[Dependency]) -> Result<String> {
    let mut properties = vec![json!({"name": "cargo:target", "value": target.triple})];
    properties.push(json!({"name": "git:commit", "value": release.commit}));
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial_number(release, target),
        "version": 1,
        "metadata": {
            "timestamp": format!("{}T00:00:00Z", release.date()?),
            "component": {
                "type": "application",
                "bom-ref": "autonoe",
                "name": "autonoe",
                "version": release.version,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
                "properties": properties,
            },
        },
        "components": dependencies.iter().map(component).collect::<Vec<_>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

fn component(dependency: &Dependency) -> Value {
    let package_url = format!("pkg:cargo/{}@{}", dependency.name, dependency.version);
    let mut component = json!({
        "type": "library",
        "bom-ref": package_url,
        "name": dependency.name,
        "version": dependency.version,
        "purl": package_url,
    });
    if let Some(sha256) = &dependency.sha256 {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sha256}]);
    }
    if let Some(licence) = &dependency.licence {
        component["licenses"] = json!([{"expression": modern_expression(licence)}]);
    }
    if let Some(repository) = &dependency.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

/// Older crates write `MIT/Apache-2.0`, which SPDX does not know.
fn modern_expression(licence: &str) -> String {
    licence.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

/// A UUID made from what the document is about, so that the same release has the same one.
fn serial_number(release: &Release, target: &Target) -> String {
    let digest = sha256(format!("{} {}", release.commit, target.triple).as_bytes());
    let part = |from: usize, to: usize| &digest[from..to];
    // Version 8 and variant 8: made by a rule of our own.
    let (third, fourth) = (part(13, 16), part(17, 20));
    format!("urn:uuid:{}-{}-8{third}-8{fourth}-{}", part(0, 8), part(8, 12), part(20, 32))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    use super::super::release::example;
    use super::super::target::TARGETS;
    use super::{Dependency, document};

    #[test]
    fn every_crate_is_listed_with_licence_and_checksum() {
        let dependency = Dependency {
            name: "memchr".to_owned(),
            version: "2.7.0".to_owned(),
            licence: Some("Unlicense/MIT".to_owned()),
            authors: Vec::new(),
            repository: Some("https://example.com/memchr".to_owned()),
            sha256: Some("ab".repeat(32)),
            directory: PathBuf::new(),
        };
        let text = document(&example(), &TARGETS[0], std::slice::from_ref(&dependency)).unwrap();
        assert_eq!(text, document(&example(), &TARGETS[0], &[dependency]).unwrap());
        let bill: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(bill["specVersion"], "1.6");
        let component = &bill["components"][0];
        assert_eq!(component["purl"], "pkg:cargo/memchr@2.7.0");
        assert_eq!(component["licenses"][0]["expression"], "Unlicense OR MIT");
        assert_eq!(component["hashes"][0]["content"], "ab".repeat(32));
        let serial = bill["serialNumber"].as_str().unwrap();
        let lengths: Vec<_> = serial.trim_start_matches("urn:uuid:").split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{serial}");
    }
}
