//! Whether we are in a container, and how it must be started for bubblewrap to work in it.

use std::path::Path;

use crate::environment::Environment;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerKind {
    Docker,
    Podman,
    Kubernetes,
}

impl ContainerKind {
    /// `None` outside of containers, as far as can be seen.
    pub fn find(environment: &Environment) -> Option<Self> {
        Self::of(|name| environment.variable(name), |path| Path::new(path).exists())
    }

    fn of(variable: impl Fn(&str) -> Option<String>, exists: impl Fn(&str) -> bool) -> Option<Self> {
        if variable("KUBERNETES_SERVICE_HOST").is_some() {
            return Some(Self::Kubernetes);
        }
        match variable("container").as_deref() {
            Some("podman") => return Some(Self::Podman),
            Some("docker") => return Some(Self::Docker),
            _ => {}
        }
        if exists("/run/.containerenv") {
            return Some(Self::Podman);
        }
        exists("/.dockerenv").then_some(Self::Docker)
    }

    /// Bubblewrap makes namespaces and mounts, among them a /proc of its own. The defaults of containers forbid the system calls and hide parts
    /// of /proc, without which the kernel allows no other one.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Docker => {
                "start it with `docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
                 --security-opt systempaths=unconfined`"
            }
            Self::Podman => {
                "start it with `podman run --security-opt seccomp=unconfined --security-opt unmask=ALL`"
            }
            Self::Kubernetes => {
                "give it a securityContext with `seccompProfile: {type: Unconfined}`, \
                 `appArmorProfile: {type: Unconfined}` and `procMount: Unmasked`"
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Docker => "Docker",
            Self::Podman => "Podman",
            Self::Kubernetes => "Kubernetes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ContainerKind;

    #[test]
    fn containers_are_recognized() {
        let find = |name: &str, value: &str, file: &str| {
            ContainerKind::of(|wanted| (wanted == name).then(|| value.to_owned()), |path| path == file)
        };
        assert_eq!(find("", "", ""), None);
        assert_eq!(find("", "", "/.dockerenv"), Some(ContainerKind::Docker));
        assert_eq!(find("", "", "/run/.containerenv"), Some(ContainerKind::Podman));
        assert_eq!(find("container", "podman", "/.dockerenv"), Some(ContainerKind::Podman));
        assert_eq!(find("KUBERNETES_SERVICE_HOST", "10.0.0.1", ""), Some(ContainerKind::Kubernetes));
        assert_eq!(find("container", "lxc", ""), None);
    }
}
