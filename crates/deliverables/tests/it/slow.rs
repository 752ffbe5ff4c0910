//! An examiner whose reviews take as long as a test wants.

use async_trait::async_trait;
use autonoe_core::deliverable::Deliverable;
use autonoe_core::examiner::{Confirmation, Examination, Examiner, FailedRecheck, Proposal};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::status::ChangeError;
use tokio::sync::Semaphore;

/// Finishes one review per permit.
pub struct SlowExaminer(pub Semaphore);

#[async_trait]
impl Examiner for SlowExaminer {
    async fn prepare(&self) -> Result<(), Fault> {
        Ok(())
    }

    async fn propose(&self, _: &[String], _: Vec<Proposal>) -> Result<(), ChangeError> {
        Ok(())
    }

    async fn examine(&self, _: &Deliverable) -> Result<Examination, Fault> {
        Err(Fault::permanent(FaultLayer::System, "slow", "Not used in these tests."))
    }

    async fn recheck(&self, _: &[String]) -> Result<Vec<FailedRecheck>, Fault> {
        Ok(Vec::new())
    }

    async fn confirm(&self) -> Result<Confirmation, Fault> {
        Ok(Confirmation::default())
    }

    async fn review_briefing(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    async fn review(&self, _: &str, _: bool, _: String) -> Result<(), ChangeError> {
        self.0.acquire().await.unwrap().forget();
        Ok(())
    }

    async fn briefing(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}
