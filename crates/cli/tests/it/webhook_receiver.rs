//! A webhook on loopback that stores what it receives and answers as it is asked to.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ring::hmac;
use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub enum Answer {
    Status(u16),
    /// The connection stays open.
    Never,
}

#[derive(Debug, Clone)]
pub struct ReceivedMessage {
    pub path: String,
    /// By their lowercase names.
    pub headers: BTreeMap<String, String>,
    pub text: String,
    pub body: Value,
}

impl ReceivedMessage {
    pub fn id(&self) -> &str {
        &self.headers["x-autonoe-delivery"]
    }

    pub fn event(&self) -> &str {
        self.body["event"].as_str().expect("an event")
    }

    /// As the documentation says that a receiver should.
    pub fn has_valid_signature(&self, secret: &str) -> bool {
        let Some(signature) =
            self.headers.get("x-autonoe-signature").and_then(|text| text.strip_prefix("sha256="))
        else {
            return false;
        };
        let bytes: Vec<u8> = (0..signature.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&signature[at..at + 2], 16).expect("hexadecimal"))
            .collect();
        let signed = format!("{}.{}", self.headers["x-autonoe-timestamp"], self.text);
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        hmac::verify(&key, signed.as_bytes(), &bytes).is_ok()
    }
}

/// Clones share what was received.
#[derive(Clone)]
pub struct WebhookReceiver {
    pub url: String,
    received: Arc<Mutex<Vec<ReceivedMessage>>>,
    answers: Arc<Mutex<Vec<Answer>>>,
}

impl WebhookReceiver {
    /// Gives these answers in order, and repeats the last one.
    pub fn start(answers: &[Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let receiver = Self {
            url: format!("http://{}/hook", listener.local_addr().expect("bound")),
            received: Arc::default(),
            answers: Arc::new(Mutex::new(answers.to_vec())),
        };
        let shared = receiver.clone();
        // The threads end with the test process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        receiver
    }

    /// Answers like this from now on.
    pub fn answer(&self, answer: Answer) {
        *self.answers.lock().expect("not poisoned") = vec![answer];
    }

    pub fn received(&self) -> Vec<ReceivedMessage> {
        self.received.lock().expect("not poisoned").clone()
    }

    pub fn events(&self) -> Vec<String> {
        self.received().iter().map(|received| received.event().to_owned()).collect()
    }

    fn serve(&self, stream: TcpStream) {
        let Some(received) = read(&stream) else { return };
        self.received.lock().expect("not poisoned").push(received);
        let answer = {
            let mut answers = self.answers.lock().expect("not poisoned");
            if answers.len() > 1 { answers.remove(0) } else { answers[0] }
        };
        match answer {
            Answer::Status(status) => {
                let response =
                    format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                let _ = (&stream).write_all(response.as_bytes());
            }
            Answer::Never => std::mem::forget(stream),
        }
    }
}

fn read(stream: &TcpStream) -> Option<ReceivedMessage> {
    let mut reader = BufReader::new(stream);
    let mut lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let path = lines.next()?.strip_prefix("POST ")?.split(' ').next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_lowercase(), value.to_owned()))
        })
        .collect();
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8(body).ok()?;
    Some(ReceivedMessage { path, headers, body: serde_json::from_str(&text).ok()?, text })
}
