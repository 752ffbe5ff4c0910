//! Interrupts in each phase of an agent that does not cooperate: it answers nothing, ignores SIGTERM, and leaves a process that
//! has its streams.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::support::{CliTestProject, RunOutput, always, assert_no_processes_left, model, signal, until};

/// How long a run may take to end, on a busy machine.
const END_LIMIT: Duration = Duration::from_secs(5);

const STUBBORN: &str = "trap '' TERM INT HUP\n(sleep 86403; :) &\n";
const INITIALIZE: &str =
    "read -r _; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}'\n";
const NEW_SESSION: &str =
    "read -r _; echo '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s\"}}'\n";
const HANG: &str = "touch ready.txt; while :; do sleep 1; done\n";

/// Writes faster than it can be read.
const FLOOD: &str = "touch ready.txt; exec yes '{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\
     \"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"y\"}}}}'\n";

#[test]
fn an_interrupt_ends_an_agent_in_any_phase() {
    let model = model(&always("[[conversation.turn]]\ntext = 'never sent'"));
    for (phase, script) in [
        ("initialize", [STUBBORN, HANG].concat()),
        ("session/new", [STUBBORN, INITIALIZE, HANG].concat()),
        ("loading tools", [STUBBORN, INITIALIZE, NEW_SESSION, HANG].concat()),
        ("closed output", [STUBBORN, INITIALIZE, "exec > /dev/null\n", HANG].concat()),
        ("a flood of text", [STUBBORN, INITIALIZE, NEW_SESSION, FLOOD].concat()),
    ] {
        for sandbox in [&[][..], &["--no-sandbox"]] {
            let project = CliTestProject::with_status(&[("A", "pending")]);
            project.write("agent.sh", &script);
            let args = [&["run", "--backend", "acp:bash agent.sh"][..], sandbox].concat();
            let mut command = project.command(&model, &args);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
            until("the agent is there", || project.agents_path("ready.txt").exists());
            signal(&child, Signal::INT);
            let start = Instant::now();
            let run = RunOutput::from(child.wait_with_output().expect("ended"));
            assert!(start.elapsed() < END_LIMIT, "{phase} {sandbox:?}: {:?}", start.elapsed());
            run.assert_ended("interrupted", 130);
            assert_no_processes_left(&project);
        }
    }
}
