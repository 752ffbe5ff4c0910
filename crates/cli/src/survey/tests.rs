use std::fs;

use autonoe_core::profile::Profile::{self, Bun, Go, Node, Php, Python, Ruby, Rust};

use super::{FoundLanguage, ProjectSurvey};

fn survey(files: &[(&str, &str)]) -> ProjectSurvey {
    let directory = tempfile::tempdir().expect("directory");
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, content).expect("written");
    }
    ProjectSurvey::of(directory.path())
}

/// The only language of a project with these files.
#[track_caller]
fn one(files: &[(&str, &str)]) -> FoundLanguage {
    let mut languages = survey(files).languages;
    assert_eq!(languages.len(), 1, "{languages:?}");
    languages.remove(0)
}

/// Asserts tool, test command and whether it installs packages; an empty command means that no tests are found.
#[track_caller]
fn assert_found(files: &[(&str, &str)], name: &str, tool: &str, command: &str, needs_network: bool) {
    let found = one(files);
    let (found_command, network) =
        found.tests.map(|tests| (tests.command, tests.needs_network)).unwrap_or_default();
    assert_eq!(
        (found.name, found.tool, found_command.as_str(), network),
        (name, tool, command, needs_network)
    );
}

#[test]
fn rust() {
    let plain = "[package]\nname = \"x\"\n[dependencies]\nhere = { path = \"here\" }\n";
    assert_found(&[("Cargo.toml", plain)], "Rust", "cargo", "cargo test", false);
    let with = "[package]\nname = \"x\"\n[dev-dependencies]\nserde = \"1\"\n";
    assert_found(&[("Cargo.toml", with)], "Rust", "cargo", "cargo test", true);
    let lock = "[[package]]\nname = \"x\"\n";
    let workspace =
        [("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"), ("Cargo.lock", lock), ("a/Cargo.toml", plain)];
    assert_found(&workspace, "Rust", "cargo", "cargo test --workspace", false);
    let lock = "[[package]]\nname = \"serde\"\nsource = \"registry+https://x\"\n";
    assert_found(&[("Cargo.toml", plain), ("Cargo.lock", lock)], "Rust", "cargo", "cargo test", true);
    let vendored = (".cargo/config.toml", "[source.crates-io]\nreplace-with = \"vendored-sources\"\n");
    assert_found(&[("Cargo.toml", with), vendored], "Rust", "cargo", "cargo test", false);
    assert_eq!(survey(&[("Cargo.toml", plain)]).profiles(), [Rust]);
}

#[test]
fn node_with_every_package_manager() {
    let package = r#"{"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "3"}}"#;
    let npm = ("package.json", package);
    for (lock, tool, command) in [
        ("package-lock.json", "npm", "npm ci && npm test"),
        ("none", "npm", "npm install && npm test"),
        ("pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile && pnpm test"),
        ("yarn.lock", "yarn", "yarn install --immutable && yarn test"),
        ("bun.lock", "bun", "bun install --frozen-lockfile && bun run test"),
        ("bun.lockb", "bun", "bun install --frozen-lockfile && bun run test"),
    ] {
        assert_found(&[npm, (lock, "")], "JavaScript", tool, command, true);
    }
    let classic = [npm, ("yarn.lock", "# yarn lockfile v1\n"), ("tsconfig.json", "{}")];
    assert_found(&classic, "TypeScript", "yarn", "yarn install --frozen-lockfile && yarn test", true);
    let named = r#"{"packageManager": "pnpm@9.1.0", "scripts": {"test": "node --test"}}"#;
    assert_found(&[("package.json", named)], "JavaScript", "pnpm", "pnpm test", false);
    assert_eq!(survey(&[npm]).profiles(), [Node]);
    assert_eq!(survey(&[npm, ("bun.lock", "")]).profiles(), [Node, Bun]);
}

#[test]
fn node_without_tests() {
    let no_tests = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    for package in [no_tests, "{}", "not JSON"] {
        assert_found(&[("package.json", package)], "JavaScript", "npm", "", false);
    }
    let bun = [("package.json", "{}"), ("bun.lock", ""), ("sum.test.ts", "")];
    assert_found(&bun, "JavaScript", "bun", "bun test", false);
}

#[test]
fn python_with_every_package_manager() {
    let project = ("pyproject.toml", "[project]\nname = \"x\"\n[tool.pytest.ini_options]\n");
    assert_found(&[project, ("uv.lock", "")], "Python", "uv", "uv run pytest", true);
    let poetry = (
        "pyproject.toml",
        "[tool.poetry]\nname = \"x\"\n[tool.poetry.group.dev.dependencies]\npytest = \"8\"\n",
    );
    assert_found(&[poetry], "Python", "poetry", "poetry install && poetry run pytest", true);
    assert_found(
        &[("requirements.txt", "flask\n"), ("requirements-dev.txt", "pytest\n")],
        "Python",
        "pip",
        "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt -r requirements-dev.txt && .venv/bin/python -m pytest",
        true,
    );
    assert_found(
        &[("setup.py", ""), ("tests/conftest.py", "")],
        "Python",
        "pip",
        "python3 -m venv .venv && .venv/bin/pip install -q -e . pytest && .venv/bin/python -m pytest",
        true,
    );
    assert_eq!(survey(&[project]).profiles(), [Python]);
}

#[test]
fn python_with_unittest_or_without_tests() {
    let scripts = [("sums.py", ""), ("test_sums.py", "")];
    assert_found(&scripts, "Python", "pip", "python3 -m unittest", false);
    let project = ("pyproject.toml", "[project]\nname = \"x\"\n");
    let discover = "python3 -m unittest discover -s tests -t .";
    assert_found(&[project, ("tests/test_x.py", "")], "Python", "pip", discover, false);
    assert_found(
        &[("requirements.txt", "flask\n"), ("test_app.py", "")],
        "Python",
        "pip",
        "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt && .venv/bin/python -m unittest",
        true,
    );
    assert_found(&[project], "Python", "pip", "", false);
}

#[test]
fn go() {
    let plain = "module example.com/x\n\ngo 1.24\n";
    assert_found(&[("go.mod", plain)], "Go", "go", "go test ./...", false);
    let with = format!("{plain}\nrequire example.com/y v1.0.0\n");
    assert_found(&[("go.mod", &with)], "Go", "go", "go test ./...", true);
    assert_found(&[("go.mod", &with), ("vendor/modules.txt", "")], "Go", "go", "go test ./...", false);
    assert_eq!(survey(&[("go.mod", plain)]).profiles(), [Go]);
}

#[test]
fn ruby() {
    let gems = ("Gemfile", "source 'https://rubygems.org'\ngem 'rspec'\n");
    let spec = ("spec/sum_spec.rb", "");
    assert_found(&[gems, spec], "Ruby", "bundler", "bundle install && bundle exec rspec", true);
    let rails = [("Gemfile", "gem 'rails'\n"), ("bin/rails", ""), ("test/a_test.rb", "")];
    assert_found(&rails, "Ruby", "bundler", "bundle install && bin/rails test", true);
    assert_found(&[("Rakefile", ""), ("test/a_test.rb", "")], "Ruby", "bundler", "rake test", false);
    assert_found(&[("x.gemspec", "")], "Ruby", "bundler", "", false);
    assert_eq!(survey(&[gems]).profiles(), [Ruby]);
}

#[test]
fn php() {
    let phpunit =
        ("composer.json", r#"{"require": {"php": "^8.3"}, "require-dev": {"phpunit/phpunit": "^12"}}"#);
    let command = "composer install --no-interaction && vendor/bin/phpunit";
    assert_found(&[phpunit], "PHP", "composer", command, true);
    let script = (
        "composer.json",
        r#"{"require": {"php": "^8.3", "ext-json": "*"}, "scripts": {"test": "php test.php"}}"#,
    );
    assert_found(&[script], "PHP", "composer", "composer test", false);
    assert_found(&[("composer.json", "{}")], "PHP", "composer", "", false);
    assert_eq!(survey(&[script]).profiles(), [Php]);
}

#[test]
fn java_with_maven_or_gradle() {
    assert_found(&[("pom.xml", "")], "Java", "Maven", "mvn -q test", true);
    assert_found(&[("pom.xml", ""), ("mvnw", "")], "Java", "Maven", "./mvnw -q test", true);
    assert_found(&[("build.gradle", "")], "Java", "Gradle", "gradle test", true);
    let kotlin = [("build.gradle.kts", ""), ("gradlew", ""), ("src/main/kotlin/Main.kt", "")];
    assert_found(&kotlin, "Kotlin", "Gradle", "./gradlew test", true);
    let maven = survey(&[("pom.xml", "")]);
    assert_eq!((maven.profiles(), maven.commands()), (Vec::<Profile>::new(), vec!["mvn"]));
    assert_eq!(maven.hosts(), ["repo.maven.apache.org"]);
}

#[test]
fn c_and_other_projects_with_a_makefile() {
    let makefile = ("Makefile", "CHECK := 1\nall: x\n\ntest: all\n\t./test\n");
    assert_found(&[makefile, ("src/main.c", "")], "C", "make", "make test", false);
    assert_found(&[("Makefile", "check:\n\t./x\n"), ("x.cpp", "")], "C++", "make", "make check", false);
    assert_found(&[makefile], "Make", "make", "make test", false);
    assert_found(&[("Makefile", "test := x\nall:\n"), ("x.c", "")], "C", "make", "", false);
    let cmake = [("CMakeLists.txt", "project(x)\nenable_testing()\n"), ("main.cc", "")];
    let command = "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure";
    assert_found(&cmake, "C++", "CMake", command, false);
    let beside =
        survey(&[("Cargo.toml", ""), ("Makefile", "test:\n\tcargo test\n"), ("docs/Makefile", "test:\n")]);
    assert_eq!(beside.languages.len(), 1, "a Makefile that calls cargo is not another language");
}

#[test]
fn deno() {
    assert_found(&[("deno.json", "{}")], "Deno", "deno", "deno test", false);
    let with = r#"{"tasks": {"test": "deno test -A"}, "imports": {"assert": "jsr:@std/assert@1"}}"#;
    assert_found(&[("deno.json", with)], "Deno", "deno", "deno task test", true);
    let commented = "{ // how to test\n  \"tasks\": { \"test\": \"deno test -R\" } }";
    assert_found(&[("deno.jsonc", commented)], "Deno", "deno", "deno task test", false);
    assert_eq!(survey(&[("deno.json", "{}")]).profiles(), [Node]);
}

#[test]
fn several_languages_and_subdirectories() {
    let both = survey(&[("Cargo.toml", ""), ("package.json", "{}"), (".github/workflows/ci.yml", "")]);
    assert_eq!(both.languages.iter().map(|one| one.name).collect::<Vec<_>>(), ["Rust", "JavaScript"]);
    assert_eq!(both.profiles(), [Node, Rust]);
    assert_eq!(both.ci, [("GitHub Actions", ".github/workflows")]);
    let parts = survey(&[
        ("backend/go.mod", "module x\n"),
        ("web app/package.json", r#"{"scripts": {"test": "node --test"}}"#),
        ("admin/package.json", "{}"),
        ("node_modules/x/package.json", "{}"),
    ]);
    let found: Vec<_> = parts.languages.iter().map(|one| one.file.as_str()).collect();
    assert_eq!(found, ["admin/package.json", "backend/go.mod", "web app/package.json"]);
    let commands: Vec<_> =
        parts.languages.iter().filter_map(|one| one.tests.clone()).map(|one| one.command).collect();
    assert_eq!(commands, ["cd backend && go test ./...", "cd './web app' && npm test"]);
    let workspace = survey(&[("package.json", "{}"), ("a/package.json", "{}"), ("a/tsconfig.json", "{}")]);
    assert_eq!(workspace.languages.len(), 1, "packages of a workspace are not further languages");
}

#[test]
fn an_empty_directory_and_an_unknown_one() {
    let empty = survey(&[("SPEC.md", "x"), (".autonoe/agent.json", "{}")]);
    assert!(empty.languages.is_empty() && !empty.has_files && !empty.has_repository, "{empty:?}");
    let unknown = survey(&[("main.zig", "")]);
    assert!(unknown.languages.is_empty() && unknown.has_files, "{unknown:?}");
}
