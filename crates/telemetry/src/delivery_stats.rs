//! What became of the things that were to be sent: counted where they are put and where they are taken away.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many characters are kept of why something was lost.
const MAX_REASON: usize = 200;

/// What became of a signal.
#[derive(Debug)]
pub struct DeliveryStats {
    destination: String,
    queued: AtomicU64,
    settled: AtomicU64,
    lost: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl DeliveryStats {
    /// Nothing has happened to it yet.
    pub fn new(destination: String) -> Arc<Self> {
        Arc::new(Self {
            destination,
            queued: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            failure: Mutex::default(),
        })
    }

    /// Where it was sent.
    pub fn destination(&self) -> &str {
        &self.destination
    }

    /// How much of it was lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Why something was lost, as far as it is known.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets what was lost, when it is made up for.
    pub fn forget_losses(&self) {
        self.lost.store(0, Ordering::Relaxed);
    }

    /// Gives up on what is still on its way.
    pub fn give_up(&self, why: &str) {
        let waiting =
            self.queued.load(Ordering::Relaxed).saturating_sub(self.settled.load(Ordering::Relaxed));
        if waiting > 0 {
            self.settle(waiting, Err(why.to_owned()));
        }
    }

    /// Notes that so many are on their way.
    pub fn set_out(&self, count: u64) {
        self.queued.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that so many were lost before they set out.
    pub fn lose(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that so many arrived, or why they did not.
    pub fn settle(&self, count: u64, arrived: Result<(), String>) {
        self.settled.fetch_add(count, Ordering::Relaxed);
        if let Err(why) = arrived {
            self.lose(count);
            // Some of it is the collector's own words.
            let why: String = why.chars().filter(|letter| !letter.is_control()).take(MAX_REASON).collect();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        }
    }
}
