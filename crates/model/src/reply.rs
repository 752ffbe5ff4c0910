//! A model's complete reply, independent of the provider.

use autonoe_core::event::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider::ProviderKind;

/// A tool call the model wants to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    pub id: String,
    pub name: String,
    /// A string if the model's JSON was malformed.
    pub arguments: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model finished, or waits for the results of its calls.
    Natural,
    /// Cut off at the output limit.
    OutputLimit,
    /// The provider's safety filter refused.
    Refused,
}

/// A part of a reply, as it must be sent back to the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub(crate) enum ReplyPart {
    Text {
        text: String,
    },
    Thought {
        text: String,
    },
    /// Authenticates a thought to the provider that issued it, or contains it encrypted.
    Signature {
        signature: String,
    },
    Call {
        id: String,
        name: String,
        arguments: Value,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        signatures: Vec<String>,
    },
    /// Provider-specific data that is sent back unchanged.
    Opaque {
        data: Value,
    },
}

impl ReplyPart {
    /// The size in bytes, as the provider counts it.
    pub(crate) fn len(&self) -> u64 {
        let bytes = match self {
            Self::Text { text } | Self::Thought { text } => text.len(),
            Self::Signature { signature } => signature.len(),
            Self::Call { name, arguments, .. } => name.len() + arguments.to_string().len(),
            Self::Opaque { data } => data.to_string().len(),
        };
        bytes as u64
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// `None` if the provider does not disclose it.
    pub thinking: Option<String>,
    pub text: Option<String>,
    pub calls: Vec<RequestedCall>,
    pub usage: Usage,
    pub stop: FinishReason,
    pub(crate) origin: ProviderKind,
    pub(crate) parts: Vec<ReplyPart>,
}
