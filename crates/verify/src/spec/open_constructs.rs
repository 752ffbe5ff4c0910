//! Finds out whether a shell command goes on in the next line: a quote or a parenthesis is open. Bodies of here-documents are not looked at.

/// What is open, the innermost last.
#[derive(Debug, Default)]
pub(super) struct OpenConstructs(Vec<Construct>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Construct {
    Parenthesis,
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

    /// One more line of the command.
    pub(super) fn add(&mut self, line: &str) {
        let mut characters = line.chars().peekable();
        let mut before = ' ';
        while let Some(character) = characters.next() {
            let innermost = self.0.last().copied();
            let is_quoted =
                matches!(innermost, Some(Construct::Double | Construct::Single | Construct::Escaping));
            match (character, innermost) {
                ('\'', Some(Construct::Single | Construct::Escaping))
                | ('"', Some(Construct::Double))
                | ('`', Some(Construct::Backquote))
                | (')', Some(Construct::Parenthesis))
                | ('}', Some(Construct::Expansion)) => drop(self.0.pop()),
                (_, Some(Construct::Single)) => {}
                ('\\', _) => drop(characters.next()),
                (_, Some(Construct::Escaping)) => {}
                ('$', _) => match characters.peek() {
                    Some('(') => self.open(&mut characters, Construct::Parenthesis),
                    Some('{') => self.open(&mut characters, Construct::Expansion),
                    Some('\'') if !is_quoted => self.open(&mut characters, Construct::Escaping),
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
                ('(', _) => self.0.push(Construct::Parenthesis),
                ('#', _) if before.is_whitespace() || matches!(before, ';' | '&' | '|' | '(') => return,
                _ => {}
            }
            before = character;
        }
    }

    fn open(&mut self, characters: &mut impl Iterator<Item = char>, construct: Construct) {
        characters.next();
        self.0.push(construct);
    }
}

#[cfg(test)]
mod tests {
    use super::OpenConstructs;

    fn is_open(text: &str) -> bool {
        let mut open = OpenConstructs::default();
        text.lines().for_each(|line| open.add(line));
        !open.is_empty()
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
