use std::fs;
use std::io;
use std::path::Path;

use crate::untrusted_dir::UntrustedDir;

/// Removes a directory with everything in it, whatever permissions a program has left there. Nothing at all is fine.
pub fn remove_tree(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
                return Err(error);
            };
            UntrustedDir::open(parent)?.remove(name)
        }
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::remove_tree;
    use crate::UntrustedDir;

    /// Root is refused nothing, so that what happens then is looked at as well.
    #[test]
    fn permissions_do_not_keep_a_tree() {
        let by_name =
            |path: &Path| UntrustedDir::open(path.parent().unwrap())?.remove(path.file_name().unwrap());
        for remove in [remove_tree, by_name] {
            let directory = tempfile::tempdir().unwrap();
            let tree = directory.path().join("tree");
            fs::create_dir_all(tree.join("home/go/mod")).unwrap();
            fs::write(tree.join("home/go/mod/file"), "").unwrap();
            for (path, mode) in [("home/go/mod", 0o555), ("home/go", 0o000), ("home", 0o100)] {
                fs::set_permissions(tree.join(path), Permissions::from_mode(mode)).unwrap();
            }
            remove(&tree).unwrap();
            assert!(!tree.exists());
            remove_tree(&tree).unwrap();
        }
    }
}
