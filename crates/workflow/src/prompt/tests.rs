use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{MAX_PROMPT_BYTES, PromptResolver, paths_of};
use crate::definition::{AgentDefinition, PromptRef};
use crate::faults;
use crate::variables::Variables;

fn resolver(agent: &Value, files: &[(&str, &str)]) -> PromptResolver {
    let mut whole = json!({"version": "1.0.0", "name": "a", "description": "It is for tests."});
    for (name, value) in agent.as_object().expect("an object") {
        whole[name] = value.clone();
    }
    PromptResolver::new(&AgentDefinition {
        directory: PathBuf::from("/agents/a"),
        agent: serde_json::from_value(whole).expect("an agent"),
        steps: serde_json::from_value(json!({"version": "1.0.0", "entryStep": "a", "steps": {}}))
            .expect("steps"),
        files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect(),
    })
}

fn reference(value: Value) -> PromptRef {
    serde_json::from_value(value).expect("a reference")
}

fn given(name: &str, value: impl Into<String>) -> Variables {
    BTreeMap::from([(name.to_owned(), value.into())])
}

/// PromptResolver: resolve(ref, variables)
#[test]
fn a_prompt_is_found_by_its_path_and_filled() {
    let resolver =
        resolver(&json!({}), &[("prompts/steps/plan.md", "---\nx: y\n---\nPlan {uv-what} by {uv-when}.\n")]);
    let resolved = resolver.resolve(&reference(json!("steps/plan.md")), &given("what", "it")).expect("found");
    assert_eq!(resolved.text, "Plan it by {uv-when}.");
    assert_eq!(resolved.path, "prompts/steps/plan.md");
    assert_eq!(resolved.missing.into_iter().collect::<Vec<_>>(), ["when"]);
}

#[test]
fn a_reference_has_candidate_paths_in_order() {
    for (value, expected) in [
        (json!("a.md"), vec!["a.md"]),
        (json!({"path": "a.md"}), vec!["a.md"]),
        (json!({"path": "a.md", "fallback": "b.md"}), vec!["a.md", "b.md"]),
        (json!({"c1": "steps", "c2": "initial", "c3": "issue"}), vec!["steps/initial/issue/f_default.md"]),
        (
            json!({"c1": "s", "c2": "i", "c3": "t", "edition": "e", "adaptation": "a", "fallback": "b.md"}),
            vec!["s/i/t/f_e_a.md", "s/i/t/f_e.md", "b.md"],
        ),
    ] {
        assert_eq!(paths_of(&reference(value)), expected);
    }
}

#[test]
fn the_first_existing_candidate_is_used() {
    let c3l = reference(json!({"c1": "s", "c2": "i", "c3": "t", "adaptation": "a", "fallback": "b.md"}));
    let mut files = vec![("prompts/b.md", "the fallback")];
    let found = |files: &[(&str, &str)]| {
        resolver(&json!({}), files).resolve(&c3l, &Variables::new()).expect("found").text
    };
    assert_eq!(found(&files), "the fallback");
    files.push(("prompts/s/i/t/f_default.md", "the edition"));
    assert_eq!(found(&files), "the edition");
    files.push(("prompts/s/i/t/f_default_a.md", "the adaptation"));
    assert_eq!(found(&files), "the adaptation");
}

/// PromptResolver: 返り値は空文字でない（見つからない場合はエラー）
#[test]
fn a_missing_prompt_is_an_error_that_names_all_candidates() {
    let resolver = resolver(&json!({}), &[("a.md", "not a prompt"), ("promptsa.md", "not one either")]);
    let fault = resolver
        .resolve(&reference(json!({"path": "a.md", "fallback": "b/c.md"})), &Variables::new())
        .expect_err("missing");
    assert_eq!(fault.code, faults::PROMPT_NOT_FOUND.code);
    assert!(
        fault.message.contains("`prompts/a.md`") && fault.message.contains("`prompts/b/c.md`"),
        "{fault}"
    );
    assert!(fault.hint.is_some());
}

/// PromptResolver: 返り値は空文字でない（見つからない場合はエラー）
#[test]
fn an_empty_prompt_is_an_error() {
    let resolver =
        resolver(&json!({}), &[("prompts/a.md", "---\nx: y\n---\n \n"), ("prompts/b.md", "{uv-x}\n")]);
    for (path, variables) in [("a.md", Variables::new()), ("b.md", given("x", " \n"))] {
        let fault = resolver.resolve(&reference(json!(path)), &variables).expect_err("empty");
        assert_eq!(fault.code, faults::PROMPT_NOT_FOUND.code);
        assert!(fault.message.contains(path) && fault.message.contains("empty"), "{fault}");
    }
}

#[test]
fn references_outside_of_the_prompts_directory_are_refused() {
    let files = [("prompts/a.md", "a"), ("prompts/../agent.json", "secret"), ("prompts//a.md", "a")];
    let resolver = resolver(&json!({}), &files);
    for path in [
        "",
        "/a.md",
        "../agent.json",
        "b/../a.md",
        "./a.md",
        "b//a.md",
        "/",
        "a.md/",
        "b\\a.md",
        "a\0.md",
        "..",
    ] {
        for value in [
            json!(path),
            json!({"path": path}),
            json!({"path": "a.md", "fallback": path}),
            json!({"c1": path, "c2": "i", "c3": "t"}),
            json!({"c1": "s", "c2": "i", "c3": "t", "fallback": path}),
        ] {
            let fault = resolver.resolve(&reference(value.clone()), &Variables::new()).expect_err(path);
            assert_eq!(fault.code, faults::PROMPT_NOT_FOUND.code);
            assert!(fault.message.contains("is invalid"), "{value}: {fault}");
        }
    }
    for part in ["c1", "c2", "c3", "edition", "adaptation"] {
        let mut value = json!({"c1": "s", "c2": "i", "c3": "t", "fallback": "a.md"});
        value[part] = json!("a/b");
        assert!(resolver.resolve(&reference(value), &Variables::new()).is_err(), "{part}");
    }
}

/// PromptResolver: PromptParseError - テンプレート構文エラー
#[test]
fn a_syntax_error_is_reported_with_its_position() {
    let resolver = resolver(&json!({}), &[("prompts/a.md", "---\n---\nHello {uv-\n")]);
    let fault = resolver.resolve(&reference(json!("a.md")), &Variables::new()).expect_err("not closed");
    assert_eq!(fault.code, faults::PROMPT_PARSE.code);
    assert!(fault.message.starts_with("prompts/a.md:3:7: "), "{fault}");
}

#[test]
fn a_strict_agent_needs_a_value_for_every_variable_and_the_hint_says_how_to_set_it() {
    let agent = json!({"strict": true, "parameters": {"p": {"type": "string"}}, "environment": ["E"]});
    let resolver = resolver(&agent, &[("prompts/a.md", "{uv-p} {uv-E} {input_text} {uv-other}")]);
    let fault = resolver.resolve(&reference(json!("a.md")), &Variables::new()).expect_err("missing");
    assert_eq!(fault.code, faults::PROMPT_VARIABLE.code);
    for name in ["`p`", "`E`", "`input_text`", "`other`", "prompts/a.md"] {
        assert!(fault.message.contains(name), "{fault}");
    }
    let hint = fault.hint.expect("a hint");
    for part in ["--arg p=VALUE", "environment variable E", "`stdin`", "`other` under `parameters`"] {
        assert!(hint.contains(part), "{hint}");
    }
    let all = ["p", "E", "input_text", "other"].map(|name| (name.to_owned(), "x".to_owned()));
    assert_eq!(resolver.resolve(&reference(json!("a.md")), &all.into()).expect("all given").text, "x x x x");
}

#[test]
fn a_prompt_that_is_too_long_is_refused_before_it_is_filled_in() {
    let many = "{uv-x}".repeat(10_000);
    let resolver = resolver(&json!({}), &[("prompts/a.md", &many), ("prompts/b.md", "{uv-x}")]);
    let long = given("x", "y".repeat(MAX_PROMPT_BYTES));
    let fault = resolver.resolve(&reference(json!("a.md")), &long).expect_err("too long");
    assert_eq!(fault.code, faults::PROMPT_PARSE.code);
    assert!(fault.message.contains("10485760000 bytes") && fault.message.contains("1048576"), "{fault}");
    assert!(resolver.resolve(&reference(json!("b.md")), &long).is_ok());
}

/// PromptResolver: resolveSystem(): 返り値は空文字でない
#[test]
fn the_system_prompt_is_the_configured_one_or_system_md_or_the_built_in_one() {
    let files = [("prompts/system.md", "the usual {uv-x}"), ("prompts/own.md", "the named")];
    let system =
        |agent: &Value, files: &[(&str, &str)]| resolver(agent, files).resolve_system(&given("x", "one"));
    assert_eq!(system(&json!({"systemPrompt": "own.md"}), &files).expect("found").text, "the named");
    assert_eq!(system(&json!({}), &files).expect("found").text, "the usual one");
    let ours = system(&json!({"strict": true}), &[]).expect("ours");
    assert!(ours.text.contains("unattended") && ours.path == "(built in)", "{}", ours.text);
    let fault = system(&json!({"systemPrompt": "no.md"}), &files).expect_err("missing");
    assert!(fault.message.contains("prompts/no.md"), "{fault}");
    assert!(system(&json!({}), &[("prompts/system.md", " ")]).is_err());
}
