//! Races between check and use: replacing directories and files with links while a tool runs must not redirect it. First
//! with a swap at the worst moment, then with swaps all the time.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use autonoe_core::files::{FileAccess, FileDenial, FileRules};
use autonoe_policy::{PathRules, WriteScope};
use serde_json::{Value, json};
use tempfile::TempDir;

use autonoe_test_kit::example;

use crate::support::ToolFixture;

const SECRET: &str = "the secret\n";
const CHANGED: &str = "changed while it was being opened; try again.";
/// How often each tool is called while paths are being swapped.
const ROUNDS: usize = 100;

/// Rules that allow everything, but swap a path first when a certain path is checked.
struct SwapOnCheck {
    trigger: PathBuf,
    swap: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl fmt::Debug for SwapOnCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SwapOnCheck").field("trigger", &self.trigger).finish_non_exhaustive()
    }
}

impl FileRules for SwapOnCheck {
    fn judge(&self, real: &Path, _: FileAccess) -> Result<(), FileDenial> {
        if real == self.trigger {
            let swap = self.swap.lock().unwrap().take();
            swap.expect("checked only once")();
        }
        Ok(())
    }
}

/// A project with `dir/file`, and a directory outside that must stay untouched.
struct SwapFixture {
    fixture: ToolFixture,
    outside: TempDir,
    rules: Arc<SwapOnCheck>,
}

impl SwapFixture {
    /// When `trigger` is checked, the rules replace `name` with a link to `target` outside.
    fn new(trigger: &str, name: &str, target: &str) -> Self {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("dir")).unwrap();
        fs::write(root.join("dir/file"), "public\n").unwrap();
        fs::write(outside.path().join("file"), SECRET).unwrap();
        let (path, target) = (root.join(name), outside.path().join(target));
        let swap = move || {
            fs::rename(&path, path.with_extension("moved")).unwrap();
            symlink(&target, &path).unwrap();
        };
        let rules = SwapOnCheck { trigger: root.join(trigger), swap: Mutex::new(Some(Box::new(swap))) };
        let rules = Arc::new(rules);
        Self { fixture: ToolFixture::with_rules(dir, Arc::clone(&rules) as _), outside, rules }
    }

    /// Asserts that the swap took place and nothing changed outside.
    fn assert_untouched(&self) {
        assert!(
            self.rules.swap.lock().unwrap().is_none(),
            "{} was never checked",
            self.rules.trigger.display()
        );
        assert_eq!(fs::read_to_string(self.outside.path().join("file")).unwrap(), SECRET);
        assert_eq!(fs::read_dir(self.outside.path()).unwrap().count(), 1);
    }

    /// Asserts that a call reports the change, and reads and writes nothing.
    async fn assert_call_fails(&self, tool: &str, args: Value) {
        let error = self.fixture.error(tool, args).await;
        assert!(error.ends_with(CHANGED), "{tool}: {error}");
        self.assert_untouched();
    }
}

/// The path that is swapped between check and use, and its replacement outside.
const SWAPS: [(&str, &str); 2] = [("dir", ""), ("dir/file", "file")];

#[tokio::test]
async fn a_read_shows_only_the_checked_file() {
    for (name, target) in SWAPS {
        SwapFixture::new("dir/file", name, target)
            .assert_call_fails("Read", json!({"file_path": "dir/file"}))
            .await;
    }
}

#[tokio::test]
async fn a_write_changes_only_the_checked_file() {
    for (name, target) in SWAPS {
        let args = json!({"file_path": "dir/file", "content": "x"});
        SwapFixture::new("dir/file", name, target).assert_call_fails("Write", args).await;
    }
}

#[tokio::test]
async fn an_edit_changes_only_the_checked_file() {
    for (name, target) in SWAPS {
        let args = json!({"file_path": "dir/file", "old_string": "the", "new_string": "a"});
        SwapFixture::new("dir/file", name, target).assert_call_fails("Edit", args).await;
    }
}

#[tokio::test]
async fn new_files_and_directories_are_created_only_at_the_checked_path() {
    for new in ["dir/new", "dir/sub/deeper/new"] {
        SwapFixture::new(new, "dir", "")
            .assert_call_fails("Write", json!({"file_path": new, "content": "x"}))
            .await;
    }
}

#[tokio::test]
async fn a_search_shows_only_checked_files() {
    // A file and a directory that `path` names.
    for (name, target) in SWAPS {
        let args = json!({"pattern": "secret", "path": "dir/file", "output_mode": "content"});
        SwapFixture::new("dir/file", name, target).assert_call_fails("Grep", args).await;
    }
    for tool in ["Grep", "Glob"] {
        SwapFixture::new("dir", "dir", "")
            .assert_call_fails(tool, json!({"pattern": ".", "path": "dir"}))
            .await;
    }
    // Paths that the search itself finds.
    for (trigger, name, target) in
        [("dir", "dir", ""), ("dir/file", "dir", ""), ("dir/file", "dir/file", "file")]
    {
        let swap = SwapFixture::new(trigger, name, target);
        let found = swap.fixture.ok("Grep", json!({"pattern": "secret", "output_mode": "content"})).await;
        assert!(found.starts_with("No matches for"), "{trigger} {name}: {found}");
        swap.assert_untouched();
    }
}

#[tokio::test]
async fn names_in_a_swapped_in_directory_are_not_shown() {
    let swap = SwapFixture::new("dir", "dir", "");
    fs::rename(swap.outside.path().join("file"), swap.outside.path().join("private")).unwrap();
    let found = swap.fixture.ok("Glob", json!({"pattern": "**/*"})).await;
    assert!(!found.contains("private"), "{found}");
    assert!(swap.fixture.path("dir").is_symlink(), "never swapped");
}

/// Whatever the gates decided, the file rules are applied to the real path.
#[tokio::test]
async fn the_rules_apply_to_the_real_path() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir(root.join(".autonoe")).unwrap();
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join(".autonoe/status.json"), "{}").unwrap();
    fs::write(outside.path().join("file"), SECRET).unwrap();
    symlink(".autonoe", root.join("way-in")).unwrap();
    symlink(outside.path(), root.join("way-out")).unwrap();
    symlink("src", root.join("sources")).unwrap();
    let fixture =
        ToolFixture::with_rules(dir, Arc::new(PathRules::new(&root, WriteScope::Project, Vec::new())));
    let refused = async |tool: &str, args: Value, reason: &str| {
        let error = fixture.error(tool, args).await;
        assert!(error.contains(reason), "{tool}: {error}");
    };
    for path in [".autonoe/status.json", "way-in/status.json", "way-in/new", "way-in/sub/new"] {
        refused("Write", json!({"file_path": path, "content": "x"}), "Direct writes to .autonoe/").await;
    }
    let edit = json!({"file_path": "way-in/status.json", "old_string": "{", "new_string": "["});
    refused("Edit", edit, "Direct writes to .autonoe/").await;
    for path in ["way-out/file", "way-out/new", "/etc/passwd"] {
        refused("Write", json!({"file_path": path, "content": "x"}), "outside the project").await;
    }
    for path in ["way-out/file", "/etc/passwd"] {
        refused("Read", json!({"file_path": path}), "outside the project").await;
        refused("Grep", json!({"pattern": "a", "path": path}), "outside the project").await;
    }
    refused("Glob", json!({"pattern": "*", "path": "way-out"}), "outside the project").await;
    assert_eq!(fs::read_to_string(root.join(".autonoe/status.json")).unwrap(), "{}");
    assert_eq!(fs::read_dir(root.join(".autonoe")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    // Links to an allowed path work.
    fixture.ok("Write", json!({"file_path": "sources/a/b", "content": "x"})).await;
    assert_eq!(fs::read_to_string(root.join("src/a/b")).unwrap(), "x");
    assert!(fixture.ok("Read", json!({"file_path": "way-in/status.json"})).await.contains("{}"));
}

/// A process that exchanges two paths until it is dropped.
struct Swapper(Child);

impl Swapper {
    fn start(one: &Path, other: &Path) -> Self {
        let mut command = Command::new(example("swapper"));
        let mut child = command.args([one, other]).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        Self(child)
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A project in which a path is swapped all the time, and the directory outside that it is swapped for.
struct ConstantSwapFixture {
    // Dropped first, since the other fields delete the paths that it swaps.
    _swapper: Swapper,
    fixture: ToolFixture,
    outside: TempDir,
}

impl ConstantSwapFixture {
    /// `name` alternates between its public content and a link to `target` outside.
    fn new(name: &str, target: &str) -> Self {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("dir")).unwrap();
        fs::write(root.join("dir/file"), "public\n").unwrap();
        for name in ["file", "private"] {
            fs::write(outside.path().join(name), SECRET).unwrap();
        }
        symlink(outside.path().join(target), root.join("link")).unwrap();
        let rules = PathRules::new(&root, WriteScope::Project, Vec::new());
        let _swapper = Swapper::start(&root.join(name), &root.join("link"));
        Self { _swapper, fixture: ToolFixture::with_rules(dir, Arc::new(rules)), outside }
    }

    /// Calls a tool, whose output must be public, and returns whether it succeeded.
    async fn call(&self, tool: &str, args: Value) -> bool {
        let output = self.fixture.call(tool, args.clone()).await;
        let shown = output.output.replace("`secret`", "").replace(NAMES, "");
        assert!(!shown.contains("secret") && !shown.contains("private"), "{tool} {args}: {shown}");
        !output.is_error()
    }

    fn assert_untouched(&self) {
        assert_eq!(fs::read_dir(self.outside.path()).unwrap().count(), 2);
        for name in ["file", "private"] {
            assert_eq!(fs::read_to_string(self.outside.path().join(name)).unwrap(), SECRET);
        }
    }
}

/// The names in the directory outside, one of which is also in the project.
const NAMES: &str = "{file,private}";

#[tokio::test]
async fn a_constantly_swapped_directory_redirects_no_tool() {
    let swapping = ConstantSwapFixture::new("dir", "");
    let mut done = 0;
    for round in 0..ROUNDS {
        for (tool, args) in [
            ("Read", json!({"file_path": "dir/file"})),
            ("Write", json!({"file_path": "dir/file", "content": format!("public {round}\n")})),
            ("Write", json!({"file_path": format!("dir/new-{round}"), "content": "public\n"})),
            ("Write", json!({"file_path": format!("dir/sub-{round}/a/b"), "content": "public\n"})),
            ("Edit", json!({"file_path": "dir/file", "old_string": "c", "new_string": "ce"})),
            ("Edit", json!({"file_path": "dir/file", "old_string": "the secret", "new_string": "x"})),
            ("Grep", json!({"pattern": "secret", "output_mode": "content", "glob": NAMES, "path": "dir"})),
            ("Grep", json!({"pattern": "secret", "output_mode": "content", "glob": NAMES})),
            ("Glob", json!({"pattern": NAMES})),
        ] {
            done += usize::from(swapping.call(tool, args).await);
        }
        swapping.assert_untouched();
    }
    assert!(done > 0, "no call succeeded");
}

#[tokio::test]
async fn a_constantly_swapped_file_redirects_no_tool() {
    let swapping = ConstantSwapFixture::new("dir/file", "file");
    let mut done = 0;
    for _ in 0..ROUNDS {
        for (tool, args) in [
            ("Read", json!({"file_path": "dir/file"})),
            ("Edit", json!({"file_path": "dir/file", "old_string": "the secret", "new_string": "x"})),
            ("Grep", json!({"pattern": "secret", "output_mode": "content", "path": "dir/file"})),
            ("Grep", json!({"pattern": "secret", "output_mode": "content", "glob": NAMES})),
        ] {
            done += usize::from(swapping.call(tool, args).await);
        }
        swapping.assert_untouched();
    }
    assert!(done > 0, "no call succeeded");
}
