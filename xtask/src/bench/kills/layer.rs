//! The sandbox layers of this machine, and none.

use std::path::Path;
use std::process::Command;

use crate::result::Result;

/// A layer, or none.
pub struct Layer {
    pub name: &'static str,
    search_path: autonoe_honesty::Layer,
    is_off: bool,
}

impl Layer {
    /// Has a run of `autonoe` use it, with one more place for programs.
    pub fn apply(&self, command: &mut Command, programs: &Path) {
        command.env("PATH", format!("{}:{}", programs.display(), self.search_path.path().display()));
        if self.is_off {
            command.env("AUTONOE_NO_SANDBOX", "1");
        }
    }
}

/// Those that there are: the full one, the one without bubblewrap, and none.
pub fn layers() -> Result<Vec<Layer>> {
    let sandboxed =
        autonoe_honesty::Layer::bubblewrap().into_iter().chain([autonoe_honesty::Layer::landlock()?]);
    let mut layers: Vec<Layer> =
        sandboxed.map(|layer| Layer { name: layer.name(), search_path: layer, is_off: false }).collect();
    layers.push(Layer { name: "no sandbox", search_path: autonoe_honesty::Layer::landlock()?, is_off: true });
    Ok(layers)
}
