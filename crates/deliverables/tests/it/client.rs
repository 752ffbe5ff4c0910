//! An MCP client on two streams, off the runtime's threads.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

pub struct LineClient {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl LineClient {
    pub fn new(stream: UnixStream) -> Self {
        let answers = BufReader::new(stream.try_clone().unwrap());
        Self { stream, answers }
    }

    pub fn send(&mut self, line: &[u8]) {
        self.stream.write_all(line).unwrap();
        self.stream.write_all(b"\n").unwrap();
    }

    /// Sends a request without waiting for the answer.
    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
        self.send(message.to_string().as_bytes());
    }

    /// The next answer; `None` if the other side has disconnected.
    pub fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.answers.read_line(&mut line).unwrap() {
            0 => None,
            _ => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Calls a tool; returns its content and whether it failed.
    pub fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        self.request(tool, "tools/call", json!({ "name": tool, "arguments": arguments }));
        let answer = self.receive().expect("an answer");
        assert_eq!(answer["id"], tool);
        let result = &answer["result"];
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"].as_bool().unwrap())
    }

    /// Closes the sending side.
    pub fn close(&mut self) {
        self.stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
}

/// Runs `talk` with a client of the socket.
pub async fn with_socket_client<T: Send + 'static>(
    path: &Path,
    talk: impl FnOnce(LineClient) -> T + Send + 'static,
) -> T {
    let path = path.to_owned();
    blocking(move || talk(LineClient::new(UnixStream::connect(path).unwrap()))).await
}

/// Runs blocking work.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
