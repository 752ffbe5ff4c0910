//! A client that sends raw bytes, and a server that records its requests.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use autonoe_egress::{Egress, EgressRules};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const TEST_LIMIT: Duration = Duration::from_secs(30);

/// Runs a test, and fails it after [`TEST_LIMIT`].
pub async fn within<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_LIMIT, test).await.expect("the test hangs")
}

pub const HINT: &str = "Add it to the list.";

pub fn allowing(patterns: &[String]) -> EgressRules {
    let allow = patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
    EgressRules { allow, how_to_allow: HINT.to_owned(), ..EgressRules::default() }
}

pub fn start(rules: EgressRules) -> Egress {
    Egress::start(std::net::TcpListener::bind("127.0.0.1:0").unwrap(), rules.into()).unwrap()
}

pub async fn client(egress: &Egress) -> TcpStream {
    TcpStream::connect(egress.proxy_url().strip_prefix("http://").unwrap()).await.unwrap()
}

/// Sends bytes on a new connection and reads until the other side closes, even if it closes with a reset.
pub async fn ask(egress: &Egress, request: impl AsRef<[u8]>) -> String {
    let mut client = client(egress).await;
    client.write_all(request.as_ref()).await.unwrap();
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer:?}"))
}

/// Reads until the text ends with `end`.
pub async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        let mut byte = [0];
        assert_eq!(
            stream.read(&mut byte).await.unwrap(),
            1,
            "closed after {:?}",
            String::from_utf8_lossy(&text)
        );
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// Opens a tunnel, which must succeed.
pub async fn open_tunnel(egress: &Egress, target: &str) -> TcpStream {
    let mut client = client(egress).await;
    client
        .write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let head = read_until(&mut client, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    client
}

/// A loopback server that answers the first request of every connection with the same bytes and then closes it.
pub struct OriginServer {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl OriginServer {
    pub async fn start(answer: impl Into<String>) -> OriginServer {
        let answer = answer.into();
        let (listener, address) = listen().await;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (recorded, answer) = (Arc::clone(&recorded), answer.clone());
                tokio::spawn(async move {
                    let request = read_request(&mut stream).await;
                    let answer = answer.replace("{request}", &request);
                    recorded.lock().unwrap().push(request);
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        OriginServer { address, requests }
    }

    /// The requests received, one per connection.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The only request received.
    pub fn only_request(&self) -> String {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests[0].clone()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

pub async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Reads a head and the body that it announces, plus any bytes that arrived with them.
pub async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let whole = match length {
                Some(length) => body.len() >= length.parse().unwrap(),
                None if head.contains("transfer-encoding: chunked") => body.ends_with("0\r\n\r\n"),
                None => true,
            };
            if whole {
                break;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
