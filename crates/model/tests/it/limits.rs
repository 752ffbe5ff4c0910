//! Responses without an end: every body is read to a limit, and a call that makes no progress ends.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use autonoe_model::{Model, ProviderKind, Tuning};
use serde_json::{Value, json};

use crate::stub::read_request;
use crate::support::{ask, ask_watched, fault, model_at, provider, quick, retries};

const MIB: usize = 1 << 20;

/// A server that answers every request with `head` and then `piece` again and again, and counts the bytes.
struct Endless {
    address: String,
    sent: Arc<AtomicUsize>,
}

impl Endless {
    /// Sends at most 64 MiB per response, so that a client without a limit comes to an end, too.
    fn serve(head: &'static str, piece: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&sent);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                read_request(&stream);
                let _ = stream.write_all(head.as_bytes());
                for _ in 0..64 * MIB / piece.len() {
                    if stream.write_all(&piece).is_err() {
                        break;
                    }
                    counter.fetch_add(piece.len(), Ordering::Relaxed);
                }
            }
        });
        Self { address, sent }
    }

    /// What was sent for all four attempts of a call. It includes what the kernel buffers.
    #[track_caller]
    fn assert_sent_less_than(&self, limit: usize) {
        let sent = self.sent.load(Ordering::Relaxed);
        assert!(sent < limit, "{} MiB were sent", sent / MIB);
    }
}

/// Answers one request with a stream that begins with `start` and continues with `event` every 20 ms.
fn serve_drip(start: &[Value], event: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let start = start.to_vec();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        for event in start {
            send(&mut stream, &event).unwrap();
        }
        while send(&mut stream, &event).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    address
}

fn send(stream: &mut TcpStream, event: &Value) -> std::io::Result<()> {
    stream.write_all(format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).as_bytes())
}

fn message_start() -> Value {
    json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5, "output_tokens": 1 } } })
}

fn block(content: Value) -> Value {
    json!({ "type": "content_block_start", "index": 0, "content_block": content })
}

fn delta(delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": 0, "delta": delta })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_error_body_is_an_outage() {
    let server = Endless::serve("HTTP/1.1 500 Oh\r\nconnection: close\r\n\r\n", vec![b'x'; 64 << 10]);
    let fault = fault(ask(&model_at(&server.address, "sonnet", &quick())).await);
    assert_eq!((fault.code.as_str(), fault.is_outage()), ("server_error", true), "{fault}");
    assert!(fault.message.contains("500"), "{fault}");
    server.assert_sent_less_than(64 * MIB);
}

#[tokio::test]
async fn an_error_body_that_stalls_does_not_hide_the_status() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&stream);
        stream.write_all(b"HTTP/1.1 403 No\r\ncontent-length: 100\r\n\r\nDenied").unwrap();
        std::thread::sleep(Duration::from_secs(60));
    });
    let fault = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert!(fault.message.contains("403: Denied."), "{fault}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_frame_is_an_outage() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let line = vec![b'x'; 64 << 10];
    let lines = b"data: x\n".repeat(8 << 10);
    for (kind, piece) in [
        (ProviderKind::Anthropic, line.clone()),
        (ProviderKind::Anthropic, lines),
        (ProviderKind::Ollama, line),
    ] {
        let server = Endless::serve(HEAD, piece);
        let model = Model::open(&provider(kind, &server.address), "any", &quick()).unwrap();
        let fault = fault(ask(&model).await);
        assert_eq!((fault.code.as_str(), fault.is_outage()), ("timeout", true), "{kind}: {fault}");
        assert!(fault.message.contains("more than 4 MiB without the end of an event"), "{kind}: {fault}");
        server.assert_sent_less_than(64 * MIB);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_can_be_dropped_while_data_never_pauses() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let server = Endless::serve(HEAD, vec![b'x'; 64 << 10]);
    let model = model_at(&server.address, "sonnet", &quick());
    let started = Instant::now();
    let _ = tokio::time::timeout(Duration::from_millis(300), ask(&model)).await;
    assert!(started.elapsed() < Duration::from_secs(1), "it took {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_page_is_named() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n\
                        <html><title>Sign in</title>";
    let server = Endless::serve(HEAD, vec![b'x'; 64 << 10]);
    let fault = fault(ask(&model_at(&server.address, "sonnet", &quick())).await);
    assert!(fault.message.contains("a web page, 'Sign in' (HTML)"), "{fault}");
    server.assert_sent_less_than(64 * MIB);
}

#[tokio::test]
async fn empty_deltas_are_keep_alives() {
    let text = json!({ "type": "text", "text": "" });
    let thinking = json!({ "type": "thinking", "thinking": "" });
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "Read", "input": {} });
    for (content, empty) in [
        (text, json!({ "type": "text_delta", "text": "" })),
        (thinking, json!({ "type": "thinking_delta", "thinking": "" })),
        (call, json!({ "type": "input_json_delta", "partial_json": "" })),
    ] {
        let address = serve_drip(&[message_start(), block(content)], delta(empty.clone()));
        let tuning = Tuning {
            content_timeout: Duration::from_millis(300),
            call_timeout: Duration::from_secs(5),
            ..quick()
        };
        let fault = fault(ask(&model_at(&address, "sonnet", &tuning)).await);
        assert!(fault.message.contains("nothing but keep-alives"), "{empty}: {fault}");
        assert!(fault.is_outage(), "{empty}: {fault:?}");
    }
}

#[tokio::test]
async fn a_call_that_never_ends_is_an_outage() {
    let text = block(json!({ "type": "text", "text": "" }));
    let letter = delta(json!({ "type": "text_delta", "text": "x" }));
    let address = serve_drip(&[message_start(), text], letter);
    let tuning = Tuning { call_timeout: Duration::from_millis(500), ..quick() };
    let (result, progress) = ask_watched(&model_at(&address, "sonnet", &tuning)).await;
    let fault = fault(result);
    assert_eq!((fault.code.as_str(), fault.is_outage()), ("timeout", true), "{fault}");
    assert!(fault.message.contains("did not complete its reply within"), "{fault}");
    assert!(retries(&progress).is_empty(), "another try would take as long");
}

#[tokio::test]
async fn retries_end_with_the_time_of_the_call() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tuning =
        Tuning { call_timeout: Duration::from_secs(5), retry_pause: Duration::from_secs(60), ..quick() };
    let (result, progress) = ask_watched(&model_at(&format!("http://{closed}"), "sonnet", &tuning)).await;
    assert_eq!(fault(result).code, "network_error", "the reason is kept");
    assert!(retries(&progress).is_empty());
}
