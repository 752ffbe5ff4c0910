//! Delivers what is in the outbox, and tries again. One process at a time delivers for a project; the others record, and take over when it
//! ends.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::Fault;
use autonoe_core::redact::Redactor;
use autonoe_store::{DeliveryState, Outbox, OutboxLock, PendingDelivery};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::program::Programs;
use crate::retry::pause_after;
use crate::send_failure::SendFailure;
use crate::target::NotifyTarget;

/// How often the outbox is looked at: another process may have recorded something, or stopped delivering.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Is given sentences for the user.
pub type Warn = Box<dyn Fn(&str) + Send + Sync>;

pub struct DispatcherOptions {
    pub outbox: Arc<Outbox>,
    pub targets: Vec<NotifyTarget>,
    pub programs: Programs,
    /// Redacts what receivers say.
    pub redactor: Redactor,
    /// For one sentence about each target that could not be notified.
    pub warn: Warn,
}

/// Delivers in the background until it is dropped.
pub struct Dispatcher {
    outbox: Arc<Outbox>,
    wake: Arc<Notify>,
    /// Changes after each turn of the loop.
    turns: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

impl Dispatcher {
    /// Needs a runtime.
    pub fn start(options: DispatcherOptions) -> Self {
        let (wake, outbox) = (Arc::new(Notify::new()), Arc::clone(&options.outbox));
        let (turn, turns) = watch::channel(0);
        let targets = options.targets.into_iter().map(|target| (target.name.clone(), Arc::new(target)));
        let delivering = Delivering {
            outbox: options.outbox,
            targets: targets.collect(),
            programs: Arc::new(options.programs),
            redactor: options.redactor,
            warn: options.warn,
            warned: HashSet::new(),
            lock: None,
            turn,
        };
        let task = tokio::spawn(delivering.run(Arc::clone(&wake)));
        Self { outbox, wake, turns, task }
    }

    /// To be notified when something was recorded.
    pub fn wake(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Waits until everything that is due within `limit` is settled, but not longer. Returns what is not delivered yet.
    pub async fn finish(
        mut self,
        limit: Duration,
        interrupt: &CancellationToken,
    ) -> Result<Vec<PendingDelivery>, Fault> {
        let deadline = Timestamp::now().checked_add(limit).unwrap_or(Timestamp::MAX);
        let settled = async {
            self.wake.notify_one();
            loop {
                self.turns.mark_unchanged();
                // An attempt in flight is pending, and due.
                let is_due = |delivery: &PendingDelivery| delivery.next_try_at <= deadline;
                if !self.outbox.pending()?.iter().any(is_due) || self.turns.changed().await.is_err() {
                    return Ok(());
                }
            }
        };
        tokio::select! {
            biased;
            () = interrupt.cancelled() => {}
            settled = tokio::time::timeout(limit, settled) => settled.unwrap_or(Ok(()))?,
        }
        // What is in flight now is tried again by the next process, with the same id.
        self.task.abort();
        let _ = (&mut self.task).await;
        self.outbox.pending()
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Attempt = BoxFuture<'static, (PendingDelivery, Result<(), SendFailure>)>;

struct Delivering {
    outbox: Arc<Outbox>,
    targets: HashMap<String, Arc<NotifyTarget>>,
    programs: Arc<Programs>,
    redactor: Redactor,
    warn: Warn,
    /// Targets that a warning was about.
    warned: HashSet<String>,
    /// `None` while another process delivers.
    lock: Option<OutboxLock>,
    turn: watch::Sender<u64>,
}

impl Delivering {
    async fn run(mut self, wake: Arc<Notify>) {
        let mut attempts: FuturesUnordered<Attempt> = FuturesUnordered::new();
        // One attempt per target at a time, so that notifications arrive in order.
        let mut busy: HashSet<String> = HashSet::new();
        loop {
            let pause = match self.begin_attempts(&mut attempts, &mut busy) {
                Ok(pause) => pause,
                Err(fault) => {
                    self.warn_once("", &format!("{fault} Notifications may be late."));
                    LOOK_INTERVAL
                }
            };
            self.turn.send_modify(|turn| *turn += 1);
            tokio::select! {
                Some((delivery, sent)) = attempts.next() => {
                    busy.remove(&delivery.key.target);
                    if let Err(fault) = self.record(&delivery, sent) {
                        self.warn_once("", &format!("{fault} Notifications may arrive twice."));
                        // A disk that is full must not make a loop of it.
                        tokio::time::sleep(LOOK_INTERVAL).await;
                    }
                }
                () = wake.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Begins every attempt that is due. Returns the pause until the next look.
    fn begin_attempts(
        &mut self,
        attempts: &mut FuturesUnordered<Attempt>,
        busy: &mut HashSet<String>,
    ) -> Result<Duration, Fault> {
        if self.lock.is_none() {
            self.lock = self.outbox.try_lock()?;
        }
        if self.lock.is_none() {
            return Ok(LOOK_INTERVAL);
        }
        let mut pause = LOOK_INTERVAL;
        let now = Timestamp::now();
        for delivery in self.outbox.pending()? {
            if busy.contains(&delivery.key.target) {
                continue;
            }
            let Some(target) = self.targets.get(&delivery.key.target).cloned() else {
                self.give_up(
                    &delivery,
                    DeliveryState::Failed,
                    delivery.attempts,
                    "it is no longer configured",
                )?;
                continue;
            };
            if delivery.expires_at <= now {
                let why = delivery
                    .problem
                    .clone()
                    .unwrap_or_else(|| "no process was there to notify it".to_owned());
                self.give_up(&delivery, DeliveryState::Expired, delivery.attempts, &why)?;
                continue;
            }
            let ahead = delivery.next_try_at.duration_since(now);
            if ahead > SignedDuration::ZERO {
                pause = pause.min(ahead.unsigned_abs());
                continue;
            }
            busy.insert(delivery.key.target.clone());
            let programs = Arc::clone(&self.programs);
            attempts.push(Box::pin(async move {
                let sent = target.send(&delivery.notification, &programs).await;
                (delivery, sent)
            }));
        }
        Ok(pause)
    }

    fn record(&mut self, delivery: &PendingDelivery, sent: Result<(), SendFailure>) -> Result<(), Fault> {
        let attempts = delivery.attempts + 1;
        let failure = match sent {
            Ok(()) => return self.outbox.settle(&delivery.key, DeliveryState::Delivered, attempts, None),
            Err(failure) => failure,
        };
        let reason = self.redactor.text(&failure.reason).into_owned();
        let pause = pause_after(attempts, failure.retry_after).filter(|_| failure.is_transient);
        let next = pause.and_then(|pause| Timestamp::now().checked_add(pause).ok());
        match next {
            None => self.give_up(delivery, DeliveryState::Failed, attempts, &reason),
            Some(next) if next > delivery.expires_at => {
                self.give_up(delivery, DeliveryState::Expired, attempts, &reason)
            }
            Some(next) => {
                self.outbox.postpone(&delivery.key, attempts, next, &reason)?;
                let target = &delivery.key.target;
                let sentence =
                    format!("The target '{target}' was not notified: {reason}. Autonoe keeps trying.");
                self.warn_once(&delivery.key.target, &sentence);
                Ok(())
            }
        }
    }

    fn give_up(
        &mut self,
        delivery: &PendingDelivery,
        state: DeliveryState,
        attempts: u32,
        why: &str,
    ) -> Result<(), Fault> {
        self.outbox.settle(&delivery.key, state, attempts, Some(why))?;
        let (target, event) = (&delivery.key.target, delivery.notification.event.name());
        let sentence = format!("The target '{target}' was not notified of '{event}': {why}.");
        self.warn_once(&delivery.key.target, &sentence);
        Ok(())
    }

    /// Further failures of the same target are in `autonoe status`.
    fn warn_once(&mut self, target: &str, sentence: &str) {
        if self.warned.insert(target.to_owned()) {
            (self.warn)(sentence);
        }
    }
}

#[cfg(test)]
mod tests;
