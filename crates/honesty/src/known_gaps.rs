//! Scenarios whose outcome is wrong today. Each is a hole to close, or a limit that the documentation names.

use crate::layer::LayerKind;

pub struct KnownGap {
    /// The name of the scenario.
    pub scenario: &'static str,
    /// The layers on which it is wrong.
    pub layers: &'static [LayerKind],
    /// What goes wrong, and why.
    pub why: &'static str,
}

pub fn known_gap(scenario: &str, layer: LayerKind) -> Option<&'static KnownGap> {
    KNOWN_GAPS.iter().find(|gap| gap.scenario == scenario && gap.layers.contains(&layer))
}

pub const KNOWN_GAPS: &[KnownGap] = &[];
