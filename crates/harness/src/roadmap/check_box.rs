//! Writes the check box of a task back into the roadmap, and changes no other byte of it.

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
