use std::fs;

use autonoe_workflow::HostEffects;

use autonoe_test_kit::{PATH, write_program};

use crate::host_fixture::HostFixture;

/// A fixture whose `gh` is this script.
fn fixture(script: &str) -> HostFixture {
    let mut fixture = HostFixture::new();
    let gh = fixture.dir.path().join("gh");
    write_program(&gh, script);
    fixture.host.issues.gh = Some(gh);
    fixture.host.issues.environment =
        [("PATH", PATH), ("GH_TOKEN", "a-token"), ("OUT", fixture.dir.path().to_str().unwrap())]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    fixture
}

#[tokio::test]
async fn gh_gets_only_the_configured_environment() {
    let fixture = fixture(
        r#"printf '%s ' "$@" > $OUT/args; pwd > $OUT/cwd; env > $OUT/env; echo '{"state":"CLOSED"}'"#,
    );
    assert_eq!(fixture.host.issue("7", "some-one/its.name_2").await, Ok("CLOSED".to_owned()));
    let written = |name: &str| fs::read_to_string(fixture.dir.path().join(name)).unwrap();
    assert_eq!(written("args"), "issue view 7 -R some-one/its.name_2 --json state ");
    assert_eq!(written("cwd"), "/\n");
    let mut names: Vec<_> =
        written("env").lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    names.sort();
    assert_eq!(names, ["GH_NO_UPDATE_NOTIFIER", "GH_PROMPT_DISABLED", "GH_TOKEN", "NO_COLOR", "OUT", "PATH"]);
}

#[tokio::test]
async fn an_invalid_issue_is_not_looked_up() {
    let fixture = fixture("touch $OUT/called; echo '{\"state\":\"OPEN\"}'");
    for issue in ["", "-1", "7 ", "7;", "x", "٣", "1234567890123456789", "{uv-issue}"] {
        assert!(
            fixture.host.issue(issue, "o/n").await.unwrap_err().to_string().contains("not an issue number"),
            "{issue}"
        );
    }
    let long = format!("o/{}", "n".repeat(101));
    for repository in [
        "",
        "o",
        "/n",
        "o/",
        "o/n/m",
        "h.example/o/n",
        "-o/n",
        "o/-n",
        "o/..",
        "./n",
        "o /n",
        "o/n\n",
        "ö/n",
        &long,
    ] {
        let why = fixture.host.issue("7", repository).await.unwrap_err().to_string();
        assert!(why.contains("OWNER/NAME"), "{repository}: {why}");
    }
    assert!(!fixture.dir.path().join("called").exists());
}

#[tokio::test]
async fn malformed_output_of_gh_is_an_error() {
    for (script, wanted) in [
        ("echo 'no such issue' >&2; exit 1", "gh exited with 1: no such issue"),
        ("exit 4", "gh exited with 4: it printed no error message"),
        ("true", "cannot be read"),
        ("echo CLOSED", "cannot be read"),
        (r#"echo '{"state":7}'"#, "cannot be read"),
        (r#"echo '{"state":"OPEN","title":"x"}'"#, "cannot be read"),
        (r#"echo '{"state":"OPEN"} {}'"#, "cannot be read"),
        (r#"echo '{"state":""}'"#, "invalid state"),
        (r#"echo '{"state":"closed now"}'"#, "invalid state"),
    ] {
        let why = fixture(script).host.issue("7", "o/n").await.expect_err(script).to_string();
        assert!(why.contains(wanted), "{script}: {why}");
    }
}

#[tokio::test]
async fn without_gh_the_error_says_how_to_get_it() {
    let mut fixture = HostFixture::new();
    let why = fixture.host.issue("7", "o/n").await.unwrap_err().to_string();
    assert!(why.contains("not installed") && why.contains("https://cli.github.com"), "{why}");
    fixture.host.issues.gh = Some("/no/such/gh".into());
    let why = fixture.host.issue("7", "o/n").await.unwrap_err().to_string();
    assert!(why.contains("/no/such/gh could not be run"), "{why}");
}
