//! Requests that try to be checked as one host and connected to another.

use autonoe_egress::{EgressRefusal, RefusalReason};

use crate::support::{HINT, OriginServer, allowing, ask, ok, start, status, within};

/// Each request with its expected status. `{p}` is the port of a server that is allowed as `localhost` only.
const ATTACKS: &[(&str, u16)] = &[
    // Other hosts that look like the allowed one.
    ("CONNECT evil.example:{p} HTTP/1.1", 403),
    ("CONNECT localhost.evil.example:{p} HTTP/1.1", 403),
    ("CONNECT evil.localhost:{p} HTTP/1.1", 403),
    ("CONNECT xlocalhost:{p} HTTP/1.1", 403),
    ("CONNECT localhost:1 HTTP/1.1", 403),
    ("CONNECT localhost:443 HTTP/1.1", 403),
    // Two hosts in one authority.
    ("CONNECT localhost:{p}@evil.example:443 HTTP/1.1", 400),
    ("CONNECT localhost@evil.example:{p} HTTP/1.1", 400),
    ("CONNECT evil.example@localhost:{p} HTTP/1.1", 400),
    ("CONNECT localhost:{p}:evil HTTP/1.1", 400),
    ("CONNECT localhost:{p}:443 HTTP/1.1", 400),
    ("CONNECT evil.example#.localhost:{p} HTTP/1.1", 400),
    ("CONNECT evil.example?.localhost:{p} HTTP/1.1", 400),
    ("CONNECT evil.example\\.localhost:{p} HTTP/1.1", 400),
    ("CONNECT localhost,evil.example:{p} HTTP/1.1", 400),
    ("CONNECT localhost%2eevil.example:{p} HTTP/1.1", 400),
    ("CONNECT %6cocalhost:{p} HTTP/1.1", 400),
    ("CONNECT localhost%00.evil.example:{p} HTTP/1.1", 400),
    ("CONNECT localhost..:{p} HTTP/1.1", 400),
    ("CONNECT .localhost:{p} HTTP/1.1", 400),
    // Not an authority.
    ("CONNECT localhost HTTP/1.1", 400),
    ("CONNECT localhost: HTTP/1.1", 400),
    ("CONNECT localhost:0 HTTP/1.1", 400),
    ("CONNECT localhost:99999 HTTP/1.1", 400),
    ("CONNECT localhost:+{p} HTTP/1.1", 400),
    ("CONNECT localhost:{p}/ HTTP/1.1", 400),
    ("CONNECT localhost:{p}/path HTTP/1.1", 400),
    ("CONNECT http://localhost:{p}/ HTTP/1.1", 400),
    ("CONNECT /localhost:{p} HTTP/1.1", 400),
    ("CONNECT * HTTP/1.1", 400),
    ("CONNECT localhost:{p} evil.example HTTP/1.1", 400),
    ("CONNECT local\thost:{p} HTTP/1.1", 400),
    ("CONNECT localhost:{p}\0 HTTP/1.1", 400),
    // Addresses do not match names, whatever their notation.
    ("CONNECT 127.0.0.1:{p} HTTP/1.1", 403),
    ("CONNECT 127.0.0.1.:{p} HTTP/1.1", 403),
    ("CONNECT [::1]:{p} HTTP/1.1", 403),
    ("CONNECT [::ffff:127.0.0.1]:{p} HTTP/1.1", 403),
    ("CONNECT [::ffff:7f00:1]:{p} HTTP/1.1", 403),
    ("CONNECT 0.0.0.0:{p} HTTP/1.1", 403),
    ("CONNECT 127.1:{p} HTTP/1.1", 400),
    ("CONNECT 0x7f.1:{p} HTTP/1.1", 400),
    ("CONNECT 0X7F.1:{p} HTTP/1.1", 400),
    ("CONNECT 0177.0.0.1:{p} HTTP/1.1", 400),
    ("CONNECT 2130706433:{p} HTTP/1.1", 400),
    ("CONNECT 0:{p} HTTP/1.1", 400),
    ("CONNECT ::1:{p} HTTP/1.1", 400),
    ("CONNECT [::1%25lo]:{p} HTTP/1.1", 400),
    // The same in URLs.
    ("GET http://evil.example:{p}/ HTTP/1.1\r\nHost: localhost:{p}", 403),
    ("GET http://localhost.evil.example:{p}/ HTTP/1.1", 403),
    ("GET http://evil.example:{p}#@localhost:{p}/ HTTP/1.1", 403),
    ("GET http://evil.example:{p}/http://localhost:{p}/ HTTP/1.1", 403),
    ("GET http://evil.example:{p}?@localhost:{p}/ HTTP/1.1", 403),
    ("GET http://localhost:{p}@evil.example/ HTTP/1.1", 400),
    ("GET http://user:pass@localhost:{p}/ HTTP/1.1", 400),
    ("GET http://@localhost:{p}/ HTTP/1.1", 400),
    ("GET http://evil.example\\@localhost:{p}/ HTTP/1.1", 400),
    ("GET http://evil.example%23.localhost:{p}/ HTTP/1.1", 400),
    ("GET http://localhost:{p}:80/ HTTP/1.1", 400),
    ("GET http://127.0.0.1:{p}/ HTTP/1.1\r\nHost: localhost:{p}", 403),
    ("GET http://2130706433:{p}/ HTTP/1.1\r\nHost: localhost:{p}", 400),
    ("GET http://localhost/ HTTP/1.1\r\nHost: localhost:{p}", 403),
    ("GET http:///localhost:{p}/ HTTP/1.1", 400),
    ("GET https://localhost:{p}/ HTTP/1.1", 400),
    ("GET ftp://localhost:{p}/ HTTP/1.1", 400),
    ("GET localhost:{p} HTTP/1.1", 400),
    // Not addressed to a proxy at all.
    ("GET / HTTP/1.1\r\nHost: localhost:{p}", 404),
    ("GET //localhost:{p}/ HTTP/1.1\r\nHost: localhost:{p}", 404),
    ("GET /http://localhost:{p}/ HTTP/1.1\r\nHost: localhost:{p}", 404),
    ("OPTIONS * HTTP/1.1\r\nHost: localhost:{p}", 404),
];

#[tokio::test]
async fn no_attack_reaches_a_server() {
    within(async {
        let origin = OriginServer::start(ok("reached")).await;
        let egress = start(allowing(&[format!("localhost:{}", origin.port())]));
        for (attack, expected) in ATTACKS {
            let request = attack.replace("{p}", &origin.port().to_string()) + "\r\n\r\n";
            let answer = ask(&egress, &request).await;
            assert_eq!(status(&answer), *expected, "{request:?} {answer:?}");
            assert_eq!(origin.requests(), [""; 0], "{request:?}");
        }
        // A valid request does get through, so the refusals above were not due to a broken setup.
        let fine = format!("GET http://localhost:{}/ HTTP/1.1\r\nConnection: close\r\n\r\n", origin.port());
        assert!(ask(&egress, fine).await.ends_with("reached"));
    })
    .await;
}

#[tokio::test]
async fn a_refusal_names_the_host_and_how_to_allow_it_and_is_reported_once() {
    within(async {
        let egress = start(allowing(&[]));
        let answer = ask(&egress, "CONNECT Evil.Example.:443 HTTP/1.1\r\n\r\n").await;
        let text = format!("evil.example:443 is not on the list of allowed hosts.\n{HINT}\n");
        assert!(answer.ends_with(&format!("\r\n\r\n{text}")), "{answer}");
        assert!(answer.contains("content-type: text/plain"), "{answer}");
        ask(&egress, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n").await;
        ask(&egress, "GET http://[::1]:81/ HTTP/1.1\r\n\r\n").await;
        let refusal = |host: &str, port| EgressRefusal {
            host: host.to_owned(),
            port,
            reason: RefusalReason::NotAllowed,
        };
        assert_eq!(egress.refusals(), [refusal("evil.example", 443), refusal("[::1]", 81)]);
        ask(&egress, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n").await;
        assert_eq!(egress.refusals(), []);
    })
    .await;
}

#[tokio::test]
async fn a_name_listed_without_a_port_cannot_reach_loopback() {
    within(async {
        let egress = start(allowing(&["localhost".to_owned()]));
        for request in ["CONNECT localhost:443 HTTP/1.1\r\n\r\n", "GET http://localhost/ HTTP/1.1\r\n\r\n"] {
            let answer = ask(&egress, request).await;
            assert_eq!(status(&answer), 403, "{answer}");
            assert!(answer.contains("does not resolve to a public address"), "{answer}");
        }
        let reasons: Vec<_> =
            egress.refusals().into_iter().map(|refusal| (refusal.port, refusal.reason)).collect();
        assert_eq!(reasons, [(443, RefusalReason::NotPublic), (80, RefusalReason::NotPublic)]);
    })
    .await;
}
