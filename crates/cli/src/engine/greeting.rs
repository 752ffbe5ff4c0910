//! What is said before a run begins: what is about to happen, with every limit in force.

use autonoe_core::duration::format as format_duration;

use super::{Engine, Parts};
use crate::present::Level;

/// Says it, unless nothing shall be said.
pub fn greet(engine: &Engine<'_>, parts: &Parts) {
    let args = engine.args;
    if args.quiet {
        return;
    }
    let say = |line: &str| engine.console.line(Level::Info, line);
    say(&format!("Autonoe v{}", env!("CARGO_PKG_VERSION")));
    say("");
    say(&engine.title.announcement);
    let mut lines = vec![("Working directory", engine.project.root().display().to_string())];
    for (place, resolved) in parts.backend_chain.iter().enumerate() {
        let name = resolved.backend.name();
        let because = resolved.because.as_ref().filter(|because| !because.is_empty());
        lines.push(match place {
            0 => {
                ("Backend", because.map_or_else(|| name.to_owned(), |because| format!("{name} ({because})")))
            }
            _ => ("Fallback", name.to_owned()),
        });
        if engine.title.plans {
            lines.push(("Plan model", resolved.models.plan.clone()));
        }
        lines.push(("Model", resolved.models.work.clone()));
    }
    lines.push(("Sandbox", parts.room_config.sandbox.layer().name().to_owned()));
    lines.extend(args.thinking.map(|budget| ("Thinking", format!("{budget} tokens"))));
    lines.extend(args.max_iterations.map(|count| ("Max iterations", count.to_string())));
    lines.extend(args.max_cost.map(|cost| ("Max cost", cost.to_string())));
    lines.extend(args.max_duration.map(|duration| ("Max duration", format_duration(duration))));
    lines.push(("Max retries", args.max_retries.to_string()));
    lines.push(("Max outage", format_duration(engine.max_outage)));
    for (name, value) in lines {
        say(&format!("  {name}: {value}"));
    }
    say("");
}
