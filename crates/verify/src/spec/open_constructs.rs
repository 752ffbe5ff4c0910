//! Finds out whether a shell command goes on in the next line: a quote or a parenthesis is open, a here-document begins, or the line ends
//! with a backslash. Bodies of here-documents are not looked at.

use std::iter::Peekable;
use std::str::Chars;

/// What is open, the innermost last.
#[derive(Debug, Default)]
pub(super) struct OpenConstructs(Vec<Construct>);

/// What the end of a line means for the next one.
#[derive(Debug, Default)]
pub(super) struct LineEnd {
    /// The words that end the here-documents which begin in the line.
    pub(super) documents: Vec<String>,
    /// Whether its last character is a backslash that joins it with the next.
    pub(super) is_continued: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Construct {
    Parenthesis,
    /// `((…))`, and parentheses in it: `<<` shifts there.
    Arithmetic,
    /// `${…}`
    Expansion,
    Double,
    Single,
    /// `$'…'`, in which a backslash protects a quote.
    Escaping,
    Backquote,
}

impl OpenConstructs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the end of a line is part of a quote.
    pub(super) fn is_quoted(&self) -> bool {
        matches!(self.0.last(), Some(Construct::Double | Construct::Single | Construct::Escaping))
    }

    /// One more line of the command.
    pub(super) fn add(&mut self, line: &str) -> LineEnd {
        let mut end = LineEnd::default();
        let mut characters = line.chars().peekable();
        let mut before = ' ';
        while let Some(character) = characters.next() {
            let innermost = self.0.last().copied();
            match (character, innermost) {
                ('\'', Some(Construct::Single | Construct::Escaping))
                | ('"', Some(Construct::Double))
                | ('`', Some(Construct::Backquote))
                | (')', Some(Construct::Parenthesis | Construct::Arithmetic))
                | ('}', Some(Construct::Expansion)) => drop(self.0.pop()),
                (_, Some(Construct::Single)) => {}
                ('\\', _) => end.is_continued = characters.next().is_none(),
                (_, Some(Construct::Escaping)) => {}
                ('$', _) => match characters.peek() {
                    Some('(') => {
                        self.open(&mut characters, Construct::Parenthesis);
                        before = '(';
                        continue;
                    }
                    Some('{') => self.open(&mut characters, Construct::Expansion),
                    Some('\'') if !self.is_quoted() => self.open(&mut characters, Construct::Escaping),
                    // The number of arguments.
                    Some('#') => drop(characters.next()),
                    _ => {}
                },
                ('`', _) if !self.0.contains(&Construct::Backquote) => self.0.push(Construct::Backquote),
                (_, Some(Construct::Double)) => {}
                ('"', _) => self.0.push(Construct::Double),
                // Within an expansion that is quoted, it is an apostrophe.
                ('\'', _)
                    if !self.0.contains(&Construct::Double) || innermost == Some(Construct::Parenthesis) =>
                {
                    self.0.push(Construct::Single);
                }
                (_, Some(Construct::Expansion)) => {}
                ('(', Some(Construct::Arithmetic)) => self.0.push(Construct::Arithmetic),
                ('(', Some(Construct::Parenthesis)) if before == '(' => self.0.push(Construct::Arithmetic),
                ('(', _) => self.0.push(Construct::Parenthesis),
                ('#', _) if before.is_whitespace() || matches!(before, ';' | '&' | '|' | '(') => return end,
                ('<', Some(Construct::Arithmetic)) => {}
                ('<', _) => end.documents.extend(here_document(&mut characters)),
                _ => {}
            }
            before = character;
        }
        end
    }

    fn open(&mut self, characters: &mut impl Iterator<Item = char>, construct: Construct) {
        characters.next();
        self.0.push(construct);
    }
}

/// The word that ends the here-document which begins with a second `<`, without its quotes; `None` if none begins: a third one makes it a
/// string, and a number is meant to shift something.
fn here_document(characters: &mut Peekable<Chars<'_>>) -> Option<String> {
    characters.next_if_eq(&'<')?;
    if characters.next_if_eq(&'<').is_some() {
        return None;
    }
    characters.next_if_eq(&'-');
    while characters.next_if(|c| c.is_whitespace()).is_some() {}
    let mut word = String::new();
    let mut quote = None;
    while let Some(c) =
        characters.next_if(|c| quote.is_some() || !(c.is_whitespace() || ";&|<>()`".contains(*c)))
    {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('\\', None) => word.extend(characters.next()),
            (c, _) => word.push(c),
        }
    }
    (!word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit())).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::OpenConstructs;

    fn is_open(text: &str) -> bool {
        let mut open = OpenConstructs::default();
        text.lines().for_each(|line| drop(open.add(line)));
        !open.is_empty()
    }

    #[test]
    fn here_documents_begin_where_the_shell_begins_them() {
        for (line, words) in [
            ("cat <<EOF", &["EOF"][..]),
            ("cat <<-'END OF' | sort", &["END OF"]),
            ("cat <<A - << \"B\"; x", &["A", "B"]),
            ("x=$(cat <<\\EOF", &["EOF"]),
            ("echo \"$(cat <<EOF", &["EOF"]),
            ("echo `cat <<EOF`", &["EOF"]),
            ("echo a#<<b", &["b"]),
            ("grep '<<EOF' a", &[]),
            ("grep \"<<EOF\" a", &[]),
            ("echo $'it\\'s <<EOF'", &[]),
            ("./calc # <<EOF", &[]),
            ("echo \\<<EOF <<< EOF", &[]),
            ("echo $((1<<n)) $(((1) << (n<<m)))", &[]),
            ("((x = 1<<n))", &[]),
            ("echo ${x#<<EOF}", &[]),
            ("x << 2", &[]),
        ] {
            assert_eq!(OpenConstructs::default().add(line).documents, words, "{line}");
        }
    }

    #[test]
    fn a_backslash_at_the_end_continues_a_line_but_not_a_comment() {
        for (line, is_continued) in [("a \\", true), ("a \\\\", false), ("a # b \\", false), ("a", false)] {
            assert_eq!(OpenConstructs::default().add(line).is_continued, is_continued, "{line}");
        }
    }

    #[test]
    fn whole_commands_are_complete() {
        for command in [
            "./calc add 2 3",
            "test \"$(./calc \"2\" ')')\" = 5",
            "echo 'it''s' \"don't\" it\\'s \\( \"\\\"\" $'it\\'s'",
            "./calc # don't (",
            "echo a#' '# x",
            "case $1 in a) echo 1;; (b) echo 2;; esac",
            "echo $((1 << 2)) $# ${x#(} ${#x} \"${x:-it's}\" `echo \"x\"`",
            "f() { echo; }; (cd a && f) | { cat; }",
            "echo a \\",
            "diff <(sort a) <(sort b)",
            "echo $(echo `date` \"$(echo 'x')\")",
        ] {
            assert!(!is_open(command), "{command}");
        }
    }

    #[test]
    fn commands_that_go_on_are_not() {
        for command in [
            "x=$(cat",
            "echo 'a",
            "echo \"a $(b\"",
            "(cd a",
            "echo \"$(echo ')'",
            "echo `date",
            "${x:-",
            "echo $'\\'",
        ] {
            assert!(is_open(command), "{command}");
        }
        assert!(!is_open("x=$(cat\n) && test \"$x\""));
    }
}
