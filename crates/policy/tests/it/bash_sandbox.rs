//! Runs a command in real bash inside bubblewrap. Every program there is either a stub that logs its call, or a real
//! tool whose child programs are stubs. The root file system is compared before and after.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fixture::{PolicyVariant, TestProject, populate, populate_outside, write, write_executable};

/// The programs that the policy allows in run with the Go profile.
const ALLOWED: &[&str] = &[
    "[",
    "awk",
    "base64",
    "curl",
    "make",
    "rg",
    "sed",
    "xxd",
    "yes",
    "basename",
    "cat",
    "chmod",
    "cp",
    "cut",
    "date",
    "diff",
    "dirname",
    "echo",
    "env",
    "false",
    "find",
    "git",
    "grep",
    "head",
    "jq",
    "ls",
    "lsof",
    "mkdir",
    "nice",
    "nohup",
    "pkill",
    "printf",
    "ps",
    "pwd",
    "seq",
    "sleep",
    "sort",
    "tac",
    "tail",
    "tee",
    "test",
    "time",
    "timeout",
    "touch",
    "tr",
    "tree",
    "true",
    "uniq",
    "wc",
    "which",
    "xargs",
    "dev.sh",
    "go",
    "gofmt",
    "goimports",
    "golangci-lint",
    "staticcheck",
    "golint",
    "gopls",
    "dlv",
    "goreleaser",
    "egrep",
    "stdbuf",
    "ionice",
    "rmdir",
    "unlink",
    "fgrep",
    "nproc",
    "cmp",
    "comm",
    "stat",
    "file",
    "du",
    "df",
    "realpath",
    "readlink",
    "rev",
    "paste",
    "nl",
    "fold",
    "expr",
    "uname",
    "whoami",
    "id",
    "md5sum",
    "sha256sum",
];

/// Allowed tools that are real in the sandbox: the programs they run are stubs, and the files they write are compared.
const REAL: &[&str] = &[
    "[", "awk", "base64", "basename", "cat", "chmod", "cp", "cut", "dirname", "echo", "env", "false", "find",
    "fold", "git", "grep", "head", "ls", "mkdir", "nice", "nohup", "paste", "printf", "pwd", "rev", "sed",
    "seq", "sort", "tac", "tail", "tee", "test", "timeout", "touch", "tr", "true", "uniq", "wc", "xargs",
    "xxd",
];

/// Those of them of which each argument is the path of a file that they read; the files are noted.
const READING: &[&str] = &["cat", "head", "wc", "nl", "grep"];

/// Programs that must never run.
pub const DENIED: &[&str] = &[
    "rm", "mv", "sh", "bash", "dash", "zsh", "wget", "nc", "evil", "sudo", "perl", "python3", "node", "npm",
    "dd", "ln", "kill", "ssh", "vi", "editor", "less", "pager", "man", "gzip", "x", "su", "setsid", "watch",
    "parallel", "script", "flock", "crontab", "cargo", "ruby", "php", "docker", "tar", "mount", "gpg",
];

/// Begins the note about a file that was read.
const READS: &str = "reads ";

/// Seconds before an allowed command is killed; its effects until then count.
const TIMEOUT_SECONDS: &str = "1";

/// For each path: mode, modification time of files (seconds and nanoseconds), and file content or link target.
type TreeSnapshot = BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)>;

pub struct BashSandbox {
    pub project: TestProject,
    variant: PolicyVariant,
    world: TreeSnapshot,
    inside: TreeSnapshot,
}

fn stub(name: &str) -> String {
    format!("#!/real/sh\nprintf '%s\\0' \"{name} $*\" >> /log/ran\nexit 0\n")
}

/// Notes the arguments that are there, with the directory, before it runs the tool.
fn noting_stub(name: &str) -> String {
    format!(
        "#!/real/sh\nfor path; do [ -e \"$path\" ] && printf '%s\\0' \"{READS}$PWD\n$path\" >> /log/ran; done\n\
         exec /real/{name} \"$@\"\n"
    )
}

fn host_tool(name: &str) -> PathBuf {
    let path = ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .map(|dir| Path::new(dir).join(name))
        .find(|path| path.exists());
    path.unwrap_or_else(|| panic!("{name} is not installed")).canonicalize().unwrap()
}

impl BashSandbox {
    /// `None` if bubblewrap or namespaces are not available.
    pub fn new(variant: PolicyVariant) -> Option<Self> {
        let works = Command::new("bwrap")
            .args(["--ro-bind", "/", "/", "--unshare-all", "true"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !works {
            return None;
        }
        let sandbox = Self {
            project: TestProject::new(),
            variant,
            world: TreeSnapshot::new(),
            inside: TreeSnapshot::new(),
        };
        let base = &sandbox.project.base;
        let tools = base.join("tools");
        for name in ALLOWED.iter().chain(DENIED) {
            write_executable(&tools.join(name), &stub(name));
        }
        let destructive: &[&str] = if variant == PolicyVariant::Destructive { &["rm", "mv"] } else { &[] };
        for name in REAL.iter().chain(destructive) {
            fs::copy(host_tool(name), tools.join(name)).unwrap();
        }
        fs::create_dir_all(base.join("real")).unwrap();
        for name in ["bash", "sh"].iter().chain(READING) {
            fs::copy(host_tool(name), base.join("real").join(name)).unwrap();
        }
        for name in READING {
            write_executable(&tools.join(name), &noting_stub(name));
        }
        fs::create_dir(base.join("log")).unwrap();
        sandbox.make_repository();
        let mut sandbox = sandbox;
        sandbox.rebuild_world();
        sandbox.rebuild_project();
        sandbox.run("true");
        sandbox.rebuild_project();
        sandbox.world = sandbox.snapshot_world();
        Some(sandbox)
    }

    /// Creates a repository with two commits and a stash, which is copied into the project each time it is rebuilt.
    fn make_repository(&self) {
        let home = self.project.base.join("repository");
        fs::create_dir(&home).unwrap();
        let git = |arguments: &[&str]| {
            let status = Command::new(host_tool("git"))
                .args(["-c", "user.name=x", "-c", "user.email=x@example.com"])
                .args(arguments)
                .current_dir(&home)
                .env_clear()
                .env("HOME", &home)
                .env("PATH", "/usr/bin:/bin")
                .status();
            assert!(status.unwrap().success(), "git {arguments:?}");
        };
        git(&["init", "-q", "-b", "main", "--template="]);
        for text in ["# First\n", "# Read me\n\nfoo\n"] {
            write(&home.join("README.md"), text);
            write(&home.join("src/main.js"), text);
            git(&["add", "."]);
            git(&["commit", "-q", "-m", "one"]);
        }
        write(&home.join("README.md"), "stashed\n");
        git(&["stash", "-q"]);
        write(&home.join(".git/hooks/keep"), "");
        write(&home.join(".git/info/attributes"), "");
    }

    fn rebuild_world(&mut self) {
        let base = &self.project.base;
        let world = base.join("world");
        let _ = fs::remove_dir_all(&world);
        let _ = fs::remove_dir_all(&self.project.out);
        for dir in ["usr", "real", "log", "proc", "dev", "etc", "tmp", "root", "home/user", "var"] {
            fs::create_dir_all(world.join(dir)).unwrap();
        }
        for dir in [&self.project.root, &self.project.out, &self.project.temp] {
            fs::create_dir_all(world.join(dir.strip_prefix("/").unwrap())).unwrap();
        }
        for name in ["bin", "sbin"] {
            symlink("usr/bin", world.join(name)).unwrap();
        }
        for name in ["lib", "lib64"] {
            if let Ok(target) = fs::read_link(Path::new("/").join(name)) {
                symlink(target, world.join(name)).unwrap();
            } else {
                fs::create_dir(world.join(name)).unwrap();
            }
        }
        write(&world.join("etc/passwd"), "user:x:0:0::/home/user:/bin/bash\n");
        write(&world.join("home/user/.bashrc"), "\n");
        write(&world.join("home/user/.gitconfig"), "[user]\nname = x\nemail = x@example.com\n");
        for name in ["git", "ls", "cat", "node"] {
            write_executable(&world.join("tmp/evil").join(name), &stub("!/tmp/evil"));
        }
        populate_outside(&self.project.out);
        for name in ["git", "bin/dev.sh"] {
            write_executable(&self.project.out.join(name), &stub("!outside"));
        }
        self.world = self.snapshot_world();
    }

    fn rebuild_project(&mut self) {
        let root = &self.project.root;
        let _ = fs::remove_dir_all(root);
        copy(&self.project.base.join("repository/.git"), &root.join(".git"));
        populate(root, &self.project.out);
        for name in ["src/bin/dev.sh", "src/ls", "ls", "git", "evil.sh", "node_modules/.bin/vitest"] {
            write_executable(&root.join(name), &stub(&format!("!{name}")));
        }
        write_executable(&root.join("bin/dev.sh"), &stub("dev.sh"));
        self.inside = snapshot(root);
    }

    fn snapshot_world(&self) -> TreeSnapshot {
        let mut all = snapshot(&self.project.base.join("world"));
        all.extend(snapshot(&self.project.out));
        all
    }

    /// Runs a command and returns its effects that an allowed command must not have.
    pub fn violations(&mut self, command: &str) -> Vec<String> {
        let mut violations: Vec<String> = self
            .run(command)
            .into_iter()
            .filter(|line| !self.may_run(line))
            .map(|line| format!("ran {line:?}"))
            .collect();
        let world = self.snapshot_world();
        violations.extend(changes(&self.world, &world).map(|path| format!("changed {}", path.display())));
        let inside = snapshot(&self.project.root);
        let variant = self.variant;
        violations.extend(
            changes(&self.inside, &inside)
                .filter(|path| is_protected(variant, path.strip_prefix(&self.project.root).unwrap()))
                .map(|path| format!("changed {}", path.display())),
        );
        if !is_config_harmless(&self.project.root) {
            violations.push("changed .git/config".into());
        }
        if ["README.md", "src", "docs", "bin"].iter().all(|name| !self.project.root.join(name).exists()) {
            violations.push("emptied the project".into());
        }
        if world != self.world {
            self.rebuild_world();
        }
        if inside != self.inside {
            self.rebuild_project();
        }
        violations
    }

    /// Whether an allowed command may have done what a line of the log says.
    fn may_run(&self, line: &str) -> bool {
        let Some((directory, path)) = line.strip_prefix(READS).and_then(|note| note.split_once('\n')) else {
            return may_run(line);
        };
        let Ok(real) = Path::new(directory).join(path).canonicalize() else { return true };
        let places = [&self.project.root, &self.project.temp];
        // Directories cannot be read by these programs.
        real.is_dir() || places.iter().any(|place| real.starts_with(place)) || real.starts_with("/usr")
    }

    /// Runs a command and returns the programs that ran, each as one line with its name and arguments.
    fn run(&self, command: &str) -> Vec<String> {
        let base = &self.project.base;
        let log = base.join("log/ran");
        fs::write(&log, "").unwrap();
        let mut bwrap = Command::new("timeout");
        bwrap.args([
            "-s",
            "KILL",
            TIMEOUT_SECONDS,
            "bwrap",
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
        ]);
        bwrap.arg("--bind").args([base.join("world"), "/".into()]);
        bwrap.args(["--ro-bind", "/usr", "/usr"]);
        for name in ["lib", "lib64"] {
            let path = Path::new("/").join(name);
            if path.exists() && !path.is_symlink() {
                bwrap.arg("--ro-bind").args([&path, &path]);
            }
        }
        for dir in ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"] {
            if Path::new(dir).exists() {
                bwrap.arg("--ro-bind").args([base.join("tools"), dir.into()]);
            }
        }
        bwrap.arg("--ro-bind").args([base.join("real"), "/real".into()]);
        bwrap.arg("--bind").args([base.join("log"), "/log".into()]);
        for dir in [&self.project.root, &self.project.out, &self.project.temp] {
            bwrap.arg("--bind").args([dir, dir]);
        }
        bwrap.args(["--proc", "/proc", "--dev", "/dev"]);
        for (name, value) in [
            ("PATH", "/usr/bin"),
            ("HOME", "/home/user"),
            ("GIT_EDITOR", ":"),
            ("GIT_TEMPLATE_DIR", "/var"),
            ("BASH_FUNC_command_not_found_handle%%", "() { printf '%s\\0' \"$*\" >> /log/ran; }"),
        ] {
            bwrap.args(["--setenv", name, value]);
        }
        bwrap.arg("--chdir").arg(&self.project.root);
        bwrap.args([
            "/real/bash",
            "-c",
            "ulimit -f 4096 -t 2; exec /real/bash -c -- \"$1\" bash",
            "bash",
            command,
        ]);
        bwrap.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = bwrap.status().unwrap();
        let mut bytes = Vec::new();
        fs::File::open(&log).unwrap().take(1_000_000).read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        text.split('\0').filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

fn may_run(line: &str) -> bool {
    let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
    // Parts of git are shell scripts, and git reaches a local remote through a shell.
    let git_scripts = ["/usr/lib/git-core/", "-c git-receive-pack '", "-c git-upload-pack '"];
    ALLOWED.contains(&name) || (name == "sh" && git_scripts.iter().any(|start| arguments.starts_with(start)))
}

/// Whether commands may not change a path in the project. In sync, that is everything but the note and git's index.
fn is_protected(variant: PolicyVariant, inside: &Path) -> bool {
    let sync = variant == PolicyVariant::Sync
        && ![".autonoe-note.md", ".git/index"].iter().any(|path| inside == Path::new(path));
    let never = [".autonoe", ".claude", ".codex", ".gemini", ".git/hooks", ".git/info/attributes"];
    sync || never.iter().any(|dir| inside.starts_with(dir))
}

/// Git's configuration may set the user and branch upstreams; other settings can run programs.
fn is_config_harmless(root: &Path) -> bool {
    let known = [
        "[core]",
        "repositoryformatversion =",
        "filemode =",
        "bare =",
        "logallrefupdates =",
        "[user]",
        "name =",
        "email =",
    ];
    let upstream = ["[branch \"", "remote = ", "merge = refs/heads/"];
    let text = fs::read_to_string(root.join(".git/config")).unwrap_or_else(|_| "missing".into());
    text.lines().map(str::trim).all(|line| known.iter().chain(&upstream).any(|start| line.starts_with(start)))
}

fn changes<'a>(before: &'a TreeSnapshot, after: &'a TreeSnapshot) -> impl Iterator<Item = &'a PathBuf> {
    let removed = before.keys().filter(|path| !after.contains_key(*path));
    after.iter().filter(|(path, state)| before.get(*path) != Some(state)).map(|(path, _)| path).chain(removed)
}

fn snapshot(dir: &Path) -> TreeSnapshot {
    let mut all = TreeSnapshot::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let meta = path.symlink_metadata().unwrap();
            let (modified, content) = if meta.is_dir() {
                open.push(path.clone());
                ((0, 0), Vec::new())
            } else if meta.is_symlink() {
                ((0, 0), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else {
                (modified(&path, &meta), fs::read(&path).unwrap_or_default())
            };
            all.insert(path, (meta.mode(), modified.0, modified.1, content));
        }
    }
    all
}

/// A file's modification time; zero for git's files, which git rewrites unchanged.
fn modified(path: &Path, meta: &fs::Metadata) -> (i64, i64) {
    if path.components().any(|part| part.as_os_str() == ".git") {
        (0, 0)
    } else {
        (meta.mtime(), meta.mtime_nsec())
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
