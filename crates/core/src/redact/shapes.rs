//! The shapes of secrets. Each is a pattern that finds candidates and a test that rejects lookalikes.
//!
//! A pattern marks the secret as a group, [`QUOTED`] or [`BARE`]; without one the whole match is the secret.
//! No pattern reads far beyond its match, so a text is read in linear time. Minimum lengths are shorter than
//! those of real secrets, since a text may have been truncated.

use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Match, Regex};

use super::randomness::{digits, has_digit_or_symbol, is_mixed, is_number, is_placeholder, switch_rate};
use super::redaction::{Redaction, Secret};

/// Minimum switch rate of a text where a secret is expected.
const LITERAL_SWITCH_RATE: f64 = 0.15;

/// Minimum switch rate of a text that could as well be code.
const RANDOM_SWITCH_RATE: f64 = 0.25;

/// Minimum number of digits of a text that could as well be code.
const RANDOM_DIGITS: usize = 2;

/// Minimum length of a part without dashes; words are shorter.
const LONG_PART: usize = 20;

/// Passwords in URLs that protect nothing.
const HARMLESS_PASSWORDS: [&str; 14] = [
    "password", "passwd", "pass", "pw", "pwd", "secret", "user", "username", "postgres", "mysql", "root",
    "admin", "guest", "test",
];

/// Group of a secret that is in quotes, where that matters.
const QUOTED: &str = "secret";

/// Group of a secret that is not in quotes, where that matters.
const BARE: &str = "bare";

/// Fragments shared by patterns.
const PARTS: [(&str, &str); 8] = [
    // Start of a word: also after a colour, an escaped line break and a percent-encoded character.
    ("<START>", r"(?:(?-u:\b)|\x1b\[[0-9;]*m|\\[nrt]|%[0-9A-Fa-f]{2})"),
    // End of a word that is not part of a base64 text.
    ("<END>", r"(?:[^A-Za-z0-9_+/-]|$)"),
    // Between a name and its value.
    ("<IS>", r#"[\\"'`]{0,4}[ \t]{0,4}(?:={1,3}|:=|=>|:)[ \t]{0,4}"#),
    ("<QUOTE>", r#"[\\"'`]{0,4}"#),
    ("<CREDENTIALS>", r#"(?P<secret>[^\s"'`\\<>{}$,;]{8,})"#),
    // End of a name whose value is a secret.
    (
        "<NAME>",
        "(?P<name>(?:api|access|secret|private|auth|account|signing|encryption)[_-]?key\
         |token|secret|passw(?:or)?d|passphrase)",
    ),
    // Between the lines of a key, which may be numbered, quoted, indented, part of a diff or escaped.
    ("<BREAK>", r#"(?:(?:\\+[nrt]|[\s\d|:>#*"',+→-])+)"#),
    ("<KEY>", "[A-Z0-9 ]{0,20}PRIVATE KEY(?: BLOCK)?-----"),
];

struct SecretShape {
    name: &'static str,
    /// Lower case. A text without any of these, in any case, cannot match the pattern; this is a fast
    /// pre-check.
    keywords: &'static [&'static str],
    pattern: &'static str,
    is_secret: fn(&Captures<'_>) -> bool,
}

/// Ordered from specific to general: the first shape names a secret that matches several.
const SHAPES: [SecretShape; 22] = [
    SecretShape {
        name: "private key",
        keywords: &["private key"],
        pattern: "-----BEGIN <KEY>\
                  (?:<BREAK>(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\\n\\\\]*)*\
                  (?:<BREAK>?[A-Za-z0-9+/=]{32,})+(?:<BREAK>[A-Za-z0-9+/=]+)?(?:<BREAK>?-----END <KEY>)?",
        is_secret: |_| true,
    },
    // The beginning was truncated.
    SecretShape {
        name: "private key",
        keywords: &["private key"],
        pattern: "(?:[A-Za-z0-9+/=]{32,}<BREAK>?)+(?:[A-Za-z0-9+/=]+<BREAK>?)?-----END <KEY>",
        is_secret: |_| true,
    },
    SecretShape {
        name: "JSON Web Token",
        keywords: &["eyj"],
        pattern: r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        is_secret: mixed,
    },
    SecretShape {
        name: "Anthropic key",
        keywords: &["sk-ant-"],
        pattern: "sk-ant-[A-Za-z0-9_-]{14,}",
        is_secret: numbered,
    },
    SecretShape {
        name: "OpenAI key",
        keywords: &["sk-"],
        pattern: "<START>(?P<secret>sk-[A-Za-z0-9_-]{20,})",
        is_secret: |found| numbered(found) && (has_long_part(found) || looks_random(found)),
    },
    SecretShape {
        name: "OpenAI session",
        keywords: &["sess-"],
        pattern: "<START>(?P<secret>sess-[A-Za-z0-9]{24,})",
        is_secret: numbered,
    },
    SecretShape {
        name: "Google key",
        keywords: &["aiza"],
        pattern: "<START>(?P<secret>AIza[A-Za-z0-9_-]{30,45})<END>",
        is_secret: mixed,
    },
    SecretShape {
        name: "GitHub token",
        keywords: &["gh"],
        pattern: "gh[pousr]_[A-Za-z0-9]{20,}",
        is_secret: mixed,
    },
    SecretShape {
        name: "GitHub token",
        keywords: &["github_pat_"],
        pattern: "github_pat_[A-Za-z0-9_]{22,}",
        is_secret: numbered,
    },
    SecretShape {
        name: "GitLab token",
        keywords: &["gl"],
        pattern: "gl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{16,}",
        is_secret: numbered,
    },
    SecretShape {
        name: "AWS key id",
        keywords: &["ia"],
        pattern: "<START>(?P<secret>(?:AKIA|ASIA)[A-Z0-9]{16})<END>",
        is_secret: numbered,
    },
    SecretShape {
        name: "AWS secret key",
        keywords: &["secret"],
        pattern: "(?i)aws_?secret_?(?:access_?)?key<IS><QUOTE>(?P<secret>[a-z0-9/+]{24,}={0,2})",
        is_secret: credentials,
    },
    SecretShape {
        name: "Slack token",
        keywords: &["xox"],
        pattern: "xox[baprs]-[A-Za-z0-9-]{10,}",
        is_secret: numbered,
    },
    SecretShape {
        name: "Stripe key",
        keywords: &["k_live_"],
        pattern: "[sr]k_live_[A-Za-z0-9]{16,}",
        is_secret: mixed,
    },
    SecretShape { name: "npm token", keywords: &["npm_"], pattern: "npm_[A-Za-z0-9]{24,}", is_secret: mixed },
    SecretShape {
        name: "PyPI token",
        keywords: &["pypi-"],
        pattern: "pypi-[A-Za-z0-9_-]{40,}",
        is_secret: looks_random,
    },
    SecretShape {
        name: "Hugging Face token",
        keywords: &["hf_"],
        pattern: "hf_[A-Za-z0-9]{24,}",
        is_secret: mixed,
    },
    SecretShape {
        name: "credentials",
        keywords: &["authorization"],
        pattern: "(?i)authorization<IS><QUOTE>(?:bearer|basic|token)[ \\t]{1,4}<CREDENTIALS>",
        is_secret: credentials,
    },
    SecretShape {
        name: "credentials",
        keywords: &["bearer"],
        pattern: r"(?i)bearer[ \t]{1,4}(?P<secret>[a-z0-9._~+/=-]{20,})",
        is_secret: looks_random,
    },
    SecretShape {
        name: "credentials",
        keywords: &["-key", "-token"],
        pattern: "(?i)(?:x-(?:[a-z]{1,10}-)?(?:api-key|auth-token)|private-token)<IS><QUOTE><CREDENTIALS>",
        is_secret: credentials,
    },
    SecretShape {
        name: "password",
        keywords: &["://"],
        pattern: r#"://[^\s/:@"'`\\<>]*:(?P<secret>[^\s/?\#"'`\\<>]+)@(?P<host>[A-Za-z0-9.-]+)"#,
        is_secret: password,
    },
    SecretShape {
        name: "secret",
        keywords: &["key", "token", "secret", "passw", "passphrase"],
        pattern: concat!(
            r#"(?i)(?P<user>://[a-z0-9_.-]{0,40})?<NAME>(?:[ \t]?:[ \t]?[&'a-z0-9_.<> ]{1,30})?<IS>"#,
            r#"(?:\\{0,3}["'`](?P<secret>[^\s"'`\\]{12,})"#,
            r#"|(?P<bare>[^\s"'`\\,;&(){}\[\]<>|=]{12,}={0,2})(?P<next>[({\[]?))"#,
        ),
        is_secret: assigned,
    },
];

static COMPILED: [OnceLock<Regex>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];

static SECRET_KEY: LazyLock<Regex> =
    LazyLock::new(|| compile("(?i)(?:key|token|secret|passw(?:or)?d|passphrase|authorization)$"));

/// All ranges that match a shape and pass its test, unordered.
pub(super) fn find(text: &str) -> Vec<Redaction> {
    let mut redactions = Vec::new();
    let lower = text.to_ascii_lowercase();
    let may_match = |shape: &SecretShape| shape.keywords.iter().any(|keyword| lower.contains(keyword));
    let possible = SHAPES.iter().enumerate().filter(|(_, shape)| may_match(shape));
    for (number, shape) in possible {
        let pattern = COMPILED[number].get_or_init(|| compile(shape.pattern));
        let real = pattern.captures_iter(text).filter(|found| (shape.is_secret)(found));
        let ranges = real.filter_map(|found| secret(&found).map(|secret| secret.range()));
        redactions.extend(ranges.map(|range| Redaction { range, secret: Secret::Shape(number) }));
    }
    redactions
}

pub(super) fn name(number: usize) -> &'static str {
    SHAPES[number].name
}

/// True for an object key whose value may be a secret because of the key.
pub(super) fn names_secret(key: &str) -> bool {
    SECRET_KEY.is_match(key)
}

fn secret<'t>(found: &Captures<'t>) -> Option<Match<'t>> {
    found.name(QUOTED).or_else(|| found.name(BARE)).or_else(|| found.get(0))
}

fn text<'t>(found: &Captures<'t>) -> &'t str {
    secret(found).map_or("", |secret| secret.as_str())
}

/// More than words in one case, and more than one repeated character.
fn mixed(found: &Captures<'_>) -> bool {
    is_mixed(text(found))
}

/// [`mixed`], with a digit.
fn numbered(found: &Captures<'_>) -> bool {
    mixed(found) && digits(text(found)) > 0
}

/// Candidates that could as well be code must look random.
fn looks_random(found: &Captures<'_>) -> bool {
    let text = text(found);
    is_mixed(text)
        && digits(text) >= RANDOM_DIGITS
        && switch_rate(text) >= RANDOM_SWITCH_RATE
        && !is_placeholder(text)
}

/// A text where credentials are expected is a secret unless it reads like words.
fn credentials(found: &Captures<'_>) -> bool {
    let text = text(found);
    is_mixed(text) && switch_rate(text) >= LITERAL_SWITCH_RATE && !is_placeholder(text)
}

/// A quoted value is a literal, and so is that of `NAME=`; other values may be code. The user part of a URL
/// is not a name.
fn assigned(found: &Captures<'_>) -> bool {
    let is_code = found.name("next").is_some_and(|next| !next.is_empty()) || is_number(text(found));
    if is_code || found.name("user").is_some() {
        return false;
    }
    let is_literal = found.name(QUOTED).is_some() || is_shell(found);
    if is_literal { credentials(found) && has_digit_or_symbol(text(found)) } else { looks_random(found) }
}

/// `NAME=value`, as in shells and env files.
fn is_shell(found: &Captures<'_>) -> bool {
    let name = &found["name"];
    !name.contains(|c: char| c.is_ascii_lowercase()) && found[0].contains(&format!("{name}={}", text(found)))
}

/// Rejects common placeholder passwords and the tag of an image with a digest.
fn password(found: &Captures<'_>) -> bool {
    let password = text(found);
    let is_digest = ["sha256", "sha512"].contains(&&found["host"]);
    !is_digest
        && !HARMLESS_PASSWORDS.contains(&password.to_ascii_lowercase().as_str())
        && !is_placeholder(password)
}

fn has_long_part(found: &Captures<'_>) -> bool {
    text(found).split(['-', '_']).any(|part| part.len() >= LONG_PART)
}

#[expect(clippy::expect_used, reason = "constants, all used in tests")]
fn compile(pattern: &str) -> Regex {
    let whole = PARTS.iter().fold(pattern.to_owned(), |whole, (name, part)| whole.replace(name, part));
    Regex::new(&whole).expect("a valid pattern")
}
