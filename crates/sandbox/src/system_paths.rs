//! Paths of a Unix system: programs, libraries, settings, devices, and secrets among them.

/// System directories, readable in every room.
pub(crate) const SYSTEM: [&str; 17] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
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
pub(crate) const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/fd",
];
