//! The syntax of git's settings: sections, keys and values.

/// One setting, as git reads it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Setting {
    /// In small letters, such as `core`.
    pub(crate) section: String,
    /// The name behind the section, such as `markdown` in `[diff "markdown"]`; otherwise empty.
    pub(crate) subsection: String,
    /// In small letters.
    pub(crate) key: String,
    /// `true` for a key without a value.
    pub(crate) value: String,
}

/// The settings in a text, and the sections without any, whose key is empty.
pub(crate) fn parse(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let (mut section, mut subsection) = (String::new(), String::new());
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.trim_start();
        if let Some(header) = line.strip_prefix('[') {
            // A name in quotes may have brackets.
            let ends = [header.find("\"]").map(|end| end + 1), header.find(']')];
            let is_named = header.find('"') < header.find(']') && header.contains('"');
            let end = ends[usize::from(!is_named)].unwrap_or(header.len());
            let (name, after) = (&header[..end], header.get(end + 1..).unwrap_or_default());
            let (kind, name) = name.split_once([' ', '\t', '.']).unwrap_or((name, ""));
            section = kind.trim().to_ascii_lowercase();
            subsection = name.trim().trim_matches('"').replace("\\\"", "\"").replace("\\\\", "\\");
            found.push(Setting {
                section: section.clone(),
                subsection: subsection.clone(),
                key: String::new(),
                value: String::new(),
            });
            rest = after;
            continue;
        }
        let end = line.find(['=', '\n', '#', ';']).unwrap_or(line.len());
        let key = line[..end].trim().to_ascii_lowercase();
        let (value, after) = match line[end..].strip_prefix('=') {
            Some(value) => read_value(value),
            None => ("true".to_owned(), line[end..].split_once('\n').unwrap_or_default().1),
        };
        if !key.is_empty() {
            found.push(Setting { section: section.clone(), subsection: subsection.clone(), key, value });
        }
        rest = after;
    }
    found
}

/// A value up to the end of its line, and what follows it. A backslash continues it on the next line.
fn read_value(text: &str) -> (String, &str) {
    let mut value = String::new();
    // White space that is not within quotes counts only if more follows.
    let mut kept = 0;
    let mut is_quoted = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => {
                value.truncate(kept);
                return (value, &text[at + 1..]);
            }
            '#' | ';' if !is_quoted => {
                value.truncate(kept);
                return (value, text[at..].split_once('\n').unwrap_or_default().1);
            }
            '"' => is_quoted = !is_quoted,
            '\\' => match chars.next() {
                Some((_, '\n')) | None => {}
                Some((_, 't')) => value.push('\t'),
                Some((_, 'n')) => value.push('\n'),
                Some((_, other)) => value.push(other),
            },
            c if c.is_whitespace() && !is_quoted => {
                if !value.is_empty() {
                    value.push(c);
                }
                continue;
            }
            c => value.push(c),
        }
        kept = value.len();
    }
    value.truncate(kept);
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        for (text, found) in [
            ("[core]\n\tautocrlf = true\n", vec![("core", "", "autocrlf", "true")]),
            ("[Core] HooksPath = hooks ; theirs", vec![("core", "", "hookspath", "hooks")]),
            ("[core]\nbare\neol=\n", vec![("core", "", "bare", "true"), ("core", "", "eol", "")]),
            ("[diff \"Own X\"]\ntextconv = \"a b\" c # no\n", vec![("diff", "Own X", "textconv", "a b c")]),
            (
                "[alias]\nci = \"!make \\\"x\\\" && \\\n git commit\"\n[merge.union] driver = true",
                vec![("alias", "", "ci", "!make \"x\" &&  git commit"), ("merge", "union", "driver", "true")],
            ),
            ("# [a]\n; b = c\n[a]\nx = 1\\n2\\t3\\\\4", vec![("a", "", "x", "1\n2\t3\\4")]),
            ("[a]\r\nx = y\r\n", vec![("a", "", "x", "y")]),
            ("[url \"git@[::1]:\"]\ninsteadOf = x", vec![("url", "git@[::1]:", "insteadof", "x")]),
            ("[open", vec![]),
            ("[open \"x]\na = b", vec![]),
        ] {
            let settings = parse(text);
            let read: Vec<_> = settings
                .iter()
                .filter(|setting| !setting.key.is_empty())
                .map(|setting| (&*setting.section, &*setting.subsection, &*setting.key, &*setting.value))
                .collect();
            assert_eq!(read, found, "{text}");
        }
    }
}
