//! Evidence: what was run, on what, where and with which result, so that anyone can reproduce it.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use autonoe_core::check::{Assurance, Check, CheckOrigin, UncheckedCriteria};
use autonoe_core::deliverable::Deliverable;
use autonoe_core::fault::Fault;
use autonoe_core::money::Usd;
use autonoe_core::status::ProjectStatus;
use autonoe_store::{CheckRegistry, FailedLook, Project, StoredEvidence, read_evidence};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::check_run::CheckRun;
use crate::checkout::Checkout;
use crate::checks::{check_key, checks_of};
use crate::noted_files::NotedFiles;
use crate::written_changes::concerning as changes_concerning;

/// Maximum length of output in the evidence, in bytes.
const MAX_OUTPUT: usize = 16 * 1024;

/// Time limit for querying versions.
const VERSIONS_LIMIT: Duration = Duration::from_secs(10);

/// Programs whose version is recorded if a check uses them.
const TOOLS: [&str; 22] = [
    "bash", "bun", "cargo", "cmake", "deno", "dotnet", "gcc", "git", "go", "java", "make", "mvn", "node",
    "npm", "php", "pnpm", "pytest", "python3", "ruby", "rustc", "sqlite3", "yarn",
];

/// Record of a verified deliverable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub deliverable: String,
    pub description: String,
    pub criteria: Vec<Criterion>,
    pub checks: Vec<CheckEvidence>,
    /// `None` where there is no repository and files were copied.
    pub commit: Option<String>,
    /// Hash of the checked files.
    pub tree: String,
    /// Uncommitted files, which were not checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    /// Files to look at.
    #[serde(flatten)]
    pub noted: NotedFiles,
    pub environment: CheckEnvironment,
    /// `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder: Option<Builder>,
    pub at: Timestamp,
    /// Version of Autonoe.
    pub autonoe: String,
    /// Whether this user's Autonoe wrote exactly this for this project; false for evidence that was edited or came with a clone.
    #[serde(skip)]
    pub is_ours: bool,
}

/// A criterion and the checks that cover it; without checks it is only claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    pub text: String,
    /// Names of the checks.
    pub checks: Vec<String>,
}

/// A check and its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckEvidence {
    pub check: Check,
    #[serde(rename = "seen")]
    pub run: CheckRun,
    /// Whether it counts: it failed before the work began, or the user accepted it.
    pub counts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckEnvironment {
    pub os: String,
    pub architecture: String,
    /// Sandbox layer.
    pub sandbox: String,
    /// Versions of programs used by the checks.
    pub tools: BTreeMap<String, String>,
}

/// The session that built a deliverable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Builder {
    pub backend: String,
    pub model: String,
    /// Cost of the session when the deliverable was verified; `None` if a price is unknown.
    pub cost_usd: Option<Usd>,
}

impl Evidence {
    /// `None` if there is no evidence.
    pub fn load(project: &Project, deliverable: &str) -> Result<Option<Self>, Fault> {
        let read = |StoredEvidence { value, is_ours }| {
            let evidence = serde_json::from_value(value).ok();
            // One of another deliverable was put in its place.
            let evidence = evidence.filter(|evidence: &Self| evidence.deliverable == deliverable);
            evidence.map(|evidence| Self { is_ours, ..evidence })
        };
        Ok(read_evidence(project, deliverable)?.and_then(read))
    }

    /// The files that a reader should look at, of all that is verified, by the ids of deliverables.
    pub fn noted_files(
        project: &Project,
        status: &ProjectStatus,
    ) -> Result<BTreeMap<String, NotedFiles>, Fault> {
        let mut noted = BTreeMap::new();
        for item in status.active().filter(|item| item.assurance() == Some(Assurance::Verified)) {
            let evidence = Self::load(project, &item.id)?.filter(|evidence| evidence.is_ours);
            noted.extend(evidence.map(|evidence| (item.id.clone(), evidence.noted)));
        }
        Ok(noted)
    }

    pub fn unchecked(&self) -> Option<UncheckedCriteria> {
        unchecked(self.criteria.len(), &self.checks)
    }

    /// How the checks of the deliverable differ from those that verified it, a clause each.
    pub fn outdated(&self, checks: &[Check]) -> Vec<String> {
        outdated(&self.deliverable, &self.checks, checks)
    }
}

/// How the present checks of a deliverable differ from those that verified it, a clause each: the user's that had no part in it, and
/// whether none is left that counted.
pub(crate) fn outdated(deliverable: &str, verified_by: &[CheckEvidence], checks: &[Check]) -> Vec<String> {
    let present = checks_of(checks, deliverable);
    let known: HashSet<String> = verified_by.iter().map(|known| check_key(&known.check)).collect();
    let is_new =
        |check: &&&Check| check.origin != CheckOrigin::Proposed && !known.contains(&check_key(check));
    let new = present.iter().filter(is_new).map(|check| {
        format!(
            "your check '{}' of {deliverable} is new and has not run; the next `autonoe run` runs it",
            check.name
        )
    });
    let keys: HashSet<String> = present.iter().map(|check| check_key(check)).collect();
    let mut counting = verified_by.iter().filter(|check| check.counts);
    let is_lost = !counting.any(|check| keys.contains(&check_key(&check.check)));
    new.chain(is_lost.then(|| format!("the checks that verified {deliverable} are gone"))).collect()
}

/// Makes deliverables claimed that are verified without evidence of our own: their status came with a clone, or someone wrote it. Returns their
/// ids.
pub fn disown_foreign_findings(project: &Project, status: &mut ProjectStatus) -> Result<Vec<String>, Fault> {
    let mut disowned = Vec::new();
    for item in &mut status.deliverables {
        let Some(finding) = item.finding.as_mut().filter(|finding| finding.assurance == Assurance::Verified)
        else {
            continue;
        };
        let evidence = read_evidence(project, &item.id)?;
        let is_ours = evidence.is_some_and(|evidence| {
            evidence.is_ours
                && evidence.value["deliverable"].as_str() == Some(&item.id)
                && evidence.value["tree"].as_str() == finding.tree.as_deref()
        });
        if !is_ours {
            finding.assurance = Assurance::Claimed;
            disowned.push(item.id.clone());
        }
    }
    Ok(disowned)
}

/// Makes deliverables claimed that were verified by other checks than the present ones (one was changed, a new one has not run yet, or
/// none of them is left), and those that a later look did not confirm. Returns what is new, gone or failed, a clause each.
pub fn disown_outdated_findings(
    project: &Project,
    status: &mut ProjectStatus,
    registry: &CheckRegistry,
    checks: &[Check],
) -> Result<Vec<String>, Fault> {
    let mut reasons = Vec::new();
    for item in status.deliverables.iter_mut().filter(|item| item.is_active()) {
        let Some(finding) = item.finding.as_mut().filter(|finding| finding.assurance == Assurance::Verified)
        else {
            continue;
        };
        let evidence = Evidence::load(project, &item.id)?;
        let mut outdated = evidence.map(|evidence| evidence.outdated(checks)).unwrap_or_default();
        outdated.extend(registry.failed_looks.get(&item.id).map(|FailedLook { at, message }| {
            let at = at.strftime("%Y-%m-%d %H:%M UTC");
            format!(
                "a later look at {id} failed on {at}: {message}; `autonoe verify {id}` looks again",
                id = item.id
            )
        }));
        if !outdated.is_empty() || !changes_concerning(registry, &item.id).is_empty() {
            finding.assurance = Assurance::Claimed;
        }
        reasons.extend(outdated);
    }
    Ok(reasons)
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

/// The criteria that no check with a proof covers.
pub(crate) fn unchecked(criteria: usize, evidence: &[CheckEvidence]) -> Option<UncheckedCriteria> {
    UncheckedCriteria::of(criteria, evidence.iter().filter(|proof| proof.counts).map(|proof| &proof.check))
}

/// Truncates the output.
pub(crate) fn truncated(run: &CheckRun) -> CheckRun {
    let mut run = run.clone();
    if run.output.len() > MAX_OUTPUT {
        let tail = last(&run.output, MAX_OUTPUT / 2);
        let end = (0..=MAX_OUTPUT / 2).rev().find(|end| run.output.is_char_boundary(*end));
        let head = &run.output[..end.unwrap_or_default()];
        let left_out = run.output.len() - head.len() - tail.len();
        run.output = format!("{head}\n[{left_out} bytes omitted]\n{tail}");
    }
    run
}

/// The last `bytes` bytes of a text, at a character boundary.
pub(crate) fn last(text: &str, bytes: usize) -> &str {
    let start = text.len().saturating_sub(bytes);
    let start = (start..text.len()).find(|start| text.is_char_boundary(*start));
    &text[start.unwrap_or(text.len())..]
}

/// Versions of programs used by the checks, queried in the room of the checkout.
pub(crate) async fn versions(checkout: &Checkout, checks: &[&Check]) -> BTreeMap<String, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = |tool: &&&str| {
        **tool == "bash"
            || checks.iter().any(|check| check.command.split(|c| !is_word(c)).any(|word| word == **tool))
    };
    let tools: Vec<&str> = TOOLS.iter().filter(named).copied().collect();
    let script = r#"for tool; do v=$("$tool" --version 2>/dev/null | head -n 1) && [ -n "$v" ] && printf '%s %s\n' "$tool" "$v"; done"#;
    let work = async {
        let files = checkout.files().await.ok()?;
        let room = checkout.room(&files, false, Vec::new())?;
        let launch = room.command("sh").await.ok()?;
        let (reader, writer) = std::io::pipe().ok()?;
        let arguments = ["-c", script, "sh"].into_iter().chain(tools);
        let mut child = launch.args(arguments).cwd(&files.root).stdout(writer).spawn().ok()?;
        let mut text = String::new();
        let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into()).ok()?;
        reader.take(16 * 1024).read_to_string(&mut text).await.ok()?;
        child.wait().await.ok()?;
        room.close().await;
        Some(text)
    };
    let text = timeout(VERSIONS_LIMIT, work).await.ok().flatten().unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(tool, version)| (tool.to_owned(), version.to_owned())).collect()
}
