//! The licences of everything in the binary, as one text file. Texts that are the same are printed once, with all crates that have them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::dependencies::Dependency;
use crate::result::Result;

const INTRODUCTION: &str = "\
The licences of the software that autonoe contains besides its own code, which is under MIT or Apache-2.0, at your choice.

First a list of all parts with the licence that each states, then the texts, each once, with the parts that carry it.
";

/// Parts that are not crates, and parts of crates that have another licence than the crate.
const OTHER_PARTS: [(&str, &str); 4] = [
    ("Rust standard library", "MIT OR Apache-2.0, Copyright (c) The Rust Project Contributors"),
    ("musl, in the binaries for Linux", "MIT, Copyright © 2005-2025 Rich Felker, et al."),
    (
        "mimalloc, in the binaries for Linux",
        "MIT, Copyright (c) 2018-2025 Microsoft Corporation, Daan Leijen",
    ),
    ("SQLite", "public domain"),
];

/// How the files that carry a licence begin.
const FILES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
const DIRECTORIES: [&str; 2] = ["LICENSES", "licenses"];

pub fn document(dependencies: &[Dependency]) -> Result<String> {
    let mut text = format!("{INTRODUCTION}\n");
    for (part, licence) in OTHER_PARTS {
        text.push_str(&format!("{part}: {licence}\n"));
    }
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for dependency in dependencies {
        let name = format!("{} {}", dependency.name, dependency.version);
        let licence = dependency.licence.as_deref().unwrap_or("see its text below");
        text.push_str(&format!("{name}: {licence}{}\n", by(dependency)));
        for licence in texts_in(&dependency.directory)? {
            texts.entry(licence).or_default().push(name.clone());
        }
    }
    let mut texts: Vec<_> = texts.into_iter().map(|(licence, parts)| (parts, licence)).collect();
    texts.sort();
    for (parts, licence) in texts {
        text.push_str(&format!("\n{}\n{}\n\n{licence}\n", "=".repeat(80), parts.join(", ")));
    }
    Ok(text)
}

fn by(dependency: &Dependency) -> String {
    let without_addresses: Vec<_> =
        dependency.authors.iter().map(|author| author.split(" <").next().unwrap_or(author)).collect();
    if without_addresses.is_empty() {
        String::new()
    } else {
        format!(", by {}", without_addresses.join(", "))
    }
}

/// The texts in a crate's directory, without blanks around them and at the ends of lines.
fn texts_in(directory: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| format!("{}: {error}.", directory.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() && DIRECTORIES.contains(&name.as_str()) {
            for inner in fs::read_dir(entry.path())? {
                texts.extend(licence_text(&inner?.path()));
            }
        } else if kind.is_file() && FILES.iter().any(|start| name.to_uppercase().starts_with(start)) {
            texts.extend(licence_text(&entry.path()));
        }
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}

/// `None` for what is not text.
fn licence_text(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    Some(lines.join("\n").trim_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Dependency, document};

    fn dependency(directory: &Path, name: &str, files: &[(&str, &str)]) -> Dependency {
        let directory = directory.join(name);
        fs::create_dir(&directory).unwrap();
        for (file, text) in files {
            fs::write(directory.join(file), text).unwrap();
        }
        Dependency {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: Some("MIT".to_owned()),
            authors: vec!["Ada <ada@example.com>".to_owned()],
            repository: None,
            sha256: None,
            directory,
        }
    }

    #[test]
    fn each_text_is_printed_once_with_everyone_who_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let crates = [
            dependency(
                directory.path(),
                "one",
                &[("LICENSE-MIT", "The same \ntext\n"), ("lib.rs", "fn main")],
            ),
            dependency(directory.path(), "two", &[("license.txt", "\nThe same\ntext")]),
            dependency(directory.path(), "three", &[("COPYING", "Another text")]),
        ];
        let text = document(&crates).unwrap();
        assert_eq!(text.matches("The same\ntext").count(), 1, "{text}");
        assert!(text.contains("one 1.0.0, two 1.0.0\n\nThe same\ntext"), "{text}");
        assert!(text.contains("three 1.0.0: MIT, by Ada\n"), "{text}");
        assert!(text.contains("Another text") && !text.contains("fn main"), "{text}");
        assert!(text.contains("SQLite: public domain"), "{text}");
    }

    #[test]
    fn a_crate_without_its_source_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let mut missing = dependency(directory.path(), "one", &[]);
        missing.directory = directory.path().join("nowhere");
        assert!(document(&[missing]).unwrap_err().to_string().contains("nowhere"));
    }
}
