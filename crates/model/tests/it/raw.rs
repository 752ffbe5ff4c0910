//! What the scripted service does not say: the request's headers, errors inside a stream, broken tool arguments.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};

use autonoe_model::{Call, Stop};
use serde_json::{Value, json};

use crate::support::{ask, ask_watched, fault, model_at, quick, retries};

/// Answers one connection with each of the given responses, in order, and passes on the heads of the requests.
fn serve(responses: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (heads, received) = mpsc::channel();
    std::thread::spawn(move || {
        for response in responses {
            let (stream, _) = listener.accept().unwrap();
            let _ = heads.send(read_request(&stream));
            (&stream).write_all(response.as_bytes()).unwrap();
        }
    });
    (address, received)
}

fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).unwrap();
    }
    let head = head.to_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    reader.read_exact(&mut vec![0; length]).unwrap();
    head
}

fn response(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

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
async fn the_key_and_the_version_are_sent_as_the_service_wants_them() {
    let (address, heads) = serve(vec![done()]);
    ask(&model_at(&address, "sonnet", &quick())).await.expect("a reply");
    let head = heads.recv().unwrap();
    assert!(head.starts_with("post /v1/messages http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nx-api-key: test-key\r\n"), "{head}");
    assert!(head.contains("\r\nanthropic-version: 2023-06-01\r\n"), "{head}");
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
        let (reply, told) = ask_watched(&model_at(&address, "sonnet", &quick())).await;
        assert_eq!(reply.expect(kind).text.as_deref(), Some("At last."));
        let retries = retries(&told);
        assert_eq!(retries.len(), 1, "{kind}");
        assert_eq!(retries[0].2.code, code);
        assert!(retries[0].2.message.contains("Not now."), "{}", retries[0].2.message);
    }
}

#[tokio::test]
async fn a_stream_that_just_ends_is_no_reply() {
    let whole = [vec![start()], tool_call("{}").to_vec(), end("tool_use").to_vec()].concat();
    for length in 0..whole.len() {
        let (address, _heads) = serve(vec![stream(&whole[..length]), done()]);
        let (reply, told) = ask_watched(&model_at(&address, "sonnet", &quick())).await;
        assert_eq!(reply.expect("the retry").text.as_deref(), Some("At last."), "{length} events");
        assert_eq!(retries(&told)[0].2.code, "network_error", "{length} events");
    }
}

#[tokio::test]
async fn broken_arguments_of_a_call_come_as_the_text_they_are() {
    let stop = json!({ "type": "content_block_stop", "index": 0 });
    for (input, closed, reason, wanted) in [
        ("{\"file_path\": ", true, "tool_use", Stop::Natural),
        ("{\"file_path\": \"SPEC", false, "max_tokens", Stop::OutputLimit),
    ] {
        let mut events = vec![start()];
        events.extend(tool_call(input));
        events.extend(closed.then(|| stop.clone()));
        events.extend(end(reason));
        let (address, _heads) = serve(vec![stream(&events)]);
        let reply = ask(&model_at(&address, "sonnet", &quick())).await.expect("a reply");
        let arguments = Value::String(input.to_owned());
        let call = Call { id: "toolu_1".to_owned(), name: "Read".to_owned(), arguments };
        assert_eq!(reply.calls, [call]);
        assert_eq!(reply.stop, wanted);
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (5, 7));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_the_services_is_told_by_its_first_line() {
    let page = "<html>\n<body>A gateway that knows nothing</body>";
    let (address, _heads) = serve(vec![response("403 Forbidden", "text/html", page)]);
    let refused = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert_eq!(refused.code, "authentication_error");
    assert!(
        refused.message.contains("<html>") && !refused.message.contains("gateway"),
        "{}",
        refused.message
    );

    let (address, _heads) = serve(vec![response("401 Unauthorized", "text/plain", "")]);
    let silent = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert!(silent.message.contains("no details were given"), "{}", silent.message);
}

#[tokio::test]
async fn a_page_where_a_stream_should_be_is_never_a_reply() {
    let page = || response("200 OK", "text/html", "<html>Please log in</html>");
    let (address, _heads) = serve(vec![page(), page(), page(), page()]);
    let fault = fault(ask(&model_at(&address, "sonnet", &quick())).await);
    assert!(fault.recoverable(), "{fault:?}");
}
