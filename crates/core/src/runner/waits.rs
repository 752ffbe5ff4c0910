//! The waits of the loop: between sessions, for a quota, for an unavailable service. Each ends early on an
//! interrupt and never exceeds the time that the run has left.

use std::time::Duration;

use super::Runner;
use crate::clock::elapsed;
use crate::event::{RunEvent, WaitReason};
use crate::fault::Fault;
use crate::pause::{self, COUNTDOWN_EVERY, MAX_RETRY_AFTER};
use crate::plan::RunState;
use crate::quota::QuotaWait;

impl Runner<'_> {
    /// Pauses before the next session: increasingly long after errors, not at all if a quota or outage wait
    /// follows.
    pub(super) async fn pause(&self, state: &RunState, start: Duration, fault: Option<&Fault>) {
        if state.quota.is_some() || state.outage.is_some() {
            return;
        }
        let pause = match fault {
            None => self.options.session_delay,
            Some(fault) => {
                let (errors, base) = (state.errors, self.options.session_delay);
                let pause = pause::after_errors(errors, base, self.clock.jitter(), fault.retry_after);
                let (max_retries, message) = (self.options.max_retries, fault.message.clone());
                self.emit(None, &RunEvent::Retrying { errors, max_retries, pause, message });
                pause
            }
        };
        self.sleep(pause.min(self.time_left(state, start))).await;
    }

    /// Waits for the quota reset, measured against the wall clock, and shows the remaining time.
    pub(super) async fn wait_for_quota(&self, state: &mut RunState, start: Duration) {
        let Some(QuotaWait { until, resets_at }) = state.quota.take().filter(|_| self.options.wait_for_quota)
        else {
            return;
        };
        loop {
            let remaining = elapsed(self.clock.now(), until).min(self.time_left(state, start));
            if remaining.is_zero() || self.interrupt.is_cancelled() {
                return;
            }
            self.emit(None, &RunEvent::Waiting { reason: WaitReason::Quota, until, remaining, resets_at });
            self.sleep(remaining.min(COUNTDOWN_EVERY)).await;
        }
    }

    /// Waits before an unavailable service is tried again. Uses the monotonic clock, so that setting the wall
    /// clock does not stretch the wait.
    pub(super) async fn wait_for_service(&self, state: &RunState, start: Duration) {
        let Some(outage) = &state.outage else { return };
        let pause = elapsed(self.clock.now(), outage.until).min(MAX_RETRY_AFTER);
        let crate::outage::Outage { since, tries, until, gives_up_at, .. } = *outage;
        let message = outage.message.clone();
        self.emit(None, &RunEvent::Outage { since, tries, until, pause, gives_up_at, message });
        let end = self.clock.monotonic() + pause;
        loop {
            let remaining = end.saturating_sub(self.clock.monotonic()).min(self.time_left(state, start));
            if remaining.is_zero() || self.interrupt.is_cancelled() {
                return;
            }
            let reason = WaitReason::Service;
            self.emit(None, &RunEvent::Waiting { reason, until, remaining, resets_at: None });
            self.sleep(remaining.min(COUNTDOWN_EVERY)).await;
        }
    }

    /// Waits until the user resumes the run. A time limit goes on meanwhile.
    pub(super) async fn wait_while_paused(&self, state: &RunState, start: Duration) {
        let Some(pause) = self.steering.pause().filter(|_| !self.is_stopped()) else {
            return;
        };
        let notice = |message: &str| self.emit(None, &RunEvent::Notice { message: message.to_owned() });
        notice(&pause.to_string());
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => {}
            () = self.steering.resumed() => {}
            () = self.clock.sleep(self.time_left(state, start)) => {}
        }
        if self.steering.pause().is_none() {
            notice("The run is no longer paused.");
        }
    }

    async fn sleep(&self, duration: Duration) {
        tokio::select! {
            biased;
            () = self.interrupt.cancelled() => {}
            () = self.clock.sleep(duration) => {}
        }
    }
}
