//! Here-documents of shell scripts: what `cat` prints for a person to read does not run.

use crate::shell_line::shell_commands;

/// What a line of a script is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Code,
    /// Of a document that is only printed.
    Text,
    /// Of any other document.
    Document,
}

/// The lines of a script, with their ends.
pub(crate) fn lines_with_kinds(code: &str) -> Vec<(&str, LineKind)> {
    let lines: Vec<&str> = code.split_inclusive('\n').collect();
    let mut found = Vec::with_capacity(lines.len());
    while found.len() < lines.len() {
        let at = found.len();
        let behind = &lines[at + 1..];
        let document = Document::begun_by(lines[at]).and_then(|document| {
            let length = behind.iter().position(|line| line.trim() == document.end)?;
            Some((document, length))
        });
        let Some((document, length)) = document else {
            found.push((lines[at], LineKind::Code));
            continue;
        };
        let body = &behind[..length];
        let runs_commands =
            !document.is_quoted && body.iter().any(|line| line.contains("$(") || line.contains('`'));
        let is_text = document.is_printed && !runs_commands;
        let kind = if is_text { LineKind::Text } else { LineKind::Document };
        found.push((lines[at], LineKind::Code));
        found.extend(behind[..=length].iter().map(|line| (*line, kind)));
    }
    found
}

struct Document<'t> {
    /// The line that ends it.
    end: &'t str,
    /// Whether the shell leaves it as it is.
    is_quoted: bool,
    /// Whether it goes to the user's screen.
    is_printed: bool,
}

impl<'t> Document<'t> {
    fn begun_by(line: &'t str) -> Option<Self> {
        let (before, behind) = line.split_once("<<")?;
        let behind = behind.strip_prefix('-').unwrap_or(behind).trim_start();
        let (word, rest) =
            behind.split_at(behind.find([' ', '\t', '\n', ';', '>', '|', '&', ')']).unwrap_or(behind.len()));
        let end = word.trim_matches(['"', '\'', '\\']);
        let commands = shell_commands(before).unwrap_or_default();
        let is_cat = |words: &[&str]| match words {
            ["cat"] => true,
            [before, "cat"] => ["do", "else", "then", "{"].contains(before),
            _ => false,
        };
        let is_cat = commands.last().is_some_and(|command| is_cat(&command.words))
            && commands
                .iter()
                .all(|command| !command.is_piped() && command.outputs.iter().all(|to| *to == "&2"));
        let is_printed = is_cat && ["", ">&2", "1>&2"].contains(&rest.trim());
        (!end.is_empty()).then_some(Self { end, is_quoted: end != word, is_printed })
    }
}

#[cfg(test)]
mod tests {
    use super::{LineKind, lines_with_kinds};

    #[test]
    fn only_what_cat_prints_is_text() {
        for (first, kind) in [
            ("cat <<EOF", LineKind::Text),
            ("cat <<-'EOF' >&2", LineKind::Text),
            ("cat >&2 << \"EOF\"", LineKind::Text),
            ("[ -f x ] || cat <<EOF", LineKind::Text),
            ("cat <<EOF | sh", LineKind::Document),
            ("cat > x <<EOF", LineKind::Document),
            ("cat <<EOF > x", LineKind::Document),
            ("sh <<EOF", LineKind::Document),
            ("sh cat <<EOF", LineKind::Document),
            ("x | cat <<EOF", LineKind::Document),
            ("eval \"$(cat <<EOF", LineKind::Document),
        ] {
            let text = format!("a\n{first}\nsh tools/x\n\tEOF\nb\n");
            let kinds: Vec<LineKind> = lines_with_kinds(&text).into_iter().map(|(_, kind)| kind).collect();
            assert_eq!(kinds, [LineKind::Code, LineKind::Code, kind, kind, LineKind::Code], "{first}");
        }
        let with_command = |first: &str| lines_with_kinds(&format!("{first}\n$(sh x)\nEOF\n"))[1].1;
        assert_eq!(with_command("cat <<EOF"), LineKind::Document);
        assert_eq!(with_command("cat <<'EOF'"), LineKind::Text);
        assert_eq!(lines_with_kinds("echo $((1<<2))\nx\n")[1].1, LineKind::Code);
    }
}
