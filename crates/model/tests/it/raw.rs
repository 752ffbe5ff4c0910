//! Cases that the scripted service does not cover: request headers, errors inside a stream, malformed tool
//! arguments.

use std::io::{Read, Write};
use std::net::TcpListener;

use autonoe_model::{FinishReason, Model, ModelClient, ProviderKind, RequestedCall, Tuning};
use serde_json::{Value, json};

use crate::stub::{read_request, response, serve};
use crate::support::{ask, ask_watched, fault, model_at, provider, quick, retries};

fn stream(events: &[Value]) -> String {
    let body: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    response("200 OK", "text/event-stream", &body)
}

fn start() -> Value {
    json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5, "output_tokens": 1 } } })
}

fn end(stop: &str) -> [Value; 2] {
    let usage = json!({ "output_tokens": 7 });
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": usage }),
        json!({ "type": "message_stop" }),
    ]
}

fn tool_call(input: &str) -> [Value; 2] {
    let block = json!({ "type": "tool_use", "id": "toolu_1", "name": "Read", "input": {} });
    let delta = json!({ "type": "input_json_delta", "partial_json": input });
    [
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
    ]
}

fn done() -> String {
    let text = json!({ "type": "text_delta", "text": "At last." });
    let events = [
        vec![
            start(),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": text }),
            json!({ "type": "content_block_stop", "index": 0 }),
        ],
        end("end_turn").to_vec(),
    ];
    stream(&events.concat())
}

#[tokio::test]
async fn the_key_and_the_version_are_sent_in_headers() {
    let (address, heads) = serve(vec![done()]);
    ask(&model_at(&address, "sonnet", &quick())).await.expect("a reply");
    let head = heads.recv().unwrap();
    assert!(head.starts_with("post /v1/messages http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nx-api-key: test-key\r\n"), "{head}");
    assert!(head.contains("\r\nanthropic-version: 2023-06-01\r\n"), "{head}");
}

#[tokio::test]
async fn text_that_is_not_utf8_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            read_request(&stream);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(
                &[head.as_bytes(), b"event: message_start\ndata: {\"x\":\"\xff\xfe\"}\n\n"].concat(),
            );
        }
    });
    let fault = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert_eq!(fault.code, "invalid_response", "{}", fault.message);
    assert!(
        fault.message.starts_with("The model service sent text that is not UTF-8: invalid utf-8"),
        "{}",
        fault.message
    );
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_classified_and_retried() {
    for (kind, code) in [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limited"),
        ("api_error", "server_error"),
    ] {
        let error = json!({ "type": "error", "error": { "type": kind, "message": "Not now." } });
        let (address, _heads) = serve(vec![stream(&[start(), error]), done()]);
        let (reply, progress) = ask_watched(&model_at(&address, "sonnet", &quick())).await;
        assert_eq!(reply.expect(kind).text.as_deref(), Some("At last."));
        let retries = retries(&progress);
        assert_eq!(retries.len(), 1, "{kind}");
        assert_eq!(retries[0].2.code, code);
        assert!(retries[0].2.message.contains("Not now."), "{}", retries[0].2.message);
    }
}

#[tokio::test]
async fn a_truncated_stream_is_retried() {
    let whole = [vec![start()], tool_call("{}").to_vec(), end("tool_use").to_vec()].concat();
    for length in 0..whole.len() {
        let (address, _heads) = serve(vec![stream(&whole[..length]), done()]);
        let (reply, progress) = ask_watched(&model_at(&address, "sonnet", &quick())).await;
        assert_eq!(reply.expect("the retry").text.as_deref(), Some("At last."), "{length} events");
        assert_eq!(retries(&progress)[0].2.code, "network_error", "{length} events");
    }
}

#[tokio::test]
async fn malformed_call_arguments_are_returned_as_text() {
    let stop = json!({ "type": "content_block_stop", "index": 0 });
    for (input, closed, reason, wanted) in [
        ("{\"file_path\": ", true, "tool_use", FinishReason::Natural),
        ("{\"file_path\": \"SPEC", false, "max_tokens", FinishReason::OutputLimit),
    ] {
        let mut events = vec![start()];
        events.extend(tool_call(input));
        events.extend(closed.then(|| stop.clone()));
        events.extend(end(reason));
        let (address, _heads) = serve(vec![stream(&events)]);
        let reply = ask(&model_at(&address, "sonnet", &quick())).await.expect("a reply");
        let arguments = Value::String(input.to_owned());
        let call = RequestedCall { id: "toolu_1".to_owned(), name: "Read".to_owned(), arguments };
        assert_eq!(reply.calls, [call]);
        assert_eq!(reply.stop, wanted);
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (5, 7));
    }
}

#[tokio::test]
async fn a_plain_text_error_is_reported_by_its_first_line() {
    let body = "Denied by policy\nA gateway that knows nothing";
    let (address, _heads) = serve(vec![response("403 Forbidden", "text/plain", body)]);
    let refused = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert_eq!(refused.code, "authentication_error");
    assert!(
        refused.message.contains("Denied by policy") && !refused.message.contains("gateway"),
        "{}",
        refused.message
    );

    let (address, _heads) = serve(vec![response("401 Unauthorized", "text/plain", "")]);
    let without_body = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert!(without_body.message.contains("no details were given"), "{}", without_body.message);
}

#[tokio::test]
async fn a_web_page_instead_of_a_stream_is_a_failure() {
    let page = || response("200 OK", "text/html", "<html>Please log in</html>");
    let (address, _heads) = serve(vec![page(), page(), page(), page()]);
    let fault = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert!(fault.recoverable(), "{fault:?}");
}

#[tokio::test]
async fn thinking_tokens_are_part_of_the_output() {
    let usage = json!({ "output_tokens": 7, "output_tokens_details": { "thinking_tokens": 4 } });
    let text = json!({ "type": "text_delta", "text": "So." });
    let events = [
        start(),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": text }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage }),
        json!({ "type": "message_stop" }),
    ];
    let (address, _heads) = serve(vec![stream(&events)]);
    let usage = ask(&model_at(&address, "sonnet", &quick())).await.expect("a reply").usage;
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (7, 4));
}

#[tokio::test]
async fn each_provider_gets_the_key_in_its_own_header_or_none() {
    for (kind, header) in [
        (ProviderKind::Anthropic, "\r\nx-api-key: test-key\r\n"),
        (ProviderKind::OpenAi, "\r\nauthorization: bearer test-key\r\n"),
        (ProviderKind::OpenAiCompatible, "\r\nauthorization: bearer test-key\r\n"),
        (ProviderKind::Gemini, "\r\nx-goog-api-key: test-key\r\n"),
        (ProviderKind::Ollama, "\r\nauthorization: bearer test-key\r\n"),
    ] {
        for has_key in [true, false] {
            let (address, heads) = serve(vec![response("404 Not Found", "text/plain", "no")]);
            let mut provider = provider(kind, &address);
            provider.api_key = provider.api_key.filter(|_| has_key);
            let fault = fault(ask(&Model::open(&provider, "any", &quick()).unwrap()).await);
            assert_eq!(fault.code, "model_not_found", "{kind}");
            let head = heads.recv().unwrap();
            assert_eq!(head.contains(header), has_key, "{kind}: {head}");
            assert_eq!(head.contains("key"), has_key, "{kind}: {head}");
        }
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (address, _heads) = serve(vec![
        "HTTP/1.1 307 T\r\nlocation: http://127.0.0.1:9/x\r\ncontent-length: 0\r\n\r\n".to_owned(),
    ]);
    let fault = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert_eq!(fault.code, "provider_not_configured");
    assert!(fault.message.contains("http://127.0.0.1:9/x"), "{}", fault.message);
}

#[tokio::test]
async fn models_share_their_connections() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        for _ in 0..2 {
            read_request(&stream);
            (&stream).write_all(done().replace("connection: close\r\n", "").as_bytes()).unwrap();
        }
    });
    let models = ModelClient::new().unwrap();
    let provider = provider(ProviderKind::Anthropic, &address);
    for name in ["sonnet", "haiku"] {
        let model = models.open(&provider, name, &quick()).unwrap();
        assert_eq!(ask(&model).await.expect(name).text.as_deref(), Some("At last."));
    }
    server.join().expect("both came over one connection");
}

#[tokio::test]
async fn dropping_a_call_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (received, request_received) = tokio::sync::oneshot::channel();
    let server = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        read_request(&stream);
        (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        received.send(()).unwrap();
        (&stream).read(&mut [0; 1])
    });
    let model = model_at(&address, "sonnet", &quick());
    tokio::select! {
        _ = ask(&model) => panic!("there is no reply"),
        _ = request_received => {}
    }
    drop(model);
    let ended = tokio::task::spawn_blocking(move || server.join().expect("the server")).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "the connection was closed: {ended:?}");
}

/// Pings are bytes but not content: a service that sends nothing else counts as unavailable and is not
/// retried at once.
#[tokio::test]
async fn a_stream_of_pings_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        stream.write_all(format!("event: message_start\ndata: {}\n\n", start()).as_bytes()).unwrap();
        let ping = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";
        while stream.write_all(ping).and_then(|()| stream.flush()).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let (idle, content) = (std::time::Duration::from_secs(60), std::time::Duration::from_millis(300));
    let tuning = Tuning { idle_timeout: idle, content_timeout: content, ..quick() };
    let (result, progress) = ask_watched(&model_at(&address, "sonnet", &tuning)).await;
    let fault = fault(result);
    assert_eq!((fault.code.as_str(), fault.is_outage()), ("timeout", true));
    assert!(fault.message.contains("nothing but keep-alives for 0s"), "{}", fault.message);
    assert!(retries(&progress).is_empty(), "another try would take as long");
}
