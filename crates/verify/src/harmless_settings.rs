//! Files whose names are those of settings, and that decide nothing by what is in them: plain values for a program, and where Cargo finds
//! dependencies.

use toml::Table;

use crate::language_files::is_environment;

/// Tables of Cargo's settings that say where packages come from, not how they are built and run.
const SOURCES: [&str; 6] = ["http", "net", "registries", "registry", "source", "term"];

/// Beginnings of the names of variables that say what interpreters and tools load or run, and whole names.
#[rustfmt::skip]
const STEERING: [&str; 27] = [
    "BASH_", "BUN_", "CARGO", "CLASSPATH", "DENO_", "DYLD_", "GIT_", "GOENV", "GOFLAGS", "GOPATH", "GOROOT", "GOTOOL",
    "JAVA_", "JDK_", "LD_", "LUA_", "MAKE", "NODE_", "NPM_", "PATH", "PERL", "PHP", "PYTHON", "RUBY", "RUSTC", "RUSTFLAGS",
    "SHELL",
];
const STEERING_NAMES: [&str; 4] = ["CC", "CXX", "ENV", "IFS"];

/// Only says what kind of place it is.
const NODE_ENV: &str = "NODE_ENV";

/// The tools in a `pyproject.toml` that run tests.
pub(crate) const PYTHON_TOOLS: [&str; 4] = ["coverage", "nox", "pytest", "tox"];

/// Sections of `setup.cfg` and `tox.ini` that describe a package, or are read by linters only.
#[rustfmt::skip]
const PLAIN_SECTIONS: [&str; 13] = [
    "bdist_wheel", "egg_info", "flake8", "isort", "metadata", "mypy", "options", "options.extras_require",
    "options.package_data", "options.packages.find", "pycodestyle", "pydocstyle", "sdist",
];

/// Whether the content of a file decides if it matters.
pub(crate) fn has_harmless_forms(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_environment(name) || is_of_cargo(path) || ["pyproject.toml", "setup.cfg", "tox.ini"].contains(&name)
}

pub(crate) fn is_harmless(path: &str, content: &str) -> bool {
    match path.rsplit('/').next().unwrap_or(path) {
        _ if is_of_cargo(path) => content
            .parse::<Table>()
            .is_ok_and(|table| table.keys().all(|key| SOURCES.contains(&key.as_str()))),
        "pyproject.toml" => content.parse::<Table>().is_ok_and(|table| runs_nothing(&table)),
        "setup.cfg" | "tox.ini" => {
            let mut sections =
                content.lines().filter_map(|line| line.trim().strip_prefix('[')?.split(']').next());
            sections.all(|section| PLAIN_SECTIONS.contains(&section.trim()))
        }
        _ => content.lines().all(is_plain_value),
    }
}

/// Whether it has no settings of tools that run tests, no plugins for them, and builds with no program of the project itself.
fn runs_nothing(project: &Table) -> bool {
    let table = |key: &str| project.get(key).and_then(|value| value.as_table());
    let has = |key: &str, inner: &str| table(key).is_some_and(|table| table.contains_key(inner));
    !PYTHON_TOOLS.iter().any(|tool| has("tool", tool))
        && !has("project", "entry-points")
        && !has("build-system", "backend-path")
}

fn is_of_cargo(path: &str) -> bool {
    [".cargo/config", ".cargo/config.toml"]
        .iter()
        .any(|name| path == *name || path.ends_with(&format!("/{name}")))
}

/// Whether a line sets a variable of the program to a text, also if a shell reads it.
fn is_plain_value(line: &str) -> bool {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return true;
    }
    let Some((name, value)) = line.strip_prefix("export ").unwrap_or(line).split_once('=') else {
        return false;
    };
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_plain = |c: char| c.is_alphanumeric() || " _-./:,@%+=?\"'".contains(c);
    let name = name.to_ascii_uppercase();
    let steers =
        STEERING.iter().any(|start| name.starts_with(start)) || STEERING_NAMES.contains(&name.as_str());
    is_name && value.chars().all(is_plain) && (!steers || name == NODE_ENV)
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn plain_values_and_sources_are_harmless() {
        for (path, content, harmless) in [
            (".env", "# port\nPORT=8080\nexport URL=\"http://localhost:80/a?b=c\"\n", true),
            (".env", "NODE_ENV=test\nGOOGLE_KEY=1\nRUST_LOG=debug\n", true),
            (".env", "NODE_OPTIONS=--require=./x.js\n", false),
            (".env", "node_options=--require=./x.js\n", false),
            (".env", "A=$(touch x)\n", false),
            (".env", "A=1; exit 0\n", false),
            (".env", "exit 0\n", false),
            (
                ".cargo/config.toml",
                "[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"vendor\"\n",
                true,
            ),
            (".cargo/config.toml", "[build]\nrustc-wrapper = \"./x\"\n", false),
            ("a/.cargo/config", "not toml [", false),
            ("pyproject.toml", "[project]\nname = \"a\"\n[tool.ruff]\nline-length = 99\n", true),
            ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-k x\"\n", false),
            ("pyproject.toml", "[project.entry-points.pytest11]\nx = \"x\"\n", false),
            ("pyproject.toml", "[build-system]\nbackend-path = [\".\"]\n", false),
            ("setup.cfg", "[metadata]\nname = a\n[flake8]\nmax-line-length = 99\n", true),
            ("setup.cfg", "[metadata]\n[tool:pytest]\naddopts = -k x\n", false),
            ("tox.ini", "[pytest]\naddopts = -k x\n", false),
        ] {
            assert_eq!(is_harmless(path, content), harmless, "{content}");
        }
    }
}
