//! A project with a repository in a temporary directory, and an examiner of it.

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use autonoe_core::check::{Assurance, Check};
use autonoe_core::clock::Clock;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::examiner::{Examination, Examiner};
use autonoe_core::plan::StatusReader;
use autonoe_sandbox::{Bounds, EgressRules, RoomConfig, RoomLimits, Sandbox};
use autonoe_store::journal::JournalOptions;
use autonoe_store::{Project, SqliteJournal, StatusStore};
use autonoe_verify::{
    CheckRun, CheckoutFactory, Evidence, ProjectExaminer, Reproduction, reproduce, written_checks,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Far above what any test here needs: reaching it is a failure, not a measurement.
const DEADLINE: Duration = Duration::from_secs(30);

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
    dir: TempDir,
    pub project: Project,
}

impl VerifyFixture {
    /// A project without a repository.
    pub fn without_repository(spec: &str) -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["project", "home", "scratch"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let project = Project::open(&dir.path().join("project"), &dir.path().join("home/state")).unwrap();
        let fixture = Self { dir, project };
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

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn scratch(&self) -> PathBuf {
        self.dir.path().join("scratch")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.project.root().join(name)
    }

    pub fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn git_in(&self, directory: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.invalid"])
            .args(args)
            .current_dir(directory)
            .env_clear()
            .envs([("PATH", PATH.as_ref()), ("HOME", self.home().as_os_str())])
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(self.project.root(), args)
    }

    /// Writes files and commits everything. Returns the commit.
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        for (name, content) in files {
            self.write(name, content);
        }
        self.git(&["add", "--all", ".", ":!.autonoe"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub async fn checkouts(&self, root: &Path, limits: RoomLimits) -> CheckoutFactory {
        let scratch = self.scratch();
        let sandbox = Sandbox::find(&supervisor(), OsStr::new(PATH), &scratch).await.unwrap();
        let room_config = RoomConfig {
            sandbox,
            bounds: Bounds { limits, ..Bounds::new(&scratch, &scratch, &scratch) },
            egress: Arc::default(),
            env: vec![("PATH".to_owned(), PATH.to_owned())],
            guarded: Arc::default(),
        };
        CheckoutFactory { root: root.canonicalize().unwrap(), scratch, room_config, network: None }
    }

    /// Runs checks on the last commit of the project at `root`.
    pub async fn run_checks(&self, root: &Path, limits: RoomLimits, checks: &[Check]) -> Reproduction {
        let project = Project::open(root, &self.home().join("state")).unwrap();
        let seen = json!({ "check": "", "verdict": "passed", "exit": 0, "output": "", "output_sha256": "",
                           "output_bytes": 0, "seconds": 0 });
        let proof = |check: &Check| json!({ "check": check, "seen": seen, "counts": true });
        let evidence = json!({
            "deliverable": "A", "description": "", "criteria": [], "commit": null, "tree": "", "autonoe": "",
            "environment": { "os": "", "architecture": "", "sandbox": "", "tools": {} }, "at": NOON,
            "checks": checks.iter().map(proof).collect::<Vec<_>>(),
        });
        let evidence: Evidence = serde_json::from_value(evidence).unwrap();
        reproduce(&project, &self.checkouts(root, limits).await, &evidence).await.unwrap()
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
        let (journal, _) = SqliteJournal::begin(&file, "run", "spec", NOON, options).await.unwrap();
        let clock = Arc::new(NoonClock);
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
            protected: Arc::default(),
            builders: Arc::default(),
            is_strict: false,
            project_failures: Mutex::default(),
            base: Mutex::default(),
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
        self.status.change(Box::new(change)).await.unwrap().unwrap();
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

pub fn has_bubblewrap() -> bool {
    Path::new("/usr/bin/bwrap").exists()
}

/// The supervisor, which cargo builds along with the tests of this package.
fn supervisor() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let supervisor = test.ancestors().nth(2).unwrap().join("examples/verify_supervisor");
    assert!(
        supervisor.exists(),
        "{} is missing: build it with `cargo build -p autonoe-verify --examples`",
        supervisor.display()
    );
    supervisor
}

pub fn until(description: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting until {description}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const NOON: Timestamp = Timestamp::constant(1_767_355_200, 0);

/// Noon on 2 January 2026, UTC.
struct NoonClock;

#[async_trait]
impl Clock for NoonClock {
    fn now(&self) -> Timestamp {
        NOON
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {}

    fn jitter(&self) -> f64 {
        0.5
    }
}
