//! Git in rooms of its own, without anyone's settings: the repositories that it reads were written by agents or strangers.

mod git_room;
mod hash;
mod locked_dir;
mod skeleton;

pub use git_room::{Finished, GitRoom, TIMED_OUT, broken, outcome, pipe};
pub use hash::is_hash;
pub use locked_dir::LockedDir;
pub use skeleton::{Skeleton, write_ref};
