//! Evidence: what was run, on what, where and with which result, so that anybody can do it again.

use std::collections::BTreeMap;
use std::time::Duration;

use autonoe_core::check::Check;
use autonoe_core::deliverable::Deliverable;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::money::Usd;
use autonoe_store::{Project, evidence_file, read_evidence};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::checkout::Checkout;
use crate::trial::Trial;

/// How much of an output is put into the evidence.
const MAX_OUTPUT: usize = 16 * 1024;

/// How long the programs may take to tell their versions.
const VERSIONS_LIMIT: Duration = Duration::from_secs(10);

/// Programs whose version is worth knowing, if a check uses them.
const TOOLS: [&str; 22] = [
    "bash", "bun", "cargo", "cmake", "deno", "dotnet", "gcc", "git", "go", "java", "make", "mvn", "node",
    "npm", "php", "pnpm", "pytest", "python3", "ruby", "rustc", "sqlite3", "yarn",
];

/// The record of a deliverable that was verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The deliverable's id.
    pub deliverable: String,
    /// What it is.
    pub description: String,
    /// Its criteria, each with the checks that cover it.
    pub criteria: Vec<Criterion>,
    /// The checks and what came of them.
    pub checks: Vec<Proof>,
    /// The commit; none where there is no repository and files were copied.
    pub commit: Option<String>,
    /// The hash of the files that were looked at.
    pub tree: String,
    /// What was not committed at the time, and not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// Where it ran.
    pub environment: Surroundings,
    /// Who built it, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder: Option<Builder>,
    /// When.
    pub at: Timestamp,
    /// The version of Autonoe.
    pub autonoe: String,
}

/// A criterion and the checks that cover it; none means that nothing but the agent's word stands behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// Its text.
    pub text: String,
    /// The names of the checks.
    pub checks: Vec<String>,
}

/// A check and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// What must hold.
    pub check: Check,
    /// What was seen.
    pub seen: Trial,
    /// Whether it counts: it failed before the work began, or a person accepted it.
    pub counts: bool,
}

/// Where checks ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The operating system.
    pub os: String,
    /// The processor's architecture.
    pub architecture: String,
    /// What held the room.
    pub sandbox: String,
    /// The versions of the programs that the checks name.
    pub tools: BTreeMap<String, String>,
}

/// Who built something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Builder {
    /// The backend.
    pub backend: String,
    /// The model.
    pub model: String,
    /// What the session had cost when the deliverable was verified; none when no price is known.
    pub cost_usd: Option<Usd>,
}

impl Evidence {
    /// Reads the evidence of a deliverable; none when there is none.
    pub fn load(project: &Project, deliverable: &str) -> Result<Option<Self>, Fault> {
        let read = |value| {
            serde_json::from_value(value).map_err(|error| {
                let file = evidence_file(project, deliverable);
                let message = format!("{} cannot be read: {error}.", file.display());
                Fault::lasting(Layer::Config, "evidence", message)
            })
        };
        read_evidence(project, deliverable)?.map(read).transpose()
    }
}

/// The criteria of a deliverable, each with the checks that cover it.
pub fn coverage(deliverable: &Deliverable, checks: &[&Check]) -> Vec<Criterion> {
    let criteria = deliverable.acceptance_criteria.iter().enumerate();
    criteria
        .map(|(index, text)| {
            let covering = checks.iter().filter(|check| check.criteria.contains(&(index + 1)));
            Criterion { text: text.clone(), checks: covering.map(|check| check.name.clone()).collect() }
        })
        .collect()
}

/// A trial as it is written down: its output is cut.
pub(crate) fn shortened(trial: &Trial) -> Trial {
    let mut trial = trial.clone();
    if trial.output.len() > MAX_OUTPUT {
        let tail = last(&trial.output, MAX_OUTPUT / 2);
        let end = (0..=MAX_OUTPUT / 2).rev().find(|end| trial.output.is_char_boundary(*end));
        let head = &trial.output[..end.unwrap_or_default()];
        let left_out = trial.output.len() - head.len() - tail.len();
        trial.output = format!("{head}\n[{left_out} bytes left out]\n{tail}");
    }
    trial
}

/// The end of a text, of so many bytes at most.
pub(crate) fn last(text: &str, bytes: usize) -> &str {
    let start = text.len().saturating_sub(bytes);
    let start = (start..text.len()).find(|start| text.is_char_boundary(*start));
    &text[start.unwrap_or(text.len())..]
}

/// The versions of the programs that the checks name, as they tell them in the room of the checkout.
pub(crate) async fn versions(checkout: &Checkout, checks: &[&Check]) -> BTreeMap<String, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = |tool: &&&str| {
        **tool == "bash"
            || checks.iter().any(|check| check.command.split(|c| !is_word(c)).any(|word| word == **tool))
    };
    let tools: Vec<&str> = TOOLS.iter().filter(named).copied().collect();
    let script = r#"for tool; do v=$("$tool" --version 2>/dev/null | head -n 1) && [ -n "$v" ] && printf '%s %s\n' "$tool" "$v"; done"#;
    let Some(session_sandbox) = checkout.session_sandbox(false) else {
        return BTreeMap::new();
    };
    let Ok(launch) = session_sandbox.command("sh").await else {
        return BTreeMap::new();
    };
    let work = async {
        let (reader, writer) = std::io::pipe().ok()?;
        let arguments = ["-c", script, "sh"].into_iter().chain(tools);
        let mut child = launch.args(arguments).cwd(&checkout.root).stdout(writer).spawn().ok()?;
        let mut text = String::new();
        let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into()).ok()?;
        reader.take(16 * 1024).read_to_string(&mut text).await.ok()?;
        child.wait().await.ok()?;
        Some(text)
    };
    let text = timeout(VERSIONS_LIMIT, work).await.ok().flatten().unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(tool, version)| (tool.to_owned(), version.to_owned())).collect()
}
