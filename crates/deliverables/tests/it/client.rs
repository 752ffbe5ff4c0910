//! A client of the MCP server, on two streams and off the runtime's threads.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

/// Says and hears messages, one a line.
pub struct Client {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Client {
    pub fn new(stream: UnixStream) -> Self {
        let answers = BufReader::new(stream.try_clone().unwrap());
        Self { stream, answers }
    }

    pub fn say(&mut self, line: &[u8]) {
        self.stream.write_all(line).unwrap();
        self.stream.write_all(b"\n").unwrap();
    }

    /// Asks something without waiting for the answer.
    pub fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
        self.say(message.to_string().as_bytes());
    }

    /// The next answer; none if the other side has gone.
    pub fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.answers.read_line(&mut line).unwrap() {
            0 => None,
            _ => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Calls a tool; what it said and whether it failed.
    pub fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        self.ask(tool, "tools/call", json!({ "name": tool, "arguments": arguments }));
        let answer = self.hear().expect("an answer");
        assert_eq!(answer["id"], tool);
        let result = &answer["result"];
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"].as_bool().unwrap())
    }

    /// Says that nothing more will come.
    pub fn close(&mut self) {
        self.stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
}

/// Has `talk` speak with the socket as a client of any make would.
pub async fn at_the_socket<T: Send + 'static>(
    path: &Path,
    talk: impl FnOnce(Client) -> T + Send + 'static,
) -> T {
    let path = path.to_owned();
    off_the_runtime(move || talk(Client::new(UnixStream::connect(path).unwrap()))).await
}

/// Has something done that blocks.
pub async fn off_the_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
