//! Reads a fleet file section by section and gathers every problem.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use autonoe_core::money::Usd;
use autonoe_harness::id::check_harness_id;
use autonoe_harness::roadmap::dependencies::{cycles, places_of};
use autonoe_harness::roadmap::lines::{Line, LineKind, lines};
use autonoe_harness::roadmap::values::{self, flag, wrong_value};
use autonoe_harness::roadmap::{KeyProblem, RoadmapProblem};

use super::keys::{Key, SECTIONS, Section};
use super::problem::{FleetFileError, FleetProblem};
use super::{
    Aggregation, FleetFile, MAX_HARNESSES, OnComplete, ReadRoadmap, StrategySettings, SubHarness, UNNAMED,
    VoteSelection, plain_name,
};
use crate::coordination_strategy::CoordinationStrategy;

struct Field<'a> {
    key: Key,
    line: usize,
    value: &'a str,
}

/// A harness while its lines are read.
struct Draft<'a> {
    id: &'a str,
    line: usize,
    fields: Vec<Field<'a>>,
}

struct Reader<'a> {
    name: Option<String>,
    objective: String,
    /// `None` before the first section.
    section: Option<Section>,
    seen: Vec<Section>,
    strategy: Vec<Field<'a>>,
    strategy_line: usize,
    drafts: Vec<Draft<'a>>,
    harnesses_line: usize,
    aggregation: Vec<Field<'a>>,
    problems: Vec<(usize, FleetProblem)>,
}

pub(super) fn parse(
    text: &str,
    backends: &[&str],
    read_roadmap: &mut ReadRoadmap<'_>,
) -> Result<(FleetFile, Vec<u32>), FleetFileError> {
    let (lines, problems) = lines(text);
    let mut reader = Reader {
        name: None,
        objective: String::new(),
        section: None,
        seen: Vec::new(),
        strategy: Vec::new(),
        strategy_line: 1,
        drafts: Vec::new(),
        harnesses_line: 1,
        aggregation: Vec::new(),
        problems: problems.into_iter().map(|(line, problem)| FleetProblem::from(problem).at(line)).collect(),
    };
    lines.iter().for_each(|line| reader.add(line));
    reader.finish(backends, read_roadmap)
}

impl<'a> Reader<'a> {
    fn add(&mut self, line: &Line<'a>) {
        match line.kind {
            LineKind::Heading { level: 1, title } => self.add_title(title),
            LineKind::Heading { level: 2, title } => self.begin_section(line.number, title),
            LineKind::Heading { level: 3, title } => self.begin_harness(line.number, title),
            LineKind::Heading { .. } | LineKind::Hidden | LineKind::Blank => {}
            LineKind::Fenced { .. } | LineKind::Boxed(_) | LineKind::Item { .. } | LineKind::Text { .. } => {
                self.add_content(line);
            }
        }
    }

    fn add_title(&mut self, title: &str) {
        let prefix = title.split_once(':').filter(|(prefix, _)| {
            ["fleet", "meta-roadmap", "meta roadmap", "roadmap"]
                .iter()
                .any(|known| prefix.eq_ignore_ascii_case(known))
        });
        let name = prefix.map_or(title, |(_, name)| name.trim());
        self.name.get_or_insert_with(|| plain_name(name));
        self.section = None;
    }

    fn begin_section(&mut self, number: usize, title: &str) {
        let found = SECTIONS.into_iter().find(|(name, _)| {
            let title = title.trim_end_matches(':');
            title.eq_ignore_ascii_case(name) || title.replace(' ', "-").eq_ignore_ascii_case(name)
        });
        let Some((name, section)) = found else {
            let lower: Vec<String> = SECTIONS.iter().map(|(name, _)| name.to_lowercase()).collect();
            let meant = values::meant(&title.to_lowercase(), lower.iter().map(String::as_str));
            let meant =
                meant.and_then(|meant| SECTIONS.iter().find(|(name, _)| name.to_lowercase() == meant));
            let meant = meant.map(|(name, _)| *name);
            self.problems
                .push(FleetProblem::UnknownSection { name: values::quoted(title), meant }.at(number));
            self.section = None;
            return;
        };
        if self.seen.contains(&section) {
            self.problems.push(FleetProblem::SecondSection(name).at(number));
        }
        match section {
            Section::Strategy => self.strategy_line = number,
            Section::Harnesses => self.harnesses_line = number,
            Section::Objective | Section::Aggregation => {}
        }
        self.seen.push(section);
        self.section = Some(section);
    }

    fn begin_harness(&mut self, line: usize, title: &'a str) {
        if self.section != Some(Section::Harnesses) {
            return self.problems.push(FleetProblem::HarnessOutside.at(line));
        }
        let id = title.trim().trim_matches(['`', '*']);
        if let Err(why) = check_harness_id(id) {
            let problem = RoadmapProblem::Id { id: values::quoted(id), why };
            self.problems.push(FleetProblem::from(problem).at(line));
        }
        self.drafts.push(Draft { id, line, fields: Vec::new() });
    }

    fn add_content(&mut self, line: &Line<'a>) {
        let Some(section) = self.section else { return };
        if section == Section::Objective {
            self.objective.push_str(line.text);
            return self.objective.push('\n');
        }
        let (LineKind::Item { text, .. } | LineKind::Text { text, .. }) = line.kind else {
            return self.problems.push(FleetProblem::NotAKey.at(line.number));
        };
        let fields = match section {
            Section::Strategy => &mut self.strategy,
            Section::Aggregation => &mut self.aggregation,
            Section::Harnesses | Section::Objective => match self.drafts.last_mut() {
                Some(draft) => &mut draft.fields,
                None => return self.problems.push(FleetProblem::NoHeading.at(line.number)),
            },
        };
        let Some((name, value)) = text.split_once(':') else {
            return self.problems.push(FleetProblem::NotAKey.at(line.number));
        };
        let key = match Key::find(name, section) {
            Ok(key) => key,
            Err(problem) => return self.problems.push(FleetProblem::from(problem).at(line.number)),
        };
        let value = value.trim().trim_start_matches('*').trim();
        if fields.iter().any(|field| field.key == key) {
            self.problems.push(FleetProblem::SecondKey(key.name()).at(line.number));
        }
        if value.is_empty() {
            let problem = FleetProblem::from(KeyProblem::NoValue(key.name()));
            return self.problems.push(problem.at(line.number));
        }
        fields.push(Field { key, line: line.number, value });
    }

    fn finish(
        mut self,
        backends: &[&str],
        read_roadmap: &mut ReadRoadmap<'_>,
    ) -> Result<(FleetFile, Vec<u32>), FleetFileError> {
        let settings = self.settings();
        let aggregation = self.aggregation();
        if self.drafts.len() > MAX_HARNESSES {
            self.problems.push(FleetProblem::TooManyHarnesses.at(self.harnesses_line));
            self.drafts.truncate(MAX_HARNESSES);
        }
        let drafts = std::mem::take(&mut self.drafts);
        let harnesses: Vec<SubHarness> = drafts.iter().map(|draft| self.harness(draft, backends)).collect();
        let hides_harnesses = |(_, problem): &(usize, FleetProblem)| problem.hides_harnesses();
        if harnesses.is_empty() && !self.problems.iter().any(hides_harnesses) {
            self.problems.push(FleetProblem::NoHarness.at(self.harnesses_line));
        }
        self.check_names(&harnesses);
        self.check_dependencies(&harnesses, settings.coordination);
        self.check_count(&harnesses, &settings);
        let checked_tasks = self.check_roadmaps(&harnesses, settings.coordination, read_roadmap);
        if self.problems.is_empty() {
            let name = self.name.unwrap_or_else(|| UNNAMED.to_owned());
            let objective = self.objective.trim().to_owned();
            return Ok((FleetFile { name, objective, settings, harnesses, aggregation }, checked_tasks));
        }
        self.problems.sort_by_key(|(line, _)| *line);
        Err(FleetFileError { problems: self.problems })
    }

    fn settings(&mut self) -> StrategySettings {
        let fields = std::mem::take(&mut self.strategy);
        let mut settings = StrategySettings::new(CoordinationStrategy::Parallel);
        match fields.iter().find(|field| field.key == Key::Coordination) {
            None => self.problems.push(FleetProblem::NoCoordination.at(self.strategy_line)),
            Some(field) => match coordination(field.value) {
                Ok(found) => settings = StrategySettings::new(found),
                Err(problem) => self.problems.push(FleetProblem::from(problem).at(field.line)),
            },
        }
        for field in &fields {
            if field.key.strategy().is_some_and(|other| other != settings.coordination) {
                let (key, strategy) = (field.key.name(), settings.coordination.name());
                self.problems.push(FleetProblem::OtherStrategy { key, strategy }.at(field.line));
            } else if let Err(problem) = apply(&mut settings, field) {
                self.problems.push(FleetProblem::from(problem).at(field.line));
            }
        }
        settings
    }

    fn aggregation(&mut self) -> Aggregation {
        let mut aggregation = Aggregation::default();
        for field in std::mem::take(&mut self.aggregation) {
            let applied = match field.key {
                Key::OnComplete => on_complete(field.value).map(|found| aggregation.on_complete = found),
                Key::OutputDir => {
                    values::directory(field.value).map(|found| aggregation.output_dir = Some(found))
                }
                key => key.accept(field.value),
            };
            if let Err(problem) = applied {
                self.problems.push(FleetProblem::from(problem).at(field.line));
            }
        }
        aggregation
    }

    fn harness(&mut self, draft: &Draft<'a>, backends: &[&str]) -> SubHarness {
        let mut harness = SubHarness {
            id: draft.id.to_owned(),
            line: draft.line,
            working_dir: PathBuf::from("."),
            roadmap: PathBuf::new(),
            cli: Vec::new(),
            model: None,
            depends: Vec::new(),
        };
        let mut has_roadmap = false;
        for field in &draft.fields {
            has_roadmap |= field.key == Key::Roadmap;
            let applied = match field.key {
                Key::WorkingDir => values::directory(field.value).map(|found| harness.working_dir = found),
                Key::Roadmap => values::directory(field.value).map(|found| harness.roadmap = found),
                Key::Cli => values::backends(field.value, backends).map(|found| harness.cli = found),
                Key::Model => {
                    harness.model = Some(field.value.trim_matches('`').to_owned());
                    Ok(())
                }
                Key::Depends => values::ids("depends", field.value)
                    .map(|found| harness.depends = found.iter().map(ToString::to_string).collect()),
                key => key.accept(field.value),
            };
            if let Err(problem) = applied {
                self.problems.push(FleetProblem::from(problem).at(field.line));
            }
        }
        if !has_roadmap {
            self.problems.push(FleetProblem::NoRoadmap(values::quoted(draft.id)).at(draft.line));
        } else if !below(&harness.roadmap, &harness.working_dir) {
            let (roadmap, working_dir) =
                (harness.roadmap.display().to_string(), harness.working_dir.display().to_string());
            self.problems.push(FleetProblem::RoadmapOutside { roadmap, working_dir }.at(draft.line));
        }
        harness
    }

    fn check_names(&mut self, harnesses: &[SubHarness]) {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for harness in harnesses {
            match first.get(harness.id.as_str()) {
                Some(first) => {
                    let problem =
                        FleetProblem::TwoHarnesses { id: values::quoted(&harness.id), first: *first };
                    self.problems.push(problem.at(harness.line));
                }
                None => drop(first.insert(&harness.id, harness.line)),
            }
        }
    }

    fn check_dependencies(&mut self, harnesses: &[SubHarness], coordination: CoordinationStrategy) {
        let places: HashMap<&str, usize> =
            harnesses.iter().enumerate().map(|(place, harness)| (harness.id.as_str(), place)).collect();
        for (place, harness) in harnesses.iter().enumerate() {
            for name in &harness.depends {
                let problem = match places.get(name.as_str()) {
                    _ if *name == harness.id => Some(FleetProblem::DependsOnItself),
                    None => {
                        let ids = harnesses.iter().map(|harness| harness.id.as_str());
                        let meant = values::meant(name, ids).map(str::to_owned);
                        Some(FleetProblem::UnknownDependency { name: values::quoted(name), meant })
                    }
                    Some(other) => {
                        let is_later = coordination == CoordinationStrategy::Pipeline && *other > place;
                        let (id, later) = (harness.id.clone(), name.clone());
                        is_later.then_some(FleetProblem::PipelineOrder { id, later })
                    }
                };
                self.problems.extend(problem.map(|problem| problem.at(harness.line)));
            }
            let is_contest =
                matches!(coordination, CoordinationStrategy::Race | CoordinationStrategy::Voting);
            if is_contest && !harness.depends.is_empty() {
                let problem = FleetProblem::OtherStrategy { key: "depends", strategy: coordination.name() };
                self.problems.push(problem.at(harness.line));
            }
        }
        let ids: Vec<&str> = harnesses.iter().map(|harness| harness.id.as_str()).collect();
        let depends =
            harnesses.iter().map(|harness| harness.depends.iter().map(String::as_str).collect::<Vec<_>>());
        for cycle in cycles(&places_of(&ids, depends)) {
            let Some(first) = cycle.first().copied() else { continue };
            let ids = cycle.iter().chain([&first]).map(|place| harnesses[*place].id.clone()).collect();
            self.problems.push(FleetProblem::Cycle(ids).at(harnesses[first].line));
        }
    }

    /// Reads every roadmap once. Returns how many tasks of each harness checks decide about.
    fn check_roadmaps(
        &mut self,
        harnesses: &[SubHarness],
        coordination: CoordinationStrategy,
        read: &mut ReadRoadmap<'_>,
    ) -> Vec<u32> {
        let mut found: HashMap<&Path, u32> = HashMap::new();
        let mut checked_tasks = Vec::new();
        for harness in harnesses {
            let path = harness.roadmap.as_path();
            let checked = match found.get(path) {
                Some(checked) => *checked,
                // Its own problem was reported.
                None if path.as_os_str().is_empty() => 0,
                None => {
                    let problem = match read(path) {
                        Ok(0) if coordination.is_contest() => {
                            let roadmap = path.display().to_string();
                            Err(FleetProblem::NoChecks { strategy: coordination.noun(), roadmap })
                        }
                        Ok(checked) => Ok(checked),
                        Err(why) => Err(FleetProblem::UnusableRoadmap(why)),
                    };
                    let checked = *problem.as_ref().unwrap_or(&0);
                    self.problems.extend(problem.err().map(|problem| problem.at(harness.line)));
                    found.insert(path, checked);
                    checked
                }
            };
            checked_tasks.push(checked);
        }
        checked_tasks
    }

    fn check_count(&mut self, harnesses: &[SubHarness], settings: &StrategySettings) {
        let needed = match settings.coordination {
            CoordinationStrategy::Parallel | CoordinationStrategy::Pipeline => 1,
            CoordinationStrategy::Race => 2,
            CoordinationStrategy::Voting => settings.min_votes.max(2),
        };
        if !harnesses.is_empty() && harnesses.len() < needed {
            let (strategy, found) = (settings.coordination.noun(), harnesses.len());
            self.problems.push(FleetProblem::TooFew { strategy, needed, found }.at(self.harnesses_line));
        }
    }
}

fn apply(settings: &mut StrategySettings, field: &Field<'_>) -> Result<(), KeyProblem> {
    let (name, value) = (field.key.name(), field.value);
    let count = |value: &str| values::number(name, value, 1).map(|number| number as usize);
    match field.key {
        Key::MaxConcurrent => settings.max_concurrent = count(value)?,
        Key::MaxTotalTime => settings.max_total_time = values::time(value)?,
        Key::MaxCost => settings.max_cost = Some(dollars(name, value)?),
        Key::DefaultTimeout => settings.default_timeout = Some(values::time(value)?),
        Key::RetryFailed => settings.retry_failed = flag(name, value)?,
        Key::MaxRetries => settings.max_retries = values::number(name, value, 0)?,
        Key::FailFast => settings.fail_fast = flag(name, value)?,
        Key::StopOnFailure => settings.stop_on_failure = flag(name, value)?,
        Key::PassContext => settings.pass_context = flag(name, value)?,
        Key::InitialContext => settings.initial_context = Some(value.to_owned()),
        Key::MinProgress => settings.min_progress_to_win = part(name, value)?,
        Key::TerminateLosers => settings.terminate_losers = flag(name, value)?,
        Key::MinVotes => settings.min_votes = count(value)?,
        Key::Selection => settings.selection_criteria = selection(value)?,
        Key::Coordination => {}
        key => key.accept(value)?,
    }
    Ok(())
}

fn coordination(value: &str) -> Result<CoordinationStrategy, KeyProblem> {
    let found = CoordinationStrategy::ALL.into_iter().find(|known| value.eq_ignore_ascii_case(known.name()));
    found.ok_or_else(|| wrong_value("coordination", value, "parallel, pipeline, race or voting"))
}

fn selection(value: &str) -> Result<VoteSelection, KeyProblem> {
    let found = VoteSelection::ALL.into_iter().find(|known| value.eq_ignore_ascii_case(known.name()));
    let expected = "first, best_progress, best_tests, lowest_failures or fastest";
    found.ok_or_else(|| wrong_value("selection_criteria", value, expected))
}

fn on_complete(value: &str) -> Result<OnComplete, KeyProblem> {
    match value.to_lowercase().as_str() {
        "merge_all" => Ok(OnComplete::MergeAll),
        "keep" | "none" => Ok(OnComplete::Keep),
        _ => Err(wrong_value("on_complete", value, "`merge_all` or `keep`")),
    }
}

/// A number from 0 to 1.
fn dollars(key: &'static str, value: &str) -> Result<Usd, KeyProblem> {
    value.parse().map_err(|_| wrong_value(key, value, "an amount in USD above 0, such as 20 or 0.50"))
}

fn part(key: &'static str, value: &str) -> Result<f64, KeyProblem> {
    let found = value.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    found.ok_or_else(|| wrong_value(key, value, "a number from 0 to 1"))
}

/// Whether a path is below a directory; both are relative to the project and lead not out of it.
fn below(path: &Path, directory: &Path) -> bool {
    let names = |path: &Path| -> Vec<PathBuf> {
        let plain = path.components().filter(|part| *part != Component::CurDir);
        plain.map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    names(path).starts_with(&names(directory))
}
