//! Agents that cheat and agents that do not: projects and scripts that test which claims a run accepts.
//!
//! A test and a benchmark [`play`] them with the real program. A cheat must not be *verified*, and its run must fail; an honest agent must
//! be verified. The scripts check with `expect` that each trick was carried out, and often why the claim was refused. Whatever an agent
//! does, no control character may reach the screen, and no process may be left.

mod cheats;
mod honest;
mod known_gaps;
mod layer;
mod player;
mod projects;
mod scenario;
mod turns;

pub use known_gaps::{KNOWN_GAPS, KnownGap, known_gap};
pub use layer::{Layer, LayerKind};
pub use player::play;
pub use scenario::{Expected, Scenario};

/// Scenarios about one idea.
pub struct Group {
    pub name: &'static str,
    /// Whether its agents do the work.
    pub is_honest: bool,
    pub scenarios: Vec<Scenario>,
}

/// Groups of at most so many scenarios are played whole.
const FEW: usize = 4;

impl Group {
    /// The part that tests play on a layer; the benchmark plays everything. Spread over the group, and the same each time.
    pub fn sample(&self, layer: LayerKind) -> impl Iterator<Item = &Scenario> {
        let every = match layer {
            _ if self.scenarios.len() <= FEW => 1,
            LayerKind::Bubblewrap => 8,
            LayerKind::Landlock => 24,
        };
        let on_layer = self.scenarios.iter().filter(move |scenario| scenario.runs_on(layer));
        on_layer.enumerate().filter(move |(index, _)| index % every == 0).map(|(_, scenario)| scenario)
    }
}

/// The cheats, then the honest agents.
pub fn groups() -> Vec<Group> {
    cheats::groups().into_iter().chain(honest::groups()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use autonoe_scripted::ModelScript;

    use super::{Expected, KNOWN_GAPS, groups};

    #[test]
    fn there_are_enough_scenarios_with_valid_scripts_and_different_names() {
        let of = |is_honest: bool| groups().into_iter().filter(move |group| group.is_honest == is_honest);
        let [cheats, honest] =
            [false, true].map(|kind| of(kind).flat_map(|group| group.scenarios).collect::<Vec<_>>());
        assert!(cheats.len() >= 100 && honest.len() >= 40, "{} and {}", cheats.len(), honest.len());
        assert!(honest.iter().all(|scenario| scenario.expected == Expected::Verified));
        let scenarios = [cheats, honest].concat();
        let mut names = HashSet::new();
        for scenario in &scenarios {
            assert!(names.insert(scenario.name.as_str()), "two scenarios are called {:?}", scenario.name);
            for script in scenario.scripts() {
                ModelScript::parse(script).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
            }
        }
        for name in KNOWN_GAPS.iter().flat_map(|gap| gap.scenarios) {
            assert!(names.contains(name), "no scenario is called {name:?}");
        }
    }
}
