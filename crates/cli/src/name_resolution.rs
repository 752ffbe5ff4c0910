//! Whether host names can be resolved at all: a static binary depends on one file for that.

use std::path::Path;

/// Where musl looks for name servers; glibc asks other services too.
const FILE: &str = "/etc/resolv.conf";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CLibrary {
    Musl,
    Other,
}

/// What is wrong on this machine; `None` if nothing is.
pub fn problem() -> Option<&'static str> {
    let c_library = if cfg!(target_env = "musl") { CLibrary::Musl } else { CLibrary::Other };
    problem_of(c_library, Path::new(FILE).exists())
}

/// Without the file, musl asks a name server on this machine, which hardly ever runs.
fn problem_of(c_library: CLibrary, has_name_servers: bool) -> Option<&'static str> {
    (c_library == CLibrary::Musl && !has_name_servers).then_some(
        "there is no /etc/resolv.conf, so that no host name can be resolved; write `nameserver ADDRESS` into it",
    )
}

#[cfg(test)]
mod tests {
    use super::{CLibrary, problem_of};

    #[test]
    fn only_musl_depends_on_the_file() {
        assert!(problem_of(CLibrary::Musl, false).unwrap().starts_with("there is no /etc/resolv.conf,"));
        assert_eq!(problem_of(CLibrary::Musl, true), None);
        assert_eq!(problem_of(CLibrary::Other, false), None);
    }
}
