//! Dependencies between tasks: unknown ones, and those that go round in a circle.

use std::collections::HashMap;

use super::problem::RoadmapProblem;
use super::values;
use super::{Task, TaskId};

/// For each task, the places of those that it depends on. Unknown ones are left out.
pub(super) fn places(tasks: &[Task]) -> Vec<Vec<usize>> {
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    places_of(&ids, tasks.iter().map(|task| task.depends.iter().map(TaskId::as_str).collect()))
}

/// For each of several things with these ids, the places of those that it waits for. Unknown ones are left out. Things with the same id are
/// one, at the first place, so that each circle is found.
pub fn places_of<'a>(ids: &[&'a str], depends: impl Iterator<Item = Vec<&'a str>>) -> Vec<Vec<usize>> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (place, id) in ids.iter().enumerate() {
        first.entry(id).or_insert(place);
    }
    let mut places = vec![Vec::new(); ids.len()];
    for (id, names) in ids.iter().zip(depends) {
        places[first[id]].extend(names.iter().filter_map(|name| first.get(name).copied()));
    }
    places
}

/// Problems for which a similar name is looked for: each takes a look at all tasks.
const SUGGESTIONS: usize = 10;

/// `lines` has the line of `depends` for each task.
pub(super) fn problems(tasks: &[Task], lines: &[usize]) -> Vec<(usize, RoadmapProblem)> {
    let known: HashMap<&str, usize> = tasks.iter().map(|task| (task.id.as_str(), task.line)).collect();
    let mut found = Vec::new();
    for (task, line) in tasks.iter().zip(lines) {
        for id in &task.depends {
            if *id == task.id {
                found.push(RoadmapProblem::DependsOnItself.at(*line));
            } else if !known.contains_key(id.as_str()) {
                let candidates = if found.len() < SUGGESTIONS { tasks } else { &[] };
                let others = candidates.iter().filter(|other| other.id != task.id);
                found.push(unknown(id, others).at(*line));
            }
        }
    }
    for cycle in cycles(&places(tasks)) {
        let first = cycle[0];
        let ids = cycle.iter().chain([&first]).map(|place| tasks[*place].id.to_string()).collect();
        found.push(RoadmapProblem::Cycle(ids).at(lines[first]));
    }
    found
}

fn unknown<'a>(id: &TaskId, others: impl Iterator<Item = &'a Task>) -> RoadmapProblem {
    let meant = values::meant(id.as_str(), others.map(|task| task.id.as_str())).map(str::to_owned);
    RoadmapProblem::UnknownDependency { name: values::quoted(id.as_str()), meant }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    /// On the path from the current root, at this place.
    Open(usize),
    Finished,
}

/// Circles of two and more, each from its first place on. For each place, `depends` has those that it waits for. Each edge is followed once.
pub fn cycles(depends: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut visits = vec![Visit::New; depends.len()];
    let mut found = Vec::new();
    for root in 0..depends.len() {
        if visits[root] != Visit::New {
            continue;
        }
        // Not recursive: a chain may have thousands of tasks.
        let mut path = vec![(root, 0)];
        visits[root] = Visit::Open(0);
        while let Some((task, edge)) = path.last_mut() {
            let (current, next) = (*task, depends[*task].get(*edge).copied());
            *edge += 1;
            match next.map(|next| (next, visits[next])) {
                None => {
                    visits[current] = Visit::Finished;
                    path.pop();
                }
                Some((next, Visit::New)) => {
                    visits[next] = Visit::Open(path.len());
                    path.push((next, 0));
                }
                Some((next, Visit::Open(start))) if next != current => {
                    found.push(path[start..].iter().map(|(task, _)| *task).collect());
                }
                Some((_, Visit::Open(_) | Visit::Finished)) => {}
            }
        }
    }
    found
}
