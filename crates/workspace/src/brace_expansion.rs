//! What a shell makes of braces in a word: `tools/x{1,2}.sh` is two files.

/// The most words that one word may become. More are taken for a name that is computed.
const MAX_WORDS: usize = 64;

/// The line with the words that braces in it stand for, as a shell has them.
pub(crate) fn with_braces_expanded(line: &str) -> String {
    if !line.contains('{') {
        return line.to_owned();
    }
    let is_between = |c: char| c.is_whitespace() || "\"'`;|&()<>=".contains(c);
    let mut expanded = String::with_capacity(line.len());
    for piece in line.split_inclusive(is_between) {
        let word = piece.trim_end_matches(is_between);
        match words_of(word) {
            Some(words) if words.len() <= MAX_WORDS => expanded.push_str(&words.join(" ")),
            Some(_) => {
                let literal = word.split('{').next().unwrap_or_default();
                expanded.push_str(&format!("{literal}$"));
            }
            None => expanded.push_str(word),
        }
        expanded.push_str(&piece[word.len()..]);
    }
    expanded
}

/// The words that a word stands for, a few more than [`MAX_WORDS`] at most; `None` if it has no braces that a shell expands.
fn words_of(word: &str) -> Option<Vec<String>> {
    let mut from = 0;
    loop {
        let open = from + word[from..].find('{')?;
        let alternatives = (!word[..open].ends_with('$')).then(|| alternatives_at(word, open)).flatten();
        let Some((alternatives, end)) = alternatives else {
            from = open + 1;
            continue;
        };
        let mut found = Vec::new();
        for alternative in alternatives {
            let rest = format!("{alternative}{}", &word[end..]);
            let rests = words_of(&rest).unwrap_or_else(|| vec![rest]);
            found.extend(rests.into_iter().map(|rest| format!("{}{rest}", &word[..open])));
            if found.len() > MAX_WORDS {
                break;
            }
        }
        return Some(found);
    }
}

/// What stands between the braces that open there, and where what follows them begins. `None` if they are no list and no range, or do not close.
fn alternatives_at(word: &str, open: usize) -> Option<(Vec<String>, usize)> {
    let mut depth = 0_usize;
    let mut start = open + 1;
    let mut found = Vec::new();
    for (at, c) in word[open..].char_indices().map(|(at, c)| (open + at, c)) {
        match c {
            '{' => depth += 1,
            ',' if depth == 1 => {
                found.push(word[start..at].to_owned());
                start = at + 1;
            }
            '}' if depth == 1 => {
                let last = &word[start..at];
                let found = match found.is_empty() {
                    true => range(last)?,
                    false => found.into_iter().chain([last.to_owned()]).collect(),
                };
                return Some((found, at + 1));
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The words of a range such as `1..3` or `a..c`.
fn range(text: &str) -> Option<Vec<String>> {
    let (first, last) = text.split_once("..")?;
    let single = |text: &str| text.parse::<char>().ok().filter(char::is_ascii_alphabetic);
    let up_or_down = |first: i64, last: i64| -> Vec<i64> {
        let length = first.abs_diff(last).min(MAX_WORDS as u64) as i64;
        (0..=length).map(|step| if first <= last { first + step } else { first - step }).collect()
    };
    if let (Some(first), Some(last)) = (single(first), single(last)) {
        let codes = up_or_down(i64::from(u32::from(first)), i64::from(u32::from(last)));
        return Some(
            codes.into_iter().filter_map(|code| Some(char::from(u8::try_from(code).ok()?).into())).collect(),
        );
    }
    // A step only leaves out some of them.
    let last = last.split_once("..").map_or(last, |(last, _)| last);
    let width = |text: &str| if text.starts_with('0') { text.len() } else { 1 };
    let width = width(first).max(width(last));
    let numbers = up_or_down(first.parse().ok()?, last.parse().ok()?);
    Some(numbers.into_iter().map(|number| format!("{number:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{MAX_WORDS, with_braces_expanded};

    #[test]
    fn words_are_those_of_a_shell() {
        for (line, expected) in [
            ("sh tools/x{1,2}.sh", "sh tools/x1.sh tools/x2.sh"),
            ("sh \"$T\"/{a,b}; c", "sh \"$T\"/a /b; c"),
            ("!bash -c 'sh tl/x{,1}'", "!bash -c 'sh tl/x tl/x1'"),
            ("{a,b{1,2}}{x,y}", "ax ay b1x b1y b2x b2y"),
            ("x{1..3} {c..a} {08..10} {1..9..4}", "x1 x2 x3 c b a 08 09 10 1 2 3 4 5 6 7 8 9"),
            ("${a,b} {a} {} { a; } {a,b x} f() { y; }", "${a,b} {a} {} { a; } {a,b x} f() { y; }"),
            ("$x{1,2} ${y}{1,2}", "$x1 $x2 ${y}1 ${y}2"),
            ("sh tools/x{1..1000}.sh", "sh tools/x$"),
        ] {
            assert_eq!(with_braces_expanded(line), expected, "{line}");
        }
        let many = with_braces_expanded(&"{a,b}".repeat(100));
        assert!(many.len() <= 2 * MAX_WORDS, "{}", many.len());
    }
}
