//! Layer 0: Lifecycle. A second start and a stop before the start do not compile; the documentation of `Created` and `Started` holds that.

use autonoe_workflow::{HostEffects, Validated, build, validate};
use serde_json::json;

use crate::stage::{Stage, created, definition, says};

fn simple() -> (tempfile::TempDir, autonoe_workflow::definition::AgentDefinition) {
    let agent = json!({ "completion": { "type": "keywordSignal", "keywords": ["DONE"] } });
    definition(agent, json!({ "steps": { "work": { "prompt": "work.md" } } }), &[("work.md", "Work.")])
}

/// Lifecycle: `@post 全依存コンポーネントが初期化済み`, `@post stop() 呼び出し可能な状態`
#[tokio::test]
async fn a_started_agent_has_all_it_needs_and_can_be_stopped() {
    let (_place, definition) = simple();
    let stage = Stage::saying(vec![says("DONE")]);
    let started = created(definition, &[]).unwrap().start(stage.start_options(false)).await.unwrap();
    assert!(stage.kept().is_some(), "what it remembers is on record before anything is done");
    let result = started.stop();
    assert_eq!((result.success, result.iterations), (false, 0));
}

/// Lifecycle: `@pre 初回呼び出しのみ許可（再startは禁止）`, `@throws AlreadyStartedError - 2回目以降の呼び出し`
#[tokio::test]
async fn a_run_on_record_is_not_started_a_second_time() {
    let (_place, definition) = simple();
    let stage = Stage::saying(vec![says("DONE")]);
    created(definition.clone(), &[]).unwrap().start(stage.start_options(false)).await.unwrap().stop();
    let again = created(definition, &[]).unwrap().start(stage.start_options(false)).await;
    assert_eq!(again.err().unwrap().code, "already_started");
}

/// Lifecycle: `@post 再度の start() は禁止（インスタンス再利用不可）`, `状態遷移: Created → Started → Stopped (一方向)`
#[tokio::test]
async fn what_has_come_to_its_end_stays_there() {
    let (_place, definition) = simple();
    let stage = Stage::saying(vec![says("DONE")]);
    let played = stage.play(created(definition.clone(), &[]).unwrap()).await;
    assert!(played.result.success);
    let again = stage.go(created(definition, &[]).unwrap(), true).await.unwrap();
    assert!(again.result.success);
    assert_eq!(stage.asked().len(), 1, "no session is held once more");
}

/// Lifecycle: `stop(): @pre start() が正常完了している`, `@post 全リソースが解放済み`, `@side-effect リソースの解放、ログのフラッシュ`
#[tokio::test]
async fn stopping_lets_go_of_everything_and_nothing_is_only_in_memory() {
    let (_place, definition) = simple();
    let stage = Stage::saying(vec![says("not yet"), says("DONE")]);
    let options = stage.start_options(false);
    let (memory, outside) =
        (std::sync::Arc::downgrade(&options.memory), std::sync::Arc::downgrade(&options.outside));
    let started = created(definition, &[]).unwrap().start(options).await.unwrap();
    assert!(memory.upgrade().is_some());
    started.stop();
    assert!(memory.upgrade().is_none(), "what it held of its memory is let go");
    let others: std::sync::Weak<dyn HostEffects> = outside;
    assert_eq!(others.strong_count(), 1, "only the stage itself is left");
}

/// AgentFactory: `@pre definition は validated`, `@post 返り値は start() 呼び出し可能な状態`
#[tokio::test]
async fn what_is_built_was_validated_and_can_be_started() {
    let (_place, definition) = simple();
    assert!(validate(&definition).valid());
    let stage = Stage::saying(vec![says("DONE")]);
    assert!(stage.play(created(definition, &[]).unwrap()).await.result.success);
}

/// AgentFactory: `@throws DependencyResolutionError - 依存解決失敗`
#[test]
fn what_an_agent_needs_and_does_not_have_is_found_when_it_is_built() {
    let code = |agent, has_gh: bool, may_notify: bool| {
        let steps = json!({ "steps": { "work": {
            "prompt": "work.md",
            "check": { "type": "keyword", "keywords": ["X"] },
            "escalation": { "escalateTo": "https://example.org/hook" },
        } } });
        let (_place, definition) = definition(agent, steps, &[("work.md", "Work.")]);
        let refuse = |_: &str| Err(autonoe_workflow::faults::DEPENDENCY_RESOLUTION.fault("Not allowed."));
        let allow = |_: &str| Ok(());
        let options = autonoe_workflow::BuildOptions {
            arguments: Default::default(),
            environment: &|_| None,
            input: None,
            has_gh,
            may_notify: if may_notify { &allow } else { &refuse },
        };
        build(Validated::try_from(definition).unwrap(), options).map(drop).map_err(|fault| fault.code)
    };
    let issue = json!({ "completion": { "type": "externalState",
        "resource": { "type": "github-issue", "issue": "1", "repository": "a/b" } } });
    assert_eq!(code(issue.clone(), true, true), Ok(()));
    assert_eq!(code(issue, false, true), Err("dependency_resolution".to_owned()));
    assert_eq!(code(json!({}), true, false), Err("dependency_resolution".to_owned()));
}
