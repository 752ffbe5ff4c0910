//! Adds tasks to the text of a roadmap, in a phase of their own at the end of `## Tasks`. Every byte that was there stays as it was.

use super::document::is_tasks;
use super::lines::{LineKind, lines};
use super::problem::{RoadmapError, RoadmapProblem};
use super::{Roadmap, Task};

/// A roadmap that was read, or one that has a section for tasks but no task yet.
pub(super) fn parse_or_empty(text: &str, backends: &[&str]) -> Result<Option<Roadmap>, RoadmapError> {
    match Roadmap::parse(text, backends) {
        Ok(roadmap) => Ok(Some(roadmap)),
        Err(error) if matches!(error.problems[..], [(_, RoadmapProblem::NoTask)]) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text with `tasks`, which are lines with `\n`, and the roadmap that it then is. Tasks that would change anything else are an error.
pub(super) fn with_tasks(
    text: &str,
    phase: &str,
    tasks: &str,
    backends: &[&str],
) -> Result<(String, Roadmap), RoadmapError> {
    let before = parse_or_empty(text, backends)?;
    let Some(place) = end_of_tasks(text) else {
        return Err(RoadmapProblem::NoTask.at(1).into());
    };
    let (start, rest) = text.split_at(place.offset);
    let mut added = String::new();
    if !start.ends_with('\n') {
        added.push('\n');
    }
    if place.last_phase != Some(phase) {
        let has_blank = start.lines().next_back().is_some_and(|line| line.trim().is_empty());
        added.push_str(if has_blank { "" } else { "\n" });
        added.push_str(&format!("### {phase}\n"));
    }
    added.push_str(tasks);
    if !rest.is_empty() {
        added.push('\n');
    }
    if text.contains("\r\n") {
        added = added.replace('\n', "\r\n");
    }
    let text = format!("{start}{added}{rest}");
    let after = Roadmap::parse(&text, backends)?;
    match before.is_none_or(|before| is_kept(&before, &after)) {
        true => Ok((text, after)),
        false => Err(RoadmapProblem::ChangesOthers.at(1).into()),
    }
}

struct EndOfTasks<'a> {
    /// Where the section ends, in bytes.
    offset: usize,
    last_phase: Option<&'a str>,
}

/// `None` if there is no section for tasks.
fn end_of_tasks(text: &str) -> Option<EndOfTasks<'_>> {
    let (found, _) = lines(text);
    let mut offset = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let (mut is_inside, mut last_phase) = (false, None);
    for (line, whole) in found.iter().zip(text[offset..].split_inclusive('\n')) {
        match line.kind {
            LineKind::Heading { level: 1 | 2, .. } if is_inside => {
                return Some(EndOfTasks { offset, last_phase });
            }
            LineKind::Heading { level: 2, title } => is_inside = is_tasks(title),
            LineKind::Heading { level: 3, title } if is_inside => last_phase = Some(title),
            LineKind::Heading { .. }
            | LineKind::Blank
            | LineKind::Hidden
            | LineKind::Fenced { .. }
            | LineKind::Boxed(_)
            | LineKind::Item { .. }
            | LineKind::Text { .. } => {}
        }
        offset += whole.len();
    }
    is_inside.then_some(EndOfTasks { offset, last_phase })
}

/// Whether all that was in a roadmap is still there, and its tasks come first.
fn is_kept(before: &Roadmap, after: &Roadmap) -> bool {
    let same_task = |(old, new): (&Task, &Task)| *old == Task { line: old.line, ..new.clone() };
    let without_tasks = |roadmap: &Roadmap| Roadmap { tasks: Vec::new(), ..roadmap.clone() };
    before.tasks.len() < after.tasks.len()
        && before.tasks.iter().zip(&after.tasks).all(same_task)
        && without_tasks(before) == without_tasks(after)
}

#[cfg(test)]
mod tests {
    use super::with_tasks;

    const TASK: &str = "- [ ] **b**: Two\n  - depends: a\n";

    #[test]
    fn every_byte_that_was_there_stays() {
        for (text, start) in [
            ("## Tasks\n- [ ] **a**: One\n", "## Tasks\n- [ ] **a**: One\n"),
            ("## Tasks\n- [ ] **a**: One", "## Tasks\n- [ ] **a**: One"),
            ("\u{feff}## Tasks\r\n- [x] **a**: One\r\n", "\u{feff}## Tasks\r\n- [x] **a**: One\r\n"),
            (
                "## Tasks\n### More\n- [ ] **a**: One\n\n## Growth Mode\n1. grow\n",
                "## Tasks\n### More\n- [ ] **a**: One\n\n",
            ),
            (
                "## Tasks\n- [ ] **a**: One\n  ```\n  ## Notes\n  ```\n",
                "## Tasks\n- [ ] **a**: One\n  ```\n  ## Notes\n  ```\n",
            ),
        ] {
            let (new, roadmap) =
                with_tasks(text, "More", TASK, &[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(new.starts_with(start) && new.ends_with(&text[start.len()..]), "{new:?}");
            assert_eq!(new.contains('\r'), text.contains('\r'));
            assert!(!new.replace("\r\n", "").contains(['\r']), "{new:?}");
            let ids: Vec<&str> = roadmap.tasks.iter().map(|task| task.id.as_str()).collect();
            assert_eq!((ids, roadmap.tasks[1].phase.as_deref()), (vec!["a", "b"], Some("More")), "{new}");
            assert_eq!(new.matches("### More").count(), 1);
            // Once more, into the same phase.
            let third = "- [ ] **c**: Three\n";
            let (newer, _) = with_tasks(&new, "More", third, &[]).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(newer.matches("### More").count(), 1, "{newer}");
        }
    }

    #[test]
    fn tasks_that_do_not_fit_are_refused() {
        let text = "## Tasks\n- [ ] **a**: One\n";
        for (tasks, said) in [
            ("- [ ] **a**: Again\n", "two tasks are called 'a'"),
            ("- [ ] **b**: Two\n  - depends: c\n", "unknown task 'c'"),
            ("- [ ] **b**: Two\n## Constraints\n- Use nothing\n", "would change"),
        ] {
            let error = with_tasks(text, "More", tasks, &[]).expect_err(tasks).to_string();
            assert!(error.contains(said), "{error}");
        }
        let error = with_tasks("# Roadmap\n", "More", TASK, &[]).expect_err("no section").to_string();
        assert!(error.contains("has no task"), "{error}");
        let (new, _) =
            with_tasks("# Roadmap: X\n\n## Tasks\n", "More", "- [ ] **a**: One\n", &[]).expect("valid");
        assert_eq!(new, "# Roadmap: X\n\n## Tasks\n\n### More\n- [ ] **a**: One\n");
    }
}
