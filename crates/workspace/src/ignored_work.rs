//! Files of an agent that git ignores: they do not come home, and no check has shown that they are not needed.

use autonoe_core::fault::Fault;

use crate::hub::Hub;
use crate::workspace::Workspace;

/// Lists what git ignores in the working tree `$1`, without what is below an ignored directory. The file `$2` has patterns beside those of
/// `.gitignore` files.
const IGNORED: &str = r#"cd "$1" || exit 3
git --git-dir="$1/.git" ls-files -z --others --ignored --directory --no-empty-directory \
    --exclude-per-directory=.gitignore --exclude-from="$2""#;

/// The most that are named.
const NAMED: usize = 20;

/// Names of what tools write, and what is never a part of the work.
const OUTPUT: [&str; 52] = [
    ".autonoe",
    ".autonoe-note.md",
    ".build",
    ".bundle",
    ".cache",
    ".coverage",
    ".dart_tool",
    ".DS_Store",
    ".eggs",
    ".env",
    ".gradle",
    ".hypothesis",
    ".idea",
    ".mypy_cache",
    ".next",
    ".nox",
    ".npm",
    ".nuxt",
    ".nyc_output",
    ".parcel-cache",
    ".pnpm-store",
    ".pytest_cache",
    ".ruff_cache",
    ".stack-work",
    ".svelte-kit",
    ".tox",
    ".turbo",
    ".venv",
    ".vscode",
    ".yarn",
    ".zig-cache",
    "__pycache__",
    "_build",
    "bower_components",
    "build",
    "coverage",
    "debug",
    "deps",
    "dist",
    "dist-newstyle",
    "env",
    "htmlcov",
    "log",
    "logs",
    "node_modules",
    "obj",
    "out",
    "release",
    "target",
    "temp",
    "tmp",
    "venv",
];

/// How the names of such files end.
const OUTPUT_ENDINGS: [&str; 17] = [
    ".a",
    ".class",
    ".dll",
    ".dylib",
    ".egg-info",
    ".elc",
    ".exe",
    ".jar",
    ".log",
    ".o",
    ".pid",
    ".pyc",
    ".pyo",
    ".so",
    ".swp",
    ".tmp",
    ".tsbuildinfo",
];

impl Hub {
    /// What git ignores in a workspace, as far as its name does not say that a tool has written it.
    pub(crate) async fn ignored_work(&self, workspace: &Workspace) -> Result<Vec<String>, Fault> {
        let exclude = workspace.exclude_file();
        let room =
            self.room(self.layout.readable().into_iter().chain([workspace.tree(), exclude.clone()]), [])?;
        let listed = room.run(IGNORED, [workspace.tree(), exclude]).await;
        room.close().await;
        let listed = listed?.stdout;
        let work = listed.split_terminator('\0').filter(|path| !is_output(path));
        Ok(work.take(NAMED).map(str::to_owned).collect())
    }
}

fn is_output(path: &str) -> bool {
    path.trim_end_matches('/').split('/').any(|name| {
        OUTPUT.contains(&name)
            || name.starts_with(".env.")
            || OUTPUT_ENDINGS.iter().any(|ending| name.ends_with(ending))
    })
}

#[cfg(test)]
mod tests {
    use super::is_output;

    #[test]
    fn what_tools_write_is_known_by_its_name() {
        for path in
            ["node_modules/", "a/__pycache__/", "x.pyc", "target/", ".env.local", "sub/debug.log", "dist/"]
        {
            assert!(is_output(path), "{path}");
        }
        for path in ["lib/", "src/lib/x.js", "data/", "secret.txt", "environment/"] {
            assert!(!is_output(path), "{path}");
        }
    }
}
