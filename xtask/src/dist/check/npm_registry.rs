//! A registry of npm packages on this machine, with just enough of its protocol for `npm install`: what is known of a package, and the package.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use super::super::archive;
use crate::result::Result;

/// By path.
type Replies = BTreeMap<String, Vec<u8>>;

pub struct NpmRegistry {
    address: SocketAddr,
}

impl NpmRegistry {
    /// Serves until this process ends.
    pub fn serve(packages: &[PathBuf]) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let registry = Self { address: listener.local_addr()? };
        let mut replies = Replies::new();
        for (number, file) in packages.iter().enumerate() {
            let content = fs::read(file)?;
            let manifest: Value =
                serde_json::from_slice(&archive::read_gzip_member(&content, "package/package.json")?)?;
            let path = format!("/{number}.tgz");
            let name = manifest["name"].as_str().unwrap_or_default().to_owned();
            // npm writes the slash of a scope as %2f.
            let known = serde_json::to_vec(&registry.describe(manifest, &path))?;
            replies.insert(format!("/{}", name.replace('/', "%2f")), known);
            replies.insert(path, content);
        }
        let replies = Arc::new(replies);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let replies = Arc::clone(&replies);
                // A client that goes away misses its own reply only.
                thread::spawn(move || drop(reply(stream, &replies)));
            }
        });
        Ok(registry)
    }

    pub fn address(&self) -> String {
        format!("http://{}/", self.address)
    }

    fn describe(&self, mut manifest: Value, path: &str) -> Value {
        let (name, version) = (manifest["name"].clone(), manifest["version"].clone());
        manifest["dist"] = json!({"tarball": format!("http://{}{path}", self.address)});
        let mut versions = serde_json::Map::new();
        versions.insert(version.as_str().unwrap_or_default().to_owned(), manifest);
        json!({"name": name, "dist-tags": {"latest": version}, "versions": versions})
    }
}

fn reply(stream: TcpStream, replies: &Replies) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let (status, body) = match replies.get(&path.replace("%2F", "%2f")) {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &b"{}"[..]),
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(body)
}
