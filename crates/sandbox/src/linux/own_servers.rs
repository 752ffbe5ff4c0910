//! The servers that programs of a room have started. They may be connected to, and nothing else on loopback.
//!
//! The room shares the machine's network, so that a port may be anybody's. Whose it is, the numbers of the sockets say that listen there.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::fstat;

use super::listening_sockets::listening;

/// Numbers of the room's sockets that listen.
#[derive(Debug, Default)]
pub(crate) struct OwnServers(Mutex<HashSet<u64>>);

impl OwnServers {
    /// A socket of the room listens now.
    pub(crate) fn add(&self, socket: &OwnedFd) {
        let listening = listening(None);
        let mut own = self.own();
        own.retain(|known| listening.iter().any(|socket| socket.number == *known));
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
        let here = listening(Some(port)).into_iter();
        let (ours, others): (Vec<_>, Vec<_>) = here.partition(|socket| own.contains(&socket.number));
        (ours.len(), others.len())
    }

    fn own(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;

    use super::OwnServers;

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
