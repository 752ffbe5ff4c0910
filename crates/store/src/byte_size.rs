//! Sizes as people write them: `8GiB`, `500 MB`, `4096`.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Unexpected, Visitor};

/// Largest first; a plain number is bytes.
const UNITS: [(&str, u64); 6] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
];

/// A number of bytes, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(u64);

impl ByteSize {
    /// `None` for zero, which never means unlimited.
    pub fn new(bytes: u64) -> Option<Self> {
        (bytes > 0).then_some(Self(bytes))
    }

    pub fn bytes(self) -> u64 {
        self.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ByteSizeError {
    #[error("'{0}' is not a size; write whole bytes, or a whole number with KiB, MiB, GiB, KB, MB or GB")]
    Malformed(String),
    #[error("'{0}' is too large")]
    TooLarge(String),
    #[error("'{0}' is not a size; zero never means unlimited")]
    Zero(String),
}

impl FromStr for ByteSize {
    type Err = ByteSizeError;

    fn from_str(text: &str) -> Result<Self, ByteSizeError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = (&text[..digits], text[digits..].trim_start());
        let factor = match unit {
            "" => Some(1),
            _ => UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor),
        };
        let (Some(factor), false) = (factor, number.is_empty()) else {
            return Err(ByteSizeError::Malformed(text.to_owned()));
        };
        let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        let bytes = bytes.ok_or_else(|| ByteSizeError::TooLarge(text.to_owned()))?;
        Self::new(bytes).ok_or_else(|| ByteSizeError::Zero(text.to_owned()))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, factor)| self.0.is_multiple_of(*factor)) {
            Some((name, factor)) => write!(f, "{}{name}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByteSizeVisitor;
        impl Visitor<'_> for ByteSizeVisitor {
            type Value = ByteSize;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"8GiB\" or a number of bytes")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ByteSize, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<ByteSize, E> {
                let bytes =
                    u64::try_from(bytes).map_err(|_| E::invalid_value(Unexpected::Signed(bytes), &self))?;
                self.visit_u64(bytes)
            }
            fn visit_u64<E: serde::de::Error>(self, bytes: u64) -> Result<ByteSize, E> {
                bytes.to_string().parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(ByteSizeVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::ByteSize;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_parsed_with_their_units() {
        for (text, bytes) in [
            ("1", 1),
            ("4096", 4096),
            ("2KiB", 2048),
            ("8GiB", 8 << 30),
            ("8 GiB", 8 << 30),
            ("3MiB", 3 << 20),
            ("5KB", 5_000),
            ("500 MB", 500_000_000),
            ("4GB", 4_000_000_000),
        ] {
            assert_eq!(text.parse().map(ByteSize::bytes), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn invalid_sizes_are_reported_with_the_choices() {
        for text in [
            "", "GiB", "8G", "8gib", "8 Gib", "1.5GiB", "-1", "+1", "0x10", "1e9", " 8GiB", "8GiB ",
            "8 GiB x", "٣",
        ] {
            let message = text.parse::<ByteSize>().expect_err(text).to_string();
            assert!(message.contains(&format!("'{text}'")) && message.contains("MiB"), "{message}");
        }
        for text in ["0", "0GiB", "000"] {
            let message = text.parse::<ByteSize>().expect_err(text).to_string();
            assert!(message.contains("zero never means unlimited"), "{message}");
        }
        for text in ["99999999999999999999", "18446744073709551615KiB"] {
            let message = text.parse::<ByteSize>().expect_err(text).to_string();
            assert!(message.contains("too large"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn displayed_sizes_parse_back(bytes in 1..u64::MAX, shift in 0_u32..40) {
            let size = ByteSize::new(bytes >> shift << shift).unwrap_or(ByteSize(1));
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }

        #[test]
        fn any_text_is_parsed_or_rejected(text in ".{0,12}") {
            let _ = text.parse::<ByteSize>();
        }
    }
}
