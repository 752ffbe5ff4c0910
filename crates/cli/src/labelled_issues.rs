//! GitHub issues with a label, from the user's own `gh`. It runs outside the sandbox, since its login is the user's, and only lists.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_harness::roadmap::GithubIssue;
use autonoe_report::escape_controls;
use autonoe_sandbox::{MAX_OUTPUT, OutputLimits};
use serde::Deserialize;

use crate::environment::Environment;
use crate::helper::{Helper, HelperOutput};
use crate::programs::find_program;

/// Issues that are listed.
pub const MOST_ISSUES: usize = 1000;

/// Time limit of `gh`.
const LIMIT: Duration = Duration::from_secs(60);

/// The exit code with which `gh` says that nobody is logged in.
const NOT_LOGGED_IN: i32 = 4;

/// Keeps `gh` from prompting and from checking for updates.
const QUIET_ENVIRONMENT: [(&str, &str); 3] =
    [("GH_PROMPT_DISABLED", "1"), ("GH_NO_UPDATE_NOTIFIER", "1"), ("NO_COLOR", "1")];

/// The output of `gh`.
#[derive(Deserialize)]
struct ListedIssue {
    number: u64,
    title: String,
    body: Option<String>,
}

/// Open issues with this label, of the repository that `gh` finds in `directory` or of `repository`.
pub async fn labelled_issues(
    label: &str,
    repository: Option<&str>,
    directory: &Path,
    environment: &Environment,
) -> Result<Vec<GithubIssue>, Fault> {
    let program = find_program("gh", environment).ok_or_else(|| {
        fault("The program gh was not found on the PATH.".to_owned())
            .hint("Install the GitHub CLI from https://cli.github.com, then log in: gh auth login")
    })?;
    let mut variables = environment.all();
    variables.extend(QUIET_ENVIRONMENT.map(|(name, value)| (name.into(), value.into())));
    let helper = Helper {
        purpose: "GitHub issues".to_owned(),
        program: program.into(),
        args: arguments(label, repository),
        environment: variables,
        directory: directory.to_owned(),
        time_limit: LIMIT,
        output_limits: OutputLimits { head: MAX_OUTPUT as usize, tail: 0 },
        own_executable: &environment.own_executable()?,
    };
    let HelperOutput { code, output, stderr } =
        helper.run().await.map_err(|error| fault(format!("gh cannot list the issues: {error}.")))?;
    let stderr = stderr.map(|text| escape_controls(&text)).unwrap_or_else(|| "it printed nothing".to_owned());
    match code {
        0 => read(&output),
        NOT_LOGGED_IN => {
            Err(fault("gh is not logged in.".to_owned()).hint("Log in with `gh auth login`, then try again."))
        }
        code => Err(fault(format!("gh failed with exit code {code}: {}.", stderr.trim_end_matches('.')))
            .hint("It is run in the project; --repo names another repository.")),
    }
}

fn arguments(label: &str, repository: Option<&str>) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["issue", "list", "--state", "open", "--json", "number,title,body"].map(OsString::from).into();
    // As one word each, so that no value can be another option.
    args.extend([format!("--limit={MOST_ISSUES}"), format!("--label={label}")].map(OsString::from));
    args.extend(repository.map(|repository| format!("--repo={repository}").into()));
    args
}

fn read(output: &str) -> Result<Vec<GithubIssue>, Fault> {
    let listed: Vec<ListedIssue> = serde_json::from_str(output)
        .map_err(|error| fault(format!("gh did not print a list of issues: {error}.")).hint("Update gh."))?;
    let issue = |issue: ListedIssue| GithubIssue {
        number: issue.number,
        title: issue.title,
        body: issue.body.unwrap_or_default(),
    };
    Ok(listed.into_iter().map(issue).collect())
}

fn fault(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "github_issues", message)
}
