//! Whether a checkout is what the hash of its commit says. Git does not look at that, and objects are files that agents can write.
//!
//! It is found out from another room than the one where checks run, so that it can go on meanwhile and no program of the checkout has
//! a hand in it. Somebody who is still at work could exchange objects in between; nobody is when everything is looked at once more.

use autonoe_core::fault::{Fault, Layer};
use autonoe_sandbox::{EgressRules, Repository};

use crate::checkout::{Checkout, CheckoutFactory, borrow};
use crate::git;

/// Hashes the directories of the tree `$1`, and the files as they lie in `$2`; of those that git, or a check since, has changed, what they
/// are made of.
const PROVE: &str = r#"export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$2"
git read-tree "$1" || exit
git ls-tree -rtd --full-tree "$1" | sed -n 's/^[0-7]* tree \([0-9a-f]*\).*/\1^{tree}/p' |
    xargs git rev-parse > /dev/null 2>&1 || { echo "its directories are not what their hashes say"; exit 1; }
cd "$2" && git update-index --refresh --ignore-submodules -q > /dev/null && exit
git diff-files --ignore-submodules | sed 's/^:[0-7]* [0-7]* \([0-9a-f]*\) .*/\1^{blob}/' |
    xargs git rev-parse > /dev/null 2>&1 || { echo "its files are not what their hashes say"; exit 1; }"#;

/// The length of a hash in git's newer form.
const LONG_HASH: usize = 64;

impl CheckoutFactory {
    /// Looks whether a checkout is what its commit says; a fault if it is not.
    pub(crate) async fn prove(&self, checkout: &Checkout) -> Result<(), Fault> {
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
            self.looking_at(directory.path(), &objects, &checkout.tree, &EgressRules::default());
        let script = git::script(&session_sandbox, PROVE).await?;
        let script = script.args([checkout.revision.tree.as_ref(), checkout.tree.as_os_str()]);
        let proven = git::said(script.cwd(&tree)).await;
        session_sandbox.close().await;
        match proven? {
            (0, _) => Ok(()),
            (_, said) => {
                let message = format!("{} cannot be believed: {}.", checkout.revision.shown(), said.trim());
                Err(Fault::lasting(Layer::System, "checkout", message))
            }
        }
    }
}
