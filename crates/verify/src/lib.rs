//! Verified means verified: checks that our own process runs on a clean checkout, files that nobody who is judged can change,
//! evidence that anybody can look at.

mod briefing;
mod builders;
mod changes;
mod checkout;
mod decide;
mod evidence;
mod examiner;
mod git;
mod head;
mod inquiry;
mod known;
mod list;
mod look;
mod oracles;
mod output;
mod proof;
mod reproduce;
mod review;
mod spec;
mod trial;

pub use builders::Builders;
pub use changes::{Changes, Commit, FileChange};
pub use checkout::{Checkout, CheckoutFactory, Revision};
pub use decide::{accept, reject};
pub use evidence::{Builder, Criterion, Evidence, Proof, Surroundings, coverage};
pub use examiner::{ProjectExaminer, Tell};
pub use head::last_commit;
pub use known::{all_checks, checks_of, doubt, key, written_checks};
pub use reproduce::{Reproduction, reproduce};
pub use spec::read_spec;
pub use trial::{Trial, Verdict};
