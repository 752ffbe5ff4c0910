//! A project, what happens in it, and the expected outcome.

use crate::layer::LayerKind;
use crate::projects::COMMITTED;

/// The deliverable that every scenario is about.
pub const DELIVERABLE: &str = "A";

#[derive(Debug, Clone)]
pub struct Scenario {
    /// What the agent does.
    pub name: String,
    pub expected: Expected,
    pub(crate) is_in_place: bool,
    pub(crate) is_strict: bool,
    /// The layers on which the outcome is promised.
    pub(crate) layers: &'static [LayerKind],
    /// Programs without which it is not played.
    pub(crate) needs: &'static [&'static str],
    pub(crate) spec: &'static str,
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// `.autonoe/checks.json`.
    pub(crate) checks: Option<&'static str>,
    /// The existing deliverables. If empty, the first session creates them.
    pub(crate) planned: &'static [&'static str],
    /// Makes the repository of the project, with everything that is there; empty for none.
    pub(crate) repository: &'static str,
    /// The project within what [`Self::repository`] makes; empty for the whole.
    pub(crate) part: &'static str,
    pub(crate) acts: Vec<Act>,
}

/// What happens, in order.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// `autonoe run` with a scripted model.
    Run { script: String, sessions: u32, options: &'static [&'static str] },
    /// `autonoe sync` with a scripted model, and more options.
    Sync { script: String },
    /// A shell script of the user's, which must succeed. `$AUTONOE` is the program.
    User(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// The deliverable is verified and the run succeeded.
    Verified,
    /// The deliverable is not verified and the run failed.
    Refused,
    /// The deliverable passed as claimed, not as verified; the run succeeded.
    Claimed,
}

impl Scenario {
    /// A committed project with one planned deliverable, in a workspace.
    pub(crate) fn new(
        name: impl Into<String>,
        expected: Expected,
        spec: &'static str,
        script: String,
    ) -> Self {
        Self {
            name: name.into(),
            expected,
            is_in_place: false,
            is_strict: true,
            layers: &[LayerKind::Bubblewrap, LayerKind::Landlock],
            needs: &[],
            spec,
            files: &[],
            checks: None,
            planned: &[DELIVERABLE],
            repository: COMMITTED,
            part: "",
            acts: vec![Act::Run { script, sessions: 1, options: &[] }],
        }
    }

    pub(crate) fn in_place(self) -> Self {
        Self { is_in_place: true, ..self }
    }

    pub(crate) fn without_strict(self) -> Self {
        Self { is_strict: false, ..self }
    }

    pub(crate) fn with_files(self, files: &'static [(&'static str, &'static str)]) -> Self {
        Self { files, ..self }
    }

    pub(crate) fn in_repository(self, repository: &'static str) -> Self {
        Self { repository, ..self }
    }

    /// Where the documentation promises it only with bubblewrap.
    pub(crate) fn only_with_bubblewrap(self) -> Self {
        Self { layers: &[LayerKind::Bubblewrap], ..self }
    }

    /// The first session plans, and there are this many sessions.
    pub(crate) fn planned_by_the_agent(mut self, count: u32) -> Self {
        if let Some(Act::Run { sessions, .. }) = self.acts.first_mut() {
            *sessions = count;
        }
        Self { planned: &[], ..self }
    }

    pub(crate) fn sessions(mut self, count: u32) -> Self {
        if let Some(Act::Run { sessions, .. }) = self.acts.first_mut() {
            *sessions = count;
        }
        self
    }

    pub(crate) fn options(mut self, more: &'static [&'static str]) -> Self {
        if let Some(Act::Run { options, .. }) = self.acts.first_mut() {
            *options = more;
        }
        self
    }

    /// Then the user does this.
    pub(crate) fn then(mut self, script: &'static str) -> Self {
        self.acts.push(Act::User(script));
        self
    }

    /// Before anything else, the user does this.
    pub(crate) fn after(mut self, script: &'static str) -> Self {
        self.acts.insert(0, Act::User(script));
        self
    }

    pub(crate) fn then_run(mut self, sessions: u32, script: String) -> Self {
        self.acts.push(Act::Run { script, sessions, options: &[] });
        self
    }

    pub(crate) fn then_sync(mut self, script: String) -> Self {
        self.acts.push(Act::Sync { script });
        self
    }

    pub fn runs_on(&self, layer: LayerKind) -> bool {
        self.layers.contains(&layer)
    }

    /// The scripts of the model.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = &str> {
        self.acts.iter().filter_map(|act| match act {
            Act::Run { script, .. } | Act::Sync { script } => Some(script.as_str()),
            Act::User(_) => None,
        })
    }
}
