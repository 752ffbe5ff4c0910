//! The command within `bash -lc '…'`: Codex hands every command to a shell, and our rules judge what the shell is told.

/// Where the shells are that are only what they are called.
const PLACES: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// The command that a shell is told to run; any other command line as it is.
pub(super) fn unwrapped(line: &str) -> String {
    match words(line).as_deref() {
        Some([shell, flag, script]) if is_shell(shell) && ["-c", "-lc"].contains(&flag.as_str()) => {
            script.clone()
        }
        Some(_) | None => line.to_owned(),
    }
}

fn is_shell(program: &str) -> bool {
    let name = PLACES.iter().find_map(|place| program.strip_prefix(place)).unwrap_or(program);
    ["bash", "sh"].contains(&name)
}

/// The words of a command line in which nothing but quotes and backslashes is special; none if a quote does not end.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        if next.is_ascii_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match next {
            '\'' => loop {
                match rest.next()? {
                    '\'' => break,
                    inside => word.push(inside),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => match rest.next()? {
                        escaped @ ('$' | '`' | '"' | '\\') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    inside => word.push(inside),
                }
            },
            '\\' => word.push(rest.next()?),
            plain => word.push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::unwrapped;

    #[test]
    fn a_shell_is_taken_away_and_nothing_else() {
        for (line, inner) in [
            ("/bin/bash -lc 'echo hi'", "echo hi"),
            ("bash -c ls", "ls"),
            (r#"/usr/bin/bash -lc "echo 'a' \"\$HOME\" \\n""#, r#"echo 'a' "$HOME" \n"#),
            (r#"/bin/sh -c 'a'"'"'b'"#, "a'b"),
            ("/bin/bash -c 'rm -rf ~ && echo \\ done'", "rm -rf ~ && echo \\ done"),
        ] {
            assert_eq!(unwrapped(line), inner, "{line}");
        }
        for line in [
            "ls -la",
            "./bash -c ls",
            "/tmp/bash -c ls",
            "bash -c 'a' b",
            "bash -x ls",
            "bash -lc 'open",
            "python3 -c 'x'",
        ] {
            assert_eq!(unwrapped(line), line);
        }
    }
}
