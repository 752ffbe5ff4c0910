//! What is installed with the binary: manual pages, completions and licences, in the layout of /usr/local.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::build::BuiltProgram;
use super::file_tree::FileTree;
use crate::result::Result;
use crate::workspace::root;

/// Each shell with the place where it looks for completions, below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/autonoe"),
    ("zsh", "zsh/site-functions/_autonoe"),
    ("fish", "fish/vendor_completions.d/autonoe.fish"),
];

/// What the binary itself says about its use; the same for every target.
pub struct Documents(FileTree);

impl Documents {
    pub fn generate(program: &BuiltProgram) -> Result<Self> {
        let mut tree = FileTree::default();
        let directory = tempfile::tempdir()?;
        ask(&program.file, &["man", "--output-dir", &directory.path().to_string_lossy()])?;
        for page in fs::read_dir(directory.path())? {
            let page = page?;
            let name = page.file_name().to_string_lossy().into_owned();
            tree.add(format!("share/man/man1/{name}"), fs::read(page.path())?);
        }
        for (shell, place) in COMPLETIONS {
            tree.add(format!("share/{place}"), ask(&program.file, &["completions", shell])?);
        }
        Ok(Self(tree))
    }
}

/// Everything of one target.
pub fn tree(program: &BuiltProgram, documents: &Documents, licences: &str) -> Result<FileTree> {
    let mut tree = documents.0.clone();
    tree.add_program("bin/autonoe", program.content()?);
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"] {
        tree.add(format!("share/doc/autonoe/{name}"), fs::read(root().join(name))?);
    }
    tree.add("share/doc/autonoe/THIRD-PARTY-LICENCES.txt", licences);
    Ok(tree)
}

/// The output of the binary, run without environment so that it is the same on every machine.
fn ask(program: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output =
        Command::new(program).args(arguments).env_clear().env("HOME", "/").stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`autonoe {}` failed: {}", arguments.join(" "), stderr.trim_end()).into());
    }
    Ok(output.stdout)
}
