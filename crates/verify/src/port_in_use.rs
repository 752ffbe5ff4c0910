//! Says why a server could not start while a check ran: without a network of their own, checks meet the servers that the agent has left
//! running.

use autonoe_sandbox::SandboxLayer;

/// In lower case, from the libraries of most languages.
const COMPLAINTS: [&str; 3] = ["address already in use", "eaddrinuse", "address in use"];

/// A sentence for the agent; `None` if the output has no such error, or if checks have their own network.
pub(crate) fn port_in_use(output: &str, layer: SandboxLayer) -> Option<String> {
    let output = output.to_lowercase();
    let is_shared = layer != SandboxLayer::Bubblewrap;
    (is_shared && COMPLAINTS.iter().any(|words| output.contains(words))).then(|| {
        "Checks use the same ports as your own commands here: stop the servers that you have started, and set the status again.".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use autonoe_sandbox::SandboxLayer;

    use super::port_in_use;

    #[test]
    fn only_a_port_that_others_can_have_is_explained() {
        for (output, layer, is_explained) in [
            ("OSError: [Errno 98] Address already in use", SandboxLayer::Landlock, true),
            ("Error: listen EADDRINUSE: address already in use :::3000", SandboxLayer::None, true),
            ("listen tcp :8080: bind: address already in use", SandboxLayer::Landlock, true),
            ("OSError: [Errno 98] Address already in use", SandboxLayer::Bubblewrap, false),
            ("AssertionError: 3 != 4", SandboxLayer::Landlock, false),
        ] {
            assert_eq!(port_in_use(output, layer).is_some(), is_explained, "{layer:?}: {output}");
        }
    }
}
