//! Prints the banner of a run: project, backends, sandbox and every limit in force.

use autonoe_core::duration::format as format_duration;

use super::{BackendInputs, Engine};
use crate::present::MessageLevel;

pub fn print_banner(engine: &Engine<'_>, inputs: &BackendInputs) {
    let args = engine.args;
    if args.quiet {
        return;
    }
    let print = |line: &str| engine.console.line(MessageLevel::Info, line);
    print(&format!("Autonoe v{}", env!("CARGO_PKG_VERSION")));
    print("");
    print(&engine.title.announcement);
    let mut lines = vec![("Working directory", engine.project.root().display().to_string())];
    for (position, resolved) in inputs.backend_chain.iter().enumerate() {
        let name = resolved.backend.name();
        let because = resolved.because.as_ref().filter(|because| !because.is_empty());
        lines.push(match position {
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
    lines.push(("Sandbox", inputs.room_config.sandbox.layer().name().to_owned()));
    lines.extend(args.thinking.map(|budget| ("Thinking", format!("{budget} tokens"))));
    lines.extend(args.max_iterations.map(|count| ("Max iterations", count.to_string())));
    lines.extend(args.max_cost.map(|cost| ("Max cost", cost.to_string())));
    lines.extend(args.max_duration.map(|duration| ("Max duration", format_duration(duration))));
    lines.push(("Max retries", args.max_retries.to_string()));
    lines.push(("Max outage", format_duration(engine.max_outage)));
    for (name, value) in lines {
        print(&format!("  {name}: {value}"));
    }
    print("");
}
