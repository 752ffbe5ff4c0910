//! The sandbox, tried out for real: what its layer enforces, and how to get the layer that enforces everything.

use std::fs;

use autonoe_core::fault::Fault;
use autonoe_sandbox::{Sandbox, SandboxLayer};

use super::DoctorFinding;
use super::container::ContainerKind;
use super::packages::SystemPackages;
use crate::environment::Environment;
use crate::programs::find_program;
use crate::resources;
use crate::room_config;

/// Settings of the kernel that keep users from making namespaces, the value that does, and how to change it.
const NAMESPACE_SETTINGS: [(&str, &str, &str); 3] = [
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
];

pub async fn find(environment: &Environment) -> (Vec<DoctorFinding>, Option<Sandbox>) {
    let bad = |what: &str, fault: &Fault| (vec![DoctorFinding::fault(what, fault)], None);
    let user = match environment.user_config() {
        Ok(user) => user,
        Err(fault) => return bad("config.toml", &fault),
    };
    if let Some(what) = room_config::disabled_by(false, environment, &user) {
        let words = format!("sandbox: disabled by {what}; agents' commands are not confined");
        return (vec![DoctorFinding::Note(words)], environment.own_executable().ok().map(Sandbox::none));
    }
    let found = match environment.own_executable() {
        Ok(own_executable) => {
            room_config::find_sandbox(&own_executable, &environment.path, &std::env::temp_dir()).await
        }
        Err(fault) => Err(fault),
    };
    match found {
        Ok(sandbox) => {
            let good = enforced(sandbox.layer()).into_iter().map(DoctorFinding::Good);
            let gaps = sandbox.layer().gaps().into_iter();
            let gaps = gaps.map(|gap| DoctorFinding::Note(format!("sandbox, partial: {gap}")));
            let better = (sandbox.layer() == SandboxLayer::Landlock).then(|| {
                let why: Vec<&str> = sandbox.unavailable().iter().map(String::as_str).collect();
                DoctorFinding::Note(format!(
                    "sandbox, partial because of {}. To get all of it, {}",
                    why.join("; "),
                    match is_too_old(&why) {
                        true => TOO_OLD.to_owned(),
                        false => how_to_get_bubblewrap(environment),
                    }
                ))
            });
            (good.chain(gaps).chain(better).collect(), Some(sandbox))
        }
        Err(fault) if fault.code == resources::TOO_LOW => bad("limits", &fault),
        Err(fault) => {
            let advice = format!("sandbox: to get one, {}", how_to_get_bubblewrap(environment));
            (vec![DoctorFinding::fault("sandbox", &fault), DoctorFinding::Note(advice)], None)
        }
    }
}

/// Ubuntu 22.04 has such a bubblewrap.
const TOO_OLD: &str = "install bubblewrap 0.7 or newer; this one is too old";

/// Whether bubblewrap refused an option that newer ones have.
fn is_too_old(why: &[&str]) -> bool {
    why.iter().any(|reason| reason.contains("bwrap: Unknown option"))
}

/// For this system: the package, if it is missing, and what keeps it from working.
fn how_to_get_bubblewrap(environment: &Environment) -> String {
    let is_missing = find_program("bwrap", environment).is_none();
    let install = is_missing.then(|| match SystemPackages::of_this_system() {
        Some(packages) => format!("install bubblewrap with `{}`", packages.install("bubblewrap")),
        None => "install the package bubblewrap".to_owned(),
    });
    let allow = match ContainerKind::find(environment) {
        Some(container) if is_missing => {
            vec![format!(
                "if it does not work in this {} container, {}",
                container.name(),
                container.advice()
            )]
        }
        Some(container) => vec![format!("in this {} container, {}", container.name(), container.advice())],
        None => forbidden_namespaces(),
    };
    let steps: Vec<String> = install.into_iter().chain(allow).collect();
    match steps.is_empty() {
        true => "allow user namespaces, which bubblewrap needs".to_owned(),
        false => steps.join("; "),
    }
}

fn forbidden_namespaces() -> Vec<String> {
    let is_set = |path: &str, value: &str| {
        fs::read_to_string(format!("/proc/sys/{path}")).is_ok_and(|text| text.trim() == value)
    };
    let settings = NAMESPACE_SETTINGS.into_iter().filter(|(path, value, _)| is_set(path, value));
    settings.map(|(_, _, change)| format!("allow user namespaces with `sudo {change}`")).collect()
}

fn enforced(layer: SandboxLayer) -> Vec<String> {
    let rows: &[(&str, &str)] = match layer {
        SandboxLayer::Bubblewrap => &[
            ("files", "bubblewrap: private view of the file system, read-only except for the project"),
            (
                "network",
                "bubblewrap: private network with loopback only; outbound through our egress proxy, by host",
            ),
            ("processes", "bubblewrap: private process ids; all processes end with the session"),
            ("system calls", "seccomp, no new privileges, no capabilities"),
            ("limits", "kernel limits, plus monitoring of processes and disk"),
        ],
        SandboxLayer::Landlock => &[
            ("files", "Landlock: only the project is writable; our process judges changes of attributes"),
            (
                "network",
                "Landlock and seccomp: our process connects sockets, to our egress proxy and to servers of the room; servers listen on loopback only",
            ),
            (
                "processes",
                "Landlock where the kernel supports it, and a supervisor: all processes end with the session",
            ),
            ("system calls", "seccomp, no new privileges, no capabilities"),
            ("limits", "kernel limits, plus monitoring of processes and disk"),
        ],
        SandboxLayer::Seatbelt => &[("files and network", "sandbox-exec")],
        SandboxLayer::None => &[],
    };
    rows.iter().map(|(what, by)| format!("sandbox, {what}: {by}")).collect()
}
