//! The servers that programs of a room have started. They may be connected to, and nothing else on loopback.
//!
//! The room shares the machine's network, so that a port may be anybody's. Whose it is, the numbers of the sockets say that listen there.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::fstat;

/// The state of a socket that listens, in the kernel's list.
const LISTENING: &str = "0A";

/// Numbers of the room's sockets that listen.
#[derive(Debug, Default)]
pub(crate) struct OwnServers(Mutex<HashSet<u64>>);

impl OwnServers {
    /// A socket of the room listens now.
    pub(crate) fn add(&self, socket: &OwnedFd) {
        let listening = listening();
        let mut own = self.own();
        own.retain(|known| listening.iter().any(|(_, number)| number == known));
        own.extend(fstat(socket).map(|stat| stat.st_ino));
    }

    /// Whether something listens on the port, and all of it is the room's.
    pub(crate) fn have(&self, port: u16) -> bool {
        let (own, others) = self.at(port);
        own > 0 && others == 0
    }

    /// Whether somebody else listens on the port, at any address. A socket of the room could get connections that are meant for others.
    pub(crate) fn is_taken(&self, port: u16) -> bool {
        self.at(port).1 > 0
    }

    /// The numbers of own sockets and of others that listen on the port.
    fn at(&self, port: u16) -> (usize, usize) {
        let own = self.own();
        let here = listening().into_iter().filter(|(other, _)| *other == port);
        let (ours, others): (Vec<_>, Vec<_>) = here.partition(|(_, number)| own.contains(number));
        (ours.len(), others.len())
    }

    fn own(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ports on which sockets of this machine listen, and the sockets' numbers. What cannot be read is not the room's.
fn listening() -> Vec<(u16, u64)> {
    let lists = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(fs::read_to_string);
    lists.iter().flatten().flat_map(|list| list.lines().filter_map(parse)).collect()
}

/// A line such as `0: 0100007F:1FBB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1 …`.
fn parse(line: &str) -> Option<(u16, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, port) = fields.get(1)?.rsplit_once(':')?;
    let is_listening = fields.get(3) == Some(&LISTENING);
    is_listening.then_some((u16::from_str_radix(port, 16).ok()?, fields.get(9)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;

    use super::{OwnServers, parse};

    #[test]
    fn sockets_that_listen_are_read_from_the_kernels_list() {
        let line = "   1: 0100007F:1FBB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 4711 1 0 100";
        assert_eq!(parse(line), Some((8123, 4711)));
        let wide = line.replace("0100007F", "00000000000000000000000001000000");
        assert_eq!(parse(&wide), Some((8123, 4711)));
        assert_eq!(parse(&line.replace(" 0A ", " 01 ")), None, "a connection");
        assert_eq!(
            parse("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt"),
            None
        );
    }

    #[test]
    fn only_what_was_added_is_own_and_only_while_it_listens() {
        let servers = OwnServers::default();
        let socket = TcpListener::bind("127.0.0.1:0").expect("bound");
        let port = socket.local_addr().expect("an address").port();
        assert!(!servers.have(port) && servers.is_taken(port), "it is somebody else's");
        let socket = OwnedFd::from(socket);
        servers.add(&socket);
        assert!(servers.have(port) && !servers.is_taken(port));
        let other = TcpListener::bind(("127.0.0.2", port)).expect("bound");
        assert!(!servers.have(port) && servers.is_taken(port), "one of them is somebody else's");
        drop(other);
        assert!(servers.have(port));
        drop(socket);
        assert!(!servers.have(port) && !servers.is_taken(port));
    }
}
