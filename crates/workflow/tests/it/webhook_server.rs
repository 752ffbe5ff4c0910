//! A webhook server on this machine that records requests and answers with canned responses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone, Copy)]
pub enum CannedResponse {
    /// This status line (and headers), without a body.
    Head(&'static str),
    /// Status 200 with an endless body.
    EndlessBody,
    /// No response; the connection stays open.
    Never,
}

#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub line: String,
    /// By their lowercase names.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

pub struct WebhookServer {
    pub port: u16,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl WebhookServer {
    /// Starts a server that gives these responses in order, and repeats the last one.
    pub async fn start(responses: &'static [CannedResponse]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let recorded = Arc::clone(&requests);
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(request) = read(&mut stream).await else { continue };
                let number = {
                    let mut recorded = recorded.lock().unwrap();
                    recorded.push(request);
                    recorded.len()
                };
                match responses[number.min(responses.len()) - 1] {
                    CannedResponse::Head(head) => {
                        let response =
                            format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                        let _ = stream.write_all(response.as_bytes()).await;
                    }
                    CannedResponse::EndlessBody => {
                        tokio::spawn(async move {
                            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
                            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
                        });
                    }
                    CannedResponse::Never => open.push(stream),
                }
            }
        });
        Self { port, requests }
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
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
    Some(ReceivedRequest { line, headers, body: String::from_utf8(bytes.split_off(end + 4)).ok()? })
}
