//! The login in a browser, without a browser: the end of the wait, and connections that are not the redirect.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use autonoe_mcp::{LoopbackLogin, OAuthLogin, VisitError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PAGE: &str = "http://127.0.0.1:1/authorize?state=abc";

async fn login(limit: Duration) -> (LoopbackLogin, Arc<Mutex<Vec<String>>>) {
    let opened = Arc::new(Mutex::new(Vec::new()));
    let pages = Arc::clone(&opened);
    let open_page = Box::new(move |page: &str| pages.lock().unwrap().push(page.to_owned()));
    (LoopbackLogin::bind(0, None, limit, open_page).await.unwrap(), opened)
}

async fn get(stream: &mut TcpStream, path: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut shown = String::new();
    stream.read_to_string(&mut shown).await.unwrap();
    shown
}

#[tokio::test]
async fn a_browser_that_never_comes_back_ends_the_wait() {
    let (login, opened) = login(Duration::from_millis(20)).await;
    let limit = Duration::from_millis(20);
    assert_eq!(login.visit(PAGE).await, Err(VisitError::TimedOut { limit }));
    assert_eq!(*opened.lock().unwrap(), [PAGE]);
    let error = VisitError::TimedOut { limit: autonoe_mcp::LOGIN_LIMIT };
    assert_eq!(error.to_string(), "the browser did not come back within 5m");
}

#[tokio::test]
async fn other_connections_do_not_block_the_redirect() {
    let (login, _) = login(Duration::from_secs(30)).await;
    let redirect_uri = login.registration().redirect_uri;
    let address =
        redirect_uri.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/callback")).unwrap();
    let _idle = TcpStream::connect(address).await.unwrap();
    let browser = async {
        let (mut icon, mut page) =
            (TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap());
        let missing = get(&mut icon, "/favicon.ico").await;
        assert!(missing.starts_with("HTTP/1.1 404"), "{missing}");
        get(&mut page, "/callback?code=x&state=abc").await
    };
    let (visited, shown) = tokio::join!(login.visit(PAGE), browser);
    assert_eq!(visited, Ok(format!("{redirect_uri}?code=x&state=abc")));
    assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
}

#[tokio::test]
async fn only_web_pages_are_opened() {
    let (login, opened) = login(Duration::from_secs(30)).await;
    let visited = login.visit("file:///etc/passwd?state=abc").await;
    assert_eq!(visited, Err(VisitError::Failed("its address is a file: URL".to_owned())));
    assert!(opened.lock().unwrap().is_empty());
}
