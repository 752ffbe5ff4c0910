//! A model's whole reply, in the terms of no provider.

use autonoe_core::event::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider::ProviderKind;

/// A tool call the model wants to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The model's id for it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; a string if the model's JSON was broken.
    pub arguments: Value,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model was done, or wants its tool calls carried out.
    Natural,
    /// The output limit cut it off.
    OutputLimit,
    /// The provider's safety filter refused.
    Refused,
}

/// A piece of a reply, as it must go back to the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub(crate) enum Part {
    Text {
        text: String,
    },
    Thought {
        text: String,
    },
    /// What proves a thought to the provider that had it, or holds it encrypted.
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
    /// Something only the provider understands.
    Opaque {
        data: Value,
    },
}

impl Part {
    /// How many bytes the provider reads of it.
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

/// A model's whole reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What it thought, if it told.
    pub thinking: Option<String>,
    /// What it said.
    pub text: Option<String>,
    /// The calls it wants to make.
    pub calls: Vec<Call>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop: Stop,
    pub(crate) origin: ProviderKind,
    pub(crate) parts: Vec<Part>,
}
