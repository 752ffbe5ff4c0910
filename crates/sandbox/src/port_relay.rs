//! Connects programs outside of a room to a port that a program in the room listens on. The room may have a network of its own, so our binary
//! makes the connection from inside.

use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;

use crate::session_sandbox::SessionSandbox;
use crate::wire;

/// What the first argument of our binary begins with when it relays to the port behind it.
const RELAY_ARG: &str = "__port:";

/// The line that a relay sends first once it is connected.
pub const CONNECTED: &str = "connected\n";

/// The line that it sends if nothing listens there.
pub const REFUSED: &str = "refused\n";

impl SessionSandbox {
    /// Connects a stream to a port in the room until either side ends. [`CONNECTED`] or [`REFUSED`] is sent first. Returns false, and leaves the
    /// stream alone, if nothing was started in the room.
    pub async fn relay(&self, port: u16, stream: UnixStream) -> io::Result<bool> {
        if !self.is_open().await {
            return Ok(false);
        }
        if self.has_own_network() {
            let launch = self.own_binary().await.map_err(io::Error::other)?;
            let launch =
                launch.args([format!("{RELAY_ARG}{port}")]).stdin(stream.try_clone()?).stdout(stream);
            launch.spawn()?.wait().await?;
        } else {
            let relaying = tokio::task::spawn_blocking(move || relay(&stream, port));
            relaying.await.map_err(io::Error::other)??;
        }
        Ok(true)
    }
}

/// The port, if the first argument of our binary asks for a relay.
pub(crate) fn relay_port(argument: &str) -> Option<u16> {
    argument.strip_prefix(RELAY_ARG)?.parse().ok()
}

/// The main function of a relay: its standard input and output are the stream.
pub(crate) fn run_relay(port: u16) -> i32 {
    match wire::inherited_socket().and_then(|stream| relay(&stream, port)) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn relay(outside: &UnixStream, port: u16) -> io::Result<()> {
    let addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), (Ipv6Addr::LOCALHOST, port).into()];
    let (mut to_outside, mut from_outside) = (outside, outside);
    let Ok(inside) = TcpStream::connect(&addresses[..]) else {
        return to_outside.write_all(REFUSED.as_bytes());
    };
    to_outside.write_all(CONNECTED.as_bytes())?;
    let (mut to_inside, mut from_inside) = (&inside, &inside);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = io::copy(&mut from_outside, &mut to_inside);
            let _ = to_inside.shutdown(Shutdown::Write);
        });
        let copied = io::copy(&mut from_inside, &mut to_outside);
        let _ = to_outside.shutdown(Shutdown::Both);
        copied.map(drop)
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::unix::net::UnixStream;

    use super::{CONNECTED, REFUSED, relay, relay_port};

    #[test]
    fn bytes_go_both_ways_until_a_side_ends() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 4];
            stream.read_exact(&mut asked).unwrap();
            stream.write_all(&asked.map(|byte| byte.to_ascii_uppercase())).unwrap();
        });
        let (ours, theirs) = UnixStream::pair().unwrap();
        let relaying = std::thread::spawn(move || relay(&theirs, port));
        let mut reader = BufReader::new(&ours);
        let mut first = String::new();
        reader.read_line(&mut first).unwrap();
        assert_eq!(first, CONNECTED);
        (&ours).write_all(b"ping").unwrap();
        let mut answer = String::new();
        reader.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "PING", "and the stream ended");
        server.join().unwrap();
        relaying.join().unwrap().unwrap();
    }

    #[test]
    fn a_port_without_a_listener_is_refused() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        relay(&theirs, free).unwrap();
        drop(theirs);
        let mut answer = String::new();
        ours.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, REFUSED);
    }

    #[test]
    fn only_its_own_argument_asks_for_a_relay() {
        assert_eq!(relay_port("__port:3000"), Some(3000));
        for other in ["__port:", "__port:70000", "__port", "3000", "__room"] {
            assert_eq!(relay_port(other), None, "{other}");
        }
    }
}
