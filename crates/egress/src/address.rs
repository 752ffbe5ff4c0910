//! Which IP addresses a connection may use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that a connection may use. If several patterns match, the greater scope wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressScope {
    /// Public internet addresses only: an allowed name could resolve to anything.
    Public,
    /// Any address: the user explicitly listed an address or a port.
    Anywhere,
}

impl AddressScope {
    pub fn covers(self, address: IpAddr) -> bool {
        match self {
            AddressScope::Public => is_public(address),
            AddressScope::Anywhere => true,
        }
    }
}

fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match a {
        // This network, private, loopback.
        0 | 10 | 127 => true,
        // Shared by carriers (CGNAT).
        100 => b & 0b1100_0000 == 64,
        // Link-local.
        169 => b == 254,
        172 => b & 0b1111_0000 == 16,
        // Protocol assignments, documentation, old 6to4 relays, private.
        192 => matches!((b, c), (0, 0 | 2) | (88, 99) | (168, _)),
        // Benchmarks, documentation.
        198 => matches!((b, c), (18 | 19, _) | (51, 100)),
        203 => (b, c) == (0, 113),
        // Multicast, reserved, broadcast.
        _ => a >= 224,
    };
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64 carries an IPv4 address, which decides.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        // Protocol assignments and Teredo, documentation, 6to4, documentation.
        [0x2001, 0..0x200 | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..0x1000, ..] => false,
        // Global unicast; loopback, link-local, unique-local, multicast and the rest lie outside.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::AddressScope;

    #[test]
    fn the_public_scope_covers_only_public_addresses() {
        for public in [
            "1.1.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "169.253.1.1",
            "192.167.1.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.254",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "64:ff9b::101:101",
            "::ffff:1.1.1.1",
        ] {
            assert!(AddressScope::Public.covers(public.parse().unwrap()), "{public}");
        }
        for special in [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!AddressScope::Public.covers(special.parse().unwrap()), "{special}");
            assert!(AddressScope::Anywhere.covers(special.parse().unwrap()), "{special}");
        }
    }
}
