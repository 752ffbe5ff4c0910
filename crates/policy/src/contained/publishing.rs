//! Commands that publish or deploy, as data. A denial costs the agent little; a published package cannot be taken back.
//!
//! Cloud programs (`aws`, `gcloud`, `az`, `kubectl`) are denied only where their purpose is to deploy: their hosts are
//! not on the egress allowlist and the user's credentials are not in the sandbox.

use super::{build_tasks, code_hosts, harmless_calls, local_targets, npm_words, too_much};
use crate::policy_options::PolicyOptions;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, is_unknown};

/// Programs, and the subcommands with which they publish: words in order, or `~word` for a word anywhere. `*` stands for
/// every call, `!` for a call without a subcommand.
#[rustfmt::skip]
const PUBLISHERS: &[(&[&str], &[&str])] = &[
    (&["git"], &[
        "push", "send-pack", "http-push", "send-email", "svn dcommit", "p4 submit", "subtree push", "lfs push",
        "annex sync", "annex push", "review", "for-each-repo push", "remote-http", "remote-https", "remote-ssh", "remote-ext",
    ]),
    (&["hg", "sl", "dvc", "clasp", "apify", "bzr", "brz", "pijul", "cf", "choco", "cog", "ollama", "buf"], &["push"]),
    (&["fossil"], &["push", "sync"]),
    (&["darcs"], &["push", "send"]),
    (&["p4"], &["submit"]),
    (&["bentoml"], &["push", "deploy"]),
    (&["jj"], &["git push"]),
    (&["svn"], &["commit", "ci", "import"]),
    (&["gt", "spr"], &["submit", "stack submit", "diff", "land"]),
    (&["npm", "pnpm", "yarn", "bun", "npx", "lerna", "changeset", "deno", "jsr", "vsce", "ovsx", "nx"], &[
        "publish", "npm publish", "release publish", "changeset publish", "unpublish", "deprecate", "login", "adduser",
        "npm login", "dist-tag add", "dist-tag rm", "npm tag add", "npm tag remove", "tag add", "tag remove", "owner add",
        "owner rm", "access", "token", "undeprecate", "trust", "stage publish", "stage approve", "recursive publish",
        "multi publish", "m publish", "team create", "team destroy", "team add", "team rm", "org set", "org add", "org rm",
        "hook add", "hook rm", "hook update", "profile set", "profile enable-2fa", "profile disable-2fa",
    ]),
    (&["deno", "deployctl", "docusaurus", "hexo", "sst", "convex", "vapor", "dep", "arc", "sanity", "partykit", "ng",
        "architect", "opennextjs-cloudflare", "shuttle", "zappa", "modal", "prefect"], &["deploy"]),
    (&["shopify"], &["app deploy", "theme push"]),
    (&["code-push"], &["release", "release-react"]),
    (&["rush", "beachball", "electron-forge", "pkg-pr-new"], &["publish"]),
    (&["electron-builder"], &["publish", "~--publish", "~-p"]),
    (&["web-ext"], &["sign", "submit"]),
    (&["mkdocs"], &["gh-deploy"]),
    (&["cap"], &["~deploy"]),
    (&["hexo"], &["d", "~-d"]),
    (&["supabase"], &["functions deploy", "db push"]),
    (&["nx"], &["release"]),
    (&["semantic-release", "release-it", "np", "gh-pages", "surge", "release-plz"], &["*"]),
    (&["cargo", "wasm-pack"], &[
        "publish", "login", "logout", "yank", "owner", "release", "workspaces publish", "ws publish", "lambda deploy",
        "shuttle deploy", "near deploy", "smart-release", "hack publish", "component publish", "stylus deploy",
    ]),
    (&["twine"], &["upload", "register"]),
    (&["poetry", "uv", "flit", "hatch", "pdm", "rye", "maturin"], &["publish", "upload"]),
    (&["anaconda", "hf", "huggingface-cli", "conan", "luarocks", "cabal", "stack"], &["upload", "login"]),
    (&["python", "python3"], &["setup.py upload", "setup.py register", "~upload"]),
    (&["gem"], &["push", "yank", "owner", "signin"]),
    (&["rake"], &["~release"]),
    (&["lerna"], &["version"]),
    (&["hugo"], &["deploy"]),
    (&["firebase"], &["hosting:channel:deploy"]),
    (&["mvn", "mvnw", "mvnd"], &[
        "~deploy", "~deploy-file", "~sign-and-deploy-file", "~release:prepare", "~release:perform", "~publish",
        "~site-deploy", "~jib:build", "~docker:push", "~nexus-staging:release", "~wagon:upload",
    ]),
    (&["lein"], &["~deploy"]),
    (&["dotnet"], &["nuget push", "nuget delete", "~-t:PublishContainer", "~/t:PublishContainer"]),
    (&["nuget", "paket"], &["push"]),
    (&["mix"], &["hex.publish", "~hex.publish"]),
    (&["rebar3"], &["hex publish"]),
    (&["gleam", "elm", "spago"], &["publish"]),
    (&["dart", "flutter"], &["pub publish"]),
    (&["pod"], &["trunk push", "repo push"]),
    (&["opam", "nimble"], &["publish"]),
    (&["docker", "podman", "nerdctl", "buildah", "docker-compose"], &[
        "push", "login", "image push", "manifest push", "plugin push", "artifact push", "compose push", "compose publish", "publish",
        "stack deploy", "buildx imagetools create", "~--push",
    ]),
    (&["skopeo"], &["copy", "sync", "delete", "login"]),
    (&["crane", "gcrane", "oras", "regctl", "ko", "img", "imgpkg", "cosign", "cachix", "attic"], &[
        "push", "copy", "cp", "publish", "append", "index append", "attach", "sign", "attest", "upload", "manifest push",
        "manifest put", "manifest delete", "blob push", "blob put", "blob delete", "image copy", "image import", "image mod",
        "image delete", "tag delete", "artifact put", "index create", "index add",
    ]),
    (&["crane", "gcrane"], &["tag", "delete", "mutate", "rebase", "flatten"]),
    (&["oras"], &["tag"]),
    (&["ko"], &["apply", "create", "resolve"]),
    (&["ctr"], &["images push", "image push", "i push"]),
    (&["flux", "spin", "timoni"], &["push artifact", "registry push", "deploy", "mod push", "artifact push"]),
    (&["pack", "earthly", "nix", "nix-copy-closure"], &["~--publish", "~--push", "copy", "~--to"]),
    (&["helm"], &["push", "registry login", "install", "upgrade", "uninstall", "delete", "rollback", "cm-push"]),
    (&["goreleaser"], &["!", "release", "r", "publish"]),
    (&["hub"], &["push", "pull-request", "release create", "create", "fork"]),
    (&["vercel", "vc"], &["!", "deploy", "promote", "rollback", "alias", "~--prod"]),
    (&["netlify", "ntl", "firebase", "kamal", "eb", "sam"], &["deploy", "setup"]),
    (&["fly", "flyctl"], &["deploy", "launch"]),
    (&["heroku"], &["container:push", "container:release", "create", "apps:create", "config:set", "ps:scale"]),
    (&["wrangler"], &[
        "deploy", "publish", "pages deploy", "pages publish", "versions deploy", "delete", "rollback", "secret put",
        "secret delete", "secret bulk",
    ]),
    (&["fastlane"], &["deliver", "pilot", "supply"]),
    (&["mike"], &["deploy"]),
    (&["ghp-import"], &["~-p", "~--push"]),
    (&["dput"], &["*"]),
    (&["snapcraft"], &["upload", "push", "release"]),
    (&["helmfile"], &["apply", "sync", "destroy"]),
    (&["skaffold"], &["run", "deploy", "delete"]),
    (&["railway"], &["up", "deploy"]),
    (&["eas", "expo"], &["submit", "update", "publish"]),
    (&["amplify"], &["push", "publish"]),
    (&["serverless", "sls"], &["deploy", "remove"]),
    (&["cdk", "cdktf"], &["deploy", "destroy"]),
    (&["terraform", "tofu", "terragrunt"], &[
        "apply", "destroy", "import", "run-all apply", "run-all destroy", "run apply", "run destroy", "state push", "state rm", "taint", "untaint",
    ]),
    (&["pulumi"], &["up", "update", "destroy"]),
    (&["argocd"], &["app sync"]),
    (&["kubectl", "oc"], &[
        "apply", "create", "delete", "patch", "replace", "scale", "edit", "drain", "rollout restart", "rollout undo", "run",
        "label", "annotate", "taint", "expose", "set", "cp", "autoscale", "cordon", "uncordon",
    ]),
    (&["gcloud"], &["~deploy", "builds submit"]),
    (&["az"], &["webapp up", "~deploy", "deployment group create", "acr login"]),
    (&["aws"], &["cloudformation deploy", "deploy", "s3 sync"]),
];

/// Options without a value that stand before a subcommand. After any other option, the next word may be its value.
const FLAGS: [&str; 14] = [
    "--no-pager",
    "-P",
    "-p",
    "--paginate",
    "--no-optional-locks",
    "--literal-pathspecs",
    "--bare",
    "--silent",
    "-s",
    "--debug",
    "--verbose",
    "-v",
    "--quiet",
    "-q",
];

/// Options of Maven whose value is the next argument, which is then not a goal.
const MAVEN_VALUED: [&str; 8] = ["-pl", "--projects", "-rf", "--resume-from", "-f", "--file", "-P", "-s"];

/// The most arguments before a subcommand.
const MAX_LEADING: usize = 2048;
/// The most arguments between the words of a form.
const MAX_BETWEEN: usize = 64;

pub fn judge(options: &PolicyOptions, name: &str, args: &[Arg]) -> RuleResult {
    for program in ["git", "cargo"] {
        // Cargo gives its programs their own name again.
        let subcommand = name.strip_prefix(program).and_then(|rest| rest.strip_prefix('-'));
        if let Some(subcommand) = subcommand {
            let is_repeated = args.first().and_then(Arg::literal) == Some(subcommand);
            let args = if is_repeated { &args[1..] } else { args };
            return judge(options, program, &[&[Arg::plain(subcommand)], args].concat());
        }
    }
    if is_listed(name) && args.len() > MAX_LEADING && !scan(name, args).is_complete {
        return too_much();
    }
    let Some(form) = publishing_form(name, args) else { return Ok(()) };
    let shown = format!("{name} {form}");
    let shown = shown.trim_end();
    let is_allowed = |allowed: &String| {
        shown == allowed || shown.strip_prefix(allowed.as_str()).is_some_and(|rest| rest.starts_with(' '))
    };
    if options.allow_commands.iter().any(is_allowed) {
        return Ok(());
    }
    deny_with_hint(
        "contained.publish",
        format!("'{shown}' publishes or deploys; only the user may do that."),
        format!("Leave it to the user, who can add \"{shown}\" to allowCommands in .autonoe/agent.json."),
    )
}

/// The subcommand with which a call publishes; `None` if it does not.
fn publishing_form(name: &str, args: &[Arg]) -> Option<String> {
    let form = match name {
        name if code_hosts::PROGRAMS.contains(&name) => code_hosts::writing_form(args),
        "gradle" | "gradlew" | "sbt" => build_tasks::publishing_task(name, args),
        "npm" => listed_form(name, &npm_words::in_full(args)),
        "vercel" | "vc" if deploys_a_directory(args) => Some("deploy".to_owned()),
        name => listed_form(name, args).or_else(|| local_targets::image_output(name, args)),
    }?;
    let is_harmless = harmless_calls::shows_help(name, args)
        || harmless_calls::is_dry_run(name, &form, args)
        || harmless_calls::is_harmless_by_option(name, &form, args)
        || harmless_calls::only_reads(name, &form, args)
        || local_targets::stays_local(name, &form, args);
    (!is_harmless).then_some(form)
}

/// The form of [`PUBLISHERS`] that a call has.
fn listed_form(name: &str, args: &[Arg]) -> Option<String> {
    let forms =
        PUBLISHERS.iter().filter(|(programs, _)| programs.contains(&name)).flat_map(|(_, forms)| *forms);
    let starts = starts(name, args);
    let matched = forms.copied().find(|form| match form.strip_prefix('~') {
        Some(word) => {
            let is_value =
                |at: usize| is_maven(name) && at > 0 && MAVEN_VALUED.contains(&args[at - 1].text.as_str());
            let mut words = args.iter().enumerate().filter(|(at, _)| !is_value(*at));
            words.any(|(_, arg)| arg.literal().is_some_and(|text| names_word(text, word)))
        }
        None if *form == "*" => !args.iter().any(|arg| arg.literal() == Some("--version")),
        None if *form == "!" => args.iter().all(|arg| is_option_of_default(&arg.text)),
        None => starts.iter().any(|start| matches_words(&args[*start..], form)),
    })?;
    Some(matched.trim_start_matches(['~', '*', '!']).to_owned())
}

/// Whether the first word of vercel is a directory, and not a subcommand.
fn deploys_a_directory(args: &[Arg]) -> bool {
    let first = args.iter().find(|arg| !arg.text.starts_with('-'));
    first.is_some_and(|first| first.text.starts_with('.') || first.text.contains('/'))
}

fn is_maven(name: &str) -> bool {
    matches!(name, "mvn" | "mvnw" | "mvnd")
}

/// Whether an argument is a word of a form, also after a prefix as in `module:word`, or as an option that is turned on.
fn names_word(text: &str, word: &str) -> bool {
    let turned_on = || text.strip_prefix(word)?.strip_prefix('=').map(|value| !harmless_calls::is_off(value));
    text == word
        || text.strip_suffix(word).is_some_and(|before| before.ends_with(':'))
        || (word.starts_with("--") && turned_on() == Some(true))
}

/// Whether a program without a subcommand still does what it does by default.
fn is_option_of_default(text: &str) -> bool {
    text.starts_with('-') && !matches!(text, "--version" | "-v" | "-V" | "--help" | "-h")
}

/// Whether a program has forms that publish.
pub fn is_listed(name: &str) -> bool {
    PUBLISHERS.iter().any(|(programs, _)| programs.contains(&name))
}

/// Where the subcommand may begin: at the first word, and after words that may be values of options.
pub fn starts(name: &str, args: &[Arg]) -> Vec<usize> {
    scan(name, args).starts
}

struct LeadingArguments {
    starts: Vec<usize>,
    /// Whether the first word that is certainly no value of an option is among those that were looked at.
    is_complete: bool,
}

fn scan(name: &str, args: &[Arg]) -> LeadingArguments {
    let mut starts = Vec::new();
    let mut may_be_value = false;
    for (at, arg) in args.iter().enumerate().take(MAX_LEADING) {
        let text = arg.text.as_str();
        if is_unknown(arg) {
            // It may be the value of the option before it, an option, or nothing.
            may_be_value = false;
        } else if text.starts_with('-') {
            may_be_value = !FLAGS.contains(&text) && !text.contains('=');
        } else if name != "cargo" || !text.starts_with('+') {
            starts.push(at);
            if !may_be_value {
                return LeadingArguments { starts, is_complete: true };
            }
            may_be_value = false;
        }
    }
    LeadingArguments { starts, is_complete: args.len() <= MAX_LEADING }
}

/// Whether the words of a form are the first words of `args`, apart from options and their values.
pub fn matches_words(args: &[Arg], form: &str) -> bool {
    let mut words = form.split(' ').peekable();
    let mut may_be_value = false;
    for arg in args.iter().take(MAX_BETWEEN) {
        if arg.text.starts_with('-') {
            may_be_value = true;
        } else if arg.literal() == words.peek().copied() {
            words.next();
            may_be_value = false;
        } else if !std::mem::take(&mut may_be_value) && !is_unknown(arg) {
            return false;
        }
        if words.peek().is_none() {
            return true;
        }
    }
    // The rest of the form may come after more options.
    args.len() > MAX_BETWEEN && form.split(' ').count() > 1 && form.split(' ').next() == args[0].literal()
}
