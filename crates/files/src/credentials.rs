//! Where programs keep the user's credentials. This is the only list: rooms mask these paths in directories that are readable
//! otherwise, such as those of toolchains, and the file tools refuse them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::read::read_text;
use crate::size::SETTINGS_LIMIT;

/// A file or directory with credentials, at the end of any path. `*` stands for one name.
#[derive(Debug, Clone, Copy)]
pub struct Credential {
    pub tool: &'static str,
    pub path: &'static str,
    /// The file is needed, and is masked only if it contains this outside of XML comments.
    only_with: Option<&'static str>,
}

const fn of(tool: &'static str, path: &'static str) -> Credential {
    Credential { tool, path, only_with: None }
}

/// An empty file in its place would be an error.
const fn needed(tool: &'static str, path: &'static str, only_with: &'static str) -> Credential {
    Credential { tool, path, only_with: Some(only_with) }
}

pub const CREDENTIALS: &[Credential] = &[
    of("ssh", ".ssh"),
    of("gpg", ".gnupg"),
    of("keyring", ".local/share/keyrings"),
    of("pass", ".password-store"),
    of("firefox", ".mozilla"),
    of("autonoe", ".config/autonoe"),
    of("netrc", ".netrc"),
    of("postgresql", ".pgpass"),
    of("mysql", ".my.cnf"),
    of("1password", ".config/op"),
    of("git", ".git-credentials"),
    of("git", ".config/git/credentials"),
    of("claude", ".claude/.credentials.json"),
    of("claude", ".claude.json"),
    of("codex", ".codex/auth.json"),
    of("gemini", ".gemini/oauth_creds.json"),
    of("npm", ".npmrc"),
    of("npm", "etc/npmrc"),
    of("nvm", "versions/node/*/etc/npmrc"),
    of("fnm", "node-versions/*/installation/etc/npmrc"),
    of("volta", "tools/image/node/*/etc/npmrc"),
    of("mise", "installs/node/*/etc/npmrc"),
    of("asdf", "installs/nodejs/*/etc/npmrc"),
    of("yarn", ".yarnrc"),
    of("yarn", ".yarnrc.yml"),
    of("pnpm", ".config/pnpm/rc"),
    of("pnpm", "pnpm/auth.ini"),
    of("bun", ".bunfig.toml"),
    of("cargo", ".cargo/credentials"),
    of("cargo", ".cargo/credentials.toml"),
    of("cargo", "cargo/credentials"),
    of("cargo", "cargo/credentials.toml"),
    of("asdf", "installs/rust/*/credentials.toml"),
    of("mise", "installs/rust/*/credentials.toml"),
    of("gem", ".gem/credentials"),
    of("gem", "gem/credentials"),
    of("gem", ".gemrc"),
    of("bundler", ".bundle/config"),
    of("uv", "uv/credentials"),
    of("pip", ".pip/pip.conf"),
    of("pip", ".config/pip/pip.conf"),
    of("pip", "etc/pip.conf"),
    of("pyenv", "versions/*/pip.conf"),
    of("uv", "uv/tools/*/pip.conf"),
    of("pipx", "pipx/venvs/*/pip.conf"),
    of("mise", "installs/python/*/pip.conf"),
    of("twine", ".pypirc"),
    of("poetry", "pypoetry/auth.toml"),
    of("conda", ".condarc"),
    of("composer", ".composer/auth.json"),
    of("composer", "composer/auth.json"),
    of("maven", ".m2/settings.xml"),
    of("maven", ".m2/settings-security.xml"),
    needed("maven", "conf/settings.xml", "<password>"),
    needed("maven", "etc/maven/settings.xml", "<password>"),
    needed("maven", "maven/conf/settings.xml", "<password>"),
    needed("sdkman", "candidates/maven/*/conf/settings.xml", "<password>"),
    of("gradle", ".gradle/gradle.properties"),
    of("gradle", ".gradle/init.d"),
    of("sdkman", "candidates/gradle/*/gradle.properties"),
    of("nuget", "NuGet/NuGet.Config"),
    of("hex", ".hex/hex.config"),
    of("pub", ".pub-cache/credentials.json"),
    of("pub", "dart/pub-credentials.json"),
    of("luarocks", ".luarocks/upload_config.lua"),
    of("docker", ".docker"),
    of("podman", "containers/auth.json"),
    of("gh", ".config/gh"),
    of("glab", ".config/glab-cli"),
    of("hub", ".config/hub"),
    of("aws", ".aws"),
    of("gcloud", ".config/gcloud"),
    of("azure", ".azure"),
    of("kubectl", ".kube"),
    of("doctl", ".config/doctl"),
    of("terraform", ".terraformrc"),
    of("terraform", ".terraform.d/credentials.tfrc.json"),
    of("vault", ".vault-token"),
    of("fly", ".fly/config.yml"),
    of("vercel", "com.vercel.cli"),
    of("netlify", ".config/netlify"),
    of("wrangler", ".wrangler"),
    of("huggingface", "huggingface/token"),
    of("s3cmd", ".s3cfg"),
    of("boto", ".boto"),
    of("rclone", ".config/rclone"),
];

/// Whether `path` is or is in a place of credentials below `root`. A root that is such a place itself was meant.
pub fn is_credential(root: &Path, path: &Path) -> bool {
    let names = names(path);
    let inside = root.components().count();
    CREDENTIALS.iter().any(|credential| {
        let pattern = names_of(credential);
        let last = names.len().saturating_sub(pattern.len());
        (0..=last).any(|start| {
            let end = start + pattern.len();
            end <= names.len() && end > inside && matches(&pattern, &names[start..end])
        })
    })
}

/// The existing places of credentials in `directory`, which is readable otherwise. Only the places that programs use are looked at, not
/// the whole tree.
pub fn credentials_within(directory: &Path) -> Vec<PathBuf> {
    let own_names = names(directory);
    let mut exists = HashMap::new();
    let mut found = Vec::new();
    for credential in CREDENTIALS {
        let pattern = names_of(credential);
        for matched in 0..pattern.len().min(own_names.len() + 1) {
            let own_end = &own_names[own_names.len() - matched..];
            if !matches(&pattern[..matched], own_end) {
                continue;
            }
            let (first, rest) = (pattern[matched], &pattern[matched + 1..]);
            let is_there = first == "*"
                || *exists.entry(first).or_insert_with(|| directory.join(first).symlink_metadata().is_ok());
            if is_there {
                let mut places = Vec::new();
                expand(directory, first, rest, &mut places);
                found.extend(places.into_iter().filter(|place| credential.is_in(place)));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

impl Credential {
    fn is_in(&self, place: &Path) -> bool {
        let Some(text) = self.only_with else { return true };
        // A file that cannot be read is masked.
        read_text(place, SETTINGS_LIMIT)
            .map_or(true, |content| content.is_some_and(|content| without_comments(&content).contains(text)))
    }
}

fn without_comments(xml: &str) -> String {
    let mut parts = xml.split("<!--");
    let before = parts.next().unwrap_or_default().to_owned();
    parts.fold(before, |text, part| text + part.split_once("-->").map_or("", |(_, after)| after))
}

/// The existing paths that a pattern stands for.
fn expand(directory: &Path, first: &str, rest: &[&str], found: &mut Vec<PathBuf>) {
    let candidates: Vec<PathBuf> = match first {
        "*" => fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect(),
        name => vec![directory.join(name)],
    };
    for path in candidates {
        match rest.split_first() {
            Some((next, rest)) => expand(&path, next, rest, found),
            None if path.symlink_metadata().is_ok() => found.push(path),
            None => {}
        }
    }
}

fn names_of(credential: &Credential) -> Vec<&'static str> {
    credential.path.split('/').collect()
}

fn names(path: &Path) -> Vec<&OsStr> {
    // The root counts, so that the lengths of paths can be compared.
    path.components().map(Component::as_os_str).collect()
}

/// Ignores case, because some file systems do.
fn matches(pattern: &[&str], names: &[&OsStr]) -> bool {
    pattern.len() == names.len()
        && pattern
            .iter()
            .zip(names)
            .all(|(pattern, name)| *pattern == "*" || name.eq_ignore_ascii_case(pattern))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{CREDENTIALS, credentials_within, is_credential};

    /// A path that a pattern stands for.
    fn example(pattern: &str) -> PathBuf {
        PathBuf::from(pattern.replace('*', "1.2.3"))
    }

    #[test]
    fn each_is_found_in_a_home_and_in_the_directory_of_its_tool() {
        for credential in CREDENTIALS {
            let directory = tempfile::tempdir().expect("directory");
            let path = directory.path().join(example(credential.path));
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(&path, "<password>x</password>").expect("written");
            for root in path.ancestors().skip(1).take_while(|root| root.starts_with(directory.path())) {
                assert_eq!(
                    credentials_within(root),
                    std::slice::from_ref(&path),
                    "{} in {root:?}",
                    credential.tool
                );
                assert!(is_credential(root, &path), "{} in {root:?}", credential.tool);
                assert!(is_credential(root, &path.join("deeper")), "{} in {root:?}", credential.tool);
            }
            assert!(!is_credential(&path, &path.join("x")), "{}: chosen by the user", credential.tool);
        }
    }

    #[test]
    fn passwords_of_databases_and_password_managers_are() {
        for path in ["/h/.pgpass", "/h/.my.cnf", "/h/.config/op/config"] {
            assert!(is_credential(Path::new("/h"), Path::new(path)), "{path}");
        }
    }

    #[test]
    fn other_files_are_not() {
        for path in [
            "/usr/lib/node_modules/npm/lib/npmrc.js",
            "/h/.cargo/bin/cargo",
            "/h/.docker2/x",
            "/etc/npm",
            "/h/.awsome",
        ] {
            assert!(!is_credential(Path::new("/"), Path::new(path)), "{path}");
        }
    }

    #[test]
    fn settings_that_are_needed_are_masked_only_with_a_password() {
        let directory = tempfile::tempdir().expect("directory");
        let settings = directory.path().join("conf/settings.xml");
        fs::create_dir(directory.path().join("conf")).expect("directory");
        fs::write(&settings, "<settings><!-- <password>x</password> --></settings>").expect("written");
        assert!(credentials_within(directory.path()).is_empty());
        fs::write(&settings, "<settings><!-- --><password>x</password></settings>").expect("written");
        assert_eq!(credentials_within(directory.path()), [settings]);
    }
}
