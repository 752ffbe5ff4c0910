use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{FilledTemplate, TemplateError, TemplateProblem, is_name, parse};
use crate::variables::Variables;

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn filled(text: &str, pairs: &[(&str, &str)]) -> FilledTemplate {
    parse(text).expect("a prompt").fill(&variables(pairs))
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// 変数マッピング契約: variables["origin"] を受け取り、{uv-origin} を置換
#[test]
fn a_variable_is_filled_in_by_its_name_without_the_prefix() {
    let filled = filled(
        "From {uv-origin} to {uv-destination_2-b}.",
        &[("origin", "Tokyo"), ("destination_2-b", "Kyoto")],
    );
    assert_eq!(filled.text, "From Tokyo to Kyoto.");
    assert!(filled.missing.is_empty());
}

/// 変数マッピング契約: 変数が未定義 → 置換せずそのまま残す（エラーにしない）
#[test]
fn a_placeholder_without_a_value_stays_and_is_reported() {
    let filled = filled("{uv-a} {uv-b} {input_text} {uv-b}", &[("a", "1")]);
    assert_eq!(filled.text, "1 {uv-b} {input_text} {uv-b}");
    assert_eq!(filled.missing, names(&["b", "input_text"]));
}

#[test]
fn standard_input_is_a_variable_too() {
    let template = parse("Read this: {input_text}").expect("a prompt");
    assert_eq!(template.variables(), names(&["input_text"]));
    assert_eq!(template.fill(&variables(&[("input_text", "a text")])).text, "Read this: a text");
    assert_eq!(filled("{uv-input_text}", &[("input_text", "the same")]).text, "the same");
}

#[test]
fn every_other_brace_is_literal() {
    for text in [
        r#"{"verdict": "pass", "next": {"kind": "x"}}"#,
        "fn main() { let x = {}; }",
        "{{name}} ${HOME} {name} {uv} {uvx} {UV-name} { uv-name}",
        "{",
        "}",
        "{{{",
        "{input_text",
        "{input_texts}",
        "{% if %}",
    ] {
        assert_eq!(filled(text, &[("name", "wrong"), ("input_text", "wrong")]).text, text);
    }
    assert_eq!(filled("{{uv-name}}", &[("name", "x")]).text, "{x}");
    assert_eq!(filled("{{uv-a}:{uv-b}}", &[("a", "1"), ("b", "2")]).text, "{1:2}");
}

#[test]
fn placeholders_in_values_are_not_filled_in() {
    let filled =
        filled("{uv-a}", &[("a", "{uv-b} {input_text} {uv-"), ("b", "wrong"), ("input_text", "wrong")]);
    assert_eq!(filled.text, "{uv-b} {input_text} {uv-");
    assert!(filled.missing.is_empty());
    assert_eq!(self::filled("{uv-a}{uv-b}", &[("a", "{uv-"), ("b", "c}")]).text, "{uv-c}");
}

#[test]
fn front_matter_is_removed_and_the_text_is_trimmed() {
    for (text, expected) in [
        ("---\ntitle: {uv-\n---\n\nHello\n\n", "Hello"),
        ("---\r\ntitle: x\r\n---\r\nHello\r\n", "Hello"),
        ("---\n---\nHello", "Hello"),
        ("---  \na: b\n--- \nHello", "Hello"),
        ("\u{feff}---\na: b\n---\nHello", "Hello"),
        ("---\na: b\n---", ""),
        ("\n---\nHello\n---\n", "---\nHello\n---"),
        ("Hello\n---\nthere\n---", "Hello\n---\nthere\n---"),
        ("---- \nHello", "---- \nHello"),
        ("  Hello  ", "Hello"),
        ("", ""),
    ] {
        assert_eq!(filled(text, &[]).text, expected, "{text:?}");
    }
    assert_eq!(filled("{uv-a}", &[("a", "  x \n")]).text, "x");
}

/// PromptResolver: PromptParseError - テンプレート構文エラー
#[test]
fn a_syntax_error_is_reported_with_its_line_and_column() {
    for (text, line, column, wanted) in [
        ("Hello {uv-name\nand }", 1, 7, "not closed"),
        ("{uv-", 1, 1, "not closed"),
        ("a\nb {uv-}", 2, 3, "names no variable"),
        ("ü{uv-ü}", 1, 2, "`ü` is not a valid"),
        ("\u{feff}{uv-1}", 1, 1, "`1` is not a valid"),
        ("{uv- name}", 1, 1, "` name` is not a valid"),
        ("{uv-a{b}", 1, 1, "`a{b` is not a valid"),
        ("{uv-ok} {uv-no no}", 1, 9, "`no no` is not a valid"),
        ("---\ntitle: x\n---\n\n  {uv-x", 5, 3, "not closed"),
        ("---\ntitle: x\n", 1, 1, "not closed"),
        ("---", 1, 1, "not closed"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
        assert!(error.to_string().contains(wanted), "{text:?}: {error}");
    }
    let error = TemplateError { line: 3, column: 4, problem: TemplateProblem::NoName };
    assert!(error.to_string().starts_with("3:4: `{uv-}` names"), "{error}");
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), Just("{uv-a}".to_owned()), Just(String::new())]
}

proptest! {
    #[test]
    fn parsing_and_filling_never_panics(
        text in prop_oneof![any::<String>(), "[{}uvaż\n -]{0,30}", "(---\n)?[{uva}\n-]{0,20}(---\n)?"],
        a in value(),
    ) {
        if let Ok(template) = parse(&text) {
            let given = variables(&[("a", &a)]);
            let filled = template.fill(&given);
            prop_assert!(filled.text.len() <= template.size(&given));
        }
    }

    #[test]
    fn a_text_without_placeholders_is_unchanged(text in any::<String>()) {
        prop_assume!(!text.contains("{uv-") && !text.contains("{input_text}"));
        prop_assume!(!text.trim_start_matches('\u{feff}').starts_with("---"));
        let template = parse(&text).expect("a prompt");
        prop_assert!(template.variables().is_empty());
        let expected = text.trim_start_matches('\u{feff}').trim();
        prop_assert_eq!(template.fill(&Variables::new()).text, expected);
    }

    #[test]
    fn no_placeholder_with_a_value_remains(
        parts in prop::collection::vec(("[a-z{}\" \n]{0,8}", "[A-Za-z_][A-Za-z0-9_-]{0,6}"), 0..8),
        value in "[0-9 ]{0,5}",
    ) {
        let text: String = parts.iter().map(|(text, name)| format!("{text}{{uv-{name}}}")).collect();
        let template = parse(&text).expect("a prompt");
        let given: Variables = template.variables().into_iter().map(|name| (name, value.clone())).collect();
        prop_assert_eq!(given.len(), parts.iter().map(|(_, name)| name).collect::<BTreeSet<_>>().len());
        let filled = template.fill(&given);
        prop_assert!(filled.missing.is_empty());
        prop_assert!(!filled.text.contains("{uv-"), "{}", filled.text);
    }

    #[test]
    fn a_valid_name_can_be_used_in_a_placeholder(name in any::<String>()) {
        let text = format!("{{uv-{name}}}");
        if is_name(&name) {
            let template = parse(&text).expect("a prompt");
            prop_assert_eq!(template.variables(), names(&[&name]));
        }
    }
}
