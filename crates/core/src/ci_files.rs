//! Files that decide what a CI service runs.

const DIRECTORIES: [&str; 15] = [
    ".github/workflows",
    ".github/actions",
    ".gitea/workflows",
    ".forgejo/workflows",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".semaphore",
    // Usual places of what definitions elsewhere include.
    ".azure-pipelines",
    ".ci",
    ".gitlab",
    ".gitlab-ci",
    ".harness",
    ".teamcity",
    ".tekton",
];

/// Endings of definitions that others include, wherever they are.
const ENDS: [&str; 2] = [".gitlab-ci.yml", ".gitlab-ci.yaml"];

const FILES: [&str; 14] = [
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".cirrus.yml",
    ".appveyor.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "cloudbuild.yaml",
    "Jenkinsfile",
    ".sourcehut.yml",
    ".build.yml",
];

/// Whether a file of a repository decides what its CI service runs.
pub fn is_ci_file(path: &str) -> bool {
    let is_in = |directory: &str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    DIRECTORIES.into_iter().any(is_in)
        || FILES.contains(&path)
        || ENDS.into_iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_ci_file;

    #[test]
    fn definitions_and_what_they_usually_include_are_recognized() {
        for path in [
            ".github/workflows/test.yml",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            ".circleci/config.yml",
            "ci/test.gitlab-ci.yml",
            ".ci/run",
        ] {
            assert!(is_ci_file(path), "{path}");
        }
        for path in [".github/workflows", ".github/CODEOWNERS", "sub/.travis.yml", "jenkins/a"] {
            assert!(!is_ci_file(path), "{path}");
        }
    }
}
