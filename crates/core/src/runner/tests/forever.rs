//! Agents that repeat themselves forever: every run ends.

use proptest::prelude::*;
use proptest::sample::select;

use super::options;
use crate::check::{Assurance, Finding};
use crate::deliverable::DeliverableStatus::{self, Blocked, Passed, Pending};
use crate::limits::MAX_IDLE_SESSIONS;
use crate::outcome::{RunOutcome, SessionEnd};
use crate::testing::World;
use crate::testing::script::{AgentScript, out_of_quota, session, transient};

const IDS: [&str; 12] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"];

#[derive(Debug, Clone, Copy)]
enum SessionAction {
    Set(usize, DeliverableStatus),
    /// A claim that the checks refuse: only the time of the finding changes.
    RefusedClaim(usize),
    Spend,
    Talk,
}

#[derive(Debug, Clone, Copy)]
enum SessionEnding {
    Completes,
    UsesUpItsTurns,
    SaysInterrupted,
    Fails,
    LosesTheService,
    LosesTheQuota,
    FallsSilent,
}

#[derive(Debug, Clone)]
struct Behaviour {
    actions: Vec<SessionAction>,
    ending: SessionEnding,
}

fn action(count: usize) -> impl Strategy<Value = SessionAction> {
    prop_oneof![
        4 => (0..count, select(vec![Pending, Passed, Blocked])).prop_map(|(id, status)| SessionAction::Set(id, status)),
        2 => (0..count).prop_map(SessionAction::RefusedClaim),
        1 => Just(SessionAction::Spend),
        1 => Just(SessionAction::Talk),
    ]
}

fn ending() -> impl Strategy<Value = SessionEnding> {
    prop_oneof![
        6 => Just(SessionEnding::Completes),
        1 => Just(SessionEnding::UsesUpItsTurns),
        1 => Just(SessionEnding::SaysInterrupted),
        1 => Just(SessionEnding::Fails),
        1 => Just(SessionEnding::LosesTheService),
        1 => Just(SessionEnding::LosesTheQuota),
        1 => Just(SessionEnding::FallsSilent),
    ]
}

fn behaviours(most: usize) -> impl Strategy<Value = (usize, Vec<Behaviour>)> {
    (1..=IDS.len()).prop_flat_map(move |count| {
        let actions = prop::collection::vec(action(count), 0..4);
        let behaviour = (actions, ending()).prop_map(|(actions, ending)| Behaviour { actions, ending });
        (Just(count), prop::collection::vec(behaviour, 1..=most))
    })
}

fn script(behaviour: &Behaviour, number: usize) -> AgentScript {
    let mut script = session();
    for action in &behaviour.actions {
        script = match *action {
            SessionAction::Set(id, status) => script.attempts(IDS[id], status),
            SessionAction::RefusedClaim(id) => script.finds(IDS[id], refused(number)),
            SessionAction::Spend => script.spends(0.01),
            SessionAction::Talk => script.says("Working on it."),
        };
    }
    match behaviour.ending {
        SessionEnding::Completes => script.completes(),
        SessionEnding::UsesUpItsTurns => script.ends(SessionEnd::MaxTurns),
        SessionEnding::SaysInterrupted => script.ends(SessionEnd::Interrupted),
        SessionEnding::Fails => script.fails(transient("broke")),
        SessionEnding::LosesTheService => script.finds_service_unavailable(),
        SessionEnding::LosesTheQuota => script.ends(out_of_quota(None)),
        SessionEnding::FallsSilent => script,
    }
}

/// The finding of a refused claim.
fn refused(number: usize) -> Finding {
    let at = jiff::Timestamp::from_second(i64::try_from(number).expect("small")).expect("in range");
    Finding { assurance: Assurance::Failed, ..Finding::unchecked(at) }
}

fn run(count: usize, script: impl Fn(usize) -> AgentScript + Send + 'static) -> (RunOutcome, usize) {
    let deliverables: Vec<_> = IDS[..count].iter().map(|id| (*id, Pending)).collect();
    let world = World::with(&deliverables).forever(script);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let outcome = runtime.expect("a runtime").block_on(world.run(options())).outcome;
    (outcome, world.opened().len())
}

/// Upper bound: sessions that can count as progress, with the idle ones that may lie between two of them.
fn most_sessions(count: usize) -> usize {
    let (idle, settled) = (MAX_IDLE_SESSIONS as usize, 2 * count);
    (settled + 1) * (settled + 1) * (idle + 1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_agent_that_repeats_itself_ends_as_stuck((count, behaviours) in behaviours(4)) {
        let all_complete = behaviours.iter().all(|behaviour| matches!(behaviour.ending, SessionEnding::Completes));
        let shown = format!("{behaviours:?}");
        let (outcome, sessions) = run(count, move |number| script(&behaviours[number % behaviours.len()], number));
        // Outages have their own bound: pauses of five minutes within two hours.
        prop_assert!(sessions <= most_sessions(count) * 10 + 300, "{sessions} sessions: {shown}");
        if all_complete {
            let ended = matches!(outcome, RunOutcome::Stuck { .. } | RunOutcome::AllPassed | RunOutcome::AllBlocked);
            prop_assert!(ended, "{outcome:?}: {shown}");
        }
    }

    #[test]
    fn an_agent_that_acts_at_random_ends_too((count, behaviours) in behaviours(60), seed: u64) {
        let (_, sessions) = run(count, move |number| {
            let at = (number as u64).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed) >> 33;
            script(&behaviours[usize::try_from(at).expect("small") % behaviours.len()], number)
        });
        prop_assert!(sessions <= most_sessions(count) * 10 + 300, "{sessions} sessions");
    }
}

#[test]
fn a_claim_that_is_refused_again_and_again_is_stuck() {
    let refusing = |number| session().spends(0.1).finds("A", refused(number)).completes();
    let (outcome, sessions) = run(1, refusing);
    assert_eq!((outcome, sessions), (RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() }, 10));
}

#[test]
fn passed_and_pending_in_turn_is_stuck() {
    let in_turn = |number| {
        let status = if number % 2 == 0 { Passed } else { Pending };
        session().sets("A", status).completes()
    };
    let (outcome, sessions) = run(2, in_turn);
    assert_eq!((outcome, sessions), (RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() }, 11));
}

#[test]
fn a_cycle_longer_than_the_idle_limit_is_stuck_too() {
    let next_one = |number: usize| {
        let (now, before) = (IDS[number % 12], IDS[(number + 11) % 12]);
        session().sets(before, Pending).sets(now, Passed).completes()
    };
    let (outcome, sessions) = run(12, next_one);
    assert_eq!(outcome, RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() });
    assert_eq!(sessions, 22, "twelve new sets, then ten that occurred before");
}

/// A refused claim of a passed deliverable makes it pending, so both cases lead here.
#[test]
fn a_service_that_keeps_failing_after_a_reply_is_stuck() {
    let (outcome, _) = run(1, |_| session().spends(0.1).finds_service_unavailable());
    assert_eq!(outcome, RunOutcome::Stuck { idle_sessions: 10, tried: Vec::new() });
}
