//! Tasks whose dependencies nobody else needs: each is compiled with the feature of its name only.

use crate::result::Result;
use crate::workspace::cargo;

/// Builds this program with the feature and starts the task; in release mode, since measuring and compressing need it.
pub fn launch(task: &str, options: &[&str]) -> Result {
    let run = format!("{task}-run");
    let build = ["run", "--release", "--quiet", "--package", "xtask", "--features", task, "--", &run];
    let status = cargo().args(build).args(options).status()?;
    if status.success() { Ok(()) } else { Err(format!("`{task}` failed; see above.").into()) }
}
