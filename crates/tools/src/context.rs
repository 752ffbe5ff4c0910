//! What surrounds a call: who makes it, whether it is still wanted, and whom to tell how far it is.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// What surrounds a call.
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    /// The session that the call belongs to.
    pub session_id: String,
    /// The model's message that the call came with.
    pub message_id: String,
    /// The agent that makes the call.
    pub agent: String,
    /// The model's own id of the call.
    pub call_id: Option<String>,
    /// Cancelled when the call's result is no longer wanted.
    pub cancel: CancellationToken,
    /// What else the agent passes on.
    pub extra: Map<String, Value>,
    /// Who is told how far the call is.
    pub progress: Progress,
}

impl ToolContext {
    /// A context whose call ends early when `cancel` is cancelled.
    pub fn new(cancel: CancellationToken) -> Self {
        Self { cancel, ..Self::default() }
    }

    /// Tells how far the call is. Nobody may be listening.
    pub fn metadata(&self, title: &str, metadata: Map<String, Value>) {
        if let Some(tell) = &self.progress.0 {
            tell(title, metadata);
        }
    }
}

/// Is told what a call is doing and what is known of it so far. It must not block.
type Tell = dyn Fn(&str, Map<String, Value>) + Send + Sync;

/// Who is told how far a call is; by default nobody.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Tell>>);

impl Progress {
    /// Tells this function.
    pub fn to(tell: impl Fn(&str, Map<String, Value>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Progress(somebody)" } else { "Progress(nobody)" })
    }
}
