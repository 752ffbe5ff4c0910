//! The contracts of the seed's Coordination section, each quoted, on harnesses that end in a given order.

use autonoe_harness::handle::{HarnessResult, HarnessStatus};
use serde_json::Value;

use super::strategy_for;
use crate::aggregated_result::AggregatedResult;
use crate::coordination_strategy::CoordinationStrategy;
use crate::fleet_file::{StrategySettings, VoteSelection};
use crate::strategy::{FleetMember, HarnessManager, StartSetup};

fn member(id: &str, depends: &[&str]) -> FleetMember {
    FleetMember {
        id: id.to_owned(),
        depends: depends.iter().map(|id| (*id).to_owned()).collect(),
        status: HarnessStatus::Pending,
        checked_tasks: 2,
        result: None,
    }
}

fn result(id: &str, success: bool) -> HarnessResult {
    HarnessResult {
        success,
        tasks_completed: 2,
        tasks_verified: if success { 2 } else { 0 },
        progress: if success { 1.0 } else { 0.5 },
        execution_seconds: 1.0,
        cost_usd: Some(0.5),
        output: format!("{id} said this"),
        ..HarnessResult::unsuccessful(id, (!success).then(|| "It broke.".to_owned()))
    }
}

/// Harnesses end in the order in which `ends` names them, once they run.
struct Plays {
    members: Vec<FleetMember>,
    ends: Vec<HarnessResult>,
    places: usize,
    /// Harnesses that end at the same moment.
    at_once: usize,
    ended: Vec<String>,
    started: Vec<(String, StartSetup)>,
    stopped: Vec<String>,
    most_at_once: usize,
}

impl Plays {
    fn new(members: &[FleetMember], ends: &[HarnessResult]) -> Self {
        Self {
            members: members.to_vec(),
            ends: ends.to_vec(),
            places: 10,
            at_once: 1,
            ended: Vec::new(),
            started: Vec::new(),
            stopped: Vec::new(),
            most_at_once: 0,
        }
    }

    fn running(&self) -> usize {
        self.members.iter().filter(|member| member.status == HarnessStatus::Running).count()
    }

    fn settle(&mut self, id: &str, status: HarnessStatus, result: HarnessResult) {
        let member = self.members.iter_mut().find(|member| member.id == id).expect("known");
        assert!(member.result.is_none(), "{id} ends once");
        (member.status, member.result) = (status, Some(result));
        self.ended.push(id.to_owned());
    }

    fn started(&self) -> Vec<&str> {
        self.started.iter().map(|(id, _)| id.as_str()).collect()
    }
}

impl HarnessManager for Plays {
    type Error = ();

    fn members(&self) -> &[FleetMember] {
        &self.members
    }

    fn has_place(&self) -> bool {
        self.running() < self.places
    }

    fn start(&mut self, id: &str, setup: StartSetup) -> Result<(), ()> {
        self.started.push((id.to_owned(), setup));
        let member = self.members.iter_mut().find(|member| member.id == id).expect("known");
        assert_eq!(member.status, HarnessStatus::Pending, "{id} starts once");
        member.status = HarnessStatus::Running;
        self.most_at_once = self.most_at_once.max(self.running());
        Ok(())
    }

    fn skip(&mut self, id: &str, why: &str) -> Result<(), ()> {
        self.settle(
            id,
            HarnessStatus::Stopped,
            HarnessResult { error: Some(why.to_owned()), ..result(id, false) },
        );
        Ok(())
    }

    fn stop(&mut self, ids: &[String], _: &str) -> Result<(), ()> {
        for id in ids {
            self.stopped.push(id.clone());
            self.settle(id, HarnessStatus::Stopped, result(id, false));
        }
        Ok(())
    }

    fn take_ended(&mut self) -> Result<Option<String>, ()> {
        Ok((!self.ended.is_empty()).then(|| self.ended.remove(0)))
    }

    fn wait(&mut self) -> Result<bool, ()> {
        for _ in 0..self.at_once {
            let is_running = |id: &str| {
                self.members.iter().any(|member| member.id == id && member.status == HarnessStatus::Running)
            };
            let Some(place) = self.ends.iter().position(|end| is_running(&end.harness_id)) else {
                break;
            };
            let end = self.ends.remove(place);
            let status = if end.success { HarnessStatus::Completed } else { HarnessStatus::Failed };
            self.settle(&end.harness_id.clone(), status, end);
        }
        Ok(!self.ended.is_empty())
    }
}

fn play(settings: &StrategySettings, plays: &mut Plays) -> AggregatedResult {
    strategy_for(settings).execute(plays).expect("played")
}

fn settings(coordination: CoordinationStrategy) -> StrategySettings {
    StrategySettings::new(coordination)
}

fn winner(result: &AggregatedResult) -> Option<&str> {
    result.winner.as_ref().map(|winner| winner.harness_id.as_str())
}

#[test]
fn each_strategy_has_its_type() {
    // "@property strategy_type: Type of this strategy."; PARALLEL = "parallel", PIPELINE = "pipeline", RACE = "race", VOTING = "voting"
    for (strategy, name) in
        CoordinationStrategy::ALL.into_iter().zip(["parallel", "pipeline", "race", "voting"])
    {
        assert_eq!(strategy_for(&settings(strategy)).strategy_type(), strategy);
        assert_eq!(strategy.name(), name);
        assert_eq!(serde_json::to_value(strategy).expect("JSON"), name);
    }
}

#[test]
fn an_aggregated_result_has_the_fields_of_the_contract() {
    // "AggregatedResult: strategy, success, results, winner: For RACE/VOTING, aggregated_output"
    let mut plays =
        Plays::new(&[member("a", &[]), member("b", &[])], &[result("b", true), result("a", true)]);
    let result = play(&settings(CoordinationStrategy::Parallel), &mut plays);
    let json = serde_json::to_value(&result).expect("JSON");
    assert_eq!(
        (&json["strategy"], &json["success"], &json["winner"]),
        (&"parallel".into(), &true.into(), &Value::Null)
    );
    assert_eq!(
        result.results.iter().map(|result| result.harness_id.as_str()).collect::<Vec<_>>(),
        ["b", "a"]
    );
    // "winner: Optional[HarnessResult] = None"; "aggregated_output: Optional[str] = None"; "started_at, completed_at"
    for field in ["winner", "aggregated_output", "started_at", "completed_at"] {
        assert_eq!(json.get(field), Some(&Value::Null), "{field}");
    }
}

#[test]
fn execute_gives_all_results_and_the_winner() {
    // "Execute coordination strategy on handles. manager: HarnessManager for control operations"
    // "Returns: AggregatedResult with all results and winner (if applicable)"
    let members = [member("a", &[]), member("b", &[])];
    for (strategy, expected) in
        CoordinationStrategy::ALL.into_iter().zip([None, Some("b"), Some("a"), Some("a")])
    {
        let mut plays = Plays::new(&members, &[result("a", true), result("b", true)]);
        // Both end before anything is decided.
        plays.at_once = 2;
        let done = strategy_for(&settings(strategy)).execute(&mut plays).expect("executed");
        assert_eq!((done.success, done.results.len()), (true, 2), "{}", strategy.name());
        assert_eq!(winner(&done), expected, "{}", strategy.name());
    }
}

#[test]
fn on_harness_complete_is_called_when_a_harness_completes() {
    // "Called when a harness completes."
    let members = [member("a", &[]), member("b", &[])];
    let mut race = strategy_for(&settings(CoordinationStrategy::Race));
    race.on_harness_complete(&members[0], &result("a", false));
    race.on_harness_complete(&members[1], &result("b", true));
    let done = race.aggregate(&members, vec![result("a", false), result("b", true)]);
    assert_eq!(winner(&done), Some("b"));
    // By the one loop: once each, and for all that ended at the same moment before others are terminated.
    let mut plays = Plays::new(&members, &[result("a", false), result("b", true)]);
    plays.at_once = 2;
    let done = play(&settings(CoordinationStrategy::Race), &mut plays);
    assert_eq!((winner(&done), done.results.len(), plays.stopped.len()), (Some("b"), 2, 0));
}

#[test]
fn should_terminate_others_is_asked_of_each_strategy() {
    // "Return True if remaining harnesses should be terminated."; "Never (False)", "On failure (True)", "Always (True)", "When enough votes"
    let [a, b] = [member("a", &[]), member("b", &[])];
    let ended = |success| FleetMember { result: Some(result("a", success)), ..a.clone() };
    let asked = |settings: &StrategySettings, success: bool| {
        let mut strategy = strategy_for(settings);
        strategy.on_harness_complete(&a, &result("a", success));
        strategy.should_terminate_others(&ended(success), &[&b])
    };
    let of = |coordination| settings(coordination);
    let one_vote = StrategySettings { min_votes: 1, ..of(CoordinationStrategy::Voting) };
    for (settings, after_success, after_failure) in [
        (of(CoordinationStrategy::Parallel), false, false),
        (of(CoordinationStrategy::Pipeline), false, true),
        // "Always", but for one that has failed: it has not won.
        (of(CoordinationStrategy::Race), true, false),
        (one_vote, true, false),
    ] {
        let name = settings.coordination.name();
        assert_eq!(asked(&settings, true), after_success, "{name}");
        assert_eq!(asked(&settings, false), after_failure, "{name}");
    }
    // Two votes cannot be reached any more.
    assert!(asked(&of(CoordinationStrategy::Voting), false));
}

#[test]
fn parallel_waits_for_all_and_never_terminates_others() {
    // "PARALLEL | Wait for all | Never (False)"
    let members = [member("a", &[]), member("b", &[]), member("c", &[])];
    let ends = [result("b", false), result("a", true), result("c", true)];
    let mut plays = Plays::new(&members, &ends);
    let result = play(&settings(CoordinationStrategy::Parallel), &mut plays);
    assert_eq!((result.success, result.results.len(), plays.stopped.len()), (false, 3, 0));
    assert_eq!(result.summary, "1 of 3 harnesses did not succeed: b.");
    let mut plays = Plays::new(&members, &ends);
    plays.places = 1;
    play(&settings(CoordinationStrategy::Parallel), &mut plays);
    assert_eq!((plays.started(), plays.most_at_once), (vec!["a", "b", "c"], 1), "the limit is kept");
}

#[test]
fn parallel_with_fail_fast_stops_the_others() {
    // "parallel{fail_fast=false}: success = all succeeded (fail_fast: no failure seen); fail_fast sends stop to the others"
    let ends = [result("b", false), result("a", true)];
    let mut plays = Plays::new(&[member("a", &[]), member("b", &[]), member("c", &["b"])], &ends);
    let fail_fast = StrategySettings { fail_fast: true, ..settings(CoordinationStrategy::Parallel) };
    let result = play(&fail_fast, &mut plays);
    assert_eq!((result.success, plays.stopped), (false, vec!["a".to_owned(), "c".to_owned()]));
}

#[test]
fn parallel_follows_dependencies_and_names_what_cannot_run() {
    // "ready = deps ⊆ completed and not running/completed; blocked = deps ∩ failed ≠ ∅"
    let members = [
        member("web", &["api"]),
        member("api", &[]),
        member("bad", &[]),
        member("x", &["bad"]),
        member("y", &["x"]),
    ];
    let ends = [result("bad", false), result("api", true), result("web", true)];
    let mut plays = Plays::new(&members, &ends);
    let result = play(&settings(CoordinationStrategy::Parallel), &mut plays);
    assert_eq!(plays.started(), ["api", "bad", "web"]);
    assert_eq!(plays.started[2].1.builds_on, ["api"]);
    let why = |id: &str| result.of(id).and_then(|result| result.error.clone()).expect(id);
    assert_eq!(
        (why("x").as_str(), why("y").as_str()),
        ("it waits for bad, which has failed", "it waits for x, which has failed")
    );
}

#[test]
fn pipeline_executes_sequentially_and_hands_context_on() {
    // "PIPELINE | Execute sequentially | On failure (True)"; "a real pipeline must spawn lazily"
    let members = [member("plan", &[]), member("build", &[]), member("test", &[])];
    let ends = ["plan", "build", "test"].map(|id| result(id, true));
    let with_context = StrategySettings {
        initial_context: Some("Use Rust.".to_owned()),
        ..settings(CoordinationStrategy::Pipeline)
    };
    let mut plays = Plays::new(&members, &ends);
    let done = play(&with_context, &mut plays);
    assert_eq!((plays.started(), plays.most_at_once), (vec!["plan", "build", "test"], 1));
    assert_eq!((done.success, winner(&done)), (true, Some("test")), "winner = last");
    let [(_, plan), (_, build), (_, test)] = &plays.started[..] else { panic!("three") };
    assert_eq!((plan.context.as_deref(), plan.builds_on.len()), (Some("Use Rust."), 0));
    assert_eq!(
        (&build.builds_on[..], &test.builds_on[..]),
        (&["plan".to_owned()][..], &["build".to_owned()][..])
    );
    // "Context from previous pipeline stages: + JSON {previous_stage{harness_id, stage_number, output, metrics}, stage_outputs{id:{output,success}}}"
    let text = test.context.as_deref().expect("context");
    let json: Value =
        serde_json::from_str(text.strip_prefix("Context from previous pipeline stages:\n").expect(text))
            .expect("JSON");
    assert_eq!(
        (&json["previous_stage"]["harness_id"], &json["previous_stage"]["stage_number"]),
        (&"build".into(), &2.into())
    );
    assert_eq!(json["previous_stage"]["metrics"]["tasks_completed"], 2);
    assert_eq!(
        json["stage_outputs"]["plan"],
        serde_json::json!({ "output": "plan said this", "success": true })
    );
    // "aggregated_output = stage_outputs JSON"
    let outputs: Value = serde_json::from_str(&done.aggregated_output.expect("output")).expect("JSON");
    assert_eq!(outputs["test"]["output"], "test said this");
}

#[test]
fn pipeline_stops_on_failure_unless_the_file_says_otherwise() {
    let members = [member("plan", &[]), member("build", &[]), member("test", &[])];
    let ends = [result("plan", true), result("build", false), result("test", true)];
    let mut plays = Plays::new(&members, &ends);
    let failed = play(&settings(CoordinationStrategy::Pipeline), &mut plays);
    assert_eq!((failed.success, winner(&failed), plays.started()), (false, None, vec!["plan", "build"]));
    assert_eq!(plays.stopped, ["test"]);
    assert_eq!(failed.summary, "The stage build did not succeed.");
    let continues = StrategySettings {
        stop_on_failure: false,
        pass_context: false,
        ..settings(CoordinationStrategy::Pipeline)
    };
    let mut plays = Plays::new(&members, &ends);
    let failed = play(&continues, &mut plays);
    // "success = every stage ran and succeeded"
    assert_eq!((failed.success, plays.started()), (false, vec!["plan", "build", "test"]));
    assert_eq!(
        (&plays.started[2].1.context, &plays.started[2].1.builds_on[..]),
        (&None, &["plan".to_owned()][..])
    );
}

#[test]
fn race_waits_for_the_first_whose_checks_pass() {
    // "RACE | Wait for first | Always (True)"; "first whose checks pass wins; failed finishers do not"
    let members = [member("a", &[]), member("b", &[]), member("c", &[]), member("d", &[])];
    let claimed = HarnessResult { tasks_verified: 1, ..result("b", true) };
    let ends = [result("a", false), claimed, result("c", true), result("d", true)];
    let mut plays = Plays::new(&members, &ends);
    let done = play(&settings(CoordinationStrategy::Race), &mut plays);
    assert_eq!((done.success, winner(&done), plays.stopped), (true, Some("c"), vec!["d".to_owned()]));
    assert_eq!(done.summary, "c has won: its checks passed first.");
    let mut plays = Plays::new(&members[..2], &[result("a", false), result("b", false)]);
    let nobody = play(&settings(CoordinationStrategy::Race), &mut plays);
    assert_eq!((nobody.success, winner(&nobody)), (false, None));
    assert_eq!(nobody.summary, "Nobody has won: the checks of none of 2 harnesses passed.");
}

#[test]
fn race_honours_min_progress_and_terminate_losers() {
    // "race{min_progress_to_win=.8, terminate_losers=true}"; "Rebuild: ignore failed finishers, honour min_progress"
    let members = [member("a", &[]), member("b", &[]), member("c", &[]), member("d", &[])];
    let early = HarnessResult { progress: 0.79, ..result("a", true) };
    let ends =
        [early, HarnessResult { progress: 0.8, ..result("b", true) }, result("c", true), result("d", true)];
    let lets_run = StrategySettings { terminate_losers: false, ..settings(CoordinationStrategy::Race) };
    let mut plays = Plays::new(&members, &ends);
    plays.places = 3;
    let done = play(&lets_run, &mut plays);
    assert_eq!((winner(&done), plays.stopped.len(), done.results.len()), (Some("b"), 0, 4));
    assert_eq!(done.of("c").map(|result| result.success), Some(true), "it was not stopped");
    assert_eq!(plays.started(), ["a", "b", "c", "d"], "a place was free before there was a winner");
}

#[test]
fn voting_waits_for_min_votes_of_checked_results() {
    // "VOTING | Wait for min_votes | When enough votes"
    let members = ["a", "b", "c", "d", "e"].map(|id| member(id, &[]));
    let claimed = HarnessResult { tasks_verified: 0, ..result("b", true) };
    let ends = [result("a", true), claimed, result("c", false), result("d", true), result("e", true)];
    let mut plays = Plays::new(&members, &ends);
    let done = play(&settings(CoordinationStrategy::Voting), &mut plays);
    assert_eq!((done.success, winner(&done), plays.stopped), (true, Some("a"), vec!["e".to_owned()]));
    assert_eq!(done.summary, "2 harnesses passed their checks; a was chosen by first.");
}

#[test]
fn a_vote_that_ended_at_the_same_moment_as_a_failure_counts() {
    let members = ["a", "b", "c"].map(|id| member(id, &[]));
    let ends = [result("a", false), result("b", true), result("c", true)];
    let mut plays = Plays { at_once: 2, ..Plays::new(&members, &ends) };
    let done = play(&settings(CoordinationStrategy::Voting), &mut plays);
    assert_eq!((done.success, winner(&done), plays.stopped), (true, Some("b"), Vec::new()));
}

#[test]
fn voting_does_not_succeed_with_fewer_votes() {
    // "stops early if votes can no longer be reached; ⚠ succeeds with fewer than min_votes" is not repeated here: min_votes is enforced.
    let members = ["a", "b", "c"].map(|id| member(id, &[]));
    let ends = [result("a", true), result("b", false), result("c", false)];
    let three = StrategySettings { min_votes: 3, ..settings(CoordinationStrategy::Voting) };
    let mut plays = Plays::new(&members, &ends);
    let failed = play(&three, &mut plays);
    assert_eq!((failed.success, winner(&failed), plays.stopped), (false, None, vec!["c".to_owned()]));
    assert_eq!(failed.summary, "3 of 3 harnesses must pass their checks; 1 did.");
}

#[test]
fn voting_chooses_by_its_criterion_and_names_ties() {
    // "selection_criteria=first|best_progress|best_tests|lowest_failures|fastest"
    let members = ["a", "b", "c"].map(|id| member(id, &[]));
    let a = HarnessResult { tasks_failed: 2, execution_seconds: 5.0, progress: 0.9, ..result("a", true) };
    let b = HarnessResult { tasks_failed: 1, execution_seconds: 9.0, tasks_verified: 4, ..result("b", true) };
    let c = HarnessResult { tasks_failed: 1, execution_seconds: 5.0, tasks_verified: 3, ..result("c", true) };
    for (selection, expected, tied) in [
        (VoteSelection::First, "a", ""),
        (VoteSelection::BestProgress, "b", "c"),
        (VoteSelection::BestTests, "b", ""),
        (VoteSelection::LowestFailures, "b", "c"),
        (VoteSelection::Fastest, "a", "c"),
    ] {
        let by = StrategySettings {
            selection_criteria: selection,
            min_votes: 3,
            ..settings(CoordinationStrategy::Voting)
        };
        let mut plays = Plays::new(&members, &[a.clone(), b.clone(), c.clone()]);
        let done = play(&by, &mut plays);
        assert_eq!(
            (winner(&done), done.tied.join(",").as_str()),
            (Some(expected), tied),
            "{}",
            selection.name()
        );
        assert_eq!(done.summary.contains("is tied with"), !tied.is_empty(), "{}", done.summary);
    }
}

#[test]
fn a_supervisor_that_starts_again_reports_earlier_ends_first() {
    // Nothing is started before it is known that a race is over.
    let mut members = [member("a", &[]), member("b", &[]), member("c", &[])];
    members[0].status = HarnessStatus::Completed;
    members[0].result = Some(result("a", true));
    let mut plays = Plays::new(&members, &[]);
    plays.ended.push("a".to_owned());
    let done = play(&settings(CoordinationStrategy::Race), &mut plays);
    assert_eq!(
        (winner(&done), plays.started().len(), plays.stopped),
        (Some("a"), 0, vec!["b".to_owned(), "c".to_owned()])
    );
}
