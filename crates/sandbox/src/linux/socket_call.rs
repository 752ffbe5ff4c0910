//! The system calls that give a socket an address: `connect`, `bind` and `listen`.
//!
//! Landlock knows port numbers but no addresses: a program could connect to the proxy's port on any machine, and others could connect to
//! its own servers. It does not know Unix sockets either, except where one may be created. So we make these calls ourselves, on a copy of
//! the caller's descriptor and with an address that the caller cannot change any more.

use std::ffi::CString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::Duration;

use autonoe_kernel_calls::PendingSystemCall;
use libc::c_long;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::socket_error;
use rustix::net::{
    Shutdown, SocketAddrUnix, bind, connect, connect_unspec, getpeername, getsockname, listen, shutdown,
};
use socket2::{Domain, SockRef};

use super::call_target::{CallTarget, LastLink};
use super::calling_thread::CallingThread;
use super::own_servers::OwnServers;
use super::writable_places::{WritablePlaces, descriptor_path};

pub(crate) const NUMBERS: &[c_long] = &[libc::SYS_connect, libc::SYS_bind, libc::SYS_listen];

/// The largest address of a socket, in bytes, as in the kernel.
const MAX_ADDRESS: u64 = 128;

/// The device of loopback: what comes in over another one does not reach a socket that is bound to it.
const LOOPBACK_DEVICE: &[u8] = b"lo";

/// How many connections may wait for a server to accept them, whatever it asks for, as far as the kernel allows. With a small number,
/// connections would have to wait for their servers, which nobody may do whose server could become another one meanwhile.
const BACKLOG: i32 = 4096;

/// How long a connection may take, which is less than the second after which the kernel tries again.
const FIRST_TRY: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// Between two attempts to connect to a socket file whose server accepts nothing.
const PAUSE: Duration = Duration::from_millis(10);

/// The sizes of `sockaddr_in`, `sockaddr_in6` without its scope, and `sockaddr_nl`, in bytes.
const SIZE_V4: usize = 16;
const SIZE_V6: usize = 24;
const SIZE_NETLINK: usize = 12;

/// An address as the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CallAddress {
    Internet(SocketAddr),
    /// The path of a Unix socket.
    Path(CString),
    /// The routing tables of the kernel, which programs ask for the machine's addresses.
    Netlink {
        port: u32,
        groups: u32,
    },
}

/// What is left to do after a call was judged.
pub(crate) enum SocketCall {
    CarriedOut,
    /// The kernel may make the call as it stands. If the caller changes it meanwhile, Landlock refuses what must not be.
    Permitted,
    /// The server has not answered yet.
    Connecting(Connecting),
}

/// A connection to a server of the room that has begun. It is given up when this is dropped before it is finished: the kernel would try
/// again, and by then another server could be there.
pub(crate) struct Connecting {
    socket: OwnedFd,
    server: RoomServer,
    is_finished: bool,
}

impl Drop for Connecting {
    fn drop(&mut self) {
        if !self.is_finished {
            // An error means that there is no connection.
            let _ = connect_unspec(&self.socket);
        }
    }
}

/// A server that programs of the room may connect to.
pub(crate) enum RoomServer {
    Port(SocketAddr),
    /// The socket file, in a place that the room may write.
    File(OwnedFd),
}

/// Makes the call, if its address is one that programs may use: to connect, the proxy's or that of a server of theirs; to listen, one of
/// loopback; and the path of a Unix socket in a place that they may write.
pub(crate) fn carry_out(
    call: &PendingSystemCall,
    caller: &CallingThread,
    proxy_port: u16,
    servers: &OwnServers,
    places: &WritablePlaces,
    is_pending: impl Fn() -> bool,
) -> rustix::io::Result<SocketCall> {
    let [descriptor, address, length, ..] = call.args;
    let address = match call.number {
        libc::SYS_listen => None,
        _ => Some(read_address(caller, address, length)?),
    };
    let socket = caller.duplicate(descriptor as u32 as i32)?;
    let server_file = match (call.number, &address) {
        (libc::SYS_connect, Some(CallAddress::Path(path))) => Some(open_socket_file(caller, path)?),
        _ => None,
    };
    if !is_pending() {
        return Err(Errno::SRCH);
    }
    if let Some(file) = server_file {
        let file = places.reopen(&file).ok_or(Errno::ACCESS)?;
        return begin(socket, RoomServer::File(file), servers);
    }
    match (call.number, address) {
        (libc::SYS_connect, Some(CallAddress::Internet(address))) if is_proxy(address, proxy_port) => {
            connect(&socket, &address)?;
        }
        (libc::SYS_connect, Some(CallAddress::Internet(address))) => {
            let server = on_loopback(address)?;
            return match servers.have(server.port()) {
                true => begin(socket, RoomServer::Port(server), servers),
                false => Err(Errno::CONNREFUSED),
            };
        }
        (libc::SYS_bind, Some(CallAddress::Internet(address))) => bind_on_loopback(&socket, address)?,
        (libc::SYS_bind, Some(CallAddress::Netlink { port, groups: 0 })) => {
            bind(&socket, &SocketAddrNetlink::new(port, 0))?;
        }
        // Landlock decides where sockets may be created, and lets no program bind one of the internet.
        (libc::SYS_bind, Some(CallAddress::Path(_))) if is_unix(&socket) => return Ok(SocketCall::Permitted),
        (libc::SYS_listen, None) if is_unix(&socket) => listen(&socket, BACKLOG)?,
        (libc::SYS_listen, None) => {
            // A socket without an address would get one of all machines.
            let own = local_address(&socket)?;
            match own.ip().is_unspecified() {
                true if is_on_loopback_device(&socket) => {}
                true => bind(&socket, &on_loopback(own)?)?,
                false => drop(on_loopback(own)?),
            }
            if servers.is_taken(local_address(&socket)?.port()) {
                return Err(Errno::ADDRINUSE);
            }
            listen(&socket, BACKLOG)?;
            servers.add(&socket);
        }
        _ => return Err(Errno::ACCESS),
    }
    Ok(SocketCall::CarriedOut)
}

/// Opens the file of a Unix socket, as the caller finds it.
fn open_socket_file(caller: &CallingThread, path: &CString) -> rustix::io::Result<OwnedFd> {
    let path = path.clone();
    caller.open(&CallTarget::Path { directory: libc::AT_FDCWD, path, last_link: LastLink::Followed })
}

fn is_unix(socket: &OwnedFd) -> bool {
    SockRef::from(socket).domain().is_ok_and(|domain| domain == Domain::UNIX)
}

/// Connects without waiting. A connection that somebody else has accepted ends before it is used.
fn begin(socket: OwnedFd, server: RoomServer, servers: &OwnServers) -> rustix::io::Result<SocketCall> {
    let waits = !fcntl_getfl(&socket)?.contains(OFlags::NONBLOCK);
    let connected = server.connect(&socket);
    let is_late = match server {
        RoomServer::Port(_) => connected == Err(Errno::INPROGRESS),
        RoomServer::File(_) => connected == Err(Errno::AGAIN) && waits,
    };
    if is_late {
        return Ok(SocketCall::Connecting(Connecting { socket, server, is_finished: false }));
    }
    connected?;
    server.confirm(&socket, servers)?;
    Ok(SocketCall::CarriedOut)
}

impl Connecting {
    /// Waits for the server, for a socket file until `is_pending` is false.
    pub(crate) fn finish(
        mut self,
        servers: &OwnServers,
        is_pending: impl Fn() -> bool,
    ) -> rustix::io::Result<()> {
        match &self.server {
            RoomServer::Port(_) => {
                poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], Some(&FIRST_TRY))?;
                socket_error(&self.socket)??;
                getpeername(&self.socket).map_err(|_| Errno::TIMEDOUT)?;
            }
            RoomServer::File(_) => {
                while let Err(error) = self.server.connect(&self.socket) {
                    if error != Errno::AGAIN || !is_pending() {
                        return Err(error);
                    }
                    sleep(PAUSE);
                }
            }
        }
        self.server.confirm(&self.socket, servers)?;
        self.is_finished = true;
        Ok(())
    }
}

impl RoomServer {
    /// Connects without waiting, whatever the program has asked for: it could wait longer than the program is there.
    fn connect(&self, socket: &OwnedFd) -> rustix::io::Result<()> {
        let flags = fcntl_getfl(socket)?;
        fcntl_setfl(socket, flags | OFlags::NONBLOCK)?;
        let connected = match self {
            Self::Port(address) => connect(socket, address),
            Self::File(file) => {
                SocketAddrUnix::new(descriptor_path(file)).and_then(|path| connect(socket, &path))
            }
        };
        fcntl_setfl(socket, flags)?;
        connected
    }

    /// Ends the connection if somebody else has taken the place of the server at its port.
    fn confirm(&self, socket: &OwnedFd, servers: &OwnServers) -> rustix::io::Result<()> {
        match self {
            Self::Port(address) if !servers.have(address.port()) => {
                shutdown(socket, Shutdown::Both)?;
                Err(Errno::CONNREFUSED)
            }
            Self::Port(_) | Self::File(_) => Ok(()),
        }
    }
}

fn local_address(socket: &OwnedFd) -> rustix::io::Result<SocketAddr> {
    SocketAddr::try_from(getsockname(socket)?).map_err(|_| Errno::ACCESS)
}

/// Of the address that stands for all of both families, programs expect that both kinds of loopback lead to it.
fn bind_on_loopback(socket: &OwnedFd, address: SocketAddr) -> rustix::io::Result<()> {
    let is_of_both = address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    if is_of_both && SockRef::from(socket).bind_device(Some(LOOPBACK_DEVICE)).is_ok() {
        return bind(socket, &address);
    }
    bind(socket, &on_loopback(address)?)
}

fn is_on_loopback_device(socket: &OwnedFd) -> bool {
    let device = SockRef::from(socket).device();
    device.is_ok_and(|device| device.is_some_and(|name| name == LOOPBACK_DEVICE))
}

fn is_proxy(address: SocketAddr, proxy_port: u16) -> bool {
    address.ip().to_canonical() == IpAddr::V4(Ipv4Addr::LOCALHOST) && address.port() == proxy_port
}

/// The address itself if only this machine reaches it; loopback if it stands for all addresses.
fn on_loopback(mut address: SocketAddr) -> rustix::io::Result<SocketAddr> {
    match address.ip() {
        ip if ip.to_canonical().is_loopback() => {}
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => return Err(Errno::ACCESS),
    }
    Ok(address)
}

fn read_address(caller: &CallingThread, address: u64, length: u64) -> rustix::io::Result<CallAddress> {
    // The kernel uses the lower half of the register.
    let length = u64::from(length as u32);
    if length > MAX_ADDRESS {
        return Err(Errno::INVAL);
    }
    parse(&caller.bytes(address, length as usize)?)
}

fn parse(bytes: &[u8]) -> rustix::io::Result<CallAddress> {
    let (family, _) = bytes.split_first_chunk().ok_or(Errno::INVAL)?;
    let field = |at: usize| -> [u8; 4] { std::array::from_fn(|index| bytes[at + index]) };
    let port = || u16::from_be_bytes([bytes[2], bytes[3]]);
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET if bytes.len() >= SIZE_V4 => {
            Ok(CallAddress::Internet((Ipv4Addr::from(field(4)), port()).into()))
        }
        libc::AF_INET6 if bytes.len() >= SIZE_V6 => {
            let ip: [u8; 16] = std::array::from_fn(|index| bytes[8 + index]);
            Ok(CallAddress::Internet((Ipv6Addr::from(ip), port()).into()))
        }
        libc::AF_NETLINK if bytes.len() >= SIZE_NETLINK => Ok(CallAddress::Netlink {
            port: u32::from_ne_bytes(field(4)),
            groups: u32::from_ne_bytes(field(8)),
        }),
        libc::AF_UNIX => match CString::new(path_of(bytes)) {
            Ok(path) if !path.is_empty() => Ok(CallAddress::Path(path)),
            // An abstract name may belong to any program.
            _ => Err(Errno::ACCESS),
        },
        libc::AF_INET | libc::AF_INET6 | libc::AF_NETLINK => Err(Errno::INVAL),
        // No socket of another family can be opened.
        _ => Err(Errno::ACCESS),
    }
}

/// The path in the address of a Unix socket, which a zero ends or the address's own end.
fn path_of(address: &[u8]) -> &[u8] {
    let path = &address[size_of::<libc::sa_family_t>()..];
    path.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use rustix::io::Errno;

    use super::{CallAddress, is_proxy, on_loopback, parse};

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn only_the_proxy_may_be_connected_to() {
        for text in ["127.0.0.1:7", "[::ffff:127.0.0.1]:7"] {
            assert!(is_proxy(address(text), 7), "{text}");
        }
        for text in [
            "127.0.0.1:8",
            "127.0.0.2:7",
            "0.0.0.0:7",
            "[::1]:7",
            "[::]:7",
            "10.0.0.1:7",
            "[::ffff:10.0.0.1]:7",
        ] {
            assert!(!is_proxy(address(text), 7), "{text}");
        }
    }

    #[test]
    fn servers_stay_on_loopback() {
        let cases = [
            ("0.0.0.0:80", Some("127.0.0.1:80")),
            ("[::]:0", Some("[::1]:0")),
            ("127.0.0.1:80", Some("127.0.0.1:80")),
            ("127.3.2.1:80", Some("127.3.2.1:80")),
            ("[::1]:80", Some("[::1]:80")),
            ("[::ffff:127.0.0.1]:80", Some("[::ffff:127.0.0.1]:80")),
            ("10.0.0.1:80", None),
            ("[::ffff:0.0.0.0]:80", None),
            ("[fe80::1]:80", None),
        ];
        for (given, expected) in cases {
            assert_eq!(on_loopback(address(given)).ok(), expected.map(address), "{given}");
        }
    }

    #[test]
    fn short_and_foreign_addresses_are_refused() {
        let inet = [&2_u16.to_ne_bytes()[..], &80_u16.to_be_bytes(), &[127, 0, 0, 1], &[0; 8]].concat();
        assert_eq!(parse(&inet), Ok(CallAddress::Internet(address("127.0.0.1:80"))));
        let netlink =
            [&16_u16.to_ne_bytes()[..], &[0; 2], &7_u32.to_ne_bytes(), &1_u32.to_ne_bytes()].concat();
        assert_eq!(parse(&netlink), Ok(CallAddress::Netlink { port: 7, groups: 1 }));
        for bytes in [&inet[..15], &netlink[..11], &[], &[2], &[10, 0, 0, 0]] {
            assert_eq!(parse(bytes), Err(Errno::INVAL), "{bytes:?}");
        }
        let unix = |path: &[u8]| [&1_u16.to_ne_bytes()[..], path].concat();
        for path in [&b"/tmp/s"[..], b"/tmp/s\0", b"/tmp/s\0rest"] {
            assert_eq!(parse(&unix(path)), Ok(CallAddress::Path(c"/tmp/s".to_owned())), "{path:?}");
        }
        for path in [&b""[..], b"\0", b"\0abstract"] {
            assert_eq!(parse(&unix(path)), Err(Errno::ACCESS), "{path:?}");
        }
        for family in [0_u16, 17, 40] {
            let bytes = [&family.to_ne_bytes()[..], &[0; 20]].concat();
            assert_eq!(parse(&bytes), Err(Errno::ACCESS), "{family}");
        }
    }
}
