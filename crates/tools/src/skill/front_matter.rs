//! The lines between `---` at the start of a Markdown file. Supports the part of YAML that names and descriptions need: a
//! value is plain, quoted, or a block of indented lines; lists and maps are skipped.

/// Names and values, and the text below them.
#[derive(Debug, PartialEq, Eq)]
pub struct FrontMatter<'a> {
    entries: Vec<(&'a str, String)>,
    pub body: &'a str,
}

impl<'a> FrontMatter<'a> {
    /// `None` if the text does not start with front matter.
    pub fn parse(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("---\n")?;
        let end = rest.split_inclusive('\n').scan(0, |at, line| {
            let begin = *at;
            *at += line.len();
            Some((begin, line))
        });
        let (end, line) = { end }.find(|(_, line)| line.trim_end() == "---")?;
        let body = &rest[end + line.len()..];
        let lines: Vec<&str> = rest[..end].lines().collect();
        let mut entries = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            if line.starts_with([' ', '\t', '#', '-']) {
                continue;
            }
            if let Some((key, value)) = line.split_once(':') {
                let below = lines[index + 1..].iter();
                let below = below.take_while(|line| line.starts_with([' ', '\t']) || line.trim().is_empty());
                entries.push((key.trim(), scalar(value.trim(), below.copied())));
            }
        }
        Some(Self { entries, body })
    }

    /// `None` if there is no such name.
    pub fn get(&self, key: &str) -> Option<String> {
        self.entries.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone())
    }
}

/// A value and the indented lines below it.
fn scalar<'a>(value: &str, below: impl Iterator<Item = &'a str>) -> String {
    let below: Vec<&str> = below.map(str::trim).collect();
    match value.as_bytes().first() {
        Some(b'|') => below.join("\n").trim().to_owned(),
        Some(b'>') => below.join(" ").trim().to_owned(),
        _ => {
            let whole = [&[value], below.as_slice()].concat().join(" ");
            unquoted(whole.trim())
        }
    }
}

fn unquoted(value: &str) -> String {
    if let Some(inner) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        // The escapes that are used in practice are the same as in JSON.
        return serde_json::from_str(value).unwrap_or_else(|_| inner.to_owned());
    }
    if let Some(inner) = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    // A comment starts after a space.
    value.split(" #").next().unwrap_or(value).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::FrontMatter;

    fn get(text: &str, key: &str) -> Option<String> {
        FrontMatter::parse(text)?.get(key)
    }

    #[test]
    fn values_are_plain_quoted_or_blocks() {
        let text = "---\nname: a-b  # comment\ndescription: \"say \\\"hi\\\": now\"\nlicense: 'it''s'\nfolded: >-\n  one\n  two\n\
                    literal: |\n  one\n  two\nmetadata:\n  name: inner\nlist:\n- x\nlong: one\n  two\n---\nBody\n---\n";
        for (key, value) in [
            ("name", "a-b"),
            ("description", "say \"hi\": now"),
            ("license", "it's"),
            ("folded", "one two"),
            ("literal", "one\ntwo"),
            ("long", "one two"),
        ] {
            assert_eq!(get(text, key).as_deref(), Some(value), "{key}");
        }
        assert_eq!(FrontMatter::parse(text).unwrap().body, "Body\n---\n");
        assert_eq!(get(text, "missing"), None);
    }

    #[test]
    fn text_without_front_matter_is_none() {
        for text in
            ["", "name: a", "---", "---\nname: a", "text\n---\nname: a\n---\n", "--- \nname: a\n---\n"]
        {
            assert_eq!(FrontMatter::parse(text), None, "{text:?}");
        }
        assert_eq!(get("---\n---\n", "name"), None);
        assert_eq!(get("---\nname:\n---\n", "name").as_deref(), Some(""));
    }
}
