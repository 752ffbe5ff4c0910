//! Paths of a Unix system: programs, libraries, settings, devices, and secrets among them.

/// System directories, readable in every room.
pub(crate) const SYSTEM: [&str; 18] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    // Not all of `/nix` and `/gnu`: the sockets of the daemons that build packages are there.
    "/nix/store",
    "/nix/var/nix/profiles",
    "/gnu/store",
    "/snap",
    "/run/current-system",
    "/var/lib/gems",
    "/var/lib/ca-certificates",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];

/// Secrets in the system directories: hidden, in case we have permission to read them.
pub(crate) const SECRET: [&str; 14] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
];

/// Kernel file systems, for layers that cannot mount new ones for the room.
pub(crate) const PSEUDO: [&str; 1] = ["/proc"];

/// Files in them that change the kernel's state.
pub(crate) const KERNEL: [&str; 5] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/acpi"];

/// Devices that programs write to.
pub(crate) const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/fd",
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::SYSTEM;

    /// Sockets through which a daemon outside would act for the programs in a room. A read-only mount does not prevent that.
    const DAEMON_SOCKETS: [&str; 14] = [
        "/nix/var/nix/daemon-socket/socket",
        "/nix/var/determinate/determinate-nixd.socket",
        "/var/guix/daemon-socket/socket",
        "/run/docker.sock",
        "/var/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/run/podman/podman.sock",
        "/run/snapd.socket",
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/systemd/notify",
        "/run/nscd/socket",
        "/run/postgresql/.s.PGSQL.5432",
        "/tmp/.X11-unix/X0",
    ];

    #[test]
    fn no_socket_of_a_daemon_is_in_a_system_directory() {
        for socket in DAEMON_SOCKETS {
            let within = SYSTEM.iter().find(|system| Path::new(socket).starts_with(system));
            assert_eq!(within, None, "{socket}");
        }
    }
}
