//! Real processes under a supervisor, which is killed at every point.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use autonoe_core::money::Usd;
use autonoe_harness::control::{BackendLoss, HarnessDirectory, LoopStatus, LostBackend, StatusFile};
use autonoe_harness::handle::HarnessStatus;

use super::{FleetEvent, FleetOutcome, Supervisor, WakeUp};
use crate::aggregated_result::AggregatedResult;
use crate::fleet_file::{FleetFile, SubHarness};
use crate::fleet_host::{AtHome, FleetHost, FleetPoint, HomeBranch, HomeComing, PrepareError};
use crate::meta_state::{FleetRow, MetaState, Request};

/// Waits to be released, notes that it has begun, does what it is for, and writes its last status.
const PROLOGUE: &str = "read line && [ \"$line\" = begin ] || exit 0; echo $$ >> begun; cp running.json .harness/$ID/status.json; ";

/// Harnesses that are shell scripts.
struct ShellHost {
    project: tempfile::TempDir,
    scripts: HashMap<String, String>,
    /// Where to be killed, and at which hit.
    kill_at: RefCell<Option<(FleetPoint, u32)>>,
    events: RefCell<Vec<FleetEvent>>,
    homes: RefCell<Vec<String>>,
    /// The user's repository cannot be written.
    is_locked: Cell<bool>,
    /// Backends with which each harness was started.
    backends: RefCell<Vec<String>>,
}

impl ShellHost {
    fn new(scripts: &[(&str, &str)]) -> Self {
        let scripts = scripts.iter().map(|(id, script)| ((*id).to_owned(), (*script).to_owned())).collect();
        Self {
            project: tempfile::tempdir().expect("directory"),
            scripts,
            kill_at: RefCell::default(),
            events: RefCell::default(),
            homes: RefCell::default(),
            is_locked: Cell::default(),
            backends: RefCell::default(),
        }
    }

    fn directory(&self, id: &str) -> PathBuf {
        self.project.path().join("clones").join(id)
    }

    fn path(&self, id: &str, file: &str) -> PathBuf {
        self.directory(id).join(file)
    }

    /// Processes of a harness that did something.
    fn begun(&self, id: &str) -> usize {
        fs::read_to_string(self.path(id, "begun")).unwrap_or_default().lines().count()
    }

    fn run(
        &self,
        plan: &FleetFile,
        wake_up: &WakeUp,
        on_event: impl Fn(&FleetEvent),
    ) -> Result<(FleetOutcome, AggregatedResult), String> {
        let record = |event: &FleetEvent| {
            self.events.borrow_mut().push(event.clone());
            on_event(event);
        };
        let checked: Vec<u32> = plan.harnesses.iter().map(|_| 1).collect();
        let supervisor = Supervisor::open(self.project.path(), plan, &checked, self, wake_up, &record);
        supervisor.and_then(Supervisor::run).map_err(|error| error.to_string())
    }

    fn simply(&self, plan: &FleetFile) -> (FleetOutcome, AggregatedResult) {
        self.run(plan, &WakeUp::new().expect("a pipe"), |_| {}).expect("it ran")
    }

    /// How many harnesses ran at the same time at most.
    fn most_at_once(&self) -> usize {
        let (mut now, mut most) = (0usize, 0);
        for event in self.events.borrow().iter() {
            match event {
                FleetEvent::HarnessStarted { .. } => now += 1,
                FleetEvent::HarnessEnded { .. } => now = now.saturating_sub(1),
                _ => {}
            }
            most = most.max(now);
        }
        most
    }
}

fn write_status(path: &Path, status: LoopStatus) {
    let file = StatusFile {
        status,
        tasks_total: 2,
        tasks_completed: if status == LoopStatus::Complete { 2 } else { 1 },
        tasks_verified: if status == LoopStatus::Complete { 1 } else { 0 },
        cost_usd: Some(0.5),
        ..StatusFile::default()
    };
    fs::write(path, serde_json::to_string(&file).expect("JSON")).expect("written");
}

impl FleetHost for ShellHost {
    fn prepare(
        &self,
        _: &FleetRow,
        harness: &SubHarness,
        _: &[HomeBranch],
        over: &[PathBuf],
    ) -> Result<PathBuf, PrepareError> {
        if self.scripts[&harness.id].starts_with("# large") && over.is_empty() {
            return Err(PrepareError::NoSpace("There is no space.".to_owned()));
        }
        let directory = self.directory(&harness.id);
        HarnessDirectory::create(self.project.path(), "unused").expect("made");
        fs::create_dir_all(&directory).expect("made");
        for (name, status) in [
            ("running.json", LoopStatus::Running),
            ("complete.json", LoopStatus::Complete),
            ("failed.json", LoopStatus::Failed),
            ("stopped.json", LoopStatus::Stopped),
        ] {
            write_status(&directory.join(name), status);
        }
        for (name, lost) in [("quota.json", BackendLoss::Quota), ("login.json", BackendLoss::Login)] {
            let lost = LostBackend { backend: "codex".to_owned(), lost, resets_at: None };
            let file = StatusFile {
                status: LoopStatus::Failed,
                current_cli: Some("codex".to_owned()),
                lost_backends: vec![lost],
                ..StatusFile::default()
            };
            fs::write(directory.join(name), serde_json::to_string(&file).expect("JSON")).expect("written");
        }
        match self.scripts[&harness.id].as_str() {
            "unprepared" => Err(PrepareError::Other("The disk is broken.".to_owned())),
            _ => Ok(directory),
        }
    }

    fn command(&self, harness: &SubHarness, working_dir: &Path, max_cost: Option<Usd>) -> Command {
        let mut command = Command::new("/bin/sh");
        let end = "end() { cp $1.json .harness/$ID/new && mv .harness/$ID/new .harness/$ID/status.json; exit $2; }; ";
        command.args(["-c", &format!("{end}{PROLOGUE}{}", self.scripts[&harness.id])]);
        command.current_dir(working_dir).env("ID", &harness.id);
        self.backends.borrow_mut().push(format!("{}: {}", harness.id, harness.cli.join(",")));
        command.env("MAX_COST", max_cost.map(|cost| cost.to_string()).unwrap_or_default());
        command
    }

    fn spent(&self, _: &Path) -> Option<Usd> {
        Some(Usd(0.25))
    }

    fn bring_home(&self, _: &FleetRow, harness: &SubHarness) -> HomeComing {
        if self.is_locked.get() {
            return Err("It cannot be written.".to_owned());
        }
        self.homes.borrow_mut().push(harness.id.clone());
        let branch = format!("autonoe/test/{}", harness.id);
        let unfinished = (harness.id == "unfinished").then(|| format!("{branch}-rest"));
        let passed = Some(HomeBranch { branch, commit: "c".repeat(40), note: None });
        Ok(AtHome { passed, unfinished })
    }

    fn merge_all(&self, _: &FleetRow, branches: &[HomeBranch]) -> Result<HomeBranch, String> {
        let branch = format!("merged-{}", branches.len());
        Ok(HomeBranch { branch, commit: "m".repeat(40), note: None })
    }

    fn checkpoint(&self, point: FleetPoint) -> Result<(), String> {
        let mut kill_at = self.kill_at.borrow_mut();
        let Some((wanted, hits)) = kill_at.as_mut().filter(|(wanted, _)| *wanted == point) else {
            return Ok(());
        };
        *hits -= 1;
        match *hits {
            0 => Err(format!("killed at {wanted:?}")),
            _ => Ok(()),
        }
    }
}

fn plan(strategy: &str, harnesses: &[(&str, &str)]) -> FleetFile {
    let harnesses: String =
        harnesses.iter().map(|(id, depends)| format!("### {id}\nroadmap: r.md\n{depends}\n")).collect();
    let text = format!("# Test\n## Strategy\n{strategy}\n## Sub-Harnesses\n{harnesses}");
    FleetFile::parse(&text, &["claude", "codex"], &mut |_| Ok(1)).expect("valid").0
}

#[test]
fn harnesses_run_in_order_and_the_limit_is_kept() {
    let host = ShellHost::new(&[
        ("a", "end complete 0"),
        ("b", "end complete 0"),
        ("c", "end complete 0"),
        ("d", "end failed 3"),
        ("e", "end complete 0"),
    ]);
    let plan = plan(
        "coordination: parallel\nmax_concurrent: 2",
        &[("a", "depends: b"), ("b", ""), ("c", ""), ("d", ""), ("e", "depends: d")],
    );
    let (outcome, result) = host.simply(&plan);
    assert_eq!((outcome, result.success), (FleetOutcome::Failed, false));
    assert_eq!(host.most_at_once(), 2);
    assert_eq!(["a", "b", "c", "d"].map(|id| host.begun(id)), [1; 4]);
    assert_eq!(host.begun("e"), 0);
    assert_eq!(
        result.of("e").and_then(|result| result.error.as_deref()),
        Some("It was not started: it waits for d, which has failed.")
    );
    assert_eq!(result.of("a").map(|result| (result.success, result.tasks_verified)), Some((true, 1)));
    let rows =
        MetaState::find(host.project.path()).expect("state").expect("there").harnesses().expect("rows");
    let statuses: Vec<HarnessStatus> = rows.iter().map(|row| row.status).collect();
    assert_eq!(
        statuses,
        [
            HarnessStatus::Completed,
            HarnessStatus::Completed,
            HarnessStatus::Completed,
            HarnessStatus::Failed,
            HarnessStatus::Stopped
        ]
    );
    assert_eq!(rows[0].home.as_ref().map(|home| home.branch.as_str()), Some("autonoe/test/a"));
}

#[test]
fn a_harness_without_space_waits_for_another_one_to_end() {
    let host = ShellHost::new(&[("a", "sleep 0.3; end complete 0"), ("b", "# large\nend complete 0")]);
    let members = [("a", ""), ("b", "")];
    let (outcome, _) = host.simply(&plan("coordination: parallel", &members));
    assert_eq!((outcome, host.begun("a"), host.begun("b")), (FleetOutcome::Succeeded, 1, 1));
    let warnings = host
        .events
        .borrow()
        .iter()
        .filter_map(|event| match event {
            FleetEvent::Warning { message } => Some(message.clone()),
            _ => None,
        })
        .collect::<Vec<_>>();
    assert_eq!(warnings, ["b waits until another harness has ended: There is no space."]);
    // If nothing runs that could end, it has failed.
    let host = ShellHost::new(&[("b", "# large\nend complete 0")]);
    let (outcome, result) = host.simply(&plan("coordination: parallel", &[("b", "")]));
    assert_eq!(outcome, FleetOutcome::Failed);
    assert_eq!(result.of("b").and_then(|result| result.error.as_deref()), Some("There is no space."));
}

#[test]
fn money_is_reserved_for_each_harness_and_what_is_left_goes_to_the_next() {
    let spends = "echo $MAX_COST >> limit; end complete 0";
    let killed_once = "echo $MAX_COST >> limit; [ $(wc -l < begun) = 2 ] && end complete 0; kill -9 $$";
    let host = ShellHost::new(&[("a", spends), ("b", killed_once), ("c", spends), ("d", spends)]);
    let settings = "coordination: parallel\nmax_concurrent: 1\nmax_cost: $4";
    let members = [("a", ""), ("b", ""), ("c", ""), ("d", "")];
    let (outcome, _) = host.simply(&plan(settings, &members));
    assert_eq!(outcome, FleetOutcome::Succeeded);
    let limit = |id: &str| fs::read_to_string(host.directory(id).join("limit")).expect("it ran");
    // A process that continues has what the one before it had.
    assert_eq!(["a", "b", "c", "d"].map(limit), ["$1.00\n", "$1.17\n$1.17\n", "$1.50\n", "$2.50\n"]);

    // What one has spent that was killed is spent, also if it has not said so.
    let host = ShellHost::new(&[("a", "kill -9 $$"), ("b", spends)]);
    let settings = "coordination: parallel\nmax_concurrent: 1\nmax_cost: $2\nretry_failed: false";
    let (_, result) = host.simply(&plan(settings, &[("a", ""), ("b", "")]));
    assert_eq!(result.of("a").and_then(|result| result.cost_usd), Some(0.25));
    assert_eq!(fs::read_to_string(host.directory("b").join("limit")).expect("it ran"), "$1.75\n");

    let host = ShellHost::new(&[("a", spends), ("b", spends), ("c", spends)]);
    let settings = "coordination: parallel\nmax_concurrent: 1\nmax_cost: 0.75";
    let (outcome, result) = host.simply(&plan(settings, &[("a", ""), ("b", ""), ("c", "")]));
    assert_eq!((outcome, host.begun("c")), (FleetOutcome::Failed, 0));
    let why = result.of("c").and_then(|result| result.error.as_deref()).unwrap_or_default();
    assert!(why.starts_with("Less than a cent of the fleet's money is left"), "{why}");
}

#[test]
fn a_harness_that_is_killed_is_started_again_but_not_for_ever() {
    let once = "[ $(wc -l < begun) = 2 ] && end complete 0; kill -9 $$";
    let host = ShellHost::new(&[
        ("a", once),
        ("b", "kill -9 $$"),
        ("c", "exit 2"),
        ("d", "unprepared"),
        ("e", "echo 'error: no key'; exit 2"),
    ]);
    let plan = plan("coordination: parallel", &[("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", "")]);
    let (_, result) = host.simply(&plan);
    assert_eq!(["a", "b", "c"].map(|id| host.begun(id)), [2, 3, 1]);
    assert_eq!(result.of("a").map(|result| result.success), Some(true));
    let error = |id: &str| result.of(id).and_then(|result| result.error.clone()).expect(id);
    assert_eq!(error("b"), "Process was ended by signal 9");
    assert_eq!(
        (error("c").as_str(), error("d").as_str(), error("e").as_str()),
        ("Process exited with code 2", "The disk is broken.", "no key")
    );
}

/// Killed at every point, at each harness; the next supervisor goes on. Every harness does its work once.
#[test]
fn a_supervisor_that_is_killed_loses_nothing_and_starts_nothing_twice() {
    for point in FleetPoint::ALL {
        for hit in 1..=3 {
            let host =
                ShellHost::new(&[("a", "end complete 0"), ("b", "end complete 0"), ("c", "end complete 0")]);
            let plan = plan(
                "coordination: parallel\nmax_concurrent: 2",
                &[("a", ""), ("b", "depends: a"), ("c", "")],
            );
            *host.kill_at.borrow_mut() = Some((point, hit));
            let killed = host.run(&plan, &WakeUp::new().expect("a pipe"), |_| {}).expect_err("killed");
            assert!(killed.starts_with("killed at"), "{killed}");
            *host.kill_at.borrow_mut() = None;
            let (outcome, result) = host.simply(&plan);
            assert_eq!((outcome, result.results.len()), (FleetOutcome::Succeeded, 3), "{point:?} {hit}");
            assert_eq!(["a", "b", "c"].map(|id| host.begun(id)), [1; 3], "{point:?} {hit}");
            let state = MetaState::find(host.project.path()).expect("state").expect("there");
            let mut ends: Vec<Option<u32>> =
                state.harnesses().expect("rows").iter().map(|row| row.ended_as).collect();
            ends.sort_unstable();
            assert_eq!(ends, [Some(1), Some(2), Some(3)], "{point:?} {hit}");
        }
    }
}

#[test]
fn a_live_harness_is_adopted_and_its_end_is_noticed() {
    let host = ShellHost::new(&[("a", "while [ ! -e go ]; do sleep 0.02; done; end complete 0")]);
    let plan = plan("coordination: parallel", &[("a", "")]);
    *host.kill_at.borrow_mut() = Some((FleetPoint::Released, 1));
    host.run(&plan, &WakeUp::new().expect("a pipe"), |_| {}).expect_err("killed");
    *host.kill_at.borrow_mut() = None;
    let (outcome, _) = host
        .run(&plan, &WakeUp::new().expect("a pipe"), |event| {
            if let FleetEvent::HarnessAdopted { .. } = event {
                fs::write(host.path("a", "go"), "").expect("written");
            }
        })
        .expect("it ran");
    assert_eq!((outcome, host.begun("a")), (FleetOutcome::Succeeded, 1));
    assert!(host.events.borrow().iter().any(|event| matches!(event, FleetEvent::HarnessAdopted { .. })));
}

#[test]
fn a_number_that_now_is_another_process_is_not_taken_for_a_harness() {
    let host = ShellHost::new(&[("a", "end complete 0")]);
    let plan = plan("coordination: parallel", &[("a", "")]);
    *host.kill_at.borrow_mut() = Some((FleetPoint::Released, 1));
    host.run(&plan, &WakeUp::new().expect("a pipe"), |_| {}).expect_err("killed");
    *host.kill_at.borrow_mut() = None;
    let state = MetaState::find(host.project.path()).expect("state").expect("there");
    // Our own number, with the identity of a process before the last boot.
    state
        .record_process("a", std::process::id(), "another boot:1", jiff::Timestamp::now())
        .expect("recorded");
    state.record_released("a").expect("recorded");
    assert_eq!(host.simply(&plan).0, FleetOutcome::Succeeded);
}

#[test]
fn the_winner_of_a_race_stops_the_others_and_one_that_failed_first_has_not_won() {
    let waits = "while [ ! -e .harness/$ID/stop ]; do sleep 0.02; done; end stopped 130";
    let host = ShellHost::new(&[
        ("a", "end failed 3"),
        ("b", "sleep 0.2; end complete 0"),
        ("c", waits),
        ("d", "sleep 0.1; cp failed.json complete.json; end complete 0"),
    ]);
    let plan = plan("coordination: race", &[("a", ""), ("b", ""), ("c", ""), ("d", "")]);
    let (outcome, result) = host.simply(&plan);
    assert_eq!(
        (outcome, result.winner.as_ref().map(|winner| winner.harness_id.as_str())),
        (FleetOutcome::Succeeded, Some("b"))
    );
    assert_eq!(
        result.of("c").and_then(|result| result.error.as_deref()),
        Some("It was stopped: b has decided it.")
    );
    assert_eq!(fs::read_to_string(host.path("c", ".harness/c/stop")).expect("text"), "abort\n");
}

#[test]
fn a_pipeline_hands_on_by_the_inbox() {
    let host = ShellHost::new(&[
        ("plan", "end complete 0"),
        ("build", "cp .harness/build/inbox/*.txt got; end complete 0"),
    ]);
    let plan = plan("coordination: pipeline\ninitial_context: Use Rust.", &[("plan", ""), ("build", "")]);
    let (outcome, result) = host.simply(&plan);
    assert_eq!((outcome, host.most_at_once()), (FleetOutcome::Succeeded, 1));
    let first = fs::read_to_string(host.path("plan", ".harness/plan/inbox/001-context.txt")).expect("text");
    assert_eq!(first, "Use Rust.");
    let got = fs::read_to_string(host.path("build", "got")).expect("text");
    assert!(got.starts_with("Context from previous pipeline stages:\n") && got.contains("\"plan\""), "{got}");
    assert_eq!(result.winner.map(|winner| winner.harness_id), Some("build".to_owned()));
}

#[test]
fn people_stop_kill_and_pause() {
    let waits = "while [ ! -e .harness/$ID/stop ]; do sleep 0.02; done; end stopped 130";
    let host = ShellHost::new(&[("a", waits), ("b", "end complete 0"), ("c", "end complete 0")]);
    let asked = |wake_up: &WakeUp, event: &FleetEvent| {
        let state = MetaState::find(host.project.path()).expect("state").expect("there");
        match event {
            FleetEvent::FleetStarted { .. } => state.request_of("c", Request::Stop).expect("requested"),
            FleetEvent::HarnessStarted { id, .. } if id == "a" => wake_up.request_stop(),
            _ => {}
        }
    };
    let parallel = plan("coordination: parallel\nmax_concurrent: 1", &[("a", ""), ("b", ""), ("c", "")]);
    let wake_up = WakeUp::new().expect("a pipe");
    let (outcome, result) = host.run(&parallel, &wake_up, |event| asked(&wake_up, event)).expect("it ran");
    assert_eq!(outcome, FleetOutcome::Interrupted);
    let error = |id: &str| result.of(id).and_then(|result| result.error.clone()).expect(id);
    assert_eq!(error("a"), "It was stopped: the fleet was stopped.");
    assert_eq!(
        (error("b").as_str(), error("c").as_str()),
        ("It was not started: the fleet was stopped.", "It was stopped on request.")
    );

    // A harness that does not listen is killed at the second request.
    let host = ShellHost::new(&[("deaf", "trap '' TERM INT; while :; do sleep 0.1; done")]);
    let wake_up = WakeUp::new().expect("a pipe");
    let (outcome, result) = host
        .run(&plan("coordination: parallel", &[("deaf", "")]), &wake_up, |event| {
            if let FleetEvent::HarnessStarted { .. } = event {
                wake_up.request_stop();
                wake_up.request_stop();
            }
        })
        .expect("it ran");
    assert_eq!((outcome, result.success, host.begun("deaf") <= 1), (FleetOutcome::Interrupted, false, true));

    // Nothing starts while the fleet is paused.
    let host = ShellHost::new(&[("a", "end complete 0"), ("b", "end complete 0")]);
    let wake_up = WakeUp::new().expect("a pipe");
    let state = || MetaState::find(host.project.path()).expect("state").expect("there");
    let two = plan("coordination: parallel\nmax_concurrent: 1", &[("a", ""), ("b", "")]);
    let seen = std::sync::atomic::AtomicBool::new(false);
    let (outcome, _) = std::thread::scope(|scope| {
        let project = host.project.path().to_owned();
        let seen = &seen;
        scope.spawn(move || {
            while !seen.load(std::sync::atomic::Ordering::SeqCst) {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let state = MetaState::find(&project).expect("state").expect("there");
            assert_eq!(state.harnesses().expect("rows")[1].attempts, 0, "it waits");
            state.request(None).expect("resumed");
        });
        host.run(&two, &wake_up, |event| match event {
            FleetEvent::HarnessStarted { id, .. } if id == "a" => {
                state().request(Some(Request::Pause)).expect("paused")
            }
            FleetEvent::HarnessEnded { id, .. } if id == "a" => {
                seen.store(true, std::sync::atomic::Ordering::SeqCst)
            }
            _ => {}
        })
        .expect("it ran")
    });
    assert_eq!((outcome, host.begun("b")), (FleetOutcome::Succeeded, 1));
}

#[test]
fn a_fleet_has_a_time_limit_and_a_harness_too() {
    let waits = "while [ ! -e .harness/$ID/stop ]; do sleep 0.02; done; end stopped 130";
    let host = ShellHost::new(&[("a", waits)]);
    let mut limited = plan("coordination: parallel", &[("a", "")]);
    limited.settings.max_total_time = std::time::Duration::from_millis(1);
    assert_eq!(host.simply(&limited).0, FleetOutcome::TimedOut);
    let host = ShellHost::new(&[("a", waits)]);
    let mut limited = plan("coordination: parallel", &[("a", "")]);
    limited.settings.default_timeout = Some(std::time::Duration::from_millis(1));
    let (outcome, result) = host.simply(&limited);
    assert_eq!(
        (outcome, result.results[0].error.as_deref()),
        (FleetOutcome::Failed, Some("It was stopped, since it did not end within 0 s."))
    );
}

#[test]
fn the_results_are_merged_and_written_where_the_file_says() {
    let host = ShellHost::new(&[("a", "end complete 0"), ("b", "end failed 3"), ("c", "end complete 0")]);
    let mut merged = plan("coordination: parallel", &[("a", ""), ("b", ""), ("c", "")]);
    merged.aggregation.on_complete = crate::OnComplete::MergeAll;
    merged.aggregation.output_dir = Some("out".into());
    host.simply(&merged);
    let events = host.events.borrow();
    let Some(FleetEvent::FleetEnded { merged: Some(merged), .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(merged.branch, "merged-2");
    let text = fs::read_to_string(host.project.path().join("out/result.json")).expect("text");
    let result: AggregatedResult = serde_json::from_str(&text).expect("a result");
    assert_eq!(result.results.len(), 3);
}

fn warnings(host: &ShellHost) -> Vec<String> {
    let events = host.events.borrow();
    let warning = |event: &FleetEvent| match event {
        FleetEvent::Warning { message } => Some(message.clone()),
        _ => None,
    };
    events.iter().filter_map(warning).collect()
}

#[test]
fn what_has_not_passed_is_named_with_its_branch() {
    let plan = plan("coordination: parallel", &[("unfinished", "")]);
    let host = ShellHost::new(&[("unfinished", "end failed 3")]);
    let (_, result) = host.simply(&plan);
    let error = result.of("unfinished").and_then(|result| result.error.as_deref()).unwrap_or_default();
    assert!(error.ends_with("What has not passed is on branch autonoe/test/unfinished-rest."), "{error}");
}

#[test]
fn commits_that_cannot_come_home_are_on_record_and_nothing_builds_without_them() {
    let scripts = [("a", "end complete 0"), ("b", "end complete 0")];
    let plan = plan("coordination: parallel", &[("a", ""), ("b", "depends: a")]);
    let host = ShellHost::new(&scripts);
    host.is_locked.set(true);
    let (outcome, result) = host.simply(&plan);
    assert_eq!((outcome, result.success, host.begun("b")), (FleetOutcome::Failed, false, 0));
    assert_eq!(result.left_behind["a"], "It cannot be written.");
    assert!(result.summary.ends_with("The commits of a have not come home."), "{}", result.summary);
    let error = result.of("b").and_then(|result| result.error.as_deref());
    assert_eq!(
        error,
        Some("The commits of a, on which it builds, have not come home: It cannot be written.")
    );
    let rows = MetaState::find(host.project.path()).expect("state").expect("there").harnesses();
    let rows = rows.expect("rows");
    assert_eq!(
        (rows[0].left_behind.as_deref(), rows[0].status),
        (Some("It cannot be written."), HarnessStatus::Completed)
    );
    let left_behind =
        |event: &FleetEvent| matches!(event, FleetEvent::HarnessEnded { left_behind: Some(_), .. });
    assert!(host.events.borrow().iter().any(left_behind));

    // It can be written again before the other one starts; the supervisor that knew of it was killed meanwhile.
    let host = ShellHost::new(&scripts);
    host.is_locked.set(true);
    *host.kill_at.borrow_mut() = Some((FleetPoint::Settled, 1));
    host.run(&plan, &WakeUp::new().expect("a pipe"), |_| {}).expect_err("killed");
    *host.kill_at.borrow_mut() = None;
    host.is_locked.set(false);
    let (outcome, result) = host.simply(&plan);
    assert_eq!((outcome, result.left_behind.len(), host.begun("b")), (FleetOutcome::Succeeded, 0, 1));
    assert!(host.events.borrow().iter().any(|event| matches!(event, FleetEvent::CameHome { .. })));
    let rows = MetaState::find(host.project.path()).expect("state").expect("there").harnesses();
    let home = rows.expect("rows")[0].home.clone();
    assert_eq!(home.map(|home| home.branch).as_deref(), Some("autonoe/test/a"));
}

#[test]
fn a_backend_without_quota_or_login_gets_no_new_harness() {
    for (lost, words) in [("quota", "codex has no quota left"), ("login", "the login of codex was refused")] {
        let failing = format!("end {lost} 5");
        let done = "end complete 0";
        let host = ShellHost::new(&[("a", &failing), ("b", done), ("c", done), ("d", done), ("e", done)]);
        let plan = plan(
            "coordination: parallel\nmax_concurrent: 1",
            &[
                ("a", "cli: codex"),
                ("b", "cli: codex"),
                ("c", "cli: codex, claude"),
                ("d", ""),
                ("e", "cli: codex\nmodel: small"),
            ],
        );
        let (outcome, result) = host.simply(&plan);
        assert_eq!((outcome, host.begun("b")), (FleetOutcome::Failed, 0));
        let error = result.of("b").and_then(|result| result.error.as_deref()).unwrap_or_default();
        assert_eq!(
            error,
            format!("It was not started: {words}, as a found, and no other backend is named for it.")
        );
        // Who named none has not been told to use it, and another model has a quota of its own.
        let started = host.backends.borrow().clone();
        assert_eq!(started, ["a: codex", "c: claude", "d: ", "e: codex"]);
        assert!(warnings(&host).contains(&format!("{words}, as a found, so c starts with claude only.")));
        assert_eq!(result.of("a").map(|result| result.lost_backends.len()), Some(1));
    }
    // All that name none use the same.
    let host = ShellHost::new(&[("a", "end quota 5"), ("b", "end complete 0")]);
    let plan = plan("coordination: parallel\nmax_concurrent: 1", &[("a", ""), ("b", "")]);
    let (_, result) = host.simply(&plan);
    assert_eq!(host.begun("b"), 0, "{result:?}");
}

/// The limit counts from the first start of a harness: neither another process of it nor another supervisor gives it all of its time again.
#[test]
fn the_time_of_a_harness_counts_from_its_first_start() {
    let host = ShellHost::new(&[("a", "sleep 0.05; kill -9 $$")]);
    let mut limited = plan("coordination: parallel\nmax_retries: 200", &[("a", "")]);
    limited.settings.default_timeout = Some(std::time::Duration::from_millis(200));
    let (_, result) = host.simply(&limited);
    let error = result.results[0].error.as_deref();
    assert_eq!(error, Some("It was stopped, since it did not end within 0 s."));

    let waits = "for i in $(seq 500); do [ -e .harness/$ID/stop ] && end stopped 130; sleep 0.02; done; end complete 0";
    let host = ShellHost::new(&[("a", waits)]);
    let mut limited = plan("coordination: parallel", &[("a", "")]);
    limited.settings.default_timeout = Some(std::time::Duration::from_secs(3600));
    *host.kill_at.borrow_mut() = Some((FleetPoint::Released, 1));
    host.run(&limited, &WakeUp::new().expect("a pipe"), |_| {}).expect_err("killed");
    *host.kill_at.borrow_mut() = None;
    let state = MetaState::find(host.project.path()).expect("state").expect("there");
    let hours = |hours: u64| std::time::Duration::from_secs(3600 * hours);
    state.record_start("a", jiff::Timestamp::now() - hours(2)).expect("recorded");
    state.record_elapsed(hours(3)).expect("recorded");
    let (outcome, result) = host.simply(&limited);
    let error = result.results[0].error.as_deref();
    assert_eq!(
        (outcome, error),
        (FleetOutcome::Failed, Some("It was stopped, since it did not end within 3600 s."))
    );
}

#[test]
fn others_see_how_far_a_harness_is() {
    // "event_type: str  # spawn, progress, complete, fail, instruction"
    let host = ShellHost::new(&[("a", "while [ ! -e go ]; do sleep 0.02; done; end complete 0")]);
    let plan = plan("coordination: parallel", &[("a", "")]);
    let context = crate::SharedContext::open(host.project.path()).expect("opened");
    let kinds = |context: &crate::SharedContext| {
        let events = context.get_events(None).expect("events");
        events.into_iter().map(|event| event.event_type).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let go = host.path("a", "go");
        let (context, kinds) = (&context, &kinds);
        scope.spawn(move || {
            while !kinds(context).iter().any(|kind| kind == "progress") {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            fs::write(go, "").expect("written");
        });
        host.simply(&plan);
    });
    assert_eq!(kinds(&context), ["spawn", "progress", "complete", "fleet_ended"], "once for each change");
}
