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
