//! Targets on this machine: a push to a local path, or to a registry that listens on the loopback address, publishes
//! nothing.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::words::{Arg, ArgKind, is_unknown};

const IMAGE_PROGRAMS: [&str; 4] = ["docker", "podman", "nerdctl", "buildah"];

/// Programs, and the options whose value is the registry that they use.
const REGISTRY_OPTIONS: [(&[&str], &[&str]); 5] = [
    (&["npm", "pnpm", "yarn", "bun"], &["--registry"]),
    (&["gem"], &["--host"]),
    (&["twine", "python", "python3"], &["--repository-url"]),
    (&["uv"], &["--publish-url"]),
    (&["dotnet", "nuget"], &["--source", "-s", "-Source"]),
];

/// Where images are copied to without a registry.
const IMAGE_FILES: [&str; 6] =
    ["dir:", "oci:", "oci-archive:", "docker-archive:", "docker-daemon:", "containers-storage:"];

/// Forms whose last operand is the target.
const COPIES: [&str; 4] = ["push", "copy", "cp", "image copy"];

/// Options of `git push` whose value is the next argument.
const PUSH_VALUED: [&str; 5] = ["-o", "--push-option", "--receive-pack", "--exec", "--repo"];

/// Whether a publishing call stays on this machine.
pub fn stays_local(program: &str, form: &str, args: &[Arg]) -> bool {
    match program {
        "git" => form == "push" && pushes_to_path(args),
        "mvn" | "mvnw" | "mvnd" => deploys_to_path(args),
        "helm" => {
            let registry = last_operand(args).and_then(|target| target.strip_prefix("oci://"));
            form == "push" && registry.is_some_and(|registry| is_local_url(&format!("https://{registry}")))
        }
        "crane" | "gcrane" | "regctl" => {
            let registry = last_operand(args).and_then(|target| target.split_once('/'));
            COPIES.contains(&form) && registry.is_some_and(|(host, _)| is_loopback(host))
        }
        "skopeo" => form == "copy" && last_operand(args).is_some_and(is_local_image),
        name if IMAGE_PROGRAMS.contains(&name) => pushes_local_image(form, args),
        name => REGISTRY_OPTIONS
            .iter()
            .filter(|(programs, _)| programs.contains(&name))
            .any(|(_, options)| uses_local_registry(args, options)),
    }
}

/// The `--output` of a built image, if it is a registry.
pub fn image_output(program: &str, args: &[Arg]) -> Option<String> {
    let is_pushed = |text: &str| text.contains("type=registry") || text.contains("push=true");
    let is_output = |(at, arg): (usize, &Arg)| {
        let before = at.checked_sub(1).map_or("", |before| args[before].text.as_str());
        let is_value = matches!(before, "-o" | "--output" | "--set");
        (is_value || arg.text.starts_with("-o") || arg.text.starts_with("--output=")) && is_pushed(&arg.text)
    };
    (IMAGE_PROGRAMS.contains(&program) && args.iter().enumerate().any(is_output))
        .then(|| "build --output".to_owned())
}

/// `git push ../other`. A setting could give the path another meaning.
fn pushes_to_path(args: &[Arg]) -> bool {
    let Some(at) = args.iter().position(|arg| arg.literal() == Some("push")) else { return false };
    let has_setting =
        args[..at].iter().any(|arg| arg.text.starts_with("-c") || arg.text.starts_with("--config"));
    let mut rest = args[at + 1..].iter();
    while let Some(arg) = rest.next() {
        match arg.literal() {
            Some(option) if PUSH_VALUED.contains(&option) => {
                rest.next();
            }
            Some(option) if option.starts_with('-') => {}
            target => return !has_setting && target.is_some_and(is_local_path),
        }
    }
    false
}

pub fn is_local_path(target: &str) -> bool {
    matches!(target, "." | "..")
        || ["/", "./", "../", "~/", "file:///", "file://./", "file://~/"]
            .iter()
            .any(|start| target.starts_with(start))
}

/// `-DaltDeploymentRepository=id::file:path`, also for releases and snapshots.
fn deploys_to_path(args: &[Arg]) -> bool {
    let mut targets = args
        .iter()
        .filter(|arg| arg.text.starts_with("-Dalt"))
        .filter_map(|arg| arg.text.split_once("DeploymentRepository="))
        .peekable();
    targets.peek().is_some()
        && targets.all(|(_, target)| {
            target.rsplit("::").next().is_some_and(|url| url.starts_with("file:") || is_local_url(url))
        })
}

/// `docker push localhost:5000/x`, or a login there.
fn pushes_local_image(form: &str, args: &[Arg]) -> bool {
    if form == "--push" {
        return builds_local_images(args);
    }
    let Some(target) = last_operand(args) else { return false };
    let target = target.strip_prefix("docker://").unwrap_or(target);
    match form {
        "push" | "image push" if IMAGE_FILES.iter().any(|transport| target.starts_with(transport)) => true,
        "push" | "image push" => target.split_once('/').is_some_and(|(host, _)| is_loopback(host)),
        "login" => is_loopback(target),
        _ => false,
    }
}

/// `docker buildx build --push -t localhost:5000/x .`: each tag is one of a registry on this machine.
fn builds_local_images(args: &[Arg]) -> bool {
    let tag = |(at, arg): (usize, &Arg)| match arg.text.as_str() {
        "-t" | "--tag" => Some(args.get(at + 1).map_or(String::new(), |tag| tag.text.clone())),
        text => text.strip_prefix("--tag=").map(str::to_owned),
    };
    let mut tags = args.iter().enumerate().filter_map(tag).peekable();
    let is_elsewhere =
        |arg: &Arg| ["-o", "--output", "--cache-to", "--set"].iter().any(|o| arg.text.starts_with(o));
    tags.peek().is_some()
        && tags.all(|tag| tag.split_once('/').is_some_and(|(host, _)| is_loopback(host)))
        && !args.iter().any(|arg| is_elsewhere(arg) || is_unknown(arg))
}

fn is_local_image(target: &str) -> bool {
    let registry = target.strip_prefix("docker://").and_then(|image| image.split_once('/'));
    IMAGE_FILES.iter().any(|transport| target.starts_with(transport))
        || registry.is_some_and(|(host, _)| is_loopback(host))
}

/// The last argument, unless it may be the value of an option.
fn last_operand(args: &[Arg]) -> Option<&str> {
    let args: Vec<&Arg> = args
        .iter()
        .filter(|arg| !matches!(arg.text.as_str(), "-q" | "--quiet" | "-a" | "--all-tags" | "--all"))
        .collect();
    let [.., before, last] = args.as_slice() else { return None };
    // The shell leaves `[::1]` as it is, since no file has that name.
    let is_address =
        last.kind == ArgKind::Glob && last.text.starts_with("[::1]") && !last.text.contains(['*', '?']);
    // Of a registry's image, the beginning decides.
    let is_begun = matches!(last.kind, ArgKind::Unknown | ArgKind::Several) && last.text.contains('/');
    let text = if is_address || is_begun { Some(last.text.as_str()) } else { last.literal() };
    text.filter(|text| !before.may_be_option() && !text.starts_with('-'))
}

/// Whether every value of these options is on this machine. `--@scope:registry` is one of npm's too.
fn uses_local_registry(args: &[Arg], options: &[&str]) -> bool {
    let mut values = args.iter().enumerate().filter_map(|(at, arg)| {
        let (name, value) = arg.text.split_once('=').map_or((arg.text.as_str(), None), |(n, v)| (n, Some(v)));
        let is_named = options.contains(&name) || (name.starts_with("--") && name.ends_with(":registry"));
        is_named.then(|| match value {
            Some(value) => arg.literal().map(|_| value),
            None => args.get(at + 1).and_then(Arg::literal),
        })
    });
    let is_local =
        |value: Option<&str>| value.is_some_and(|value| is_local_url(value) || is_local_path(value));
    values.next().is_some_and(is_local) && values.all(is_local)
}

fn is_local_url(url: &str) -> bool {
    let address = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    address.is_some_and(|address| {
        let host = address.split('/').next().unwrap_or_default();
        !host.contains(['@', '\\', '?', '#']) && is_loopback(host)
    })
}

/// Whether a host, perhaps with a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let (bare, after) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((bare, after)) => (bare, after),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port = after.strip_prefix(':').unwrap_or(after);
    let is_known = match host.starts_with('[') {
        true => bare.parse() == Ok(Ipv6Addr::LOCALHOST),
        false => bare == "localhost" || bare.parse() == Ok(Ipv4Addr::LOCALHOST),
    };
    is_known && port.bytes().all(|b| b.is_ascii_digit()) && (after.is_empty() || after.starts_with(':'))
}
