use std::fs;

use autonoe_workflow::HostEffects;

use crate::support::{Bench, PATH, write_program};

/// A bench with a `gh` that does this.
fn bench(script: &str) -> Bench {
    let mut bench = Bench::new();
    let gh = bench.dir.path().join("gh");
    write_program(&gh, script);
    bench.machine.issues.gh = Some(gh);
    bench.machine.issues.environment =
        [("PATH", PATH), ("GH_TOKEN", "a-token"), ("OUT", bench.dir.path().to_str().unwrap())]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    bench
}

#[tokio::test]
async fn gh_is_asked_for_the_state_with_the_environment_that_is_given() {
    let bench =
        bench(r#"printf '%s ' "$@" > $OUT/args; pwd > $OUT/cwd; env > $OUT/env; echo '{"state":"CLOSED"}'"#);
    assert_eq!(bench.machine.issue("7", "some-one/its.name_2").await, Ok("CLOSED".to_owned()));
    let written = |name: &str| fs::read_to_string(bench.dir.path().join(name)).unwrap();
    assert_eq!(written("args"), "issue view 7 -R some-one/its.name_2 --json state ");
    assert_eq!(written("cwd"), "/\n");
    let mut names: Vec<_> =
        written("env").lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    names.sort();
    assert_eq!(names, ["GH_NO_UPDATE_NOTIFIER", "GH_PROMPT_DISABLED", "GH_TOKEN", "NO_COLOR", "OUT", "PATH"]);
}

#[tokio::test]
async fn what_is_no_issue_is_not_asked_for() {
    let bench = bench("touch $OUT/asked; echo '{\"state\":\"OPEN\"}'");
    for issue in ["", "-1", "7 ", "7;", "x", "٣", "1234567890123456789", "{uv-issue}"] {
        assert!(
            bench.machine.issue(issue, "o/n").await.unwrap_err().contains("number of an issue"),
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
        let why = bench.machine.issue("7", repository).await.unwrap_err();
        assert!(why.contains("OWNER/NAME"), "{repository}: {why}");
    }
    assert!(!bench.dir.path().join("asked").exists());
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_no_state() {
    for (script, wanted) in [
        ("echo 'no such issue' >&2; exit 1", "gh exited with 1: no such issue"),
        ("exit 4", "gh exited with 4: it did not say why"),
        ("true", "cannot be read"),
        ("echo CLOSED", "cannot be read"),
        (r#"echo '{"state":7}'"#, "cannot be read"),
        (r#"echo '{"state":"OPEN","title":"x"}'"#, "cannot be read"),
        (r#"echo '{"state":"OPEN"} {}'"#, "cannot be read"),
        (r#"echo '{"state":""}'"#, "which is none"),
        (r#"echo '{"state":"closed now"}'"#, "which is none"),
    ] {
        let why = bench(script).machine.issue("7", "o/n").await.expect_err(script);
        assert!(why.contains(wanted), "{script}: {why}");
    }
}

#[tokio::test]
async fn without_gh_it_is_told_how_to_get_it() {
    let mut bench = Bench::new();
    let why = bench.machine.issue("7", "o/n").await.unwrap_err();
    assert!(why.contains("not installed") && why.contains("https://cli.github.com"), "{why}");
    bench.machine.issues.gh = Some("/no/such/gh".into());
    let why = bench.machine.issue("7", "o/n").await.unwrap_err();
    assert!(why.contains("/no/such/gh could not be run"), "{why}");
}
