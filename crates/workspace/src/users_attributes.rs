//! Which programs of the user's git runs because of a `.gitattributes`: filters, and drivers for differences and merges.

use std::collections::HashSet;

/// Drivers that are part of git.
const BUILT_IN_DIFFS: [&str; 26] = [
    "ada", "bash", "bibtex", "cpp", "csharp", "css", "default", "dts", "elixir", "fortran", "fountain",
    "golang", "html", "java", "kotlin", "markdown", "matlab", "objc", "pascal", "perl", "php", "python",
    "ruby", "rust", "scheme", "tex",
];
const BUILT_IN_MERGES: [&str; 3] = ["binary", "text", "union"];

/// What decides which programs of the user's git runs because of a `.gitattributes`.
pub(crate) struct UsersAttributes<'a> {
    /// Names that the user's other attributes give to attributes with drivers.
    macros: Vec<&'a str>,
    /// Drivers such as `diff.markdown`.
    configured: HashSet<String>,
}

impl<'a> UsersAttributes<'a> {
    /// `others` has the user's other attributes.
    pub(crate) fn new(others: &'a str, configured: HashSet<String>) -> Self {
        let mut attributes = Self { macros: Vec::new(), configured };
        let lines = others.lines().filter(|line| attributes.names_a_driver(line));
        attributes.macros = lines
            .filter_map(|line| line.trim_start().strip_prefix("[attr]")?.split_whitespace().next())
            .collect();
        attributes
    }

    /// Whether other programs run after a change, or none where one did. More large files for git-lfs do not count as another program.
    pub(crate) fn are_changed(&self, old: &str, new: &str) -> bool {
        let (before, mut after) = (self.driver_lines(old), self.driver_lines(new));
        let is_of_lfs = |line: &String| {
            line.contains(" filter=lfs") && self.drivers(line).all(|driver| driver.ends_with("=lfs"))
        };
        if before.iter().all(is_of_lfs) && !before.is_empty() {
            after.retain(|line| !is_of_lfs(line) || before.contains(line));
        }
        before != after
    }

    /// The lines of a `.gitattributes` that decide it.
    fn driver_lines(&self, attributes: &str) -> Vec<String> {
        let lines = attributes.lines().filter(|line| self.names_a_driver(line));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    fn names_a_driver(&self, line: &str) -> bool {
        !line.trim_start().starts_with('#') && self.drivers(line).next().is_some()
    }

    /// The attributes of a line that say which program git runs, or how it converts the content.
    fn drivers<'l>(&self, line: &'l str) -> impl Iterator<Item = &'l str> {
        let words = line.split_whitespace().skip(1).map(|word| word.trim_start_matches(['-', '!']));
        words.filter(|word| match word.split_once('=').unwrap_or((word, "")) {
            ("filter" | "working-tree-encoding", _) => true,
            ("diff", name) if word.contains('=') => !self.is_built_in("diff", name, &BUILT_IN_DIFFS),
            ("merge", name) if word.contains('=') => !self.is_built_in("merge", name, &BUILT_IN_MERGES),
            _ => self.macros.contains(word),
        })
    }

    fn is_built_in(&self, kind: &str, name: &str, names: &[&str]) -> bool {
        names.contains(&name) && !self.configured.contains(&format!("{kind}.{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::UsersAttributes;

    #[test]
    fn only_drivers_count_among_attributes() {
        let configured = ["diff.perl", "merge.union", "diff.own"].map(str::to_owned);
        let users = UsersAttributes::new(
            "[attr]crypt filter=crypt\n[attr]plain -text\n",
            configured.into_iter().collect(),
        );
        let lfs = "*.bin filter=lfs diff=lfs merge=lfs -text\n";
        for (old, new, is_changed) in [
            ("", "* text=auto eol=lf -diff\n# *.x filter=evil\nfilter=x text\n*.png binary\n", false),
            ("", "*.md diff=markdown\n*.sh diff=bash text eol=lf\n*.c merge=text\n", false),
            ("*.md diff=markdown\n", "", false),
            ("", "*.pl diff=perl\n", true),
            ("", "*.md merge=union\n", true),
            ("", "*.x diff=own\n", true),
            ("", "*.x merge=ours\n", true),
            ("", "*.x filter=x\n", true),
            ("", "*.key -filter\n", true),
            ("", "*.pem !filter\n", true),
            ("", "*.txt crypt\n", true),
            ("", "*.txt plain\n", false),
            ("", "*.txt working-tree-encoding=UTF-16\n", true),
            ("", lfs, true),
            (lfs, "", true),
            (lfs, "*.bin filter=lfs diff=lfs merge=lfs -text\n*.psd filter=lfs diff=lfs\n", false),
            (lfs, "*.bin filter=lfs diff=lfs merge=lfs -text\n*.psd filter=lfs diff=own\n", true),
            (
                "*.key filter=crypt\n*.bin filter=lfs\n",
                "*.key filter=crypt\n*.bin filter=lfs\n*.key filter=lfs\n",
                true,
            ),
        ] {
            assert_eq!(users.are_changed(old, new), is_changed, "{old:?} -> {new:?}");
        }
    }
}
