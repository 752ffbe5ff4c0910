//! Modules that programs load without the user's naming them: those of a language's standard library, and those that an interpreter loads when
//! it starts. One of the project comes first where a variable or an option says so.

use std::path::Path;

use autonoe_core::python_modules::is_python_module;

/// Modules that installed packages have Python load when it starts, beside those of the standard library.
#[rustfmt::skip]
const MORE_OF_PYTHON: &[&str] = &[
    "_distutils_hack", "_distutils_system_mod", "_virtualenv", "apport_python_hook", "coverage", "pip", "pkg_resources",
    "setuptools", "sitecustomize", "usercustomize",
];

/// Modules that every Python loads when it starts.
const START_OF_PYTHON: &[&str] = &[
    "_collections_abc",
    "_distutils_hack",
    "_sitebuiltins",
    "_virtualenv",
    "abc",
    "apport_python_hook",
    "codecs",
    "encodings",
    "genericpath",
    "io",
    "os",
    "posixpath",
    "site",
    "sitecustomize",
    "stat",
    "usercustomize",
    "zipimport",
];

/// The beginning of modules that find a package in its sources; the package and its version follow.
const EDITABLE: &str = "__editable__";

const PYTHON_ENDS: &[&str] = &[".py", ".pyc", ".so", ".pyd"];

/// Modules that almost every program loads, and those of git's own programs.
#[rustfmt::skip]
const PERL_MODULES: &[&str] = &[
    "AutoLoader", "B", "Carp", "Carp/Heavy", "Class/Struct", "Config", "Cwd", "Data/Dumper", "Digest/MD5", "Digest/SHA", "DynaLoader",
    "Encode", "Encode/Alias", "Encode/Config", "Encode/Encoding", "English", "Env", "Errno", "Error", "Exporter", "Exporter/Heavy",
    "Fcntl", "File/Basename", "File/Compare", "File/Copy", "File/Find", "File/Glob", "File/Path", "File/Spec", "File/Spec/Functions",
    "File/Spec/Unix", "File/Temp", "File/stat", "FileHandle", "FindBin", "Getopt/Long", "Getopt/Std", "Git", "Git/I18N", "Git/IndexInfo",
    "Git/LoadCPAN", "Git/LoadCPAN/Error", "Git/LoadCPAN/Mail/Address", "Git/Packet", "Hash/Util", "I18N/Langinfo", "IO", "IO/File",
    "IO/Handle", "IO/Pipe", "IO/Poll", "IO/Seekable", "IO/Select", "IO/Socket", "IO/Socket/INET", "IO/Socket/IP", "IO/Socket/UNIX",
    "IPC/Open2", "IPC/Open3", "JSON/PP", "List/Util", "MIME/Base64", "MIME/QuotedPrint", "Mail/Address", "Math/BigInt", "Net/Cmd",
    "Net/Config", "Net/Domain", "Net/SMTP", "POSIX", "Pod/Usage", "Safe", "Scalar/Util", "SelectSaver", "Socket", "Storable", "Symbol",
    "Sys/Hostname", "Term/ANSIColor", "Term/ReadLine", "Test/More", "Text/Abbrev", "Text/Balanced", "Text/ParseWords", "Text/Tabs",
    "Text/Wrap", "Tie/Hash", "Time/HiRes", "Time/Local", "Time/Piece", "Unicode/Normalize", "XSLoader", "attributes", "autodie",
    "autouse", "base", "bigint", "builtin", "bytes", "charnames", "constant", "diagnostics", "encoding", "experimental", "feature",
    "fields", "filetest", "if", "integer", "less", "lib", "locale", "mro", "open", "ops", "overload", "overloading", "parent", "re",
    "sigtrap", "sort", "stable", "strict", "subs", "threads", "threads/shared", "utf8", "vars", "version", "version/regex", "vmsish",
    "warnings", "warnings/register",
];

/// A compiled module comes before the source beside it.
const PERL_ENDS: &[&str] = &[".pm", ".pmc"];

const PERL_FILES: &[&str] = &[
    "Config_git.pl",
    "Config_heavy.pl",
    "bytes_heavy.pl",
    "perl5db.pl",
    "sitecustomize.pl",
    "utf8_heavy.pl",
];

/// What every Ruby loads when it starts, and what almost every program loads.
#[rustfmt::skip]
const RUBY_MODULES: &[&str] = &[
    "English", "abbrev", "base64", "benchmark", "bigdecimal", "bundled_gems", "bundler", "cgi", "cgi/escape", "cgi/util", "csv", "date",
    "date_core", "delegate", "did_you_mean", "digest", "digest/md5", "digest/sha1", "digest/sha2", "drb", "erb", "erb/util",
    "error_highlight", "etc", "expect", "fcntl", "fiddle", "fileutils", "find", "forwardable", "getoptlong", "io/console", "io/wait", "irb",
    "json", "logger", "minitest", "monitor", "net/http", "net/protocol", "observer", "open-uri", "open3", "openssl", "optparse", "ostruct",
    "pathname", "pp", "prettyprint", "prism", "pstore", "psych", "rake", "rbconfig", "rdoc", "readline", "reline", "resolv", "ripper",
    "rubygems", "securerandom", "set", "shellwords", "singleton", "socket", "stringio", "strscan", "syntax_suggest", "tempfile", "thread",
    "time", "timeout", "tmpdir", "tsort", "un", "unicode_normalize", "uri", "weakref", "yaml", "zlib",
];

const RUBY_ENDS: &[&str] = &[".rb", ".so", ".bundle"];

/// Directories of which parts are loaded when Ruby or Perl start.
const RUBY_DIRECTORIES: &[&str] =
    &["bundler", "did_you_mean", "enc", "error_highlight", "rubygems", "syntax_suggest"];
const PERL_DIRECTORIES: &[&str] = &["auto", "unicore"];

/// Packages of which most programs in Lua load some, among them its package manager.
const LUA_MODULES: &[&str] = &[
    "argparse", "busted", "cjson", "compat53", "inspect", "lfs", "lpeg", "ltn12", "luacheck", "luarocks",
    "luassert", "mime", "pl", "socket", "ssl",
];

const LUA_ENDS: &[&str] = &[".lua", ".so"];

/// Whether Python loads a file from a directory that it searches; the path is that below the directory.
pub(crate) fn is_loaded_by_python(path: &str) -> bool {
    let is_module =
        |name: &str| is_python_module(name) || MORE_OF_PYTHON.contains(&name) || name.starts_with(EDITABLE);
    python_module(path).is_some_and(is_module)
}

/// As [`is_loaded_by_python`], whatever a program imports.
pub(crate) fn starts_python(path: &str) -> bool {
    python_module(path).is_some_and(|module| START_OF_PYTHON.contains(&module))
}

/// The module or package that a file belongs to. A compiled one has the version in its name too.
fn python_module(path: &str) -> Option<&str> {
    let module = match path.split_once('/') {
        None => path.split('.').next(),
        Some((package, file)) => Some(package).filter(|_| !file.contains('/')),
    };
    module.filter(|_| PYTHON_ENDS.iter().any(|end| path.ends_with(end)))
}

/// The files that a module such as `package.module` and its packages may have.
pub(crate) fn files_of_python_module(module: &str) -> Vec<String> {
    let path = module.replace('.', "/");
    let packages = Path::new(&path).ancestors().filter_map(Path::to_str).filter(|part| !part.is_empty());
    let stems = packages.flat_map(|part| [part.to_owned(), format!("{part}/__init__")]);
    stems.flat_map(|stem| PYTHON_ENDS.iter().map(move |end| format!("{stem}{end}"))).collect()
}

/// As [`is_loaded_by_python`]. Below a directory there may be those for versions and platforms.
pub(crate) fn is_loaded_by_perl(path: &str) -> bool {
    let mut path = path;
    while let Some((part, rest)) = path.split_once('/') {
        if !part.starts_with(|c: char| c.is_ascii_digit()) && !part.contains('-') {
            break;
        }
        path = rest;
    }
    is_one_of(path, PERL_MODULES, PERL_ENDS) || PERL_FILES.contains(&path) || is_below(path, PERL_DIRECTORIES)
}

/// As [`is_loaded_by_python`].
pub(crate) fn is_loaded_by_ruby(path: &str) -> bool {
    is_one_of(path, RUBY_MODULES, RUBY_ENDS) || is_below(path, RUBY_DIRECTORIES)
}

/// As [`is_loaded_by_python`].
pub(crate) fn is_loaded_by_lua(path: &str) -> bool {
    let is_code = LUA_ENDS.iter().any(|end| path.ends_with(end));
    is_one_of(path, LUA_MODULES, LUA_ENDS) || is_code && is_below(path, LUA_MODULES)
}

/// Whether one of these languages could load something through a link with this path below a directory that it searches.
pub(crate) fn is_loaded_as_directory(link: &str) -> bool {
    let is_above = |modules: &[&str]| {
        modules.iter().filter_map(|module| module.strip_prefix(link)).any(|rest| rest.starts_with('/'))
    };
    is_loaded_by_python(&format!("{link}/__init__.py"))
        || is_above(PERL_MODULES)
        || is_above(RUBY_MODULES)
        || [PERL_DIRECTORIES, RUBY_DIRECTORIES, LUA_MODULES].iter().any(|names| names.contains(&link))
}

fn is_one_of(path: &str, modules: &[&str], ends: &[&str]) -> bool {
    ends.iter().filter_map(|end| path.strip_suffix(end)).any(|module| modules.contains(&module))
}

fn is_below(path: &str, directories: &[&str]) -> bool {
    path.split_once('/').is_some_and(|(directory, _)| directories.contains(&directory))
}

#[cfg(test)]
mod tests {
    use super::{is_loaded_by_lua, is_loaded_by_perl, is_loaded_by_python, is_loaded_by_ruby};

    #[test]
    fn modules_that_programs_load_by_themselves_are_known() {
        type IsLoaded = fn(&str) -> bool;
        for (is_loaded, loaded, others) in [
            (
                is_loaded_by_python as IsLoaded,
                "sitecustomize.py sitecustomize.pyc os.so json.cpython-313-x86_64-linux-gnu.so json/__init__.py \
                 encodings/utf_8.py _weakrefset.py _virtualenv.py apport_python_hook.py _distutils_hack/__init__.py \
                 _sysconfigdata__linux_x86_64-linux-gnu.py __editable___a_1_0_finder.py pip/__main__.py zipimport.pyd",
                "app.py json.md json json/data.csv json/a/b.py a/json.py jsonx.py _version.py __init__.py",
            ),
            (
                is_loaded_by_perl,
                "strict.pm strict.pmc Git.pm Error.pm List/Util.pm 5.36.0/x86_64-linux-gnu/List/Util.pm \
                 x86_64-linux-gnu-thread-multi/POSIX.pm auto/List/Util/Util.so sitecustomize.pl unicore/Name.pl",
                "App.pm lib/strict.pm List/Own.pm strict.t Git.pod",
            ),
            (
                is_loaded_by_ruby,
                "rubygems.rb json.rb net/http.rb stringio.so bundler/setup.rb enc/encdb.so",
                "app.rb json.md lib/json.rb own/http.rb",
            ),
            (
                is_loaded_by_lua,
                "lfs.lua lfs.so luarocks/core/cfg.lua socket/init.lua",
                "main.lua pl/README.md own/x.lua",
            ),
        ] {
            for path in loaded.split_whitespace() {
                assert!(is_loaded(path), "{path}");
            }
            for path in others.split_whitespace() {
                assert!(!is_loaded(path), "{path}");
            }
        }
    }
}
