//! Hop-by-hop headers, which belong to one connection and are not forwarded.

use hyper::HeaderMap;
use hyper::header::{CONNECTION, EXPECT, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Includes `Expect`, because our server side has already answered it.
const HOP_BY_HOP: [HeaderName; 7] = [CONNECTION, EXPECT, KEEP_ALIVE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Removes [`HOP_BY_HOP`], the headers that `Connection` names, and every `Proxy-*` header.
pub(crate) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(','));
    let named = named.filter_map(|name| name.trim().parse::<HeaderName>().ok());
    let for_proxies = headers.keys().filter(|name| name.as_str().starts_with("proxy-")).cloned();
    let dropped: Vec<HeaderName> = named.chain(for_proxies).chain(HOP_BY_HOP).collect();
    for name in dropped {
        headers.remove(name);
    }
}

pub(crate) fn is_websocket_upgrade(headers: &HeaderMap) -> bool {
    let mut protocols = headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    protocols.any(|value| value.split(',').any(|name| name.trim().eq_ignore_ascii_case("websocket")))
}
