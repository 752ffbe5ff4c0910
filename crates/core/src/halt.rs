//! Halt: lets code outside the loop end the run at once with a fault.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::fault::Fault;

/// Clones end the same run; the first fault counts.
#[derive(Debug, Clone, Default)]
pub struct Halt {
    fault: Arc<OnceLock<Fault>>,
    raised: CancellationToken,
}

impl Halt {
    pub fn raise(&self, fault: &Fault) {
        // A second fault adds nothing: the run is already ending.
        let _ = self.fault.set(fault.clone());
        self.raised.cancel();
    }

    /// Waits until the run is halted.
    pub async fn raised(&self) -> Fault {
        self.raised.cancelled().await;
        match self.fault.get() {
            Some(fault) => fault.clone(),
            None => std::future::pending().await,
        }
    }
}
