//! Which of the user's variables name files and directories from which programs load, by their names.

/// Variables whose value is a file, without being named like one.
#[rustfmt::skip]
const FILES: &[&str] = &[
    "BASH_COMPLETION_USER_FILE", "BASH_ENV", "CMAKE_TOOLCHAIN_FILE", "ENV", "GDK_PIXBUF_MODULE_FILE", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
    "GOENV", "GTK2_RC_FILES", "GTK_IM_MODULE_FILE", "GTK_MODULES", "GTK_RC_FILES", "INPUTRC", "LUA_INIT", "MAKEFILES", "OCL_ICD_FILENAMES", "OPENSSL_CONF",
    "PYTHONSTARTUP", "R_ENVIRON_USER", "R_PROFILE_USER", "SSH_SK_PROVIDER", "VK_DRIVER_FILES", "VK_ICD_FILENAMES", "YARN_RC_FILENAME",
    "__EGL_VENDOR_LIBRARY_FILENAMES",
];

/// Variables whose value is a command, and the ends of the names of others; a first word without a slash is searched on the PATH.
#[rustfmt::skip]
const COMMANDS: &[&str] = &[
    "AR", "AS", "CARGO", "CC", "CCACHE_PREFIX", "CCACHE_PREFIX_CPP", "CPP", "CVS_RSH", "CXX", "ESBUILD_BINARY_PATH", "FC", "HGMERGE", "JAVACMD",
    "LD", "MAKE", "RSYNC_CONNECT_PROG", "RSYNC_RSH", "RUSTC", "RUSTDOC", "RUSTFMT", "SVN_SSH", "VISUAL",
];
const ENDS_OF_COMMANDS: &[&str] = &[
    "ASKPASS", "BROWSER", "COMMAND", "EDITOR", "LAUNCHER", "LINKER", "OPENER", "PAGER", "RUNNER", "SHELL",
    "TERMINAL", "WRAPPER", "_CMD",
];

/// Variables of which programs run or load what they name without being asked, beside the others here: options, code and prompts; and the
/// beginnings of the names of others.
#[rustfmt::skip]
const ACTING: &[&str] = &[
    "ELIXIR_ERL_OPTIONS", "ERL_AFLAGS", "ERL_FLAGS", "ERL_ZFLAGS", "EXINIT", "GNUMAKEFLAGS", "GOFLAGS", "GREP_OPTIONS", "GVIMINIT",
    "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "MAKEFLAGS", "MFLAGS", "NVIM_APPNAME", "PROMPT", "PS0", "PS1", "PS2", "PS3", "PS4", "RPROMPT",
    "RUSTUP_TOOLCHAIN", "SCONSFLAGS", "SSH_PKCS11_HELPER", "SSH_SK_HELPER", "TAR_OPTIONS", "VIMINIT", "ZDOTDIR", "_JAVA_OPTIONS",
];
const BEGINNINGS_OF_ACTING: &[&str] = &[
    "AUTOENV_",
    "BASH_FUNC_",
    "BUN_",
    "CAML_LD_",
    "DENO_",
    "DYLD_",
    "FZF_",
    "GIT_",
    "LD_",
    "LESS",
    "LUA_",
    "NODE_OPTIONS",
    "PERL",
    "PYTHON",
    "RUBY",
];

/// Ends of the names of variables with options of a program, of which only some load what they name.
const ENDS_OF_OPTIONS: &[&str] = &["ARGS", "FLAGS", "OPT", "OPTIONS", "OPTS"];

/// Parts of the names of options that have a program run or load what they name, such as `-javaagent:x.jar` and `-Clinker=x`.
#[rustfmt::skip]
const LOADING_OPTIONS: &[&str] = &[
    "agent", "class-path", "classpath", "exec", "import", "init-script", "ld-path", "library.path", "linker", "module-path", "onerror",
    "onoutofmemoryerror", "plugin", "preload", "require", "specs", "vmoptionsfile", "wrapper",
];

/// Variables whose value is one directory or several from which programs load code or settings, beside those whose name ends with `HOME`.
#[rustfmt::skip]
const DIRECTORIES: &[&str] = &[
    "ACLOCAL_PATH", "ASDF_DATA_DIR", "ASDF_DIR", "AWKLIBPATH", "AWKPATH", "BASH_COMPLETION_USER_DIR", "BUNDLE_PATH", "BUN_INSTALL", "CLASSPATH",
    "CONDA_PREFIX", "DENO_DIR", "DOOMDIR", "DOTNET_ROOT", "EMACSLOADPATH", "ERL_LIBS", "FNM_DIR", "FPATH", "GBM_BACKENDS_PATH",
    "GCONV_PATH", "GEM_PATH", "GIO_EXTRA_MODULES", "GIO_MODULE_DIR", "GIT_TEMPLATE_DIR", "GI_TYPELIB_PATH", "GOROOT", "GOTOOLDIR", "GST_PLUGIN_PATH",
    "GST_PLUGIN_SYSTEM_PATH", "GTK_EXE_PREFIX", "GTK_PATH", "GUILE_LOAD_COMPILED_PATH", "GUILE_LOAD_PATH", "HGRCPATH", "IPYTHONDIR",
    "JULIA_DEPOT_PATH", "JULIA_LOAD_PATH", "JUPYTER_PATH", "LADSPA_PATH", "LIBGL_DRIVERS_PATH", "LIBVA_DRIVERS_PATH", "LV2_PATH",
    "MISE_DATA_DIR", "NIX_PATH", "NODENV_ROOT", "NODE_PATH", "NVM_DIR", "OCAMLPATH", "ODBCSYSINI", "OCL_ICD_VENDORS", "OPENSSL_ENGINES",
    "OPENSSL_MODULES", "PASSWORD_STORE_EXTENSIONS_DIR", "PHPRC", "PHP_INI_SCAN_DIR", "PYENV_ROOT", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE",
    "QML2_IMPORT_PATH", "QML_IMPORT_PATH", "QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH", "RBENV_ROOT", "R_LIBS", "R_LIBS_USER",
    "SASL_PATH", "SDKMAN_DIR", "TCLLIBPATH", "TCL_LIBRARY", "TK_LIBRARY", "VIM", "VIMRUNTIME", "VIRTUAL_ENV", "VK_ADD_LAYER_PATH",
    "VK_LAYER_PATH", "VSCODE_PORTABLE", "VST3_PATH", "VST_PATH", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "ZSH", "ZSH_CUSTOM", "__EGL_VENDOR_LIBRARY_DIRS",
];

/// Variables whose value is a directory in which git or a compiler looks for its own programs.
const PROGRAM_DIRECTORIES: &[&str] = &["COMPILER_PATH", "GCC_EXEC_PREFIX", "GIT_EXEC_PATH"];

/// Variables with such names whose words are not files, or that say what runs just now.
const OTHERS: &[&str] = &["DJANGO_SETTINGS_MODULE", "npm_command"];
const BEGINNINGS_OF_OTHERS: &[&str] = &["npm_package_"];

/// Beginnings of the names of variables whose words without a slash are names of people or jobs, or a message.
const BEGINNINGS_OF_NAMES: &[&str] = &["CI_", "GITHUB_", "GITLAB_", "GIT_AUTHOR_", "GIT_COMMITTER_"];

/// Parts of the names of variables that name a place, and the ends of such names.
const PLACES: &[&str] = &["CONFIG", "CREDENTIALS", "DOTFILE", "HOOK", "PLUGIN", "SETTINGS"];
const ENDS_OF_PLACES: &[&str] = &["RC"];

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

/// Whether some program runs or loads what the variable names without being asked. Others count where a hook or a setting uses them.
pub(crate) fn is_acting(name: &str) -> bool {
    let is_known = is_file(name) || is_directory(name) || has_programs(name) || name.ends_with("HOME");
    let is_known = is_known || ACTING.contains(&name) || is_command(name) || is_place(name);
    let begins = || BEGINNINGS_OF_ACTING.iter().any(|beginning| name.starts_with(beginning));
    !names_no_files(name) && (is_known || begins())
}

/// The parts of a variable's value of which that holds: all of it, or what options name.
pub(crate) fn acting_part(name: &str, value: &str) -> Option<String> {
    if is_acting(name) {
        return Some(value.to_owned());
    }
    let has_options = ENDS_OF_OPTIONS.iter().any(|end| name.ends_with(end)) && !names_no_files(name);
    has_options.then(|| loaded_by_options(value).join(" ")).filter(|part| !part.is_empty())
}

/// What options have a program run or load, and files with more options.
pub(crate) fn loaded_by_options(value: &str) -> Vec<&str> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (option, joined) = match word.split_once(':') {
            Some((option, joined)) if !option.contains('=') && !option.starts_with("-XX") => (option, joined),
            _ => word.split_once('=').unwrap_or((word, "")),
        };
        let lower = option.to_ascii_lowercase();
        let is_loading = LOADING_OPTIONS.iter().any(|part| lower.contains(part)) || lower == "-cp";
        match joined.is_empty() {
            false if is_loading => found.push(joined),
            true if is_loading && word.starts_with('-') => found.extend(words.get(at + 1)),
            _ => found.extend(word.strip_prefix("-B").or(word.strip_prefix('@'))),
        }
    }
    found
}

pub(crate) fn is_command(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    COMMANDS.contains(&name) || ENDS_OF_COMMANDS.iter().any(|end| upper.ends_with(end))
}

pub(crate) fn is_directory(name: &str) -> bool {
    DIRECTORIES.contains(&name)
}

pub(crate) fn has_programs(name: &str) -> bool {
    PROGRAM_DIRECTORIES.contains(&name)
}

/// Whether no word of such a variable is a file that programs load.
fn names_no_files(name: &str) -> bool {
    OTHERS.contains(&name) || BEGINNINGS_OF_OTHERS.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a word without a slash is not a file either.
pub(crate) fn has_mere_names(name: &str) -> bool {
    BEGINNINGS_OF_NAMES.iter().any(|beginning| name.starts_with(beginning))
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
    use super::{acting_part, is_acting, is_place};

    #[test]
    fn names_say_which_variables_are_places() {
        for name in
            "DOCKER_CONFIG RIPGREP_CONFIG_PATH SCREENRC WGETRC npm_config_prefix APP_SETTINGS ANY_PLUGIN_DIR"
                .split(' ')
        {
            assert!(is_place(name), "{name}");
        }
        for name in "NODE_ENV SRC SRC_DIR BUILD_DIR CARGO_TARGET_DIR TMPDIR CDPATH C_INCLUDE_PATH AWS_PROFILE EDITOR WEB_ROOT".split(' ') {
            assert!(!is_place(name), "{name}");
        }
    }

    #[test]
    fn only_what_programs_run_or_load_by_themselves_acts() {
        #[rustfmt::skip]
        let acting = [
            "BASH_ENV", "ENV", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "RUBYLIB", "PERL5LIB", "PERL5OPT",
            "LD_PRELOAD", "LD_LIBRARY_PATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "GIT_PAGER", "GIT_CONFIG_GLOBAL", "EDITOR", "VISUAL",
            "PAGER", "LESSOPEN", "MANPAGER", "BROWSER", "PROMPT_COMMAND", "ZDOTDIR", "GCONV_PATH", "RUSTC_WRAPPER", "GOFLAGS", "MAKEFLAGS",
            "XDG_CONFIG_HOME", "BASH_FUNC_ls%%", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "PS1", "VIMINIT", "any_shell", "AWS_SHARED_CREDENTIALS_FILE", "IPYTHONDIR", "RUSTUP_TOOLCHAIN",
        ];
        for name in acting {
            assert!(is_acting(name), "{name}");
        }
        for name in "CFLAGS PYTEST_ADDOPTS MAVEN_OPTS BUNDLE_GEMFILE MAIN ANY NODE_ENV APP_ROOT DATA_DIR FLASK_APP PATH".split(' ') {
            assert!(!is_acting(name), "{name}");
        }
    }

    #[test]
    fn of_options_only_those_count_that_load() {
        for (name, value, expected) in [
            ("CFLAGS", "-O2 -I./include -Llib -DX=src/x", None),
            ("CFLAGS", "-O2 -B./gcc -fplugin=x.so", Some("./gcc x.so")),
            ("RUSTFLAGS", "-L lib -C linker=./ld -Clinker=tools/ld", Some("./ld tools/ld")),
            ("PYTEST_ADDOPTS", "--ignore=tests/slow -q", None),
            ("MAVEN_OPTS", "-Xmx1g -Dx=src/main", None),
            (
                "MAVEN_OPTS",
                "-javaagent:tools/x.jar=src -cp lib:classes -XX:OnError=./x",
                Some("tools/x.jar=src lib:classes ./x"),
            ),
            ("SBT_OPTS", "@tools/options", Some("tools/options")),
            ("MAIN", "main.py", None),
            ("NOTE", "-javaagent:x.jar", None),
            ("EDITOR", "sh tools/x", Some("sh tools/x")),
        ] {
            assert_eq!(acting_part(name, value).as_deref(), expected, "{name}={value}");
        }
    }
}
