//! Detects images that a model can view, by their first bytes.

/// The maximum size of an attached image: the providers' limit, before base64 encoding.
pub const MAX_IMAGE_BYTES: u64 = 5 * 1024 * 1024 * 3 / 4;

/// The number of bytes that [`image_media_type`] needs.
pub(crate) const PROBE_BYTES: usize = 12;

/// The media type of an image that starts with these bytes; `None` if it is not a supported image.
pub fn image_media_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
