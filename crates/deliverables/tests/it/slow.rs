//! An examiner who takes as long over a review as it is told to.

use async_trait::async_trait;
use autonoe_core::deliverable::Deliverable;
use autonoe_core::examiner::{Confirmation, Examination, Examiner, Proposal};
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::status::Refusal;
use tokio::sync::Semaphore;

/// Takes one review for each permit.
pub struct Slow(pub Semaphore);

#[async_trait]
impl Examiner for Slow {
    async fn prepare(&self) -> Result<(), Fault> {
        Ok(())
    }

    async fn propose(&self, _: &[String], _: Vec<Proposal>) -> Result<Result<(), String>, Fault> {
        Ok(Ok(()))
    }

    async fn examine(&self, _: &Deliverable) -> Result<Examination, Fault> {
        Err(Fault::lasting(Layer::System, "slow", "Nobody is asked for it here."))
    }

    async fn confirm(&self) -> Result<Confirmation, Fault> {
        Ok(Confirmation::default())
    }

    async fn wants_review(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    async fn review(&self, _: &str, _: bool, _: String) -> Result<Result<(), Refusal>, Fault> {
        self.0.acquire().await.unwrap().forget();
        Ok(Ok(()))
    }

    async fn briefing(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}
