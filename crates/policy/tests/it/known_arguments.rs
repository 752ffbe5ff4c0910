//! Arguments that are written as expansions and still known, and programs that run what their arguments say.

use autonoe_policy::{CommandPolicy, Mode, Profile};

use crate::tables::{judge_all, strict};

#[test]
fn what_variables_are_set_to_is_judged_as_if_it_were_written_out() {
    judge_all(
        &strict(),
        true,
        &[
            "f=README.md; sed -i s/a/b/ \"$f\"",
            "f=README.md; cp \"$f\" src/copy.md",
            "for f in a b; do touch \"$f\" && cp \"$f\" \"$f.bak\"; done",
            "d=src; mkdir -p \"$d/x\" && echo hi > \"$d/x/y\"",
            "out=result.txt; echo hi > \"$out\"; cat \"$out\"",
            "f=a; g() { touch \"$f\"; }; g",
            "name=foo; git checkout -b \"feature/$name\"",
            "s='s/a/b/'; sed \"$s\" README.md",
        ],
    );
    judge_all(
        &strict(),
        false,
        &[
            "f=escape-file; echo > \"$f\"",
            "for d in src escape; do touch \"$d/x\"; done",
            "f=README.md; [ -f x ] && f=/etc/x; echo > \"$f\"",
            "f=-t; cp \"$f\" escape README.md",
            "x=--output=x; git diff \"$x\"",
            "s='s/a/b/w out'; sed \"$s\" README.md",
            // The environment may have it.
            "touch \"$f\"",
            "rm -rf src\"$x\"",
            "[ -f x ] && f=a; touch \"$f\"",
            "f=a; unset f; touch \"$f\"",
            "(f=a); touch \"$f\"",
            "g() { touch \"$f\"; }; f=a; g",
            "read -r f; touch \"$f\"",
            // It may become several words, or none.
            "f=a; touch $f",
            "f=('' a); touch \"${f[@]}\"",
        ],
    );
}

#[test]
fn what_runners_run_is_judged_by_its_own_rule() {
    let mut strict = strict();
    let profiles = Profile::active(&[Profile::Node, Profile::Python, Profile::Ruby, Profile::Rust]);
    strict.policy = CommandPolicy::new(strict.project.options(Mode::Run, profiles));
    judge_all(
        &strict,
        false,
        &[
            "npx rm -rf src",
            "npx --yes rm x",
            "npx -p cowsay rm x",
            "npx sh -c ls",
            "npx cat escape-file",
            "npx tee .git/config",
            "npx git push ./other main",
            "npx -c 'git push ./other main'",
            "npx --call='rm x'",
            "npm exec -- rm x",
            "npm exec -c 'cat escape-file'",
            "npm x rm x",
            "pnpm exec rm x",
            "yarn exec rm x",
            "bunx rm x",
            "uv run rm -rf /",
            "uv run --with requests rm x",
            "uv run -- rm x",
            "uv run bash -c ls",
            "uv run npx rm x",
            "poetry run cat /etc/passwd",
            "bundle exec rm x",
            "x=rm; npx \"$x\" y",
            "npx cross-env A=b rm x",
            "npx concurrently 'npm start' 'rm x'",
            "nodemon --exec 'rm x'",
            "timeout 5 npx rm x",
            "npx -yc 'rm x'",
            "npx -c \"$(echo 'rm x')\"",
            "read -r x; npx -c \"$x\"",
            "npx --call=\"$x\"",
            "x='rm x'; npx -c \"$x\"",
            "echo 'rm x' | xargs -I% npx -c %",
            "npx --c 'rm x'",
            "npx -call 'rm x'",
            "npx -c='rm x'",
            "npx --loglevel silent -c 'dd if=x'",
            "npm --prefix . exec -c 'rm x'",
            "npm --call 'rm x' exec",
            "npm -c 'rm x' exec",
            "npm --prefix src x rm x",
            "npm --package x exec -c 'rm x'",
            "npm --yes true exec -c 'rm x'",
            "echo 'rm x' | npx",
            "npx <<< 'rm x'",
            "npm exec < README.md",
            "pnpm -C src exec rm x",
            "yarn --cwd src exec rm x",
            "yarn workspaces foreach -A exec rm x",
            "yarn workspace web exec rm x",
            "yarn exec 'rm x'",
            "bun --cwd src x rm x",
            "bundle e rm x",
            "bundle exec 'rm x'",
            "cargo watch -s 'rm x'",
            "cargo +stable watch -s 'rm x'",
            "uv run unlink x",
            "poetry run dd if=escape-file",
            "npx -c 'git checkout -q other'; cp README.md a.txt",
            "git checkout other; npx -c 'cat README.md'",
        ],
    );
    judge_all(
        &strict,
        true,
        &[
            "npx cat README.md",
            "npx -c 'ls src'",
            "npx eslint . --fix",
            "npx --version && npx -y prettier . && npx create-vite app --template react",
            "npm --prefix src run build && npm install && npm run x",
            "npx -p typescript tsc -p . && npx --yes degit user/repo my-app",
            "pnpm -r build && yarn workspace web build && yarn add find",
            "uvx ruff check && uv add dd && cargo watch -x test",
            "npx prettier -c .",
            "npx prettier --write 'src/**/*.js' test find",
            "npx cross-env NODE_ENV=test jest -t find",
            "npx concurrently 'npm run a' 'npm run b'",
            "npm run test && npm test",
            "uv run --with requests python x.py",
            "uv run --env-file .env pytest -k find",
            "uv run pytest && uv pip install find",
            "bundle exec rake test",
            "cargo run -- find x",
        ],
    );
}
