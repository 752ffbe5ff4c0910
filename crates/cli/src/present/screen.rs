//! Where a signal is told: on the console, or plainly while there is none yet.

use std::sync::{Arc, OnceLock};

use super::console::{Console, Level};
use super::notice;

/// The console of a run, once there is one. Clones are the same.
#[derive(Clone, Default)]
pub struct Screen(Arc<OnceLock<Arc<Console>>>);

impl Screen {
    /// From now on there is this console.
    pub fn open(&self, console: &Arc<Console>) {
        let _ = self.0.set(Arc::clone(console));
    }

    /// Tells that a signal came.
    pub fn on_signal(self) -> impl Fn(&str) + Send + 'static {
        move |name| {
            let words = format!("Received {name}, stopping... (once more to end at once)");
            match self.0.get() {
                Some(console) => console.line(Level::Warning, &words),
                None => notice(&words),
            }
        }
    }
}
