//! Which of the user's variables name files and directories from which programs load, by their names.

/// Variables whose value is a file, without being named like one.
#[rustfmt::skip]
const FILES: &[&str] = &[
    "BASH_ENV", "ENV", "GDK_PIXBUF_MODULE_FILE", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GTK2_RC_FILES", "GTK_IM_MODULE_FILE",
    "GTK_RC_FILES", "INPUTRC", "LUA_INIT", "MAKEFILES", "OPENSSL_CONF", "PYTHONSTARTUP", "R_ENVIRON_USER", "R_PROFILE_USER",
    "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
];

/// Variables whose value is a command; a first word without a slash is searched on the PATH.
const COMMANDS: &[&str] = &["CC", "CXX", "RUSTC", "RUSTC_WRAPPER"];

/// Variables whose value is one directory or several from which programs load code or settings, beside those whose name ends with `HOME`.
#[rustfmt::skip]
const DIRECTORIES: &[&str] = &[
    "BASH_COMPLETION_USER_DIR", "EMACSLOADPATH", "ERL_LIBS", "FPATH", "GCONV_PATH", "GEM_PATH", "GIO_EXTRA_MODULES", "GIO_MODULE_DIR",
    "GIT_TEMPLATE_DIR", "GI_TYPELIB_PATH", "GST_PLUGIN_PATH", "GST_PLUGIN_SYSTEM_PATH", "GTK_EXE_PREFIX", "GTK_PATH",
    "GUILE_LOAD_COMPILED_PATH", "GUILE_LOAD_PATH", "JULIA_DEPOT_PATH", "JULIA_LOAD_PATH", "LIBGL_DRIVERS_PATH", "LIBVA_DRIVERS_PATH",
    "OCAMLPATH", "OPENSSL_ENGINES", "OPENSSL_MODULES", "PHPRC", "PHP_INI_SCAN_DIR", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE",
    "QML2_IMPORT_PATH", "QML_IMPORT_PATH", "QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH", "R_LIBS", "R_LIBS_USER", "SASL_PATH",
    "TCLLIBPATH", "TCL_LIBRARY", "TK_LIBRARY", "VIM", "VIMRUNTIME", "VK_ADD_LAYER_PATH", "VK_LAYER_PATH", "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
];

/// Variables whose value is a directory in which git or a compiler looks for its own programs.
const PROGRAM_DIRECTORIES: &[&str] = &["COMPILER_PATH", "GCC_EXEC_PREFIX", "GIT_EXEC_PATH"];

/// Variables whose words are no files, or files of the project that only programs started for it load, or that say what runs just now, or where
/// programs are, which the search path's own rules decide.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "CMAKE_PREFIX_PATH", "COMPOSE_FILE", "DJANGO_SETTINGS_MODULE", "FLASK_APP", "GITHUB_WORKFLOW", "GOINSECURE", "GONOPROXY", "GONOSUMDB", "GOPRIVATE", "PATH", "TZ", "_", "npm_command", "npm_lifecycle_event", "npm_lifecycle_script",
];
const BEGINNINGS_OF_OTHERS: &[&str] = &["npm_package_"];

/// Variables whose words without a slash are names of people, machines, jobs, packages or colours, or a message.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "COLORTERM", "DESKTOP_SESSION", "EMAIL", "GLOBIGNORE", "HOST", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "MAIL", "NAME", "SHLVL", "TERM",
    "TERM_PROGRAM", "USER", "USERNAME", "XDG_CURRENT_DESKTOP",
];
const BEGINNINGS_OF_NAMES: &[&str] = &[
    "CARGO_PKG_",
    "CI_",
    "GITHUB_",
    "GITLAB_",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "HIST",
    "LC_",
    "XDG_SESSION_",
];
const ENDS_OF_NAMES: &[&str] = &["COLORS", "_MESSAGE", "_TITLE"];

/// Parts of the names of variables that name a place, and the ends of such names.
const PLACES: &[&str] = &["CONFIG", "DOTFILE", "SETTINGS"];
const ENDS_OF_PLACES: &[&str] = &["DIR", "DIRS", "DIRECTORY", "PATH", "RC", "ROOT"];

/// Places that programs load nothing from by themselves: sources, and what is made of them.
#[rustfmt::skip]
const PLAIN_PLACES: &[&str] = &[
    "ASSETS", "BUILD", "BUILDDIR", "CACHE", "CDPATH", "CPATH", "DATA", "DATADIR", "DIST", "DOC", "DOCS", "INCLUDE", "INFOPATH", "LIBRARY",
    "LOG", "LOGDIR", "LOGS", "MANPATH", "MEDIA", "OUT", "OUTDIR", "OUTPUT", "PROJECT", "PUBLIC", "SOURCE", "SRC", "SRCDIR", "STATIC",
    "TARGET", "TEMP", "TEST", "TESTS", "TMP", "TMPDIR",
];

pub(crate) fn is_file(name: &str) -> bool {
    FILES.contains(&name)
}

/// Whether a program runs the file that the variable names, or that one of its options does.
pub(crate) fn is_file_that_runs(name: &str) -> bool {
    is_file(name) || ["NODE_OPTIONS", "RUBYOPT", "BUN_OPTIONS", "DENO_OPTIONS"].contains(&name)
}

pub(crate) fn is_command(name: &str) -> bool {
    COMMANDS.contains(&name)
}

pub(crate) fn is_directory(name: &str) -> bool {
    DIRECTORIES.contains(&name)
}

pub(crate) fn has_programs(name: &str) -> bool {
    PROGRAM_DIRECTORIES.contains(&name)
}

/// Whether no word of such a variable is a file that programs load.
pub(crate) fn names_no_files(name: &str) -> bool {
    OTHERS.contains(&name) || BEGINNINGS_OF_OTHERS.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a word without a slash is no file either.
pub(crate) fn has_mere_names(name: &str) -> bool {
    NAMES.contains(&name)
        || BEGINNINGS_OF_NAMES.iter().any(|beginning| name.starts_with(beginning))
        || ENDS_OF_NAMES.iter().any(|end| name.ends_with(end))
}

/// Whether the name says that the value is a file or directory with settings or code, also without a slash.
pub(crate) fn is_place(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let says_so =
        PLACES.iter().any(|part| name.contains(part)) || ENDS_OF_PLACES.iter().any(|end| name.ends_with(end));
    says_so && !name.split('_').any(|part| PLAIN_PLACES.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::is_place;

    #[test]
    fn names_say_which_variables_are_places() {
        for name in "DOCKER_CONFIG RIPGREP_CONFIG_PATH HGRCPATH SCREENRC WGETRC npm_config_prefix GOROOT APP_SETTINGS NODE_PATH"
            .split(' ')
        {
            assert!(is_place(name), "{name}");
        }
        for name in
            "NODE_ENV SRC SRC_DIR BUILD_DIR CARGO_TARGET_DIR TMPDIR CDPATH C_INCLUDE_PATH AWS_PROFILE EDITOR"
                .split(' ')
        {
            assert!(!is_place(name), "{name}");
        }
    }
}
