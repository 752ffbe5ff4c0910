//! The last look: everything that passed is checked once more before a run believes that it is done.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use autonoe_core::check::{Assurance, Finding};
use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::examiner::{Confirmation, Examiner};
use autonoe_core::instruction::Phase;
use autonoe_core::sink::Sink;
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_core::status::ProjectStatus;
use autonoe_sandbox::SandboxLayer;
use autonoe_verify::Builder;

use super::fixture::{ADDS, ExaminerFixture, PRINTS_FIVE, SPEC, VerifyFixture};

#[tokio::test]
async fn what_still_passes_is_confirmed_and_its_evidence_kept() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    let (finding, evidence) = (examiner.deliverable("A").await.finding, fixture.evidence("A"));
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert_eq!(examiner.checked(CheckPurpose::Confirmation).len(), 2, "the checks have run again");
    assert_eq!((examiner.deliverable("A").await.finding, fixture.evidence("A")), (finding, evidence));

    let commit = fixture.commit(&[("notes.txt", "more\n")]);
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert_eq!(examiner.deliverable("A").await.finding.unwrap().commit.as_ref(), Some(&commit));
    assert_eq!(fixture.evidence("A").unwrap()["commit"], commit, "the evidence is of what there is now");
}

#[tokio::test]
async fn what_breaks_after_its_claim_becomes_pending_again() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    examiner.claim("B").await;
    fixture.commit(&[("calc.sh", PRINTS_FIVE)]);
    let confirmation = examiner.confirm().await.unwrap();
    assert_eq!(confirmation, Confirmation { regressed: vec!["A".to_owned()], project: Vec::new() });
    let broken = examiner.deliverable("A").await;
    assert_eq!(broken.status, DeliverableStatus::Pending);
    assert_eq!(broken.finding.unwrap().assurance, Assurance::Failed);
    assert_eq!(examiner.deliverable("B").await.status, DeliverableStatus::Passed, "it has no check");
    assert!(examiner.events().iter().any(|event| matches!(event, RunEvent::StatusChanged(_))));
}

#[tokio::test]
async fn a_checkout_that_is_left_changed_makes_what_was_verified_claimed() {
    let fixture = VerifyFixture::new(SPEC);
    fixture.commit(&[("users.txt", "1\n"), ("lib.sh", "")]);
    fixture.write("users.txt", "2\n");
    let examiner = fixture.prepared().await;
    fixture.write("calc.sh", ADDS);
    fixture.git(&["add", "calc.sh"]);
    fixture.git(&["commit", "-q", "-m", "work"]);
    examiner.claim("A").await;
    fixture.write("new.txt", "");
    fixture.write("lib.sh", "broken\n");
    let assurance = async || examiner.deliverable("A").await.finding.unwrap().assurance;
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Claimed, "also if a limit ends the run before B is built");

    examiner.claim("B").await;
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Claimed);
    let said = examiner.events().iter().any(|event| {
        matches!(event, RunEvent::Notice { message } if message.ends_with("counts as claimed: lib.sh."))
    });
    assert!(said, "{:?}", examiner.events());

    // Git itself can be kept from looking.
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        fixture.write("lib.sh", "");
        examiner.confirm().await.unwrap();
        assert_eq!(assurance().await, Assurance::Verified);
        fixture.git(&["update-index", mark, "lib.sh"]);
        fixture.write("lib.sh", "broken\n");
        examiner.confirm().await.unwrap();
        assert_eq!(assurance().await, Assurance::Claimed, "{mark}");
    }
    fixture.write("lib.sh", "");
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Verified, "what the user had changed before does not matter");
    fixture.write("users.txt", "3\n");
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Claimed, "unless it was changed again");
    fixture.write("users.txt", "2\n");

    // So can its settings and attributes.
    const UTF_16: &[u8] = b"\xff\xfee\0c\0h\0o\0\n\0";
    const ENCODED: &str = "lib.sh working-tree-encoding=UTF-16\n";
    let cheats: [(&[u8], &[&str], Option<&str>); 5] = [
        (b"echo\n", &["core.fileMode", "false"], None),
        (b"echo\r\n", &["core.autocrlf", "true"], None),
        (b"broken\n", &["core.worktree", "../wt"], None),
        (UTF_16, &["core.bare", "false"], Some(".git/info/attributes")),
        (UTF_16, &["core.bare", "false"], Some(".gitattributes")),
    ];
    let settings = fs::read(fixture.path(".git/config")).unwrap();
    let set_mode = |mode: u32| {
        fs::set_permissions(fixture.path("lib.sh"), fs::Permissions::from_mode(mode)).unwrap();
    };
    for mark in ["--no-assume-unchanged", "--no-skip-worktree"] {
        fixture.git(&["update-index", mark, "lib.sh"]);
    }
    fixture.write("lib.sh", "echo\n");
    fixture.git(&["commit", "-q", "-m", "more", "lib.sh"]);
    fixture.git(&["worktree", "prune"]);
    fixture.git(&["checkout-index", "--all", "--prefix=wt/"]);
    for (content, setting, attributes) in cheats {
        examiner.confirm().await.unwrap();
        assert_eq!(assurance().await, Assurance::Verified, "{setting:?}");
        fs::write(fixture.path("lib.sh"), content).unwrap();
        fixture.git(&[&["config"], setting].concat());
        attributes.iter().for_each(|file| fixture.write(file, ENCODED));
        set_mode(if setting[0] == "core.fileMode" { 0o755 } else { 0o644 });
        examiner.confirm().await.unwrap();
        assert_eq!(assurance().await, Assurance::Claimed, "{setting:?} {attributes:?}");
        fs::write(fixture.path(".git/config"), &settings).unwrap();
        attributes.iter().for_each(|file| fs::remove_file(fixture.path(file)).unwrap());
        set_mode(0o644);
        fixture.write("lib.sh", "echo\n");
    }
}

#[tokio::test]
async fn what_agents_left_changed_is_not_the_users_in_a_later_run() {
    let fixture = VerifyFixture::new(SPEC);
    fixture.commit(&[("users.txt", "1\n"), ("lib.sh", "")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    for id in ["A", "B"] {
        examiner.claim(id).await;
    }
    fixture.write("lib.sh", "broken\n");
    // The process was killed, then a run ended by itself.
    for (run, users) in [("killed", "1\n"), ("resumed", "1\n"), ("later", "2\n")] {
        fixture.write("users.txt", users);
        let examiner = fixture.prepared().await;
        examiner.confirm().await.unwrap();
        let assurance = examiner.deliverable("A").await.finding.unwrap().assurance;
        assert_eq!(assurance, Assurance::Claimed, "{run}");
        let events = examiner.events();
        let said = events.iter().find_map(|event| match event {
            RunEvent::Notice { message } => message.rsplit_once(": "),
            _ => None,
        });
        assert_eq!(said.map(|(_, files)| files), Some("lib.sh."), "{run}");
    }
    fixture.git(&["commit", "-q", "-m", "mine", "lib.sh"]);
    let examiner = fixture.prepared().await;
    examiner.confirm().await.unwrap();
    assert_eq!(examiner.deliverable("A").await.finding.unwrap().assurance, Assurance::Verified);
}

#[tokio::test]
async fn conversions_of_a_checkout_are_no_changes() {
    let fixture = VerifyFixture::new(SPEC);
    let attributes = "dos.txt text eol=crlf\nversion.txt ident\n";
    fixture.commit(&[(".gitattributes", attributes), ("dos.txt", "a\n"), ("version.txt", "$Id$\n")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    for id in ["A", "B"] {
        examiner.claim(id).await;
    }
    for name in ["dos.txt", "version.txt"] {
        fs::remove_file(fixture.path(name)).unwrap();
    }
    fixture.git(&["checkout", "-q", "--", "dos.txt", "version.txt"]);
    assert_eq!(fs::read(fixture.path("dos.txt")).unwrap(), b"a\r\n");
    let assurance = async || examiner.deliverable("A").await.finding.unwrap().assurance;
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Verified);
    // Git takes whatever is between the dollars for its own.
    fixture.write("version.txt", "$Id: echo broken $\n");
    examiner.confirm().await.unwrap();
    assert_eq!(assurance().await, Assurance::Claimed);
}

#[tokio::test]
async fn a_status_set_to_passed_after_a_failure_is_refuted() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let failure = examiner.assert_claim("A", Assurance::Failed, &[]).await.finding;
    // As if status.json had been edited.
    let change = |status: &mut ProjectStatus, _| {
        let changed = status.set_status("A", DeliverableStatus::Passed)?;
        status.set_finding("A", failure)?;
        Ok(((), vec![changed]))
    };
    examiner.status.change(Box::new(change)).await.unwrap();
    assert_eq!(examiner.confirm().await.unwrap().regressed, ["A"], "although the failure is known");
}

#[tokio::test]
async fn what_a_partial_layer_has_found_is_found_again_on_a_full_one() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    if examiner.checkouts.room_config.sandbox.layer() != SandboxLayer::Bubblewrap {
        return;
    }
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    let finding = examiner.deliverable("A").await.finding.unwrap();
    assert_eq!(finding.partial_layer, None);
    let partial = Finding { partial_layer: Some("landlock".to_owned()), ..finding };
    let change = |status: &mut ProjectStatus, _| Ok((status.set_finding("A", partial)?, Vec::new()));
    examiner.status.change(Box::new(change)).await.unwrap();
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert_eq!(examiner.deliverable("A").await.finding.unwrap().partial_layer, None);
}

#[tokio::test]
async fn evidence_that_is_gone_is_written_anew() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    fs::remove_file(fixture.path(".autonoe/evidence/A.json")).unwrap();
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert!(fixture.evidence("A").is_some(), "it was verified once more");
}

#[tokio::test]
async fn a_claim_that_no_check_confirmed_is_not_confirmed_by_looking_again() {
    let fixture = VerifyFixture::new("# Spec\n\n- Check: `true` for A\n");
    let examiner = fixture.prepared().await;
    examiner.claim("A").await;
    assert!(examiner.confirm().await.unwrap().is_clean());
    assert_eq!(examiner.deliverable("A").await.finding.unwrap().assurance, Assurance::Claimed);
    assert_eq!(fixture.evidence("A"), None);
}

#[tokio::test]
async fn checks_of_the_project_as_a_whole_fail_the_confirmation() {
    // A check whose deliverable does not exist would otherwise never run.
    let spec = "# Spec\n\n- Check: `test -f README.md`\n- Check: `test -f calc.sh` for OTHER\n";
    let fixture = VerifyFixture::new(spec);
    let examiner = fixture.prepared().await;
    let confirmation = examiner.confirm().await.unwrap();
    assert_eq!(confirmation.project, ["spec", "spec-2"]);
    assert!(!confirmation.is_clean());
    let briefing = examiner.briefing().await.unwrap().unwrap();
    assert_eq!(briefing.matches("The project as a whole fails").count(), 2, "{briefing}");

    fixture.commit(&[("README.md", "Read.\n"), ("calc.sh", ADDS)]);
    assert!(examiner.confirm().await.unwrap().is_clean());
    let briefing = examiner.briefing().await.unwrap().unwrap();
    assert!(!briefing.contains("as a whole fails"), "{briefing}");
}

#[tokio::test]
async fn the_evidence_keeps_the_builder_of_the_claim() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let session = |backend: &str| {
        let started = RunEvent::SessionStarted {
            deliverable: None,
            number: 1,
            instruction: Phase::Coding,
            step: None,
            backend: backend.to_owned(),
            model: "m".to_owned(),
        };
        examiner.builders.on(&SpanContext::run(1, TraceId(1)), &(&started).into());
    };
    session("builder");
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.claim("A").await;
    session("somebody else");
    fixture.commit(&[("notes.txt", "more\n")]);
    examiner.confirm().await.unwrap();
    let builder: Builder = serde_json::from_value(fixture.evidence("A").unwrap()["builder"].clone()).unwrap();
    assert_eq!(builder.backend, "builder");
}

#[tokio::test]
async fn a_confirmation_that_cannot_be_finished_voids_what_it_was_to_confirm() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let commit = fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    let blob = fixture.git(&["rev-parse", &format!("{commit}:calc.sh")]);
    fixture.commit(&[("more", "more\n")]);
    fs::remove_dir_all(fixture.home().join("history")).unwrap();
    fs::remove_file(fixture.path(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).unwrap();
    examiner.confirm().await.unwrap_err();
    assert_eq!(examiner.deliverable("A").await.assurance(), Some(Assurance::Claimed));
}

/// A check of A that passes as a file says which nobody in the room can write: each look reads one letter of it.
struct CountedLooks {
    directory: tempfile::TempDir,
    letters: fs::File,
}

impl CountedLooks {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("looks");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let letters = fs::File::options().read(true).write(true).open(path).unwrap();
        Self { directory, letters }
    }

    fn command(&self) -> String {
        let path = self.directory.path().join("looks");
        format!("sh calc.sh && test \"$(dd bs=1 count=1 2> /dev/null < {})\" = g", path.display())
    }

    /// How the next looks end: `g` is green.
    fn next(&mut self, letters: &str) {
        self.letters.write_all(letters.as_bytes()).unwrap();
    }

    async fn examiner(&self, fixture: &VerifyFixture, is_strict: bool) -> ExaminerFixture {
        let directory = self.directory.path().canonicalize().unwrap();
        let change = |examiner: &mut autonoe_verify::ProjectExaminer| {
            examiner.checkouts.room_config.bounds.read.push(directory);
            examiner.is_strict = is_strict;
        };
        fixture.changed_examiner(change).await
    }
}

#[tokio::test]
async fn a_check_that_fails_once_takes_nothing_back_and_is_called_flaky() {
    for is_strict in [false, true] {
        let mut looks = CountedLooks::new();
        let fixture =
            VerifyFixture::new(&format!("# Calc\n\n```check A name=lucky\n$ {}\n```\n", looks.command()));
        let examiner = looks.examiner(&fixture, is_strict).await;
        examiner.prepare().await.unwrap();
        fixture.commit(&[("calc.sh", "true\n")]);
        looks.next("g");
        examiner.assert_claim("A", Assurance::Verified, &[]).await;
        looks.next("rg");
        assert!(examiner.confirm().await.unwrap().is_clean());
        let deliverable = examiner.deliverable("A").await;
        assert_eq!(deliverable.status, DeliverableStatus::Passed);
        let finding = deliverable.finding.unwrap();
        let flaky = "`lucky` failed 1 of 3 times on the same files";
        match is_strict {
            false => {
                assert_eq!((finding.assurance, finding.flaky.as_deref()), (Assurance::Verified, Some(flaky)))
            }
            true => assert_eq!(finding.assurance, Assurance::Claimed),
        }
        let said = "Check `lucky` failed and then passed on the same files, so it is flaky.";
        let is_said = |event: &RunEvent| matches!(event, RunEvent::Notice { message } if message == said);
        assert_eq!(examiner.events().iter().filter(|event| is_said(event)).count(), 1);
        // One that fails twice is broken.
        looks.next("rr");
        assert_eq!(examiner.confirm().await.unwrap().regressed, ["A"]);
        assert_eq!(examiner.deliverable("A").await.status, DeliverableStatus::Pending);
        // A claim gets one look.
        let before = examiner.checked(CheckPurpose::Claim).len();
        looks.next("r");
        examiner.assert_claim("A", Assurance::Failed, &[]).await;
        assert_eq!(examiner.checked(CheckPurpose::Claim).len(), before + 1);
    }
}

#[tokio::test]
async fn a_flaky_check_of_the_project_is_no_reason_for_another_session_unless_only_verified_counts() {
    for is_strict in [false, true] {
        let mut looks = CountedLooks::new();
        let spec = format!("# Calc\n\n```check A\n$ sh calc.sh\n```\n\n- Check: `{}`\n", looks.command());
        let fixture = VerifyFixture::new(&spec);
        let examiner = looks.examiner(&fixture, is_strict).await;
        examiner.prepare().await.unwrap();
        fixture.commit(&[("calc.sh", "true\n")]);
        examiner.assert_claim("A", Assurance::Verified, &[]).await;
        looks.next(if is_strict { "r" } else { "rg" });
        assert_eq!(examiner.confirm().await.unwrap().is_clean(), !is_strict);
    }
}

#[tokio::test]
async fn it_is_known_of_a_check_that_fails_whether_it_was_flaky_before() {
    let mut looks = CountedLooks::new();
    let fixture =
        VerifyFixture::new(&format!("# Calc\n\n```check A name=lucky\n$ {}\n```\n", looks.command()));
    let examiner = looks.examiner(&fixture, false).await;
    examiner.prepare().await.unwrap();
    fixture.commit(&[("calc.sh", "true\n")]);
    looks.next("g");
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    fixture.commit(&[("notes.txt", "more\n")]);
    let ids = ["A".to_owned()];
    looks.next("r");
    assert!(!examiner.recheck(&ids).await.unwrap()[0].is_flaky, "other files");
    looks.next("g");
    assert_eq!(examiner.recheck(&ids).await.unwrap(), []);
    for round in ["more", "most"] {
        looks.next("r");
        assert!(examiner.recheck(&ids).await.unwrap()[0].is_flaky);
        fixture.commit(&[("notes.txt", &format!("and {round}\n"))]);
    }
    // Its builder may have repaired it.
    looks.next("gr");
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    fixture.commit(&[("notes.txt", "still more\n")]);
    assert!(!examiner.recheck(&ids).await.unwrap()[0].is_flaky);
}
