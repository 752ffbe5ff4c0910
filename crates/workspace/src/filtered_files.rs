//! Files for which the user's git has filters. None of them run in a landing, so git may then take such a file for changed.

use autonoe_core::fault::Fault;

use crate::changed_file::ChangedFile;
use crate::git_settings::configured_drivers;
use crate::landing::LandingAttempt;

/// Prints the attribute `filter` of the files that the file `$6` lists.
const FILTERS: &str = "git check-attr -z --stdin filter < \"$6\"";

/// The filter of git-lfs, which takes the pointers that land for unchanged.
const LFS: &str = "lfs";

impl LandingAttempt<'_> {
    /// Those of the changed files.
    pub(crate) async fn filtered_files(&self, changed: &[ChangedFile]) -> Result<Vec<String>, Fault> {
        let configured = configured_drivers(&self.hub.repository(), &self.hub.users);
        if !configured.iter().any(|driver| driver.starts_with("filter.")) {
            return Ok(Vec::new());
        }
        let written = changed.iter().filter(|file| !file.is_deletion());
        let list =
            self.list("landed", &written.map(|file| format!("{}\0", file.path)).collect::<String>())?;
        let listed = self.must_succeed(self.run_in_tree(FILTERS, &[&list]).await?)?;
        let fields: Vec<&str> = listed.split_terminator('\0').collect();
        let is_filtered = |filter: &str| filter != LFS && configured.contains(&format!("filter.{filter}"));
        let found = fields.chunks_exact(3).filter(|entry| is_filtered(entry[2]));
        Ok(found.map(|entry| entry[0].to_owned()).collect())
    }
}
