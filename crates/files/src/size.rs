//! Sizes: the limits of what is read, and how a size is shown.

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Size limit for settings, which are written by hand.
pub const SETTINGS_LIMIT: u64 = MIB;

/// Size limit for documents and lists: SPEC.md, `checks.json`, `status.json`.
pub const DOCUMENT_LIMIT: u64 = 64 * MIB;

/// For people: `64 MiB`, `300 bytes`. Rounded down to a whole unit.
pub fn show_bytes(bytes: u64) -> String {
    let units = [("TiB", MIB * MIB), ("GiB", KIB * MIB), ("MiB", MIB), ("KiB", KIB)];
    match units.into_iter().find(|(_, factor)| bytes >= *factor) {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}
