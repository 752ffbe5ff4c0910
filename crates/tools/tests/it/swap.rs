//! Between check and use: anyone who swaps directories and files for links while a tool is at work leads it
//! nowhere. First at the worst moment, then all the time.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use autonoe_core::files::{Access, FileRules};
use autonoe_policy::{PathRules, Writes};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Bench, example};

const SECRET: &str = "the secret\n";
const CHANGED: &str = "changed while it was being opened; try again.";
/// How often each tool is called while everything is being swapped.
const ROUNDS: usize = 100;

/// Lets everything through, but swaps something first when it is asked about a certain path.
struct SwapWhenAsked {
    about: PathBuf,
    swap: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl fmt::Debug for SwapWhenAsked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SwapWhenAsked").field("about", &self.about).finish_non_exhaustive()
    }
}

impl FileRules for SwapWhenAsked {
    fn judge(&self, real: &Path, _: Access) -> Result<(), String> {
        if real == self.about {
            let swap = self.swap.lock().unwrap().take();
            swap.expect("asked once")();
        }
        Ok(())
    }
}

/// A project with `dir/file` and, beside it, a directory that nobody may touch.
struct Trap {
    bench: Bench,
    outside: TempDir,
    rules: Arc<SwapWhenAsked>,
}

impl Trap {
    /// Asked about `about`, the rules replace `name` by a link to `target` outside.
    fn new(about: &str, name: &str, target: &str) -> Self {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("dir")).unwrap();
        fs::write(root.join("dir/file"), "public\n").unwrap();
        fs::write(outside.path().join("file"), SECRET).unwrap();
        let (place, target) = (root.join(name), outside.path().join(target));
        let swap = move || {
            fs::rename(&place, place.with_extension("moved")).unwrap();
            symlink(&target, &place).unwrap();
        };
        let rules = SwapWhenAsked { about: root.join(about), swap: Mutex::new(Some(Box::new(swap))) };
        let rules = Arc::new(rules);
        Self { bench: Bench::with_rules(dir, Arc::clone(&rules) as _), outside, rules }
    }

    /// Asserts that the swap took place and nothing happened outside.
    fn untouched(&self) {
        assert!(
            self.rules.swap.lock().unwrap().is_none(),
            "never asked about {}",
            self.rules.about.display()
        );
        assert_eq!(fs::read_to_string(self.outside.path().join("file")).unwrap(), SECRET);
        assert_eq!(fs::read_dir(self.outside.path()).unwrap().count(), 1);
    }

    /// Asserts that a call says that something changed, shows nothing and does nothing.
    async fn holds(&self, tool: &str, args: Value) {
        let error = self.bench.error(tool, args).await;
        assert!(error.ends_with(CHANGED), "{tool}: {error}");
        self.untouched();
    }
}

/// What is swapped between check and use, and for what outside.
const SWAPS: [(&str, &str); 2] = [("dir", ""), ("dir/file", "file")];

#[tokio::test]
async fn a_read_shows_only_what_was_judged() {
    for (name, target) in SWAPS {
        Trap::new("dir/file", name, target).holds("Read", json!({"file_path": "dir/file"})).await;
    }
}

#[tokio::test]
async fn a_write_changes_only_what_was_judged() {
    for (name, target) in SWAPS {
        let args = json!({"file_path": "dir/file", "content": "x"});
        Trap::new("dir/file", name, target).holds("Write", args).await;
    }
}

#[tokio::test]
async fn an_edit_changes_only_what_was_judged() {
    for (name, target) in SWAPS {
        let args = json!({"file_path": "dir/file", "old_string": "the", "new_string": "a"});
        Trap::new("dir/file", name, target).holds("Edit", args).await;
    }
}

#[tokio::test]
async fn a_new_file_and_new_directories_are_made_only_where_they_were_judged() {
    for new in ["dir/new", "dir/sub/deeper/new"] {
        Trap::new(new, "dir", "").holds("Write", json!({"file_path": new, "content": "x"})).await;
    }
}

#[tokio::test]
async fn a_search_shows_only_what_was_judged() {
    // A file that is named, and a directory.
    for (name, target) in SWAPS {
        let args = json!({"pattern": "secret", "path": "dir/file", "output_mode": "content"});
        Trap::new("dir/file", name, target).holds("Grep", args).await;
    }
    for tool in ["Grep", "Glob"] {
        Trap::new("dir", "dir", "").holds(tool, json!({"pattern": ".", "path": "dir"})).await;
    }
    // Something that the search itself comes to.
    for (about, name, target) in
        [("dir", "dir", ""), ("dir/file", "dir", ""), ("dir/file", "dir/file", "file")]
    {
        let trap = Trap::new(about, name, target);
        let found = trap.bench.ok("Grep", json!({"pattern": "secret", "output_mode": "content"})).await;
        assert!(found.starts_with("No matches for"), "{about} {name}: {found}");
        trap.untouched();
    }
}

#[tokio::test]
async fn names_of_a_directory_that_was_swapped_in_are_not_shown() {
    let trap = Trap::new("dir", "dir", "");
    fs::rename(trap.outside.path().join("file"), trap.outside.path().join("private")).unwrap();
    let found = trap.bench.ok("Glob", json!({"pattern": "**/*"})).await;
    assert!(!found.contains("private"), "{found}");
    assert!(trap.bench.path("dir").is_symlink(), "never swapped");
}

/// Whatever the gates said: the rules have the last word on where a path really leads.
#[tokio::test]
async fn the_rules_have_the_last_word() {
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
    let bench = Bench::with_rules(dir, Arc::new(PathRules::new(&root, Writes::Project, Vec::new())));
    let refused = async |tool: &str, args: Value, reason: &str| {
        let error = bench.error(tool, args).await;
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
    // Links that lead to a permitted place are links like any other.
    bench.ok("Write", json!({"file_path": "sources/a/b", "content": "x"})).await;
    assert_eq!(fs::read_to_string(root.join("src/a/b")).unwrap(), "x");
    assert!(bench.ok("Read", json!({"file_path": "way-in/status.json"})).await.contains("{}"));
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

/// A project of which a part is swapped all the time, and what it is swapped for.
struct Whirl {
    // Dropped first, since what it swaps goes with the rest.
    _swapper: Swapper,
    bench: Bench,
    outside: TempDir,
}

impl Whirl {
    /// `name` is one moment what it seems, with public content, and the next a link to `target` outside.
    fn new(name: &str, target: &str) -> Self {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("dir")).unwrap();
        fs::write(root.join("dir/file"), "public\n").unwrap();
        for name in ["file", "private"] {
            fs::write(outside.path().join(name), SECRET).unwrap();
        }
        symlink(outside.path().join(target), root.join("link")).unwrap();
        let rules = PathRules::new(&root, Writes::Project, Vec::new());
        let _swapper = Swapper::start(&root.join(name), &root.join("link"));
        Self { _swapper, bench: Bench::with_rules(dir, Arc::new(rules)), outside }
    }

    /// Calls a tool, whose output must be public, and tells whether it did something.
    async fn call(&self, tool: &str, args: Value) -> bool {
        let output = self.bench.call(tool, args.clone()).await;
        let shown = output.output.replace("`secret`", "").replace(NAMES, "");
        assert!(!shown.contains("secret") && !shown.contains("private"), "{tool} {args}: {shown}");
        !output.is_error()
    }

    fn untouched(&self) {
        assert_eq!(fs::read_dir(self.outside.path()).unwrap().count(), 2);
        for name in ["file", "private"] {
            assert_eq!(fs::read_to_string(self.outside.path().join(name)).unwrap(), SECRET);
        }
    }
}

/// The names that are there outside, one of which is also in the project.
const NAMES: &str = "{file,private}";

#[tokio::test]
async fn a_directory_that_is_swapped_all_the_time_leads_nowhere() {
    let whirl = Whirl::new("dir", "");
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
            done += usize::from(whirl.call(tool, args).await);
        }
        whirl.untouched();
    }
    assert!(done > 0, "nothing was ever done");
}

#[tokio::test]
async fn a_file_that_is_swapped_all_the_time_leads_nowhere() {
    let whirl = Whirl::new("dir/file", "file");
    let mut done = 0;
    for _ in 0..ROUNDS {
        for (tool, args) in [
            ("Read", json!({"file_path": "dir/file"})),
            ("Edit", json!({"file_path": "dir/file", "old_string": "the secret", "new_string": "x"})),
            ("Grep", json!({"pattern": "secret", "output_mode": "content", "path": "dir/file"})),
            ("Grep", json!({"pattern": "secret", "output_mode": "content", "glob": NAMES})),
        ] {
            done += usize::from(whirl.call(tool, args).await);
        }
        whirl.untouched();
    }
    assert!(done > 0, "nothing was ever done");
}
