//! `cargo xtask docs`: generates documents from the binary and the manifests.
//!
//! docs/cli.md has the help of every command, docs/man/ one page per top-level command, docs/schemas/ the JSON Schemas of the
//! files that users write; ARCHITECTURE.md has a table of crates. `--check` compares instead of writing, so that no document falls behind the binary.
//! Both have the binary read the commands in all other pages.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::crate_table;
use crate::result::Result;
use crate::workspace::{build_autonoe, root};

const MAN_DIRECTORY: &str = "docs/man";

const CLI_INTRODUCTION: &str = "\
# The command line

The help of every `autonoe` command. `cargo xtask docs` generates this page; to change it, edit the doc comments in
`crates/cli`.
";

type Documents = BTreeMap<PathBuf, String>;

pub fn write() -> Result {
    let autonoe = build_autonoe()?;
    let documents = generate(&autonoe)?;
    for path in surplus(&documents)? {
        fs::remove_file(root().join(&path))?;
        println!("removed {}", path.display());
    }
    for (path, text) in documents {
        let file = root().join(&path);
        if fs::read_to_string(&file).is_ok_and(|current| current == text) {
            continue;
        }
        fs::create_dir_all(file.parent().unwrap_or(root()))?;
        fs::write(&file, text)?;
        println!("wrote {}", path.display());
    }
    check_commands(&autonoe)
}

pub fn check() -> Result {
    check_with(&build_autonoe()?)
}

/// Checks with the binary that the tests have just built: another build with other features would take minutes.
pub fn check_after_tests() -> Result {
    let built = env::current_exe()?.with_file_name("autonoe");
    if built.exists() { check_with(&built) } else { check() }
}

fn check_with(autonoe: &Path) -> Result {
    let documents = generate(autonoe)?;
    let outdated = documents
        .iter()
        .filter(|(path, text)| !fs::read_to_string(root().join(path)).is_ok_and(|current| current == **text))
        .map(|(path, _)| path.clone());
    let stale: Vec<String> =
        outdated.chain(surplus(&documents)?).map(|path| path.display().to_string()).collect();
    if stale.is_empty() {
        return check_commands(autonoe);
    }
    Err(format!("Out of date: {}. Run `cargo xtask docs` and commit the result.", stale.join(", ")).into())
}

/// Scripts, workflows and examples that start autonoe, besides all pages in docs.
const SCRIPTS: [&str; 3] = ["packaging/ci", ".github/workflows", "packaging/images/entrypoint.sh"];

/// Has the binary's own parser read every command in the documents and scripts.
fn check_commands(autonoe: &Path) -> Result {
    let mut pages = files_in("docs")?;
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages.extend(["README.md", "action.yml"].map(|file| root().join(file)));
    for place in SCRIPTS {
        pages.extend(files_in(place)?);
    }
    let pages: Vec<&str> = pages.iter().filter_map(|page| page.to_str()).collect();
    output(autonoe, &[&["check-docs"], pages.as_slice()].concat()).map(|_| ())
}

/// The files of a directory, sorted; a file alone is itself.
fn files_in(place: &str) -> Result<Vec<PathBuf>> {
    let path = root().join(place);
    if path.is_file() {
        return Ok(vec![path]);
    }
    let entries: io::Result<Vec<_>> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect();
    let mut files = entries?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}

fn generate(autonoe: &Path) -> Result<Documents> {
    let mut documents = Documents::new();
    let mut cli = CLI_INTRODUCTION.to_owned();
    describe(autonoe, &[], &mut cli)?;
    documents.insert("docs/cli.md".into(), cli);
    let man = Path::new(MAN_DIRECTORY);
    documents.insert(man.join("autonoe.1"), output(autonoe, &["man"])?);
    for command in commands(&output(autonoe, &["--help"])?) {
        documents.insert(man.join(format!("autonoe-{command}.1")), output(autonoe, &["man", &command])?);
    }
    for file in ["agent", "steps"] {
        let schema = output(autonoe, &["agent", "schema", file])?;
        documents.insert(format!("docs/schemas/{file}.schema.json").into(), schema);
    }
    documents.extend([crate_table::architecture()?]);
    Ok(documents)
}

/// Appends the help of a command and of its subcommands.
fn describe(autonoe: &Path, command: &[&str], text: &mut String) -> Result {
    let help = output(autonoe, &[command, &["--help"]].concat())?;
    let name = [&["autonoe"], command].concat().join(" ");
    text.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", help.trim_end()));
    for inner in commands(&help) {
        describe(autonoe, &[command, &[inner.as_str()]].concat(), text)?;
    }
    Ok(())
}

fn commands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The output of the binary, run without a terminal and environment so that it is the same on every machine.
fn output(autonoe: &Path, arguments: &[&str]) -> Result<String> {
    let output =
        Command::new(autonoe).args(arguments).env_clear().env("HOME", "/").stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`autonoe {}` failed: {}", arguments.join(" "), stderr.trim_end()).into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

/// Pages in docs/man/ without a command.
fn surplus(documents: &Documents) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(root().join(MAN_DIRECTORY)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = Path::new(MAN_DIRECTORY).join(entry?.file_name());
        if !documents.contains_key(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn finds_the_commands_of_a_help_text() {
        let help = "Usage: x\n\nCommands:\n  run   Go\n        on\n  stop  Halt\n  help  Help\n\nOptions:\n  -h  Help\n";
        assert_eq!(commands(help), ["run", "stop"]);
    }

    #[test]
    fn a_command_without_subcommands_has_none() {
        assert!(commands("Usage: x\n\nOptions:\n  -h  Help\n").is_empty());
    }
}
