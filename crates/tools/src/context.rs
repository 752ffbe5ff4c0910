//! The context of a tool call: its ids, its cancellation token and its progress reporter.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    pub session_id: String,
    /// The model's message that contains the call.
    pub message_id: String,
    /// The name of the calling agent.
    pub agent: String,
    /// The id that the model gave the call.
    pub call_id: Option<String>,
    /// Cancelled when the result is no longer needed.
    pub cancel: CancellationToken,
    /// Further data from the agent.
    pub extra: Map<String, Value>,
    pub progress: ProgressReporter,
}

impl ToolContext {
    /// A context whose call ends early when `cancel` is cancelled.
    pub fn new(cancel: CancellationToken) -> Self {
        Self { cancel, ..Self::default() }
    }

    /// Reports progress, if a reporter is set.
    pub fn metadata(&self, title: &str, metadata: Map<String, Value>) {
        if let Some(report) = &self.progress.0 {
            report(title, metadata);
        }
    }
}

/// Receives a title and metadata. Must not block.
type ProgressCallback = dyn Fn(&str, Map<String, Value>) + Send + Sync;

/// Receives progress reports of a call; the default discards them.
#[derive(Clone, Default)]
pub struct ProgressReporter(Option<Arc<ProgressCallback>>);

impl ProgressReporter {
    pub fn new(callback: impl Fn(&str, Map<String, Value>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "ProgressReporter(set)" } else { "ProgressReporter(none)" })
    }
}
