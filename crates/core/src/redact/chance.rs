//! Chance: whether a text looks drawn by lot, as secrets are, or written by a person, as code and prose are.

/// Different characters that a secret has at least.
const LEAST_DIFFERENT: usize = 6;

/// What stands in the place of a secret where a person explains something.
const STAND_INS: [&str; 9] =
    ["your", "example", "placeholder", "changeme", "replace", "dummy", "fake", "todo", "here"];

/// How expressions begin that name a secret and are none.
const EXPRESSIONS: [&str; 10] = [
    "process.env",
    "import.meta",
    "os.environ",
    "os.getenv",
    "env.",
    "secrets.",
    "config.",
    "settings.",
    "self.",
    "this.",
];

/// How often lower case, upper case, digits and signs take turns, as a share of all. Words change rarely, random texts
/// at two of five places or more. What joins words is left out, and a capital begins a word.
pub(super) fn turns(text: &str) -> f64 {
    let kinds: Vec<Kind> = text.chars().filter_map(Kind::of).collect();
    let is_turn = |pair: &&[Kind]| pair[0] != pair[1] && **pair != [Kind::Upper, Kind::Lower];
    kinds.windows(2).filter(is_turn).count() as f64 / kinds.len().max(1) as f64
}

/// True when the text has a digit, a sign or both cases, and is more than a few characters repeated.
pub(super) fn is_mixed(text: &str) -> bool {
    let has = |kind| text.chars().any(|c| Kind::of(c) == Some(kind));
    different(text) >= LEAST_DIFFERENT && (has_digit_or_sign(text) || has(Kind::Lower) && has(Kind::Upper))
}

/// How many digits there are.
pub(super) fn digits(text: &str) -> usize {
    text.chars().filter(char::is_ascii_digit).count()
}

/// True when the text is not all letters and what joins them.
pub(super) fn has_digit_or_sign(text: &str) -> bool {
    text.chars().any(|c| matches!(Kind::of(c), Some(Kind::Digit | Kind::Sign)))
}

/// True for `0x80090344u32`, `-2147483648i64` and their like.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches('-').to_ascii_lowercase();
    let digits = digits.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['u', 'i', 'l', 'n']);
    match digits.strip_prefix("0x") {
        Some(digits) => digits.chars().all(|c| c.is_ascii_hexdigit()),
        None => digits.chars().all(|c| c.is_ascii_digit() || c == '_'),
    }
}

/// True for `$VAR`, `${…}`, `<token>`, `your-key-here`, `xxxxxxxx`, `process.env.X` and their like.
pub(super) fn is_stand_in(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    different(text) == 1
        || text.starts_with(['<', '{'])
        || is_variable(text)
        || ["${", "{{", "#{", "$(", "[redacted"].iter().any(|part| text.contains(part))
        || EXPRESSIONS.iter().any(|expression| lower.starts_with(expression))
        || lower.starts_with("your")
        || words.any(|word| STAND_INS.contains(&word))
}

/// `$NAME`, `%NAME%`, `%s`: a percent sign that encodes a character is none.
fn is_variable(text: &str) -> bool {
    match text.as_bytes() {
        [b'$', first, ..] => first.is_ascii_alphabetic() || *first == b'_',
        [b'%', first, second, ..] => !(first.is_ascii_hexdigit() && second.is_ascii_hexdigit()),
        [b'%', ..] => true,
        _ => false,
    }
}

/// How many different characters a text begins with.
fn different(text: &str) -> usize {
    let mut seen: Vec<char> = text.chars().take(64).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Sign,
}

impl Kind {
    fn of(c: char) -> Option<Self> {
        match c {
            'a'..='z' => Some(Self::Lower),
            'A'..='Z' => Some(Self::Upper),
            '0'..='9' => Some(Self::Digit),
            '_' | '-' | '.' | '/' | ':' | '@' | '=' | ',' => None,
            _ => Some(Self::Sign),
        }
    }
}
