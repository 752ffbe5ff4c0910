use super::{Exchange, Service, TransportFailure};
use crate::frame_splitter::Framing;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The status line of the response to a POST, or nothing if the connection is closed first.
async fn post(url: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let (address, path) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("POST /{path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    let _ = stream.read_to_string(&mut response).await;
    response.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn only_a_request_to_the_secret_path_is_carried_and_only_once() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let service = Service {
        http: autonoe_tls::client().no_proxy().build().unwrap(),
        url: format!("http://{closed}/"),
        headers: reqwest::header::HeaderMap::new(),
        framing: Framing::Events,
        idle_timeout: Duration::from_secs(5),
    };
    let exchange = Exchange::open(&service).await.unwrap();
    let url = exchange.url().unwrap();
    let requests = async {
        let (root, _) = url.rsplit_once('/').unwrap();
        // A client that says nothing does not hold up the library.
        let _silent = TcpStream::connect(root.strip_prefix("http://").unwrap()).await.unwrap();
        assert!(post(&format!("{root}/guessed")).await.contains("404"));
        assert!(exchange.failure().is_none(), "nothing was sent");
        assert_eq!(post(&url).await, "", "the service is closed, so the connection is, too");
        assert!(matches!(exchange.failure(), Some(TransportFailure::Broken(_))));
    };
    tokio::select! {
        () = requests => {}
        failure = exchange.carry() => panic!("{failure:?}"),
    }
}
