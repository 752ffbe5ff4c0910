//! Verification: checks that our own process runs on a clean checkout, protected files that agents cannot
//! change, and evidence that anyone can inspect.

mod blocking;
mod briefing;
mod changes;
mod check_limit;
mod check_results;
mod check_run;
mod checkout;
mod checks;
mod checks_file;
mod copied_tree;
mod current_builder;
mod decide;
mod evidence;
mod examiner;
mod git;
mod head;
mod hub_objects;
mod object_lookup;
mod oracles;
mod other_project;
mod output;
mod repository_query;
mod reproduce;
mod review;
mod spec;
mod spec_error;
mod tree_integrity;

pub use changes::{Changes, ChangesError, Commit, FileChange};
pub use check_run::{CheckRun, CheckVerdict};
pub use checkout::{Checkout, CheckoutFactory, Revision};
pub use checks::{all_checks, check_key, checks_of, why_not_counted, written_checks};
pub use current_builder::CurrentBuilder;
pub use decide::{accept, reject};
pub use evidence::{Builder, CheckEnvironment, CheckEvidence, Criterion, Evidence, coverage};
pub use examiner::{EventListener, ProjectExaminer};
pub use head::last_commit;
pub use hub_objects::HubObjects;
pub use other_project::why_other_project;
pub use repository_query::NoCommit;
pub use reproduce::{Reproduction, reproduce};
pub use spec::read_spec;
pub use spec_error::SpecError;
