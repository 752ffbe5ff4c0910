//! Finds and loads the definition of an agent in the project.

use std::path::PathBuf;

use autonoe_core::fault::Fault;
use autonoe_store::Project;
use autonoe_workflow::definition::AgentDefinition;
use autonoe_workflow::{find, load};

use crate::arguments::ProjectArgs;
use crate::environment::Environment;

pub fn agents_directory(project: &Project) -> PathBuf {
    project.root().join(".autonoe/agents")
}

pub fn load_agent(
    name: &str,
    project: &ProjectArgs,
    environment: &Environment,
) -> Result<(Project, AgentDefinition), Fault> {
    let project = environment.project(project)?;
    let definition = load(&find(&agents_directory(&project), name)?)?;
    Ok((project, definition))
}
