//! Names of files in messages. Agents choose them, and a line break in one could pass for a line of ours.

/// Whether a terminal or a reader acts on a character instead of showing it: control characters, line separators, and what changes the
/// writing direction or cannot be seen.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A character that acts, made visible.
pub fn visible(c: char) -> String {
    format!("[U+{:04X}]", u32::from(c))
}

/// A name as it can be shown within a line.
pub fn shown_name(name: &str) -> String {
    name.chars().map(|c| if acts(c) { visible(c) } else { c.to_string() }).collect()
}

/// Names in one line.
pub fn list_names<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| shown_name(name.as_ref())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{list_names, shown_name};

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(shown_name("a b/ä.py"), "a b/ä.py");
        assert_eq!(shown_name("a\n[PASS] b\r\tc"), "a[U+000A][PASS] b[U+000D][U+0009]c");
        assert_eq!(
            shown_name("\u{2028}\u{2029}\u{202e}\u{1b}\u{85}"),
            "[U+2028][U+2029][U+202E][U+001B][U+0085]"
        );
        assert_eq!(list_names(["a", "b\nc"]), "a, b[U+000A]c");
        assert_eq!(list_names(Vec::<String>::new()), "");
    }
}
