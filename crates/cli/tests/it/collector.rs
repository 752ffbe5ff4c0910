//! An OpenTelemetry collector on loopback that stores the spans of a run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::Value;

pub struct SpanCollector {
    endpoint: String,
    spans: Arc<Mutex<Vec<Value>>>,
}

impl SpanCollector {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("bound"));
        let spans = Arc::<Mutex<Vec<Value>>>::default();
        let kept = Arc::clone(&spans);
        // The thread ends with the test process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                take(stream, &kept);
            }
        });
        Self { endpoint, spans }
    }

    pub fn watch(&self, command: &mut Command) {
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &self.endpoint)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    }

    /// All received spans; a finished run has sent them all.
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.spans.lock().expect("not poisoned").iter().cloned().map(ReceivedSpan).collect()
    }
}

/// Stores the spans of one request before answering it: a run ends as soon as it has the answer.
fn take(stream: TcpStream, kept: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().expect("a number"),
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("OTLP as JSON");
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let scopes = list(&body, "resourceSpans").into_iter().flat_map(|resource| list(&resource, "scopeSpans"));
    kept.lock().expect("not poisoned").extend(scopes.flat_map(|scope| list(&scope, "spans")));
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    reader.into_inner().write_all(answer.as_bytes()).expect("answered");
}

#[derive(Debug, Clone)]
pub struct ReceivedSpan(Value);

impl ReceivedSpan {
    /// The first word of the name.
    pub fn kind(&self) -> &str {
        self.name().split(' ').next().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.0["name"].as_str().expect("a name")
    }

    /// The error type; `None` if it did not fail.
    pub fn error(&self) -> Option<&str> {
        let attributes = self.0["attributes"].as_array().expect("attributes");
        let error = attributes.iter().find(|attribute| attribute["key"] == "error.type")?;
        error["value"]["stringValue"].as_str()
    }

    pub fn is_part_of(&self, other: &Self) -> bool {
        self.0["parentSpanId"] == other.0["spanId"]
    }
}

/// Asserts that each session called its model and that nothing failed or was cut off.
#[track_caller]
pub fn assert_healthy(spans: &[ReceivedSpan], sessions: usize) {
    let failed: Vec<_> = spans.iter().filter_map(|span| Some((span.name(), span.error()?))).collect();
    assert_eq!(failed, [], "nothing failed");
    let of_kind = |kind: &'static str| spans.iter().filter(move |span| span.kind() == kind);
    assert_eq!(of_kind("invoke_agent").count(), sessions);
    for session in of_kind("invoke_agent") {
        assert!(of_kind("chat").any(|call| call.is_part_of(session)), "{session:?}");
        assert!(of_kind("execute_tool").any(|call| call.is_part_of(session)), "{session:?}");
    }
}
