//! Issues: asked of `gh`, the user's own and with their login, so it is not in the sandbox; it ends with us nevertheless.

use std::path::PathBuf;
use std::time::Duration;

use autonoe_core::duration::format as format_duration;
use autonoe_sandbox::{BoundedCommand, Bounds, Ending, MAX_OUTPUT, Sandbox};
use serde::Deserialize;

use super::{KEPT, last_words};

/// How long `gh` may take.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The longest number of an issue, and the longest name of an owner or a repository, in characters.
const MAX_DIGITS: usize = 18;
const MAX_NAME: usize = 100;

/// What keeps `gh` from asking questions and from looking for a newer one.
const QUIETLY: [(&str, &str); 3] =
    [("GH_PROMPT_DISABLED", "1"), ("GH_NO_UPDATE_NOTIFIER", "1"), ("NO_COLOR", "1")];

/// Who tells of issues.
#[derive(Debug, Clone)]
pub struct Issues {
    /// Where `gh` is; none if it is not installed.
    pub gh: Option<PathBuf>,
    /// All of its environment.
    pub environment: Vec<(String, String)>,
    /// Our own executable, which keeps it.
    pub ourselves: PathBuf,
    /// A directory of ours, in no repository, that the room is put around.
    pub scratch: PathBuf,
}

/// What `gh` answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    state: String,
}

impl Issues {
    /// The state of an issue, such as OPEN or CLOSED, or why it cannot be told.
    pub(super) async fn state(&self, issue: &str, repository: &str) -> Result<String, String> {
        if !is_number(issue) {
            return Err(format!("`{}` is not the number of an issue, such as 7", shown(issue)));
        }
        if !is_repository(repository) {
            return Err(format!("`{}` is not a repository, such as OWNER/NAME", shown(repository)));
        }
        let Some(gh) = &self.gh else {
            return Err(
                "gh is not installed; get it from https://cli.github.com and log in with `gh auth login`"
                    .to_owned(),
            );
        };
        let bounds = Bounds::new(&self.scratch, &self.scratch, &self.scratch);
        let room = Sandbox::none(&self.ourselves).open(bounds).await.map_err(|error| error.to_string())?;
        let launch = room
            .command(gh)
            .args(["issue", "view", issue, "-R", repository, "--json", "state"])
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(QUIETLY);
        let bounded_command = BoundedCommand {
            launch,
            input: Vec::new(),
            keeps_errors_apart: true,
            time_limit: TIME_LIMIT,
            kept: KEPT,
        };
        let ran = bounded_command.run(|_| {}).await;
        room.close().await;
        match ran.ending {
            Ending::Exit(0) => read(&ran.output.text()),
            Ending::Exit(code) => {
                let words = last_words(&ran.errors).unwrap_or_else(|| "it did not say why".to_owned());
                Err(format!("gh exited with {code}: {words}"))
            }
            Ending::TimedOut => Err(format!("gh gave no answer within {}", format_duration(TIME_LIMIT))),
            Ending::TooMuchOutput => Err(format!("gh printed more than {MAX_OUTPUT} bytes")),
            Ending::NotRun { why } => Err(format!("{} could not be run: {why}", gh.display())),
        }
    }
}

fn read(output: &str) -> Result<String, String> {
    let answer: Answer =
        serde_json::from_str(output).map_err(|error| format!("what gh answered cannot be read ({error})"))?;
    let is_state = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    match answer.state {
        state if !state.is_empty() && state.bytes().all(is_state) => Ok(state),
        state => Err(format!("gh named the state `{}`, which is none", shown(&state))),
    }
}

fn is_number(issue: &str) -> bool {
    (1..=MAX_DIGITS).contains(&issue.len()) && issue.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_repository(repository: &str) -> bool {
    repository.split_once('/').is_some_and(|(owner, name)| is_safe(owner) && is_safe(name))
}

/// Whether it is not an option, no way up and nothing that has a meaning elsewhere.
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
