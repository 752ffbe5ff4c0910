//! Commits of runs that the user does not want. The hub keeps them under refs of their own, from where they can be fetched again, and no
//! later run builds on them.

use std::fs;
use std::io;

use autonoe_core::fault::Fault;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_git::{GitRoom, write_ref};

use crate::hub::Hub;
use crate::hub_layout::RunTip;
use crate::project_revision::ProjectRevision;
use crate::unlanded::Unlanded;

const REFS: &str = "refs/discarded";

impl Hub {
    /// Discards them and what they were built on, as far as it has not landed. Returns the ref that keeps them.
    pub async fn discard(&self, unlanded: &Unlanded) -> Result<String, Fault> {
        let _turn = self.landing_turn().await?;
        let room = self.room(self.layout.readable(), [])?;
        let discarded = self.discard_in(&room, unlanded).await;
        room.close().await;
        discarded
    }

    async fn discard_in(&self, room: &GitRoom, unlanded: &Unlanded) -> Result<String, Fault> {
        let runs: Vec<RunTip> = self.layout.runs().collect();
        for run in runs {
            if run.commit == unlanded.commit || self.is_ancestor(room, &run.commit, &unlanded.commit).await? {
                self.set_discarded(&run).map_err(|error| self.unwritable(&error))?;
            }
        }
        Ok(format!("{REFS}/{}", unlanded.branch))
    }

    /// Whether the run of a worker's branch, such as `autonoe/7-2`, was discarded.
    pub(crate) fn is_discarded_run(&self, branch: &str) -> bool {
        let run = branch.rsplit_once('-').map_or(branch, |(run, _)| run);
        self.layout.git_dir().join(REFS).join(run).is_file()
    }

    fn set_discarded(&self, run: &RunTip) -> io::Result<()> {
        let git = self.layout.git_dir();
        write_ref(&git, &format!("{REFS}/{}", run.branch), &run.commit)?;
        match fs::remove_file(git.join("refs/heads").join(&run.branch)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the commit is built on discarded ones that the user has not taken over nevertheless. If so, it is discarded too.
    pub(crate) async fn discard_successor(
        &self,
        run: &RunTip,
        from: &ProjectRevision,
    ) -> Result<bool, Fault> {
        let discarded = self.discarded();
        if discarded.is_empty() {
            return Ok(false);
        }
        let room = self.room(self.layout.readable(), [])?;
        let is_discarded = self.is_successor(&room, run, from, &discarded).await;
        room.close().await;
        if is_discarded? {
            self.set_discarded(run).map_err(|error| self.unwritable(&error))?;
            return Ok(true);
        }
        Ok(false)
    }

    async fn is_successor(
        &self,
        room: &GitRoom,
        run: &RunTip,
        from: &ProjectRevision,
        discarded: &[String],
    ) -> Result<bool, Fault> {
        for commit in discarded {
            let is_taken_over = match &from.commit {
                Some(head) => self.is_ancestor(room, commit, head).await?,
                None => false,
            };
            if !is_taken_over && self.is_ancestor(room, commit, &run.commit).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn discarded(&self) -> Vec<String> {
        let directory = self.layout.git_dir().join(REFS).join("autonoe");
        let files = fs::read_dir(directory).into_iter().flatten().flatten();
        let commits = files.filter_map(|file| read_text(&file.path(), SETTINGS_LIMIT).ok().flatten());
        commits.map(|commit| commit.trim().to_owned()).collect()
    }
}
