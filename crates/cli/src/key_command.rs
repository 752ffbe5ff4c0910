//! Commands of the user's config.toml that print a secret.

use std::ffi::OsString;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};

use crate::environment::Environment;
use crate::helper::{Helper, HelperOutput, LITTLE_OUTPUT};

/// Time limit of a command; the user may have to touch a hardware token first.
const KEY_LIMIT: Duration = Duration::from_secs(60);

pub struct KeyCommand<'a> {
    /// What it prints, such as "the key of the provider 'mine'".
    pub value: &'a str,
    /// Where it is configured, such as `[providers.mine]`.
    pub section: &'a str,
    /// Of the fault if it fails.
    pub code: &'a str,
    /// The program and its arguments.
    pub command: &'a [String],
}

impl KeyCommand<'_> {
    /// The secret is the first line of the command's output.
    pub async fn run(&self, environment: &Environment) -> Result<String, Fault> {
        let Some((program, args)) = self.command.split_first() else {
            return Err(self.fault("no command is configured"));
        };
        let helper = Helper {
            purpose: self.value.to_owned(),
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            environment: environment.all(),
            directory: environment.current_dir(),
            time_limit: KEY_LIMIT,
            output_limits: LITTLE_OUTPUT,
            own_executable: &environment.own_executable()?,
        };
        let HelperOutput { code, output, stderr } =
            helper.run().await.map_err(|error| self.fault(&error.to_string()))?;
        let stderr = stderr.map(|text| format!("; it printed: {text}")).unwrap_or_default();
        match output.lines().next().map(str::trim) {
            Some(key) if code == 0 && !key.is_empty() => Ok(key.to_owned()),
            Some(_) if code == 0 => Err(self.fault(&format!("the first line it printed is empty{stderr}"))),
            None if code == 0 => Err(self.fault(&format!("it printed nothing{stderr}"))),
            Some(_) | None => Err(self.fault(&format!("it failed with exit code {code}{stderr}"))),
        }
    }

    fn fault(&self, why: &str) -> Fault {
        let Self { value, section, code, command } = self;
        let shown = command.first().map(String::as_str).unwrap_or_default();
        Fault::permanent(FaultLayer::Config, code, format!("`{shown}` did not print {value}: {why}.")).hint(format!(
            "Run the command yourself: it must print the value within {} s, without asking for input. It is configured under \
             {section} in your config.toml.",
            KEY_LIMIT.as_secs()
        ))
    }
}
