//! Files that a script loads by the words of its language: neighbours in Python and JavaScript, modules of Perl and Ruby.

use std::path::Path;

use crate::hook_text::{completed, plain};
use crate::project_files::is_in;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    JavaScript,
    Perl,
    Ruby,
}

/// The most modules of a text that are looked for.
const MAX_MODULES: usize = 200;

/// The files that a script may load, whether they exist or not. `inside` is its own path in the working tree, and `searched` are the
/// directories that Perl searches.
pub(crate) fn imported_files(text: &str, inside: &str, top: &Path, searched: &[String]) -> Vec<String> {
    let directory = inside.rsplit_once('/').unwrap_or_default().0;
    let Some(language) = language(text, inside) else { return Vec::new() };
    let found: Vec<String> = match language {
        Language::Python => {
            let roots = [directory.to_owned(), package_root(directory, top)];
            let modules: Vec<String> = python_modules(text).take(MAX_MODULES).collect();
            let paths = modules.iter().flat_map(|module| match module.strip_prefix('.') {
                Some(relative) => {
                    let above = "../".repeat(relative.len() - relative.trim_start_matches('.').len());
                    let below = relative.trim_start_matches('.').replace('.', "/");
                    vec![format!("{directory}/{above}{below}")]
                }
                None => roots.iter().map(|root| format!("{root}/{}", module.replace('.', "/"))).collect(),
            });
            paths.flat_map(|path| [format!("{path}.py"), format!("{path}/__init__.py")]).collect()
        }
        Language::JavaScript => {
            let paths = relative_strings(text).take(MAX_MODULES).map(|path| format!("{directory}/{path}"));
            paths.flat_map(|path| completed("node", &path).into_iter().chain([path])).collect()
        }
        Language::Perl => {
            let own = [directory.to_owned(), format!("{directory}/lib"), "lib".to_owned()];
            let modules: Vec<String> = perl_modules(text).take(MAX_MODULES).collect();
            let directories = searched.iter().chain(&own);
            directories
                .flat_map(|from| modules.iter().map(move |module| format!("{from}/{module}")))
                .collect()
        }
        Language::Ruby => {
            let paths = text.lines().filter_map(|line| line.trim().strip_prefix("require_relative"));
            let paths = paths.flat_map(|line| line.split(['\'', '"']).nth(1)).take(MAX_MODULES);
            paths.flat_map(|path| ["", ".rb"].map(|end| format!("{directory}/{path}{end}"))).collect()
        }
    };
    // A program imports most of the project; what lies elsewhere is not a part of the script.
    let is_neighbour = |path: &String| match language {
        Language::Python if directory.is_empty() => !path.contains('/'),
        Language::Python | Language::JavaScript | Language::Ruby => {
            directory.is_empty() || is_in(path, directory)
        }
        Language::Perl => !path.is_empty(),
    };
    found.iter().map(|path| plain(path)).filter(is_neighbour).collect()
}

fn language(text: &str, path: &str) -> Option<Language> {
    let end = Path::new(path).extension().and_then(|end| end.to_str()).unwrap_or_default();
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    match end {
        "py" => Some(Language::Python),
        "js" | "cjs" | "mjs" | "ts" | "cts" | "mts" => Some(Language::JavaScript),
        "pl" | "pm" => Some(Language::Perl),
        "rb" => Some(Language::Ruby),
        _ if first.contains("python") => Some(Language::Python),
        _ if first.contains("node") || first.contains("bun") => Some(Language::JavaScript),
        _ if first.contains("perl") => Some(Language::Perl),
        _ if first.contains("ruby") => Some(Language::Ruby),
        _ => None,
    }
}

/// The directory in which the package that a directory belongs to is found.
fn package_root(directory: &str, top: &Path) -> String {
    let is_package = |directory: &&str| top.join(directory).join("__init__.py").is_file();
    let mut root = directory;
    while let Some(package) = Some(root).filter(|root| !root.is_empty()).filter(is_package) {
        root = package.rsplit_once('/').unwrap_or_default().0;
    }
    root.to_owned()
}

/// The modules that lines such as `import a, b.c` and `from .a import b` name.
fn python_modules(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(str::trim).flat_map(|line| {
        if let Some(names) = line.strip_prefix("import ") {
            let names = names.split(',').filter_map(|name| name.split_whitespace().next());
            return names.map(str::to_owned).collect::<Vec<_>>();
        }
        let Some((module, names)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        else {
            return Vec::new();
        };
        let module = module.trim();
        let joint = if module.ends_with('.') { "" } else { "." };
        // What is imported may be a module of a package.
        let names = names.split(',').filter_map(|name| name.trim_matches(['(', ')', ' ']).split(' ').next());
        let names =
            names.filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty());
        let below = names.map(|name| format!("{module}{joint}{name}"));
        [module.to_owned()].into_iter().chain(below).collect()
    })
}

/// The strings in a text that are relative paths, as in `require('./x')` and `from "../x"`.
fn relative_strings(text: &str) -> impl Iterator<Item = &str> {
    let loads = |line: &&str| ["require", "import", "export", "from"].iter().any(|word| line.contains(word));
    let strings = text.lines().filter(loads).flat_map(|line| line.split(['\'', '"', '`']));
    strings.filter(|string| string.starts_with("./") || string.starts_with("../"))
}

/// The files of the modules that lines such as `use A::B;` and `require "a.pl";` name.
fn perl_modules(text: &str) -> impl Iterator<Item = String> {
    let words = text.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("use ").or_else(|| line.trim().strip_prefix("require "))?;
        rest.split([' ', ';', '(']).next()
    });
    words.map(|word| match word.trim_matches(['\'', '"']) {
        path if path.contains('.') => path.to_owned(),
        module => format!("{}.pm", module.replace("::", "/")),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::imported_files;

    #[test]
    fn neighbours_are_found_by_the_words_of_each_language() {
        for (inside, text, file) in [
            ("tools/a.py", "import os, helper", "tools/helper.py"),
            ("tools/a.py", "    import json as j", "tools/json.py"),
            ("tools/a.py", "from pkg.deep import x", "tools/pkg/deep/__init__.py"),
            ("tools/a.py", "from pkg import x, (y)", "tools/pkg/x.py"),
            ("tools/pkg/a.py", "from . import b", "tools/pkg/b.py"),
            ("tools/pkg/a.py", "from .deep.c import b", "tools/pkg/deep/c.py"),
            ("hook", "#!/usr/bin/env python3\nimport helper", "helper.py"),
            ("tools/a.js", "const x = require('./x')", "tools/x.js"),
            ("tools/a.mjs", "import x from \"./lib/x.mjs\"", "tools/lib/x.mjs"),
            ("tools/a.ts", "await import(`./y`)", "tools/y.ts"),
            ("tools/a.pl", "use Foo::Bar qw(x);", "own/Foo/Bar.pm"),
            ("tools/a.pl", "require 'b.pl';", "tools/b.pl"),
            ("tools/a.rb", "require_relative 'b'", "tools/b.rb"),
        ] {
            let found = imported_files(text, inside, Path::new("/nowhere"), &["own".to_owned()]);
            assert!(found.iter().any(|found| found == file), "{inside}: {text}: {found:?}");
        }
        for (inside, text) in [
            ("a.sh", "import x"),
            ("a.js", "x = './y'"),
            ("a.py", "important = 1"),
            ("t/a.js", "require('../src/x')"),
            ("t/a.py", "from ..b import c"),
        ] {
            assert_eq!(
                imported_files(text, inside, Path::new("/nowhere"), &[]),
                Vec::<String>::new(),
                "{text}"
            );
        }
    }
}
