//! The work behind a claim is made available before it is examined.

use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::deliverable::Deliverable;
use autonoe_core::examiner::ClaimPreparation;
use autonoe_core::instruction::Phase::Coding;
use autonoe_core::status::{ChangeError, Refusal};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::slow::SlowExaminer;
use crate::support::ServiceFixture;

struct Unavailable;

#[async_trait]
impl ClaimPreparation for Unavailable {
    async fn before_claim(&self, deliverable: &Deliverable) -> Result<(), ChangeError> {
        Err(Refusal::ChecksFailed(format!("{} has no commit", deliverable.id)).into())
    }

    async fn keep_uncommitted(&self, deliverable: &Deliverable) -> Result<(), ChangeError> {
        self.before_claim(deliverable).await
    }
}

#[tokio::test]
async fn work_that_is_not_available_is_refused_before_it_is_examined() {
    let mut fixture = ServiceFixture::with(Coding, &["A"]).await;
    let service = Arc::into_inner(fixture.service).unwrap();
    let service = service.examined_by(Arc::new(SlowExaminer(Semaphore::new(0))));
    fixture.service = Arc::new(service.prepared_by(Arc::new(Unavailable)));
    let claim = json!({ "deliverableId": "A", "status": "passed" });
    let (message, code) = fixture.refused("set_status", claim).await;
    assert_eq!((message.as_str(), code.as_str()), ("A has no commit", "CHECKS_FAILED"));
}
