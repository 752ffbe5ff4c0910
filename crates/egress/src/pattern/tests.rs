use super::HostPattern;
use crate::address::AddressScope;
use crate::host::HostPort;

const PUBLIC: Option<AddressScope> = Some(AddressScope::Public);
const ANYWHERE: Option<AddressScope> = Some(AddressScope::Anywhere);

#[test]
fn patterns_match_exactly_their_hosts_and_ports() {
    for (pattern, target, expected) in [
        ("a.example", "a.example:443", PUBLIC),
        ("a.example", "a.example:80", PUBLIC),
        ("A.Example.", "a.EXAMPLE.:443", PUBLIC),
        ("a.example", "a.example:8443", None),
        ("a.example", "a.example:22", None),
        ("a.example", "b.a.example:443", None),
        ("a.example", "a.example.evil.example:443", None),
        ("a.example", "evil-a.example:443", None),
        ("a.example", "aaexample.org:443", None),
        ("*.a.example", "b.a.example:443", PUBLIC),
        ("*.a.example", "c.b.a.example:80", PUBLIC),
        ("*.a.example", "a.example:443", None),
        ("*.a.example", "evila.example:443", None),
        ("*.a.example", "b.a.example.evil.example:443", None),
        ("*.a.example", "b.a.example:8080", None),
        ("*.a.example:8080", "b.a.example:8080", ANYWHERE),
        ("*.a.example:8080", "b.a.example:443", None),
        ("a.example:8443", "a.example:8443", ANYWHERE),
        ("a.example:8443", "a.example:443", None),
        ("a.example:443", "a.example:443", ANYWHERE),
        ("127.0.0.1:8080", "127.0.0.1:8080", ANYWHERE),
        ("127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", ANYWHERE),
        ("127.0.0.1:8080", "localhost:8080", None),
        ("127.0.0.1:8080", "127.0.0.2:8080", None),
        ("localhost:8080", "127.0.0.1:8080", None),
        ("localhost:8080", "[::1]:8080", None),
        ("[::1]:8080", "[0:0::1]:8080", ANYWHERE),
        ("192.0.2.7", "192.0.2.7:443", ANYWHERE),
        ("192.0.2.7", "192.0.2.7:22", None),
        ("*.example:1", "1.2.3.4:1", None),
    ] {
        let allowed = pattern.parse::<HostPattern>().unwrap();
        assert_eq!(allowed.scope(&HostPort::parse(target).unwrap()), expected, "{pattern} {target}");
        assert_eq!(allowed.matches(target), expected.is_some(), "{pattern} {target}");
    }
    assert!(!"a.example".parse::<HostPattern>().unwrap().matches("a.example"), "a target needs a port");
}

#[test]
fn errors_for_invalid_patterns_name_the_problem() {
    for (pattern, problem) in [
        ("https://a.example", "without `http://`"),
        ("a.example/path", "without a path"),
        ("::1", "in brackets"),
        ("a.example:1:2", "at most one port"),
        ("a.example:", "from 1 to 65535"),
        ("a.example:0", "from 1 to 65535"),
        ("a.example:http", "from 1 to 65535"),
        ("*", "only at the start"),
        ("a.*.example", "only at the start"),
        ("*a.example", "only at the start"),
        ("*.*.example", "only letters"),
        ("*.127.0.0.1", "not by an address"),
        ("*.", "empty"),
        ("", "empty"),
        ("a..example", "empty or too long"),
        ("a example", "only letters"),
        ("user@a.example", "only letters"),
        ("bücher.example", "xn--"),
        ("127.1", "four decimal numbers"),
        ("0x7f000001", "four decimal numbers"),
        ("[::1", "not closed"),
        ("[a.example]", "not an IPv6 address"),
    ] {
        let error = pattern.parse::<HostPattern>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{pattern}` does not name a host: ")), "{error}");
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn any_public_host_is_one_on_a_web_port_at_a_public_address() {
    let any = HostPattern::any_public();
    for authority in ["example.org:443", "example.org:80", "192.0.2.7:443", "127.0.0.1:80", "localhost:80"] {
        let target = HostPort::parse(authority).expect(authority);
        assert_eq!(any.scope(&target), PUBLIC, "{authority}");
    }
    assert!(!any.matches("example.org:8443") && !any.matches("example.org:22"));
    assert!("*".parse::<HostPattern>().is_err(), "it cannot be written");
}
