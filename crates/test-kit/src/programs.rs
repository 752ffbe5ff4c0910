use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The path of an example, which cargo builds along with the tests of its package.
#[track_caller]
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test binary");
    let example = test.ancestors().nth(2).expect("target directory").join("examples").join(name);
    assert!(
        example.exists(),
        "{} is missing: run the tests with `cargo test -p PACKAGE` or `cargo nextest run`, which build it, \
         or build it with `cargo build -p PACKAGE --examples`",
        example.display()
    );
    example
}

/// A path below the `node_modules` that `cargo xtask test` installs; `None`, with a notice, if they are not installed.
#[track_caller]
pub fn npm_package(path: &str) -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("AUTONOE_TEST_NPM") else {
        assert!(std::env::var_os("CI").is_none(), "{path}: the npm packages must be installed under CI");
        eprintln!("SKIPPED: {path} is not installed; `cargo xtask test` installs it");
        return None;
    };
    let package = PathBuf::from(directory).join("node_modules").join(path);
    assert!(package.exists(), "{} is missing", package.display());
    Some(package)
}

/// Writes an executable shell script in another process. If we wrote it ourselves, a child that another test just forked
/// could still have it open for writing, and executing it would fail.
pub fn write_program(path: &Path, script: &str) {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    write!(writer.stdin.take().expect("piped"), "#!/bin/sh\n{script}\n").expect("written");
    assert!(writer.wait().expect("ended").success());
}

pub fn has_bubblewrap() -> bool {
    Path::new("/usr/bin/bwrap").exists()
}
