//! Reports a received signal: on the console, or on standard error while there is no console yet.

use std::sync::{Arc, OnceLock};

use super::console::{Console, MessageLevel};
use super::print::notice;

/// Clones share the same console.
#[derive(Clone, Default)]
pub struct SignalNotice(Arc<OnceLock<Arc<Console>>>);

impl SignalNotice {
    pub fn use_console(&self, console: &Arc<Console>) {
        let _ = self.0.set(Arc::clone(console));
    }

    pub fn on_signal(self) -> impl Fn(&str) + Send + 'static {
        move |name| {
            let text = format!("Received {name}, stopping... (repeat to quit immediately)");
            match self.0.get() {
                Some(console) => console.line(MessageLevel::Warning, &text),
                None => notice(&text),
            }
        }
    }
}
