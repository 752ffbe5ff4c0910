//! A service on this machine that is told things, and answers what it was told to answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What it does with a request.
#[derive(Clone, Copy)]
pub enum Answer {
    /// Answers with this head and nothing more.
    Head(&'static str),
    /// Answers that it is fine, with a body that has no end.
    Endlessly,
    /// Says nothing, and holds the connection.
    Never,
}

/// What it was told.
#[derive(Debug, Clone)]
pub struct Request {
    pub line: String,
    /// By their names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

pub struct Service {
    pub port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Service {
    /// One that gives these answers in turn, and the last of them for ever.
    pub async fn start(answers: &'static [Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let heard = Arc::clone(&requests);
        tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(request) = read(&mut stream).await else { continue };
                let number = {
                    let mut heard = heard.lock().unwrap();
                    heard.push(request);
                    heard.len()
                };
                match answers[number.min(answers.len()) - 1] {
                    Answer::Head(head) => {
                        let answer =
                            format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                        let _ = stream.write_all(answer.as_bytes()).await;
                    }
                    Answer::Endlessly => {
                        tokio::spawn(async move {
                            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
                            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
                        });
                    }
                    Answer::Never => held.push(stream),
                }
            }
        });
        Self { port, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { line, headers, body: String::from_utf8(bytes.split_off(end + 4)).ok()? })
}
