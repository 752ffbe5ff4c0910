//! Tasks of Gradle and sbt that publish. Plugins and repositories give them many names, so they are recognized by form.

use crate::words::Arg;

/// Options of Gradle before a task that does not run.
const LEFT_OUT: [&str; 3] = ["-x", "--exclude-task", "--task"];

/// The task with which a call publishes; `None` if it does not.
pub fn publishing_task(program: &str, args: &[Arg]) -> Option<String> {
    let is_publishing = if program == "sbt" { is_sbt_task } else { is_gradle_task };
    // Gradle leaves out the task after `-x`.
    let is_left_out = |at: usize| {
        program != "sbt"
            && at
                .checked_sub(1)
                .and_then(|before| args[before].literal())
                .is_some_and(|option| LEFT_OUT.contains(&option))
    };
    args.iter()
        .enumerate()
        .filter(|(at, _)| !is_left_out(*at))
        .filter_map(|(_, arg)| arg.literal())
        .filter(|text| !text.starts_with('-'))
        .flat_map(|text| text.split([';', ' ', '/', ':']))
        .map(|task| task.trim_start_matches('+'))
        .find(|task| is_publishing(task))
        .map(str::to_owned)
}

/// `publish`, what Gradle takes for an abbreviation of it, and `publish…` to anything but a repository on this machine.
/// Reports of tests have such names too.
fn is_gradle_task(task: &str) -> bool {
    let is_abbreviated = task.len() > 2 && "publish".starts_with(task);
    let is_publish = task
        .strip_prefix("publish")
        .filter(|rest| rest.starts_with(char::is_uppercase))
        .is_some_and(|rest| match rest.rsplit_once("To") {
            Some((_, target)) => {
                !["MavenLocal", "Local", "Test"].iter().any(|local| target.starts_with(local))
            }
            None => !rest.starts_with("Test"),
        });
    let releases = [
        "uploadArchives",
        "closeAndReleaseRepository",
        "releaseRepository",
        "jreleaserFullRelease",
        "artifactoryPublish",
        "dockerPush",
        "dockerPushImage",
        "jib",
    ];
    is_abbreviated || is_publish || releases.contains(&task)
}

fn is_sbt_task(task: &str) -> bool {
    let releases =
        ["publish", "publishSigned", "release", "sonatypeRelease", "sonatypeBundleRelease", "ci-release"];
    releases.contains(&task)
}
