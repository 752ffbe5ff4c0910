//! Reading an agent's directory, and the faults if that fails.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{FILES_LIMIT, JSON_BYTES_LIMIT, PROMPT_BYTES_LIMIT, find, list};
use crate::faults::{
    CONFIGURATION_NOT_FOUND, CONFIGURATION_PARSE, CONFIGURATION_VALIDATION, ErrorClass, PROMPT_PARSE,
};
use crate::inspect::load;

const AGENT: &str = r#"{ "version": "1.0.0", "name": "fix", "description": "Fixes." }"#;
const STEPS: &str =
    r#"{ "version": "1.0.0", "entryStep": "fix", "steps": { "fix": { "prompt": "fix.md" } } }"#;

fn agents() -> (TempDir, PathBuf) {
    let agents = TempDir::new().unwrap();
    let fix = agents.path().join("fix");
    write(&fix, "agent.json", AGENT);
    write(&fix, "steps.json", STEPS);
    write(&fix, "prompts/fix.md", "Fix it.\n");
    (agents, fix)
}

fn write(directory: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = directory.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[track_caller]
fn assert_fault(directory: &Path, class: ErrorClass, parts: &[&str]) {
    let fault = load(directory).expect_err("a fault");
    assert_eq!(fault.code, class.code, "{fault}");
    for part in parts {
        assert!(fault.message.contains(part), "{part} is not in: {fault}");
    }
    assert!(fault.hint.is_some(), "{fault} has no hint");
}

/// ConfigurationLoader: load
#[test]
fn the_two_files_prompts_and_programs_are_read() {
    let (_agents, fix) = agents();
    write(&fix, "bin/done", "#!/bin/sh\n");
    write(&fix, "picture.png", [0xff, 0xd8]);
    write(&fix, ".hidden", "x");
    let definition = load(&fix).unwrap();
    let files: Vec<&str> = definition.files.keys().map(String::as_str).collect();
    assert_eq!(files, ["agent.json", "bin/done", "prompts/fix.md", "steps.json"]);
    assert_eq!((definition.name(), definition.steps.entry_step.as_str()), ("fix", "fix"));
    assert_eq!(load(&fix).unwrap(), definition, "the same files are the same definition");
}

/// ConfigurationLoader: @throws ConfigurationNotFoundError - agent.json が存在しない
#[test]
fn an_agent_with_a_missing_file_is_not_found() {
    for name in ["agent.json", "steps.json"] {
        let (_agents, fix) = agents();
        fs::remove_file(fix.join(name)).unwrap();
        assert_fault(&fix, CONFIGURATION_NOT_FOUND, &[name]);
    }
    let (agents, _) = agents();
    let missing = agents.path().join("missing");
    assert_fault(&missing, CONFIGURATION_NOT_FOUND, &["missing"]);
    let hint = load(&missing).unwrap_err().hint.unwrap();
    assert!(hint.contains("Available agents: fix.") && hint.contains("autonoe agent init NAME"), "{hint}");
}

/// ConfigurationLoader: @throws ConfigurationParseError - JSON パースエラー
#[test]
fn malformed_json_is_reported_with_its_position() {
    let (_agents, fix) = agents();
    write(&fix, "agent.json", "{\n  \"version\": \"1.0.0\",\n  \"name\" \"fix\"\n}");
    assert_fault(&fix, CONFIGURATION_PARSE, &["agent.json, line 3: it is not JSON", "column 10"]);
    write(&fix, "agent.json", "{");
    assert_fault(&fix, CONFIGURATION_PARSE, &["it is not JSON", "EOF"]);
    write(&fix, "agent.json", format!("{AGENT} x"));
    assert_fault(&fix, CONFIGURATION_PARSE, &["is not JSON", "trailing"]);
}

#[test]
fn a_value_of_the_wrong_shape_is_reported_with_its_path_and_the_expected_value() {
    let step =
        |step: &str| format!(r#"{{ "version": "1.0.0", "entryStep": "fix", "steps": {{ "fix": {step} }} }}"#);
    for (text, words) in [
        (
            step(r#"{ "prompt": 1 }"#),
            vec!["$.steps.fix.prompt (1)", "a string, or an object with `path`, or", "`c1`, `c2` and `c3`"],
        ),
        (
            step(r#"{ "prompt": { "path": "a", "falback": "b" } }"#),
            vec!["$.steps.fix.prompt.falback", "unknown field `falback`", "Did you mean `fallback`?"],
        ),
        (step(r#"{ "prompt": { "c1": "a", "c2": "b" } }"#), vec!["$.steps.fix.prompt", "missing field `c3`"]),
        (
            step(r#"{ "promt": "a" }"#),
            vec!["$.steps.fix.promt", "unknown field `promt`", "Did you mean `prompt`?"],
        ),
        (
            step(r#"{ "check": { "type": "keyword", "keywords": ["a"], "onFail": { "retry": 3 } } }"#),
            vec!["$.steps.fix.check.onFail.retry (3):", "true or false", "`maxRetries`"],
        ),
        (
            step(
                r#"{ "check": { "type": "keyword", "keywords": ["a"], "onFail": { "retry": { "maxRetries": "x" } } } }"#,
            ),
            vec!["$.steps.fix.check.onFail.retry.maxRetries (\"x\"):", "a whole number from 0 to 1000"],
        ),
        (
            step(r#"{ "check": { "type": "keyword", "keywords": ["a"], "onPass": { "nxt": "a" } } }"#),
            vec!["$.steps.fix.check.onPass.nxt", "unknown field `nxt`", "`next`"],
        ),
        (
            step(r#"{ "check": { "type": "oracle" } }"#),
            vec!["$.steps.fix.check.type (\"oracle\")", "one of `prompt`, `action`, `keyword`"],
        ),
        (
            step(r#"{ "check": { "type": "prompt", "prompt": 7 } }"#),
            vec!["$.steps.fix.check.prompt (7)", "a string"],
        ),
        (
            step(r#"{ "type": "sub" }"#),
            vec!["line 1, $.steps.fix.type (\"sub\")", "one of `normal`, `gateway`, `subStep`"],
        ),
    ] {
        let (_agents, fix) = agents();
        write(&fix, "steps.json", &text);
        assert_fault(&fix, CONFIGURATION_PARSE, &words);
    }
}

#[test]
fn a_part_of_a_composite_is_reported_with_its_index() {
    for (completion, words) in [
        (
            r#"{ "type": "composite", "mode": "any", "conditions": [{ "type": "stepMachine" }, { "type": "checkBudget" }] }"#,
            vec!["$.completion.conditions[1]", "missing field `maxChecks`"],
        ),
        (
            r#"{ "type": "externalState", "resource": { "type": "file" } }"#,
            vec!["$.completion.resource", "missing field `path`"],
        ),
        (r#"{ "type": "iterationBudget" }"#, vec!["$.completion", "missing field `maxIterations`"]),
    ] {
        let (_agents, fix) = agents();
        let text = AGENT.replace("\"Fixes.\"", &format!("\"Fixes.\", \"completion\": {completion}"));
        write(&fix, "agent.json", text);
        assert_fault(&fix, CONFIGURATION_PARSE, &words);
    }
}

#[test]
fn a_step_that_is_defined_twice_is_an_error() {
    let (_agents, fix) = agents();
    write(&fix, "steps.json", STEPS.replace("} } }", "}, \"fix\": { \"prompt\": \"b.md\" } } }"));
    assert_fault(&fix, CONFIGURATION_PARSE, &["line 1, $.steps.fix: duplicate field `fix`"]);
}

#[test]
fn invalid_utf_8_is_reported_with_its_position() {
    let (_agents, fix) = agents();
    write(&fix, "prompts/fix.md", b"Fix\nit \xff now");
    assert_fault(&fix, PROMPT_PARSE, &["prompts/fix.md", "offset 7", "line 2, column 4"]);
    write(&fix, "prompts/fix.md", "Fix it.");
    write(&fix, "notes.md", b"\xff");
    assert_fault(&fix, CONFIGURATION_PARSE, &["notes.md", "offset 0"]);
}

#[test]
fn a_file_that_is_too_large_is_reported_with_its_size_and_the_limit() {
    let (_agents, fix) = agents();
    write(&fix, "prompts/fix.md", "x".repeat(PROMPT_BYTES_LIMIT as usize));
    load(&fix).expect("just small enough");
    write(&fix, "prompts/fix.md", "x".repeat(PROMPT_BYTES_LIMIT as usize + 5));
    assert_fault(&fix, PROMPT_PARSE, &["prompts/fix.md", "262149 bytes", "262144"]);
    write(&fix, "prompts/fix.md", "Fix it.");
    write(&fix, "other.json", " ".repeat(JSON_BYTES_LIMIT as usize + 1));
    assert_fault(&fix, CONFIGURATION_PARSE, &["other.json", "1048577 bytes", "1048576"]);
}

#[test]
fn the_number_of_files_and_their_total_size_are_limited() {
    let (_agents, fix) = agents();
    for number in 0..40 {
        write(&fix, &format!("prompts/{number}.md"), "x".repeat(PROMPT_BYTES_LIMIT as usize));
    }
    assert_fault(&fix, CONFIGURATION_PARSE, &["8388608 bytes in total", "prompts/"]);
    let (_agents, fix) = agents();
    for number in 0..FILES_LIMIT {
        write(&fix, &format!("prompts/{number}.md"), "x");
    }
    assert_fault(&fix, CONFIGURATION_PARSE, &["more than 500 files"]);
}

#[cfg(unix)]
#[test]
fn no_symbolic_link_is_followed() {
    let (agents, fix) = agents();
    let secret = agents.path().join("secret");
    fs::write(&secret, "x").unwrap();
    std::os::unix::fs::symlink(&secret, fix.join("prompts/secret.md")).unwrap();
    assert_fault(&fix, CONFIGURATION_PARSE, &["prompts/secret.md: it is a symbolic link"]);
    fs::remove_file(fix.join("prompts/secret.md")).unwrap();
    let link = agents.path().join("link");
    std::os::unix::fs::symlink(&fix, &link).unwrap();
    assert_fault(&link, CONFIGURATION_PARSE, &["link is a symbolic link"]);
}

#[cfg(unix)]
#[test]
fn special_files_are_not_opened() {
    let (_agents, fix) = agents();
    let _socket = std::os::unix::net::UnixListener::bind(fix.join("socket")).unwrap();
    assert_fault(&fix, CONFIGURATION_PARSE, &["socket: it is neither a file nor a directory"]);
}

#[test]
fn an_agent_is_found_by_its_name_only() {
    let (agents, fix) = agents();
    assert_eq!(find(agents.path(), "fix").unwrap(), fix);
    for name in ["../fix", "fix/", ".", "Fix", "", "fi"] {
        let fault = find(agents.path(), name).expect_err(name);
        assert_eq!(fault.code, CONFIGURATION_NOT_FOUND.code, "{name}");
    }
}

#[test]
fn agents_are_listed_in_order_and_a_missing_directory_is_empty() {
    let (agents, fix) = agents();
    write(agents.path(), "build/agent.json", AGENT.replace("fix", "build"));
    write(agents.path(), "notes/readme.md", "x");
    assert_eq!(list(agents.path()).unwrap(), [agents.path().join("build"), fix]);
    assert!(list(&agents.path().join("nowhere")).unwrap().is_empty());
}

#[test]
fn a_name_used_by_two_agents_is_an_error_that_names_both() {
    let (agents, _) = agents();
    write(agents.path(), "copy/agent.json", AGENT);
    let fault = find(agents.path(), "fix").unwrap_err();
    assert_eq!(fault.code, CONFIGURATION_VALIDATION.code);
    let both =
        format!("{} and {}", agents.path().join("copy").display(), agents.path().join("fix").display());
    assert!(fault.message.contains(&both), "{fault}");
}
