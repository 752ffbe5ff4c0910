//! Text for other programs: without control characters, and not longer than they accept.

/// One line, at most `limit` characters.
pub fn one_line(text: &str, limit: usize) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    cut(&line, limit)
}

/// Without control characters other than line breaks, at most `limit` characters.
pub fn plain(text: &str, limit: usize) -> String {
    let text = text.replace("\r\n", "\n").replace('\t', " ");
    let kept: String = text.chars().filter(|letter| *letter == '\n' || !letter.is_control()).collect();
    cut(kept.trim(), limit)
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => format!("{}…", text.chars().take(limit.saturating_sub(1)).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::{one_line, plain};

    #[test]
    fn a_line_has_no_breaks_and_a_limit() {
        assert_eq!(one_line(" a\r\nBcc: x\u{1b}[2J\tb ", 100), "a Bcc: x [2J b");
        assert_eq!(one_line("äöü", 3), "äöü");
        assert_eq!(one_line("äöüß", 3), "äö…");
    }

    #[test]
    fn text_keeps_its_lines() {
        assert_eq!(plain("\n a\r\nb\u{7}\n", 100), "a\nb");
        assert_eq!(plain("abcd", 2), "a…");
    }
}
