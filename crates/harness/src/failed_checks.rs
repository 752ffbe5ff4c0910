//! Remembers which checks failed in a session, so that a remedy can say what they said.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use autonoe_core::event::{CheckPurpose, Event, RunEvent};
use autonoe_core::sink::Sink;
use autonoe_core::span::SpanContext;

use crate::progress::FailedCheck;

/// A sink: checks run between and during sessions.
#[derive(Debug, Default)]
pub struct FailedChecks(Mutex<BTreeMap<String, String>>);

impl FailedChecks {
    /// The checks that have failed so far, and not passed after that.
    pub fn peek(&self) -> Vec<FailedCheck> {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let check =
            |(name, output): (&String, &String)| FailedCheck { name: name.clone(), output: output.clone() };
        failed.iter().map(check).collect()
    }

    /// The checks that have failed since the last call, and not passed after that.
    pub fn of_session(&self) -> Vec<FailedCheck> {
        let failed = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        failed.into_iter().map(|(name, output)| FailedCheck { name, output }).collect()
    }
}

impl Sink for FailedChecks {
    fn on(&self, _: &SpanContext, event: &Event) {
        let Event::Run(RunEvent::Checked { deliverable, check, purpose, passed, message }) = event else {
            return;
        };
        // A new check must fail.
        if *purpose == CheckPurpose::RedFirst {
            return;
        }
        let name = match deliverable {
            Some(id) => format!("The check `{check}` of {id}"),
            None => format!("The check `{check}`"),
        };
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match passed {
            true => failed.remove(&name),
            false => failed.insert(name, message.clone()),
        };
    }
}
