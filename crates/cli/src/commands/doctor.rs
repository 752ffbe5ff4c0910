//! `autonoe doctor`

mod agents;
mod container;
mod fix;
mod notify;
mod other_tools;
mod packages;
mod project;
mod sandbox;

use autonoe_core::fault::Fault;
use autonoe_core::outcome::exit;
use autonoe_core::redact::Redactor;
use autonoe_model::PriceList;
use clap::Args;
use jiff::Zoned;

use self::packages::SystemPackages;
use crate::build_info;
use crate::environment::Environment;
use crate::name_resolution;
use crate::present::{self, FindingMark};
use crate::programs::find_program;
use crate::project_args::ProjectArgs;
use crate::system::runtime;

/// Check your setup
///
/// Shows what is installed, what a run would use, and whether `autonoe run` would start here. Changes nothing, unless --fix is given, and
/// sends nothing. Exits with 0 if a run would start, with 2 if not.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Look at what matters for `run --in-place`, such as the hooks of your repository
    #[arg(long)]
    in_place: bool,

    /// First remove what killed runs have left, and let nobody else write your config.toml
    #[arg(long)]
    fix: bool,
}

enum DoctorFinding {
    Good(String),
    /// A run starts regardless.
    Note(String),
    /// A run would not start.
    Bad(String),
}

impl DoctorFinding {
    fn of(name: &str, result: Result<String, Fault>) -> Self {
        match result {
            Ok(words) => Self::Good(format!("{name}: {words}")),
            Err(fault) => Self::fault(name, &fault),
        }
    }

    fn fault(name: &str, fault: &Fault) -> Self {
        let hint = fault.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        Self::Bad(format!("{name}: {}{hint}", fault.message))
    }
}

pub fn cmd_doctor(args: &DoctorArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project);
    let mut findings = if args.fix { fix::fix(project.as_ref().ok(), environment) } else { Vec::new() };
    findings.extend(runtime()?.block_on(machine_findings(environment)));
    let (sandbox_findings, sandbox) = runtime()?.block_on(sandbox::find(environment));
    findings.extend(sandbox_findings);
    match project {
        Ok(project) => {
            findings.extend(project::findings(&project, environment, args.in_place));
            findings.extend(other_tools::findings(&project));
            findings.extend(runtime()?.block_on(notify::findings(environment, project.root())));
            let work =
                sandbox.map(|sandbox| project::try_work(&project, environment, sandbox, args.in_place));
            findings.extend(work.unwrap_or_default());
        }
        Err(fault) => findings.push(DoctorFinding::fault("project", &fault)),
    }
    let is_ready = !findings.iter().any(|finding| matches!(finding, DoctorFinding::Bad(_)));
    let redactor = Redactor::new(&environment.secrets());
    let lines = findings.iter().map(|finding| {
        let (mark, words) = match finding {
            DoctorFinding::Good(words) => (FindingMark::Good, words),
            DoctorFinding::Note(words) => (FindingMark::Note, words),
            DoctorFinding::Bad(words) => (FindingMark::Bad, words),
        };
        (mark, redactor.text(words).into_owned())
    });
    present::print(&format!("Autonoe v{}\n\n", build_info::VERSION));
    present::print_findings(&lines.collect::<Vec<_>>());
    present::print(match is_ready {
        true => "\n`autonoe run` is ready to start here.\n",
        false => "\n`autonoe run` would not start here.\n",
    });
    Ok(if is_ready { exit::DONE } else { exit::USAGE })
}

async fn machine_findings(environment: &Environment) -> Vec<DoctorFinding> {
    let mut findings = vec![
        match find_program("git", environment) {
            Some(path) => DoctorFinding::Good(format!("git: {}", path.display())),
            None => DoctorFinding::Note(format!(
                "git is not on the PATH; agents need it to commit their work{}",
                SystemPackages::of_this_system()
                    .map(|packages| format!(": {}", packages.install("git")))
                    .unwrap_or_default()
            )),
        },
        match find_program("bash", environment).or_else(|| find_program("sh", environment)) {
            Some(path) => DoctorFinding::Good(format!("shell: {}", path.display())),
            None => DoctorFinding::Bad("neither bash nor sh is on the PATH".into()),
        },
    ];
    findings.extend(build_info::note_about_age(Zoned::now().date()).map(DoctorFinding::Note));
    findings.extend(name_resolution::problem().map(|why| DoctorFinding::Note(format!("network: {why}"))));
    findings.extend(agents::findings(environment).await);
    let prices = PriceList::shipped();
    let models: Vec<_> = prices.models().collect();
    findings.push(DoctorFinding::Good(format!(
        "prices: {} of {}, for {}",
        prices.source,
        prices.date,
        models.join(", ")
    )));
    findings
}
