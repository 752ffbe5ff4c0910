//! A project with a repository in a temporary directory, and an examiner of it.

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use autonoe_core::check::{Assurance, Check};
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::examiner::{Examination, Examiner};
use autonoe_core::plan::StatusReader;
use autonoe_core::redact::SecretValues;
use autonoe_sandbox::{Bounds, EgressRules, RoomConfig, RoomLimits, Sandbox};
use autonoe_store::journal::JournalOptions;
use autonoe_store::{Project, SqliteJournal, StatusStore};
use autonoe_test_kit::{FixedClock, PATH, TestDirectory, example};
use autonoe_verify::{
    CheckRun, CheckoutFactory, Evidence, ProjectExaminer, Reproduction, Strictness, reproduce, written_checks,
};
use serde_json::{Value, json};

/// The checks of deliverable A: it adds.
pub const SPEC: &str =
    "# Calc\n\n## Adding\n\n```check A\n$ sh calc.sh add 2 3\n5\n$ sh calc.sh add 10 20\n30\n```\n";

/// A check of deliverable A that judges by the files in `tests`.
pub const TESTED: &str =
    "# Calc\n\n```check A name=tests protect=tests/**\n$ sh tests/add.sh\nall good\n```\n";
pub const TEST: &str = "[ \"$(sh calc.sh add 2 3)\" = 5 ] && echo all good\n";

/// Programs for `calc.sh`: a correct one, and one that passes only the first check.
pub const ADDS: &str = "echo $(($2 + $3))\n";
pub const PRINTS_FIVE: &str = "echo 5\n";

pub struct VerifyFixture {
    directory: TestDirectory,
    pub project: Project,
}

impl Deref for VerifyFixture {
    type Target = TestDirectory;

    fn deref(&self) -> &TestDirectory {
        &self.directory
    }
}

impl VerifyFixture {
    /// A project without a repository.
    pub fn without_repository(spec: &str) -> Self {
        let directory = TestDirectory::default();
        let project = Project::open(&directory.root(), &directory.home().join("state")).unwrap();
        let fixture = Self { directory, project };
        fs::create_dir(fixture.scratch()).unwrap();
        fixture.write("SPEC.md", spec);
        fixture
    }

    /// A repository in which SPEC.md is committed.
    pub fn new(spec: &str) -> Self {
        Self::with_files(spec, &[])
    }

    /// A repository in which SPEC.md and these files are committed.
    pub fn with_files(spec: &str, files: &[(&str, &str)]) -> Self {
        let fixture = Self::without_repository(spec);
        fixture.git(&["init", "-q", "-b", "main", "."]);
        fixture.commit(files);
        fixture
    }

    /// A project whose check relies on `tests/add.sh`.
    pub fn tested() -> Self {
        Self::with_files(TESTED, &[("tests/add.sh", TEST)])
    }

    pub fn scratch(&self) -> PathBuf {
        self.home().join("scratch")
    }

    pub async fn checkouts(&self, root: &Path, limits: RoomLimits) -> CheckoutFactory {
        let scratch = self.scratch();
        let sandbox = Sandbox::find(&example("verify_supervisor"), OsStr::new(PATH), &scratch).await.unwrap();
        let room_config = RoomConfig {
            sandbox,
            bounds: Bounds { limits, ..Bounds::new(&scratch, &scratch, &scratch) },
            egress: Arc::default(),
            env: vec![("PATH".to_owned(), PATH.to_owned())],
            guarded: Arc::default(),
            sessions: Default::default(),
        };
        let history = self.home().join("history");
        let root = root.canonicalize().unwrap();
        CheckoutFactory {
            root,
            scratch,
            history,
            room_config,
            hub: None,
            repository: None,
            network: None,
            secrets: SecretValues::default(),
        }
    }

    /// Runs checks on the last commit of the project at `root`.
    pub async fn run_checks(&self, root: &Path, limits: RoomLimits, checks: &[Check]) -> Reproduction {
        let project = Project::open(root, &self.home().join("state")).unwrap();
        let seen = json!({ "check": "", "verdict": "passed", "exit": 0, "output": "", "output_sha256": "",
                           "output_bytes": 0, "seconds": 0 });
        let proof = |check: &Check| json!({ "check": check, "seen": seen, "counts": true });
        let evidence = json!({
            "deliverable": "A", "description": "", "criteria": [], "commit": null, "tree": "", "autonoe": "",
            "environment": { "os": "", "architecture": "", "sandbox": "", "tools": {} }, "at": FixedClock::NOON,
            "checks": checks.iter().map(proof).collect::<Vec<_>>(),
        });
        let evidence: Evidence = serde_json::from_value(evidence).unwrap();
        reproduce(&project, &self.checkouts(root, limits).await, &evidence, &[], Strictness::Nothing)
            .await
            .unwrap()
    }

    pub async fn run_check(&self, limits: RoomLimits, check: Check) -> CheckRun {
        self.run_checks(self.project.root(), limits, &[check]).await.runs.remove(0).1
    }

    /// An examiner of the deliverables A and B, as a new process would have it.
    pub async fn examiner(&self) -> ExaminerFixture {
        self.changed_examiner(|_| {}).await
    }

    pub async fn changed_examiner(&self, change: impl FnOnce(&mut ProjectExaminer)) -> ExaminerFixture {
        let deliverable = |id: &str| {
            json!({ "id": id, "description": format!("thing {id}"), "acceptanceCriteria": ["it works", "it is fast"],
                    "passed": false, "blocked": false })
        };
        if !self.project.status_file().exists() {
            let status = json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01",
                                 "deliverables": [deliverable("A"), deliverable("B")] });
            self.write(".autonoe/status.json", &status.to_string());
        }
        let options = JournalOptions::default();
        let file = self.project.journal_file();
        let (journal, _) =
            SqliteJournal::begin(&file, "run", "spec", FixedClock::NOON, options).await.unwrap();
        let clock = Arc::new(FixedClock);
        let status =
            StatusStore::open(&self.project, Arc::clone(&journal), Arc::clone(&clock) as _).await.unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let on_event = {
            let events = Arc::clone(&events);
            Box::new(move |event: &RunEvent| events.lock().unwrap().push(event.clone()))
        };
        let mut examiner = ProjectExaminer {
            project: self.project.clone(),
            checkouts: self.checkouts(self.project.root(), RoomLimits::default()).await,
            written: written_checks(&self.project, &self.read("SPEC.md")).unwrap(),
            status: Arc::new(status),
            journal,
            clock,
            on_event,
            protected: vec![(self.project.root().to_owned(), Arc::default())],
            builders: Arc::default(),
            is_strict: false,
            project_failures: Mutex::default(),
            base: Mutex::default(),
            checkout_before: Default::default(),
            own_edits: None,
            own_text_before: Default::default(),
            working: Default::default(),
        };
        change(&mut examiner);
        ExaminerFixture { examiner, events }
    }

    /// An examiner that has seen the checks fail before the work began.
    pub async fn prepared(&self) -> ExaminerFixture {
        let examiner = self.examiner().await;
        examiner.prepare().await.unwrap();
        examiner
    }

    pub fn evidence(&self, id: &str) -> Option<Value> {
        let text = fs::read_to_string(self.path(&format!(".autonoe/evidence/{id}.json"))).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }
}

pub struct ExaminerFixture {
    examiner: ProjectExaminer,
    events: Arc<Mutex<Vec<RunEvent>>>,
}

impl Deref for ExaminerFixture {
    type Target = ProjectExaminer;

    fn deref(&self) -> &ProjectExaminer {
        &self.examiner
    }
}

impl ExaminerFixture {
    pub async fn deliverable(&self, id: &str) -> Deliverable {
        let status = self.status.load().await.unwrap().unwrap();
        status.find(id).unwrap().clone()
    }

    /// What an agent's `set_status passed` leads to: the status changes unless a check fails.
    pub async fn claim(&self, id: &str) -> Examination {
        let examination = self.examine(&self.deliverable(id).await).await.unwrap();
        let finding = examination.finding.clone();
        let change = |status: &mut autonoe_core::status::ProjectStatus, _| {
            if finding.assurance != Assurance::Failed {
                status.set_status(id, DeliverableStatus::Passed)?;
            }
            status.set_finding(id, finding)?;
            Ok(((), Vec::new()))
        };
        self.status.change(Box::new(change)).await.unwrap();
        examination
    }

    #[track_caller]
    pub fn assert_claim(
        &self,
        id: &str,
        assurance: Assurance,
        words: &[&str],
    ) -> impl Future<Output = Examination> {
        let caller = std::panic::Location::caller();
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let id = id.to_owned();
        async move {
            let examination = self.claim(&id).await;
            assert_eq!(examination.finding.assurance, assurance, "{caller}: {}", examination.message);
            for word in words {
                assert!(
                    examination.message.contains(&word),
                    "{caller}: no {word:?} in: {}",
                    examination.message
                );
            }
            examination
        }
    }

    pub fn events(&self) -> Vec<RunEvent> {
        self.events.lock().unwrap().clone()
    }

    /// The messages of the checks run for a purpose, and whether they passed.
    pub fn checked(&self, wanted: CheckPurpose) -> Vec<(bool, String)> {
        let checked = self.events().into_iter().filter_map(|event| match event {
            RunEvent::Checked { purpose, passed, message, .. } if purpose == wanted => {
                Some((passed, message))
            }
            _ => None,
        });
        checked.collect()
    }

    /// The disputed files reported so far.
    pub fn disputed(&self) -> Vec<String> {
        let disputed = self.events().into_iter().filter_map(|event| match event {
            RunEvent::Disputed { path, .. } => Some(path),
            _ => None,
        });
        disputed.collect()
    }
}

/// A check; `more` has further fields as in checks.json.
pub fn check(command: &str, more: Value) -> Check {
    let mut check = json!({ "name": "it", "run": command });
    for (key, value) in more.as_object().unwrap() {
        check[key] = value.clone();
    }
    serde_json::from_value(check).unwrap()
}

/// The rules of a network that allows nothing but is there.
pub fn network() -> Option<Arc<EgressRules>> {
    Some(Arc::default())
}
