//! An MCP server on standard input and output that misbehaves in the way its first argument names, for this crate's tests.
//! The second argument is a file to which it logs its events.
#![allow(clippy::expect_used)]

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

const TEN_MB: usize = 10 * 1024 * 1024;
/// More than our client accepts.
const TOO_MUCH: usize = 80 * 1024 * 1024;
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const FOR_EVER: Duration = Duration::from_secs(3600);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let behavior = args.first().cloned().unwrap_or_default();
    let log_file = args.get(1).cloned().unwrap_or_default();
    log(&log_file, "start");
    match behavior.as_str() {
        "mute" => sleep(FOR_EVER),
        "dies" => {
            eprintln!("first line");
            eprintln!("no configuration");
            exit(3);
        }
        "slow" => wait_for_go(&log_file),
        _ => {}
    }
    if behavior == "garbage" {
        println!("starting…\n{{\n[1, 2]\n{{\"jsonrpc\": \"2.0\", \"odd\": true}}\n\u{7}");
    }
    let mut server = MisbehavingServer { behavior, log_file, calls: 0 };
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).expect("JSON");
        server.handle(&message);
    }
    log(&server.log_file, "closed");
    if server.behavior == "stubborn" {
        sleep(FOR_EVER);
    }
}

struct MisbehavingServer {
    behavior: String,
    log_file: String,
    calls: u32,
}

impl MisbehavingServer {
    fn handle(&mut self, message: &Value) {
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                log(&self.log_file, &format!("version {}", message["params"]["protocolVersion"]));
                let version = match self.behavior.as_str() {
                    "future" => json!("2199-01-01"),
                    "old" => json!("2024-11-05"),
                    _ => message["params"]["protocolVersion"].clone(),
                };
                let capabilities = if self.behavior == "toolless" {
                    json!({})
                } else {
                    json!({"tools": {"listChanged": true}})
                };
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
                log(&self.log_file, &format!("cancelled {}", message["params"]["requestId"]));
                return;
            }
            _ => return,
        };
        send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
    }

    fn list(&self, params: &Value) -> Value {
        let echo = json!({
            "name": "echo",
            "description": "Says it again.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "annotations": {"readOnlyHint": true},
        });
        let page: u32 = params["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        match (self.behavior.as_str(), self.calls) {
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
        log(&self.log_file, &format!("call {}", message["id"]));
        let text = match self.behavior.as_str() {
            "dies-in-call" => {
                eprintln!("out of luck");
                exit(4);
            }
            "hangs" => return None,
            "progress" => {
                let token = &message["params"]["_meta"]["progressToken"];
                for step in 1..=3 {
                    let report = json!({"progressToken": token, "progress": step, "total": 3, "message": format!("step {step}")});
                    send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": report}));
                }
                wait_for_go(&self.log_file);
                "done".to_owned()
            }
            "changes" => {
                send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
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
                send(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
                return None;
            }
            _ => message["params"]["arguments"]["text"].as_str().unwrap_or("nothing").to_owned(),
        };
        let content = json!([{"type": "text", "text": text}]);
        if self.behavior == "dies-after-call" {
            send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}));
            eprintln!("one call is enough");
            exit(5);
        }
        Some(json!({"content": content}))
    }
}

fn send(message: &Value) {
    let mut out = io::stdout().lock();
    // An error means that the client is gone.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

/// Waits until the file `LOG_FILE.go` exists.
fn wait_for_go(log_file: &str) {
    while !fs::exists(format!("{log_file}.go")).unwrap_or(false) {
        sleep(POLL_INTERVAL);
    }
}

fn log(file: &str, event: &str) {
    if !file.is_empty() {
        let mut file = OpenOptions::new().create(true).append(true).open(file).expect("a log file");
        writeln!(file, "{event}").expect("the log file is writable");
    }
}
