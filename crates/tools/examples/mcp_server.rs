//! A server on standard input and output that misbehaves as its first argument says, for this crate's tests. The second
//! names a file that it leaves traces in.
#![allow(clippy::expect_used)]

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

const TEN_MB: usize = 10 * 1024 * 1024;
/// More than any client takes.
const TOO_MUCH: usize = 80 * 1024 * 1024;
const LOOK_EVERY: Duration = Duration::from_millis(5);
const FOR_EVER: Duration = Duration::from_secs(3600);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let how = args.first().cloned().unwrap_or_default();
    let traces = args.get(1).cloned().unwrap_or_default();
    trace(&traces, "start");
    match how.as_str() {
        "mute" => sleep(FOR_EVER),
        "dies" => {
            eprintln!("first line");
            eprintln!("no configuration");
            exit(3);
        }
        "slow" => wait_for_go(&traces),
        _ => {}
    }
    if how == "garbage" {
        println!("starting…\n{{\n[1, 2]\n{{\"jsonrpc\": \"2.0\", \"odd\": true}}\n\u{7}");
    }
    let mut server = Server { how, traces, calls: 0 };
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).expect("JSON");
        server.take(&message);
    }
    trace(&server.traces, "closed");
    if server.how == "stubborn" {
        sleep(FOR_EVER);
    }
}

struct Server {
    how: String,
    traces: String,
    calls: u32,
}

impl Server {
    fn take(&mut self, message: &Value) {
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                trace(&self.traces, &format!("version {}", message["params"]["protocolVersion"]));
                let version = match self.how.as_str() {
                    "future" => json!("2199-01-01"),
                    "old" => json!("2024-11-05"),
                    _ => message["params"]["protocolVersion"].clone(),
                };
                let capabilities =
                    if self.how == "toolless" { json!({}) } else { json!({"tools": {"listChanged": true}}) };
                json!({
                    "protocolVersion": version,
                    "capabilities": capabilities,
                    "serverInfo": {"name": "misbehaving", "version": "1"},
                })
            }
            "tools/list" => self.list(&message["params"]),
            "tools/call" => match self.call(message) {
                Some(result) => result,
                None => return,
            },
            "notifications/cancelled" => {
                trace(&self.traces, &format!("cancelled {}", message["params"]["requestId"]));
                return;
            }
            _ => return,
        };
        say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
    }

    fn list(&self, params: &Value) -> Value {
        let echo = json!({
            "name": "echo",
            "description": "Says it again.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "annotations": {"readOnlyHint": true},
        });
        let page: u32 = params["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        match (self.how.as_str(), self.calls) {
            ("changes", 1..) => json!({"tools": [echo, {"name": "new.one", "inputSchema": {}}]}),
            ("pages", _) if page < 3 => {
                json!({"tools": [{"name": format!("p{page}"), "inputSchema": {}}], "nextCursor": (page + 1).to_string()})
            }
            ("endless", _) => json!({"tools": [echo], "nextCursor": "1"}),
            _ => json!({"tools": [echo]}),
        }
    }

    fn call(&mut self, message: &Value) -> Option<Value> {
        self.calls += 1;
        trace(&self.traces, &format!("call {}", message["id"]));
        let text = match self.how.as_str() {
            "dies-in-call" => {
                eprintln!("out of luck");
                exit(4);
            }
            "hangs" => return None,
            "progress" => {
                let token = &message["params"]["_meta"]["progressToken"];
                for step in 1..=3 {
                    let report = json!({"progressToken": token, "progress": step, "total": 3, "message": format!("step {step}")});
                    say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": report}));
                }
                wait_for_go(&self.traces);
                "done".to_owned()
            }
            "changes" => {
                say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                "changed".to_owned()
            }
            "huge" => format!("begin{}end", "x".repeat(TEN_MB)),
            "endless-line" => {
                let _ = io::stdout().lock().write_all(&vec![b'x'; TOO_MUCH]);
                sleep(FOR_EVER);
                String::new()
            }
            "noisy" => {
                for line in 0..100_000 {
                    eprintln!("noise {line}");
                }
                "calm".to_owned()
            }
            "refuses" => {
                let error = json!({"code": -32602, "message": "no such thing", "data": {"hint": "other"}});
                say(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
                return None;
            }
            _ => message["params"]["arguments"]["text"].as_str().unwrap_or("nothing").to_owned(),
        };
        let content = json!([{"type": "text", "text": text}]);
        if self.how == "dies-after-call" {
            say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}));
            eprintln!("one call is enough");
            exit(5);
        }
        Some(json!({"content": content}))
    }
}

fn say(message: &Value) {
    let mut out = io::stdout().lock();
    // Anyone who listened may be gone.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

/// Waits until the file `go` beside the traces is there.
fn wait_for_go(traces: &str) {
    while !fs::exists(format!("{traces}.go")).unwrap_or(false) {
        sleep(LOOK_EVERY);
    }
}

fn trace(file: &str, what: &str) {
    if !file.is_empty() {
        let mut file = OpenOptions::new().create(true).append(true).open(file).expect("a file for traces");
        writeln!(file, "{what}").expect("traces can be written");
    }
}
