//! A project on disk for the policy tests: ordinary and protected directories, and links that lead out.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use autonoe_policy::{CommandPolicy, Mode, PolicyLevel, PolicyOptions, Profile};

/// The mode and options under which commands are judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PolicyVariant {
    Run,
    Destructive,
    Sync,
    Contained,
}

#[derive(Clone)]
pub struct FixturePaths {
    pub base: PathBuf,
    pub root: PathBuf,
    pub out: PathBuf,
    pub temp: PathBuf,
}

/// The project on disk; it is removed on drop.
pub struct TestProject {
    paths: FixturePaths,
    _dir: tempfile::TempDir,
}

impl Deref for TestProject {
    type Target = FixturePaths;

    fn deref(&self) -> &FixturePaths {
        &self.paths
    }
}

impl TestProject {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let paths = FixturePaths {
            root: base.join("project"),
            out: base.join("outside"),
            temp: base.join("temp"),
            base,
        };
        let project = Self { paths, _dir: dir };
        fs::create_dir(&project.temp).unwrap();
        fs::create_dir(project.base.join("project-other")).unwrap();
        populate_outside(&project.out);
        populate(&project.root, &project.out);
        project
    }
}

impl FixturePaths {
    /// Replaces the placeholders in a corpus command.
    pub fn substitute(&self, command: &str) -> String {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        command
            .replace("@ROOT@", &text(&self.root))
            .replace("@OUT@", &text(&self.out))
            .replace("@TEMP@", &text(&self.temp))
    }

    pub fn options(&self, mode: Mode, profiles: Vec<Profile>) -> PolicyOptions {
        PolicyOptions { profiles, temp: Some(self.temp.clone()), ..PolicyOptions::new(mode, &self.root) }
    }

    /// A policy with only the Go profile, which has no interpreter, so that only the shell decides what runs.
    pub fn narrow_policy(&self, variant: PolicyVariant) -> CommandPolicy {
        let mode = if variant == PolicyVariant::Sync { Mode::Sync } else { Mode::Run };
        CommandPolicy::new(PolicyOptions {
            allow_destructive: variant == PolicyVariant::Destructive,
            level: if variant == PolicyVariant::Contained {
                PolicyLevel::Contained
            } else {
                PolicyLevel::Strict
            },
            ..self.options(mode, vec![Profile::Go])
        })
    }
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn write_executable(path: &Path, text: &str) {
    write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub fn populate_outside(out: &Path) {
    write(&out.join("secret.txt"), "secret\n");
    write_executable(&out.join("git"), "#!/bin/false\n");
    write_executable(&out.join("bin/dev.sh"), "#!/bin/false\n");
}

/// Creates every file that hostile.toml expects in the project.
pub fn populate(root: &Path, out: &Path) {
    for (path, text) in [
        ("README.md", "# Read me\n\nfoo\n"),
        ("package.json", "{ \"scripts\": { \"test\": \"x\", \"build\": \"x\" } }\n"),
        (".env.example", "A=1\n"),
        (".gitignore", "node_modules/\n"),
        ("docs/guide.md", "# Guide\n"),
        ("tests/test_x.py", "def test_a(): pass\n"),
        ("src/main.js", "console.log('TODO');\n"),
        ("src/lib/util.js", "export {};\n"),
        ("my dir/file.txt", "x\n"),
        ("pkg/index.js", "x\n"),
        ("bare/HEAD", "ref: refs/heads/main\n"),
        (
            "bare/config",
            "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = rm x\n[diff]\nexternal = rm x\n",
        ),
        ("bare/objects/keep", ""),
        ("bare/refs/keep", ""),
        (".autonoe/status.json", "{}\n"),
        (".claude/settings.json", "{}\n"),
        (".codex/config.toml", "\n"),
        (".gemini/settings.json", "{}\n"),
    ] {
        write(&root.join(path), text);
    }
    if !root.join(".git").exists() {
        write(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
        write(&root.join(".git/config"), "[core]\n");
        write(&root.join(".git/hooks/pre-commit"), "#!/bin/false\n");
        write(&root.join(".git/info/attributes"), "\n");
    }
    for path in ["bin/dev.sh", "src/bin/dev.sh", "src/ls", "ls", "git", "node_modules/.bin/vitest", "evil.sh"]
    {
        write_executable(&root.join(path), "#!/bin/false\n");
    }
    for (target, link) in [
        (Path::new("src"), "link-in"),
        (out, "escape"),
        (&out.join("secret.txt"), "escape-file"),
        (Path::new(".autonoe"), "state-link"),
        (Path::new(".git"), "git-link"),
        (&out.join("nope"), "dangling"),
        (Path::new("loop"), "loop"),
        (out, "pkg/out"),
        (Path::new(".."), "docs/top"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
}
