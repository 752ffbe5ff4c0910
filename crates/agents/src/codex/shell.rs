//! Extracts the command from `bash -lc '…'`: Codex wraps every command in a shell, and our rules check the
//! script.

/// Directories in which `bash` and `sh` are the real shells.
const SYSTEM_DIRS: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// The script of a shell invocation; any other command line unchanged.
pub(super) fn unwrap_shell(line: &str) -> String {
    match words(line).as_deref() {
        Some([shell, flag, script]) if is_shell(shell) && ["-c", "-lc"].contains(&flag.as_str()) => {
            script.clone()
        }
        Some(_) | None => line.to_owned(),
    }
}

fn is_shell(program: &str) -> bool {
    let name = SYSTEM_DIRS.iter().find_map(|dir| program.strip_prefix(dir)).unwrap_or(program);
    ["bash", "sh"].contains(&name)
}

/// Splits a command line by quotes and backslashes only; `None` if a quote is not closed.
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
    use super::unwrap_shell;

    #[test]
    fn only_a_real_shell_is_unwrapped() {
        for (line, inner) in [
            ("/bin/bash -lc 'echo hi'", "echo hi"),
            ("bash -c ls", "ls"),
            (r#"/usr/bin/bash -lc "echo 'a' \"\$HOME\" \\n""#, r#"echo 'a' "$HOME" \n"#),
            (r#"/bin/sh -c 'a'"'"'b'"#, "a'b"),
            ("/bin/bash -c 'rm -rf ~ && echo \\ done'", "rm -rf ~ && echo \\ done"),
        ] {
            assert_eq!(unwrap_shell(line), inner, "{line}");
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
            assert_eq!(unwrap_shell(line), line);
        }
    }
}
