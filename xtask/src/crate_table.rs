//! The table of crates in ARCHITECTURE.md: what each manifest says it is for, and which of our crates cargo says it depends on.

use std::fs;
use std::path::{Path, PathBuf};

use crate::result::Result;
use crate::workspace::{cargo, root};

const FILE: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- crates: written by `cargo xtask docs` from the manifests -->\n";
const END: &str = "<!-- end of crates -->\n";

struct CrateRow {
    name: String,
    description: String,
    depends_on: Vec<String>,
}

/// ARCHITECTURE.md with its table of crates brought up to date.
pub fn architecture() -> Result<(PathBuf, String)> {
    let text = fs::read_to_string(root().join(FILE))?;
    let markers = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = markers else {
        return Err(format!("{FILE} has no `{}` … `{}`.", BEGIN.trim_end(), END.trim_end()).into());
    };
    Ok((FILE.into(), format!("{before}{BEGIN}{}{END}{after}", table(crates()?))))
}

fn crates() -> Result<Vec<CrateRow>> {
    let mut directories = vec![root().join("xtask")];
    for entry in fs::read_dir(root().join("crates"))? {
        directories.push(entry?.path());
    }
    directories.iter().filter(|directory| directory.join("Cargo.toml").is_file()).map(|d| row(d)).collect()
}

fn row(directory: &Path) -> Result<CrateRow> {
    let manifest = fs::read_to_string(directory.join("Cargo.toml"))?;
    let field = |name: &str| -> Result<String> {
        let value = manifest
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'));
        Ok(value.ok_or_else(|| format!("{}/Cargo.toml has no {name}.", directory.display()))?.to_owned())
    };
    let package = field("name")?;
    let output = cargo()
        .args(["tree", "--quiet", "--offline", "--edges", "normal", "--depth", "1", "--prefix", "none"])
        .args(["--format", "{p}", "--package", &package])
        .output()?;
    if !output.status.success() {
        return Err(
            format!("`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()).into()
        );
    }
    let tree = String::from_utf8(output.stdout)?;
    let ours = tree.lines().skip(1).filter_map(|line| line.split(' ').next()?.strip_prefix("autonoe-"));
    let mut depends_on: Vec<String> = ours.map(str::to_owned).collect();
    depends_on.sort();
    depends_on.dedup();
    let name =
        package.strip_prefix("autonoe-").unwrap_or(if package == "autonoe" { "cli" } else { &package });
    Ok(CrateRow { name: name.to_owned(), description: field("description")?, depends_on })
}

/// The lowest crates first: each after all that it depends on.
fn table(mut crates: Vec<CrateRow>) -> String {
    crates.sort_by(|left, right| left.name.cmp(&right.name));
    let mut lines = "| crate | what it has | depends on |\n|---|---|---|\n".to_owned();
    let mut listed: Vec<String> = Vec::new();
    while !crates.is_empty() {
        let is_next = |row: &CrateRow| row.depends_on.iter().all(|name| listed.contains(name));
        // Cargo allows no circle between crates, so there always is one.
        let row = crates.remove(crates.iter().position(is_next).unwrap_or(0));
        let depends_on = if row.depends_on.is_empty() { "–".to_owned() } else { row.depends_on.join(", ") };
        lines.push_str(&format!("| `{}` | {} | {depends_on} |\n", row.name, row.description));
        listed.push(row.name);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{CrateRow, table};

    #[test]
    fn a_crate_comes_after_those_that_it_depends_on() {
        let row = |name: &str, depends_on: &[&str]| CrateRow {
            name: name.to_owned(),
            description: format!("what {name} has"),
            depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        };
        let text = table(vec![row("cli", &["store", "core"]), row("store", &["core"]), row("core", &[])]);
        let names: Vec<&str> = text.lines().skip(2).filter_map(|line| line.split('`').nth(1)).collect();
        assert_eq!(names, ["core", "store", "cli"]);
        assert!(text.contains("| `cli` | what cli has | store, core |"), "{text}");
    }
}
