//! Workspaces on temporary repositories, in the sandbox of this machine.

#![allow(clippy::expect_used, clippy::unwrap_used, missing_docs)]

mod apart_branches;
mod checked_part;
mod discarded_work;
mod earlier_work;
mod earlier_workers;
mod fetch;
mod fixture;
mod fleet_clone;
mod held_back;
mod killed_landing;
mod landing;
mod landing_advice;
mod named_branches;
mod note_home;
mod odd_changes;
mod own_edits;
mod preparation;
mod repositories;
mod runs;
