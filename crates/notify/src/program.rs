//! Programs of the user that notify somebody: where they are, and one run of them.
//!
//! They run outside the sandbox, as the user, so one that an agent could have written must never be found.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use autonoe_core::duration::format as format_duration;
use autonoe_sandbox::{BoundedCommand, Bounds, CommandEnd, OutputLimits, Sandbox};

use crate::send_failure::SendFailure;
use crate::text::one_line;

/// Bytes of output that are kept; only standard error is shown.
const OUTPUT_LIMITS: OutputLimits = OutputLimits { head: 0, tail: 2 * 1024 };

/// Characters of standard error in a message.
const MAX_STDERR: usize = 200;

/// What every program gets.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Path of this binary, which supervises them.
    pub own_executable: PathBuf,
    /// The environment, without secrets.
    pub environment: Vec<(OsString, OsString)>,
    /// Where they run; never the project.
    pub directory: PathBuf,
}

/// Looks a program up: a path is taken as it is, a name is searched in `search_path` and then in `further`. What is inside the project is
/// never found.
pub fn find_program_outside(
    program: &str,
    search_path: &OsStr,
    further: &[&str],
    project: &Path,
) -> Result<PathBuf, String> {
    let is_program = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    // The real path decides; the given one is started, since programs such as sendmail look at their own name.
    let is_inside = |path: &Path| {
        let inside = |path: &Path| path.starts_with(project);
        inside(path) || path.canonicalize().is_ok_and(|real| inside(&real))
    };
    if program.contains('/') {
        let path = PathBuf::from(program);
        return match path {
            path if !path.is_absolute() => Err(format!("'{program}' is not an absolute path")),
            path if is_inside(&path) => {
                Err(format!("'{program}' is inside the project, where agents can write"))
            }
            path if !is_program(&path) => Err(format!("'{program}' is not an executable file")),
            path => Ok(path),
        };
    }
    let directories = std::env::split_paths(search_path).chain(further.iter().map(PathBuf::from));
    let mut found =
        directories.filter(|directory| directory.is_absolute()).map(|directory| directory.join(program));
    found
        .find(|path| is_program(path) && !is_inside(path))
        .ok_or_else(|| format!("the program '{program}' is not on the search path"))
}

impl Programs {
    /// Runs a program to its end. Dropping the future ends it and everything it started.
    pub async fn run(
        &self,
        program: &Path,
        args: &[String],
        variables: &[(&str, String)],
        input: Vec<u8>,
        time_limit: Duration,
    ) -> Result<(), SendFailure> {
        let not_run =
            |why: &dyn std::fmt::Display| SendFailure::transient(format!("it cannot be run: {why}"));
        let scratch = tempfile::tempdir().map_err(|error| not_run(&error))?;
        let bounds = Bounds::new(scratch.path(), scratch.path(), scratch.path());
        let room = Sandbox::none(&self.own_executable).open(bounds).await.map_err(|error| not_run(&error))?;
        let own = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let environment: Vec<_> = self.environment.iter().cloned().chain(own).collect();
        let launch = room
            .command(program)
            .args(args)
            .cwd(&self.directory)
            .envs(environment.iter().map(|(name, value)| (name, value)));
        let command =
            BoundedCommand { launch, input, separate_stderr: true, time_limit, output_limits: OUTPUT_LIMITS };
        let ran = command.run(|_| {}).await;
        room.close().await;
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        match ran.ending {
            CommandEnd::Exit(0) => Ok(()),
            CommandEnd::Exit(code) => {
                let said = one_line(&ran.stderr.text(), MAX_STDERR);
                let said = if said.is_empty() { said } else { format!(": {said}") };
                Err(SendFailure::transient(format!("{name} failed with exit code {code}{said}")))
            }
            CommandEnd::TimedOut => {
                let limit = format_duration(time_limit);
                Err(SendFailure::transient(format!("{name} did not finish within {limit} and was killed")))
            }
            CommandEnd::TooMuchOutput => {
                Err(SendFailure::permanent(format!("{name} printed too much and was killed")))
            }
            CommandEnd::NotRun { why } => Err(not_run(&why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::find_program_outside;

    fn write(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, "#!/bin/sh\n").expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mode");
    }

    #[test]
    fn a_program_is_never_found_in_the_project() {
        let directory = tempfile::tempdir().expect("directory");
        let root = directory.path().canonicalize().expect("real");
        let (project, system) = (root.join("project"), root.join("bin"));
        write(&project.join("bin/horn"), 0o755);
        write(&system.join("horn"), 0o755);
        write(&system.join("data"), 0o644);
        write(&project.join("bin/own"), 0o755);
        symlink(project.join("bin/own"), system.join("link")).expect("link");
        let search = format!("{}:bin:.:{}", project.join("bin").display(), system.display());
        let find = |name: &str| find_program_outside(name, OsStr::new(&search), &[], &project);
        assert_eq!(find("horn"), Ok(system.join("horn")));
        for (name, why) in
            [("own", "search path"), ("link", "search path"), ("data", "search path"), ("no", "'no'")]
        {
            assert!(find(name).expect_err(name).contains(why), "{name}");
        }
        let own = project.join("bin/own").display().to_string();
        assert!(find(&own).expect_err("inside").contains("inside the project"));
        let link = system.join("link").display().to_string();
        assert!(find(&link).expect_err("a link into it").contains("inside the project"));
        assert!(find("./bin/own").expect_err("relative").contains("absolute"));
        assert!(
            find(&system.join("data").display().to_string()).expect_err("no program").contains("executable")
        );
        assert_eq!(find(&system.join("horn").display().to_string()), Ok(system.join("horn")));
        let further = [system.to_str().expect("UTF-8")];
        assert_eq!(find_program_outside("horn", OsStr::new(""), &further, &project), Ok(system.join("horn")));
    }
}
