//! An MCP server with its own authorization server, on loopback. It checks what it is sent: registration, PKCE, single-use codes and
//! refresh tokens, the token of every request.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use autonoe_store::sha256_hex;
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AuthSupport {
    /// OAuth with dynamic registration.
    OAuth,
    /// OAuth for registered clients only.
    WithoutRegistration,
    /// Requires a token, but publishes nothing about OAuth.
    TokenOnly,
    /// Requires nothing.
    Open,
    /// Answers the token request with an error.
    RefusesTokens,
}

#[derive(Default)]
pub struct ServerLog {
    /// The names of registered clients.
    pub registered: Vec<String>,
    /// The access tokens that were issued, in order.
    pub issued: Vec<String>,
    /// The grants of the token requests, in order.
    pub grants: Vec<String>,
    /// The tokens of accepted tool calls.
    pub calls: Vec<String>,
    /// What was sent wrongly.
    pub violations: Vec<String>,
    challenge: String,
    redirect_uri: String,
    refresh_token: String,
}

#[derive(Clone)]
pub struct OAuthServer {
    pub address: String,
    pub log: Arc<Mutex<ServerLog>>,
    support: AuthSupport,
    /// Seconds.
    lifetime: u64,
}

struct HttpRequest {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    token: Option<String>,
    body: String,
}

struct HttpResponse(&'static str, Vec<(&'static str, String)>, String);

impl OAuthServer {
    /// `lifetime` of access tokens in seconds.
    pub fn start(support: AuthSupport, lifetime: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let server = Self { address, log: Arc::default(), support, lifetime };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub fn read<T>(&self, look: impl FnOnce(&ServerLog) -> T) -> T {
        look(&self.log.lock().expect("not poisoned"))
    }

    /// From now on the server rejects all access tokens that it has issued.
    pub fn revoke(&self) {
        self.log.lock().expect("not poisoned").issued.push("revoked".to_owned());
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some(request) = read_request(&stream) else { return };
        let HttpResponse(status, headers, body) = self.answer(&request);
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        let base = format!("http://{}", self.address);
        let publishes = !matches!(self.support, AuthSupport::TokenOnly | AuthSupport::Open);
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/mcp") => self.mcp(request),
            ("GET", "/.well-known/oauth-protected-resource/mcp") if publishes => {
                ok(&json!({ "resource": self.url(), "authorization_servers": [base] }))
            }
            ("GET", "/.well-known/oauth-authorization-server") if publishes => {
                let mut metadata = json!({
                    "issuer": base,
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                });
                if self.support != AuthSupport::WithoutRegistration {
                    metadata["registration_endpoint"] = json!(format!("{base}/register"));
                }
                ok(&metadata)
            }
            ("POST", "/register") if publishes => self.register(request),
            ("GET", "/authorize") if publishes => self.authorize(request),
            ("POST", "/token") if publishes => self.token(request),
            ("DELETE", "/mcp") => HttpResponse("200 OK", Vec::new(), String::new()),
            _ => HttpResponse("404 Not Found", Vec::new(), String::new()),
        }
    }

    fn mcp(&self, request: &HttpRequest) -> HttpResponse {
        let mut log = self.log.lock().expect("not poisoned");
        let is_valid = request.token.is_some() && request.token.as_ref() == log.issued.last();
        if self.support != AuthSupport::Open && !is_valid {
            let metadata = format!("http://{}/.well-known/oauth-protected-resource/mcp", self.address);
            let challenge = match self.support {
                AuthSupport::TokenOnly => "Bearer".to_owned(),
                _ => format!("Bearer resource_metadata=\"{metadata}\""),
            };
            return HttpResponse("401 Unauthorized", vec![("WWW-Authenticate", challenge)], String::new());
        }
        let message: Value = serde_json::from_str(&request.body).expect("JSON");
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "tickets", "version": "1" },
            }),
            "tools/list" => json!({ "tools": [{
                "name": "lookup", "description": "Looks up a ticket.", "inputSchema": { "type": "object" },
            }] }),
            "tools/call" => {
                let token = request.token.clone().unwrap_or_default();
                log.calls.push(token.clone());
                json!({ "content": [{ "type": "text", "text": format!("ticket 7, read with {token}") }] })
            }
            _ => return HttpResponse("202 Accepted", Vec::new(), String::new()),
        };
        ok(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
    }

    fn register(&self, request: &HttpRequest) -> HttpResponse {
        let client: Value = serde_json::from_str(&request.body).expect("JSON");
        let mut log = self.log.lock().expect("not poisoned");
        log.registered.push(client["client_name"].as_str().unwrap_or_default().to_owned());
        ok(&json!({ "client_id": "client-1", "redirect_uris": client["redirect_uris"] }))
    }

    /// A page on which the user consents at once.
    fn authorize(&self, request: &HttpRequest) -> HttpResponse {
        let mut log = self.log.lock().expect("not poisoned");
        let parameter = |name: &str| request.query.get(name).cloned().unwrap_or_default();
        log.expect("PKCE", &parameter("code_challenge_method"), "S256");
        log.expect("the resource", &parameter("resource"), &self.url());
        (log.challenge, log.redirect_uri) = (parameter("code_challenge"), parameter("redirect_uri"));
        let location = format!("{}?code=the-code&state={}", log.redirect_uri, parameter("state"));
        HttpResponse("302 Found", vec![("Location", location)], String::new())
    }

    fn token(&self, request: &HttpRequest) -> HttpResponse {
        let form = parse_query(&request.body);
        let parameter = |name: &str| form.get(name).cloned().unwrap_or_default();
        let mut log = self.log.lock().expect("not poisoned");
        let grant = parameter("grant_type");
        if self.support == AuthSupport::RefusesTokens {
            let error = json!({ "error": "invalid_grant", "error_description": "the code is too old" });
            return HttpResponse("400 Bad Request", json_type(), error.to_string());
        }
        let expected_grant = match grant.as_str() {
            "authorization_code" => {
                log.expect("the code", &parameter("code"), "the-code");
                let redirect_uri = log.redirect_uri.clone();
                log.expect("the redirect", &parameter("redirect_uri"), &redirect_uri);
                let challenge = std::mem::take(&mut log.challenge);
                log.expect("the verifier", &s256(&parameter("code_verifier")), &challenge)
            }
            _ => {
                let refresh_token = std::mem::take(&mut log.refresh_token);
                log.expect("the refresh token", &parameter("refresh_token"), &refresh_token)
            }
        };
        log.grants.push(grant);
        if !expected_grant {
            let error = json!({ "error": "invalid_grant" });
            return HttpResponse("400 Bad Request", json_type(), error.to_string());
        }
        let number = log.grants.len();
        log.issued.push(format!("access-token-{number}-Zq8w7Xy"));
        log.refresh_token = format!("refresh-token-{number}-Pl3m9Kt");
        ok(&json!({
            "access_token": log.issued.last(), "token_type": "Bearer", "expires_in": self.lifetime,
            "refresh_token": log.refresh_token,
        }))
    }
}

impl ServerLog {
    /// Whether the value is the expected one; a violation if not.
    fn expect(&mut self, what: &str, value: &str, expected: &str) -> bool {
        let is_expected = value == expected && !expected.is_empty();
        if !is_expected {
            self.violations.push(format!("{what}: expected {expected:?}, got {value:?}"));
        }
        is_expected
    }
}

/// Sends a GET request to a loopback URL and returns the whole response, as a browser without redirects would.
pub fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("http");
    let (address, path) = rest.split_at(rest.find('/').expect("a path"));
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("read");
    response
}

/// The `Location` header of a response.
pub fn location(response: &str) -> String {
    let header = response.lines().find_map(|line| line.strip_prefix("Location: "));
    header.unwrap_or_else(|| panic!("no redirect: {response}")).to_owned()
}

fn ok(value: &Value) -> HttpResponse {
    HttpResponse("200 OK", json_type(), value.to_string())
}

fn json_type() -> Vec<(&'static str, String)> {
    vec![("Content-Type", "application/json".to_owned())]
}

fn read_request(stream: &TcpStream) -> Option<HttpRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let (mut token, mut length) = (None, 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => token = value.trim().strip_prefix("Bearer ").map(str::to_owned),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), parse_query(query));
    Some(HttpRequest { method, path, query, token, body: String::from_utf8(body).ok()? })
}

fn parse_query(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).expect("hexadecimal")
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).expect("UTF-8")
}

/// The S256 challenge of a verifier: the URL-safe base64 of its SHA-256 hash, without padding.
fn s256(verifier: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let hash = sha256_hex(verifier.as_bytes());
    let bits: String =
        hash.chars().map(|digit| format!("{:04b}", digit.to_digit(16).expect("a digit"))).collect();
    let groups = bits.as_bytes().chunks(6).map(|group| {
        let padded = format!("{:0<6}", String::from_utf8_lossy(group));
        usize::from_str_radix(&padded, 2).expect("binary")
    });
    groups.map(|index| char::from(DIGITS[index])).collect()
}
