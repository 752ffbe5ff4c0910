//! Files that checks rely on: accepted before the work, restored before each check, disputed when they change.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use autonoe_core::check::Assurance;
use autonoe_core::examiner::Examiner;
use autonoe_store::CheckRegistry;
use autonoe_verify::{describe_dispute, reject, written_checks};

use super::fixture::{ADDS, PRINTS_FIVE, TEST, TESTED, VerifyFixture};

/// Makes every test in it pass.
const WEAK: &str = "echo all good\n";

#[tokio::test]
async fn the_checks_use_the_accepted_version_of_a_changed_test() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("tests/add.sh", WEAK)]);
    let words = ["do not pass", "the accepted versions of these files, not the current ones: tests/add.sh"];
    examiner.assert_claim("A", Assurance::Failed, &words).await;
    assert_eq!(examiner.disputed(), ["tests/add.sh"]);
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &["tests/add.sh"]).await;
}

#[tokio::test]
async fn deleted_and_added_files_are_put_right() {
    let loads = "[ ! -f tests/setup.sh ] || . ./tests/setup.sh\n".to_owned() + TEST;
    let fixture = VerifyFixture::with_files(TESTED, &[("tests/add.sh", &loads)]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("tests/setup.sh", "echo all good; exit\n")]);
    examiner.assert_claim("A", Assurance::Failed, &["tests/setup.sh"]).await;

    fs::remove_dir_all(fixture.path("tests")).unwrap();
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &["tests/add.sh"]).await;
}

#[tokio::test]
async fn what_would_be_loaded_in_place_of_the_tests_is_removed() {
    // As Python takes `tests.py` for a package without `__init__.py`.
    let spec = TESTED.replace("sh tests/add.sh", "[ -f tests.py ] && sh tests.py || sh tests/add.sh");
    let fixture = VerifyFixture::with_files(&spec, &[("tests/add.sh", TEST)]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("tests.py", WEAK)]);
    examiner.assert_claim("A", Assurance::Failed, &["tests.py"]).await;

    // As Python takes the package `add` for `add.py`.
    let spec =
        TESTED.replace("sh tests/add.sh", "[ -f tests/add/run ] && sh tests/add/run || sh tests/add.py");
    let spec = spec.replace("tests/**", "tests/add.py");
    let fixture = VerifyFixture::with_files(&spec, &[("tests/add.py", TEST)]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("tests/add/run", WEAK)]);
    examiner.assert_claim("A", Assurance::Failed, &["tests/add/run"]).await;
    let spec = TESTED.replace("sh tests/add.sh", "[ -f tests.py ] && sh tests.py || sh tests/add.sh");

    // The user's own is as good as the tests.
    let fixture = VerifyFixture::with_files(&spec, &[("tests/add.sh", TEST), ("tests.py", TEST)]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

/// A source beside its header, a lock file beside its manifest.
#[tokio::test]
async fn files_that_only_share_a_name_with_protected_ones_are_the_work() {
    for (protected, work) in [("calc.h", "calc.c"), ("data/a.csv", "data/a.py"), ("go.mod", "go.sum")] {
        let spec =
            TESTED.replace("sh tests/add.sh", &format!("sh {work} add 2 3")).replace("tests/**", protected);
        let fixture = VerifyFixture::with_files(&spec, &[(protected, "")]);
        let examiner = fixture.prepared().await;
        fixture.commit(&[(work, "echo all good\n")]);
        examiner.assert_claim("A", Assurance::Verified, &[]).await;
    }
}

/// The program's output would be compared with itself.
#[tokio::test]
async fn a_link_to_what_the_output_is_compared_with_does_not_count() {
    let judge =
        "exec 2> /dev/null; sh calc.sh add 2 3 > out.txt; cmp out.txt tests/expected.txt && echo all good\n";
    let files = [("tests/add.sh", judge), ("tests/expected.txt", "5\n")];
    let fixture = VerifyFixture::with_files(TESTED, &files);
    let examiner = fixture.prepared().await;
    symlink("tests/expected.txt", fixture.path("out.txt")).unwrap();
    fixture.commit(&[("calc.sh", "echo 4\n")]);
    examiner.assert_claim("A", Assurance::Claimed, &["out.txt"]).await;
    fs::remove_file(fixture.path("out.txt")).unwrap();
    symlink("tests", fixture.path("out")).unwrap();
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Claimed, &["`out` is a link to `tests` now"]).await;
    fs::remove_file(fixture.path("out")).unwrap();
    symlink("/proc/self/cwd/tests/expected.txt", fixture.path("out.txt")).unwrap();
    fixture.commit(&[]);
    examiner.assert_claim("A", Assurance::Claimed, &["`out.txt` is a link to `/proc/self/cwd"]).await;
    // Another link is the work itself.
    fs::remove_file(fixture.path("out.txt")).unwrap();
    symlink("add.sh", fixture.path("calc.sh.link")).unwrap();
    fs::rename(fixture.path("calc.sh.link"), fixture.path("calc.sh")).unwrap();
    fixture.commit(&[("add.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn links_in_place_of_tests_are_replaced_and_not_followed() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    let outside = fixture.home().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("add.sh"), WEAK).unwrap();
    fs::remove_dir_all(fixture.path("tests")).unwrap();
    symlink(&outside, fixture.path("tests")).unwrap();
    fixture.commit(&[("calc.sh", "echo 4\n")]);
    examiner.assert_claim("A", Assurance::Failed, &["do not pass"]).await;
    assert_eq!(fs::read_to_string(outside.join("add.sh")).unwrap(), WEAK, "nothing is written through it");
}

#[tokio::test]
async fn each_check_gets_the_accepted_files_again() {
    let spec = "# Calc\n\n```check A protect=tests/**\n$ echo 'echo all good' > tests/add.sh; test -f calc.sh\n\
                $ sh tests/add.sh\nall good\n```\n";
    let fixture = VerifyFixture::with_files(spec, &[("tests/add.sh", TEST)]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n")]);
    examiner.assert_claim("A", Assurance::Failed, &["`sh tests/add.sh`"]).await;
}

#[tokio::test]
async fn a_dispute_is_reported_once_for_each_content() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    fixture.write("tests/add.sh", WEAK);
    fixture.write("tests/more.sh", WEAK);
    examiner.prepare().await.unwrap();
    examiner.prepare().await.unwrap();
    assert_eq!(examiner.disputed(), ["tests/add.sh", "tests/more.sh"]);
    let registry = CheckRegistry::load(&fixture.project).unwrap();
    assert_eq!(registry.disputes.len(), 2);
    assert_eq!(registry.files.len(), 1, "what appears later is not accepted");
    let said = |registry: &CheckRegistry| -> Vec<&'static str> {
        registry.disputes.keys().map(|file| describe_dispute(registry, file)).collect()
    };
    let [changed, added] = said(&registry)[..] else { panic!("{:?}", registry.disputes) };
    assert!(changed.starts_with("differs from the accepted version"), "{changed}");
    assert!(added.starts_with("was added, and there is no accepted version"), "{added}");
    fs::remove_file(fixture.path("tests/add.sh")).unwrap();
    examiner.prepare().await.unwrap();
    assert!(said(&CheckRegistry::load(&fixture.project).unwrap())[0].starts_with("was removed"));

    fixture.write("tests/add.sh", "echo other\n");
    examiner.prepare().await.unwrap();
    assert_eq!(examiner.disputed()[2..], ["tests/add.sh", "tests/add.sh"]);
    fixture.write("tests/add.sh", TEST);
    fs::remove_file(fixture.path("tests/more.sh")).unwrap();
    examiner.prepare().await.unwrap();
    assert!(CheckRegistry::load(&fixture.project).unwrap().disputes.is_empty(), "it is settled");
}

#[tokio::test]
async fn a_test_that_was_forged_in_the_commit_alone_is_disputed() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS), ("tests/add.sh", WEAK)]);
    fixture.write("tests/add.sh", TEST);
    let words = ["the accepted versions of these files, not the current ones: tests/add.sh"];
    examiner.assert_claim("A", Assurance::Verified, &words).await;
    examiner.assert_claim("A", Assurance::Verified, &words).await;
    examiner.confirm().await.unwrap();
    assert_eq!(examiner.disputed(), ["tests/add.sh"], "it is reported once");
    fixture.commit(&[("tests/add.sh", TEST)]);
    examiner.assert_claim("A", Assurance::Verified, &["verified"]).await;
    assert!(CheckRegistry::load(&fixture.project).unwrap().disputes.is_empty(), "it is settled");
}

#[tokio::test]
async fn accepted_files_and_the_specification_are_protected_from_agents() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    let protected = examiner.protected[0].1.read().unwrap().clone();
    assert_eq!(protected, [fixture.path("tests/add.sh"), fixture.path("SPEC.md")]);
}

#[tokio::test]
async fn executable_files_are_restored_as_such() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = VerifyFixture::without_repository(
        "# Calc\n\n```check A protect=tests/**\n$ ./tests/add.sh\nall good\n```\n",
    );
    fixture.write("tests/add.sh", &format!("#!/bin/sh\n{TEST}"));
    fs::set_permissions(fixture.path("tests/add.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let examiner = fixture.prepared().await;
    fixture.write("calc.sh", ADDS);
    fs::remove_file(fixture.path("tests/add.sh")).unwrap();
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_forged_copy_of_an_accepted_file_stops_the_examination() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", PRINTS_FIVE)]);
    let copy =
        fs::read_dir(fixture.project.state_dir().join("accepted")).unwrap().next().unwrap().unwrap().path();
    fs::write(copy, WEAK).unwrap();
    let fault = examiner.examine(&examiner.deliverable("A").await).await.unwrap_err();
    assert!(fault.to_string().contains("differs from what was accepted"), "{}", fault);
}

#[tokio::test]
async fn what_a_protected_link_leads_to_is_protected_too() {
    let fixture = VerifyFixture::without_repository(TESTED);
    fixture.git(&["init", "-q", "-b", "main", "."]);
    fixture.write("tools/add.sh", TEST);
    fs::create_dir(fixture.path("tests")).unwrap();
    symlink("../tools/add.sh", fixture.path("tests/add.sh")).unwrap();
    fixture.commit(&[("a", "a\n")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("tools/add.sh", WEAK)]);
    examiner.assert_claim("A", Assurance::Failed, &["tools/add.sh"]).await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_protected_directory_may_be_a_link() {
    let fixture = VerifyFixture::without_repository(TESTED);
    fixture.git(&["init", "-q", "-b", "main", "."]);
    fixture.write("real/add.sh", TEST);
    symlink("real", fixture.path("tests")).unwrap();
    fixture.commit(&[("a", "a\n")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("real/add.sh", WEAK)]);
    examiner.assert_claim("A", Assurance::Failed, &["real/add.sh"]).await;
    // Nor does it help to let the link lead elsewhere.
    fs::remove_file(fixture.path("tests")).unwrap();
    symlink("weak", fixture.path("tests")).unwrap();
    fixture.commit(&[("real/add.sh", TEST), ("weak/add.sh", WEAK)]);
    examiner.assert_claim("A", Assurance::Failed, &["tests"]).await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

/// The checkouts of this test are below `/tmp`, which is the room's own there.
#[tokio::test]
async fn the_directories_above_a_test_with_an_absolute_path_cannot_be_replaced() {
    let starts_first = "sh calc.sh version; sh \"$PWD/tests/large.sh\"\n";
    let large = "[ \"$(sh calc.sh add 10 20)\" = 30 ] && echo all good\n";
    let fixture =
        VerifyFixture::with_files(TESTED, &[("tests/add.sh", starts_first), ("tests/large.sh", large)]);
    let examiner = fixture.prepared().await;
    let forges = "here=$PWD; above=$here\n\
                  while [ \"$above\" != / ]; do above=$(dirname \"$above\"); mv \"$above\" \"$above.aside\" && break; done\n\
                  mkdir -p \"$here/tests\" && echo 'echo all good' > \"$here/tests/large.sh\"\n";
    fixture.commit(&[("calc.sh", &format!("exec > /dev/null 2>&1\n{forges}"))]);
    examiner.assert_claim("A", Assurance::Failed, &["do not pass"]).await;
}

#[tokio::test]
async fn a_name_that_is_not_utf_8_is_accepted_and_disputed_like_any_other() {
    let loads = "for part in tests/part*; do . \"./$part\"; done\n";
    let fixture = VerifyFixture::with_files(TESTED, &[("tests/add.sh", loads)]);
    let part = fixture.root().join(OsStr::from_bytes(b"tests/part\xff"));
    fs::write(&part, TEST).unwrap();
    fixture.commit(&[]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;

    let overwrites = "for part in tests/part*; do echo 'echo all good' > \"$part\"; done; echo 4\n";
    fixture.commit(&[("calc.sh", overwrites)]);
    examiner.assert_claim("A", Assurance::Failed, &["do not pass"]).await;

    fs::write(&part, WEAK).unwrap();
    fixture.commit(&[("calc.sh", "echo 4\n")]);
    examiner.assert_claim("A", Assurance::Failed, &["do not pass", r"tests/part\xff"]).await;
    assert_eq!(examiner.disputed(), [r"tests/part\xff"]);
    reject(&fixture.project, &[], r"tests/part\xff").unwrap();
    assert_eq!(fs::read_to_string(&part).unwrap(), TEST);
}

#[tokio::test]
async fn files_beside_the_project_in_its_repository_are_protected() {
    let spec = "# Calc\n\n```check A protect=../shared/**\n$ sh ../shared/add.sh\nall good\n```\n";
    let fixture = VerifyFixture::without_repository(spec);
    let top = fixture.root().parent().unwrap().to_owned();
    let test = top.join("shared/add.sh");
    fs::create_dir(top.join("shared")).unwrap();
    fs::write(&test, TEST).unwrap();
    fixture.git_in(&top, &["init", "-q", "-b", "main", "."]);
    fixture.git_in(&top, &["add", "shared"]);
    fixture.commit(&[]);
    let examiner = fixture.prepared().await;
    assert_eq!(*examiner.protected[0].1.read().unwrap(), [test.clone(), fixture.path("SPEC.md")]);
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;

    for program in [
        "echo 'echo all good' > ../shared/add.sh; echo 4\n",
        "mv ../shared ../aside; mkdir ../shared; echo 'echo all good' > ../shared/add.sh; echo 4\n",
    ] {
        fixture.commit(&[("calc.sh", program)]);
        examiner.assert_claim("A", Assurance::Failed, &["do not pass"]).await;
    }

    fs::write(&test, WEAK).unwrap();
    fs::write(top.join("shared/more.sh"), WEAK).unwrap();
    fixture.git_in(&top, &["add", "shared"]);
    fixture.commit(&[("calc.sh", "echo 4\n")]);
    examiner.assert_claim("A", Assurance::Failed, &["do not pass", "../shared/add.sh"]).await;
    assert_eq!(examiner.disputed(), ["../shared/add.sh", "../shared/more.sh"]);
    reject(&fixture.project, &[], "../shared/add.sh").unwrap();
    assert_eq!(fs::read_to_string(&test).unwrap(), TEST);
}

#[tokio::test]
async fn a_pattern_that_leaves_the_repository_is_refused() {
    let spec = "# Calc\n\n```check A name=sums protect=../shared/**\n$ sh ../shared/add.sh\n```\n";
    let fixture = VerifyFixture::new(spec);
    let fault = written_checks(&fixture.project, spec).unwrap_err().to_string();
    assert!(fault.contains("check 'sums'") && fault.contains("outside the repository"), "{fault}");
}

#[tokio::test]
async fn nothing_is_added_to_a_directory_of_tests_for_a_moment() {
    let spec = "# Calc\n\n```check A name=tests protect=tests/*.sh\n$ sh build.sh && sh tests/add.sh\nall good\n```\n";
    let reads_more = format!("[ ! -f tests/more.sh ] || . ./tests/more.sh\n{TEST}");
    let fixture = VerifyFixture::with_files(spec, &[("tests/add.sh", &reads_more), ("build.sh", "true\n")]);
    let examiner = fixture.prepared().await;
    let adds = "echo 'rm tests/more.sh; echo all good; exit' > tests/more.sh\n";
    fixture.commit(&[("calc.sh", "echo 4\n"), ("build.sh", adds)]);
    examiner.assert_claim("A", Assurance::Failed, &[]).await;
    fixture.commit(&[("calc.sh", ADDS), ("build.sh", "true\n")]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn what_a_link_among_protected_files_leads_to_is_protected_as_a_whole() {
    let fixture = VerifyFixture::without_repository(TESTED);
    fixture.git(&["init", "-q", "-b", "main", "."]);
    fixture.write("lib/add.sh", TEST);
    fixture.write("tests/add.sh", ". ./tests/lib/add.sh\n");
    symlink("../lib", fixture.path("tests/lib")).unwrap();
    fixture.commit(&[("a", "a\n")]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 4\n"), ("lib/add.sh", WEAK)]);
    examiner.assert_claim("A", Assurance::Failed, &["lib/add.sh"]).await;
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_protected_link_that_was_replaced_for_a_moment_is_noticed() {
    let spec =
        "# Calc\n\n```check A name=tests protect=tests/**\n$ sh build.sh && sh tests/add.sh\nall good\n```\n";
    let fixture = VerifyFixture::without_repository(spec);
    fixture.git(&["init", "-q", "-b", "main", "."]);
    fixture.write("suite/add.sh", TEST);
    symlink("suite", fixture.path("tests")).unwrap();
    fixture.commit(&[("build.sh", "true\n")]);
    let examiner = fixture.prepared().await;
    let swaps =
        "rm tests; mkdir tests; echo 'rm -rf tests; ln -s suite tests; echo all good' > tests/add.sh\n";
    fixture.commit(&[("calc.sh", "echo 4\n"), ("build.sh", swaps)]);
    examiner.assert_claim("A", Assurance::Failed, &["changed while it ran"]).await;
    fixture.commit(&[("calc.sh", ADDS), ("build.sh", "true\n")]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

/// `..` behind a link leads to where the link leads.
#[tokio::test]
async fn a_check_that_goes_through_a_link_of_agents_does_not_count() {
    let spec = TESTED.replace("sh tests/add.sh", "cd app && sh ../tests/add.sh");
    let test = TEST.replace("calc.sh", "app/calc.sh");
    for is_there in [false, true] {
        let own = [("tests/add.sh", test.as_str()), ("app/kept", "")];
        let fixture = VerifyFixture::with_files(&spec, if is_there { &own } else { &own[..1] });
        let examiner = fixture.prepared().await;
        let _ = fs::remove_dir_all(fixture.path("app"));
        fixture.write("e/tests/add.sh", WEAK);
        fixture.write("e/app/calc.sh", "echo 4\n");
        symlink("e/app", fixture.path("app")).unwrap();
        fixture.commit(&[]);
        let words = ["`tests`: it goes through `app`, which is a link to `e/app` now"];
        examiner.assert_claim("A", Assurance::Claimed, &words).await;
    }
    // What the user has, or what no check goes through, is harmless.
    let fixture = VerifyFixture::with_files(TESTED, &[("tests/add.sh", TEST), ("e/app/kept", "")]);
    symlink("e/app", fixture.path("tests/app")).unwrap();
    fixture.commit(&[]);
    let examiner = fixture.prepared().await;
    symlink("e", fixture.path("other")).unwrap();
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

/// A directory elsewhere may have the name of a link.
#[tokio::test]
async fn a_check_that_goes_past_a_link_of_agents_counts() {
    for (command, link) in
        [("sh packages/app/calc.sh add 2 3", "app"), ("/usr/bin/env sh packages/app/calc.sh add 2 3", "bin")]
    {
        let fixture = VerifyFixture::new(&format!("# Calc\n\n```check A\n$ {command}\n5\n```\n"));
        let examiner = fixture.prepared().await;
        fixture.write("packages/app/calc.sh", ADDS);
        symlink("packages/app", fixture.path(link)).unwrap();
        fixture.commit(&[]);
        examiner.assert_claim("A", Assurance::Verified, &[]).await;
    }
}

#[tokio::test]
async fn every_link_between_the_tests_and_their_files_is_protected() {
    for (link, target, between) in [("tests/add.sh", "../cur/add.sh", "cur"), ("tests/lib", "../cur", "cur")]
    {
        let fixture = VerifyFixture::with_files(TESTED, &[("tests/kept", ""), ("v1/add.sh", TEST)]);
        symlink("v1", fixture.path(between)).unwrap();
        symlink(target, fixture.path(link)).unwrap();
        if link == "tests/lib" {
            fixture.write("tests/add.sh", ". ./tests/lib/add.sh\n");
        }
        fixture.commit(&[]);
        let examiner = fixture.prepared().await;
        fs::remove_file(fixture.path(between)).unwrap();
        symlink("v2", fixture.path(between)).unwrap();
        fixture.commit(&[("calc.sh", "echo 4\n"), ("v2/add.sh", WEAK)]);
        examiner.assert_claim("A", Assurance::Failed, &["cur"]).await;
        assert_eq!(examiner.disputed(), ["cur"]);
    }
}

/// A command of the block makes it, a directory on the way becomes one, or the user's own leads through one.
#[tokio::test]
async fn no_way_to_the_tests_leads_through_a_link_of_agents() {
    let through = "# Calc\n\n```check A name=tests protect=tests/**\n$ sh build.sh\n$ cd app && sh ../tests/add.sh\nall good\n```\n";
    let fixture = VerifyFixture::with_files(through, &[("tests/add.sh", TEST)]);
    let examiner = fixture.prepared().await;
    fixture.commit(&[("build.sh", "ln -sfn e/app app\n"), ("e/app/calc.sh", ""), ("e/tests/add.sh", WEAK)]);
    examiner.assert_claim("A", Assurance::Claimed, &["it goes through `app`"]).await;

    let fixture =
        VerifyFixture::with_files(TESTED, &[("tests/kept", ""), ("a/kept", ""), ("b/add.sh", TEST)]);
    symlink("../a/../b/add.sh", fixture.path("tests/add.sh")).unwrap();
    fixture.commit(&[]);
    let examiner = fixture.prepared().await;
    fs::remove_dir_all(fixture.path("a")).unwrap();
    symlink("e/a", fixture.path("a")).unwrap();
    fixture.commit(&[("calc.sh", "echo 4\n"), ("e/a/kept", ""), ("e/b/add.sh", WEAK)]);
    examiner
        .assert_claim("A", Assurance::Failed, &["files that it relies on were changed", "tests/add.sh"])
        .await;

    let through = TESTED.replace("sh tests/add.sh", "cd app && sh ../tests/add.sh");
    let fixture = VerifyFixture::with_files(&through, &[("tests/add.sh", TEST), ("v1/kept", "")]);
    symlink("v1", fixture.path("app")).unwrap();
    fixture.commit(&[]);
    let examiner = fixture.prepared().await;
    fs::remove_dir_all(fixture.path("v1")).unwrap();
    symlink("e/v1", fixture.path("v1")).unwrap();
    fixture.commit(&[("e/v1/calc.sh", ""), ("e/tests/add.sh", WEAK)]);
    examiner.assert_claim("A", Assurance::Claimed, &["it goes through `app`"]).await;
}
