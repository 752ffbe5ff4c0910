//! `cargo xtask lines`: counts production and test lines per crate, without blank lines and comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::result::Result;
use crate::workspace::root;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct LineCount {
    production: usize,
    test: usize,
}

pub fn print() -> Result {
    let mut crates: BTreeMap<String, LineCount> = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates"))?.flatten() {
        crates.insert(entry.file_name().to_string_lossy().into_owned(), count_crate(&entry.path())?);
    }
    crates.insert("xtask".to_owned(), count_crate(&root().join("xtask"))?);
    println!("| crate | production | test |\n|---|---|---|");
    for (name, lines) in &crates {
        println!("| {name} | {} | {} |", lines.production, lines.test);
    }
    let sum = |of: fn(&LineCount) -> usize| crates.values().map(of).sum::<usize>();
    println!("| all | {} | {} |", sum(|lines| lines.production), sum(|lines| lines.test));
    Ok(())
}

fn count_crate(directory: &Path) -> Result<LineCount> {
    let mut files = Vec::new();
    rust_files(directory, &mut files);
    let mut texts = BTreeMap::new();
    for file in files {
        texts.insert(file.clone(), fs::read_to_string(&file)?);
    }
    let test_modules: BTreeSet<PathBuf> =
        texts.iter().flat_map(|(file, text)| test_modules(file, text)).collect();
    let source = directory.join("src");
    let mut lines = LineCount::default();
    for (file, text) in &texts {
        let is_test = !file.starts_with(&source) && !file.ends_with("build.rs")
            || test_modules.iter().any(|module| file.with_extension("").starts_with(module));
        let LineCount { production, test } = count(text);
        match is_test {
            true => lines.test += production + test,
            false => {
                lines.production += production;
                lines.test += test;
            }
        }
    }
    Ok(lines)
}

fn rust_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => rust_files(&path, found),
            false => found.extend(path.extension().is_some_and(|kind| kind == "rs").then_some(path)),
        }
    }
}

/// The modules that a file declares under `#[cfg(test)]`, as paths without extension.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let stem = file.file_stem().unwrap_or_default();
    let parent = file.parent().unwrap_or(file);
    let directory = match stem.to_str() {
        Some("lib" | "main" | "mod") => parent.to_owned(),
        _ => parent.join(stem),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let names = pairs
        .filter_map(|pair| pair[1].trim_start_matches("pub(crate) ").strip_prefix("mod ")?.strip_suffix(';'));
    names.map(|name| directory.join(name)).collect()
}

/// Counts one file. An inline test module ends at the `}` with the indentation of its `mod` line.
fn count(text: &str) -> LineCount {
    let mut lines = LineCount::default();
    let mut in_comment = false;
    let mut tests: Option<usize> = None;
    let mut is_announced = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if in_comment {
            in_comment = !trimmed.contains("*/");
            continue;
        }
        if trimmed.starts_with("/*") {
            in_comment = !trimmed.contains("*/");
            continue;
        }
        if trimmed.is_empty() || trimmed.starts_with("//") {
            continue;
        }
        if is_announced && trimmed.starts_with("mod ") && trimmed.ends_with('{') {
            tests = Some(indent);
        }
        is_announced = tests.is_none() && trimmed == "#[cfg(test)]";
        match tests.is_some() || is_announced {
            true => lines.test += 1,
            false => lines.production += 1,
        }
        if tests == Some(indent) && trimmed == "}" {
            tests = None;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{LineCount, count, test_modules};
    use std::path::{Path, PathBuf};

    #[test]
    fn comments_and_blanks_are_skipped_and_tests_counted_separately() {
        let text = "//! Doc.\n\n/* one\n two */\nfn f() {\n    // why\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() {\n    }\n}\nfn h() {}\n";
        assert_eq!(count(text), LineCount { production: 4, test: 5 });
    }

    #[test]
    fn test_modules_are_recognized_by_their_declaration() {
        let text = "#[cfg(test)]\nmod tests;\nmod other;\n#[cfg(test)]\npub(crate) mod stage;\n";
        let found = test_modules(Path::new("src/plan.rs"), text);
        assert_eq!(found, [PathBuf::from("src/plan/tests"), PathBuf::from("src/plan/stage")]);
        assert_eq!(
            test_modules(Path::new("src/lib.rs"), "#[cfg(test)]\nmod tests;\n"),
            [PathBuf::from("src/tests")]
        );
    }
}
