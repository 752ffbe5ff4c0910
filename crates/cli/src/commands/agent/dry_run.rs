//! `autonoe agent run --dry-run`

use autonoe_workflow::{CreatedAgent, PromptPreview, StepPreview, criteria};

/// The prompts of an agent, step by step.
pub fn as_text(agent: &CreatedAgent, steps: &[StepPreview]) -> String {
    let definition = agent.definition();
    let mut text = format!(
        "{}: done when {}; at most {} iterations. No model is called.\n",
        definition.name(),
        criteria(&definition.agent.completion),
        definition.agent.max_iterations
    );
    for step in steps {
        text.push_str(&format!("\n=== {} ===\n", step.step));
        if let Some(prompt) = &step.prompt {
            text.push_str(&format_prompt("prompt", prompt));
        }
        if let Some(check) = &step.check {
            text.push_str(&format_prompt("check", check));
        }
        for (name, command) in &step.actions {
            text.push_str(&format!("[then runs {name}: {command}]\n"));
        }
        for (why, to) in &step.transitions {
            let when = if why.is_empty() { String::new() } else { format!(" ({why})") };
            text.push_str(&format!("-> {to}{when}\n"));
        }
    }
    text
}

fn format_prompt(what: &str, prompt: &PromptPreview) -> String {
    let mut text = format!("--- {what}: {} ---\n{}\n", prompt.path, prompt.text.trim_end());
    if !prompt.missing.is_empty() {
        let names: Vec<&str> = prompt.missing.iter().map(String::as_str).collect();
        text.push_str(&format!("[no value yet: {}]\n", names.join(", ")));
    }
    text.push_str("---\n");
    text
}
