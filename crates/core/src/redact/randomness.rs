//! Whether a text looks random, as secrets do, or written by a person, as code and prose are.

/// Minimum number of distinct characters in a secret.
const MIN_DISTINCT: usize = 6;

/// Words that mark a placeholder for a secret.
const PLACEHOLDERS: [&str; 9] =
    ["your", "example", "placeholder", "changeme", "replace", "dummy", "fake", "todo", "here"];

/// Prefixes of expressions that refer to a secret without containing it.
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

/// Rate of switches between lower case, upper case, digits and symbols, per character. Words switch rarely,
/// random texts at 40% of positions or more. Separators are skipped, and a capital at the start of a word
/// does not count.
pub(super) fn switch_rate(text: &str) -> f64 {
    let classes: Vec<CharClass> = text.chars().filter_map(CharClass::of).collect();
    let is_switch =
        |pair: &&[CharClass]| pair[0] != pair[1] && **pair != [CharClass::Upper, CharClass::Lower];
    classes.windows(2).filter(is_switch).count() as f64 / classes.len().max(1) as f64
}

/// True if the text has a digit, a symbol or both cases, and is more than a few repeated characters.
pub(super) fn is_mixed(text: &str) -> bool {
    let has = |class| text.chars().any(|c| CharClass::of(c) == Some(class));
    distinct(text) >= MIN_DISTINCT
        && (has_digit_or_symbol(text) || has(CharClass::Lower) && has(CharClass::Upper))
}

pub(super) fn digits(text: &str) -> usize {
    text.chars().filter(char::is_ascii_digit).count()
}

/// True if the text is more than letters and separators.
pub(super) fn has_digit_or_symbol(text: &str) -> bool {
    text.chars().any(|c| matches!(CharClass::of(c), Some(CharClass::Digit | CharClass::Symbol)))
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
pub(super) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    distinct(text) == 1
        || text.starts_with(['<', '{'])
        || is_variable(text)
        || ["${", "{{", "#{", "$(", "[redacted"].iter().any(|part| text.contains(part))
        || EXPRESSIONS.iter().any(|expression| lower.starts_with(expression))
        || lower.starts_with("your")
        || words.any(|word| PLACEHOLDERS.contains(&word))
}

/// `$NAME`, `%NAME%`, `%s`; a percent-encoded character is not a variable.
fn is_variable(text: &str) -> bool {
    match text.as_bytes() {
        [b'$', first, ..] => first.is_ascii_alphabetic() || *first == b'_',
        [b'%', first, second, ..] => !(first.is_ascii_hexdigit() && second.is_ascii_hexdigit()),
        [b'%', ..] => true,
        _ => false,
    }
}

/// Number of distinct characters among the first 64.
fn distinct(text: &str) -> usize {
    let mut characters: Vec<char> = text.chars().take(64).collect();
    characters.sort_unstable();
    characters.dedup();
    characters.len()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Lower,
    Upper,
    Digit,
    Symbol,
}

impl CharClass {
    fn of(c: char) -> Option<Self> {
        match c {
            'a'..='z' => Some(Self::Lower),
            'A'..='Z' => Some(Self::Upper),
            '0'..='9' => Some(Self::Digit),
            '_' | '-' | '.' | '/' | ':' | '@' | '=' | ',' => None,
            _ => Some(Self::Symbol),
        }
    }
}
