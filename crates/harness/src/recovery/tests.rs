use async_trait::async_trait;
use autonoe_core::event::ProgressVerdict;
use autonoe_core::money::Usd;

use super::{
    BranchOutcome, LoopContext, NoRewriter, Recovery, RecoveryBudget, RecoveryResult, RecoveryState,
    RemedyStep, RewriteRequest, Rewriter, Rung,
};
use crate::progress::FailedCheck;
use crate::roadmap::{Roadmap, Task};

fn task() -> Task {
    let text = "## Tasks\n- [ ] **cart**: Add a cart\n  - success: it holds books\n  - check: `make test` prints `ok`\n";
    Roadmap::parse(text, &[]).expect("a roadmap").tasks.remove(0)
}

fn rung(backend: &str, model: &str) -> Rung {
    Rung { backend: backend.to_owned(), model: Some(model.to_owned()) }
}

fn context() -> LoopContext {
    LoopContext {
        prompt: "## Goal\nAdd a cart".to_owned(),
        tried: vec!["I changed the parser.".to_owned()],
        failed_checks: vec![FailedCheck {
            name: "cart".to_owned(),
            output: "1 failed\nno cart\n".to_owned(),
        }],
        current: rung("codex", "small"),
        ladder: vec![rung("codex", "small"), rung("codex", "large"), rung("claude", "best")],
        can_branch: true,
        ..LoopContext::default()
    }
}

/// Tries everything without success. A process that is killed before each step changes nothing.
async fn exhaust(
    budget: RecoveryBudget,
    context: &LoopContext,
) -> (Vec<String>, Vec<RecoveryResult>, RecoveryState) {
    let (mut state, mut results) = (RecoveryState::default(), Vec::new());
    loop {
        let mut recovery = Recovery::new(budget, state);
        let result = recovery.next(&task(), context.clone(), &NoRewriter).await;
        let again = recovery.next(&task(), context.clone(), &NoRewriter).await;
        assert!(result == again || result.needs_human, "a remedy that is being tried is continued");
        results.push(result.clone());
        if result.needs_human {
            let names = recovery.state().applied().iter().map(|remedy| remedy.name.clone()).collect();
            return (names, results, recovery.state().clone());
        }
        loop {
            let saved = serde_json::to_string(recovery.state()).expect("saved");
            recovery = Recovery::new(budget, serde_json::from_str(&saved).expect("restored"));
            let resumed = recovery.next(&task(), context.clone(), &NoRewriter).await;
            assert_eq!(resumed, result);
            if recovery.observe(ProgressVerdict::Idle, Usd(0.5)) == RemedyStep::Failed {
                break;
            }
        }
        state = recovery.state().clone();
    }
}

#[tokio::test]
async fn remedies_are_tried_in_order_and_none_twice() {
    let (names, results, state) = exhaust(RecoveryBudget::default(), &context()).await;
    let expected = [
        "nudge",
        "rephrase",
        "decompose",
        "constrain",
        "examples",
        "negative",
        "escalation",
        "escalation",
        "exploration",
        "human",
    ];
    assert_eq!(names, expected);
    let escalated: Vec<_> = results.iter().filter_map(|result| result.escalated_to.clone()).collect();
    assert_eq!(escalated, [rung("claude", "best"), rung("codex", "large")], "another vendor first");
    assert_eq!(state.sessions_used(), 1 + 5 + 2 * 2 + 3 * 2);
    assert_eq!(state.summary()[0], "nudge: 1 session, no progress");
    assert_eq!(state.summary()[6], "escalation to claude/best: 2 sessions, no progress");
    let last = results.last().expect("a result");
    assert!(last.needs_human && !last.success && last.new_prompt.is_none());
}

#[tokio::test]
async fn one_budget_ends_everything() {
    let sessions = RecoveryBudget { sessions: 3, cost: None };
    let (names, _, state) = exhaust(sessions, &context()).await;
    assert_eq!(names, ["nudge", "rephrase", "decompose", "human"]);
    assert_eq!(state.sessions_used(), 3);
    let money = RecoveryBudget { sessions: 20, cost: Some(Usd(1.0)) };
    let (names, ..) = exhaust(money, &context()).await;
    assert_eq!(names, ["nudge", "rephrase", "human"]);
    let (names, ..) = exhaust(RecoveryBudget { sessions: 9, cost: None }, &context()).await;
    assert_eq!(names.last().map(String::as_str), Some("human"));
    assert!(!names.contains(&"exploration".to_owned()), "three branches do not fit: {names:?}");
}

#[tokio::test]
async fn a_remedy_that_worked_resets_but_the_budget_is_used() {
    let mut recovery = Recovery::new(RecoveryBudget::default(), RecoveryState::default());
    for _ in 0..2 {
        recovery.next(&task(), context(), &NoRewriter).await;
        recovery.observe(ProgressVerdict::Idle, Usd(0.0));
    }
    recovery.next(&task(), context(), &NoRewriter).await;
    assert_eq!(recovery.observe(ProgressVerdict::Progressed, Usd(0.0)), RemedyStep::Worked);
    assert_eq!(recovery.state().current(), None);
    recovery.next(&task(), context(), &NoRewriter).await;
    let names: Vec<&str> = recovery.state().applied().iter().map(|remedy| remedy.name.as_str()).collect();
    assert_eq!(names, ["nudge", "rephrase", "decompose", "nudge"]);
    assert_eq!(recovery.state().sessions_used(), 3);
    recovery.start_over();
    assert_eq!(recovery.state().sessions_used(), 0);
}

#[tokio::test]
async fn every_text_is_finished_and_names_what_failed() {
    let (_, results, _) = exhaust(RecoveryBudget::default(), &context()).await;
    let prompts: Vec<&String> = results.iter().filter_map(|result| result.new_prompt.as_ref()).collect();
    assert_eq!(prompts.len(), 8);
    for prompt in &prompts {
        assert!(prompt.starts_with("## Goal\nAdd a cart\n\n"), "{prompt}");
        assert!(
            prompt.contains("- I changed the parser.") && prompt.contains("1 failed\nno cart"),
            "{prompt}"
        );
        assert!(!prompt.contains('{') && !prompt.contains("[...]"), "nothing is left to fill in: {prompt}");
    }
    assert!(prompts[2].contains("Run `make test`, and read the first error completely."), "{}", prompts[2]);
    assert!(prompts[4].contains("- `make test` must exit with 0 and print `ok`."), "{}", prompts[4]);
    assert!(prompts[5].contains("- Do not try this again, it did not help: I changed the parser."));
}

struct Model(&'static str);

#[async_trait]
impl Rewriter for Model {
    async fn rewrite(&self, request: &RewriteRequest) -> Option<String> {
        assert!(request.system.contains("Rephrase it") || request.system.contains("Decompose it"));
        assert!(request.prompt.contains("Add a cart") && request.prompt.contains("no cart"));
        Some(self.0.to_owned())
    }
}

#[tokio::test]
async fn a_model_finds_other_words_but_not_other_criteria() {
    let mut recovery = Recovery::new(RecoveryBudget::default(), RecoveryState::default());
    recovery.next(&task(), context(), &Model("")).await;
    recovery.observe(ProgressVerdict::Idle, Usd(0.0));
    let prompt =
        recovery.next(&task(), context(), &Model(" Build a basket. ")).await.new_prompt.expect("a prompt");
    assert!(
        prompt
            .starts_with("Build a basket.\n\n## Success Criteria\nit holds books\n\n## What has been tried")
    );
    recovery.observe(ProgressVerdict::Idle, Usd(0.0));
    let prompt = recovery.next(&task(), context(), &Model("  ")).await.new_prompt.expect("a prompt");
    assert!(prompt.contains("## Steps"), "an empty reply is not used: {prompt}");
}

#[tokio::test]
async fn three_approaches_are_tried_and_the_best_checked_one_wins() {
    let (_, results, _) = exhaust(RecoveryBudget::default(), &context()).await;
    let exploration = results.iter().find_map(|result| result.branch.as_ref()).expect("an exploration");
    let branches: Vec<_> = exploration
        .branches
        .iter()
        .map(|branch| (&*branch.id, &*branch.approach, &*branch.rung.backend))
        .collect();
    let expected = [
        ("cart-bottom-up", "bottom_up", "codex"),
        ("cart-top-down", "top_down", "claude"),
        ("cart-research-first", "research_first", "codex"),
    ];
    assert_eq!(branches, expected);
    let outcome = |id: &str, checks_passed, score| BranchOutcome { id: id.to_owned(), checks_passed, score };
    let winner =
        |outcomes: &[BranchOutcome]| exploration.winner(outcomes).map(|branch| branch.approach.clone());
    let checked = [outcome("cart-bottom-up", 0, 0.9), outcome("cart-top-down", 1, 0.2)];
    assert_eq!(winner(&checked).as_deref(), Some("top_down"), "what was checked counts, not what was said");
    let equal = [outcome("cart-bottom-up", 1, 0.4), outcome("cart-top-down", 1, 0.4)];
    assert_eq!(winner(&equal).as_deref(), Some("bottom_up"));
    assert_eq!(winner(&[outcome("cart-bottom-up", 0, 0.29)]), None);
}

#[tokio::test]
async fn without_a_ladder_and_workspaces_a_person_comes_after_the_words() {
    let alone = LoopContext { ladder: Vec::new(), can_branch: false, ..context() };
    let (names, ..) = exhaust(RecoveryBudget::default(), &alone).await;
    assert_eq!(names[5..], ["negative", "human"]);
}
