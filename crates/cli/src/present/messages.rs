//! The messages for people: outcomes, summaries and debug lines.

use std::time::Duration;

use autonoe_core::deliverable::DeliverableStatus;
use autonoe_core::duration::format as format_duration;
use autonoe_core::ending::{Ending, EndingKind};
use autonoe_core::event::{AgentEvent, CheckPurpose, HookFile};
use autonoe_core::file_names::list_names;
use autonoe_core::gate::ToolCall;
use autonoe_core::outcome::{PlanReport, RunOutcome, RunReport};
use autonoe_core::redact::Redactor;
use autonoe_core::status::{StatusChange, Tally};
use autonoe_report::{advise_on_hook_files, cost, describe_hook_files, one_line};
use autonoe_workspace::{Beginning, CheckedPart, list_files};
use jiff::Timestamp;

use super::console::MessageLevel;
use super::time;

/// Characters of messages and thinking shown in debug mode.
const MAX_TEXT: usize = 200;

/// Characters of tool arguments and results shown in debug mode.
const MAX_TOOL: usize = 100;

/// Characters of a denied command, and of the reason, that are shown.
const MAX_DENIED: usize = 120;
const MAX_DENIAL_REASON: usize = 300;

/// A backend and its model, which alone tells two providers of one backend apart.
pub fn agent(backend: &str, model: &str) -> String {
    if model.is_empty() { backend.to_owned() } else { format!("{backend} with {model}") }
}

/// `[PASS] User Auth (DL-001): verified, 1 of 3 criteria checked, no check for 2, 3`, `[BLOCKED] Payment (DL-002): no API key`.
pub fn status_line(change: &StatusChange) -> String {
    let StatusChange { deliverable_id: id, description, new, reason, assurance, .. } = change;
    let note = reason.as_ref().map(|reason| cut(reason, MAX_REASON)).or_else(|| assurance.clone());
    let note = note.map(|note| format!(": {note}")).unwrap_or_default();
    format!("{} {} ({}){note}", status_tag(*new), one_line(description), one_line(id))
}

/// `[PASS]`, `[BLOCKED]`, `[PENDING]`.
pub fn status_tag(status: DeliverableStatus) -> &'static str {
    match status {
        DeliverableStatus::Passed => "[PASS]",
        DeliverableStatus::Blocked => "[BLOCKED]",
        DeliverableStatus::Pending => "[PENDING]",
    }
}

/// `denied` counts the calls that a gate denied.
pub fn overall(report: &RunReport, denied: u32) -> String {
    let passed = |tally: &Tally| {
        let blocked = match tally.blocked {
            0 => String::new(),
            count => format!(" ({count} blocked)"),
        };
        format!("{}/{} deliverables passed{blocked}", tally.passed, tally.total)
    };
    let work = match &report.plan {
        PlanReport::Deliverables(tally) => passed(tally),
        PlanReport::Sync { tally, reviewed } => {
            format!("{}/{} reviewed, {}", reviewed.verified, reviewed.total, passed(tally))
        }
        PlanReport::Steps(agent) => format!("{} step(s) finished", agent.path.len()),
    };
    let denied = match denied {
        0 => String::new(),
        count => format!(", {count} call(s) denied"),
    };
    format!(
        "Overall: {} session(s), {work}{denied}, cost={}, duration={}",
        report.iterations,
        cost(report.cost_usd),
        format_duration(report.duration),
    )
}

/// The number is that of a session, not how many there were: those that were cut off are not counted in [`overall`].
pub fn resuming(last_session: u32) -> String {
    format!("Resuming a run whose process ended unexpectedly after session {last_session}.")
}

/// What was done so that agents could work from a commit.
pub fn beginning(beginning: Beginning) -> String {
    let done = match beginning {
        Beginning::NewRepository => "The project was not in a git repository, so one was made for it",
        Beginning::FirstCommit => "Nothing was committed yet",
    };
    format!("{done}: everything that git does not ignore is now its first commit.")
}

/// A sentence about the user's files that agents do not see; `None` if there are none.
pub fn left_out<'a>(files: impl Iterator<Item = &'a str>) -> Option<String> {
    let files: Vec<_> = files.collect();
    let shown = list_names(files.iter().take(5));
    let more = if files.len() > 5 { format!(" and {} more", files.len() - 5) } else { String::new() };
    (!files.is_empty()).then(|| {
        format!("Agents work from your last commit: your uncommitted changes are left out ({shown}{more}).")
    })
}

/// A warning about files that decide what a CI service runs.
pub fn ci_files(files: &[String]) -> String {
    format!("[CI] These files change what your CI runs: {}. Look at them before you push.", list_names(files))
}

/// That the user's filters have not run on landed files; `None` if there are none for them.
pub fn filtered_files(files: &[String]) -> Option<String> {
    (!files.is_empty()).then(|| {
        format!(
            "Your git filters do not run when commits land, so `git status` may show these files as modified: {}. `git restore FILE` writes a file with your filters.",
            list_files(files)
        )
    })
}

/// A warning about files that hooks of the user's run through other programs.
pub fn hook_files(files: &[HookFile]) -> String {
    format!("[HOOK] {}. {}", one_line(&describe_hook_files(files)), advise_on_hook_files(files))
}

/// The beginning of a commit's hash.
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// That the last commits were not checked; `None` if all were.
pub fn unseen(part: &CheckedPart) -> Option<String> {
    let count = part.unseen.min(part.unlanded);
    let checked = part.commit.as_deref().filter(|_| count < part.unlanded);
    (count > 0).then(|| match checked {
        Some(checked) => format!(
            "Checks have not passed on the last {count} commit(s): they last passed on {}. `autonoe land --checked` lands nothing after that.",
            short(checked)
        ),
        None => format!("Checks have not passed on any of these {count} commit(s)."),
    })
}

pub fn landed(branch: &str, commit: &str) -> String {
    format!("[LANDED] {} on {branch}", short(commit))
}

/// Where the commits of a run are now, and how the user gets them.
pub fn not_landed(branch: &str, commit: &str, why: &str, advice: Option<&str>) -> String {
    let advice = advice.map(|advice| format!(": {advice}")).unwrap_or_default();
    let (why, commit) = (one_line(why), short(commit));
    format!("[NOT LANDED] {why}. The commits are on branch {branch} ({commit}){advice}")
}

pub fn checked(
    deliverable: Option<&str>,
    check: &str,
    purpose: CheckPurpose,
    passed: bool,
    message: &str,
) -> (MessageLevel, String) {
    let owner = deliverable.map(|id| format!(" of {}", one_line(id))).unwrap_or_default();
    let (level, tag) = match (purpose, passed) {
        (CheckPurpose::RedFirst, true) => (MessageLevel::Warning, "[VACUOUS]"),
        (CheckPurpose::RedFirst, false) => (MessageLevel::Info, "[RED]"),
        (CheckPurpose::Claim | CheckPurpose::Confirmation, true) => (MessageLevel::Info, "[CHECK]"),
        (CheckPurpose::Claim | CheckPurpose::Confirmation, false) => (MessageLevel::Setback, "[FAILED]"),
    };
    (level, format!("{tag} {}{owner}: {message}", one_line(check)))
}

pub fn waiting(remaining: Duration, resets_at: Option<Timestamp>) -> String {
    let when = match resets_at {
        Some(at) => {
            let until = time::until(at).map(|until| format!(" (in {until})")).unwrap_or_default();
            format!("Quota resets at: {}{until}", time::local_time(at))
        }
        None => "The reset time is unknown; retrying then".to_owned(),
    };
    format!("Quota exceeded, waiting {}... {when} (Ctrl-C to stop)", format_duration(remaining))
}

pub fn outage(tries: u32, pause: Duration, gives_up_at: Timestamp, message: &str) -> String {
    let tried = if tries == 1 { String::new() } else { format!(" (try {tries})") };
    format!(
        "Waiting for the model service{tried}: {message} Next try in {}; giving up at {} (Ctrl-C to stop)",
        format_duration(pause),
        time::local_time(gives_up_at)
    )
}

pub fn output_closed(why: &str) -> (MessageLevel, String, Option<String>) {
    let text =
        format!("Stopped: standard output was closed ({why}), so the run could no longer be followed.");
    let hint = "Run again to continue where this run stopped. Keep the program that reads the output open, or redirect it to a file.";
    (MessageLevel::Error, text, Some(hint.to_owned()))
}

pub fn ending(outcome: &RunOutcome) -> (MessageLevel, String, Option<String>) {
    let Ending { kind, sentence, hint } = Ending::of(outcome, time::reset);
    let level = match kind {
        EndingKind::Success => MessageLevel::Good,
        EndingKind::Stopped => MessageLevel::Warning,
        EndingKind::Failure => MessageLevel::Error,
    };
    (level, sentence, hint)
}

/// Characters of the reason why a deliverable is blocked.
const MAX_REASON: usize = 300;

/// Characters of a user's message that are shown.
const MAX_USER_MESSAGE: usize = 300;

pub fn user_message(text: &str) -> String {
    format!("[MESSAGE] {}", cut(text.trim(), MAX_USER_MESSAGE))
}

/// The agent repeats itself. What follows the first sentence is advice for the agent.
pub fn repetition(message: &str) -> String {
    let first = message.split_once(". ").map_or(message, |(first, _)| first);
    format!("[STUCK] {first}. The agent gets a message.")
}

/// Characters of a step's message that are shown.
const MAX_STEP_MESSAGE: usize = 300;

pub fn step_ended(step: &str, passed: bool, message: &str, next: Option<&str>) -> (MessageLevel, String) {
    let (level, word) = if passed { (MessageLevel::Good, "PASS") } else { (MessageLevel::Setback, "FAIL") };
    let next = next.map(|next| format!(" -> {next}")).unwrap_or_default();
    (level, format!("[{word}] Step {step}: {}{next}", cut(message, MAX_STEP_MESSAGE)))
}

/// `> Bash cargo test`: the tool and its most descriptive argument.
pub fn tool_line(call: &ToolCall, redactor: &Redactor) -> String {
    let what =
        call.subject().map(|text| format!(" {}", cut(&redactor.text(text), MAX_TOOL))).unwrap_or_default();
    format!("> {}{what}", call.name)
}

/// `[DENIED] rm -rf dist: 'rm' is not allowed without --allow-destructive.` Other tools than Bash are named.
pub fn denied(tool: &str, subject: Option<&str>, reason: &str, redactor: &Redactor) -> String {
    let subject = subject.map(|text| cut(&redactor.text(text), MAX_DENIED));
    let call = match (tool, subject) {
        ("Bash", Some(command)) => command,
        (tool, Some(subject)) => format!("{tool} {subject}"),
        (tool, None) => tool.to_owned(),
    };
    format!("[DENIED] {call}: {}", cut(&redactor.text(reason), MAX_DENIAL_REASON))
}

/// `None` for events that are not shown in debug mode. Text is redacted before it is truncated.
pub fn debug_line(event: &AgentEvent, redactor: &Redactor) -> Option<String> {
    let cut = |text: &str, limit| cut(&redactor.text(text), limit);
    let line = match event {
        AgentEvent::Text { text } => cut(text, MAX_TEXT),
        AgentEvent::Thinking { text } => format!("[thinking] {}", cut(text, MAX_TEXT)),
        AgentEvent::ToolCall(call) => {
            let input = redactor.json(&call.input).unwrap_or_default();
            format!("[tool: {}] {}", call.name, cut(&input, MAX_TOOL))
        }
        AgentEvent::ToolResult { content, is_error: false, .. } => {
            format!("[result] {}", cut(content, MAX_TOOL))
        }
        AgentEvent::ToolResult { content, is_error: true, .. } => {
            format!("[result ERROR] {}", cut(content, MAX_TOOL))
        }
        AgentEvent::Usage(usage) => format!(
            "[usage] {} in, {} out, cost={}",
            usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            usage.output_tokens,
            cost(usage.cost_usd)
        ),
        AgentEvent::Warning { message } => format!("[trouble] {message}"),
        AgentEvent::UserMessage { .. } => return None,
        AgentEvent::HostRefused { message, .. } => format!("[network] {message}"),
        AgentEvent::Answer { value } => {
            format!("[answer] {}", cut(&redactor.json(value).unwrap_or_default(), MAX_TEXT))
        }
        AgentEvent::End { outcome } => format!("[session: {}]", outcome.name()),
        AgentEvent::Working { .. }
        | AgentEvent::ModelCallStarted { .. }
        | AgentEvent::Chunk { .. }
        | AgentEvent::ModelCallEnded { .. }
        | AgentEvent::Conversation { .. } => return None,
    };
    Some(line)
}

/// The first `limit` characters on one line, with `...` if the text is longer.
pub fn cut(text: &str, limit: usize) -> String {
    let one_line = text.replace('\n', "⏎");
    match one_line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}...", &one_line[..end]),
        None => one_line,
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, debug_line, denied, overall, resuming, status_line};
    use autonoe_core::deliverable::DeliverableStatus;
    use autonoe_core::event::AgentEvent;
    use autonoe_core::money::Usd;
    use autonoe_core::outcome::{PlanReport, RunOutcome, RunReport};
    use autonoe_core::redact::Redactor;
    use autonoe_core::status::{StatusChange, Tally};
    use autonoe_core::verification::VerificationProgress;
    use std::time::Duration;

    #[test]
    fn notice_lines_of_seed_000() {
        let in_part = Some("verified, 1 of 3 criteria checked, no check for 2, 3".to_owned());
        for (new, assurance, line) in [
            (DeliverableStatus::Passed, None, "[PASS] User Auth (DL-001)"),
            (
                DeliverableStatus::Passed,
                in_part,
                "[PASS] User Auth (DL-001): verified, 1 of 3 criteria checked, no check for 2, 3",
            ),
            (DeliverableStatus::Blocked, None, "[BLOCKED] User Auth (DL-001)"),
            (DeliverableStatus::Pending, None, "[PENDING] User Auth (DL-001)"),
        ] {
            assert_eq!(status_line(&change(new, assurance, None)), line);
        }
        let blocked = change(DeliverableStatus::Blocked, None, Some("no key;\nask Ann"));
        assert_eq!(status_line(&blocked), "[BLOCKED] User Auth (DL-001): no key;⏎ask Ann");
    }

    fn change(new: DeliverableStatus, assurance: Option<String>, reason: Option<&str>) -> StatusChange {
        StatusChange {
            deliverable_id: "DL-001".to_owned(),
            description: "User Auth".to_owned(),
            previous: None,
            new,
            reason: reason.map(str::to_owned),
            assurance,
        }
    }

    #[test]
    fn a_run_that_is_resumed_claims_no_count_of_sessions() {
        let resumed = "Resuming a run whose process ended unexpectedly after session 5.";
        assert_eq!(resuming(5), resumed);
    }

    #[test]
    fn overall_counts_active_deliverables() {
        let tally = Tally { total: 3, passed: 2, verified: 1, blocked: 1, ..Tally::default() };
        let report = RunReport {
            outcome: RunOutcome::AllPassed,
            exit_code: 0,
            iterations: 3,
            duration: Duration::from_secs(90),
            cost_usd: Some(Usd(0.5)),
            plan: PlanReport::Deliverables(tally),
        };
        assert_eq!(
            overall(&report, 0),
            "Overall: 3 session(s), 2/3 deliverables passed (1 blocked), cost=$0.50, duration=1m 30s"
        );
        let reviewed = VerificationProgress { verified: 3, total: 3 };
        let synced = RunReport { plan: PlanReport::Sync { tally, reviewed }, ..report };
        assert!(
            overall(&synced, 2).contains("3/3 reviewed")
                && overall(&synced, 2).contains(", 2 call(s) denied,")
        );
    }

    #[test]
    fn a_denied_call_is_one_bounded_line_without_secrets() {
        let redactor = Redactor::new(&["hunter22hunter22".to_owned()]);
        assert_eq!(denied("Bash", Some("rm x"), "Not allowed.", &redactor), "[DENIED] rm x: Not allowed.");
        assert_eq!(denied("Write", Some("/etc/x"), "Outside.", &redactor), "[DENIED] Write /etc/x: Outside.");
        assert_eq!(denied("Task", None, "No.", &redactor), "[DENIED] Task: No.");
        let line = denied(
            "Bash",
            Some(&format!("a hunter22hunter22\n{}", "x".repeat(9999))),
            &"y".repeat(9999),
            &redactor,
        );
        assert!(line.chars().count() < 450 && !line.contains('\n') && !line.contains("hunter22"), "{line}");
    }

    #[test]
    fn text_is_redacted_before_it_is_truncated() {
        let redactor = Redactor::new(&["0123456789".repeat(3)]);
        let text = format!("{}{}", "word ".repeat(39), "0123456789".repeat(3));
        let line = debug_line(&AgentEvent::Text { text }, &redactor).expect("a line");
        assert!(line.ends_with("word [reda..."), "{line}");
    }

    #[test]
    fn truncation_counts_characters_not_bytes() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü...");
    }
}
