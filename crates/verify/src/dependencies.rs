//! Names of files that belong to dependencies: tests load these by their names, so that one that came with the work can change what a check
//! shows.

/// Parts of an environment of Python's, as opposed to a directory of the project with such a name.
const ENVIRONMENT_PARTS: [&str; 4] = ["bin", "lib", "lib64", "pyvenv.cfg"];

/// The package that a file belongs to, as a path. Programs in `node_modules/.bin` have a kind of their own.
pub(crate) fn dependency_of(path: &str) -> Option<&str> {
    for (end, _) in path.match_indices('/') {
        let name = path[..end].rsplit('/').next().unwrap_or_default();
        let rest = &path[end + 1..];
        let next = rest.split('/').next().unwrap_or_default();
        let below = |parts: usize| {
            let mut ends = rest.match_indices('/').map(|(end, _)| end);
            ends.nth(parts - 1).map(|length| &path[..end + 1 + length])
        };
        match name {
            "node_modules" if !next.starts_with('.') => {
                // Node.js takes a file before a directory of that name.
                return below(if next.starts_with('@') { 2 } else { 1 }).or(Some(path));
            }
            "site-packages" | "dist-packages" => return below(1).or(Some(path)),
            ".venv" | "venv" if ENVIRONMENT_PARTS.contains(&next) => return Some(&path[..end]),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::dependency_of;

    #[test]
    fn files_of_dependencies_belong_to_their_packages() {
        for (path, package) in [
            ("node_modules/chai/lib/chai.js", Some("node_modules/chai")),
            ("a/node_modules/@types/node/fs.d.ts", Some("a/node_modules/@types/node")),
            ("node_modules/a/node_modules/b/c.js", Some("node_modules/a")),
            ("node_modules/.bin/mocha", None),
            ("node_modules/a.js", Some("node_modules/a.js")),
            (".venv/bin/activate", Some(".venv")),
            ("x/venv/lib/python3.11/site-packages/pytest.py", Some("x/venv")),
            ("venv/notes.md", None),
            ("lib/site-packages/pytest/__init__.py", Some("lib/site-packages/pytest")),
            ("lib/site-packages/pytest.py", Some("lib/site-packages/pytest.py")),
            ("src/main.rs", None),
        ] {
            assert_eq!(dependency_of(path), package, "{path}");
        }
    }
}
