//! Writes the check box of a task back into the roadmap, and changes no other byte of it.

use std::collections::BTreeSet;

use super::document::task_items;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckBoxError {
    #[error("the roadmap has no task '{0}'")]
    NoTask(String),
    #[error("the roadmap has more than one task '{0}'")]
    SeveralTasks(String),
    #[error("the task '{0}' has no check box")]
    NoBox(String),
}

/// The text of the roadmap with the box of this task checked or not.
pub fn set_done(text: &str, id: &str, done: bool) -> Result<String, CheckBoxError> {
    let items = task_items(text);
    let mut of_id =
        items.iter().filter(|item| item.id_and_description().is_some_and(|(found, _)| found == id));
    let item = of_id.next().ok_or_else(|| CheckBoxError::NoTask(id.to_owned()))?;
    if of_id.next().is_some() {
        return Err(CheckBoxError::SeveralTasks(id.to_owned()));
    }
    match item.done {
        None => Err(CheckBoxError::NoBox(id.to_owned())),
        Some(is_done) if is_done == done => Ok(text.to_owned()),
        Some(_) => {
            let (before, after) = (&text[..item.mark], &text[item.mark + 1..]);
            Ok(format!("{before}{}{after}", if done { 'x' } else { ' ' }))
        }
    }
}

/// The text with the boxes of these tasks unchecked, and those of them that were checked.
pub fn uncheck<'a>(text: &str, ids: &'a BTreeSet<String>) -> (String, BTreeSet<&'a str>) {
    let mut plain = text.as_bytes().to_vec();
    let mut checked = BTreeSet::new();
    for item in task_items(text) {
        let Some((id, _)) = item.id_and_description() else { continue };
        if let (Some(true), Some(id)) = (item.done, ids.get(id)) {
            plain[item.mark] = b' ';
            checked.insert(id.as_str());
        }
    }
    // One letter was replaced by another, each of one byte.
    (String::from_utf8_lossy(&plain).into_owned(), checked)
}
