//! Commands of a block that prepare others, and what they must not make possible.

use autonoe_core::check::Assurance;

use super::fixture::{ADDS, SPEC, TEST, TESTED, VerifyFixture};

#[tokio::test]
async fn a_command_without_expected_output_prepares_those_below_it() {
    let spec = "# Calc\n\n```check A\n$ sh build.sh\n$ ./built add 2 3\n5\n$ ./built add 10 20\n30\n$ test -f log\n```\n";
    let fixture = VerifyFixture::new(spec);
    let examiner = fixture.prepared().await;
    let built = "printf '#!/bin/sh\\necho $(($2 + $3))' > built; chmod +x built; echo x >> log\n";
    fixture.commit(&[("build.sh", built)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
    fixture.commit(&[("build.sh", "exit 3\n")]);
    let words = ["`sh build.sh`, which must run before it, failed: expected exit 0, got 3"];
    examiner.assert_claim("A", Assurance::Failed, &words).await;
}

/// They are there for the check as they were left, and what is in them is named.
#[tokio::test]
async fn unreadable_files_that_a_command_leaves_do_not_end_the_run() {
    let spec = "# Calc\n\n```check A protect=tests/run.sh\n$ sh build.sh\n$ sh tests/run.sh\n5\n\
        $ stat -c %a fix fix/secret; chmod 700 fix; cat fix/secret\n111\n0\n...Permission denied\n? 1\n\
        $ stat -c %a fix\n111\n```\n";
    let test = "cat fix/secret 2> /dev/null || sh calc.sh add 2 3\n";
    let fixture = VerifyFixture::with_files(spec, &[("tests/run.sh", test)]);
    let examiner = fixture.prepared().await;
    let build = "mkdir fix; echo x > fix/secret; echo > fix/.npmrc; chmod 000 fix/secret; chmod 111 fix\n";
    fixture.commit(&[("calc.sh", ADDS), ("build.sh", build)]);
    let named = "by themselves: fix/.npmrc (made by a check's command).";
    examiner.assert_claim("A", Assurance::Verified, &[named]).await;
}

#[tokio::test]
async fn a_program_cannot_prepare_itself_for_the_next_check() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    for program in [
        // It becomes another program, counts its calls, or leaves the answer somewhere.
        "echo 'echo 30' > calc.sh; echo 5\n",
        "if [ -f ../called ]; then echo 30; else touch ../called 2> /dev/null; echo 5; fi\n",
        "if [ -f \"$HOME/called\" ]; then echo 30; else : > \"$HOME/called\"; echo 5; fi\n",
        "if [ -f /tmp/called ]; then echo 30; else : > /tmp/called; echo 5; fi\n",
        "if [ -f /dev/shm/called ]; then echo 30; else : > /dev/shm/called; echo 5; fi\n",
        "if git config called.before; then echo 30; else git config called.before 1; echo 5; fi > out; tail -n 1 out\n",
    ] {
        fixture.commit(&[("calc.sh", program)]);
        examiner.assert_claim("A", Assurance::Failed, &["expected `30`"]).await;
    }
    fixture.commit(&[("calc.sh", ADDS)]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_program_cannot_change_the_files_that_judge_it() {
    let reads_more = format!("{TEST}[ ! -f tests/more.sh ] || . ./tests/more.sh\nexit 1\n")
        .replace("&& echo all good", "&& { echo all good; exit; }");
    let fixture = VerifyFixture::with_files(TESTED, &[("tests/add.sh", &reads_more)]);
    let examiner = fixture.prepared().await;
    for program in [
        // The test reads this one, if it appears in time.
        "echo 'echo all good; exit' > tests/more.sh; echo 4\n",
        "echo 'echo all good' > tests/add.sh; echo 4\n",
        "rm -rf tests; mkdir tests; echo 'echo all good' > tests/add.sh; echo 4; sh tests/add.sh >&2\n",
        "mv tests old; mkdir tests; echo 'echo all good' > tests/add.sh; echo 4; sh tests/add.sh >&2\n",
    ] {
        fixture.commit(&[("calc.sh", program)]);
        examiner.assert_claim("A", Assurance::Failed, &[]).await;
    }
}

#[tokio::test]
async fn a_program_cannot_write_what_the_shell_that_judges_it_reads_first() {
    let judges = "sh calc.sh version > /dev/null 2>&1\nbash -l -c 'test \"$(sh calc.sh add 2 3)\" = 5 && echo all good'\n";
    let fixture = VerifyFixture::with_files(TESTED, &[("tests/add.sh", judges)]);
    let examiner = fixture.prepared().await;
    let profile =
        "echo 'echo all good; exit 0' | tee ~/.bash_profile ~/.bash_login ~/.profile > ~/.bashrc; echo 4\n";
    fixture.commit(&[("calc.sh", profile)]);
    examiner.assert_claim("A", Assurance::Failed, &[]).await;
    fixture.commit(&[("calc.sh", "echo $(($2 + $3))\n")]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_program_cannot_read_what_its_judge_prints() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    // The right answer only if the output could be opened for reading, or its permissions changed.
    let reads = |how: &str| format!("if {how}; then echo $(($2 + $3)); else echo no; fi\n");
    for how in [
        "(: < /proc/self/fd/1) 2> /dev/null",
        "(: < /proc/$PPID/fd/2) 2> /dev/null",
        "chmod u+r /proc/self/fd/1 2> /dev/null",
    ] {
        fixture.commit(&[("calc.sh", &reads(how))]);
        examiner.assert_claim("A", Assurance::Failed, &[]).await;
    }
    fixture
        .commit(&[("calc.sh", &reads("echo $(($2 + $3)) > /dev/stderr && false").replace("echo no", ":"))]);
    examiner.assert_claim("A", Assurance::Verified, &[]).await;
}

#[tokio::test]
async fn a_program_cannot_leave_compiled_files_for_the_tests() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    let writes =
        "if mkdir -p \"$PYTHONPYCACHEPREFIX\" 2> /dev/null; then echo $(($2 + $3)); else echo no; fi\n";
    fixture.commit(&[("calc.sh", writes)]);
    examiner.assert_claim("A", Assurance::Failed, &[]).await;
}

/// Only bubblewrap prevents it; otherwise the check fails with the names of the files.
#[tokio::test]
async fn a_program_that_writes_beside_the_tests_is_told_why_it_cannot() {
    let fixture = VerifyFixture::tested();
    let examiner = fixture.prepared().await;
    fixture.commit(&[("calc.sh", "echo 5 > tests/out.txt && cat tests/out.txt\n")]);
    let words = "Files in `tests/` are protected while checks run, so nothing can be written there: write to another directory.";
    let message = examiner.assert_claim("A", Assurance::Failed, &[]).await.message;
    assert!(
        message.contains(words) || message.contains("were changed while it ran: tests/out.txt"),
        "{message}"
    );
}
