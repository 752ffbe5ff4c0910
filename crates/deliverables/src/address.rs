//! Where the process that holds the project is reached: at its socket, or from inside a sandbox through the proxy, since a
//! program there may not be able to open Unix sockets at all.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// How a URL of the proxy begins.
const SCHEME: &str = "http://";

/// What the connection is upgraded to: messages of MCP, one a line.
const PROTOCOL: &str = "mcp-lines";

/// How the answer begins when the proxy has connected us.
const CONNECTED: &str = "HTTP/1.1 101 ";

/// How long the proxy, which is on this machine, may take to connect us.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// The longest answer of the proxy.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// Where the process that holds the project is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallAddress {
    /// At its socket.
    Socket(PathBuf),
    /// Through the sandbox's proxy, at a URL that passes connections on to the socket. Who knows it may use it, so it belongs in
    /// no place that others can read, as arguments are.
    Proxy(String),
}

impl CallAddress {
    /// Reads what [`fmt::Display`] wrote.
    pub fn read(text: &OsStr) -> Self {
        match text.to_str() {
            Some(url) if url.starts_with(SCHEME) => Self::Proxy(url.to_owned()),
            Some(_) | None => Self::Socket(PathBuf::from(text)),
        }
    }

    /// Connects to the process.
    pub(crate) fn connect(&self) -> io::Result<File> {
        let connected = match self {
            Self::Socket(path) => OwnedFd::from(UnixStream::connect(path)?),
            Self::Proxy(url) => OwnedFd::from(through_proxy(url)?),
        };
        Ok(File::from(connected))
    }
}

impl fmt::Display for CallAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Proxy(url) => f.write_str(url),
        }
    }
}

fn through_proxy(url: &str) -> io::Result<TcpStream> {
    let split = url.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/'));
    let Some((host, path)) = split else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the proxy's URL has no path"));
    };
    let mut stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(CONNECT_LIMIT))?;
    let request =
        format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: upgrade\r\nUpgrade: {PROTOCOL}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let head = read_head(&mut stream)?;
    if !head.starts_with(CONNECTED) {
        let status = head.lines().next().unwrap_or_default();
        return Err(io::Error::other(format!("the proxy answered {status}")));
    }
    stream.set_read_timeout(None)?;
    Ok(stream)
}

/// Reads the head of an answer and nothing behind it.
fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_HEAD_BYTES {
            return Err(io::Error::other("the proxy's answer is too long"));
        }
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
