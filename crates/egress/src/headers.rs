//! Headers that belong to one connection and are not passed on.

use hyper::HeaderMap;
use hyper::header::{CONNECTION, EXPECT, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// `Expect` is among them because the server side has already answered it.
const OF_ONE_CONNECTION: [HeaderName; 7] =
    [CONNECTION, EXPECT, KEEP_ALIVE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Removes them, those that `Connection` names, and everything meant for a proxy.
pub(crate) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(','));
    let named = named.filter_map(|name| name.trim().parse::<HeaderName>().ok());
    let for_proxies = headers.keys().filter(|name| name.as_str().starts_with("proxy-")).cloned();
    let gone: Vec<HeaderName> = named.chain(for_proxies).chain(OF_ONE_CONNECTION).collect();
    for name in gone {
        headers.remove(name);
    }
}

/// Whether a client wants to speak WebSocket.
pub(crate) fn asks_for_websocket(headers: &HeaderMap) -> bool {
    let mut wanted = headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    wanted.any(|value| value.split(',').any(|name| name.trim().eq_ignore_ascii_case("websocket")))
}
