//! `autonoe mcp`: the deliverable tools over stdio, alone and during a run.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::support::{CliTestProject, model, until};

struct StdioMcpClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl StdioMcpClient {
    fn start(project: &CliTestProject, phase: &str) -> Self {
        let mut child = project
            .autonoe(None)
            .args(["mcp", "--phase", phase])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut client = Self { child, input, output: BufReader::new(output), id: 0 };
        let hello = client.ask(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } }),
        );
        assert_eq!(hello["serverInfo"]["name"], "autonoe");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("sent");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.answer(method, params)["result"].take()
    }

    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("read") > 0, "the server closed the connection");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["id"] == self.id {
                return message;
            }
        }
    }

    /// The tool's JSON, and whether the call failed.
    fn call(&mut self, tool: &str, arguments: Value) -> (Value, bool) {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let text = result["content"][0]["text"].as_str().expect("text");
        (
            serde_json::from_str(text).unwrap_or(Value::String(text.into())),
            result["isError"].as_bool().unwrap_or(false),
        )
    }

    fn tools(&mut self) -> Vec<String> {
        let tools = self.ask("tools/list", json!({}))["tools"].clone();
        tools
            .as_array()
            .expect("tools")
            .iter()
            .map(|tool| tool["name"].as_str().expect("name").to_owned())
            .collect()
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("ended").success());
    }
}

#[test]
fn each_phase_has_its_tools() {
    for (phase, tools) in [
        ("initializer", &["create"][..]),
        ("coding", &["set_status", "list"]),
        ("sync", &["create", "deprecate", "list"]),
        ("verify", &["set_status", "verify", "list"]),
    ] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let mut client = StdioMcpClient::start(&project, phase);
        assert_eq!(client.tools(), tools, "{phase}");
        client.end();
    }
}

#[test]
fn without_a_run_it_is_the_only_writer() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let mut client = StdioMcpClient::start(&project, "coding");
    let (answer, failed) = client.call("set_status", json!({ "deliverableId": "A", "status": "passed" }));
    assert!(!failed && answer["success"] == true, "{answer}");
    assert_eq!(project.statuses(), [("A".into(), "passed"), ("B".into(), "pending")]);
    let (answer, failed) = client.call("create", json!({ "deliverables": [] }));
    assert!(failed && answer["error"] == "NOT_AVAILABLE", "{answer}");
    let (answer, failed) = client.call("set_status", json!({ "deliverableId": "A", "status": "done" }));
    assert!(failed && answer["message"].as_str().expect("message").contains("status"), "{answer}");
    let second = project.autonoe(None).args(["mcp"]).output().expect("started");
    assert_eq!(second.status.code(), Some(2), "a second writer is refused");
    client.end();
    StdioMcpClient::start(&project, "coding").end();
}

#[test]
fn during_a_run_calls_go_through_it() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]);
    let model = model(
        "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = \
         'echo ready > ready.txt; while [ ! -f go.txt ]; do sleep 0.05; done' } }]\n[[conversation.turn]]\ntext = 'done'",
    );
    let mut command = project.command(&model, &["run", "-n", "1"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the session runs", || project.agents_path("ready.txt").exists());
    let mut client = StdioMcpClient::start(&project, "coding");
    let blocked = json!({ "deliverableId": "B", "status": "blocked", "reason": "no key; Ann has it" });
    let (answer, failed) = client.call("set_status", blocked);
    assert!(!failed, "{answer}");
    let mut other_phase = StdioMcpClient::start(&project, "initializer");
    assert_eq!(other_phase.tools(), ["set_status", "list"], "the run's own phase decides, not the client's");
    let (answer, failed) = other_phase.call(
        "create",
        json!({ "deliverables": [{ "id": "X", "description": "x", "acceptanceCriteria": ["x"] }] }),
    );
    assert!(failed && answer["error"] == "NOT_AVAILABLE", "{answer}");
    std::fs::write(project.agents_path("go.txt"), "").expect("written");
    let run = super::support::RunOutput::from(child.wait_with_output().expect("ended"));
    assert_eq!(run.of_type("status_changed").count(), 1, "the run reports it");
    assert_eq!(project.statuses(), [("A".into(), "pending"), ("B".into(), "blocked")]);
    let answer = client.answer("tools/call", json!({ "name": "list", "arguments": {} }));
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("its run has ended"), "after the run there is no server: {answer}");
    client.end();
    other_phase.end();
}
