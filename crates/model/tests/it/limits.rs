//! Responses without an end: every body is read to a limit, and a call that makes no progress ends.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use autonoe_model::{Model, ProviderKind};

use crate::stub::read_request;
use crate::support::{ask, fault, model_at, provider, quick};

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
