//! Files that a commit adds under protected patterns. Checks do not see them until the user accepts them, but they land: so a check may pass
//! here and fail in a clone. It is run once more with them where only verified deliverables count.

use autonoe_core::check::Check;
use autonoe_core::fault::Fault;
use autonoe_core::file_names::list_names;
use autonoe_store::{AcceptError, CheckRegistry, Project, ProtectedPath};
use jiff::Timestamp;

use crate::blocking::blocking;
use crate::check_run;
use crate::checkout::{Checkout, CheckoutFactory};

/// Those of a commit on which a check was prepared.
pub(crate) fn added_files(registry: &CheckRegistry, checkout: &Checkout) -> Vec<ProtectedPath> {
    let changed = checkout.changed.get().into_iter().flatten().map(|(file, _)| file);
    changed.filter(|file| !registry.files.contains_key(file)).cloned().collect()
}

/// Why a check that passed without the `added` files does not pass with them, as a clause; `None` if it does, or there are none.
pub(crate) async fn why_failed_with(
    added: &[ProtectedPath],
    check: &Check,
    checkouts: &CheckoutFactory,
    commit: Option<&str>,
    registry: &CheckRegistry,
    project: &Project,
) -> Result<Option<String>, Fault> {
    if added.is_empty() {
        return Ok(None);
    }
    let checkout = checkouts.check_out(commit).await?;
    let committed = checkout.files().await?;
    let (mut accepting, in_project, files) = (registry.clone(), project.clone(), added.to_owned());
    let accept = move |_: &_| {
        let root = &committed.root;
        let now = Timestamp::now();
        files.iter().try_for_each(|file| accepting.accept(&in_project, root, file, now)).map(|()| accepting)
    };
    // As if the user had accepted them.
    let why = match blocking(accept).await {
        Ok(accepting) => {
            let run = check_run::run(check, &checkout, &accepting, project).await?;
            (!run.passed()).then(|| run.sentence())
        }
        Err(AcceptError::Unreadable(error)) => Some(format!("it could not run: {error}")),
        Err(AcceptError::Fault(fault)) => return Err(fault),
    };
    checkout.close().await;
    let names = list_names(added.iter().map(ToString::to_string));
    Ok(why.map(|why| {
        format!(
            "with --strict it must also pass with the new files that protected patterns hide from it ({names}), and there {why}; \
             fix them, or remove them"
        )
    }))
}
