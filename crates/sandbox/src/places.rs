//! Where a Unix system keeps what belongs to nobody: programs, libraries, settings, devices.

/// Directories of the system: readable in every room.
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

/// What in them is somebody's secret: hidden, should we be allowed to read it at all.
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

/// Views of the kernel's, where they cannot be made anew for the room.
pub(crate) const PSEUDO: [&str; 1] = ["/proc"];

/// Among them what changes the kernel.
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
