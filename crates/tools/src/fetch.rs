//! The helper process that fetches a web page. It runs in the session's room, where the proxy variables point to the egress
//! proxy, which checks the host.

use std::error::Error;
use std::io;
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8};
use htmd::HtmlToMarkdown;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::output::ToolErrorCode;
use crate::pdf::{self, MAX_PDF_PAGES, PageRange};

/// The maximum number of bytes read of a page.
pub const MAX_FETCH_BYTES: usize = 5 * 1024 * 1024;
/// The time limit of a fetch.
pub const FETCH_LIMIT: Duration = Duration::from_secs(30);
/// The maximum number of redirects followed within a host.
const MAX_REDIRECTS: usize = 5;
/// The number of characters shown of an error page.
const MAX_ERROR_CHARS: usize = 2_000;
/// The number of bytes searched for the encoding, as in browsers.
const ENCODING_PROBE_BYTES: usize = 1024;
/// The stack size for parsing deeply nested pages.
const STACK_BYTES: usize = 256 * 1024 * 1024;

const ACCEPTED: &str = "text/html, text/markdown, text/plain, application/json, */*;q=0.5";

/// The result of a fetch.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fetched {
    Page {
        url: String,
        content_type: String,
        text: String,
        /// Whether only the start was read.
        truncated: bool,
    },
    /// A redirect to another host, which has not been checked.
    Elsewhere {
        url: String,
    },
    Failed {
        code: ToolErrorCode,
        why: String,
    },
}

/// The helper's main function: fetches the URL in its argument.
pub(crate) fn run(arguments: &[&str]) -> Fetched {
    let [url] = arguments else {
        return failed(ToolErrorCode::ValidationError, "the URL is missing");
    };
    let Ok(url) = Url::parse(url) else {
        return failed(ToolErrorCode::ValidationError, "the URL is invalid");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(fetch(url)),
        Err(error) => failed(ToolErrorCode::IoError, error.to_string()),
    }
}

fn failed(code: ToolErrorCode, why: impl Into<String>) -> Fetched {
    Fetched::Failed { code, why: why.into() }
}

async fn fetch(url: Url) -> Fetched {
    let client = autonoe_tls::client()
        .redirect(Policy::custom(|attempt| {
            let from = attempt.previous().last();
            let stays = from.is_some_and(|from| from.origin() == attempt.url().origin());
            if stays && attempt.previous().len() <= MAX_REDIRECTS { attempt.follow() } else { attempt.stop() }
        }))
        .user_agent(concat!("autonoe/", env!("CARGO_PKG_VERSION")))
        .timeout(FETCH_LIMIT)
        .build();
    let client = match client {
        Ok(client) => client,
        Err(error) => return failed(ToolErrorCode::ConfigError, reason(&error)),
    };
    match client.get(url.clone()).header(ACCEPT, ACCEPTED).send().await {
        Ok(response) => read(response).await,
        Err(error) if error.is_timeout() => failed(ToolErrorCode::Timeout, timed_out()),
        Err(error) => match refusal(&client, &url).await {
            Some(refusal) => failed(ToolErrorCode::PermissionDenied, refusal),
            None => failed(ToolErrorCode::IoError, reason(&error)),
        },
    }
}

fn timed_out() -> String {
    format!("it took longer than {} s", FETCH_LIMIT.as_secs())
}

/// The innermost cause, which is the most readable one.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// The egress proxy's reason for refusing a host; `None` if it did not refuse. A failed CONNECT hides the reason, so this
/// asks again with a plain HTTP request.
async fn refusal(client: &Client, url: &Url) -> Option<String> {
    let mut plain = url.clone();
    plain.set_port(url.port_or_known_default()).ok()?;
    plain.set_scheme("http").ok()?;
    let response = client.get(plain).send().await.ok()?;
    let refused = response.status() == StatusCode::FORBIDDEN;
    let text = response.text().await.ok().filter(|_| refused)?;
    Some(text.trim().chars().take(MAX_ERROR_CHARS).collect())
}

async fn read(mut response: Response) -> Fetched {
    let (status, url) = (response.status(), response.url().to_string());
    if status.is_redirection() {
        let location = response.headers().get("location").and_then(|to| to.to_str().ok());
        return match location.and_then(|to| response.url().join(to).ok()) {
            Some(url) => Fetched::Elsewhere { url: url.to_string() },
            None => failed(
                ToolErrorCode::IoError,
                format!("the server answered {status} without a valid location"),
            ),
        };
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let mut body = Vec::new();
    let mut truncated = false;
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = MAX_FETCH_BYTES - body.len();
                truncated = chunk.len() > room;
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if truncated {
                    break;
                }
            }
            Ok(None) => break,
            Err(error) if error.is_timeout() => return failed(ToolErrorCode::Timeout, timed_out()),
            Err(error) => return failed(ToolErrorCode::IoError, reason(&error)),
        }
    }
    let text = match text_of(&content_type, &body) {
        Ok(text) => text,
        Err(error) => return failed(ToolErrorCode::ValidationError, error.to_string()),
    };
    if status.is_success() {
        return Fetched::Page { url, content_type, text, truncated };
    }
    let text: String = text.trim().chars().take(MAX_ERROR_CHARS).collect();
    failed(code_of(status), format!("the server answered {status}\n{text}"))
}

fn code_of(status: StatusCode) -> ToolErrorCode {
    match status.as_u16() {
        401 | 403 => ToolErrorCode::PermissionDenied,
        404 | 410 => ToolErrorCode::NotFound,
        408 | 504 => ToolErrorCode::Timeout,
        429 => ToolErrorCode::RateLimited,
        _ => ToolErrorCode::IoError,
    }
}

/// Why a page has no text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageTextError {
    #[error("it is not text, but {kind} ({bytes} bytes). Download it with a command if you need it")]
    Binary { kind: String, bytes: usize },
    #[error("{0}")]
    Pdf(String),
    #[error("its HTML cannot be converted: {0}")]
    Html(io::Error),
    #[error("its HTML cannot be parsed")]
    HtmlParser,
}

/// The text of a page for the model.
pub(crate) fn text_of(content_type: &str, body: &[u8]) -> Result<String, PageTextError> {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_html = matches!(kind.as_str(), "text/html" | "application/xhtml+xml")
        || (kind.is_empty() && looks_like_html(body));
    if is_html {
        return markdown(decode(content_type, body));
    }
    if kind == "application/pdf" || body.starts_with(pdf::MAGIC) {
        let read = pdf::text_of(body, PageRange { first: 1, last: MAX_PDF_PAGES });
        return read
            .into_text("The page", 1)
            .map(|(text, _)| text)
            .map_err(|failure| PageTextError::Pdf(failure.message));
    }
    let is_text = kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml"].iter().any(|name| kind.contains(name))
        || (matches!(kind.as_str(), "" | "application/octet-stream") && !body.contains(&0));
    if is_text {
        return Ok(decode(content_type, body));
    }
    Err(PageTextError::Binary { kind, bytes: body.len() })
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(ENCODING_PROBE_BYTES)]).to_lowercase();
    let start = start.trim_start();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// Decodes by the byte order mark, the `Content-Type` header, or the page's own declaration, in this order.
fn decode(content_type: &str, body: &[u8]) -> String {
    let declared = charset(content_type).or_else(|| {
        let start = &body[..body.len().min(ENCODING_PROBE_BYTES)];
        charset(&String::from_utf8_lossy(start))
    });
    let encoding = declared.and_then(|name| Encoding::for_label(name.as_bytes())).unwrap_or(UTF_8);
    encoding.decode(body).0.into_owned()
}

/// The first name after `charset=`.
fn charset(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (_, rest) = lower.split_once("charset=")?;
    let name = rest.trim_start_matches(['"', '\'']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':' | '.'));
    Some(name[..end.unwrap_or(name.len())].to_owned()).filter(|name| !name.is_empty())
}

/// Converts HTML to Markdown, without scripts, styles and navigation.
fn markdown(html: String) -> Result<String, PageTextError> {
    let convert = move || {
        let skipped = vec!["script", "style", "noscript", "template", "svg", "iframe", "head", "nav"];
        HtmlToMarkdown::builder().skip_tags(skipped).build().convert(&html)
    };
    let converting = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(convert);
    match converting.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(text))) => Ok(text),
        Ok(Ok(Err(error))) | Err(error) => Err(PageTextError::Html(error)),
        Ok(Err(_)) => Err(PageTextError::HtmlParser),
    }
}

#[cfg(test)]
mod tests {
    use super::{charset, text_of};

    #[test]
    fn html_becomes_markdown_without_scripts_and_styles() {
        let html = "<!doctype html><head><title>T</title><style>p{}</style></head><body><script>evil()</script>\
                    <h1>Über</h1><p>1 &lt; 2 and <a href=\"/x\">a link</a></p><ul><li>one</li></ul>\
                    <pre><code>let a = 1;\nb</code></pre></body>";
        for kind in ["text/html; charset=utf-8", "", "TEXT/HTML"] {
            let text = text_of(kind, html.as_bytes()).unwrap();
            for part in ["# Über", "1 < 2 and [a link](/x)", "one", "let a = 1;\nb"] {
                assert!(text.contains(part), "{kind}: {text}");
            }
            assert!(!text.contains("evil") && !text.contains("p{}"), "{text}");
        }
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let html = "<div>".repeat(2_000) + "deep";
        assert!(text_of("text/html", html.as_bytes()).unwrap().contains("deep"));
    }

    #[test]
    fn encodings_are_detected() {
        assert_eq!(text_of("text/plain; charset=iso-8859-1", b"caf\xe9").unwrap(), "café");
        assert_eq!(text_of("text/plain", "café".as_bytes()).unwrap(), "café");
        let page = b"<html><meta charset='windows-1252'><body>caf\xe9 \x80</body></html>";
        assert_eq!(text_of("text/html", page).unwrap().trim(), "café €");
        let utf16 = b"\xff\xfeh\x00i\x00";
        assert_eq!(text_of("text/plain; charset=utf-8", utf16).unwrap(), "hi");
        assert_eq!(charset("text/html;charset=\"UTF-8\"").as_deref(), Some("utf-8"));
        assert_eq!(charset("text/html; charset="), None);
    }

    #[test]
    fn binary_content_is_an_error() {
        assert_eq!(text_of("application/json", b"{\"a\": 1}").unwrap(), "{\"a\": 1}");
        assert_eq!(text_of("application/octet-stream", b"plain").unwrap(), "plain");
        for kind in ["image/png", "application/zip", "application/octet-stream"] {
            assert!(
                text_of(kind, b"\0\x01").unwrap_err().to_string().starts_with("it is not text"),
                "{kind}"
            );
        }
    }
}
