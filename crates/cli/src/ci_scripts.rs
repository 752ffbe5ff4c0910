//! Scripts of a project that its CI runs, as far as definitions of the CI name them.

/// Keys whose values are commands.
#[rustfmt::skip]
const KEYS: [&str; 11] = [
    "run", "script", "before_script", "after_script", "command", "commands", "cmd", "sh", "bash", "entrypoint", "args",
];

/// Whether a definition of the CI runs a file of the repository: one of its commands names it.
pub fn is_run_by(definition: &str, path: &str) -> bool {
    let is_between = |c: char| c.is_whitespace() || "'\"`;&|()<>=,[]{}".contains(c);
    let lines = command_lines(definition);
    let mut words = lines.iter().flat_map(|line| line.split(is_between));
    words.any(|word| is_name_of(word, path))
}

/// Whether a word of a command is the path of a file, from the top or from another working directory.
fn is_name_of(word: &str, path: &str) -> bool {
    let below_variable = word.strip_prefix('$').and_then(|word| word.split_once('/')).map(|(_, below)| below);
    let word = below_variable.unwrap_or(word);
    // A variable in braces leaves the slash after it.
    let plain = word.trim_start_matches("./").trim_start_matches('/');
    let is_below = || path.strip_suffix(plain).is_some_and(|above| above.ends_with('/'));
    !plain.is_empty() && (plain == path || word.contains('/') && is_below())
}

/// The lines of a definition that are commands; all of them if it has no keys that say so.
fn command_lines(definition: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut has_keys = false;
    // Where the key stands whose value is on the lines below.
    let mut block: Option<usize> = None;
    for line in definition.lines().filter(|line| !line.trim().is_empty()) {
        let item = line.trim_start().trim_start_matches("- ");
        let (start, at) = (line.len() - line.trim_start().len(), line.len() - item.trim_start().len());
        let is_item = line.trim_start().starts_with("- ");
        if block.is_some_and(|key| start > key || start == key && is_item) {
            found.push(line);
            continue;
        }
        block = None;
        let Some((key, value)) = item.split_once(':') else { continue };
        if KEYS.contains(&key.trim().trim_matches(['"', '\''])) {
            has_keys = true;
            found.push(line);
            let value = value.trim();
            let is_below = value.is_empty() || value.starts_with(['|', '>']) || value == "[";
            block = is_below.then_some(at);
        }
    }
    if has_keys { found } else { definition.lines().collect() }
}

#[cfg(test)]
mod tests {
    use super::is_run_by;

    #[test]
    fn scripts_are_known_by_the_commands_that_name_them() {
        let workflow = "on:\n  push:\n    paths:\n      - src/a.py\njobs:\n  t:\n    steps:\n      - uses: x/y@v1\n      \
                        - run: ./ci/one.sh --fast\n      - name: tools/no.sh\n        run: |\n          set -e\n          \
                        bash ci/two.sh && node \"$GITHUB_WORKSPACE/ci/three.js\"\n        env:\n          X: ci/no.sh\n      \
                        - run: sh ${{ github.workspace }}/ci/four.sh\n";
        for path in ["ci/one.sh", "ci/two.sh", "ci/three.js", "ci/four.sh", "app/ci/one.sh"] {
            assert!(is_run_by(workflow, path), "{path}");
        }
        for path in ["src/a.py", "tools/no.sh", "ci/no.sh", "one.sh", "x/y", "ci/one.sh.bak"] {
            assert!(!is_run_by(workflow, path), "{path}");
        }
        assert!(is_run_by("test:\n  script:\n  - ./x.sh\n  only:\n  - y.sh\n", "x.sh"));
        assert!(!is_run_by("test:\n  script:\n  - ./x.sh\n  only:\n  - y.sh\n", "y.sh"));
        assert!(is_run_by("node { sh './x.sh' }", "x.sh"));
    }
}
