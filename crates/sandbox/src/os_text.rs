//! Paths, arguments and variables in messages between our own processes. They need not be UTF-8, but nearly always are: then they are
//! plain text, where serde would write every byte as a number.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text, or a list of bytes if it is not UTF-8.
struct OsText<'a>(Cow<'a, OsStr>);

impl Serialize for OsText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(self.0.as_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for OsText<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OsTextVisitor).map(|text| Self(Cow::Owned(text)))
    }
}

struct OsTextVisitor;

impl<'de> Visitor<'de> for OsTextVisitor {
    type Value = OsString;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("text or a list of bytes")
    }

    fn visit_str<E>(self, text: &str) -> Result<OsString, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<OsString, A::Error> {
        let mut all = Vec::new();
        while let Some(byte) = bytes.next_element()? {
            all.push(byte);
        }
        Ok(OsString::from_vec(all))
    }
}

fn borrowed(text: &OsStr) -> OsText<'_> {
    OsText(Cow::Borrowed(text))
}

pub(crate) mod one {
    use super::{Deserialize, Deserializer, OsStr, OsString, OsText, Serialize, Serializer, borrowed};

    pub(crate) fn serialize<S: Serializer>(text: &OsStr, serializer: S) -> Result<S::Ok, S::Error> {
        borrowed(text).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OsString, D::Error> {
        Ok(OsText::deserialize(deserializer)?.0.into_owned())
    }
}

pub(crate) mod list {
    use super::{Deserialize, Deserializer, OsString, OsText, Serializer, borrowed};

    pub(crate) fn serialize<S: Serializer>(texts: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(texts.iter().map(|text| borrowed(text)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OsString>, D::Error> {
        let texts = Vec::<OsText>::deserialize(deserializer)?;
        Ok(texts.into_iter().map(|text| text.0.into_owned()).collect())
    }
}

pub(crate) mod pairs {
    use super::{Deserialize, Deserializer, OsString, OsText, Serializer, borrowed};

    pub(crate) fn serialize<S: Serializer>(
        pairs: &[(OsString, OsString)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(pairs.iter().map(|(name, value)| (borrowed(name), borrowed(value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(OsString, OsString)>, D::Error> {
        let pairs = Vec::<(OsText, OsText)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|(name, value)| (name.0.into_owned(), value.0.into_owned())).collect())
    }
}

/// serde refuses a [`PathBuf`] that is not UTF-8, as a repository's files may have.
pub(crate) mod paths {
    use super::{Deserialize, Deserializer, OsText, PathBuf, Serializer, borrowed};

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| borrowed(path.as_os_str())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<OsText>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(|path| path.0.into_owned().into()).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message {
        #[serde(with = "super::one")]
        program: OsString,
        #[serde(with = "super::list")]
        args: Vec<OsString>,
        #[serde(with = "super::pairs")]
        env: Vec<(OsString, OsString)>,
    }

    #[test]
    fn what_is_not_utf_8_survives() {
        let odd = OsString::from_vec(vec![b'a', 0xff]);
        let message = Message {
            program: "sh".into(),
            args: vec!["-c".into(), odd.clone()],
            env: vec![("A".into(), odd)],
        };
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(text, r#"{"program":"sh","args":["-c",[97,255]],"env":[["A",[97,255]]]}"#);
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}
