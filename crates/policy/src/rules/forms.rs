//! The forms of language commands that only verify, as data.

/// A form of a command that is allowed in `sync`.
pub struct VerificationForm {
    pub command: &'static str,
    /// The leading arguments.
    pub start: &'static [&'static str],
    /// Options of which at least one is required; empty if none is.
    pub needs: &'static [&'static str],
    /// Options that are denied.
    pub denied: &'static [&'static str],
}

const fn form(
    command: &'static str,
    start: &'static [&'static str],
    needs: &'static [&'static str],
    denied: &'static [&'static str],
) -> VerificationForm {
    VerificationForm { command, start, needs, denied }
}

const NPM: &[&str] = &[
    "--script-shell", "--prefix", "-C", "--userconfig", "--globalconfig", "--node-options", "--update", "-u",
    "--updateSnapshot", "--update-snapshots", "--fix", "--write", "--cwd", "--dir", "--init-module",
];
const SNAPSHOTS: &[&str] = &[
    "-u", "--update", "--updateSnapshot", "--update-snapshots", "--init", "--outputFile",
    "--coverageDirectory", "--coverage.reportsDirectory", "--coverage", "--output", "--outputDir",
    "--cacheDirectory", "--cache.dir", "--globalSetup", "--logHeapUsage",
];
const GO: &[&str] = &[
    "-exec", "-toolexec", "-c", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile",
    "-mutexprofile", "-trace", "-outputdir", "-mod", "-modfile", "-overlay", "-vettool", "-ldflags",
    "-gcflags", "-asmflags", "-gccgoflags", "-compiler", "-pkgdir", "-C", "-fuzz", "-fix",
];
const CARGO: &[&str] = &["--fix", "--config", "--target-dir", "-Z", "--out-dir", "--artifact-dir", "-C"];
const PHPUNIT: &[&str] = &[
    "--generate-configuration", "--migrate-configuration", "--log-junit", "--log-teamcity", "--testdox-html",
    "--testdox-text", "--coverage-html", "--coverage-xml", "--coverage-clover", "--coverage-php",
    "--coverage-text", "--generate-baseline", "--update-snapshots", "--init", "-d",
];

pub static FORMS: [VerificationForm; 62] = [
    form("npm", &["test"], &[], NPM),
    form("npm", &["t"], &[], NPM),
    form("npm", &["run", "test"], &[], NPM),
    form("npm", &["run", "build"], &[], NPM),
    form("yarn", &["test"], &[], NPM),
    form("yarn", &["build"], &[], NPM),
    form("yarn", &["run", "test"], &[], NPM),
    form("yarn", &["run", "build"], &[], NPM),
    form("pnpm", &["test"], &[], NPM),
    form("pnpm", &["build"], &[], NPM),
    form("pnpm", &["run", "test"], &[], NPM),
    form("pnpm", &["run", "build"], &[], NPM),
    form("bun", &["test"], &[], NPM),
    form("bun", &["run", "test"], &[], NPM),
    form("bun", &["run", "build"], &[], NPM),
    form("vitest", &[], &[], SNAPSHOTS),
    form("jest", &[], &[], SNAPSHOTS),
    form("mocha", &[], &[], &["--reporter-option", "--reporter-options", "-O"]),
    form("playwright", &["test"], &[], SNAPSHOTS),
    form(
        "tsc",
        &[],
        &["--noemit", "-noemit"],
        &[
            "--build", "-b", "-i", "--init", "--generatetrace", "--generatecpuprofile", "--incremental",
            "--tsbuildinfofile", "--composite",
        ],
    ),
    form(
        "eslint",
        &[],
        &[],
        &[
            "--fix", "--fix-dry-run", "--fix-type", "-o", "--output-file", "--init", "--cache-location",
            "--cache-file",
        ],
    ),
    form(
        "prettier",
        &[],
        &["--check", "-c", "--list-different", "-l"],
        &["--write", "-w", "--cache-location"],
    ),
    form("biome", &["check"], &[], BIOME),
    form("biome", &["lint"], &[], BIOME),
    form("biome", &["ci"], &[], BIOME),
    form(
        "pytest",
        &[],
        &[],
        &[
            "--junitxml", "--junit-xml", "--basetemp", "--snapshot-update", "--pastebin", "--debug",
            "--cov-report", "--result-log", "--report-log", "--html",
        ],
    ),
    form("tox", &[], &[], &["--override", "-x", "--workdir", "--devenv", "exec", "--recreate"]),
    form("nox", &[], &[], &["--envdir"]),
    form(
        "mypy",
        &[],
        &[],
        &[
            "--install-types", "--python-executable", "--junit-xml", "--html-report", "--xml-report",
            "--txt-report", "--any-exprs-report", "--linecount-report", "--cobertura-xml-report",
            "--cache-dir",
        ],
    ),
    form("pyright", &[], &[], &["--createstub", "--writebaseline", "--pythonpath", "-p:write"]),
    form(
        "ruff",
        &["check"],
        &[],
        &["--fix", "--fix-only", "--add-noqa", "-o", "--output-file", "--cache-dir"],
    ),
    form("ruff", &["format"], &["--check", "--diff"], &["--cache-dir"]),
    form("flake8", &[], &[], &["--output-file", "--tee"]),
    form("pylint", &[], &[], &["--output", "--init-hook"]),
    form("rspec", &[], &[], &["-o", "--out", "--init"]),
    form("minitest", &[], &[], &[]),
    form("cucumber", &[], &[], &["-o", "--out", "--init"]),
    form(
        "rubocop",
        &[],
        &[],
        &[
            "-a", "-A", "-x", "--autocorrect", "--autocorrect-all", "--auto-correct", "--auto-correct-all",
            "--safe-auto-correct", "--fix-layout", "--auto-gen-config", "--regenerate-todo", "--init", "-o",
            "--out",
        ],
    ),
    form("standard", &[], &[], &["--fix", "--fix-unsafely", "--generate-todo"]),
    form("standardrb", &[], &[], &["--fix", "--fix-unsafely", "--generate-todo"]),
    form("go", &["test"], &[], GO),
    form("go", &["build"], &[], GO),
    form("go", &["vet"], &[], GO),
    form("go", &["version"], &[], GO),
    form("go", &["list"], &[], GO),
    form("gofmt", &[], &["-d", "-l"], &["-w", "-cpuprofile"]),
    form(
        "golangci-lint",
        &["run"],
        &[],
        &["--fix", "--output.text.path", "--cpu-profile-path", "--mem-profile-path"],
    ),
    form("staticcheck", &[], &[], &["-debug.cpuprofile", "-debug.memprofile", "-debug.trace"]),
    form("golint", &[], &[], &[]),
    form("cargo", &["test"], &[], CARGO),
    form("cargo", &["check"], &[], CARGO),
    form("cargo", &["clippy"], &[], CARGO),
    form("cargo", &["build"], &[], CARGO),
    form("cargo", &["nextest", "run"], &[], CARGO),
    form("cargo", &["fmt"], &["--check"], CARGO),
    form("rustfmt", &[], &["--check"], &["--backup"]),
    form("phpunit", &[], &[], PHPUNIT),
    form("pest", &[], &[], PHPUNIT),
    form("phpstan", &["analyse"], &[], &["--generate-baseline", "-b", "--fix"]),
    form("phpstan", &["analyze"], &[], &["--generate-baseline", "-b", "--fix"]),
    form("psalm", &[], &[], &["--alter", "--set-baseline", "--update-baseline", "--report", "--init"]),
    form("phpcs", &[], &[], &["--report-file", "--config-set", "--config-delete", "--cache"]),
];

const BIOME: &[&str] =
    &["--write", "--apply", "--apply-unsafe", "--fix", "--unsafe", "--suppress", "--reporter-file"];
