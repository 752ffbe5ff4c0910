use super::{Host, HostPort};

#[test]
fn every_host_has_one_canonical_form() {
    for (written, expected) in [
        ("registry.example.org", "registry.example.org"),
        ("REGISTRY.Example.ORG.", "registry.example.org"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("_srv.a-b.example", "_srv.a-b.example"),
        ("localhost", "localhost"),
        ("1password.example", "1password.example"),
        ("1.2.3.4.example", "1.2.3.4.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("[::ffff:127.0.0.1]", "127.0.0.1"),
        ("[::FFFF:7f00:1]", "127.0.0.1"),
    ] {
        let host = Host::parse(written).unwrap();
        assert_eq!(host.to_string(), expected, "{written}");
        assert_eq!(Host::parse(expected).unwrap(), host, "{written}");
    }
}

#[test]
fn ambiguous_hosts_are_rejected() {
    let long_label = "a".repeat(64);
    let long_name = "a.".repeat(130) + "example";
    for written in [
        "",
        ".",
        "..",
        "a..b",
        ".a",
        "a.b..",
        "a b",
        "a\tb",
        " a",
        "a\0",
        "a\r",
        "a\n",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "a@b",
        "a:b",
        "a%2eb",
        "a%00",
        "*",
        "*.a",
        "a,b",
        "a;b",
        "a!b",
        "bücher.example",
        "ａ.example",
        "a\u{3002}example",
        // Legacy notations of addresses.
        "0x7f.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "2130706433",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "1.2.3.4.5",
        "256.0.0.1",
        "a.0x7f",
        "a.1",
        "0",
        "0x",
        "127.0.0.0x1",
        "127.0.0.1..",
        // Brackets.
        "::1",
        "[::1",
        "::1]",
        "[]",
        "[127.0.0.1]",
        "[fe80::1%eth0]",
        "[fe80::1%25eth0]",
        "[::1]]",
        "[[::1]]",
        "[a.b]",
        "[::1].",
        "[v1.x]",
        &long_label,
        &long_name,
    ] {
        assert!(Host::parse(written).is_err(), "{written:?}");
    }
}

#[test]
fn targets_need_a_port() {
    for (written, expected) in [
        ("a.example:443", "a.example:443"),
        ("A.EXAMPLE.:443", "a.example:443"),
        ("a.example:0443", "a.example:443"),
        ("[::1]:65535", "[::1]:65535"),
        ("[::ffff:1.2.3.4]:80", "1.2.3.4:80"),
    ] {
        assert_eq!(HostPort::parse(written).unwrap().to_string(), expected);
    }
    for written in [
        "a.example",
        "a.example:",
        "a.example:0",
        "a.example:65536",
        "a.example:+80",
        "a.example:-1",
        "a.example: 80",
        "a.example:80 ",
        "a.example:80:80",
        "a.example:443:evil",
        "a.example:x",
        "a@b.example:443",
        ":443",
        "[::1]",
        "[::1]443",
        "[::1]x:443",
        "::1:443",
        "a.example:４４３",
        "a]b:443",
        "a.example:443/",
        "a.example:443?x",
        "",
    ] {
        assert!(HostPort::parse(written).is_err(), "{written:?}");
    }
    assert_eq!(HostPort::parse_http("a.example").unwrap().host_header(), "a.example");
    assert_eq!(HostPort::parse_http("a.example:8080").unwrap().host_header(), "a.example:8080");
    assert!(HostPort::parse_http("a.example:").is_err());
}
