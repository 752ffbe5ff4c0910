//! The sockets of this machine that listen for connections of TCP, as the kernel lists them.
//!
//! The kernel is asked by netlink, which takes microseconds. Reading `/proc/net/tcp` takes milliseconds, since all connections are walked
//! through for it; it is for machines whose kernel does not answer.

use std::fs;

use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// The state of a socket that listens, as the kernel numbers it.
const LISTENING: u8 = 10;

/// The sizes of `nlmsghdr`, `inet_diag_req_v2` and `inet_diag_msg`, in bytes.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const ANSWER: usize = 72;

/// Where an answer has the port and the number of the socket, after the header.
const PORT_AT: usize = 4;
const NUMBER_AT: usize = 68;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_AND_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// More than the kernel sends at once.
const MAX_DATAGRAM: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListeningSocket {
    pub(crate) port: u16,
    /// Of its file, which is its own as long as it is open.
    pub(crate) number: u64,
}

/// The sockets that listen on this port, or on any. What cannot be read is missing.
pub(crate) fn listening(port: Option<u16>) -> Vec<ListeningSocket> {
    let mut found = ask_kernel(port).unwrap_or_else(|_| read_lists());
    found.retain(|socket| port.is_none_or(|port| socket.port == port));
    found
}

fn ask_kernel(port: Option<u16>) -> rustix::io::Result<Vec<ListeningSocket>> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    let kernel = socket_with(family, kind, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    let mut found = Vec::new();
    let mut buffer = vec![0; MAX_DATAGRAM];
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let request = request(family, port.unwrap_or_default());
        sendto(&kernel, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        loop {
            let (length, _) = recv(&kernel, &mut buffer[..], RecvFlags::empty())?;
            if parse_datagram(&buffer[..length], &mut found)? == Dump::Ended {
                break;
            }
        }
    }
    Ok(found)
}

/// Asks for all sockets of a family that listen; port 0 stands for any.
fn request(family: AddressFamily, port: u16) -> Vec<u8> {
    let mut request = Vec::with_capacity(HEADER + REQUEST);
    request.extend(((HEADER + REQUEST) as u32).to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(NLM_F_REQUEST_AND_DUMP.to_ne_bytes());
    // Number and sender, which the answers repeat.
    request.extend([0; 8]);
    request.extend([family.as_raw() as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    request.extend((1_u32 << LISTENING).to_ne_bytes());
    request.extend(port.to_be_bytes());
    request.resize(HEADER + REQUEST, 0);
    request
}

#[derive(PartialEq, Eq)]
enum Dump {
    GoesOn,
    Ended,
}

fn parse_datagram(mut datagram: &[u8], found: &mut Vec<ListeningSocket>) -> rustix::io::Result<Dump> {
    while let Some(header) = datagram.first_chunk::<HEADER>() {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let (message, rest) = datagram.split_at_checked(length).ok_or(Errno::BADMSG)?;
        let payload = message.get(HEADER..).ok_or(Errno::BADMSG)?;
        match u16::from_ne_bytes([header[4], header[5]]) {
            NLMSG_DONE => return Ok(Dump::Ended),
            NLMSG_ERROR => return Err(Errno::OPNOTSUPP),
            SOCK_DIAG_BY_FAMILY => found.push(parse_answer(payload).ok_or(Errno::BADMSG)?),
            _ => {}
        }
        // Messages begin at multiples of four bytes.
        datagram = rest.get(length.next_multiple_of(4) - length..).unwrap_or_default();
    }
    Ok(Dump::GoesOn)
}

fn parse_answer(payload: &[u8]) -> Option<ListeningSocket> {
    let answer = payload.first_chunk::<ANSWER>()?;
    let port = u16::from_be_bytes(*answer[PORT_AT..].first_chunk()?);
    Some(ListeningSocket { port, number: u32::from_ne_bytes(*answer[NUMBER_AT..].first_chunk()?).into() })
}

fn read_lists() -> Vec<ListeningSocket> {
    let lists = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(fs::read_to_string);
    lists.iter().flatten().flat_map(|list| list.lines().filter_map(parse_line)).collect()
}

/// A line such as `0: 0100007F:1FBB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1 …`.
fn parse_line(line: &str) -> Option<ListeningSocket> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, port) = fields.get(1)?.rsplit_once(':')?;
    let state = u8::from_str_radix(fields.get(3)?, 16).ok()?;
    let socket =
        ListeningSocket { port: u16::from_str_radix(port, 16).ok()?, number: fields.get(9)?.parse().ok()? };
    (state == LISTENING).then_some(socket)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rustix::fs::fstat;

    use super::{ListeningSocket, ask_kernel, listening, parse_line, read_lists};

    #[test]
    fn both_lists_have_a_socket_while_it_listens() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(socket) = TcpListener::bind(address) else { continue };
            let port = socket.local_addr().expect("an address").port();
            let own = ListeningSocket { port, number: fstat(&socket).expect("a file").st_ino };
            assert_eq!(listening(Some(port)), [own], "{address}");
            for list in
                [ask_kernel(None).expect("answered"), ask_kernel(Some(port)).expect("answered"), read_lists()]
            {
                assert_eq!(list.iter().filter(|socket| **socket == own).count(), 1, "{address}: {list:?}");
            }
            drop(socket);
            assert!(!ask_kernel(None).expect("answered").contains(&own), "{address}");
        }
    }

    #[test]
    fn sockets_that_listen_are_read_from_the_kernels_list() {
        let line = "   1: 0100007F:1FBB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 4711 1 0 100";
        let socket = Some(ListeningSocket { port: 8123, number: 4711 });
        assert_eq!(parse_line(line), socket);
        assert_eq!(parse_line(&line.replace("0100007F", "00000000000000000000000001000000")), socket);
        assert_eq!(parse_line(&line.replace(" 0A ", " 01 ")), None, "a connection");
        let title = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt";
        assert_eq!(parse_line(title), None);
    }
}
