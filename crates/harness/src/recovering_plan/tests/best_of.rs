//! Attempts by several agents, and how one of them is chosen.

use autonoe_core::attempt::{BestOfResult, DecidedBy};

use super::*;

const OLD: &str = "I looked around.";

/// Three agents; `passed` and `lines` are what each attempt leads to. A fourth one can judge.
fn fixture(passed: &[usize], lines: &[usize]) -> (Fixture, Arc<Branches>) {
    let branches = Branches { passed: passed.to_vec(), lines: lines.to_vec(), ..Branches::default() };
    let branches = Arc::new(branches);
    let agents = vec![rung("claude", "c"), rung("codex", "o"), rung("gemini", "g")];
    let judges = [agents.clone(), vec![rung("judge", "j")]].concat();
    let best_of = Some(BestOf { agents, judges });
    (Fixture { branches: Some(Arc::clone(&branches)), best_of, ..Fixture::new() }, branches)
}

/// The first session says something new, the second one does not.
async fn fail(fixture: &mut Fixture, plan: &mut RecoveringPlan<'_>) {
    fixture.play(plan).await;
    let played = fixture.play(plan).await;
    assert!(matches!(played.verdict, PlanVerdict::Recovering), "{:?}", played.verdict);
}

/// One comparison, whose model prefers the change that it was shown first or second.
async fn compare(fixture: &mut Fixture, plan: &mut RecoveringPlan<'_>, better: &str) -> NextSession {
    let session = fixture.next(plan).await;
    assert_eq!(session.instruction.name, Phase::Comparison);
    let mut finished = fixture.finished(&session, SessionEnd::Completed);
    finished.output.answer = Some(json!({ "better": better, "reason": "It is simpler." }));
    plan.judge(&finished).await.expect("judged");
    session
}

fn results(fixture: &Fixture) -> Vec<BestOfResult> {
    let result = |event: &RunEvent| match event {
        RunEvent::BestOf(result) => Some(result.clone()),
        _ => None,
    };
    locked(&fixture.memory.events).iter().filter_map(result).collect()
}

fn decided(fixture: &Fixture) -> (Option<usize>, Option<DecidedBy>) {
    let results = results(fixture);
    assert_eq!(results.len(), 1, "{results:?}");
    (results[0].winner, results[0].decided_by)
}

#[tokio::test]
async fn after_a_failure_each_agent_makes_an_attempt_and_the_checks_choose() {
    let (mut fixture, branches) = fixture(&[1, 3, 2], &[]);
    let mut plan = fixture.plan().await;
    fail(&mut fixture, &mut plan).await;
    let mut played = Vec::new();
    for _ in 0..3 {
        played.push(fixture.play(&mut plan).await);
        assert_eq!(locked(&branches.held).as_deref(), Some("A"));
        assert_eq!(*locked(&branches.claimed), Vec::<String>::new());
    }
    let by: Vec<_> = played.iter().map(|one| one.session.backends.join(" ")).collect();
    assert_eq!(by, ["claude", "codex", "gemini"]);
    assert!(played.iter().all(|one| one.session.is_optional && one.session.model.is_some()));
    let steps: Vec<_> = played.iter().map(|one| one.session.instruction.label()).collect();
    assert_eq!(steps, ["coding A, attempt 1 of 3", "coding A, attempt 2 of 3", "coding A, attempt 3 of 3"]);
    assert!(!played[0].prompt.contains("## Earlier attempts"), "{}", played[0].prompt);
    let third = &played[2].prompt;
    assert_eq!(third.matches("### Attempt ").count(), 2, "{third}");
    for part in
        ["It changed 10 lines of: cart.rs.", "no books", OLD, "3 of its checks passed, and none failed"]
    {
        assert!(third.contains(part), "{part}: {third}");
    }
    let after = fixture.next(&mut plan).await;
    assert_eq!(after.instruction.text, "Build it.", "the next session is a usual one");
    assert_eq!(locked(&branches.made).clone(), ["start", "start", "commit-attempt-2-codex"]);
    assert_eq!(locked(&branches.claimed).clone(), ["A by codex/o"]);
    assert_eq!(decided(&fixture), (Some(2), Some(DecidedBy::Checks)));
    let message = &results(&fixture)[0].message;
    let said = "Attempts at A: 1 claude/c (1 check passed, not all, 10 lines changed), 2 codex/o (3 checks passed, none failed, 10 lines changed)";
    assert!(message.starts_with(said), "{message}");
    assert!(message.contains("Attempt 2 by codex/o continues: its checks decided."), "{message}");
    assert!(message.ends_with("`fetch refs/attempt-1-claude`, `fetch refs/attempt-3-gemini`."), "{message}");
}

#[tokio::test]
async fn several_that_pass_are_compared_two_at_a_time_by_a_model_that_made_none_of_them() {
    let (mut fixture, branches) = fixture(&[3, 3, 3], &[1, 2, 3]);
    let mut plan = fixture.plan().await;
    fail(&mut fixture, &mut plan).await;
    fixture.play_sessions(&mut plan, 3).await;
    let mut asked = Vec::new();
    // 1 and 2 are shown in this order, as are 2 and 3; 1 and 3 in the other.
    for better in ["second", "second", "first"] {
        asked.push(compare(&mut fixture, &mut plan, better).await);
    }
    for session in &asked {
        assert_eq!(
            (session.backends.clone(), session.model.as_deref()),
            (vec!["judge".to_owned()], Some("j"))
        );
        let text = &session.instruction.text;
        for name in ["claude", "codex", "gemini"] {
            assert!(!text.contains(name), "it is not told who made them: {text}");
        }
        assert!(text.contains("it holds books") && session.answer_schema.is_some(), "{text}");
    }
    let (first, second) = asked[1].instruction.text.split_once("## The second change").expect("two changes");
    assert!(first.contains("+change 2") && second.contains("+change 0"), "{first}{second}");
    fixture.next(&mut plan).await;
    assert_eq!(decided(&fixture), (Some(2), Some(DecidedBy::Tournament)));
    assert_eq!(locked(&branches.claimed).clone(), ["A by codex/o"]);
    let won: Vec<_> = results(&fixture)[0].attempts.iter().map(|one| one.comparisons_won).collect();
    assert_eq!(won, [1, 2, 0]);
    assert!(
        fixture.notices().iter().any(|text| text == "judge/j prefers attempt 2 to attempt 1: It is simpler.")
    );
}

#[tokio::test]
async fn the_smallest_change_wins_where_comparisons_do_not_decide() {
    for is_failure in [true, false] {
        let (mut fixture, _) = fixture(&[3, 3, 0], &[9, 4, 1]);
        let mut plan = fixture.plan().await;
        fail(&mut fixture, &mut plan).await;
        fixture.play_sessions(&mut plan, 3).await;
        let session = fixture.next(&mut plan).await;
        assert_eq!(session.backends, ["gemini"], "its own attempt failed, so it made neither of them");
        let outcome = if is_failure { failure() } else { SessionEnd::Completed };
        let finished = fixture.finished(&session, outcome);
        plan.judge(&finished).await.expect("judged");
        fixture.next(&mut plan).await;
        assert_eq!(decided(&fixture), (Some(2), Some(DecidedBy::SmallestDiff)));
    }
}

#[tokio::test]
async fn without_a_model_that_made_none_of_them_nothing_is_compared() {
    let (mut fixture, _) = fixture(&[3, 3, 3], &[9, 9, 4]);
    let agents = fixture.best_of.take().expect("agents").agents;
    fixture.best_of = Some(BestOf { judges: agents.clone(), agents });
    let mut plan = fixture.plan().await;
    fail(&mut fixture, &mut plan).await;
    fixture.play_sessions(&mut plan, 3).await;
    assert_eq!(fixture.next(&mut plan).await.instruction.name, Phase::Coding);
    assert_eq!(decided(&fixture), (Some(3), Some(DecidedBy::SmallestDiff)));
}

#[tokio::test]
async fn where_all_fail_the_run_continues_from_where_it_was_with_other_remedies() {
    let (mut fixture, branches) = fixture(&[], &[]);
    let mut plan = fixture.plan().await;
    fail(&mut fixture, &mut plan).await;
    fixture.play_sessions(&mut plan, 3).await;
    assert_eq!(decided(&fixture), (None, None));
    assert_eq!(fixture.remedies(), ["best_of", "nudge"]);
    let session = fixture.next(&mut plan).await;
    assert_eq!(locked(&branches.made).last().map(String::as_str), Some("start"));
    assert_eq!(*locked(&branches.held), None);
    assert!(session.backends.is_empty() && locked(&branches.claimed).is_empty());
    fixture.play_until(&mut plan, "exploration").await;
    let attempts = fixture.remedies().iter().filter(|name| *name == "best_of").count();
    assert_eq!(attempts, 1, "attempts at a deliverable are made once");
}

#[tokio::test]
async fn an_agent_without_quota_makes_no_further_attempt_and_is_named() {
    let (mut fixture, _) = fixture(&[0, 0, 3], &[]);
    let mut plan = fixture.plan().await;
    fail(&mut fixture, &mut plan).await;
    let out_of_quota = SessionEnd::QuotaExceeded { message: "used up".to_owned(), resets_at: None };
    for outcome in [out_of_quota, SessionEnd::Completed, SessionEnd::Completed] {
        let played = fixture.play_to(&mut plan, outcome).await;
        assert!(!matches!(played.verdict, PlanVerdict::Failed(_)), "{:?}", played.verdict);
    }
    assert_eq!(decided(&fixture), (Some(3), Some(DecidedBy::Checks)));
    let result = &results(&fixture)[0];
    assert_eq!(result.attempts[0].problem.as_deref(), Some("its quota is used up."));
    assert!(
        result.message.contains("1 claude/c (could not work: its quota is used up)"),
        "{}",
        result.message
    );
    assert_eq!(plan.agents_for("B"), [rung("codex", "o"), rung("gemini", "g")]);
}

#[tokio::test]
async fn a_killed_run_repeats_no_attempt_and_no_comparison() {
    let (mut fixture, branches) = fixture(&[3, 3, 0], &[]);
    let mut plan = fixture.plan().await;
    fail(&mut fixture, &mut plan).await;
    let mut by = Vec::new();
    for _ in 0..3 {
        let session = fixture.next(&mut plan).await;
        let (_, earlier) = session.instruction.text.split_once("## Earlier attempts").unwrap_or_default();
        assert_eq!(earlier.matches(OLD).count(), by.len(), "the next process knows what was said: {earlier}");
        by.extend(session.backends.clone());
        // It is killed after the session, and before anything is judged.
        let finished = fixture.finished(&session, SessionEnd::Completed);
        *locked(&fixture.memory.attempt) = Some(finished);
        plan = fixture.plan().await;
    }
    assert_eq!(by, ["claude", "codex", "gemini"]);
    let session = fixture.next(&mut plan).await;
    let mut finished = fixture.finished(&session, SessionEnd::Completed);
    finished.output.answer = Some(json!({ "better": "first", "reason": "" }));
    *locked(&fixture.memory.answer) = Some(finished);
    plan = fixture.plan().await;
    assert_eq!(fixture.next(&mut plan).await.instruction.name, Phase::Coding);
    assert_eq!(decided(&fixture), (Some(1), Some(DecidedBy::Tournament)));
    assert_eq!(locked(&branches.claimed).clone(), ["A by claude/c"]);
    plan = fixture.plan().await;
    fixture.next(&mut plan).await;
    assert_eq!(locked(&branches.claimed).len(), 1, "claimed once");
}

#[tokio::test]
async fn a_run_that_ends_keeps_an_attempt_that_has_passed() {
    for (passed, made) in [(vec![3], "commit-attempt-1-claude"), (vec![1], "start")] {
        let (mut fixture, branches) = fixture(&passed, &[]);
        let mut plan = fixture.plan().await;
        fail(&mut fixture, &mut plan).await;
        fixture.play(&mut plan).await;
        fixture.next(&mut plan).await;
        plan.confirm_passed().await.expect("confirmed");
        plan.ended().await.expect("ended");
        assert_eq!(locked(&branches.made).last().map(String::as_str), Some(made));
        assert_eq!(locked(&branches.claimed).len(), usize::from(passed == [3]));
        assert_eq!(*locked(&branches.held), None);
        assert_eq!(locked(&branches.kept).clone(), ["attempt-1-claude", "attempt-2-codex"]);
    }
}
