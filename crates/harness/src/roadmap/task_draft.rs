//! A task while its lines are read, and what becomes of them.

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::check_item;

use super::key_problem::KeyProblem;
use super::keys::Key;
use super::lines::BoxedItem;
use super::problem::RoadmapProblem;
use super::values;
use super::{Task, TaskDefaults, TaskId};
use crate::id::check_id;

type Problems = Vec<(usize, RoadmapProblem)>;

/// A task whose constraints are not known yet, since they may come after it.
pub(super) struct TaskDraft<'a> {
    line: usize,
    id: &'a str,
    done: bool,
    description: String,
    phase: Option<&'a str>,
    fields: Vec<Field<'a>>,
    /// Columns before the first key. What is indented further belongs to a value.
    key_indent: Option<usize>,
}

struct Field<'a> {
    key: Key,
    line: usize,
    value: String,
    /// List items below the key.
    items: Vec<(usize, &'a str)>,
}

impl<'a> TaskDraft<'a> {
    /// `None` if the line is not a task, which is reported.
    pub(super) fn begin(
        line: usize,
        item: BoxedItem<'a>,
        phase: Option<&'a str>,
        problems: &mut Problems,
    ) -> Option<Self> {
        if item.done.is_none() {
            problems.push(RoadmapProblem::Box.at(line));
        }
        let Some((id, description)) = item.id_and_description() else {
            problems.push(RoadmapProblem::NotATask.at(line));
            return None;
        };
        if let Err(why) = check_id(id) {
            problems.push(RoadmapProblem::Id { id: values::quoted(id), why }.at(line));
        }
        let (done, description) = (item.done.unwrap_or_default(), description.to_owned());
        Some(Self { line, id, done, description, phase, fields: Vec::new(), key_indent: None })
    }

    pub(super) fn add_item(&mut self, line: usize, indent: usize, text: &'a str, problems: &mut Problems) {
        if self.key_indent.is_some_and(|key_indent| indent > key_indent + 1) {
            return self.add_below_key(line, text, problems);
        }
        if text.starts_with("[ ] **") || text.starts_with("[x] **") {
            return problems.push(RoadmapProblem::IndentedTask.at(line));
        }
        self.key_indent.get_or_insert(indent);
        let Some((name, value)) = text.split_once(':') else {
            return problems.push(RoadmapProblem::NotAKey.at(line));
        };
        match Key::find(name) {
            Ok(key) => self.add_field(key, line, value.trim().to_owned(), problems),
            Err(problem) => problems.push(RoadmapProblem::from(problem).at(line)),
        }
    }

    fn add_field(&mut self, key: Key, line: usize, value: String, problems: &mut Problems) {
        if key != Key::Check && self.fields.iter().any(|field| field.key == key) {
            problems.push(RoadmapProblem::SecondKey(key.name()).at(line));
        }
        self.fields.push(Field { key, line, value, items: Vec::new() });
    }

    fn add_below_key(&mut self, line: usize, text: &'a str, problems: &mut Problems) {
        match self.fields.last_mut() {
            Some(field) if field.key == Key::Check => field.items.push((line, text)),
            Some(_) | None => self.add_line(line, &format!("- {text}"), problems),
        }
    }

    pub(super) fn add_text(&mut self, line: usize, indent: usize, text: &str, problems: &mut Problems) {
        let is_check = |(name, value): (&str, &str)| {
            let names_check = ["check", "checks"].iter().any(|check| name.eq_ignore_ascii_case(check));
            names_check && value.trim_start().starts_with('`')
        };
        if text.split_once(':').is_some_and(is_check) {
            return problems.push(RoadmapProblem::CheckBlock.at(line));
        }
        let goal = text.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("goal"));
        if let Some((_, value)) = goal {
            return self.add_field(Key::Goal, line, value.trim().to_owned(), problems);
        }
        let is_in_goal = self.fields.last().is_some_and(|field| field.key == Key::Goal);
        match indent > 0 || is_in_goal {
            true => self.add_line(line, text, problems),
            false => problems.push(RoadmapProblem::StrayText.at(line)),
        }
    }

    /// A line that continues the last value, or the description.
    pub(super) fn add_line(&mut self, line: usize, text: &str, problems: &mut Problems) {
        let value = match self.fields.last_mut() {
            Some(field) if field.key.has_lines() => &mut field.value,
            Some(field) => return problems.push(RoadmapProblem::SeveralLines(field.key.name()).at(line)),
            None => &mut self.description,
        };
        if !value.is_empty() {
            value.push('\n');
        }
        value.push_str(text);
    }

    /// An empty line separates the paragraphs of a goal.
    pub(super) fn add_blank(&mut self) {
        if let Some(field) = self.fields.last_mut().filter(|field| field.key == Key::Goal) {
            field.value.push('\n');
        }
    }

    /// The line of `depends`, or else of the task.
    pub(super) fn depends_line(&self) -> usize {
        self.fields.iter().find(|field| field.key == Key::Depends).map_or(self.line, |field| field.line)
    }

    pub(super) fn finish(self, defaults: &TaskDefaults, backends: &[&str], problems: &mut Problems) -> Task {
        if self.description.is_empty() {
            problems.push(RoadmapProblem::NoDescription(values::quoted(self.id)).at(self.line));
        }
        let mut task = Task {
            id: TaskId::new(self.id),
            line: self.line,
            done: self.done,
            goal: String::new(),
            description: self.description,
            phase: self.phase.map(str::to_owned),
            depends: Vec::new(),
            timeout: defaults.timeout,
            success_criteria: None,
            cwd: defaults.cwd.clone(),
            cli: Vec::new(),
            model: None,
            max_retries: defaults.max_retries,
            max_iterations: defaults.max_iterations,
            stuck_after: defaults.stuck_after,
            checks: Vec::new(),
            issue: None,
        };
        for field in &self.fields {
            if field.value.trim().is_empty() && field.items.is_empty() {
                let problem = RoadmapProblem::from(KeyProblem::NoValue(field.key.name()));
                problems.push(problem.at(field.line));
            } else if let Err(problem) = apply(&mut task, field, backends, problems) {
                problems.push(RoadmapProblem::from(problem).at(field.line));
            }
        }
        if task.goal.is_empty() {
            task.goal.clone_from(&task.description);
        }
        task
    }
}

fn apply(
    task: &mut Task,
    field: &Field<'_>,
    backends: &[&str],
    problems: &mut Problems,
) -> Result<(), KeyProblem> {
    let value = field.value.trim();
    match field.key {
        Key::Goal => task.goal = value.to_owned(),
        Key::Success => task.success_criteria = Some(value.to_owned()),
        Key::Depends => task.depends = values::ids("depends", value)?,
        Key::Timeout => task.timeout = values::time(value)?,
        Key::Cwd => task.cwd = values::directory(value)?,
        Key::Cli => task.cli = values::backends(value, backends)?,
        Key::Model => task.model = Some(value.trim_matches('`').to_owned()),
        Key::MaxRetries => task.max_retries = values::attempts("max_retries", value)?,
        Key::MaxIterations => task.max_iterations = values::iterations("max_iterations", value)?,
        Key::StuckAfter => task.stuck_after = values::number("stuck_after", value, 1)?,
        Key::Issue => task.issue = Some(values::issue(value)?),
        Key::Check => add_checks(task, field, problems),
        Key::Foreign(foreign) => foreign.accept(value)?,
    }
    Ok(())
}

fn add_checks(task: &mut Task, field: &Field<'_>, problems: &mut Problems) {
    let own = (!field.value.trim().is_empty()).then_some((field.line, field.value.trim()));
    for (line, item) in own.into_iter().chain(field.items.iter().copied()) {
        match read_check(task, item) {
            Ok(check) => task.checks.push(check),
            Err(problem) => problems.push(problem.at(line)),
        }
    }
}

fn read_check(task: &Task, item: &str) -> Result<Check, RoadmapProblem> {
    let mut check = check_item::parse(item, CheckOrigin::Roadmap)?;
    if let Some(other) = check.deliverable.filter(|other| other != task.id.as_str()) {
        return Err(RoadmapProblem::CheckForOther(values::quoted(&other)));
    }
    check.name = match task.checks.len() {
        0 => task.id.to_string(),
        earlier => format!("{}-{}", task.id, earlier + 1),
    };
    check.deliverable = Some(task.id.to_string());
    Ok(check)
}
