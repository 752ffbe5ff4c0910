//! Finds and loads the definition of an agent in the project.

use autonoe_core::fault::Fault;
use autonoe_store::Project;
use autonoe_workflow::definition::AgentDefinition;
use autonoe_workflow::{find, load};

use crate::environment::Environment;
use crate::project_args::ProjectArgs;

pub fn load_agent(
    name: &str,
    project: &ProjectArgs,
    environment: &Environment,
) -> Result<(Project, AgentDefinition), Fault> {
    let project = environment.project(project)?;
    let definition = load(&find(&project.agents_dir(), name)?)?;
    Ok((project, definition))
}
