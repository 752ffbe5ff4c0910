//! Where agents work: in a clone of the project that belongs to them, never in the user's checkout.
//!
//! ```text
//! the user's repository ──objects linked──▶ base ◀──borrowed read-only── workspace
//!          ▲                                  ▲                              │
//!          └──── landing: fast-forward ──── hub ◀──── fetch, every object checked
//! ```

mod branch_lock;
mod branches;
mod carried_files;
mod changed_file;
mod checked_part;
mod claim_fetch;
mod computed_names;
mod discarded;
mod disk_links;
mod earlier_work;
mod excluded_files;
mod first_commit;
mod fleet_clone;
mod git_settings;
mod home_links;
mod hook_text;
mod hub;
mod hub_layout;
mod ignore_change;
mod imported_modules;
mod inner_repositories;
mod landing;
mod landing_error;
mod landing_guard;
mod landing_locks;
mod landing_plan;
mod landing_turn;
mod landings;
mod leftovers;
mod loaded_modules;
mod merge_queue;
mod merge_turn;
mod merged_branches;
mod merging;
mod named_branch;
mod named_paths;
mod note_home;
mod object_files;
mod own_edits;
mod place_variables;
mod project_files;
mod project_revision;
mod relative_places;
mod saved_index;
mod script_comments;
mod search_path;
mod self_acting;
mod settings_text;
mod settled;
mod shell_expansion;
mod site;
mod site_event;
mod take_back;
mod tree_links;
mod tree_state;
mod unfinished_landing;
mod unlanded;
mod unwritten_file;
mod user_files;
mod users_attributes;
mod worker_site;
mod workspace;
mod workspace_head;
mod workspace_preparation;
mod writing_settings;

pub use branches::{CommitDiff, WorkspaceBranches};
pub use checked_part::CheckedPart;
pub use discarded::Discarded;
pub use earlier_work::Start;
pub use first_commit::Beginning;
pub use fleet_clone::{BroughtHome, CommitOnBranch, DISK_SPACE};
pub use hook_text::is_settings_variable;
pub use hub::{Hub, ListProtected, UsersMachine};
pub use hub_layout::{HubLayout, RunTip};
pub use landing::{Landing, LandingConsent, LandingTarget};
pub use landing_error::{LandingRefusal, list_files};
pub use landing_plan::LandingPlan;
pub use merge_queue::MergeQueue;
pub use merge_turn::{MergeAttempt, MergeTurn, MergedFiles};
pub use named_paths::files_run_by_hooks;
pub use own_edits::OwnEditedFile;
pub use project_revision::ProjectRevision;
pub use self_acting::acts_by_itself;
pub use settled::Settled;
pub use site::{LandWhen, SiteOptions, WorkspaceSite};
pub use site_event::SiteEvent;
pub use unlanded::Unlanded;
pub use worker_site::{MERGED_BRANCH, WorkerSite};
pub use workspace::Workspace;
pub use workspace_preparation::Preparation;
