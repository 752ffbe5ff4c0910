//! Programs that run what files of the project say.

/// Whether it is the name of a Python, such as `python3.12`.
pub(crate) fn is_python(name: &str) -> bool {
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Whether a command has go run what the project's files say, wherever they are: `go generate`, and `go run` at the top.
pub(crate) fn runs_go_files(words: &[&str]) -> bool {
    let is_top = |word: &str| matches!(word, "." | "./" | "./...");
    words.windows(2).any(|pair| pair == ["go", "generate"]) || go_arguments(words, "run").any(is_top)
}

/// The package or file that a command of go is given first.
pub(crate) fn go_arguments<'w>(words: &[&'w str], command: &str) -> impl Iterator<Item = &'w str> {
    let at = words.windows(2).position(|pair| pair[0] == "go" && pair[1] == command);
    let rest = at.map_or(&[][..], |at| &words[at + 2..]);
    rest.iter().copied().find(|word| !word.starts_with('-')).into_iter()
}
