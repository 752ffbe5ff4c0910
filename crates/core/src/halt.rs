//! Halt: lets anyone who works beside the loop end the run at once, with the fault that makes going on pointless.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::fault::Fault;

/// Ends a run. Clones end the same run; the first fault is the one that counts.
#[derive(Debug, Clone, Default)]
pub struct Halt {
    fault: Arc<OnceLock<Fault>>,
    raised: CancellationToken,
}

impl Halt {
    /// Ends the run.
    pub fn raise(&self, fault: &Fault) {
        // A second fault adds nothing: the run is ending.
        let _ = self.fault.set(fault.clone());
        self.raised.cancel();
    }

    /// The fault, once there is one.
    pub async fn raised(&self) -> Fault {
        self.raised.cancelled().await;
        match self.fault.get() {
            Some(fault) => fault.clone(),
            None => std::future::pending().await,
        }
    }
}
