//! Programs are recognized wherever they are, and what other programs run is judged too.

use super::tests::expect;

#[test]
fn an_unknown_word_hides_no_subcommand() {
    expect(
        Some("contained.publish"),
        &[
            "git $FLAGS push",
            "git \"$x\" push",
            "git $(cat x) push",
            "npm $x publish",
            "docker $OPTS push img",
            "docker $OPTS compose $X push",
            "cargo $x $y publish",
            "gh $x release create v1",
            "f() { git \"$@\" push; }; f",
        ],
    );
    expect(
        None,
        &[
            "git $x && git \"$@\" && git $x log push && git $x log -- push",
            "npm $x && npm run $x publish && docker $OPTS build push && cargo $x build && gh $x issue list",
            "kubectl get $x apply && git \"sub$x\" push",
        ],
    );
}

#[test]
fn the_last_component_of_a_path_decides() {
    expect(
        Some("contained.publish"),
        &[
            "~/.cargo/bin/cargo publish",
            "~me/bin/git push",
            "\"$VENV/bin/twine\" upload dist/*",
            "$VENV/bin/twine upload dist/*",
            "$PYTHON -m twine upload dist/*",
            "\"$PYTHON\" -m twine upload dist/*",
            "$VENV/bin/python -m twine upload dist/*",
            "$HOME/bin/gh release create v1",
            "$(npm bin)/vercel deploy",
            "sudo \"$DIR/git\" push",
            "timeout 5 ~/bin/git push",
            "\"$SUDO\" git push",
            "sh -c \"$HOME/bin/git push\"",
            "x=$DIR/git; $x push",
        ],
    );
    expect(Some("contained.steering"), &["~/.cargo/bin/autonoe land", "\"$BIN/autonoe\" trust"]);
    expect(
        None,
        &[
            "~/.cargo/bin/cargo build && \"$VENV/bin/python\" -m pytest && $PYTHON -m twine check dist/* && $DIR/x push",
        ],
    );
}

#[test]
fn text_that_a_program_runs_is_judged() {
    expect(
        Some("contained.publish"),
        &[
            "tar xf x.tar --to-command='git push'",
            "tar cf x.tar . --checkpoint=1 --checkpoint-action=exec='git push'",
            "tar -I 'git push' -cf x .",
            "tar --use-compress-program 'git push' -cf x .",
            "split --filter='git push' x",
            "sort --compress-program='git push' x",
            "rsync -e 'git push' a b:c",
            "ssh -o ProxyCommand='git push' x",
            "ssh -oProxyCommand='git push' x",
            "ssh -o 'LocalCommand git push' x",
            "sed '1e git push' x",
            "sed -n 'e git push' x",
            "sed 's/x/git push/e' x",
            "awk 'BEGIN { system(\"git push\") }'",
            "awk 'BEGIN{\"git push\" | getline x}'",
            "awk '{ print $1 | \"git push\" }' x",
            "make -f - <<< 'x: ;git push'",
            "make -f- <<E\nx:\n\t@git push\nE",
            "printf 'x:\\n\\tgit push\\n' | make -f /dev/stdin",
            "MAKEFLAGS='--eval=x:;git push' make",
            "export MAKEFLAGS='-j2 --eval=$(shell git push)'",
            "sem git push",
            "sem --id x 'git push'",
            "cargo watch -x publish",
            "cargo watch -x 'publish --allow-dirty'",
            "cargo watch -s 'git push'",
            "cargo-watch -x publish",
            "nvm exec npm publish",
            "nvm exec 20 npm publish",
            "volta run npm publish",
            "volta run --node 20 npm publish",
            "fnm exec --using=20 npm publish",
            "just --command git push",
            "just -c git push",
            "ls | entr git push",
            "ls | entr -s 'git push'",
            "watchexec git push",
            "watchexec -- npm publish",
            "nodemon --exec 'git push'",
            "nodemon -x 'git push'",
            "concurrently 'git push' ls",
            "npm exec -c 'git push'",
            "npx -c 'git push'",
            "pnpm dlx vercel deploy",
            "mise exec -- npm publish",
            "mise x node@20 -- npm publish",
            "asdf exec npm publish",
            "direnv exec . git push",
            "poetry run twine upload dist/*",
            "uv run --with twine twine upload dist/*",
            "pipenv run twine upload dist/*",
            "rye run twine upload dist/*",
            "hatch run twine upload dist/*",
            "pixi run git push",
            "nix-shell --run 'git push'",
            "nix-shell -p git --command 'git push'",
            "nix develop -c git push",
            "devbox run git push",
            "devbox run -- 'git push'",
            "doppler run --command 'git push'",
            "dotenv -- npm publish",
            "dotenv -e .env -- npm publish",
            "env-cmd npm publish",
            "env-cmd -f .env npm publish",
            "cross-env A=1 npm publish",
            "cross-env-shell 'npm publish'",
            "op run -- npm publish",
            "echo git push | at now",
            "python3 -c 'import os; os.system(\"git push\")'",
            "python3 -c 'import subprocess; subprocess.run([\"git\", \"push\", \"origin\"])'",
            "python3 - <<'E'\nimport subprocess\nsubprocess.check_call(['git', 'push'])\nE",
            "node -e \"require('child_process').execSync('git push')\"",
            "perl -e 'system(\"git\", \"push\")'",
            "perl -e 'exec \"git push\"'",
            "ruby -e '`git push`'",
            "python3 - <<'E'\nsubprocess.run([\n    \"git\",\n    \"push\",\n])\nE",
            "python3 -c \"s.check_call(('git', 'push'))\"",
            "python3 -c \"run(args=['git', 'push'])\"",
            "python3 -c \"run(['sh', '-c', 'git push'])\"",
            "python3 -c \"os.execvp('git', ['git', 'push'])\"",
            "python3 -c \"os.spawnlp(os.P_WAIT, 'git', 'git', 'push')\"",
            "python3 -c \"asyncio.create_subprocess_exec('git', 'push')\"",
            "node -e 'require(\"child_process\").exec(`git push`)'",
            "deno eval 'new Deno.Command(\"git\", { args: [\"push\"] }).outputSync()'",
            "bun -e 'await Bun.$`git push`'",
            "ruby -e '%x(git push)'",
            "perl -e 'qx(git push)'",
            "perl -e 'system qw(git push)'",
            "perl -e 'open(F, \"git push|\")'",
            "perl -e 'open F, \"-|\", \"git\", \"push\"'",
            "awk 'BEGIN { print \"x\" | \"git push\" }'",
            "git fetch 'ext::sh -c \"git push\"'",
            "env X=push sh -c 'git $X'",
            "bash gradlew publish",
            "sh ./mvnw deploy",
            "psql -c '\\! git push'",
            "vim -c '!git push' x",
            "go test -exec 'git push' ./...",
        ],
    );
    expect(
        None,
        &[
            "tar xzf x.tar.gz -C y && tar -I zstd -cf push.tar . && split -l 5 x && sort -u x",
            "sed -i 's/git push/git pull/' README.md && sed -e 's/a/b/g' -n -e '/push/p' x",
            "awk '{ print \"git push\" }' x && awk -F'|' '{ print $1 | \"sort\" }' x",
            "make -f - <<< 'x: ; ls' && cargo watch -x test && cargo watch -x 'publish --dry-run'",
            "python3 -c \"print('git push')\" && node -e 'console.log(1)' && perl -ne 'print if /push/' x",
            "just publish-docs && nvm use 20 && volta install node && uv run pytest && hatch run test && pixi run lint",
            "python3 - <<'E'\nimport subprocess\nsubprocess.run(['git', 'status'])\nprint('git push')\nE",
            "python3 - <<'E'\nopen('README.md', 'w').write('Run `git push` at the end.')\nE",
            "python3 -c \"print(open('README.md').read().replace('git push', 'git pull'))\"",
            "python3 -c \"import json; json.dump({'run': 'git push'}, open('x.json', 'w'))\"",
            "node -e 'const s = `git push`; console.log(s, [\"git push\"])' && bash build.sh publish-notes",
            "ssh -o StrictHostKeyChecking=no x ls && rsync -av -e ssh a b",
        ],
    );
}

#[test]
fn settings_that_name_a_command_are_judged() {
    expect(
        Some("contained.publish"),
        &[
            "git -c interactive.diffFilter='git push' add -p",
            "git -c core.alternateRefsCommand='git push' fetch",
            "git -c sendemail.tocmd='git push' log",
            "git config interactive.diffFilter 'git push'",
            "git config --global web.browser 'git push'",
            "git -c submodule.x.update='!git push' submodule update",
            "git -ccore.pager='git push' log",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='git push' cargo test",
            "CC='git push' make",
        ],
    );
    expect(
        None,
        &[
            "git -c user.name='git push' commit -m x && git commit -m 'x.y=git push' && git config user.name 'npm publish'",
            "git -c advice.detachedHead=false checkout x && git config push.default current && CC=gcc make",
            "git commit README.md -m 'git push later' && git log --grep='git push'",
        ],
    );
}
