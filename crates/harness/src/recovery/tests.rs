use autonoe_core::event::ProgressVerdict;
use autonoe_core::money::Usd;

use super::{
    BranchOutcome, KeptBranch, LoopContext, Recovery, RecoveryBudget, RecoveryResult, RecoveryState,
    RemedyStep, Rung,
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
fn exhaust(
    budget: RecoveryBudget,
    context: &LoopContext,
) -> (Vec<String>, Vec<RecoveryResult>, RecoveryState) {
    let (mut state, mut results) = (RecoveryState::default(), Vec::new());
    loop {
        let mut recovery = Recovery::new(budget, state);
        let result = recovery.next(&task(), context.clone());
        let again = recovery.next(&task(), context.clone());
        assert!(result == again || result.needs_human, "a remedy that is being tried is continued");
        results.push(result.clone());
        if result.needs_human {
            let names = recovery.state().applied().iter().map(|remedy| remedy.name.clone()).collect();
            return (names, results, recovery.state().clone());
        }
        loop {
            let saved = serde_json::to_string(recovery.state()).expect("saved");
            recovery = Recovery::new(budget, serde_json::from_str(&saved).expect("restored"));
            let resumed = recovery.next(&task(), context.clone());
            assert_eq!(resumed, result);
            if recovery.observe(ProgressVerdict::Idle, Usd(0.5)) == RemedyStep::Failed {
                break;
            }
        }
        state = recovery.state().clone();
    }
}

#[test]
fn remedies_are_tried_in_order_and_none_twice() {
    let (names, results, state) = exhaust(RecoveryBudget::default(), &context());
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

#[test]
fn one_budget_ends_everything() {
    let sessions = RecoveryBudget { sessions: 3, cost: None };
    let (names, _, state) = exhaust(sessions, &context());
    assert_eq!(names, ["nudge", "rephrase", "decompose", "human"]);
    assert_eq!(state.sessions_used(), 3);
    let money = RecoveryBudget { sessions: 20, cost: Some(Usd(1.0)) };
    let (names, ..) = exhaust(money, &context());
    assert_eq!(names, ["nudge", "rephrase", "human"]);
    let (names, ..) = exhaust(RecoveryBudget { sessions: 9, cost: None }, &context());
    assert_eq!(names.last().map(String::as_str), Some("human"));
    assert!(!names.contains(&"exploration".to_owned()), "three branches do not fit: {names:?}");
}

#[test]
fn a_remedy_that_worked_resets_but_the_budget_is_used() {
    let mut recovery = Recovery::new(RecoveryBudget::default(), RecoveryState::default());
    for _ in 0..2 {
        recovery.next(&task(), context());
        recovery.observe(ProgressVerdict::Idle, Usd(0.0));
    }
    recovery.next(&task(), context());
    assert_eq!(recovery.observe(ProgressVerdict::Progressed, Usd(0.5)), RemedyStep::Worked);
    assert_eq!(recovery.state().current(), None);
    recovery.next(&task(), context());
    let names: Vec<&str> = recovery.state().applied().iter().map(|remedy| remedy.name.as_str()).collect();
    assert_eq!(names, ["nudge", "rephrase", "decompose", "nudge"]);
    assert_eq!(recovery.state().sessions_used(), 3);
    recovery.start_over();
    assert_eq!((recovery.state().sessions_used(), recovery.state().applied().len()), (0, 0));
    assert_eq!(recovery.state().cost_used, Usd(0.5), "the money is that of the run");
}

#[test]
fn every_text_is_finished_and_names_what_failed() {
    let (_, results, _) = exhaust(RecoveryBudget::default(), &context());
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

/// The prompt of the remedy after the nudge, with words from a model.
fn rephrased(words: Option<&str>) -> (String, RecoveryState) {
    let mut recovery = Recovery::new(RecoveryBudget::default(), RecoveryState::default());
    recovery.next(&task(), context());
    recovery.observe(ProgressVerdict::Idle, Usd(0.0));
    let request = recovery.next(&task(), context()).rewrite.expect("a request");
    for part in ["Rephrase it", "Add a cart", "no cart"] {
        assert!(request.prompt.contains(part), "{}", request.prompt);
    }
    recovery.rewritten(words, Usd(0.5));
    let result = recovery.next(&task(), context());
    assert_eq!(result.rewrite, None, "no model is asked twice");
    (result.new_prompt.expect("a prompt"), recovery.state().clone())
}

#[test]
fn a_model_finds_other_words_but_not_other_criteria() {
    let (prompt, state) = rephrased(Some(" Build a basket. "));
    let expected = "## The task in other words\nBuild a basket.\n\n## Success Criteria\nit holds books\n\n## What has been tried";
    assert!(prompt.starts_with(expected), "{prompt}");
    assert_eq!((state.sessions_used(), state.cost_used), (1, Usd(0.5)), "only its cost counts");
    for unusable in [None, Some("  "), Some(&*"x".repeat(20_001))] {
        let (prompt, _) = rephrased(unusable);
        assert!(prompt.contains("When you are done, this must be true: Add a cart"), "{prompt}");
    }
}

#[test]
fn three_approaches_are_tried_and_the_best_checked_one_wins() {
    let (_, results, _) = exhaust(RecoveryBudget::default(), &context());
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
    let outcome = |id: &str, checks_passed, score| {
        let kept = KeptBranch::default();
        BranchOutcome { id: id.to_owned(), checks_passed, score, kept, ..BranchOutcome::default() }
    };
    let winner =
        |before, outcomes: &[BranchOutcome]| exploration.winner(before, outcomes).map(|branch| branch.id);
    let checked = [outcome("cart-bottom-up", 0, 0.9), outcome("cart-top-down", 1, 0.2)];
    let top_down = Some("cart-top-down");
    assert_eq!(winner(0, &checked).as_deref(), top_down, "what was checked counts, not what was said");
    assert_eq!(winner(1, &checked), None, "neither is better than what there was");
    let equal = [outcome("cart-bottom-up", 1, 0.4), outcome("cart-top-down", 1, 0.4)];
    assert_eq!(winner(0, &equal).as_deref(), Some("cart-bottom-up"));
    assert_eq!(winner(0, &[outcome("cart-bottom-up", 0, 0.29)]), None);
}

#[test]
fn without_a_ladder_and_workspaces_a_person_comes_after_the_words() {
    let alone = LoopContext { ladder: Vec::new(), can_branch: false, ..context() };
    let (names, ..) = exhaust(RecoveryBudget::default(), &alone);
    assert_eq!(names[5..], ["negative", "human"]);
}
