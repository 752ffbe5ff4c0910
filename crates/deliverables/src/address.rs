//! The address of the process that holds the project: its socket, or a URL of the sandbox's proxy, since a
//! program in a sandbox may not be able to open Unix sockets at all.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

const SCHEME: &str = "http://";

/// Upgrade protocol: MCP messages, one per line.
const PROTOCOL: &str = "mcp-lines";

/// Start of the proxy's response once it has connected us.
const CONNECTED: &str = "HTTP/1.1 101 ";

/// Time limit for connecting through the proxy, which is on this machine.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

/// Maximum length of the proxy's response head.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// Where to reach the process that holds the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallAddress {
    Socket(PathBuf),
    /// A URL of the sandbox's proxy that forwards connections to the socket. Anyone who knows it may use it,
    /// so it must not appear where others can read it, such as in arguments.
    Proxy(String),
}

impl CallAddress {
    /// Parses the output of [`fmt::Display`].
    pub fn read(text: &OsStr) -> Self {
        match text.to_str() {
            Some(url) if url.starts_with(SCHEME) => Self::Proxy(url.to_owned()),
            Some(_) | None => Self::Socket(PathBuf::from(text)),
        }
    }

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

/// Reads the head of a response and nothing after it.
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
