//! Words that must not occur in text that a user or a model reads: string literals of the sources, help texts and documents.

use std::fs;
use std::path::{Path, PathBuf};

/// Each with what to write instead.
const BANNED: [(&str, &str); 23] = [
    ("go on with", "resume, continue"),
    ("goes on with", "resumes, continues"),
    ("going on with", "resuming, continuing"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("blot out", "redact"),
    ("blotted", "redacted"),
    ("tells", "says, reports, shows"),
    ("told", "said, reported, informed"),
    ("whoever", "anyone who"),
    ("hold a session", "run a session"),
    ("holds a session", "runs a session"),
    ("held a session", "ran a session"),
    ("to hold at most", "maximum number of"),
    ("asked too often", "rate limited"),
    ("not written rightly", "malformed"),
    ("rightly", "correctly"),
    ("stands where", "expected A, got B"),
    ("is no object", "is not an object"),
    ("is no file", "is not a file"),
    ("is no directory", "is not a directory"),
    ("is no number", "is not a number"),
    ("is no list", "is not a list"),
];

/// Quoted from the specification, or names in formats that must stay readable.
const EXCEPTIONS: [&str; 2] = ["\"told\"", "\"said\""];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("directory").map(|entry| entry.expect("entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().expect("type").is_dir() {
            if !["target", "tests", "examples"].iter().any(|skipped| name == *skipped) {
                files(&path, ending, found);
            }
        } else if path.extension().is_some_and(|extension| extension == ending) && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The string literals of a source file, without those in its test module, one after another.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut found, mut rest) = (Vec::new(), source);
    while let Some(start) = rest.find(['"', '/', '\'']) {
        let after = &rest[start..];
        if after.starts_with("//") {
            rest = after.find('\n').map_or("", |end| &after[end..]);
        } else if let Some(text) = after.strip_prefix('"') {
            let hashes = rest[..start].bytes().rev().take_while(|byte| *byte == b'#').count();
            let is_raw = rest[..start - hashes].ends_with('r');
            let end = match is_raw {
                true => text.find(&format!("\"{}", "#".repeat(hashes))).unwrap_or(text.len()),
                false => closing_quote(text),
            };
            found.push(text[..end].to_owned());
            rest = text.get(end + 1..).unwrap_or_default();
        } else {
            // A character literal such as '"', which is not the start of a string.
            rest = after.strip_prefix("'\"'").unwrap_or(&after[1..]);
        }
    }
    found
}

fn closing_quote(text: &str) -> usize {
    let mut is_escaped = false;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return place,
            b'\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// The banned words in a text, found as whole words whatever the line breaks between them.
fn banned_in(text: &str) -> Vec<&'static str> {
    let plain: String = text.replace("\\n", " ").to_lowercase();
    let words: Vec<&str> =
        plain.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let line = format!(" {} ", words.join(" ")).replace(" there is no ", " there-is-no ");
    BANNED.iter().map(|(word, _)| *word).filter(|word| line.contains(&format!(" {word} "))).collect()
}

#[test]
fn text_for_people_uses_plain_words() {
    let mut sources = Vec::new();
    files(&workspace().join("crates"), "rs", &mut sources);
    assert!(sources.len() > 300, "the sources are found");
    let mut found = Vec::new();
    for path in &sources {
        let source = fs::read_to_string(path).expect("source");
        for literal in literals(&source) {
            let quoted = format!("\"{literal}\"");
            if !EXCEPTIONS.contains(&quoted.as_str()) {
                found.extend(
                    banned_in(&literal).into_iter().map(|word| (word, path.clone(), literal.clone())),
                );
            }
        }
    }
    let mut documents = Vec::new();
    files(&workspace().join("docs"), "md", &mut documents);
    files(&workspace().join("crates"), "md", &mut documents);
    documents.extend(["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| workspace().join(name)));
    for path in documents {
        let text = fs::read_to_string(&path).expect("document");
        for (number, line) in text.lines().enumerate() {
            let at = format!("line {}: {line}", number + 1);
            found.extend(banned_in(line).into_iter().map(|word| (word, path.clone(), at.clone())));
        }
    }
    let advice =
        |word: &str| BANNED.iter().find(|(banned, _)| *banned == word).map_or("", |(_, instead)| instead);
    let lines: Vec<String> = found
        .iter()
        .map(|(word, path, text)| format!("{}: `{word}` ({}): {text}", path.display(), advice(word)))
        .collect();
    assert!(lines.is_empty(), "{} banned words:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn literals_are_found_and_comments_are_not() {
    let source =
        "let a = \"one \\\" two\"; // \"no\"\nlet b = r#\"three \" four\"#; let c = '\"'; let d = \"five\";";
    assert_eq!(literals(source), ["one \\\" two", "three \" four", "five"]);
    assert_eq!(banned_in("The file is\\nmended, and the user is told."), ["mended", "told"]);
    assert!(banned_in("a recommended amendment").is_empty());
}
