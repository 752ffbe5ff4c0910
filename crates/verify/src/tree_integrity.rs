//! Checks that a checkout matches the hash of its commit. Git does not verify that by itself, and agents can
//! write object files.
//!
//! This runs in another room than the checks, so that both can run at the same time and no program of the
//! checkout can interfere. An agent that is still working could replace objects in between; none is when
//! everything is rechecked at the end.

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_sandbox::{EgressRules, Repository};

use crate::checkout::{Checkout, CheckoutFactory, borrow};
use crate::git;

/// Hashes the directories of the tree `$1` and the files in `$2`. For files that git, or a check since, has
/// changed, their objects are hashed.
const VERIFY_TREE: &str = r#"export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$2"
git read-tree "$1" || exit
git ls-tree -rtd --full-tree "$1" | sed -n 's/^[0-7]* tree \([0-9a-f]*\).*/\1^{tree}/p' |
    xargs git rev-parse > /dev/null 2>&1 || { echo "its directories are not what their hashes say"; exit 1; }
cd "$2" && git update-index --refresh --ignore-submodules -q > /dev/null && exit
git diff-files --ignore-submodules | sed 's/^:[0-7]* [0-7]* \([0-9a-f]*\) .*/\1^{blob}/' |
    xargs git rev-parse > /dev/null 2>&1 || { echo "its files are not what their hashes say"; exit 1; }"#;

/// Length of a SHA-256 hash.
const LONG_HASH: usize = 64;

impl CheckoutFactory {
    /// A mismatch is a fault.
    pub(crate) async fn verify_tree(&self, checkout: &Checkout) -> Result<(), Fault> {
        let Some(commit) = &checkout.revision.commit else {
            return Ok(());
        };
        let Some(objects) = self.objects(&Repository::around(&self.root))? else {
            return Ok(());
        };
        let directory = self.directory().map_err(|error| self.io_fault(&error))?;
        let tree = directory.path().join("tree");
        let format = if commit.len() == LONG_HASH { "sha256" } else { "sha1" };
        borrow(&tree, commit, &objects, format).map_err(|error| self.io_fault(&error))?;
        let session_sandbox =
            self.sandbox_reading(directory.path(), &objects, &checkout.tree, &EgressRules::default());
        let script = git::script(&session_sandbox, VERIFY_TREE).await?;
        let script = script.args([checkout.revision.tree.as_ref(), checkout.tree.as_os_str()]);
        let result = git::output(script.cwd(&tree)).await;
        session_sandbox.close().await;
        match result? {
            (0, _) => Ok(()),
            (_, output) => {
                let message =
                    format!("{} is not trustworthy: {}.", checkout.revision.describe(), output.trim());
                Err(Fault::permanent(FaultLayer::System, "checkout", message))
            }
        }
    }
}
