use super::{assignments, is_runner_file, mentioned, runner_files, settings_places, sourced_files};

#[test]
fn sourced_files_are_found_behind_variables_and_substitutions() {
    for (text, file) in [
        (". lib/x", "lib/x"),
        (". \"$ROOT/lib/x\"", "lib/x"),
        (". \"${ROOT}/lib/x\"", "lib/x"),
        (". \"$(git rev-parse --show-toplevel)/lib/x\"", "lib/x"),
        ("cd \"$(dirname \"$(readlink -f \"$0\")\")\"; source \"$(pwd)/lib/x\"", "lib/x"),
        ("value=$(. lib/x)", "lib/x"),
        ("sh `git rev-parse --show-toplevel`/lib/x", "lib/x"),
    ] {
        let found = sourced_files(text);
        assert!(found.iter().any(|found| found == file), "{text}: {found:?}");
    }
    assert_eq!(sourced_files("echo \"$(date)/lib/x\""), Vec::<String>::new());
}

#[test]
fn runners_are_recognised_where_a_command_begins() {
    for (text, path) in [
        ("#!/bin/sh\nmake lint\n", "Makefile"),
        ("set -e; cd app && make -C x all", "rules/common.mk"),
        ("if ! npm run lint; then exit 1; fi", "package.json"),
        ("npx --no-install lint-staged", ".lintstagedrc.json"),
        ("CI=1 pnpm exec tsc", "web/package.json"),
        ("exec just check", "justfile"),
        ("task lint", "Taskfile.yml"),
        ("cargo xtask lint", "xtask/src/main.rs"),
        ("sh -c 'make lint'", "GNUmakefile"),
        ("subprocess.run([\"make\", \"lint\"])", "Makefile"),
        ("poetry run poe lint", "pyproject.toml"),
        ("./gradlew check", "app/build.gradle.kts"),
        ("./gradlew check", "gradle/wrapper/gradle-wrapper.properties"),
        ("mvn -q test", ".mvn/jvm.config"),
        ("./mvnw verify", ".mvn/maven.config"),
        ("yarn lint", ".yarn/releases/yarn-4.0.0.cjs"),
        ("yarn lint", ".yarnrc.yml"),
        ("rake lint", "Rakefile"),
        ("bundle exec rake lint", "Rakefile"),
        ("bundle exec rubocop", "Gemfile"),
        ("doit lint", "dodo.py"),
        ("scons -Q", "SConstruct"),
        ("npx gulp lint", "gulpfile.mjs"),
        ("grunt lint", "Gruntfile.js"),
        ("bazel test //...", "src/BUILD.bazel"),
        ("bazelisk build //...", "MODULE.bazel"),
        ("bazel test //...", "tools/bazel"),
        ("ninja -C out", "out/build.ninja"),
    ] {
        assert!(runner_files(text).any(|file| is_runner_file(path, file)), "{text}: {path}");
    }
    for (text, path) in [
        ("echo make sure\n# make lint\n", "Makefile"),
        ("make lint", "package.json"),
        ("make lint", "src/makefile.rs"),
        ("npm test", "src/package.json.ts"),
        ("scripts/make.sh", "Makefile"),
        ("bazel test //...", "src/bazel"),
        ("bazel test //...", "docs/build/index.md"),
        ("yarn lint", ".yarn/cache/a.zip"),
    ] {
        assert!(!runner_files(text).any(|file| is_runner_file(path, file)), "{text}: {path}");
    }
}

#[test]
fn places_of_settings_are_found_in_what_a_script_sets() {
    for (text, place) in [
        ("export XDG_CONFIG_HOME=$PWD/.cfg", "./.cfg"),
        ("export HOME=\"$(pwd)/h\"", "./h"),
        ("ZDOTDIR=./z; export ZDOTDIR", "./z"),
        ("export LUA_INIT=@tools/init", "tools/init"),
        ("export PERL5LIB=${PWD}/perl:/usr/lib/perl", "./perl"),
    ] {
        assert!(settings_places(text).iter().any(|found| found == place), "{text}");
    }
    assert!(settings_places("export DATA_DIR=$PWD/data SOURCE=src").is_empty());
}

#[test]
fn variables_that_a_text_sets_are_found_with_their_values() {
    let text = "export A=x:y B='p q'; C=\"$D/e\" f\nF=G=h é=1 =2\nI='open\n\"${J:=a b}\" ${K=c}d L:=e\n";
    let found: Vec<_> = assignments(text).collect();
    let expected = [
        ("A", "x:y"),
        ("B", "p q"),
        ("C", "$D/e"),
        ("F", "G=h"),
        ("G", "h"),
        ("I", "open"),
        ("J", "a b"),
        ("K", "c"),
    ];
    assert_eq!(found, expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn interpreters_complete_the_names_of_what_they_run() {
    for (text, files) in [
        ("node tools/x", "tools/x tools/x.js tools/x.cjs tools/x.mjs tools/x.json tools/x/index.js"),
        ("node --no-warnings -r ./hook tools/x", "hook.js tools/x.js"),
        ("node --import=./hook tools/x", "hook.mjs tools/x.js"),
        ("node \"$ROOT/tools/x\"", "tools/x.js"),
        ("npx ts-node tools/x", "tools/x.ts"),
        ("tsx watch tools/x", "tools/x tools/x.ts"),
        ("deno run -A tools/x", "tools/x.ts"),
        ("bun run tools/x", "tools/x.ts tools/x/index.ts"),
        ("ruby tools/x", "tools/x tools/x.rb"),
        ("python3.12 tools", "tools/__main__.py"),
        ("php tools/x", "tools/x"),
        ("sh run", "run"),
        ("node -e \"require('./tools/x').run()\"", "tools/x.js tools/x/index.js"),
    ] {
        let found = sourced_files(text);
        for file in files.split_whitespace() {
            assert!(found.iter().any(|found| found == file), "{text}: {file}: {found:?}");
        }
    }
    assert!(sourced_files("echo tools/x").is_empty());
    assert!(!sourced_files("sh tools/x").contains(&"tools/x.js".to_owned()));
}

#[test]
fn words_name_files_from_the_top_and_from_the_script() {
    for (word, file) in [
        (". ./lib.sh", "scripts/lib.sh"),
        ("sh scripts/b.sh", "scripts/b.sh"),
        ("\"$(dirname \"$0\")/c.sh\"", "scripts/c.sh"),
        ("\"${ROOT}/tools/d\" x", "tools/d"),
        ("$HERE/e.sh", "scripts/e.sh"),
        ("run(['../f.py'])", "f.py"),
        ("cd tools/git && ./g", "tools/git/g"),
    ] {
        let entered = vec!["tools/git".to_owned()];
        assert!(mentioned(word, "scripts", entered).any(|path| path == file), "{word}");
    }
}
