//! `autonoe pr`

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use autonoe_core::ci_files::is_ci_file;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::file_names::shown_name;
use autonoe_core::hub_refs;
use autonoe_core::outcome::exit;
use autonoe_files::{DOCUMENT_LIMIT, SETTINGS_LIMIT, read_text};
use autonoe_store::{CheckRegistry, Project};
use autonoe_verify::protected_among;
use autonoe_workspace::HubLayout;
use clap::Args;

use super::report::last_report;
use crate::ci_scripts::is_run_by;
use crate::consent::{APPROVE, ask};
use crate::environment::Environment;
use crate::open_hub::open_hub;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::system::runtime;
use crate::unseen_commits::verified_commits_of;

/// Pull requests accept no more.
const MAX_BODY_BYTES: usize = 60_000;

/// Commits of the user that are named; the rest is counted.
const NAMED_COMMITS: usize = 5;

/// The most definitions of a CI that are read.
const MAX_DEFINITIONS: usize = 200;

/// Push the last run's commits and open a pull request, with the report as its text
///
/// Your own `git` and `gh` do it, outside the sandbox, after you agree. The branch is the one with commits that have not landed, or else the
/// one that you have checked out.
#[derive(Debug, Args)]
pub struct PrArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// The branch to push
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// The branch that the pull request is for [default: the one that gh chooses]
    #[arg(long, value_name = "NAME")]
    base: Option<String>,

    /// The remote to push to
    #[arg(long, value_name = "NAME", default_value = "origin")]
    remote: String,

    /// Title of the pull request [default: the title of SPEC.md]
    #[arg(long)]
    title: Option<String>,

    /// Open it as a draft
    #[arg(long)]
    draft: bool,

    /// Do not ask; changes of what your CI runs are pushed only with --accept-ci too
    #[arg(long, short)]
    yes: bool,

    /// Push changes of what your CI runs
    #[arg(long, requires = "yes")]
    accept_ci: bool,
}

impl PrArgs {
    /// What `autonoe run --pr` asks for.
    pub fn after_run(project: &ProjectArgs, branch: Option<String>, accept_ci: bool) -> Self {
        Self {
            project: project.clone(),
            branch,
            base: None,
            remote: "origin".to_owned(),
            title: None,
            draft: false,
            yes: true,
            accept_ci,
        }
    }
}

pub fn cmd_pr(args: &PrArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let branch = match &args.branch {
        Some(branch) => branch.clone(),
        None => usual_branch(&project, environment)?,
    };
    // A request to merge what is merged already is none.
    let is_named = args.branch.is_some();
    let head = match !is_named && is_default(&project, &branch, args)? {
        true => last_run(&project).unwrap_or_else(|| "autonoe/work".to_owned()),
        false => branch.clone(),
    };
    let reference = format!("refs/heads/{branch}");
    if git(&project, &["rev-parse", "--verify", "--quiet", &reference])?.is_none() {
        return Err(failed(format!("There is no branch '{branch}' in {}.", project.root().display())).hint(
            "`autonoe land` brings the commits of the last run there; --branch names another branch.",
        ));
    }
    if git(&project, &["remote", "get-url", &args.remote])?.is_none() {
        return Err(failed(format!("The repository has no remote '{}'.", args.remote))
            .hint("Add one with `git remote add`, or name another with --remote."));
    }
    if Command::new("gh").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return Err(failed("The program gh was not found on the PATH.".to_owned()).hint(format!(
            "Install the GitHub CLI, or push yourself: git push {} {branch}:{head}",
            args.remote
        )));
    }
    let ci_files = ci_files(&project, &reference, &args.remote)?;
    if args.yes && !args.accept_ci && !ci_files.is_empty() {
        let files = ci_files.join(", ");
        return Err(failed(format!("Nothing was pushed: these files change what your CI runs: {files}."))
            .hint(format!(
                "Look at them (git log -p {branch}), then run `autonoe pr`, or add --accept-ci."
            )));
    }
    let cautions = [
        unchecked_commits(&project, &reference, &args.remote)?,
        judging_files(&project, &reference, &args.remote)?,
    ];
    let cautions: Vec<String> = cautions.into_iter().flatten().collect();
    if let (true, Some(caution)) = (args.yes, cautions.first()) {
        return Err(failed(format!("Nothing was pushed: {caution}."))
            .hint("Without --yes, `autonoe pr` asks whether to push them anyway."));
    }
    if let Some(sentence) = commits_beneath(&project, &reference, &args.remote)? {
        present::warn(&sentence);
    }
    let body = last_report(&project, environment)?;
    let title = args.title.clone().unwrap_or_else(|| title(&project));
    let refspec = format!("{reference}:refs/heads/{head}");
    // Nothing but this branch, whatever the user's settings say.
    let mut push = vec!["push", "--no-follow-tags", "--recurse-submodules=no"];
    push.extend((head == branch).then_some("--set-upstream"));
    push.extend([args.remote.as_str(), &refspec]);
    let mut create = vec!["pr", "create", "--head", &head, "--title", &title, "--body-file", "-"];
    create.extend(args.base.iter().flat_map(|base| ["--base", base]));
    create.extend(args.draft.then_some("--draft"));
    if !args.yes {
        present::print(&format!(
            "This will be done outside the sandbox, in {}:\n  git {}\n  gh {}\n",
            project.root().display(),
            push.join(" "),
            create.join(" ")
        ));
        for caution in &cautions {
            present::print(&format!("Beware: {caution}.\n"));
        }
        if !ci_files.is_empty() {
            present::print(&format!("These files change what your CI runs: {}\n", ci_files.join(", ")));
        }
        if !ask(APPROVE) {
            return Err(failed("Nothing was pushed: you did not agree.".to_owned())
                .hint("Without a terminal, --yes agrees."));
        }
    }
    run(project.root(), "git", &push, "")?;
    run(project.root(), "gh", &create, shortened(&body))?;
    Ok(exit::DONE)
}

/// The changed files that decide what CI runs, in the commits that the remote does not have. To a remote of which nothing is known, all
/// that the project has is new, and so are the user's own.
fn ci_files(project: &Project, reference: &str, remote: &str) -> Result<Vec<String>, Fault> {
    let known = format!("--remotes={remote}");
    let changed = ["log", "-m", "--no-renames", "--format=", "--name-only", "-z", reference, "--not", &known];
    let changed = git(project, &changed)?.unwrap_or_default();
    let definitions = ci_definitions(project, reference)?;
    let is_run = |path: &str| definitions.iter().any(|definition| is_run_by(definition, path));
    let files: BTreeSet<_> = names(&changed).filter(|path| is_ci_file(path) || is_run(path)).collect();
    Ok(files.into_iter().map(shown_name).collect())
}

/// The texts of the files that decide what CI runs.
fn ci_definitions(project: &Project, reference: &str) -> Result<Vec<String>, Fault> {
    let listed = git(project, &["ls-tree", "-r", "-z", "--full-tree", "--name-only", reference])?;
    let listed = listed.unwrap_or_default();
    let mut texts = Vec::new();
    for path in listed.split('\0').filter(|path| is_ci_file(path)).take(MAX_DEFINITIONS) {
        texts.extend(git(project, &["cat-file", "blob", &format!("{reference}:{path}")])?);
    }
    Ok(texts)
}

/// Says which commits from before the run are pushed with it, because the remote does not have them.
fn commits_beneath(project: &Project, reference: &str, remote: &str) -> Result<Option<String>, Fault> {
    let file = HubLayout::in_state(project.state_dir()).git_dir().join(hub_refs::USERS);
    let Some(users) = read_text(&file, SETTINGS_LIMIT).ok().flatten() else { return Ok(None) };
    let Some(base) = git(project, &["merge-base", users.trim(), reference])? else { return Ok(None) };
    let known = format!("--remotes={remote}");
    let listed = git(project, &["log", "--format=%h %s", &base, "--not", &known])?.unwrap_or_default();
    let count = listed.lines().count();
    let named: Vec<String> = listed.lines().take(NAMED_COMMITS).map(shown_name).collect();
    let more = match count.saturating_sub(NAMED_COMMITS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let pushed = format!(
        "{count} commit(s) from before the run are pushed too, since nothing shows that {remote} has them"
    );
    Ok((count > 0).then(|| format!("{pushed}: {}{more}.", named.join(", "))))
}

/// The paths that `git log -z --name-only` lists, with a line break before those of some commits.
fn names(listed: &str) -> impl Iterator<Item = &str> {
    listed.split('\0').map(|path| path.trim_start_matches('\n')).filter(|path| !path.is_empty())
}

/// Says that the branch ends with commits that no check has seen, although others were verified.
fn unchecked_commits(project: &Project, reference: &str, remote: &str) -> Result<Option<String>, Fault> {
    let verified = verified_commits_of(project)?;
    let known = format!("--remotes={remote}");
    let mut args = vec!["rev-list", "--count", reference, "--not", &known];
    args.extend(verified.iter().map(String::as_str));
    let count: u32 = git(project, &args)?.and_then(|count| count.parse().ok()).unwrap_or_default();
    let is_unchecked = !verified.is_empty() && count > 0;
    Ok(is_unchecked
        .then(|| format!("no check has seen the last {count} commit(s); `autonoe run` checks them")))
}

/// Says that commits which have not landed change SPEC.md or files that checks judge by.
fn judging_files(project: &Project, reference: &str, remote: &str) -> Result<Option<String>, Fault> {
    let known = format!("--remotes={remote}");
    let log =
        ["log", "-m", "--no-renames", "--format=", "--name-only", "-z", reference, "--not", &known, "HEAD"];
    let changed = git(project, &log)?.unwrap_or_default();
    let Some(top) = git(project, &["rev-parse", "--show-toplevel"])? else { return Ok(None) };
    let top = PathBuf::from(top).canonicalize().unwrap_or_default();
    let changed = names(&changed);
    let changed: BTreeSet<PathBuf> = changed.map(|path| top.join(path)).collect();
    let changed: Vec<PathBuf> = changed.into_iter().collect();
    let mut found = protected_among(&CheckRegistry::load(project)?.of_user(), project.root(), &changed)?;
    found.extend(changed.into_iter().filter(|path| *path == project.root().join("SPEC.md")));
    let mut names: Vec<String> = found
        .iter()
        .map(|path| shown_name(&path.strip_prefix(&top).unwrap_or(path).display().to_string()))
        .collect();
    names.sort_unstable();
    let is_any = !names.is_empty();
    Ok(is_any.then(|| format!("they change how the work is judged: {}", names.join(", "))))
}

/// The branch with commits that have not landed, or else the one on which they landed: one that the user has named, or the one that is
/// checked out.
fn usual_branch(project: &Project, environment: &Environment) -> Result<String, Fault> {
    let (unlanded, named) = runtime()?.block_on(async {
        let hub = open_hub(project, environment).await?;
        Ok::<_, Fault>((hub.unlanded().await?, hub.last_named_branch()))
    })?;
    let exists = |branch: &String| {
        git(project, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")])
            .is_ok_and(|found| found.is_some())
    };
    let checked_out = || git(project, &["symbolic-ref", "--quiet", "--short", "HEAD"]);
    match (unlanded, named.filter(exists)) {
        (Some(unlanded), _) => Ok(unlanded.users_branch.unwrap_or(unlanded.branch)),
        (None, Some(named)) => Ok(named),
        (None, None) => checked_out()?.ok_or_else(|| {
            failed("No branch is checked out.".to_owned()).hint("Name the branch with --branch.")
        }),
    }
}

/// The branch of the last run, whose name is free at the remote once its commits have landed.
fn last_run(project: &Project) -> Option<String> {
    HubLayout::in_state(project.state_dir()).runs().next().map(|tip| tip.branch)
}

/// Whether a branch is the one into which the pull request would be merged.
fn is_default(project: &Project, branch: &str, args: &PrArgs) -> Result<bool, Fault> {
    if let Some(base) = &args.base {
        return Ok(branch == base);
    }
    let head = format!("refs/remotes/{}/HEAD", args.remote);
    let known = git(project, &["symbolic-ref", "--quiet", "--short", &head])?;
    let known = known.and_then(|name| Some(name.split_once('/')?.1.to_owned()));
    Ok(match known {
        Some(default) => branch == default,
        None => ["main", "master", "trunk", "develop"].contains(&branch),
    })
}

/// The title of SPEC.md, as far as it is one.
fn title(project: &Project) -> String {
    let spec = read_text(&project.root().join("SPEC.md"), DOCUMENT_LIMIT).ok().flatten().unwrap_or_default();
    let heading = spec.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    heading.filter(|heading| !heading.is_empty()).unwrap_or("Work of autonoe").chars().take(200).collect()
}

fn shortened(body: &str) -> &str {
    let mut end = MAX_BODY_BYTES.min(body.len());
    while !body.is_char_boundary(end) {
        end -= 1;
    }
    &body[..end]
}

/// What git prints; `None` if it fails.
fn git(project: &Project, args: &[&str]) -> Result<Option<String>, Fault> {
    let output = Command::new("git").args(args).current_dir(project.root()).output();
    let output = output.map_err(|error| failed(format!("git cannot be started: {error}.")))?;
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(output.status.success().then_some(printed))
}

/// Runs a program of the user's as the user would, with `input`.
fn run(directory: &Path, program: &str, args: &[&str], input: &str) -> Result<(), Fault> {
    let stdin = if input.is_empty() { Stdio::inherit() } else { Stdio::piped() };
    let started = Command::new(program).args(args).current_dir(directory).stdin(stdin).spawn();
    let ended = started.and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input says itself what is wrong.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait()
    });
    let why = match ended {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(failed(format!("`{program} {}` failed: {why}.", args.first().copied().unwrap_or_default())))
}

fn failed(message: String) -> Fault {
    Fault::permanent(FaultLayer::Config, "pull_request", message)
}
