//! Refused hosts, recorded until they are reported.

use std::collections::HashSet;
use std::fmt;

use crate::host::HostPort;
use crate::limits::MAX_REFUSALS;

/// A connection that the egress proxy refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EgressRefusal {
    /// The name or address, an IPv6 address in brackets.
    pub host: String,
    pub port: u16,
    pub reason: RefusalReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// No pattern allows this host and port.
    NotAllowed,
    /// The name is allowed, but resolves to a private, local or otherwise special address.
    NotPublic,
}

impl EgressRefusal {
    pub(crate) fn new(target: &HostPort, reason: RefusalReason) -> Self {
        EgressRefusal { host: target.host.to_string(), port: target.port, reason }
    }
}

impl fmt::Display for EgressRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EgressRefusal { host, port, reason } = self;
        match reason {
            RefusalReason::NotAllowed => write!(f, "{host}:{port} is not on the list of allowed hosts."),
            RefusalReason::NotPublic => write!(
                f,
                "{host}:{port} does not resolve to a public address. To allow it anyway, list it with its port."
            ),
        }
    }
}

/// Records each host and port once, up to [`MAX_REFUSALS`].
#[derive(Debug, Default)]
pub(crate) struct RefusalLog {
    known: HashSet<(String, u16)>,
    unreported: Vec<EgressRefusal>,
}

impl RefusalLog {
    pub fn record(&mut self, refusal: &EgressRefusal) {
        if self.known.len() < MAX_REFUSALS && self.known.insert((refusal.host.clone(), refusal.port)) {
            self.unreported.push(refusal.clone());
        }
    }

    pub fn drain(&mut self) -> Vec<EgressRefusal> {
        std::mem::take(&mut self.unreported)
    }
}

#[cfg(test)]
mod tests {
    use super::{EgressRefusal, RefusalLog, RefusalReason};
    use crate::limits::MAX_REFUSALS;

    #[test]
    fn each_host_and_port_is_reported_once_up_to_the_maximum() {
        let mut refusals = RefusalLog::default();
        let refusal =
            |port| EgressRefusal { host: "a.example".to_owned(), port, reason: RefusalReason::NotAllowed };
        refusals.record(&refusal(1));
        refusals.record(&refusal(1));
        assert_eq!(refusals.drain(), [refusal(1)]);
        refusals.record(&refusal(1));
        assert_eq!(refusals.drain(), []);
        for port in 1..=u16::MAX {
            refusals.record(&refusal(port));
        }
        assert_eq!(refusals.drain().len(), MAX_REFUSALS - 1);
    }
}
