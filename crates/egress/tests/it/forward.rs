//! Plain HTTP requests with an absolute URL.

use tokio::io::AsyncWriteExt;

use crate::support::{
    OriginServer, allowing, ask, client, listen, ok, read_request, read_until, start, status, within,
};

async fn origin_and_rules(answer: &str) -> (OriginServer, autonoe_egress::Egress) {
    let origin = OriginServer::start(answer).await;
    let egress = start(allowing(&[format!("localhost:{}", origin.port()), origin.address.to_string()]));
    (origin, egress)
}

#[tokio::test]
async fn a_request_arrives_in_origin_form_with_the_host_that_was_checked() {
    within(async {
        let (origin, egress) = origin_and_rules(&ok("hello")).await;
        let port = origin.port();
        let answer = ask(
            &egress,
            format!(
                "GET http://LocalHost.:{port}/a/../b?c=%20&d HTTP/1.1\r\nHost: evil.example\r\nAccept: x/y\r\n\
                 Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\n\
                 Proxy-Authorization: Basic abc\r\nTE: trailers\r\nUpgrade: h2c\r\nAuthorization: mine\r\n\r\n"
            ),
        )
        .await;
        assert_eq!(status(&answer), 200);
        assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
        let request = origin.only_request().to_lowercase();
        let mut lines: Vec<&str> = request.trim_end().lines().collect();
        assert_eq!(lines.remove(0), "get /a/../b?c=%20&d http/1.1");
        lines.sort_unstable();
        assert_eq!(lines, ["accept: x/y", "authorization: mine", &format!("host: localhost:{port}")]);
    })
    .await;
}

#[tokio::test]
async fn a_response_arrives_without_hop_by_hop_headers() {
    within(async {
        let (origin, egress) = origin_and_rules(
            "HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\nConnection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\
             Proxy-Authenticate: Basic\r\nX-Stays: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nhi",
        )
        .await;
        let answer =
            ask(&egress, format!("GET http://{}/ HTTP/1.0\r\n\r\n", origin.address)).await.to_lowercase();
        assert_eq!(status(&answer), 418);
        assert!(answer.contains("x-stays: 1") && answer.matches("set-cookie").count() == 2, "{answer}");
        for dropped in ["x-hop", "keep-alive", "proxy-authenticate"] {
            assert!(!answer.contains(dropped), "{answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn every_request_of_a_keep_alive_connection_is_checked() {
    within(async {
        let (origin, egress) = origin_and_rules(&ok("hello")).await;
        let address = origin.address;
        let answers = ask(
            &egress,
            format!(
                "GET http://{address}/1 HTTP/1.1\r\n\r\nGET http://{address}/2 HTTP/1.1\r\n\r\n\
                 GET http://evil.example/3 HTTP/1.1\r\nHost: {address}\r\n\r\nGET http://{address}/4 HTTP/1.1\r\n\r\n"
            ),
        )
        .await;
        let statuses: Vec<_> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
        assert_eq!(statuses, ["200", "200", "403"], "{answers}");
        let paths: Vec<_> = origin.requests().iter().map(|request| request[..6].to_owned()).collect();
        assert_eq!(paths, ["GET /1", "GET /2"]);
    })
    .await;
}

#[tokio::test]
async fn bodies_pass_both_ways_in_either_framing() {
    within(async {
        let (origin, egress) = origin_and_rules(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        )
        .await;
        let url = format!("http://{}/", origin.address);
        let answer = ask(
            &egress,
            format!("POST {url} HTTP/1.1\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"),
        )
        .await;
        assert!(answer.ends_with("\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), "{answer}");
        let chunked =
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n";
        ask(&egress, format!("POST {url} HTTP/1.1\r\n{chunked}")).await;
        // A body of unknown length on a GET is dropped; its bytes never reach the next request.
        ask(&egress, format!("GET {url} HTTP/1.1\r\n{chunked}")).await;
        let requests = origin.requests();
        assert!(
            requests[0].contains("content-length: 4\r\n") && requests[0].ends_with("\r\n\r\nbody"),
            "{requests:?}"
        );
        assert!(requests[1].contains("transfer-encoding: chunked\r\n"), "{requests:?}");
        assert!(requests[1].ends_with("2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"), "{requests:?}");
        assert!(requests[2].ends_with("\r\n\r\n") && !requests[2].contains("chunked"), "{requests:?}");
    })
    .await;
}

#[tokio::test]
async fn a_client_disconnect_cancels_its_request() {
    within(async {
        let (listener, address) = listen().await;
        let egress = start(allowing(&[address.to_string()]));
        let mut client = client(&egress).await;
        client.write_all(format!("GET http://{address}/ HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
        let (mut origin, _) = listener.accept().await.unwrap();
        read_until(&mut origin, "\r\n\r\n").await;
        drop(client);
        assert_eq!(read_request(&mut origin).await, "");
    })
    .await;
}

#[tokio::test]
async fn an_unreachable_server_is_a_bad_gateway() {
    within(async {
        let (listener, address) = listen().await;
        drop(listener);
        let egress = start(allowing(&[address.to_string()]));
        for request in
            [format!("GET http://{address}/ HTTP/1.1\r\n\r\n"), format!("CONNECT {address} HTTP/1.1\r\n\r\n")]
        {
            let answer = ask(&egress, request).await;
            assert_eq!(status(&answer), 502);
            assert!(answer.contains(&format!("{address} cannot be reached: Connection refused")), "{answer}");
        }
        assert_eq!(egress.refusals(), []);
    })
    .await;
}

#[tokio::test]
async fn trace_and_websocket_are_not_supported() {
    within(async {
        let (origin, egress) = origin_and_rules(&ok("hello")).await;
        let url = format!("http://{}/", origin.address);
        for request in [
            format!("TRACE {url} HTTP/1.1\r\n\r\n"),
            format!("GET {url} HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c, WebSocket\r\n\r\n"),
        ] {
            assert_eq!(status(&ask(&egress, request).await), 501);
        }
        assert_eq!(origin.requests(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_url_without_a_path_requests_the_root() {
    within(async {
        let (origin, egress) = origin_and_rules(&ok("hello")).await;
        for (url, line) in [
            ("", "GET / HTTP/1.1"),
            ("?q", "GET /?q HTTP/1.1"),
            ("#f", "GET / HTTP/1.1"),
            ("//evil.example/", "GET //evil.example/ HTTP/1.1"),
        ] {
            let request = format!("GET http://{}{url} HTTP/1.1\r\nConnection: close\r\n\r\n", origin.address);
            assert_eq!(status(&ask(&egress, request).await), 200);
            assert_eq!(origin.requests().last().unwrap().lines().next(), Some(line));
        }
    })
    .await;
}

#[tokio::test]
async fn a_head_request_keeps_the_length_and_has_no_body() {
    within(async {
        let (origin, egress) = origin_and_rules("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").await;
        let request = format!("HEAD http://{}/ HTTP/1.1\r\nConnection: close\r\n\r\n", origin.address);
        let answer = ask(&egress, request).await;
        assert!(answer.contains("content-length: 5\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
    })
    .await;
}

#[tokio::test]
async fn expect_100_continue_is_answered_only_for_allowed_hosts() {
    within(async {
        let (origin, egress) = origin_and_rules(&ok("hello")).await;
        let head = "Content-Length: 4\r\nExpect: 100-continue\r\n\r\n";
        let mut allowed = client(&egress).await;
        let request = format!("PUT http://{}/ HTTP/1.1\r\n{head}", origin.address);
        allowed.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(status(&read_until(&mut allowed, "\r\n\r\n").await), 100);
        allowed.write_all(b"body").await.unwrap();
        assert_eq!(status(&read_until(&mut allowed, "hello").await), 200);
        assert!(origin.only_request().ends_with("\r\n\r\nbody") && !origin.only_request().contains("expect"));
        assert_eq!(status(&ask(&egress, format!("PUT http://evil.example/ HTTP/1.1\r\n{head}")).await), 403);
    })
    .await;
}
