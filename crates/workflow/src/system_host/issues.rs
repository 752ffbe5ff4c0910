//! Looks up GitHub issues with `gh`. It runs as the user with their login, so outside of the sandbox, but under a supervisor.

use std::path::PathBuf;
use std::time::Duration;

use autonoe_sandbox::{BoundedCommand, Bounds, CommandEnd, MAX_OUTPUT, Sandbox};
use serde::Deserialize;

use super::output::{OUTPUT_LIMITS, last_lines};
use crate::issue_error::IssueError;

/// The time limit of `gh`.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The longest issue number, and the longest name of an owner or a repository, in characters.
const MAX_DIGITS: usize = 18;
const MAX_NAME: usize = 100;

/// Keeps `gh` from prompting and from checking for updates.
const QUIET_ENVIRONMENT: [(&str, &str); 3] =
    [("GH_PROMPT_DISABLED", "1"), ("GH_NO_UPDATE_NOTIFIER", "1"), ("NO_COLOR", "1")];

#[derive(Debug, Clone)]
pub struct GithubIssues {
    /// The path of `gh`; `None` if it is not installed.
    pub gh: Option<PathBuf>,
    /// The complete environment of `gh`.
    pub environment: Vec<(String, String)>,
    /// Our own executable, which supervises `gh`.
    pub ourselves: PathBuf,
    /// A directory of ours that is in no repository, used as the root of the room.
    pub scratch: PathBuf,
}

/// The output of `gh`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GhAnswer {
    state: String,
}

impl GithubIssues {
    /// The state of an issue, such as OPEN or CLOSED.
    pub(super) async fn state(&self, issue: &str, repository: &str) -> Result<String, IssueError> {
        if !is_number(issue) {
            return Err(IssueError::Number(shown(issue)));
        }
        if !is_repository(repository) {
            return Err(IssueError::Repository(shown(repository)));
        }
        let gh = self.gh.as_ref().ok_or(IssueError::NoGh)?;
        let bounds = Bounds::new(&self.scratch, &self.scratch, &self.scratch);
        let room = Sandbox::none(&self.ourselves).open(bounds).await;
        let room = room.map_err(|error| IssueError::Sandbox(error.to_string()))?;
        let launch = room
            .command(gh)
            .args(["issue", "view", issue, "-R", repository, "--json", "state"])
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(QUIET_ENVIRONMENT);
        let bounded_command = BoundedCommand {
            launch,
            input: Vec::new(),
            separate_stderr: true,
            time_limit: TIME_LIMIT,
            output_limits: OUTPUT_LIMITS,
        };
        let ran = bounded_command.run(|_| {}).await;
        room.close().await;
        match ran.ending {
            CommandEnd::Exit(0) => read(&ran.output.text()),
            CommandEnd::Exit(code) => {
                let message = last_lines(&ran.stderr);
                let message = message.unwrap_or_else(|| "it printed no error message".to_owned());
                Err(IssueError::Exit { code, message })
            }
            CommandEnd::TimedOut => Err(IssueError::TimedOut(TIME_LIMIT)),
            CommandEnd::TooMuchOutput => Err(IssueError::TooMuchOutput(MAX_OUTPUT)),
            CommandEnd::NotRun { why } => Err(IssueError::NotRun { gh: gh.clone(), why }),
        }
    }
}

fn read(output: &str) -> Result<String, IssueError> {
    let answer: GhAnswer =
        serde_json::from_str(output).map_err(|error| IssueError::Output(error.to_string()))?;
    let is_state = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    match answer.state {
        state if !state.is_empty() && state.bytes().all(is_state) => Ok(state),
        state => Err(IssueError::State(shown(&state))),
    }
}

fn is_number(issue: &str) -> bool {
    (1..=MAX_DIGITS).contains(&issue.len()) && issue.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_repository(repository: &str) -> bool {
    repository.split_once('/').is_some_and(|(owner, name)| is_safe(owner) && is_safe(name))
}

/// Whether a name cannot be an option, a relative path or contain special characters.
fn is_safe(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(is_plain)
        && !name.starts_with('-')
        && !matches!(name, "." | "..")
}

fn shown(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(MAX_NAME).collect()
}
