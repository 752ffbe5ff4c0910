//! A minimal HTTP client: one connection, one request at a time, replies are read and discarded.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::result::Result;

pub struct PlainClient {
    stream: BufReader<TcpStream>,
}

impl PlainClient {
    pub fn connect(base_url: &str) -> Result<Self> {
        let address = base_url.strip_prefix("http://").ok_or("Only http:// is supported.")?;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    pub fn post(&mut self, path: &str, body: &str) -> Result {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Api-Key: test-key\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
        let status = self.line()?;
        if !status.contains(" 200 ") {
            return Err(format!("The model answered {status:?}.").into());
        }
        let mut length = None;
        loop {
            let header = self.line()?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            length =
                header.strip_prefix("content-length:").and_then(|value| value.trim().parse().ok()).or(length);
        }
        match length {
            Some(length) => self.skip(length),
            None => self.skip_chunks(),
        }
    }

    fn skip_chunks(&mut self) -> Result {
        loop {
            let length = u64::from_str_radix(self.line()?.trim(), 16)?;
            self.skip(length)?;
            self.line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn skip(&mut self, length: u64) -> Result {
        let skipped = io::copy(&mut self.stream.by_ref().take(length), &mut io::sink())?;
        if skipped == length { Ok(()) } else { Err("The reply was cut off.".into()) }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}
