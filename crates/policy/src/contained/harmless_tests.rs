//! What publishes, and what does not although it looks so.

use super::tests::expect;

#[test]
fn registries_have_many_programs() {
    expect(
        Some("contained.publish"),
        &[
            "crane push x.tar example.org/x",
            "crane copy a example.org/b",
            "crane cp a b",
            "crane append -f x -t y",
            "crane tag x y",
            "regctl image copy a b",
            "regctl tag delete x",
            "ctr images push x",
            "ctr -n k8s.io i push x",
            "img push x",
            "oras push example.org/x:1 f",
            "oras attach x f",
            "skopeo copy docker://a docker://b",
            "helm push x.tgz oci://example.org/x",
            "cosign sign x",
            "pack build x --publish",
            "spin deploy",
        ],
    );
    expect(
        None,
        &[
            "crane ls x && crane manifest x && regctl tag ls x && ctr images pull x && oras pull x && crane push x localhost:5000/x",
        ],
    );
}

#[test]
fn a_flag_counts_only_where_it_is_read_as_one() {
    expect(
        Some("contained.publish"),
        &[
            "npm publish --tag --dry-run",
            "npm publish --unheard-of --dry-run",
            "git push -o --dry-run",
            "git push --push-option --dry-run",
            "git push --receive-pack --dry-run",
            "gh release create v1 -n --help",
            "gh pr create --body-file --help",
            "gh pr create -m --help",
            "cargo publish --token --dry-run",
            "cargo publish --target-dir --dry-run",
            "cargo publish -j -n",
            "docker push --platform --help",
            "kubectl apply -k --dry-run=client",
            "npm publish --dry-run --tag --no-dry-run",
            "twine upload -c --help x",
        ],
    );
    expect(
        None,
        &[
            "npm publish --provenance --dry-run && npm publish --access public --dry-run",
            "git push --force --dry-run && git push -u --dry-run origin x && git push -fn",
            "cargo publish --allow-dirty --no-verify --dry-run && cargo publish -p x --dry-run",
            "kubectl apply -f x --server-side --dry-run=server && docker push -q --help && gh pr create -f --dry-run",
        ],
    );
}

#[test]
fn what_stays_on_this_machine_is_allowed() {
    expect(
        None,
        &[
            "git init --bare /tmp/r && git push /tmp/r main",
            "git init --bare r.git; git push $PWD/r.git main",
            "git push file://$PWD/r main && git push \"$(pwd)/r\" && git push ~/r main && git push \"$HOME/r\" main",
            "r=$(mktemp -d); git init --bare \"$r\"; git push \"$r\" main",
            "git push ${TMPDIR:-/tmp}/r main",
            "git init --bare /tmp/r; git init w; cd w; git remote add origin /tmp/r; git push -u origin main",
            "git remote add backup ../b && git push backup main",
            "git remote set-url origin /tmp/r && git push origin main",
            "R=/tmp/r; git remote add t \"$R\" && git push t --all",
            "docker push \"localhost:5000/app:$(git rev-parse HEAD)\"",
            "docker push localhost:5000/app:$TAG",
            "docker buildx build --push -t localhost:5000/x .",
            "docker buildx build --push --tag=localhost:5000/x:1 -t 127.0.0.1:5000/y .",
            "podman push img dir:/tmp/x && podman push img oci:/tmp/x && buildah push img oci-archive:/tmp/x",
            "jj git push --dry-run && hg push --dry-run",
            "mvn deploy -Dmaven.deploy.skip=true",
            "gh config get editor && npm trust list",
            "kubectl cp pod:/x ./x && aws s3 sync s3://b .",
            "gradle publishAllPublicationsToLocalRepository publishTestResults publishToMavenLocal",
            "./gradlew build -x publish && ./gradlew help --task publish && gradle build --exclude-task publish",
            "goreleaser release --skip=publish --clean",
            "git ls-files | xargs grep -n 'git push' && uv run pytest -k 'git push' && timeout 10 git commit -m 'git push'",
            "find . -name '*.md' -exec grep -l 'npm publish' {} + && nice -n 5 rg 'cargo publish' src",
            "git push $(echo --dry-run); d=--dry-run; npm publish $d",
            "npx vitest run -t 'git push' && npx jest --testNamePattern='git push' && npx playwright test -g 'git push'",
        ],
    );
    expect(
        Some("contained.publish"),
        &[
            "git remote add origin /tmp/r; git push origin main",
            "git remote add origin /tmp/r || true; git push origin main",
            "git init; git remote add origin /tmp/r; git push origin main",
            "git commit -m init; git remote add origin /tmp/r; git push origin main",
            "git remote set-url origin /tmp/r && git remote set-url origin https://x.org/r && git push origin",
            "git remote add t /tmp/r && git config remote.t.pushurl https://x.org && git push t",
            "git init; git remote add origin git@x.org:r; git push origin main",
            "if x; then R=/tmp/r; else R=origin; fi; git push $R main",
            "docker push \"$HOST/app:1\"",
            "docker push \"localhost$X/app\"",
            "docker buildx build --push -t localhost:5000/x -t example.org/x .",
            "docker buildx build --push -t localhost:5000/x --cache-to type=registry,ref=example.org/x .",
            "podman push img docker://example.org/x",
            "kubectl cp ./x pod:/x",
            "aws s3 sync . s3://b",
            "aws s3 sync s3://a s3://b",
            "mvn deploy -DdryRun",
            "gradle publishAllPublicationsToStagingRepository",
            "gradle publish -x test",
            "npx concurrently 'git push' 'npm test'",
            "npx -c 'git push'",
            "timeout 10 watch 'git push'",
            "sudo -u x sh -c 'git push'",
            "env -S 'git push'",
            "git push $([ \"$CI\" ] && echo --dry-run)",
            "npm publish $(x || echo --dry-run)",
            "d=$([ -n \"$x\" ] && echo --dry-run); git push $d",
            "git push $(echo --dry-run >&2)",
            "git push $(exit; echo --dry-run)",
            "git push $(echo --dry-run | head -0)",
            "a=($([ $x ] && echo --dry-run)); git push \"${a[@]}\"",
            "npx sh -c 'git push'",
            "gradle publishPlugins",
            "npm trust github x",
        ],
    );
}
