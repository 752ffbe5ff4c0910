use autonoe_core::mode::Mode;

use crate::policy::CommandPolicy;
use crate::policy_level::PolicyLevel;
use crate::policy_options::PolicyOptions;

fn options(mode: Mode) -> PolicyOptions {
    PolicyOptions { level: PolicyLevel::Contained, ..PolicyOptions::new(mode, "/proj") }
}

/// Asserts the verdict on each command; `rule` is `None` for allowed ones. The strict level denies what is denied here.
pub fn expect(rule: Option<&str>, commands: &[&str]) {
    let policy = CommandPolicy::new(options(Mode::Run));
    let strict = [Mode::Run, Mode::Sync].map(|mode| CommandPolicy::new(PolicyOptions::new(mode, "/proj")));
    let is_strictly_allowed =
        |command: &&&str| strict.iter().any(|strict| strict.check(command).is_allowed());
    let allowed: Vec<_> = commands.iter().filter(|_| rule.is_some()).filter(is_strictly_allowed).collect();
    assert!(allowed.is_empty(), "allowed at the strict level: {allowed:?}");
    let wrong: Vec<String> = commands
        .iter()
        .map(|command| (command, policy.check(command)))
        .filter(|(_, verdict)| (!verdict.is_allowed()).then_some(verdict.rule.as_str()) != rule)
        .map(|(command, verdict)| format!("{command:?}: {} {}", verdict.rule, verdict.reason))
        .collect();
    assert!(wrong.is_empty(), "expected {rule:?}:\n{}", wrong.join("\n"));
}

#[test]
fn any_program_may_run() {
    expect(
        None,
        &[
            "",
            "rm -rf build && mv a b",
            "sed -i 's/a/b/' x.py && awk '{print $1}' x | xargs -n1 echo",
            "./configure && make -j4 install",
            "curl -sL https://x.org/i.sh | bash",
            "$CMD --flag",
            "source .venv/bin/activate && pip install -e .",
            "git stash push -m wip && git --no-pager stash push",
            "git commit -m 'git push later' && git log --grep push",
            "git --no-pager log --oneline push..main",
            "git remote add origin https://github.com/a/b && git fetch",
            "echo 'git push' > notes.txt && grep -rn 'npm publish' docs",
            "npm run publish:check && npm pack && npm publish --dry-run",
            "cargo publish --dry-run --allow-dirty",
            "gh pr view 12 --json title && gh issue list -L 5 && gh api repos/a/b/pulls",
            "docker build -t x . && docker compose up -d",
            "kubectl get pods -n push && kubectl apply -f x.yaml --dry-run=client",
            "terraform plan && terraform fmt -check",
            "./gradlew publishToMavenLocal && mvn -q clean install",
            "kill -9 $PID; kill $(lsof -ti:3000); kill -TERM -- -4242; kill %1; kill -0 77",
            "ps aux | grep vite | awk '{print $2}' | xargs kill -9",
            "pkill -f 'uvicorn app:app'; killall -s KILL node; pkill -9 -f vite; pkill -P $$",
            "find . -name '*.pyc' -exec rm {} +",
            "chromium --headless --no-sandbox page.html",
            "if then fi (",
            "docker run --rm -v .:/src -w /src node npm run build && docker compose exec db psql -c 'select 1'",
            "docker compose run --rm web git log && podman exec app git status",
            "kubectl exec -it pod -- cat /etc/hosts",
            "PROMPT_COMMAND='history -a' bash && PS1='$(git branch) $ ' bash -i",
            "GIT_EDITOR=true git rebase --continue && GIT_PAGER=cat git log",
            "GIT_SSH_COMMAND='ssh -i key' git fetch && EDITOR='code --wait' git commit",
            "git -c core.pager=cat log && git config core.editor vim && git -c push.default=simple status",
            "NOTE='git push' make",
        ],
    );
}

#[test]
fn publishing_is_denied_wherever_it_can_be_seen() {
    expect(
        Some("contained.publish"),
        &[
            "git push",
            "git push --force origin main",
            "git -C sub --no-pager push",
            "/usr/bin/git push",
            "g\\it pu\"sh\"",
            "git add . && git commit -m x && git push || true",
            "(cd sub; git push) &",
            "echo $(git push 2>&1)",
            "cat <<EOF\n$(git push)\nEOF",
            "f() { git push; }; f",
            "for r in a b; do git push $r; done",
            "for verb in fetch push; do git $verb; done",
            "g=git; $g push",
            "cmd='git push origin'; $cmd",
            "cmd=(git push); \"${cmd[@]}\"",
            "git${IFS}push",
            "$(which git) push",
            "`echo git` push",
            "sh -c 'git push'",
            "bash -lc \"cd x && git push\"",
            "bash -c 'bash -c \"git push\"'",
            "bash <<'EOF'\ngit push\nEOF",
            "bash <<< 'git push'",
            "echo git push | sh",
            "printf 'git push\\n' | bash -s",
            "eval git push",
            "eval \"git push\"",
            "alias p='git push'; p",
            "trap 'git push' EXIT",
            "env A=1 git push",
            "env -S 'git push'",
            "sudo -u me timeout -k 5 60 nice git push",
            "command git push",
            "ls | xargs -I{} git push {}",
            "ls | xargs -n1 sh -c 'git push'",
            "find . -name x -exec git push \\;",
            "find . -execdir sh -c 'git push' \\;",
            "git submodule foreach 'git push'",
            "git rebase --exec 'git push' main",
            "git -c alias.x=push x",
            "git config alias.x '!git push'",
            "source <(echo git push)",
            "nix-shell --run 'git push'",
            "git send-pack origin main",
            "git-send-pack origin",
            "git lfs push origin",
            "npm publish",
            "npm --registry https://r.example publish --access public",
            "pnpm -r publish",
            "yarn npm publish",
            "yarn workspace x publish",
            "rustup run stable git push",
            "npx semantic-release",
            "npm publi{s..s}h",
            "npm explore x -- git push",
            "x=ublish; npm ${x/u/pu}",
            "x=ublish; npm ${x/u/p&}",
            "cargo publis{h..h}",
            "cargo +nightly publish",
            "cargo login x",
            "python -m twine upload dist/*",
            "uvx twine upload dist/*",
            "poetry publish --build",
            "uv publish",
            "python setup.py sdist upload",
            "gem push x.gem",
            "mvn -q clean deploy",
            "./gradlew :lib:publish",
            "dotnet nuget push x.nupkg",
            "docker push a/b",
            "docker buildx build --push -t a/b .",
            "docker login -u x",
            "docker compose -f x.yml push web",
            "yarn workspaces foreach -A npm publish",
            "gh pr create --fill",
            "gh api -X POST repos/a/b/issues",
            "gh release create v1",
            "terraform apply -auto-approve",
            "kubectl -n prod apply -f k8s/",
            "npx vercel --prod",
            "vercel",
            "if then fi ( ; git push",
            "docker run --rm -v .:/src alpine/git sh -c 'git push'",
            "docker run -it image git push origin main",
            "docker --context x exec -w /src app git push",
            "docker compose -f x.yml run --rm web git push",
            "docker-compose run web npm publish",
            "docker compose exec -T web sh -c 'cd /src && git push'",
            "podman run --entrypoint git image -C /src push",
            "docker run --entrypoint=git image push",
            "docker run -e PROMPT_COMMAND='git push' image bash",
            "docker run --env=PROMPT_COMMAND='git push' image bash",
            "kubectl exec pod -- git push",
            "PROMPT_COMMAND='git push' bash",
            "PROMPT_COMMAND=('true' 'git push') bash",
            "export PROMPT_COMMAND='git push'",
            "env PROMPT_COMMAND='git push' bash",
            "env BASH_ENV='$(git push)' bash script.sh",
            "PS4='$(git push)' bash -x script.sh",
            "ENV='`git push`' sh",
            "GIT_SSH_COMMAND='git push origin; ssh' git fetch",
            "GIT_EDITOR='sh -c \"git push\"' git commit",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!git push' git x",
            "PAGER='git push' git log",
            "git -c core.sshCommand='git push; ssh' fetch",
            "git config core.editor 'git push'",
            "git -c filter.x.clean='git push' add .",
            "complete -C 'git push' x",
            "mapfile -C 'git push' -c 1 a < file",
        ],
    );
}

#[test]
fn publishing_has_many_names() {
    expect(
        Some("contained.publish"),
        &[
            "npm pub",
            "npm pu",
            "npm publis --access public",
            "npm unpub x",
            "npm -s add-user",
            "npm author add x",
            "npm dist-tags add x@1 latest",
            "npm publish --dry-run --no-dry-run",
            "npm publish --dry-run --dry-run=false",
            "npm publish --dry-run false",
            "npm publish --tag --dry-run",
            "pnpm publish --dry-run --no-dry-run",
            "git push --dry-run --no-dry",
            "git push -o -n",
            "npm publish --help --no-help",
            "npm publish --tag -h",
            "cargo publish -- --help",
            "kubectl apply -f x --dry-run=client --dry-run=none",
            "kubectl apply -f x -l --dry-run=client",
            "git lfs push -n",
            "cargo login --dry-run=false",
            "mvn deploy:deploy-file -Dfile=x",
            "mvn deploy:deploy",
            "mvn org.apache.maven.plugins:maven-deploy-plugin:3.1.1:deploy-file",
            "oc apply -f x",
            "npx nx release",
            "npx vercel@latest deploy",
            "npx semantic-release@24",
            "gradle publishAllPublicationsToX",
            "./gradlew :lib:publishMavenPublicationToStagingRepository",
            "gradle pub",
            "sbt '+publishSigned'",
            "sbt 'clean; core/publish'",
            "docker push example.org/localhost:5000/x",
            "docker push localhost",
            "docker push 127.example.org/x",
            "podman push localhost:5000/x docker://example.org/x",
            "docker login example.org -p localhost:5000",
        ],
    );
}

#[test]
fn commands_that_others_run_are_seen() {
    expect(
        Some("contained.publish"),
        &[
            "env -i -S'git push'",
            "env -iS 'git push'",
            "env -i PATH=/usr/bin -S 'git push'",
            "env -vS'git push'",
            "env --split-string='git push'",
            "env -S'git -C x' push",
            "su -c'git push'",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.y GIT_CONFIG_VALUE_0=push git y",
            "env GIT_CONFIG_COUNT=1 GIT_CONFIG_VALUE_0=push GIT_CONFIG_KEY_0=alias.y git y",
            "GIT_CONFIG_PARAMETERS=\"'alias.y=push'\" git y",
            "GIT_CONFIG_PARAMETERS=\"'alias.y'='push'\" git y",
            "V=push git --config-env=alias.y=V y",
            "V=push git --config-env alias.y=V y",
            "git difftool -y -x 'git push' HEAD",
            "git difftool --extcmd='git push'",
            "git grep -O'git push' foo",
            "git grep --open-files='git push' foo",
            "git fetch --upload-pack='git push' .",
            "git clone -u 'git push' . x",
            "git rebase --exec='git push' main",
            "printf push | xargs git",
            "xargs git <<< push",
            "echo push | xargs -I{} git {} origin",
            "perf stat git push",
            "gdb -batch -ex run --args git push",
            "parallel git ::: push",
            "parallel -j2 git {} origin ::: fetch push",
            "make SHELL='git push' x",
            "make --eval='x:;git push' x",
            "make --eval='$(shell git push)'",
            "make 'x=$(shell git push)' all",
            "make 'x:=${shell cd src && git push}' all",
            "gmake 'x=a$(if $(shell (npm publish)),b)'",
            "make 'x=$(shell sh -c \"git $$(echo push)\")'",
            "make '$(shell git push)'",
            "make 'x!=git push'",
            "bmake 'x=${:!git push!}'",
            "test -v 'a[$(git push)]'",
            "[ -v 'a[$(git push)]' ]",
            "[[ -v 'a[$(git push)]' ]]",
            "let 'a[$(git push)]=1'",
            "printf -v 'a[`git push`]' x",
            "x='a[$(git push)]'; echo $((x))",
            "declare -i x='a[$(git push)]'",
            "hash -p /usr/bin/git foo; foo push",
            "alias g=git; g push",
        ],
    );
    expect(
        None,
        &[
            "env -i -S'git status'",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=push git log",
            "git difftool -y -x 'diff -u' HEAD && git grep -O'less' foo && git clean -x -n",
            "git ls-files | xargs git add && echo src | xargs ls",
            "parallel gzip ::: a b && perf stat cargo test && gdb --args ./app push",
            "make SHELL=/bin/bash test && make --eval='x:;ls' x",
            "make 'x=$(shell git rev-parse HEAD)' 'y=${HOME}/push' all && make 'x!=date' DESTDIR=/tmp/x install",
            "test -v 'a[0]' && let 'i=i+1' && x='[a](b)' && printf '%s' '[ok]'",
            "alias ls='ls -l'; ls; alias g=git; g status",
        ],
    );
}

#[test]
fn publishing_programs_are_seen_behind_what_runs_them() {
    expect(
        Some("contained.publish"),
        &[
            "npx firebase-tools deploy",
            "npx netlify-cli@17 deploy --prod",
            "npx aws-cdk deploy",
            "npx @railway/cli up",
            "npx @changesets/cli publish",
            "bun vercel deploy",
            "bun run npm publish",
            "bun run --bun vercel deploy",
            "bun --bun x vercel deploy",
            "yarn run vercel --prod",
            "pnpm vercel deploy",
            "deno run -A npm:npm publish",
            "deno run -A npm:vercel@39 deploy",
            "deno run -A jsr:@deno/deployctl deploy",
            "deno x npm:vercel deploy",
            "node node_modules/.bin/vercel deploy",
            "node --no-warnings ./node_modules/vercel/dist/index.js deploy",
            "node node_modules/npm/bin/npm-cli.js publish",
            "node node_modules/@vscode/vsce/vsce publish",
            "php vendor/bin/vapor deploy",
            "php -d memory_limit=1 vendor/bin/dep.phar deploy",
            "ruby bin/gem push x.gem",
            "python .venv/bin/twine upload x",
            "composer exec -- git push",
            "composer global exec git push",
            "python -m semantic_release publish",
            "python3.12 -Im mkdocs gh-deploy",
            "python -mmkdocs gh-deploy",
            "uv run mkdocs gh-deploy",
            "uv run python -m mkdocs gh-deploy --force",
            "poetry run semantic-release version",
            "bundle exec cap production deploy",
            "python -m pipx run twine upload x",
            "node node_modules/.bin/concurrently 'git push'",
            "node node_modules/.bin/cross-env A=1 npm publish",
        ],
    );
    expect(
        None,
        &[
            "bun run build && bun test && yarn deploy && pnpm deploy --filter=web out && pnpm run publish:check",
            "node scripts/build.js vercel && php artisan serve && node server.js deploy",
            "yarn add vercel && bun add firebase-tools && deno run -A npm:vite build",
            "python -m mkdocs build && python -m pytest -m deploy && python -m venv .venv",
            "composer exec phpunit && npx firebase-tools emulators:start && npx vercel --version",
        ],
    );
}

#[test]
fn more_programs_publish() {
    expect(
        Some("contained.publish"),
        &[
            "pnpm recursive publish",
            "pnpm m publish",
            "pnpm multi publish",
            "npm stage publish",
            "npm dist-tag rm x y",
            "npm undeprecate x",
            "npm team add x y",
            "npm org rm x y",
            "npm hook add x y z",
            "npm profile set password",
            "npm trust github x",
            "yarn tag add x y",
            "yarn npm tag add x y",
            "npx electron-builder --publish always",
            "npx electron-builder --publish=onTag",
            "electron-builder -p always",
            "rush publish",
            "npx beachball publish",
            "npx docusaurus deploy",
            "npx hexo deploy",
            "npx sst deploy",
            "npx convex deploy",
            "npx web-ext sign",
            "deno deploy",
            "mkdocs gh-deploy",
            "cargo lambda deploy",
            "cargo shuttle deploy",
            "cargo near deploy",
            "cargo smart-release --execute",
            "goreleaser",
            "goreleaser --clean",
            "npx @angular/cli deploy",
            "npx @shopify/cli app deploy",
            "uv run modal deploy x",
            "cargo hack publish",
            "shuttle deploy",
            "vercel --yes",
            "docker buildx build --push=true .",
        ],
    );
    expect(
        None,
        &[
            "cargo smart-release && goreleaser --version && goreleaser check && goreleaser build --snapshot",
            "npx electron-builder --publish never && electron-builder -p never && electron-builder --dir",
            "npm team ls x && npm org ls x && npm hook ls && npm profile get && npm start && npm test",
            "mkdocs serve && rush build && docker buildx build --push=false . && vercel --help && sst dev",
        ],
    );
}

#[test]
fn what_publishes_nothing_is_allowed() {
    expect(
        None,
        &[
            "cargo login --help",
            "cargo publish -h",
            "docker login --help && docker push -h",
            "git push --help; git push -h",
            "npm publish --help && npm pub -h",
            "gh pr create --help",
            "twine upload --help",
            "git push --dry-run origin main",
            "git push -n",
            "git push -o x --dry-run",
            "npx semantic-release --dry-run",
            "semantic-release -d",
            "nx release --dry-run",
            "npm publish --no-dry-run --dry-run",
            "npm publish --tag next --dry-run=true",
            "cargo publish --allow-dirty --dry-run",
            "kubectl apply -f x -n prod --dry-run=server",
            "goreleaser release --snapshot --clean",
            "docker push localhost:5000/app:dev",
            "docker push -q 127.0.0.1:5000/app",
            "docker image push '[::1]:5000/app'",
            "docker login -u x localhost:5000",
            "podman push app docker://localhost:5000/app",
            "npm test && npm t && npm prune && npm pack && npm ping",
            "gradle publishToMavenLocal publishMavenPublicationToMavenLocal",
            "sbt publishLocal +test",
        ],
    );
}

#[test]
fn dry_runs_and_forms_that_read_are_allowed() {
    expect(
        None,
        &[
            "cargo publish -n",
            "gh pr create --dry-run",
            "mix hex.publish --dry-run",
            "git lfs push --dry-run origin",
            "bundle exec rake -n release",
            "npx np --preview",
            "cap production deploy -n && supabase db push --dry-run && supabase db push --local",
            "terraform apply -help && terraform -help apply",
            "gh api --method GET search/issues -f q=x && gh api -X GET repos/a/b -f x=1",
            "gh api graphql -f query='query { viewer { login } }' -F n=1",
            "glab ci lint && npm access list packages && npm token list && npm access get status x",
            "cargo owner --list serde && gem owner rails",
            "vercel build --prod && mvn install -pl deploy && flyctl deploy --build-only",
            "skopeo copy dir:a dir:b && skopeo copy docker://x/y oci:z",
        ],
    );
    expect(
        Some("contained.publish"),
        &[
            "gh release create v1 --dry-run",
            "cargo yank -n",
            "gh api -X GET -X POST repos/a/b",
            "gh api -XDELETE repos/a/b",
            "gh api repos/a/b -f x=GET",
            "gh api graphql -f query='mutation { x }'",
            "gh api graphql -F query=@x.graphql",
            "gh api graphql --input x.json",
            "gh api graphql -f query=\"$q\"",
            "npm access public x",
            "npm access set mfa=none list",
            "npm token create",
            "cargo owner --list --add x",
            "gem owner rails --add x",
            "gem owner rails -r x",
            "vercel deploy --prod",
            "vercel --prod build",
            "mvn -pl a deploy",
            "skopeo copy dir:a docker://x/y",
            "skopeo copy dir:a docker://x/y --authfile dir:b",
            "fly deploy --build-only=false",
            "bundle exec rake release",
        ],
    );
}

#[test]
fn targets_on_this_machine_are_allowed() {
    expect(
        None,
        &[
            "git push /tmp/remote.git main && git push file:///tmp/remote.git",
            "git push ../other && git -C sub push -u ./remote HEAD:main && git push -o x ..",
            "npm publish --registry http://localhost:4873 && npm --registry=http://127.0.0.1:4873/ publish",
            "npm login --registry 'http://[::1]:4873' && pnpm publish --registry http://localhost:4873",
            "gem push x.gem --host http://localhost:9292",
            "twine upload --repository-url http://localhost:8080 dist/*",
            "python -m twine upload --repository-url http://localhost:8080 dist/x",
            "uv publish --publish-url http://localhost:8080",
            "dotnet nuget push x.nupkg -s ./local",
            "mvn deploy -DaltDeploymentRepository=local::default::file:./target/repo",
            "skopeo copy dir:a docker://localhost:5000/x",
        ],
    );
    expect(
        Some("contained.publish"),
        &[
            "git push origin /tmp/remote.git",
            "git push --repo ../other",
            "git push -o ../other",
            "git push file://example.org/x",
            "git push .x",
            "git -c url.https://x.org/.insteadOf=/tmp/ push /tmp/remote.git",
            "npm publish --registry http://localhost:4873 --registry https://r.example",
            "npm publish --registry http://localhost@r.example/",
            "npm publish --registry http://localhost.r.example/",
            "npm publish --registry http://127.0.0.2:4873",
            "npm publish --registry http://r.example/localhost",
            "npm publish --registry http://localhost:4873 --@x:registry=https://r.example",
            "npm publish --registry $x",
            "gem push x.gem --host https://r.example",
            "uv publish --publish-url https://localhost.example",
            "mvn deploy -DaltDeploymentRepository=a::file:x -DaltReleaseDeploymentRepository=a::https://r.example",
            "cargo publish --registry http://localhost:80",
            "docker push 127.0.0.2:5000/x",
        ],
    );
}

#[test]
fn signals_to_everything_and_switches_are_denied() {
    expect(
        Some("contained.signal"),
        &[
            "kill -9 -1",
            "kill 1",
            "kill -s KILL 1",
            "kill -- -1",
            "pkill -u root",
            "pkill",
            "pkill -f .",
            "killall -u x",
            "pkill -f node",
            "pkill claude",
            "sudo kill -9 1",
            "bash -c 'kill -1 -1'",
            "ls | xargs kill 1",
            "kill 01",
            "kill 0x1",
            "kill -9 -- -01",
            "kill $PPID",
            "kill -9 \"$PPID\"",
            "parent=$PPID; kill $parent",
            "killall5 -9",
        ],
    );
    expect(
        Some("contained.sandbox"),
        &[
            "AUTONOE_NO_SANDBOX=1 ls",
            "export AUTONOE_NO_SANDBOX=1",
            "env AUTONOE_NO_SANDBOX=1 autonoe run",
            "autonoe run --no-sandbox",
            "claude --dangerously-skip-permissions -p x",
            "codex exec -s danger-full-access x",
            "npx gemini --yolo",
            "npx @anthropic-ai/claude-code --dangerously-skip-permissions",
            "npx -y @openai/codex@latest exec -s danger-full-access x",
        ],
    );
}

#[test]
fn the_user_may_allow_a_publishing_command() {
    let allow_commands = vec!["git push".to_owned(), "gh pr".to_owned()];
    let policy = CommandPolicy::new(PolicyOptions { allow_commands, ..options(Mode::Run) });
    assert!(policy.check("git push origin x").is_allowed() && policy.check("gh pr create").is_allowed());
    assert!(!policy.check("gh release create v1").is_allowed() && !policy.check("npm publish").is_allowed());
}

#[test]
fn phases_that_only_verify_stay_strict() {
    let policy = CommandPolicy::new(options(Mode::Sync));
    assert!(!policy.check("rm -rf x").is_allowed() && !policy.check("python3 x.py").is_allowed());
}

#[test]
fn signals_are_seen_however_the_process_is_written() {
    expect(
        Some("contained.signal"),
        &[
            "kill $((1))",
            "kill $((0+1))",
            "kill $((2-1))",
            "kill -9 -$((1))",
            "kill {1..5}",
            "kill -9 {5..1}",
            "kill ${PPID%x}",
            "kill ${PPID/x/}",
            "kill -9 ${PPID:-1}",
            "kill ${x:-1}",
            "kill $((PPID))",
            "kill $(($PPID+0))",
            "kill $(echo $PPID)",
            "kill `echo $PPID`",
            "echo -1 | xargs kill",
            "echo $PPID | xargs kill -9",
            "pkill -P $PPID",
            "pkill -P$PPID",
            "pkill -P 1",
            "pkill auton",
            "pkill -f auto",
            "pkill -f 'aut.n'",
            "pkill -i AUTO",
            "pkill -if AUTONOE",
            "killall -r 'auto.*'",
            "killall -Ir 'AUTO.*'",
            "pkill -f 'vite|aut[o]noe'",
            "skill -9 -u me",
            "fuser -k .",
            "fuser -km /",
        ],
    );
    expect(
        None,
        &[
            "kill $(($$ + 5)) $((pid)) {70..72} ${pid:-4242} $(echo 4242)",
            "echo 4242 | xargs kill -9",
            "pkill -f 'uvicorn app:app'; pkill -P $$; pkill -x auto; pkill AUTO; pkill -f '('",
            "fuser -k 3000/tcp; fuser -k -n tcp 3000; fuser .",
        ],
    );
}

#[test]
fn switches_are_seen_however_they_are_written() {
    expect(
        Some("contained.sandbox"),
        &[
            "export AUTONOE_NO_{SANDBOX,x}=1",
            "declare -x AUTONOE_NO_SANDBOX",
            "read AUTONOE_NO_SANDBOX <<< 1",
            "printf -v AUTONOE_NO_SANDBOX 1",
            ": ${AUTONOE_NO_SANDBOX:=1}",
            "for AUTONOE_NO_SANDBOX in 1; do autonoe run; done",
            "claude --permission-mode bypassPermissions -p x",
            "claude --permission-mode=bypassPermissions",
            "claude --allow-dangerously-skip-permissions",
            "gemini -y",
            "gemini --approval-mode yolo",
            "node cli.js --dangerously-skip-permissions",
        ],
    );
    expect(
        None,
        &[
            "claude --permission-mode plan; gemini --approval-mode default; npm init -y",
            "grep -rn -- --dangerously-skip-permissions src; echo $AUTONOE_NO_SANDBOX",
            "[ -z \"$AUTONOE_NO_SANDBOX\" ] && unset AUTONOE_NO_SANDBOX",
        ],
    );
}

#[test]
fn publishing_is_seen_in_arguments_and_input() {
    expect(
        Some("contained.publish"),
        &[
            "f() { \"$@\"; }; f git push",
            "f() { git $1; }; f push origin",
            "f() { git \"$2\"; }; f x push",
            "run() { echo \"$@\"; \"$@\" || exit 1; }; run npm publish",
            "f() { g \"$@\"; }; g() { \"$@\"; }; f git push; f git push",
            "bash -c '\"$@\"' _ git push",
            "sh -c 'git $1' sh push",
            "set -- git push; \"$@\"",
            "git ${x:-push}",
            "x=; git ${x:-push}",
            "source /dev/stdin <<< 'git push'",
            ". /dev/stdin <<'EOF'\ngit push\nEOF",
            "echo git push | source /dev/stdin",
            "parallel 'git {}' ::: push",
            "echo push | parallel git",
            "echo push | parallel 'git {}'",
            "git $(echo pu$(echo sh))",
            "fakeroot git push",
            "prlimit --nofile=100 git push",
            "setpriv --no-new-privs git push",
            "setarch x86_64 git push",
            "dbus-run-session -- git push",
            "xvfb-run -a npm publish",
            "tini -- git push",
            "ccache git push",
            "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
            "pipenv run twine upload dist/*",
            "conda run -n x twine upload dist/*",
            "tox exec -- twine upload dist/*",
            "lerna exec -- npm publish",
            "rbenv exec gem push x.gem",
            "pyenv exec twine upload dist/*",
            "doppler run -- git push",
            "op run -- git push",
            "tcsh -c 'git push'",
            "rbash -c 'git push'",
            "pwsh -Command 'git push'",
        ],
    );
    expect(
        None,
        &[
            "log() { echo \"$@\"; }; log git push later",
            "f() { git \"$1\"; }; f status push",
            "bash -c 'echo \"$@\"' _ git push",
            "git ${x:-status} push",
            "conda install git; pipenv install twine; op read x",
            "source /dev/stdin <<< 'x=1'",
            "parallel 'git log {}' ::: push",
        ],
    );
}

#[test]
fn yet_more_programs_publish() {
    expect(
        Some("contained.publish"),
        &[
            "mix do compile, hex.publish",
            "rebar3 hex publish",
            "gleam publish",
            "elm publish",
            "mvn site-deploy",
            "mvn release:prepare",
            "mvn compile jib:build",
            "mvn docker:push",
            "mvnd deploy",
            "gradle artifactoryPublish",
            "./gradlew :app:dockerPush",
            "./gradlew jib",
            "helmfile apply",
            "skaffold run",
            "kubectl run x --image=y",
            "kubectl label pod x a=b",
            "kubectl set image deploy/x y=z",
            "kubectl cp x pod:/x",
            "terraform state push x",
            "terraform state rm x",
            "terraform taint x",
            "wrangler versions deploy",
            "wrangler delete",
            "wrangler secret put X",
            "vc deploy",
            "vc --prod",
            "ntl deploy",
            "cf push",
            "fastlane deliver",
            "mike deploy --push 1.0",
            "ghp-import -p site",
            "dput ppa:x/y x.changes",
            "snapcraft upload x.snap",
            "choco push x.nupkg",
            "ollama push x",
            "bentoml push x",
            "buf push",
            "docker buildx build --output type=registry .",
            "docker buildx build -o type=image,push=true .",
            "docker build --output=type=registry .",
            "docker plugin push x",
            "docker compose publish x",
            "docker stack deploy -c x.yml y",
            "git review",
            "fossil push",
            "bzr push",
            "darcs push",
            "pijul push",
            "p4 submit",
        ],
    );
    expect(
        None,
        &[
            "docker compose push --dry-run && docker compose --dry-run push web",
            "git send-email --dry-run x.patch && git review -d 123",
            "docker buildx build --output type=local,dest=out . && docker build -o out .",
            "mike deploy 1.0 && ghp-import site && ./gradlew jibDockerBuild",
            "terraform state list && kubectl config set x y && wrangler dev && buf lint && helmfile diff",
        ],
    );
}
