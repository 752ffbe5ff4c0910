//! A repository whose objects are not what their names say, and settings that would show other files.

use std::fs;
use std::path::PathBuf;

use autonoe_core::check::Assurance;
use autonoe_core::examiner::Examiner;

use super::fixture::{ADDS, PRINTS_FIVE, SPEC, VerifyFixture};

fn object(fixture: &VerifyFixture, name: &str) -> PathBuf {
    let hash = fixture.git(&["rev-parse", name]);
    fixture.path(&format!(".git/objects/{}/{}", &hash[..2], &hash[2..]))
}

/// Gives an object the content of another one.
fn forge(fixture: &VerifyFixture, name: &str, content: &str) {
    let (from, to) = (object(fixture, content), object(fixture, name));
    fs::remove_file(&to).unwrap();
    fs::copy(from, to).unwrap();
}

#[tokio::test]
async fn a_forged_object_stops_the_examination() {
    for name in ["HEAD:parts/calc.sh", "HEAD:parts"] {
        let fixture = VerifyFixture::new(SPEC);
        let examiner = fixture.prepared().await;
        let main = ("calc.sh", "exec sh parts/calc.sh $@\n");
        let right = fixture.commit(&[main, ("parts/calc.sh", ADDS)]);
        fixture.commit(&[main, ("parts/calc.sh", PRINTS_FIVE)]);
        forge(&fixture, name, &name.replace("HEAD", &right));
        let deliverable = examiner.deliverable("A").await;
        let fault = examiner.examine(&deliverable).await.unwrap_err().to_string();
        let expected = ["an object is missing or not what its hash says", "cannot be read"];
        assert!(expected.iter().any(|words| fault.contains(words)), "{name}: {fault}");
    }
}

#[tokio::test]
async fn filters_and_replacements_of_the_repository_are_not_used() {
    let fixture = VerifyFixture::new(SPEC);
    let examiner = fixture.prepared().await;
    fixture.git(&["config", "filter.better.smudge", "echo 'echo $(($2 + $3))'"]);
    fixture.commit(&[(".gitattributes", "calc.sh filter=better\n"), ("calc.sh", PRINTS_FIVE)]);
    examiner.assert_claim("A", Assurance::Failed, &["expected `30`"]).await;

    fixture.write("right.sh", ADDS);
    let right = fixture.git(&["hash-object", "-w", "right.sh"]);
    fixture.git(&["replace", "HEAD:calc.sh", &right]);
    assert_eq!(fixture.git(&["show", "HEAD:calc.sh"]), ADDS.trim(), "git itself shows the other one");
    examiner.assert_claim("A", Assurance::Failed, &["expected `30`"]).await;

    let wrong = fixture.git(&["rev-parse", "HEAD"]);
    let right = fixture.commit(&[(".gitattributes", ""), ("calc.sh", ADDS)]);
    fixture.git(&["reset", "-q", "--hard", &wrong]);
    fixture.git(&["replace", "HEAD", &right]);
    examiner.assert_claim("A", Assurance::Failed, &["expected `30`"]).await;
}
