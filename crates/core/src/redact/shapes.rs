//! The shapes of secrets. Each is a pattern that finds it and a proof that sorts out what only looks like it.
//!
//! A pattern marks the secret as a group, [`QUOTED`] or [`BARE`]; without one the whole match is the secret. No
//! pattern reads far beyond its match, so that a text is read in linear time. The lengths asked for are shorter
//! than those of real secrets, since a text may have been cut.

use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Match, Regex};

use super::chance::{digits, has_digit_or_sign, is_mixed, is_number, is_stand_in, turns};
use super::{ReplyRedactor, Secret};

/// Turns of a text that stands where a secret is expected.
const LITERAL_TURNS: f64 = 0.15;

/// Turns of a text that could as well be code.
const CHANCE_TURNS: f64 = 0.25;

/// Digits of a text that could as well be code.
const CHANCE_DIGITS: usize = 2;

/// A part of a secret without any dash is at least this long; a word is shorter.
const LONG_PART: usize = 20;

/// Passwords in URLs that protect nothing.
const NO_PASSWORDS: [&str; 14] = [
    "password", "passwd", "pass", "pw", "pwd", "secret", "user", "username", "postgres", "mysql", "root",
    "admin", "guest", "test",
];

/// The group of a secret, in quotes where that matters.
const QUOTED: &str = "secret";

/// The group of a secret without quotes, where that matters.
const BARE: &str = "bare";

/// Parts that patterns share.
const PARTS: [(&str, &str); 8] = [
    // A word begins: also after a colour, an escaped line break and a percent-encoded character.
    ("<START>", r"(?:(?-u:\b)|\x1b\[[0-9;]*m|\\[nrt]|%[0-9A-Fa-f]{2})"),
    // It ends, and is not part of a base64 text.
    ("<END>", r"(?:[^A-Za-z0-9_+/-]|$)"),
    // From a name to its value.
    ("<IS>", r#"[\\"'`]{0,4}[ \t]{0,4}(?:={1,3}|:=|=>|:)[ \t]{0,4}"#),
    ("<QUOTE>", r#"[\\"'`]{0,4}"#),
    ("<CREDENTIALS>", r#"(?P<secret>[^\s"'`\\<>{}$,;]{8,})"#),
    // The end of a name whose value is a secret.
    (
        "<NAME>",
        "(?P<name>(?:api|access|secret|private|auth|account|signing|encryption)[_-]?key\
         |token|secret|passw(?:or)?d|passphrase)",
    ),
    // Between the lines of a key, which may be numbered, quoted, indented, compared or escaped.
    ("<BREAK>", r#"(?:(?:\\+[nrt]|[\s\d|:>#*"',+→-])+)"#),
    ("<KEY>", "[A-Z0-9 ]{0,20}PRIVATE KEY(?: BLOCK)?-----"),
];

struct Shape {
    name: &'static str,
    /// A text without any of these, in whatever case, has no secret of the shape, which is quickly seen. In lower case.
    signs: &'static [&'static str],
    pattern: &'static str,
    is_real: fn(&Captures<'_>) -> bool,
}

/// The more a shape says, the earlier it stands: the first one names a secret that has several.
const SHAPES: [Shape; 22] = [
    Shape {
        name: "private key",
        signs: &["private key"],
        pattern: "-----BEGIN <KEY>\
                  (?:<BREAK>(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\\n\\\\]*)*\
                  (?:<BREAK>?[A-Za-z0-9+/=]{32,})+(?:<BREAK>[A-Za-z0-9+/=]+)?(?:<BREAK>?-----END <KEY>)?",
        is_real: |_| true,
    },
    // Its beginning was cut.
    Shape {
        name: "private key",
        signs: &["private key"],
        pattern: "(?:[A-Za-z0-9+/=]{32,}<BREAK>?)+(?:[A-Za-z0-9+/=]+<BREAK>?)?-----END <KEY>",
        is_real: |_| true,
    },
    Shape {
        name: "JSON Web Token",
        signs: &["eyj"],
        pattern: r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        is_real: mixed,
    },
    Shape {
        name: "Anthropic key",
        signs: &["sk-ant-"],
        pattern: "sk-ant-[A-Za-z0-9_-]{14,}",
        is_real: numbered,
    },
    Shape {
        name: "OpenAI key",
        signs: &["sk-"],
        pattern: "<START>(?P<secret>sk-[A-Za-z0-9_-]{20,})",
        is_real: |found| numbered(found) && (has_long_part(found) || chance(found)),
    },
    Shape {
        name: "OpenAI session",
        signs: &["sess-"],
        pattern: "<START>(?P<secret>sess-[A-Za-z0-9]{24,})",
        is_real: numbered,
    },
    Shape {
        name: "Google key",
        signs: &["aiza"],
        pattern: "<START>(?P<secret>AIza[A-Za-z0-9_-]{30,45})<END>",
        is_real: mixed,
    },
    Shape { name: "GitHub token", signs: &["gh"], pattern: "gh[pousr]_[A-Za-z0-9]{20,}", is_real: mixed },
    Shape {
        name: "GitHub token",
        signs: &["github_pat_"],
        pattern: "github_pat_[A-Za-z0-9_]{22,}",
        is_real: numbered,
    },
    Shape {
        name: "GitLab token",
        signs: &["gl"],
        pattern: "gl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{16,}",
        is_real: numbered,
    },
    Shape {
        name: "AWS key id",
        signs: &["ia"],
        pattern: "<START>(?P<secret>(?:AKIA|ASIA)[A-Z0-9]{16})<END>",
        is_real: numbered,
    },
    Shape {
        name: "AWS secret key",
        signs: &["secret"],
        pattern: "(?i)aws_?secret_?(?:access_?)?key<IS><QUOTE>(?P<secret>[a-z0-9/+]{24,}={0,2})",
        is_real: credentials,
    },
    Shape {
        name: "Slack token",
        signs: &["xox"],
        pattern: "xox[baprs]-[A-Za-z0-9-]{10,}",
        is_real: numbered,
    },
    Shape { name: "Stripe key", signs: &["k_live_"], pattern: "[sr]k_live_[A-Za-z0-9]{16,}", is_real: mixed },
    Shape { name: "npm token", signs: &["npm_"], pattern: "npm_[A-Za-z0-9]{24,}", is_real: mixed },
    Shape { name: "PyPI token", signs: &["pypi-"], pattern: "pypi-[A-Za-z0-9_-]{40,}", is_real: chance },
    Shape { name: "Hugging Face token", signs: &["hf_"], pattern: "hf_[A-Za-z0-9]{24,}", is_real: mixed },
    Shape {
        name: "credentials",
        signs: &["authorization"],
        pattern: "(?i)authorization<IS><QUOTE>(?:bearer|basic|token)[ \\t]{1,4}<CREDENTIALS>",
        is_real: credentials,
    },
    Shape {
        name: "credentials",
        signs: &["bearer"],
        pattern: r"(?i)bearer[ \t]{1,4}(?P<secret>[a-z0-9._~+/=-]{20,})",
        is_real: chance,
    },
    Shape {
        name: "credentials",
        signs: &["-key", "-token"],
        pattern: "(?i)(?:x-(?:[a-z]{1,10}-)?(?:api-key|auth-token)|private-token)<IS><QUOTE><CREDENTIALS>",
        is_real: credentials,
    },
    Shape {
        name: "password",
        signs: &["://"],
        pattern: r#"://[^\s/:@"'`\\<>]*:(?P<secret>[^\s/?\#"'`\\<>]+)@(?P<host>[A-Za-z0-9.-]+)"#,
        is_real: password,
    },
    Shape {
        name: "secret",
        signs: &["key", "token", "secret", "passw", "passphrase"],
        pattern: concat!(
            r#"(?i)(?P<user>://[a-z0-9_.-]{0,40})?<NAME>(?:[ \t]?:[ \t]?[&'a-z0-9_.<> ]{1,30})?<IS>"#,
            r#"(?:\\{0,3}["'`](?P<secret>[^\s"'`\\]{12,})"#,
            r#"|(?P<bare>[^\s"'`\\,;&(){}\[\]<>|=]{12,}={0,2})(?P<next>[({\[]?))"#,
        ),
        is_real: assigned,
    },
];

static COMPILED: [OnceLock<Regex>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];

static TELLING: LazyLock<Regex> =
    LazyLock::new(|| compile("(?i)(?:key|token|secret|passw(?:or)?d|passphrase|authorization)$"));

/// Every place that has the shape of a secret and is one, in no order.
pub(super) fn find(text: &str) -> Vec<ReplyRedactor> {
    let mut redacts = Vec::new();
    let lower = text.to_ascii_lowercase();
    let shows = |shape: &Shape| shape.signs.iter().any(|sign| lower.contains(sign));
    let possible = SHAPES.iter().enumerate().filter(|(_, shape)| shows(shape));
    for (number, shape) in possible {
        let pattern = COMPILED[number].get_or_init(|| compile(shape.pattern));
        let real = pattern.captures_iter(text).filter(|found| (shape.is_real)(found));
        let places = real.filter_map(|found| secret(&found).map(|secret| secret.range()));
        redacts.extend(places.map(|place| ReplyRedactor { place, secret: Secret::Shape(number) }));
    }
    redacts
}

/// What a shape is called.
pub(super) fn name(number: usize) -> &'static str {
    SHAPES[number].name
}

/// True for a key of an object whose value may be a secret by its key alone.
pub(super) fn is_telling(key: &str) -> bool {
    TELLING.is_match(key)
}

fn secret<'t>(found: &Captures<'t>) -> Option<Match<'t>> {
    found.name(QUOTED).or_else(|| found.name(BARE)).or_else(|| found.get(0))
}

fn text<'t>(found: &Captures<'t>) -> &'t str {
    secret(found).map_or("", |secret| secret.as_str())
}

/// More than words in one case, and more than one character repeated.
fn mixed(found: &Captures<'_>) -> bool {
    is_mixed(text(found))
}

/// The same, with a digit in it.
fn numbered(found: &Captures<'_>) -> bool {
    mixed(found) && digits(text(found)) > 0
}

/// What could as well be code must look drawn by lot.
fn chance(found: &Captures<'_>) -> bool {
    let text = text(found);
    is_mixed(text) && digits(text) >= CHANCE_DIGITS && turns(text) >= CHANCE_TURNS && !is_stand_in(text)
}

/// What stands where credentials are sent are credentials unless it reads like words.
fn credentials(found: &Captures<'_>) -> bool {
    let text = text(found);
    is_mixed(text) && turns(text) >= LITERAL_TURNS && !is_stand_in(text)
}

/// A value in quotes is a literal, and so is that of `NAME=`; other values may be code. The user of a URL is not a name.
fn assigned(found: &Captures<'_>) -> bool {
    let is_code = found.name("next").is_some_and(|next| !next.is_empty()) || is_number(text(found));
    if is_code || found.name("user").is_some() {
        return false;
    }
    let is_literal = found.name(QUOTED).is_some() || is_shell(found);
    if is_literal { credentials(found) && has_digit_or_sign(text(found)) } else { chance(found) }
}

/// `NAME=value`, as shells and their files have it.
fn is_shell(found: &Captures<'_>) -> bool {
    let name = &found["name"];
    !name.contains(|c: char| c.is_ascii_lowercase()) && found[0].contains(&format!("{name}={}", text(found)))
}

/// Not one that stands for any password, nor the tag of an image with a digest.
fn password(found: &Captures<'_>) -> bool {
    let password = text(found);
    let is_digest = ["sha256", "sha512"].contains(&&found["host"]);
    !is_digest && !NO_PASSWORDS.contains(&password.to_ascii_lowercase().as_str()) && !is_stand_in(password)
}

fn has_long_part(found: &Captures<'_>) -> bool {
    text(found).split(['-', '_']).any(|part| part.len() >= LONG_PART)
}

#[expect(clippy::expect_used, reason = "constants, all used in tests")]
fn compile(pattern: &str) -> Regex {
    let whole = PARTS.iter().fold(pattern.to_owned(), |whole, (name, part)| whole.replace(name, part));
    Regex::new(&whole).expect("a valid pattern")
}
