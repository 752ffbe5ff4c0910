//! Text in a shell between `$'` and `'`, in which any character can be written as an escape: `$'tools/\x78'` is `tools/x`.

/// The line with such text as the shell has it.
pub(crate) fn with_escapes_decoded(line: &str) -> String {
    let mut decoded = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("$'") {
        decoded.push_str(before);
        decoded.push('\'');
        rest = decode(after, &mut decoded);
        decoded.push('\'');
    }
    decoded.push_str(rest);
    decoded
}

/// Adds the text up to the closing quote. Returns what comes behind that.
fn decode<'t>(text: &'t str, decoded: &mut String) -> &'t str {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\'' => return rest,
            '\\' => rest = decode_escape(rest, decoded),
            c => decoded.push(c),
        }
    }
    rest
}

/// Adds the character of which the escape behind a backslash speaks. Returns what comes behind it.
fn decode_escape<'t>(text: &'t str, decoded: &mut String) -> &'t str {
    let Some(kind) = text.chars().next() else { return text };
    let after = &text[kind.len_utf8()..];
    let (digits, radix, most) = match kind {
        'x' => (after, 16, 2),
        'u' => (after, 16, 4),
        'U' => (after, 16, 8),
        '0'..='7' => (text, 8, 3),
        _ => {
            decoded.push(match kind {
                'a' | 'b' | 'e' | 'E' | 'f' | 'n' | 'r' | 't' | 'v' => ' ',
                other => other,
            });
            return after;
        }
    };
    let length = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    let character = u32::from_str_radix(&digits[..length], radix).ok().and_then(char::from_u32);
    decoded.extend(character);
    &digits[length..]
}

#[cfg(test)]
mod tests {
    use super::with_escapes_decoded;

    #[test]
    fn escapes_are_those_of_a_shell() {
        for (line, expected) in [
            ("sh $'tools/\\x78'", "sh 'tools/x'"),
            ("bash -c $'. tl/\\x78' a $'\\164\\u006f\\U0000006fls'", "bash -c '. tl/x' a 'tools'"),
            ("a $'it\\'s\\n\\\\b' c'd'", "a 'it's \\b' c'd'"),
            ("a $'open\\", "a 'open'"),
            ("a \\x78 '$x'", "a \\x78 '$x'"),
            ("$'\\xé\\78'", "'é\u{7}8'"),
        ] {
            assert_eq!(with_escapes_decoded(line), expected, "{line}");
        }
    }
}
