//! The room in which git reads the hub, and nothing else. All that is there was checked, so one room does for every question; it stays open as
//! long as the hub is in use, since opening one takes longer than most answers.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};

use autonoe_core::fault::Fault;
use autonoe_git::{Finished, GitRoom};

use crate::hub::Hub;

/// Exits 0 if the commit `$2` is an ancestor of `$3`.
const IS_ANCESTOR: &str = r#"git --git-dir="$1" merge-base --is-ancestor "$2" "$3""#;

/// The room, if it was needed before.
#[derive(Clone, Default)]
pub(crate) struct ReadingRoom(Arc<Mutex<Option<OpenRoom>>>);

struct OpenRoom {
    room: Arc<GitRoom>,
    /// The devices and numbers of the directories that it shows: others of the same names may have taken their places.
    shown: [Option<(u64, u64)>; 2],
}

impl fmt::Debug for ReadingRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadingRoom")
    }
}

impl Hub {
    /// Runs a script that asks git about the hub, which is its `$1`.
    pub(crate) async fn ask(
        &self,
        script: &str,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Finished, Fault> {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        let args: Vec<OsString> = [self.layout.git_dir().into()].into_iter().chain(args).collect();
        self.reading_room()?.run(script, args).await
    }

    /// Whether the hub has a commit below another one.
    pub(crate) async fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool, Fault> {
        Ok(self.ask(IS_ANCESTOR, [ancestor, commit]).await?.code == 0)
    }

    /// Opens the room before it is needed, while something else is done. Who needs it hears of what goes wrong.
    pub(crate) async fn open_reading_room(&self) {
        if self.layout.git_dir().exists()
            && let Ok(room) = self.reading_room()
        {
            room.open().await;
        }
    }

    pub(crate) fn reading_room(&self) -> Result<Arc<GitRoom>, Fault> {
        let shown = self.layout.readable().map(|directory| {
            let metadata = fs::metadata(directory).ok();
            metadata.map(|metadata| (metadata.dev(), metadata.ino()))
        });
        let mut open = self.reading.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = open.as_ref().filter(|open| open.shown == shown && open.room.work().is_dir()) {
            return Ok(Arc::clone(&open.room));
        }
        let room = Arc::new(self.room(self.layout.readable(), [])?);
        *open = Some(OpenRoom { room: Arc::clone(&room), shown });
        Ok(room)
    }
}
