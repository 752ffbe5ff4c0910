//! install.sh for one release: its version, its address and its signer are written into `packaging/install.sh`.

use std::fs;

use super::release::Release;
use super::signature::{NAMESPACE, SIGNER};
use crate::result::Result;
use crate::workspace::root;

/// `allowed_signer` is empty for a release that is not signed.
pub fn script(release: &Release, allowed_signer: &str) -> Result<String> {
    let values = [
        ("@VERSION@", release.version.as_str()),
        ("@REPOSITORY@", &release.repository),
        ("@SIGNER@", allowed_signer),
        ("@SIGNER_NAME@", SIGNER),
        ("@NAMESPACE@", NAMESPACE),
    ];
    let template = fs::read_to_string(root().join("packaging/install.sh"))?;
    values.into_iter().try_fold(template, |text, (name, value)| match value.contains('\'') {
        true => Err(format!("{name} would break install.sh: {value}").into()),
        false => Ok(text.replace(name, value)),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::super::archive::{gzip, tar};
    use super::super::file_tree::FileTree;
    use super::super::output::OutputDirectory;
    use super::super::release::example;
    use super::super::signature::{allowed_signer, sign, throwaway_key};
    use super::super::{file_tree, sums};
    use super::script;

    /// A release of a stand-in, with archives for both processors, signed; and a home to install it to.
    struct ReleaseOnDisk {
        directory: tempfile::TempDir,
    }

    impl ReleaseOnDisk {
        fn new() -> Self {
            Self::of(&file_tree::example())
        }

        fn of(tree: &FileTree) -> Self {
            let release = Self { directory: tempfile::tempdir().unwrap() };
            let mut output = OutputDirectory::create(&release.files()).unwrap();
            for processor in ["x86_64", "aarch64"] {
                let name = format!("autonoe-1.2.3-{processor}-unknown-linux-musl");
                let archive = gzip(&tar(tree, &format!("{name}/"), example().seconds).unwrap()).unwrap();
                output.write(&format!("{name}.tar.gz"), &archive).unwrap();
            }
            output.write(sums::FILE, sums::list(output.files()).as_bytes()).unwrap();
            let key = throwaway_key(release.directory.path(), "key");
            sign(&key, &output.path(sums::FILE)).unwrap();
            let installer = script(&example(), &allowed_signer(&key).unwrap()).unwrap();
            fs::write(release.directory.path().join("install.sh"), installer).unwrap();
            fs::create_dir(release.directory.path().join("programs")).unwrap();
            release
        }

        fn files(&self) -> PathBuf {
            self.directory.path().join("release")
        }

        fn home(&self) -> PathBuf {
            self.directory.path().join("home")
        }

        fn archive(&self) -> PathBuf {
            self.files().join(format!("autonoe-1.2.3-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH))
        }

        /// Puts a program before those of the system.
        fn replace_program(&self, name: &str, script: &str) {
            let file = self.directory.path().join("programs").join(name);
            fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }

        /// Whether it ended well, and what it printed.
        fn install(&self, arguments: &[&str]) -> (bool, String) {
            let programs = self.directory.path().join("programs");
            let mut command = Command::new("sh");
            command.arg(self.directory.path().join("install.sh")).arg("--from").arg(self.files());
            command.args(arguments).env_clear().env("HOME", self.home());
            command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
            let output = command.output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8(text).unwrap())
        }

        #[track_caller]
        fn assert_refused(&self, arguments: &[&str], sentence: &str) {
            let (is_installed, text) = self.install(arguments);
            assert!(!is_installed, "{text}");
            let wanted = format!("autonoe was not installed: {sentence}");
            assert!(text.contains(&wanted) && text.lines().count() == 1, "{text}");
            assert!(!self.home().join(".local/bin/autonoe").exists(), "{text}");
        }
    }

    fn change(file: &Path, what: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(file).unwrap();
        what(&mut bytes);
        fs::write(file, bytes).unwrap();
    }

    #[test]
    fn it_installs_what_is_signed_and_says_what_is_next() {
        let release = ReleaseOnDisk::new();
        let (is_installed, text) = release.install(&[]);
        assert!(is_installed, "{text}");
        let bin = release.home().join(".local/bin");
        assert!(text.contains(&format!("Installed autonoe 1.2.3 in {}.", bin.display())), "{text}");
        assert!(text.contains("is not on your PATH; add it: export PATH="), "{text}");
        assert!(text.ends_with("Next: autonoe doctor\n"), "{text}");
        let output = Command::new(bin.join("autonoe")).output().unwrap();
        assert_eq!(output.stdout, b"autonoe 1.2.3\n");
        assert!(release.home().join(".local/share/man/man1/autonoe.1").exists());
        let (is_installed, text) = release.install(&[]);
        assert!(is_installed, "again, over the first: {text}");
    }

    #[test]
    fn it_takes_a_release_from_an_address() {
        let release = ReleaseOnDisk::new();
        if !Path::new("/usr/bin/curl").exists() {
            return;
        }
        let address = format!("file://{}", release.files().display());
        let (is_installed, text) = release.install(&["--from", &address]);
        assert!(is_installed, "{text}");
        let (is_installed, text) = release.install(&["--from", "file:///nowhere"]);
        assert!(!is_installed && text.contains("file:///nowhere/SHA256SUMS cannot be downloaded."), "{text}");
    }

    #[test]
    fn a_changed_archive_is_refused() {
        let release = ReleaseOnDisk::new();
        change(&release.archive(), |bytes| bytes[100] ^= 1);
        release.assert_refused(&[], "the checksum of autonoe-1.2.3-");
    }

    #[test]
    fn changed_sums_are_refused() {
        let release = ReleaseOnDisk::new();
        change(&release.archive(), |bytes| bytes[100] ^= 1);
        let changed = sums::sha256(&fs::read(release.archive()).unwrap());
        let name = release.archive().file_name().unwrap().to_string_lossy().into_owned();
        fs::write(release.files().join(sums::FILE), format!("{changed}  {name}\n")).unwrap();
        release.assert_refused(&[], "the signature of SHA256SUMS is wrong.");
    }

    #[test]
    fn a_signature_by_another_key_or_none_is_refused() {
        let release = ReleaseOnDisk::new();
        let sums = release.files().join(sums::FILE);
        let signature = release.files().join("SHA256SUMS.sig");
        fs::remove_file(&signature).unwrap();
        let (is_installed, text) = release.install(&[]);
        assert!(!is_installed && text.contains("SHA256SUMS.sig cannot be read."), "{text}");
        sign(&throwaway_key(release.directory.path(), "other"), &sums).unwrap();
        release.assert_refused(&[], "the signature of SHA256SUMS is wrong.");
        let (is_installed, text) = release.install(&["--without-signature"]);
        assert!(is_installed && text.contains("The signature is not checked, as you asked."), "{text}");
    }

    /// As in a container that runs with any user id.
    #[test]
    fn a_user_without_a_name_is_not_a_wrong_signature() {
        let release = ReleaseOnDisk::new();
        release.replace_program("ssh-keygen", "echo 'No user exists for uid 61234'; exit 255");
        release.assert_refused(&[], "ssh-keygen refuses to work for a user without a name");
    }

    #[test]
    fn a_machine_that_cannot_take_it_gets_one_sentence() {
        let release = ReleaseOnDisk::new();
        release.replace_program("uname", "[ $1 = -m ] && echo riscv64 || echo Linux");
        release.assert_refused(&[], "there is no build for the processor riscv64.");
        release.replace_program("uname", "[ $1 = -m ] && echo x86_64 || echo FreeBSD");
        release.assert_refused(&[], "there is no build for the system FreeBSD.");
        let release = ReleaseOnDisk::new();
        release.replace_program("df", "echo header; echo /dev/x 100 90 5120 95% /");
        release.assert_refused(&[], "there is not enough space in ");
    }

    #[test]
    fn a_directory_that_cannot_be_written_gets_one_sentence() {
        let release = ReleaseOnDisk::new();
        // Below a file, so that not even root can write there.
        let below = release.archive().join("below");
        let sentence = format!("you cannot write to {}. Name another directory", below.display());
        release.assert_refused(&["--prefix", &below.to_string_lossy()], &sentence);
    }

    #[test]
    fn a_binary_that_does_not_start_is_reported() {
        let mut tree = file_tree::example();
        tree.add_program("bin/autonoe", "#!/bin/sh\nexit 1\n");
        let (is_installed, text) = ReleaseOnDisk::of(&tree).install(&[]);
        assert!(!is_installed && text.contains("bin/autonoe does not start."), "{text}");
    }

    #[test]
    fn wrong_arguments_are_named() {
        let release = ReleaseOnDisk::new();
        release.assert_refused(&["--sudo"], "the option --sudo is unknown.");
        release.assert_refused(&["--prefix"], "--prefix needs a value.");
    }
}
