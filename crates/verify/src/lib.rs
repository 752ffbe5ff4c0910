//! Verification: checks that our own process runs on a clean checkout, protected files that agents cannot
//! change, and evidence that anyone can inspect.

mod added_files;
mod beside_protected;
mod blocking;
mod briefing;
mod cargo_manifest;
mod changes;
mod check_limit;
mod check_results;
mod check_run;
mod checkout;
mod checks;
mod checks_file;
mod commit_objects;
mod commit_source;
mod compared_files;
mod copied_tree;
mod current_builder;
mod decide;
mod deciding_files;
mod dependencies;
mod discovery;
mod evidence;
mod examiner;
mod flaky;
mod harmless_settings;
mod head;
mod hidden_files;
mod history;
mod judge_languages;
mod language_files;
mod left_changed;
mod linked_directories;
mod make_rules;
mod manifest_before;
mod named_paths;
mod namesakes;
mod new_settings;
mod no_commit;
mod noted_files;
mod object_lookup;
mod oracles;
mod other_project;
mod output;
mod packages;
mod path_walk;
#[cfg(target_os = "linux")]
mod path_watch;
mod port_in_use;
mod protect_matcher;
mod protect_pattern;
mod python_caches;
mod refused_write;
mod reproduce;
mod review;
mod runner_files;
mod shell_text;
mod spec;
mod spec_error;
mod startup_places;
mod test_files;
mod tool_files;
mod uncommitted;
mod user_scripts;
mod withheld;
mod written_changes;

pub use changes::{Changes, ChangesError, Commit, FileChange};
pub use check_run::{CheckRun, CheckVerdict};
pub use checkout::{Checkout, CheckoutFactory, CheckoutFiles, NO_COMMIT, Revision};
pub use checks::{
    all_checks, check_key, checks_of, doubt_about, is_of_unfinished, of_project, without_deliverable,
    written_checks,
};
pub use commit_source::HubObjects;
pub use current_builder::CurrentBuilder;
pub use decide::{accept, reject};
pub use evidence::{
    Builder, CheckEnvironment, CheckEvidence, Criterion, Evidence, coverage, disown_foreign_findings,
    disown_outdated_findings,
};
pub use examiner::{EventListener, ProjectExaminer};
pub use head::last_commit;
pub use left_changed::CheckoutBefore;
pub use no_commit::NoCommit;
pub use noted_files::NotedFiles;
pub use oracles::{describe_dispute, protected_among};
pub use other_project::why_other_project;
pub use reproduce::{Reproduction, Strictness, reproduce};
pub use spec::{read_spec, without_checks};
pub use spec_error::SpecError;
pub use written_changes::{concerning as changes_concerning, describe_change, record as record_changes};
