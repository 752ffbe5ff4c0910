//! Request heads that are malformed, too large, or ambiguously framed.

use autonoe_egress::limits::{MAX_HEAD_BYTES, MAX_HEADERS};

use crate::support::{OriginServer, allowing, ask, ok, start, status, within};

#[tokio::test]
async fn malformed_heads_are_refused() {
    within(async {
        let origin = OriginServer::start(ok("reached")).await;
        let egress = start(allowing(&[origin.address.to_string()]));
        let url = format!("http://{}/", origin.address);
        for (request, expected) in [
            ("\0\u{1}garbage\r\n\r\n".to_owned(), 400),
            ("GET\r\n\r\n".to_owned(), 400),
            (format!("GET {url}\r\n\r\n"), 400),
            (format!("GET {url} HTTP/9.9\r\n\r\n"), 400),
            (format!("GET  {url} HTTP/1.1\r\n\r\n"), 400),
            (format!("G@T {url}\u{7f} HTTP/1.1\r\n\r\n"), 400),
            (format!("GET {url} HTTP/1.1\r\nNo colon\r\n\r\n"), 400),
            (format!("GET {url} HTTP/1.1\r\nA: x\0y\r\n\r\n"), 400),
            (format!("GET {url} HTTP/1.1\r\nA: x\ry\r\n\r\n"), 400),
            (format!("GET {url} HTTP/1.1\r\nA : x\r\n\r\n"), 400),
            (format!("GET {url} HTTP/1.1\r\nA: x\r\n folded\r\n\r\n"), 400),
            (format!("GET {url} HTTP/1.1\r\n folded: x\r\n\r\n"), 400),
            (format!("POST {url} HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), 400),
            (format!("POST {url} HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\nx"), 400),
            (format!("POST {url} HTTP/1.1\r\nContent-Length: +1\r\n\r\nx"), 400),
            (format!("POST {url} HTTP/1.1\r\nContent-Length: -1\r\n\r\nx"), 400),
            (format!("POST {url} HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nx"), 400),
            (format!("POST {url} HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\nx"), 400),
            (format!("POST {url} HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400),
            (format!("GET {url} HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(MAX_HEAD_BYTES)), 431),
            (format!("GET {url} HTTP/1.1\r\n{}\r\n", "A: x\r\n".repeat(MAX_HEADERS + 1)), 431),
            (format!("GET {url}{} HTTP/1.1\r\n\r\n", "x".repeat(MAX_HEAD_BYTES)), 431),
        ] {
            let answer = ask(&egress, &request).await;
            let shown: String = request.chars().take(100).collect();
            assert_eq!(status(&answer), expected, "{shown:?} {answer:?}");
            assert_eq!(origin.requests(), [""; 0], "{shown:?}");
        }
        let largest = "A: x\r\n".repeat(MAX_HEADERS - 1);
        let fine = format!("GET {url} HTTP/1.1\r\nConnection: close\r\n{largest}\r\n");
        assert_eq!(status(&ask(&egress, fine).await), 200);
    })
    .await;
}

/// Requests with ambiguous framing reach the checked host with a single framing and no smuggled second request.
#[tokio::test]
async fn nothing_is_smuggled_behind_a_request() {
    within(async {
        let hidden = "GET http://evil.example/hidden HTTP/1.1\r\nHost: evil.example\r\n\r\n";
        for (head, body, arrives) in [
            ("Content-Length: 999\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", "0\r\n\r\n"),
            ("Transfer-Encoding: chunked\r\nContent-Length: 6\r\n", "0\r\n\r\n", "0\r\n\r\n"),
            (
                "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
                "1\r\nx\r\n0\r\n\r\n",
                "1\r\nx\r\n0\r\n\r\n",
            ),
            ("Content-Length: 1\r\nContent-Length: 1\r\n", "x", "x"),
            ("Content-Length: 01\r\n", "x", "x"),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", "0\r\n\r\n"),
        ] {
            let origin = OriginServer::start(ok("reached")).await;
            let egress = start(allowing(&[origin.address.to_string()]));
            let request = format!("POST http://{}/ HTTP/1.1\r\n{head}\r\n{body}{hidden}", origin.address);
            let answer = ask(&egress, &request).await;
            assert_eq!(status(&answer), 200, "{request:?} {answer:?}");
            let received = origin.only_request();
            assert!(
                received.ends_with(&format!("\r\n\r\n{arrives}")) && !received.contains("hidden"),
                "{request:?} {received:?}"
            );
            let lower = received.to_lowercase();
            let framings =
                lower.matches("content-length").count() + lower.matches("transfer-encoding").count();
            assert_eq!(framings, 1, "{request:?} {received:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn bare_line_feeds_end_lines_and_do_not_change_the_checked_host() {
    within(async {
        let origin = OriginServer::start(ok("reached")).await;
        let egress = start(allowing(&[origin.address.to_string()]));
        let request =
            format!("GET http://{}/ HTTP/1.1\nHost: evil.example\nConnection: close\n\n", origin.address);
        assert_eq!(status(&ask(&egress, request).await), 200);
        assert_eq!(origin.only_request(), format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", origin.address));
        assert_eq!(status(&ask(&egress, "CONNECT evil.example:443 HTTP/1.1\n\n").await), 403);
    })
    .await;
}
