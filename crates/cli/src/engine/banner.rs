//! The banner of a run: project, backends, sandbox and every limit in force.

use autonoe_core::duration::format as format_duration;

use super::resolve::ResolvedRun;
use crate::backend_name::BackendName;

pub fn lines(run: &ResolvedRun) -> Vec<String> {
    let mut lines = vec![("Working directory", run.project.root().display().to_string())];
    for (position, backend) in run.backends.iter().enumerate() {
        let name = backend.name.name();
        let because = backend.because.as_ref().filter(|because| !because.is_empty());
        lines.push(match position {
            0 => {
                ("Backend", because.map_or_else(|| name.to_owned(), |because| format!("{name} ({because})")))
            }
            _ => ("Fallback", name.to_owned()),
        });
        if run.title.plans {
            lines.push(("Plan model", backend.models.plan.clone()));
        }
        lines.push(("Model", backend.models.work.clone()));
    }
    if run.workers.len() > 1 {
        lines.push(("Agents", format!("{} at once", run.workers.len())));
    }
    if let Some(best_of) = &run.best_of {
        let agents: Vec<String> = best_of.agents.iter().map(ToString::to_string).collect();
        lines.push(("Best of", format!("{} after a failure: {}", agents.len(), agents.join(", "))));
    }
    lines.push(("Sandbox", run.room_config.sandbox.layer().name().to_owned()));
    let (options, limits) = (&run.options, &run.options.limits);
    let thinking = options.thinking.zip(run.backends.first());
    lines
        .extend(thinking.and_then(|(budget, first)| Some(("Thinking", thinking_line(budget, &first.name)?))));
    let none = |option: &str| format!("none; {option} sets one");
    let cost = limits.max_cost.map(|cost| cost.to_string());
    lines.push(("Max cost", cost.unwrap_or_else(|| none("--max-cost 20"))));
    let duration = limits.max_duration.map(format_duration);
    lines.push(("Max duration", duration.unwrap_or_else(|| none("--max-duration 8h"))));
    let sessions = limits.max_iterations.map(|count| count.to_string());
    lines.push(("Max iterations", sessions.unwrap_or_else(|| none("-n 10"))));
    lines.push(("Max retries", options.max_retries.to_string()));
    lines.push(("Max outage", format_duration(options.max_outage)));
    let title = [format!("Autonoe v{}", env!("CARGO_PKG_VERSION")), String::new()];
    let title = title.into_iter().chain([run.title.announcement.clone()]);
    let lines = lines.into_iter().map(|(name, value)| format!("  {name}: {value}"));
    title.chain(lines).chain([String::new()]).collect()
}

/// `None` where the budget has no effect.
fn thinking_line(budget: u32, backend: &BackendName) -> Option<String> {
    match backend {
        BackendName::Native | BackendName::Claude | BackendName::Codex | BackendName::Gemini => {
            Some(format!("{budget} tokens"))
        }
        BackendName::Acp(_) | BackendName::Configured(_) => {
            Some(format!("{budget} tokens, if the agent offers such a setting"))
        }
        BackendName::Replay(_) => None,
    }
}
