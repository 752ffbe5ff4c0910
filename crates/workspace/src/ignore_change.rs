//! Whether a changed `.gitignore` ignores less than before.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// `elsewhere` has the patterns of other files that apply to the same directory.
pub(crate) fn ignores_less(old: &str, new: &str, elsewhere: &str) -> bool {
    let (before, after): (Vec<&str>, Vec<&str>) = (patterns(old).collect(), patterns(new).collect());
    let replacement = matcher(&after);
    let is_still_ignored = |pattern: &str| {
        let name = pattern.trim_matches('/');
        let is_ignored =
            |is_dir| replacement.matched_path_or_any_parents(Path::new(name), is_dir).is_ignore();
        !pattern.contains(['*', '?', '[', '\\'])
            && is_ignored(true)
            && (pattern.ends_with('/') || is_ignored(false))
    };
    let is_gone = |pattern: &&&str| {
        !pattern.starts_with('!') && !after.contains(*pattern) && !is_still_ignored(pattern)
    };
    if before.iter().any(|pattern| is_gone(&pattern)) {
        return true;
    }
    // Patterns that ignore can come in any order, but not around one that makes an exception.
    let kept = after.iter().filter(|pattern| before.contains(pattern));
    let still = before.iter().filter(|pattern| after.contains(pattern));
    if before.iter().any(|pattern| pattern.starts_with('!')) && !kept.eq(still) {
        return true;
    }
    let ignored: Vec<&str> = patterns(elsewhere).chain(before.iter().copied()).collect();
    let matcher = matcher(&ignored);
    let exceptions = after
        .iter()
        .filter(|pattern| !before.contains(pattern))
        .filter_map(|pattern| pattern.strip_prefix('!'));
    exceptions.into_iter().any(|exception| makes_visible(exception, &ignored, &matcher))
}

fn patterns(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn matcher(patterns: &[&str]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        // Git ignores a pattern that it does not understand.
        let _ = builder.add_line(None, pattern);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Whether an exception is about something that was ignored. What a wildcard stands for is not known, so it is compared both ways.
fn makes_visible(exception: &str, ignored: &[&str], matcher: &Gitignore) -> bool {
    let name = |pattern: &str| pattern.trim_matches('/').replace("**/", "").replace(['*', '?'], "x");
    let example = name(exception);
    let was_ignored =
        |is_dir: bool| matcher.matched_path_or_any_parents(Path::new(&example), is_dir).is_ignore();
    let alone = self::matcher(&[exception]);
    let names_one = |pattern: &&str| {
        let pattern = name(pattern.trim_start_matches('!'));
        alone.matched_path_or_any_parents(Path::new(&pattern), false).is_ignore()
    };
    was_ignored(false) || was_ignored(true) || ignored.iter().any(names_one)
}

#[cfg(test)]
mod tests {
    use super::ignores_less;

    #[test]
    fn a_gitignore_may_only_grow() {
        for (old, new, elsewhere) in [
            (".env\n", "", ""),
            (".env\nbuild\n", "build\n", ""),
            (".env\n", ".env\n!.env\n", ""),
            ("*.key\n", "*.key\n!secret.key\n", ""),
            (".env\n", ".env\n!.e*\n", ""),
            ("", "!.env\n", ".env\n"),
            ("secrets/\n", "secrets/\n!secrets/a.txt\n", ""),
            ("!b\n*\n", "*\n!b\n", ""),
            ("*.key\n", "*.pem\n", ""),
            ("*.key\n", "x.key\n", ""),
            ("secrets\n", "secrets/\n", ""),
        ] {
            assert!(ignores_less(old, new, elsewhere), "{old:?} {new:?} {elsewhere:?}");
        }
        for (old, new, elsewhere) in [
            ("", "node_modules\n.vscode/*\n!.vscode/extensions.json\n", ""),
            ("build\n", ".env*\n!.env.example\nbuild\n", ""),
            ("a\nb\n", "b\na\n# more\nc\n", ""),
            ("# old words\na\n", "a\n", "target\n"),
            ("a\n!b\n", "a\n", ""),
            ("/node_modules/\n", "node_modules/\n", ""),
            (".env.local\n.env.test\n", ".env.*\n", ""),
            (".env\n.env.local\n", ".env*\n!.env.example\n", ""),
        ] {
            assert!(!ignores_less(old, new, elsewhere), "{old:?} {new:?} {elsewhere:?}");
        }
    }
}
