//! A minimal HTTP and Messages API client that also accepts truncated streams.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use autonoe_scripted::ScriptedServer;
use serde_json::{Value, json};

/// Longer than any test should take, so that a hang is a failure.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
    /// Whether the body has the length or last chunk that HTTP requires.
    pub complete: bool,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }

    #[track_caller]
    pub fn ok_json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        assert!(self.complete);
        self.json()
    }
}

pub fn get(server: &ScriptedServer, path: &str) -> Response {
    let (head, connection) = open(server, "GET", path, None);
    finish(head, connection)
}

pub fn post(server: &ScriptedServer, path: &str, request: &Value) -> Response {
    let (head, connection) = open(server, "POST", path, Some(request));
    finish(head, connection)
}

pub fn post_text(server: &ScriptedServer, path: &str, body: &str) -> Response {
    let (head, connection) = send(server, "POST", path, body);
    finish(head, connection)
}

/// Sends a request and reads the head of the response.
pub fn open(
    server: &ScriptedServer,
    method: &str,
    path: &str,
    request: Option<&Value>,
) -> (String, TcpStream) {
    let body = request.map(Value::to_string).unwrap_or_default();
    send(server, method, path, &body)
}

fn send(server: &ScriptedServer, method: &str, path: &str, body: &str) -> (String, TcpStream) {
    let url = server.base_url();
    let address = url.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    (String::from_utf8(head).unwrap(), connection)
}

fn finish(head: String, mut connection: TcpStream) -> Response {
    let mut raw = Vec::new();
    let ended = connection.read_to_end(&mut raw);
    if let Err(error) = &ended {
        assert!(
            !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
            "the response did not end in time"
        );
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut response = Response { status, head, body: String::new(), complete: false };
    let (body, complete) = match response.header("content-length") {
        Some(length) => (raw.clone(), raw.len() == length.parse::<usize>().unwrap()),
        None => unchunked(&raw),
    };
    response.body = String::from_utf8(body).unwrap();
    response.complete = complete;
    response
}

/// The content of a chunked body, and whether its last chunk arrived.
fn unchunked(mut raw: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(line_end) = raw.windows(2).position(|window| window == b"\r\n") else {
            return (body, false);
        };
        let size = usize::from_str_radix(std::str::from_utf8(&raw[..line_end]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let Some(chunk) = raw.get(line_end + 2..line_end + 2 + size) else {
            return (body, false);
        };
        body.extend_from_slice(chunk);
        raw = raw.get(line_end + 2 + size + 2..).unwrap_or_default();
    }
}

pub struct Events {
    /// The name of each event, including malformed ones.
    pub names: Vec<String>,
    /// The message assembled from the events.
    pub message: Value,
    /// The number of events whose data is not JSON.
    pub broken: usize,
}

/// Assembles a streamed message as the official clients do.
pub fn events(body: &str) -> Events {
    let mut read = Events { names: Vec::new(), message: Value::Null, broken: 0 };
    let mut input = String::new();
    for event in body.split_terminator("\n\n") {
        let (name, data) =
            event.strip_prefix("event: ").and_then(|event| event.split_once("\ndata: ")).unwrap();
        read.names.push(name.to_owned());
        let Ok(data) = serde_json::from_str::<Value>(data) else {
            read.broken += 1;
            continue;
        };
        assert_eq!(data["type"], name);
        let message = &mut read.message;
        let index = data["index"].as_u64().unwrap_or_default() as usize;
        match name {
            "message_start" => *message = data["message"].clone(),
            "content_block_start" => {
                let content = message["content"].as_array_mut().unwrap();
                assert_eq!(content.len(), index);
                content.push(data["content_block"].clone());
                input.clear();
            }
            "content_block_delta" => {
                let delta = &data["delta"];
                let (field, piece) = match delta["type"].as_str().unwrap() {
                    "text_delta" => ("text", &delta["text"]),
                    "thinking_delta" => ("thinking", &delta["thinking"]),
                    "signature_delta" => ("signature", &delta["signature"]),
                    "input_json_delta" => {
                        input.push_str(delta["partial_json"].as_str().unwrap());
                        continue;
                    }
                    other => panic!("unknown delta {other}"),
                };
                let so_far = message["content"][index][field].as_str().unwrap().to_owned();
                message["content"][index][field] = json!(so_far + piece.as_str().unwrap());
            }
            "content_block_stop" if !input.is_empty() => {
                message["content"][index]["input"] = serde_json::from_str(&input).unwrap_or(json!(input));
            }
            "message_delta" => {
                message["stop_reason"] = data["delta"]["stop_reason"].clone();
                message["usage"] = data["usage"].clone();
            }
            "content_block_stop" | "ping" | "message_stop" => {}
            other => panic!("unknown event {other}"),
        }
    }
    read
}

pub fn begin(text: &str) -> Value {
    json!({
        "model": "test-model",
        "max_tokens": 1000,
        "tools": [{ "name": "Read", "input_schema": { "type": "object" } }],
        "messages": [{ "role": "user", "content": text }],
    })
}

/// The request after a reply: the text answers each call, or is the user's message if there are none.
pub fn follow(request: &Value, reply: &Value, text: &str) -> Value {
    let calls = reply["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use");
    let results: Vec<Value> = calls
        .map(|call| json!({ "type": "tool_result", "tool_use_id": call["id"], "content": text }))
        .collect();
    let content = if results.is_empty() { json!(text) } else { json!(results) };
    let mut next = request.clone();
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": reply["content"] }));
    messages.push(json!({ "role": "user", "content": content }));
    next
}

/// Sends a request without streaming and returns the text of the reply.
#[track_caller]
pub fn reply_text(server: &ScriptedServer, request: &Value) -> String {
    let reply = post(server, "/v1/messages", request).ok_json();
    let text = reply["content"].as_array().unwrap().iter().find(|block| block["type"] == "text");
    text.unwrap()["text"].as_str().unwrap().to_owned()
}
