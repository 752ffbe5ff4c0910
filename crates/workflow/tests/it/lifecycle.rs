//! Layer 0: Lifecycle. A second start and a stop before the start do not compile; the doc tests of `CreatedAgent` and
//! `StartedAgent` show that.

use autonoe_core::outcome::RunOutcome;
use autonoe_workflow::{HostEffects, ValidatedDefinition, build, validate};
use serde_json::json;

use crate::run_fixture::{RunFixture, build_agent, definition, says};

fn simple() -> (tempfile::TempDir, autonoe_workflow::definition::AgentDefinition) {
    let agent = json!({ "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    definition(agent, json!({ "steps": { "work": { "prompt": "work.md" } } }), &[("work.md", "Work.")])
}

/// Lifecycle: `@post 全依存コンポーネントが初期化済み`, `@post stop() 呼び出し可能な状態`
#[tokio::test]
async fn a_started_agent_is_initialized_and_can_be_stopped() {
    let (_dir, definition) = simple();
    let fixture = RunFixture::replying(vec![says("DONE")]);
    let started = build_agent(definition, &[]).unwrap().start(fixture.start_options(false)).await.unwrap();
    assert!(fixture.saved().is_some(), "the state is saved before the first session");
    let result = started.stop(&RunOutcome::Interrupted);
    assert_eq!((result.success, result.iterations), (false, 0));
    assert_eq!(result.error.unwrap().code, "incomplete");
}

/// Lifecycle: `@pre 初回呼び出しのみ許可（再startは禁止）`, `@throws AlreadyStartedError - 2回目以降の呼び出し`
#[tokio::test]
async fn a_run_on_record_is_not_started_a_second_time() {
    let (_dir, definition) = simple();
    let fixture = RunFixture::replying(vec![says("DONE")]);
    let first =
        build_agent(definition.clone(), &[]).unwrap().start(fixture.start_options(false)).await.unwrap();
    first.stop(&RunOutcome::Interrupted);
    let again = build_agent(definition, &[]).unwrap().start(fixture.start_options(false)).await;
    assert_eq!(again.err().unwrap().code, "already_started");
}

/// Lifecycle: `@post 再度の start() は禁止（インスタンス再利用不可）`, `状態遷移: Created → Started → Stopped (一方向)`
#[tokio::test]
async fn a_finished_run_stays_finished() {
    let (_dir, definition) = simple();
    let fixture = RunFixture::replying(vec![says("DONE")]);
    let finished = fixture.run(build_agent(definition.clone(), &[]).unwrap()).await;
    assert!(finished.result.success);
    let again = fixture.run_or_resume(build_agent(definition, &[]).unwrap(), true).await.unwrap();
    assert!(again.result.success);
    assert_eq!(fixture.requests().len(), 1, "no session runs again");
}

/// Lifecycle: `stop(): @pre start() が正常完了している`, `@post 全リソースが解放済み`, `@side-effect リソースの解放、ログのフラッシュ`
#[tokio::test]
async fn stopping_releases_all_resources() {
    let (_dir, definition) = simple();
    let fixture = RunFixture::replying(vec![says("not yet"), says("DONE")]);
    let options = fixture.start_options(false);
    let (memory, host) =
        (std::sync::Arc::downgrade(&options.memory), std::sync::Arc::downgrade(&options.host));
    let started = build_agent(definition, &[]).unwrap().start(options).await.unwrap();
    assert!(memory.upgrade().is_some());
    started.stop(&RunOutcome::Interrupted);
    assert!(memory.upgrade().is_none(), "the memory is released");
    let others: std::sync::Weak<dyn HostEffects> = host;
    assert_eq!(others.strong_count(), 1, "only the fixture still refers to the host");
}

/// AgentFactory: `@pre definition は validated`, `@post 返り値は start() 呼び出し可能な状態`
#[tokio::test]
async fn a_validated_definition_can_be_built_and_started() {
    let (_dir, definition) = simple();
    assert!(validate(&definition).valid());
    let fixture = RunFixture::replying(vec![says("DONE")]);
    assert!(fixture.run(build_agent(definition, &[]).unwrap()).await.result.success);
}

/// AgentFactory: `@throws DependencyResolutionError - 依存解決失敗`
#[test]
fn missing_dependencies_are_reported_when_an_agent_is_built() {
    let code = |agent, has_gh: bool, may_notify: bool| {
        let steps = json!({ "steps": { "work": {
            "prompt": "work.md",
            "check": { "type": "keyword", "keywords": ["X"] },
            "escalation": { "escalateTo": "https://example.org/hook" },
        } } });
        let (_dir, definition) = definition(agent, steps, &[("work.md", "Work.")]);
        let refuse = |_: &str| Err(autonoe_workflow::faults::DEPENDENCY_RESOLUTION.fault("Not allowed."));
        let allow = |_: &str| Ok(());
        let options = autonoe_workflow::BuildOptions {
            arguments: Default::default(),
            environment: &|_| None,
            input: None,
            has_gh,
            may_notify: if may_notify { &allow } else { &refuse },
        };
        build(ValidatedDefinition::try_from(definition).unwrap(), options)
            .map(drop)
            .map_err(|fault| fault.code)
    };
    let issue = json!({ "completion": { "type": "externalState",
        "resource": { "type": "github-issue", "issue": "1", "repository": "a/b" } } });
    assert_eq!(code(issue.clone(), true, true), Ok(()));
    assert_eq!(code(issue, false, true), Err("dependency_resolution".to_owned()));
    assert_eq!(code(json!({}), true, false), Err("dependency_resolution".to_owned()));
}
