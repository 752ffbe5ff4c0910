//! Layer -1: Configuration, and Layer 4: Prompt, through the public interface.

use autonoe_workflow::definition::{C3lPrompt, PromptFile, PromptRef};
use autonoe_workflow::{PromptResolver, Variables, load, validate};
use serde_json::json;

use crate::run_fixture::definition;

fn prompts(files: &[(&str, &str)], agent: serde_json::Value) -> (tempfile::TempDir, PromptResolver) {
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let (dir, definition) = definition(agent, steps, files);
    let resolver = PromptResolver::new(&definition);
    (dir, resolver)
}

fn at(path: &str) -> PromptRef {
    PromptRef::Path(path.to_owned())
}

/// ConfigurationLoader: `@pre agentPath は存在するディレクトリ`
#[test]
fn a_missing_directory_or_a_file_is_not_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = load(&dir.path().join("nowhere")).unwrap_err();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    let file = load(&dir.path().join("file")).unwrap_err();
    assert_eq!(
        (nowhere.code.as_str(), file.code.as_str()),
        ("configuration_not_found", "configuration_not_found")
    );
}

/// ConfigurationLoader: `@post 返り値の definition は valid`, `validate: @pre definition は load() の戻り値`, `@post valid=true なら errors.length === 0`, `@side-effect none (Query)`
#[test]
fn a_loaded_definition_is_valid_and_validation_changes_nothing() {
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let (_dir, good) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let before = good.clone();
    let result = validate(&good);
    assert!(result.valid() && result.errors.is_empty());
    assert_eq!((&good, &validate(&good).errors), (&before, &result.errors), "validation is deterministic");
    assert_eq!(load(&good.directory).unwrap(), good, "so is loading");
    let (_dir, bad) = definition(json!({}), json!({ "steps": {} }), &[]);
    assert!(!validate(&bad).valid());
}

/// ステップ遷移契約: `next で指定されたステップは registry.steps に存在すること`, `存在しない場合: ConfigurationValidationError`
#[test]
fn a_missing_step_is_a_configuration_error() {
    let steps = json!({ "steps": { "work": { "prompt": "work.md", "next": "nowhere" } } });
    let (_dir, bad) = definition(json!({}), steps, &[("work.md", "Work.")]);
    let fault = autonoe_workflow::ValidatedDefinition::try_from(bad).unwrap_err();
    assert_eq!(fault.code, "configuration_validation");
    assert!(fault.message.contains("nowhere") && fault.message.contains("$.steps.work.next"), "{fault}");
}

/// PromptResolver: `@pre ref が有効な参照（パスまたはC3L）`, `@post 返り値は空文字でない（見つからない場合はエラー）`
#[test]
fn a_prompt_is_found_by_its_path_its_c3l_reference_or_its_fallback() {
    let files = [("work.md", "Work."), ("a/b/c/f_default_x.md", "Placed."), ("a/b/c/f_default.md", "Plain.")];
    let (_dir, prompts) = prompts(&files, json!({}));
    let c3l = |adaptation: Option<&str>| {
        PromptRef::C3l(C3lPrompt {
            c1: "a".into(),
            c2: "b".into(),
            c3: "c".into(),
            edition: "default".into(),
            adaptation: adaptation.map(str::to_owned),
            fallback: None,
        })
    };
    let file = PromptRef::File(PromptFile { path: "gone.md".into(), fallback: Some("work.md".into()) });
    for (reference, text) in [
        (at("work.md"), "Work."),
        (c3l(Some("x")), "Placed."),
        (c3l(Some("y")), "Plain."),
        (c3l(None), "Plain."),
        (file, "Work."),
    ] {
        assert_eq!(prompts.resolve(&reference, &Variables::new()).unwrap().text, text);
    }
}

/// PromptResolver: `@throws PromptNotFoundError - プロンプトファイルが存在しない`
#[test]
fn a_missing_prompt_is_an_error() {
    let (_dir, prompts) = prompts(&[("work.md", "Work."), ("empty.md", " \n")], json!({}));
    for path in ["gone.md", "empty.md", "../agent.json", "/etc/passwd"] {
        let fault = prompts.resolve(&at(path), &Variables::new()).unwrap_err();
        assert_eq!(fault.code, "prompt_not_found", "{path}");
    }
}

/// PromptResolver: `@throws PromptParseError - テンプレート構文エラー`
#[test]
fn a_malformed_prompt_is_an_error_with_its_position() {
    let (_dir, prompts) = prompts(&[("work.md", "Work.\nIn {uv-city, now")], json!({}));
    let fault = prompts.resolve(&at("work.md"), &Variables::new()).unwrap_err();
    assert_eq!(fault.code, "prompt_parse");
    assert!(fault.message.contains("prompts/work.md:2:4"), "{fault}");
}

/// PromptResolver: `resolveSystem: @post 返り値は空文字でない`
#[test]
fn there_is_always_a_system_prompt() {
    let (_dir, without) = prompts(&[("work.md", "Work.")], json!({}));
    assert!(!without.resolve_system(&Variables::new()).unwrap().text.is_empty());
    let (_dir, with) = prompts(&[("work.md", "Work."), ("system.md", "You are {uv-who}.")], json!({}));
    let variables = Variables::from([("who".to_owned(), "it".to_owned())]);
    assert_eq!(with.resolve_system(&variables).unwrap().text, "You are it.");
}

/// 変数解決の責務: `推奨: A) PromptResolver に統合`; 変数マッピング契約: `PromptResolver に渡す時点で "uv-" prefix なし`
#[test]
fn the_resolver_fills_in_values_by_names_without_prefix() {
    let (_dir, prompts) = prompts(&[("work.md", "From {uv-origin}.")], json!({}));
    let given = |name: &str| Variables::from([(name.to_owned(), "Tokyo".to_owned())]);
    assert_eq!(prompts.resolve(&at("work.md"), &given("origin")).unwrap().text, "From Tokyo.");
    assert_eq!(prompts.resolve(&at("work.md"), &given("uv-origin")).unwrap().text, "From {uv-origin}.");
}

/// 変数マッピング契約: `変数が未定義 → 置換せずそのまま残す（エラーにしない）`, `警告ログを出力`
#[tokio::test]
async fn a_variable_without_a_value_is_a_warning_or_an_error_if_strict() {
    use crate::run_fixture::{RunFixture, build_agent, says};
    let agent = |strict: bool| {
        json!({ "strict": strict, "parameters": { "city": { "type": "string" } },
            "completion": { "type": "iterationBudget", "maxIterations": 1 } })
    };
    let steps = json!({ "steps": { "work": { "prompt": "work.md" } } });
    let files = [("work.md", "In {uv-city}.")];
    let (_dir, lenient) = definition(agent(false), steps.clone(), &files);
    let fixture = RunFixture::replying(vec![says("ok")]);
    assert!(fixture.run(build_agent(lenient, &[]).unwrap()).await.result.success);
    assert!(fixture.requests()[0].text.ends_with("In {uv-city}."));
    assert!(format!("{:?}", fixture.events()).contains("city"), "{:?}", fixture.events());
    let (_dir, strict) = definition(agent(true), steps, &files);
    let fixture = RunFixture::replying(vec![says("ok")]);
    let finished = fixture.run(build_agent(strict, &[]).unwrap()).await;
    assert_eq!((finished.code(), fixture.requests().len()), ("prompt_variable", 0));
}
