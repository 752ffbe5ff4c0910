//! Whether a vendor's agent is installed and logged in.

use std::path::PathBuf;

use autonoe_agents::VendorProfile;

use crate::backend_name::BackendName;
use crate::environment::Environment;
use crate::programs::find_program;

/// Whether an agent can be used, as far as can be determined without starting it.
pub struct Readiness {
    pub profile: &'static VendorProfile,
    /// `None` if the program is not installed.
    pub program: Option<PathBuf>,
    /// The variable or file it would log in with; `None` if there is none.
    pub login: Option<&'static str>,
}

/// `None` if the backend is not a vendor's agent.
pub fn readiness(name: &BackendName, environment: &Environment) -> Option<Readiness> {
    let profile = name.profile()?;
    let program = find_program(profile.program, environment);
    let has = |name: &&str| environment.variable(name).is_some();
    let variables = || profile.key.0.iter().chain(profile.tokens).find(|name| has(name)).copied();
    let login = variables().or_else(|| {
        let directory = directory(profile, environment)?;
        profile.home.2.iter().find(|name| directory.join(name).is_file()).copied()
    });
    Some(Readiness { profile, program, login })
}

/// The agent's directory of the user, with settings and login.
pub fn directory(profile: &VendorProfile, environment: &Environment) -> Option<PathBuf> {
    profile.directory(|name| environment.variable(name), environment.home.as_deref())
}
