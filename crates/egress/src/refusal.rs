//! Hosts that were refused, kept until someone asks.

use std::collections::HashSet;
use std::fmt;

use crate::host::Target;
use crate::limits::MAX_REFUSALS;

/// A host that somebody inside wanted to reach and may not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// The name or address, an IPv6 address in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why.
    pub reason: Reason,
}

/// Why a host was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No pattern allows this host and port.
    NotAllowed,
    /// The name is allowed, but leads to a private, local or otherwise special address.
    NotPublic,
}

impl Refusal {
    pub(crate) fn new(target: &Target, reason: Reason) -> Self {
        Refusal { host: target.host.to_string(), port: target.port, reason }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { host, port, reason } = self;
        match reason {
            Reason::NotAllowed => write!(f, "{host}:{port} is not on the list of allowed hosts."),
            Reason::NotPublic => write!(
                f,
                "{host}:{port} does not lead to a public address; only an entry that names the port allows that."
            ),
        }
    }
}

/// Each host and port once, up to a bound.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    seen: HashSet<(String, u16)>,
    unreported: Vec<Refusal>,
}

impl Refusals {
    pub fn note(&mut self, refusal: &Refusal) {
        if self.seen.len() < MAX_REFUSALS && self.seen.insert((refusal.host.clone(), refusal.port)) {
            self.unreported.push(refusal.clone());
        }
    }

    pub fn drain(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.unreported)
    }
}

#[cfg(test)]
mod tests {
    use super::{Reason, Refusal, Refusals};
    use crate::limits::MAX_REFUSALS;

    #[test]
    fn each_host_and_port_is_reported_once_and_only_so_many() {
        let mut refusals = Refusals::default();
        let refusal = |port| Refusal { host: "a.example".to_owned(), port, reason: Reason::NotAllowed };
        refusals.note(&refusal(1));
        refusals.note(&refusal(1));
        assert_eq!(refusals.drain(), [refusal(1)]);
        refusals.note(&refusal(1));
        assert_eq!(refusals.drain(), []);
        for port in 1..=u16::MAX {
            refusals.note(&refusal(port));
        }
        assert_eq!(refusals.drain().len(), MAX_REFUSALS - 1);
    }
}
