//! The forms of language commands that only verify, as data.

/// A form of a command that is allowed in `sync`.
pub struct VerificationForm {
    pub command: &'static str,
    /// The leading arguments.
    pub start: &'static [&'static str],
    /// Options of which at least one is required; empty if none is.
    pub needs: &'static [&'static str],
    /// The options that are allowed: `-x`, `--long`, and `-k=` or `--long=` if they take a value. Any other option could
    /// fix, update or write files, or run other code.
    pub options: &'static [&'static [&'static str]],
}

const fn form(
    command: &'static str,
    start: &'static [&'static str],
    needs: &'static [&'static str],
    options: &'static [&'static [&'static str]],
) -> VerificationForm {
    VerificationForm { command, start, needs, options }
}

/// Options that most programs have.
const COMMON: &[&str] = &[
    "--help", "-h", "--version", "--verbose", "-v", "-vv", "--quiet", "-q", "--silent", "--color", "--color=",
    "--no-color", "--colors",
];
/// Options of package managers, before the name of a script's own options.
const NPM: &[&str] = &[
    "--if-present", "--workspace=", "-w=", "--workspaces", "--filter=", "-F=", "-r", "--recursive", "--parallel",
    "--no-audit", "--offline", "-s",
];
/// Options that select and report tests, in Jest, Vitest, Mocha and Playwright.
const NODE_TEST: &[&str] = &[
    "--run", "--watch=false", "--watchAll=false", "--no-watch", "--ci", "--bail", "--bail=", "-b", "--runInBand", "-i",
    "--testNamePattern=", "-t=", "--testPathPattern=", "--testPathPatterns=", "--testTimeout=", "--passWithNoTests",
    "--findRelatedTests", "--listTests", "--detectOpenHandles", "--forceExit", "--maxWorkers=", "--verbose=",
    "--coverage=false", "--no-coverage", "--reporter=", "--reporters=", "-R=", "--project=", "--grep=", "-g=", "--fgrep=",
    "-f=", "--invert", "--timeout=", "--recursive", "--exit", "--workers=", "-j=", "--headed=false", "--retries=",
    "--shard=", "--last-failed", "--only-changed", "--list", "--max-failures=", "--browsers=", "--no-cache",
    "--environment=", "--pool=", "--no-file-parallelism", "--config=", "-c=", "--changed", "--typecheck",
    "--check-leaks", "--no-parallel", "--allowOnly", "--selectProjects=", "--json", "--only", "--spec=", "--isolate=",
    "--hideSkippedTests", "--test-name-pattern=",
];
const PYTEST: &[&str] = &[
    "-x", "-s", "-l", "-vvv", "--exitfirst", "--maxfail=", "-k=", "-m=", "-r=", "-rA", "-ra", "-rf", "-n=", "--tb=",
    "--co", "--collect-only", "--lf", "--last-failed", "--ff", "--failed-first", "--sw", "--stepwise", "--nf",
    "--durations=", "--durations-min=", "--no-header", "--no-summary", "--show-capture=", "--capture=", "--markers",
    "--fixtures", "--strict-markers", "--strict-config", "--disable-warnings", "--timeout=", "--no-cov", "--cov",
    "--cov=", "--cov-fail-under=", "--randomly-seed=", "--ignore=", "--ignore-glob=", "--deselect=", "--runslow",
    "--asyncio-mode=", "--import-mode=", "--doctest-modules", "--reruns=", "--dist=", "--numprocesses=", "--full-trace",
    "--setup-show", "--rootdir=", "--showlocals", "--keep-duplicates", "--pyargs", "--runxfail", "-qq", "--nomigrations",
    "--create-db", "--reuse-db", "--ds=", "--browser=", "--forked", "--count=",
];
const LINT: &[&str] = &[
    "--config=", "-c=", "--ext=", "--max-warnings=", "--format=", "-f=", "--rule=", "--no-eslintrc",
    "--report-unused-disable-directives", "--no-warn-ignored", "--ignore-path=", "--ignore-pattern=", "--select=",
    "--ignore=", "--extend-select=", "--exclude=", "--extend-exclude=", "--statistics", "--show-source", "--count",
    "--max-line-length=", "--max-complexity=", "--output-format=", "--disable=", "--enable=", "--errors-only", "-E",
    "--rcfile=", "--jobs=", "-j=", "--score=", "--reports=", "--parallel", "--only=", "--except=", "--display-cop-names",
    "-D", "--fail-level=", "--force-exclusion", "--no-cache", "--no-fix", "--diff", "--preview", "--target-version=",
    "--quiet", "--no-error-on-unmatched-pattern", "--resolve-plugins-relative-to=", "--lint", "-l", "--require=", "-r=",
    "--level=", "--memory-limit=", "--no-progress", "--error-format=", "--autoload-file=", "-n", "-p", "-s",
    "--standard=", "--extensions=", "--report=", "--threads=", "--show-info=", "--no-suggestions", "--stats",
];
const TYPES: &[&str] = &[
    "--strict", "--ignore-missing-imports", "--follow-imports=", "--python-version=", "--config-file=", "--exclude=",
    "-p=", "-m=", "--package=", "--module=", "--show-error-codes", "--pretty", "--no-incremental",
    "--no-error-summary", "--warn-unused-ignores", "--disallow-untyped-defs", "--check-untyped-defs",
    "--show-column-numbers", "--project=", "--level=", "--stats", "--outputjson", "--warnings", "--platform=",
    "--explicit-package-bases", "--namespace-packages", "--implicit-reexport", "--disable-error-code=",
    "--enable-error-code=",
];
const RSPEC: &[&str] = &[
    "-e=", "--example=", "-t=", "--tag=", "-f=", "--format=", "--fail-fast", "--fail-fast=", "--seed=", "--order=",
    "-I=", "-b", "--backtrace", "-n=", "--name=", "--only-failures", "--next-failure", "-p", "--profile", "--dry-run",
    "--force-color", "--pattern=", "-P=", "--exclude-pattern=", "--tags=", "--strict", "--publish-quiet", "--no-profile",
];
/// The Go tools take long options with one dash or two.
const GO: &[&str] = &[
    "-run=", "-count=", "-race", "-short", "-cover", "-covermode=", "-coverpkg=", "-timeout=", "-tags=", "-bench=",
    "-benchmem", "-benchtime=", "-parallel=", "-p=", "-failfast", "-json", "-list=", "-shuffle=", "-cpu=", "-skip=",
    "-vet=", "-n", "-a", "-trimpath", "-m", "-f=", "-deps", "-test", "-e", "-versions", "-u", "-d", "-l", "-s",
    "-checks=", "-explain=", "-go=", "-tests=", "-fail=", "-buildvcs=", "-o=", "-r=",
];
const CARGO: &[&str] = &[
    "--workspace", "--all", "--all-targets", "--all-features", "--features=", "-F=", "--no-default-features",
    "--package=", "-p=", "--exclude=", "--lib", "--bins", "--bin=", "--tests", "--test=", "--examples", "--example=",
    "--benches", "--bench=", "--doc", "--release", "-r", "--profile=", "--no-run", "--no-fail-fast", "--locked",
    "--frozen", "--offline", "--jobs=", "-j=", "--message-format=", "--target=", "--keep-going", "--manifest-path=",
    "--no-deps", "--check", "--nocapture", "--no-capture", "--test-threads=", "--exact", "--ignored",
    "--include-ignored", "--skip=", "--list", "--show-output", "-D=", "-W=", "-A=", "-F=", "-E=", "--filter-expr=",
    "--partition=", "--retries=", "--run-ignored=", "--no-tests=", "--failure-output=", "--success-output=",
    "--status-level=", "--edition=", "--cargo-profile=", "--build-jobs=", "-l", "--verbose",
];
const PHPUNIT: &[&str] = &[
    "--filter=", "--testsuite=", "--group=", "--exclude-group=", "--testdox", "--stop-on-failure", "--stop-on-error",
    "--bootstrap=", "-c=", "--configuration=", "--no-coverage", "--order-by=", "--debug", "--display-warnings",
    "--display-deprecations", "--list-tests", "--parallel", "--bail", "--compact", "--ci", "--no-progress", "--colors=",
    "--do-not-cache-result", "--fail-on-warning", "--dirty", "--retry", "--random-order",
];
/// Names in lower case; tsc takes one dash or two.
const TSC: &[&str] = &[
    "--noemit", "-p=", "--project=", "--pretty=", "--pretty", "--skiplibcheck", "--strict", "--target=", "-t=",
    "--module=", "-m=", "--moduleresolution=", "--jsx=", "--lib=", "--allowjs", "--checkjs", "--esmoduleinterop",
    "--listfiles", "--showconfig", "--noerrortruncation", "--resolvejsonmodule", "--types=", "--isolatedmodules",
    "--noimplicitany", "--nounusedlocals", "--nounusedparameters", "--extendeddiagnostics", "--diagnostics",
    "--traceresolution", "--ignoreconfig", "--allowimportingtsextensions",
];
const BIOME: &[&str] = &[
    "--config-path=", "--max-diagnostics=", "--diagnostic-level=", "--error-on-warnings", "--reporter=", "--changed",
    "--since=", "--only=", "--skip=", "--no-errors-on-unmatched", "--colors=", "--formatter-enabled=",
    "--linter-enabled=",
];
const TOX: &[&str] = &["-e=", "-p=", "-s=", "--session=", "--sessions=", "-k=", "--list", "-l", "-t=", "-q"];

pub static FORMS: [VerificationForm; 62] = [
    form("npm", &["test"], &[], &[COMMON, NPM, NODE_TEST]),
    form("npm", &["t"], &[], &[COMMON, NPM, NODE_TEST]),
    form("npm", &["run", "test"], &[], &[COMMON, NPM, NODE_TEST]),
    form("npm", &["run", "build"], &[], &[COMMON, NPM, NODE_TEST]),
    form("yarn", &["test"], &[], &[COMMON, NPM, NODE_TEST]),
    form("yarn", &["build"], &[], &[COMMON, NPM, NODE_TEST]),
    form("yarn", &["run", "test"], &[], &[COMMON, NPM, NODE_TEST]),
    form("yarn", &["run", "build"], &[], &[COMMON, NPM, NODE_TEST]),
    form("pnpm", &["test"], &[], &[COMMON, NPM, NODE_TEST]),
    form("pnpm", &["build"], &[], &[COMMON, NPM, NODE_TEST]),
    form("pnpm", &["run", "test"], &[], &[COMMON, NPM, NODE_TEST]),
    form("pnpm", &["run", "build"], &[], &[COMMON, NPM, NODE_TEST]),
    form("bun", &["test"], &[], &[COMMON, NPM, NODE_TEST]),
    form("bun", &["run", "test"], &[], &[COMMON, NPM, NODE_TEST]),
    form("bun", &["run", "build"], &[], &[COMMON, NPM, NODE_TEST]),
    form("vitest", &[], &[], &[COMMON, NODE_TEST]),
    form("jest", &[], &[], &[COMMON, NODE_TEST]),
    form("mocha", &[], &[], &[COMMON, NODE_TEST]),
    form("playwright", &["test"], &[], &[COMMON, NODE_TEST]),
    form("tsc", &[], &["--noemit", "-noemit"], &[COMMON, TSC]),
    form("eslint", &[], &[], &[COMMON, LINT]),
    form("prettier", &[], &["--check", "-c", "--list-different", "-l"], &[COMMON, PRETTIER]),
    form("biome", &["check"], &[], &[COMMON, BIOME]),
    form("biome", &["lint"], &[], &[COMMON, BIOME]),
    form("biome", &["ci"], &[], &[COMMON, BIOME]),
    form("pytest", &[], &[], &[COMMON, PYTEST]),
    form("tox", &[], &[], &[COMMON, TOX]),
    form("nox", &[], &[], &[COMMON, TOX]),
    form("mypy", &[], &[], &[COMMON, TYPES]),
    form("pyright", &[], &[], &[COMMON, TYPES]),
    form("ruff", &["check"], &[], &[COMMON, LINT]),
    form("ruff", &["format"], &["--check", "--diff"], &[COMMON, LINT, &["--check", "--line-length="]]),
    form("flake8", &[], &[], &[COMMON, LINT]),
    form("pylint", &[], &[], &[COMMON, LINT]),
    form("rspec", &[], &[], &[COMMON, RSPEC]),
    form("minitest", &[], &[], &[COMMON, RSPEC]),
    form("cucumber", &[], &[], &[COMMON, RSPEC]),
    form("rubocop", &[], &[], &[COMMON, LINT]),
    form("standard", &[], &[], &[COMMON, LINT]),
    form("standardrb", &[], &[], &[COMMON, LINT]),
    form("go", &["test"], &[], &[COMMON, GO]),
    form("go", &["build"], &[], &[COMMON, GO]),
    form("go", &["vet"], &[], &[COMMON, GO]),
    form("go", &["version"], &[], &[COMMON, GO]),
    form("go", &["list"], &[], &[COMMON, GO]),
    form("gofmt", &[], &["-d", "-l"], &[GO]),
    form("golangci-lint", &["run"], &[], &[COMMON, LINT, &["--timeout=", "--build-tags=", "--new-from-rev=", "--tests=", "--enable-all"]]),
    form("staticcheck", &[], &[], &[COMMON, GO]),
    form("golint", &[], &[], &[COMMON, &["-set_exit_status", "-min_confidence="]]),
    form("cargo", &["test"], &[], &[COMMON, CARGO]),
    form("cargo", &["check"], &[], &[COMMON, CARGO]),
    form("cargo", &["clippy"], &[], &[COMMON, CARGO]),
    form("cargo", &["build"], &[], &[COMMON, CARGO]),
    form("cargo", &["nextest", "run"], &[], &[COMMON, CARGO]),
    form("cargo", &["fmt"], &["--check"], &[COMMON, CARGO]),
    form("rustfmt", &[], &["--check"], &[COMMON, CARGO]),
    form("phpunit", &[], &[], &[COMMON, PHPUNIT]),
    form("pest", &[], &[], &[COMMON, PHPUNIT]),
    form("phpstan", &["analyse"], &[], &[COMMON, LINT]),
    form("phpstan", &["analyze"], &[], &[COMMON, LINT]),
    form("psalm", &[], &[], &[COMMON, LINT]),
    form("phpcs", &[], &[], &[COMMON, LINT]),
];

const PRETTIER: &[&str] = &[
    "--check", "-c", "--list-different", "-l", "--config=", "--ignore-path=", "--log-level=", "--loglevel=",
    "--no-error-on-unmatched-pattern", "--parser=", "--tab-width=", "--single-quote", "--ignore-unknown", "-u",
];
