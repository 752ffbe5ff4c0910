//! Reads a roadmap section by section and gathers every problem.

use std::collections::HashMap;

use super::dependencies;
use super::key_problem::KeyProblem;
use super::lines::{BoxedItem, Line, LineKind, lines, looks_boxed};
use super::problem::{RoadmapError, RoadmapProblem};
use super::task_draft::TaskDraft;
use super::values;
use super::{MAX_TASKS, Roadmap, SuccessCriterion, TaskDefaults, UNNAMED};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Objective,
    Constraints,
    SuccessCriteria,
    Tasks,
    Growth,
    /// Of no meaning to us, such as notes.
    Other,
}

const SECTIONS: [(&str, Section); 5] = [
    ("Objective", Section::Objective),
    ("Constraints", Section::Constraints),
    ("Success Criteria", Section::SuccessCriteria),
    ("Tasks", Section::Tasks),
    ("Growth Mode", Section::Growth),
];

/// Constraints that are settings, as they are usually written.
const SETTINGS: [&str; 5] = [
    "max time per task",
    "max retries per task",
    "working directory",
    "max iterations per task",
    "stuck after",
];

struct Reader<'a> {
    roadmap: Roadmap,
    section: Section,
    /// Sections that were there already.
    seen: Vec<Section>,
    phase: Option<&'a str>,
    drafts: Vec<TaskDraft<'a>>,
    /// Whether lines belong to the last draft.
    is_in_task: bool,
    /// Line of `## Tasks`; 1 if there is none.
    tasks_line: usize,
    problems: Vec<(usize, RoadmapProblem)>,
}

pub(super) fn parse(text: &str, backends: &[&str]) -> Result<Roadmap, RoadmapError> {
    let (lines, problems) = lines(text);
    let roadmap = Roadmap {
        name: UNNAMED.to_owned(),
        objective: String::new(),
        defaults: TaskDefaults::default(),
        constraints: Vec::new(),
        success_criteria: Vec::new(),
        tasks: Vec::new(),
        growth: Vec::new(),
    };
    let mut reader = Reader {
        roadmap,
        section: Section::Other,
        seen: Vec::new(),
        phase: None,
        drafts: Vec::new(),
        is_in_task: false,
        tasks_line: 1,
        problems,
    };
    lines.iter().for_each(|line| reader.add(line));
    reader.finish(backends)
}

pub(super) fn is_tasks(title: &str) -> bool {
    section(title).is_some_and(|(_, section)| section == Section::Tasks)
}

fn section(title: &str) -> Option<(&'static str, Section)> {
    SECTIONS.into_iter().find(|(name, _)| title.trim_end_matches(':').eq_ignore_ascii_case(name))
}

impl<'a> Reader<'a> {
    fn add(&mut self, line: &Line<'a>) {
        match line.kind {
            LineKind::Heading { level: 1, title } => self.add_title(title),
            LineKind::Heading { level: 2, title } => self.begin_section(line.number, title),
            LineKind::Hidden => {}
            LineKind::Blank
            | LineKind::Fenced { .. }
            | LineKind::Heading { .. }
            | LineKind::Boxed(_)
            | LineKind::Item { .. }
            | LineKind::Text { .. } => self.add_content(line),
        }
    }

    fn add_title(&mut self, title: &str) {
        let prefix = title.get(..8).filter(|prefix| prefix.eq_ignore_ascii_case("roadmap:"));
        let name = prefix.map_or(title, |prefix| title[prefix.len()..].trim());
        if self.roadmap.name == UNNAMED && !name.is_empty() {
            name.clone_into(&mut self.roadmap.name);
        }
        (self.section, self.is_in_task) = (Section::Other, false);
    }

    fn begin_section(&mut self, number: usize, title: &str) {
        (self.section, self.phase, self.is_in_task) = (Section::Other, None, false);
        let Some((name, section)) = section(title) else {
            let lower: Vec<String> = SECTIONS.iter().map(|(name, _)| name.to_lowercase()).collect();
            let meant = values::meant(&title.to_lowercase(), lower.iter().map(String::as_str));
            let meant =
                meant.and_then(|meant| SECTIONS.iter().find(|(name, _)| name.to_lowercase() == meant));
            if let Some((meant, _)) = meant {
                self.problems
                    .push(RoadmapProblem::UnknownSection { name: values::quoted(title), meant }.at(number));
            }
            return;
        };
        if self.seen.contains(&section) {
            self.problems.push(RoadmapProblem::SecondSection(name).at(number));
        }
        if section == Section::Tasks {
            self.tasks_line = number;
        }
        self.seen.push(section);
        self.section = section;
    }

    fn add_content(&mut self, line: &Line<'a>) {
        match self.section {
            Section::Tasks => return self.add_to_tasks(line),
            Section::SuccessCriteria => return self.add_criterion(line),
            Section::Objective | Section::Constraints | Section::Growth | Section::Other => {}
        }
        let is_task = match line.kind {
            LineKind::Boxed(item) => item.id_and_description().is_some(),
            LineKind::Text { text, .. } => looks_boxed(text) && text.contains("**"),
            LineKind::Item { .. } | LineKind::Heading { .. } | LineKind::Fenced { .. } => false,
            LineKind::Blank | LineKind::Hidden => false,
        };
        if is_task {
            return self.problems.push(RoadmapProblem::TaskOutside.at(line.number));
        }
        match self.section {
            Section::Objective => {
                self.roadmap.objective.push_str(line.text);
                self.roadmap.objective.push('\n');
            }
            Section::Constraints => self.add_constraint(line),
            Section::Growth if !line.text.trim().is_empty() => {
                let text = line.text.trim().trim_start_matches(|c: char| c.is_ascii_digit());
                self.roadmap.growth.push(text.trim_start_matches(['.', '-', '*', ' ']).to_owned());
            }
            Section::Growth | Section::Other | Section::Tasks | Section::SuccessCriteria => {}
        }
    }

    fn add_criterion(&mut self, line: &Line<'a>) {
        let (text, done) = match line.kind {
            LineKind::Boxed(BoxedItem { done: None, .. }) => {
                return self.problems.push(RoadmapProblem::Box.at(line.number));
            }
            LineKind::Boxed(BoxedItem { text, done: Some(done), .. }) => (text, done),
            LineKind::Item { text, .. } | LineKind::Text { text, .. } => (text, false),
            LineKind::Blank | LineKind::Fenced { .. } | LineKind::Heading { .. } | LineKind::Hidden => return,
        };
        self.roadmap.success_criteria.push(SuccessCriterion { text: text.to_owned(), done });
    }

    fn add_constraint(&mut self, line: &Line<'a>) {
        let (LineKind::Item { text, .. } | LineKind::Text { text, .. }) = line.kind else {
            return;
        };
        if let Err(problem) = self.apply_constraint(text) {
            self.problems.push(RoadmapProblem::from(problem).at(line.number));
        }
    }

    /// A setting, or text for agents. The words of settings are those that roadmaps have always used.
    fn apply_constraint(&mut self, text: &str) -> Result<(), KeyProblem> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim().trim_matches('*').to_lowercase();
        let has = |words: &[&str]| !value.is_empty() && words.iter().any(|word| name.contains(word));
        let value = value.trim().trim_start_matches('*').trim();
        let defaults = &mut self.roadmap.defaults;
        if has(&["max time", "timeout"]) {
            defaults.timeout = values::time(value)?;
        } else if has(&["retries"]) {
            defaults.max_retries = values::attempts("max_retries", value)?;
        } else if has(&["working directory", "cwd"]) {
            defaults.cwd = values::directory(value)?;
        } else if has(&["max iterations"]) {
            defaults.max_iterations = values::iterations("max_iterations", value)?;
        } else if has(&["stuck after"]) {
            defaults.stuck_after = values::number("stuck_after", value, 1)?;
        } else if let Some(meant) = values::meant(&name, SETTINGS).filter(|_| !value.is_empty()) {
            return Err(KeyProblem::Unknown { name: values::quoted(&name), meant: Some(meant) });
        } else {
            self.roadmap.constraints.push(text.to_owned());
        }
        Ok(())
    }

    fn add_to_tasks(&mut self, line: &Line<'a>) {
        let problems = &mut self.problems;
        let draft = self.drafts.last_mut().filter(|_| self.is_in_task);
        match (line.kind, draft) {
            (LineKind::Heading { level: 3, title }, _) => {
                (self.phase, self.is_in_task) = (Some(without_number(title)), false);
            }
            (LineKind::Boxed(item), _) => {
                let draft = TaskDraft::begin(line.number, item, self.phase, problems);
                self.is_in_task = draft.is_some();
                self.drafts.extend(draft);
            }
            (LineKind::Fenced { opens: Some(word) }, _) if word.split(' ').next() == Some("check") => {
                problems.push(RoadmapProblem::CheckBlock.at(line.number));
            }
            (LineKind::Item { indent: 0, .. }, _) => problems.push(RoadmapProblem::NotATask.at(line.number)),
            (LineKind::Item { indent, text }, Some(draft)) => {
                draft.add_item(line.number, indent, text, problems);
            }
            (LineKind::Item { text, .. }, None) if text.starts_with('[') => {
                problems.push(RoadmapProblem::IndentedTask.at(line.number));
            }
            (LineKind::Text { indent: 0, text }, _) if looks_boxed(text) => {
                problems.push(RoadmapProblem::NotATask.at(line.number));
            }
            (LineKind::Text { text, .. }, None) if looks_boxed(text) => {
                problems.push(RoadmapProblem::IndentedTask.at(line.number));
            }
            (LineKind::Text { indent, text }, Some(draft)) => {
                draft.add_text(line.number, indent, text, problems);
            }
            (LineKind::Fenced { .. } | LineKind::Heading { .. }, Some(draft)) => {
                draft.add_line(line.number, line.text, problems);
            }
            (LineKind::Blank, Some(draft)) => draft.add_blank(),
            // Between a heading and the first task there may be a few words for people.
            (LineKind::Item { .. } | LineKind::Text { .. } | LineKind::Fenced { .. }, None)
            | (LineKind::Heading { .. } | LineKind::Blank, None)
            | (LineKind::Hidden, _) => {}
        }
    }

    fn finish(mut self, backends: &[&str]) -> Result<Roadmap, RoadmapError> {
        let objective = self.roadmap.objective.trim().to_owned();
        self.roadmap.objective = objective;
        if self.drafts.len() > MAX_TASKS {
            self.problems.push(RoadmapProblem::TooManyTasks.at(self.tasks_line));
            self.drafts.truncate(MAX_TASKS);
        }
        let mut first: HashMap<String, usize> = HashMap::new();
        let depends_lines: Vec<usize> = self.drafts.iter().map(TaskDraft::depends_line).collect();
        for draft in self.drafts {
            let task = draft.finish(&self.roadmap.defaults, backends, &mut self.problems);
            match first.get(task.id.as_str()) {
                Some(first) => {
                    let problem =
                        RoadmapProblem::TwoTasks { id: values::quoted(task.id.as_str()), first: *first };
                    self.problems.push(problem.at(task.line));
                }
                None => drop(first.insert(task.id.to_string(), task.line)),
            }
            self.roadmap.tasks.push(task);
        }
        // A line that was meant as a task has its own problem.
        let hides_tasks = |(_, problem): &(usize, RoadmapProblem)| problem.hides_tasks();
        if self.roadmap.tasks.is_empty() && !self.problems.iter().any(hides_tasks) {
            self.problems.push(RoadmapProblem::NoTask.at(self.tasks_line));
        }
        self.problems.extend(dependencies::problems(&self.roadmap.tasks, &depends_lines));
        if self.problems.is_empty() {
            return Ok(self.roadmap);
        }
        self.problems.sort_by_key(|(line, _)| *line);
        Err(RoadmapError { problems: self.problems })
    }
}

/// `Basics` of `Phase 1: Basics`.
fn without_number(title: &str) -> &str {
    let numbered = title.split_once(':').filter(|(prefix, _)| {
        let mut words = prefix.split_whitespace();
        let is_phase = words.next().is_some_and(|word| word.eq_ignore_ascii_case("phase"));
        is_phase && words.all(|word| word.chars().all(|letter| letter.is_ascii_digit()))
    });
    numbered.map_or(title, |(_, name)| name.trim())
}

/// Where tasks are, for those who need nothing else of the file.
pub(super) fn task_items(text: &str) -> Vec<BoxedItem<'_>> {
    let (lines, _) = lines(text);
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in lines {
        match line.kind {
            LineKind::Heading { level: 1, .. } => is_inside = false,
            LineKind::Heading { level: 2, title } => is_inside = is_tasks(title),
            LineKind::Boxed(item) if is_inside => found.push(item),
            LineKind::Blank
            | LineKind::Hidden
            | LineKind::Fenced { .. }
            | LineKind::Heading { .. }
            | LineKind::Boxed(_)
            | LineKind::Item { .. }
            | LineKind::Text { .. } => {}
        }
    }
    found
}
