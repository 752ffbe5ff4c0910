//! Programs that run a program of a package: interpreters (`node node_modules/.bin/x`), package managers (`bun x`), and
//! Python's `-m`.

use super::publishing;
use crate::words::Arg;

const INTERPRETERS: [&str; 7] = ["node", "php", "ruby", "python", "python3", "bun", "tsx"];

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// Package managers that run a package's program by its bare name, and their words before it.
const MANAGERS: [&str; 4] = ["bun", "yarn", "pnpm", "deno"];
const MANAGER_WORDS: [&str; 5] = ["run", "exec", "x", "dlx", "task"];

/// Packages and modules whose name is not that of their program.
const PACKAGES: [(&str, &str); 8] = [
    ("firebase-tools", "firebase"),
    ("aws-cdk", "cdk"),
    ("changesets", "changeset"),
    ("angular", "ng"),
    ("aws-amplify", "amplify"),
    ("semantic_release", "semantic-release"),
    ("python-semantic-release", "semantic-release"),
    ("laravel-vapor", "vapor"),
];

const EXTENSIONS: [&str; 7] = [".js", ".cjs", ".mjs", ".ts", ".php", ".phar", ".py"];

/// The programs that a call runs, each with its arguments.
pub fn programs<'a>(name: &str, args: &'a [Arg]) -> Vec<(&'a str, &'a [Arg])> {
    let mut found = Vec::new();
    if name.starts_with("python") {
        found.extend(module(args));
    }
    // Ruby and Perl look for the program after `-S` in PATH.
    if let Some(at) =
        args.iter().position(|arg| arg.literal() == Some("-S")).filter(|_| name == "ruby" || name == "perl")
        && let Some(program) = args.get(at + 1).and_then(Arg::literal)
    {
        found.push((program_name(program), &args[at + 2..]));
    }
    // `sh gradlew publish`
    if SHELLS.contains(&name)
        && let Some(at) = args.iter().position(|arg| !arg.text.starts_with(['-', '+']))
        && let Some(script) = args[at].literal()
    {
        found.push((program_name(script), &args[at + 1..]));
    }
    let is_manager = MANAGERS.contains(&name);
    if !is_manager && !INTERPRETERS.contains(&name) {
        return found;
    }
    // `yarn workspace x publish` is `yarn publish` in the directory of the package.
    if let ("yarn", [workspace, _, rest @ ..]) = (name, args)
        && workspace.text == "workspace"
    {
        found.push(("yarn", rest));
    }
    for mut at in publishing::starts(name, args) {
        while is_manager && args.get(at).is_some_and(|arg| MANAGER_WORDS.contains(&arg.text.as_str())) {
            at += 1;
            at += args[at..].iter().take_while(|arg| arg.text.starts_with('-')).count();
        }
        let Some(program) = args.get(at).and_then(Arg::literal) else { continue };
        let is_program = is_manager || program.contains('/');
        if is_program {
            found.push((program_name(program), &args[at + 1..]));
            found.extend(package_of(program).map(|package| (package, &args[at + 1..])));
        }
    }
    found
}

/// The module after Python's `-m`, which may be attached or in a cluster of options.
fn module(args: &[Arg]) -> Option<(&str, &[Arg])> {
    let is_cluster = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains('m');
    let at = args.iter().position(|arg| arg.literal().is_some_and(is_cluster))?;
    let (_, attached) = args[at].literal()?.split_once('m')?;
    match attached {
        "" => Some((program_name(args.get(at + 1)?.literal()?), &args[at + 2..])),
        attached => Some((program_name(attached), &args[at + 1..])),
    }
}

/// The package to which a file in `node_modules` or `vendor` belongs.
fn package_of(path: &str) -> Option<&str> {
    let (_, inside) = path.rsplit_once("node_modules/").or_else(|| path.rsplit_once("vendor/"))?;
    let mut parts = inside.split('/');
    let first = parts.next()?;
    let package = if first.starts_with('@') { parts.next()? } else { first };
    Some(program_name(package))
}

/// The name of a program without its directory, or of a package without its registry, scope and version.
pub fn program_name(program: &str) -> &str {
    let program = program.strip_prefix("npm:").or_else(|| program.strip_prefix("jsr:")).unwrap_or(program);
    let mut parts = program.rsplit('/');
    let name = parts.next().unwrap_or(program);
    let name = match name.split_once('@') {
        Some((package, _)) if !package.is_empty() => package,
        _ => name,
    };
    // `@railway/cli` is the package of `railway`.
    let scope = parts.next().and_then(|scope| scope.strip_prefix('@'));
    let name = scope.filter(|_| name == "cli").unwrap_or(name);
    let name = EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(name);
    if name.starts_with("python3.") {
        return "python3";
    }
    if let Some((_, program)) = PACKAGES.iter().find(|(package, _)| *package == name) {
        return program;
    }
    match name.strip_suffix("-cli") {
        Some(program) if !publishing::is_listed(name) && publishing::is_listed(program) => program,
        _ => name,
    }
}
