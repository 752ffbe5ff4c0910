//! The targets of notifications; none is notified.

use std::path::Path;

use super::DoctorFinding;
use crate::environment::Environment;
use crate::notify_settings::TargetResolver;

pub(super) async fn findings(environment: &Environment, project: &Path) -> Vec<DoctorFinding> {
    // A config.toml that is wrong is among the findings already.
    let user = environment.user_config().unwrap_or_default();
    let mut resolver = TargetResolver::new(environment, project);
    let mut findings = Vec::new();
    for (name, config) in &user.notify.targets {
        findings.push(match resolver.resolve(name, config).await {
            Ok(target) => {
                let what = format!("notify {name}: {}", target.channel.describe());
                match target.channel.problem() {
                    None => DoctorFinding::Good(format!("{what} (not tested; `autonoe notify test` does)")),
                    Some(problem) => DoctorFinding::Note(format!("{what}, but {problem}")),
                }
            }
            Err(fault) => DoctorFinding::fault(&format!("notify {name}"), &fault),
        });
    }
    findings
}
