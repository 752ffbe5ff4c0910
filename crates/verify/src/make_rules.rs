//! Targets of `make` that are there before it runs. If a file or directory with the name of one that acts instead of making a file appears
//! with the work, make calls the target up to date and does nothing, which a check takes for success. If a file is there that it would
//! build, it may leave that one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use autonoe_core::check::Check;
use autonoe_files::read_text;
use tokio_util::sync::CancellationToken;

/// The most makefiles that are read, and the bytes of each.
const MAX_MAKEFILES: usize = 100;
const MAX_BYTES: u64 = 256 * 1024;

/// How far variables are followed, and the bytes of a text in which none are followed any more. The makefile may be an agent's.
const MAX_DEPTH: usize = 3;
const MAX_EXPANDED: usize = 4096;

/// The bytes of a value.
const MAX_VALUE: usize = 256;

/// What is in the way of the targets that a check has made, below `root`, where it ran. `files` are the files there.
pub(crate) fn in_the_way_of_make(
    root: &Path,
    check: &Check,
    files: impl Iterator<Item = PathBuf>,
    cancel: &CancellationToken,
) -> BTreeSet<String> {
    let Some(named) = make_targets(check) else { return BTreeSet::new() };
    let mut found = BTreeSet::new();
    let mut known = BTreeSet::new();
    let files: Vec<PathBuf> = files.collect();
    let others = read_by_make(root, check, &files, cancel);
    for (directory, rules) in makefiles(files.into_iter(), &others, cancel) {
        // One that another reads, or a command names, makes its targets where make is.
        let above = directory.ancestors().take_while(|above| above.starts_with(root));
        let places: Vec<&Path> = match rules.is_read_elsewhere {
            true => above.collect(),
            false => above.take(1).collect(),
        };
        let acting = rules.acting().into_iter();
        found.extend(acting.flat_map(|target| places.iter().map(move |place| place.join(target))));
        known.extend(rules.rules.into_iter().flat_map(|rule| rule.targets));
    }
    // A makefile that is not known to be one may say what they do.
    found.extend(named.difference(&known).map(|target| root.join(target)));
    let relative = |path: PathBuf| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned());
    found.into_iter().filter(|path| path.symlink_metadata().is_ok()).filter_map(relative).collect()
}

/// The files below `root` that `make` builds, if a check runs it.
pub(crate) fn built_by_make(
    root: &Path,
    check: &Check,
    files: impl Iterator<Item = PathBuf>,
    cancel: &CancellationToken,
) -> BTreeSet<String> {
    if make_targets(check).is_none() {
        return BTreeSet::new();
    }
    let files: Vec<PathBuf> = files.collect();
    let mut built = BTreeSet::new();
    let others = read_by_make(root, check, &files, cancel);
    let is_remade = |file: &&PathBuf| {
        let made = remade_by_make(name_of(file));
        let is_of_rcs = file.parent().is_some_and(|parent| parent.ends_with("RCS"));
        made.or_else(|| is_of_rcs.then(|| name_of(file)))
            .is_some_and(|name| is_makefile_name(name) || others.contains(name))
    };
    built.extend(files.iter().filter(is_remade).cloned());
    for (directory, rules) in makefiles(files.iter().cloned(), &HashSet::new(), cancel) {
        built.extend(rules.built().into_iter().map(|target| directory.join(target)));
        let by_itself =
            rules.left_to_make().into_iter().flat_map(|name| made_by_itself(&directory.join(name)));
        built.extend(by_itself);
        let is_matched = |file: &&PathBuf| {
            let below = file.strip_prefix(&directory).ok().and_then(|below| below.to_str());
            below.is_some_and(|below| rules.patterns.iter().any(|pattern| matches(pattern, below)))
        };
        built.extend(files.iter().filter(is_matched).cloned());
    }
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir());
    let relative = |path: PathBuf| {
        let below: PathBuf = path.strip_prefix(root).ok()?.components().collect();
        below.to_str().map(str::to_owned)
    };
    built.into_iter().filter(is_file).filter_map(relative).collect()
}

/// Endings of the files from which make builds a program by rules of its own; from the first of them, also its parts (`.o`).
const SOURCES: [&str; 15] = ["C", "F", "S", "c", "cc", "cpp", "f", "l", "m", "mod", "p", "r", "s", "o", "sh"];
const PARTS: usize = 13;

/// What make would build by a rule of its own, or leave as it is; and if it has more than one source, these: it takes one of them.
fn made_by_itself(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (stem, endings) = match name.strip_suffix(".o") {
        Some(stem) => (stem, &SOURCES[..PARTS]),
        None => (name, &SOURCES[..]),
    };
    let sources = endings.iter().map(|ending| path.with_file_name(format!("{stem}.{ending}")));
    let sources: Vec<PathBuf> = sources.filter(|source| source.is_file()).collect();
    match sources.len() {
        0 => Vec::new(),
        1 => vec![path.to_owned()],
        _ => sources.into_iter().chain([path.to_owned()]).collect(),
    }
}

/// Whether a path is one of those that a pattern such as `build/%.o` makes.
fn matches(pattern: &str, path: &str) -> bool {
    let parts = pattern.split_once('%');
    parts.is_some_and(|(start, end)| {
        path.len() > start.len() + end.len() && path.starts_with(start) && path.ends_with(end)
    })
}

/// The rules of makefiles, each with its directory.
fn makefiles(
    files: impl Iterator<Item = PathBuf>,
    others: &HashSet<String>,
    cancel: &CancellationToken,
) -> impl Iterator<Item = (PathBuf, MakeRules)> {
    let makefiles = files.filter(|file| is_makefile(file) || others.contains(name_of(file)));
    makefiles.take(MAX_MAKEFILES).take_while(|_| !cancel.is_cancelled()).filter_map(|makefile| {
        let text = read_text(&makefile, MAX_BYTES).ok().flatten()?;
        let is_read_elsewhere = others.contains(name_of(&makefile));
        Some((makefile.parent()?.to_owned(), MakeRules { is_read_elsewhere, ..MakeRules::parse(&text) }))
    })
}

/// Names of the files that commands of a check have make read (`-f`), or other makefiles (`include`).
fn read_by_make(
    root: &Path,
    check: &Check,
    files: &[PathBuf],
    cancel: &CancellationToken,
) -> HashSet<String> {
    let mut found = HashSet::new();
    let makefiles = files.iter().filter(|file| is_makefile(file) && file.starts_with(root));
    let makefiles = makefiles.take(MAX_MAKEFILES).take_while(|_| !cancel.is_cancelled());
    let texts = makefiles.filter_map(|makefile| read_text(makefile, MAX_BYTES).ok().flatten());
    for text in texts.chain(check.setup.iter().cloned()).chain([check.command.clone()]) {
        for line in text.lines() {
            let words = line.split(|c: char| c.is_whitespace() || "\"';&|=".contains(c));
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let is_include =
                words.first().is_some_and(|word| ["include", "-include", "sinclude"].contains(word));
            let named =
                words.windows(2).filter(|pair| is_include || is_file_option(pair[0])).map(|pair| pair[1]);
            let attached = words.iter().filter_map(|word| word.strip_prefix("-f"));
            let names = named.chain(attached).map(|path| path.rsplit('/').next().unwrap_or(path));
            found.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
        }
    }
    found
}

fn is_file_option(word: &str) -> bool {
    ["-f", "--file", "--makefile"].contains(&word)
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_makefile(path: &Path) -> bool {
    is_makefile_name(name_of(path))
}

pub(crate) fn is_makefile_name(name: &str) -> bool {
    ["Makefile", "makefile", "GNUmakefile"].contains(&name) || name.ends_with(".mk")
}

/// The name of what make makes of a file by rules of its own that it also uses for makefiles: of a script, and of files of RCS and SCCS.
pub(crate) fn remade_by_make(name: &str) -> Option<&str> {
    name.strip_suffix(",v").or_else(|| name.strip_prefix("s.")).or_else(|| name.strip_suffix(".sh"))
}

/// What a check has `make` make; `None` if it does not start it.
fn make_targets(check: &Check) -> Option<BTreeSet<String>> {
    // Also in a text for another shell (`sh -c 'make unit'`).
    let is_make = |word: &&str| {
        let word = word.trim_start_matches(['"', '\'']);
        ["make", "gmake"].contains(&word.rsplit('/').next().unwrap_or(word))
    };
    let mut found = None;
    let commands = check.setup.iter().chain([&check.command]);
    for part in commands.flat_map(|command| command.split([';', '&', '|', '\n', '(', ')'])) {
        let words: Vec<&str> = part.split_whitespace().skip_while(|word| !is_make(word)).collect();
        if !words.is_empty() {
            let follows_option = |pair: &&[&str]| ["-C", "-f", "-I", "-W", "-o"].contains(&pair[0]);
            let targets = words.windows(2).filter(|pair| !follows_option(pair)).map(|pair| pair[1]);
            let targets =
                targets.filter(|word| !word.starts_with('-') && !word.contains(['=', '/', '<', '>']));
            let targets = targets.map(|word| word.trim_matches(['"', '\'']).to_owned());
            found.get_or_insert_with(BTreeSet::new).extend(targets);
        }
    }
    found
}

/// The rules of a makefile, as far as they can be read without running it.
#[derive(Default)]
struct MakeRules {
    rules: Vec<MakeRule>,
    /// Targets of rules for many files, such as `build/%`; none for any file (`%`).
    patterns: Vec<String>,
    /// Targets that are not files, whatever is there.
    phony: HashSet<String>,
    /// Whether a command or another makefile names it, so that its targets are not beside it.
    is_read_elsewhere: bool,
}

struct MakeRule {
    targets: Vec<String>,
    needs: Vec<String>,
    recipe: String,
}

impl MakeRules {
    fn parse(text: &str) -> Self {
        let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
        let variables = variables(&text);
        let mut read = Self::default();
        for line in text.lines() {
            if let Some(command) = line.strip_prefix('\t') {
                if let Some(rule) = read.rules.last_mut() {
                    rule.recipe.push_str(&expanded(command, &variables));
                    rule.recipe.push('\n');
                }
                continue;
            }
            let Some((left, right)) = line.split('#').next().and_then(|line| line.split_once(':')) else {
                continue;
            };
            if left.contains('=') || right.trim_start_matches(':').starts_with('=') {
                continue;
            }
            let (left, right) = (&expanded(left, &variables), &expanded(right, &variables));
            let names = || left.split_whitespace().map(str::to_owned);
            let (needs, command) =
                right.trim_start_matches(':').split_once(';').unwrap_or((right.as_str(), ""));
            if names().any(|name| name == ".PHONY") {
                read.phony.extend(needs.split_whitespace().map(str::to_owned));
            }
            read.patterns.extend(names().filter(|name| name.contains('%') && name != "%"));
            let targets = names().filter(|name| !name.starts_with('.') && !name.contains(['%', '$']));
            let needs = needs.split_whitespace().filter(|name| !name.contains(['%', '$', '|']));
            let needs = needs.map(|name| name.trim_start_matches("./").to_owned()).collect();
            read.rules.push(MakeRule { targets: targets.collect(), needs, recipe: format!("{command}\n") });
        }
        read
    }

    /// The targets whose commands do not name them, and so make no file of that name.
    fn acting(&self) -> BTreeSet<&str> {
        let (mut acting, mut made) = (BTreeSet::new(), HashSet::new());
        for MakeRule { targets, recipe, .. } in &self.rules {
            let targets = || targets.iter().map(String::as_str);
            if ["$@", "$(@", "${@"].iter().any(|name| recipe.contains(name)) {
                made.extend(targets());
            } else if !recipe.trim().is_empty() {
                let is_apart = |c: char| c.is_whitespace() || "'\"`;&|()<>=,".contains(c);
                let words = recipe.split(is_apart).map(|word| word.trim_start_matches("./"));
                let words: HashSet<&str> = words.collect();
                made.extend(targets().filter(|target| words.contains(target)));
                acting.extend(targets());
            }
        }
        acting.retain(|target| !made.contains(target) && !self.phony.contains(*target));
        acting
    }

    /// What is needed or named and no command makes: a rule of make's own may.
    fn left_to_make(&self) -> BTreeSet<&str> {
        let with_commands = |rule: &&MakeRule| !rule.recipe.trim().is_empty();
        let made = self.rules.iter().filter(with_commands).flat_map(|rule| &rule.targets);
        let made: HashSet<&str> = made.map(String::as_str).collect();
        let named = self.rules.iter().flat_map(|rule| rule.needs.iter().chain(&rule.targets));
        named.map(String::as_str).filter(|name| !made.contains(name) && !self.phony.contains(*name)).collect()
    }

    /// The targets that are files which their commands, or a rule of make's own, make.
    fn built(&self) -> BTreeSet<&str> {
        let acting = self.acting();
        let targets = self.rules.iter().flat_map(|rule| &rule.targets).map(String::as_str);
        targets.filter(|target| !acting.contains(target) && !self.phony.contains(*target)).collect()
    }
}

/// The variables that a makefile sets, with all of their values.
fn variables(text: &str) -> HashMap<&str, String> {
    let mut found: HashMap<&str, String> = HashMap::new();
    let lines = text.lines().filter(|line| !line.starts_with('\t'));
    for (name, value) in lines.filter_map(|line| line.split('#').next()?.split_once('=')) {
        let (name, value) = (name.trim_end_matches([':', '?', '+', '!', ' ']).trim(), value.trim());
        let values = found.entry(name).or_default();
        if values.len() + value.len() <= MAX_VALUE {
            values.push(' ');
            values.push_str(value);
        }
    }
    found.values_mut().for_each(|values| *values = values.trim().to_owned());
    found
}

/// A text with the values of variables in place of their names, as far as one names another in turn.
fn expanded(text: &str, variables: &HashMap<&str, String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_DEPTH {
        if text.len() > MAX_EXPANDED {
            break;
        }
        match expanded_once(&text, variables) {
            Some(next) => text = next,
            None => break,
        }
    }
    text
}

/// `None` if the text names no variable that is known.
fn expanded_once(text: &str, variables: &HashMap<&str, String>) -> Option<String> {
    let (mut done, mut rest, mut found) = (String::new(), text, false);
    while let Some(at) = rest.find("$(").into_iter().chain(rest.find("${")).min() {
        let (before, named) = rest.split_at(at);
        let close = if named.starts_with("$(") { ')' } else { '}' };
        let end = named.find(close)?;
        done.push_str(before);
        match variables.get(&named[2..end]) {
            Some(value) => {
                done.push_str(value);
                found = true;
            }
            None => done.push_str(&named[..=end]),
        }
        rest = &named[end + 1..];
    }
    done.push_str(rest);
    found.then_some(done)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use autonoe_core::check::{Check, CheckOrigin};
    use tempfile::TempDir;
    use tokio_util::sync::CancellationToken;

    use super::{MakeRules, built_by_make, in_the_way_of_make, make_targets};

    #[test]
    fn targets_that_act_are_told_from_those_that_make_files() {
        let text = "CC := cc\nall: app test\n.PHONY: lint\nlint:\n\tlint .\ntest: app \\\n  more\n\tsh tests/run.sh\n\
            check unit:: ; ./unit.sh\napp: app.c\n\t$(CC) -o app app.c\nlib.o: lib.c\n\tcc -c $< -o $@\n%.o: %.c\n\tx\n";
        let rules = MakeRules::parse(text);
        assert_eq!(Vec::from_iter(rules.acting()), ["check", "test", "unit"]);
        let text = "UNITS = a b\nTESTS := $(UNITS) c\nOBJECT=x.o\ntest: $(TESTS)\n${TESTS}:\n\tsh run.sh\n\
            $(OBJECT): x.c\n\tcc -o $(OBJECT) x.c\nA = $(B)\nB = $(A)$(A)\n$(A):\n\tx\n";
        let rules = MakeRules::parse(text);
        assert_eq!(Vec::from_iter(rules.acting()), ["a", "b", "c"]);
    }

    #[test]
    fn values_that_are_added_count() {
        let rules = MakeRules::parse("T = a\nT += b\n$(T) $(unknown $(T)): x\n\tsh run.sh\n${T\n");
        assert_eq!(Vec::from_iter(rules.acting()), ["a", "b"]);
    }

    #[test]
    fn many_targets_with_many_commands_are_read() {
        let targets: String = (0..10_000).map(|number| format!("t{number} ")).collect();
        let rules = MakeRules::parse(&format!("{targets}:\n{}", "\tx $(y)\n".repeat(10_000)));
        assert_eq!(rules.acting().len(), 10_000);
        assert_eq!(rules.rules[0].recipe.len(), 7 * 10_000 + 1);
    }

    #[test]
    fn what_is_in_the_way_of_other_makefiles_is_found_where_make_is() {
        let directory = TempDir::new().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("tests")).unwrap();
        for (path, text) in [
            ("Makefile", "include tests/rules.mk\nall:\n\t$(MAKE) -f tests/more unit\n"),
            ("tests/rules.mk", "check:\n\tsh run.sh\n"),
            ("tests/more", "unit:\n\tsh run.sh\n"),
            ("tests/suite", "verify:\n\tsh run.sh\n"),
            ("tests/other.mk", "other:\n\tsh run.sh\n"),
            ("check", ""),
            ("unit", ""),
            ("verify", ""),
            ("other", ""),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        let look = |command: &str| {
            let check = Check::of_command(command, CheckOrigin::User);
            let files = ["Makefile", "tests/rules.mk", "tests/more", "tests/suite", "tests/other.mk"];
            let files = files.iter().map(|name| root.join(name));
            Vec::from_iter(in_the_way_of_make(root, &check, files, &CancellationToken::new()))
        };
        assert_eq!(look("make all"), ["check", "unit"]);
        assert_eq!(look("sh -c 'make check'"), ["check", "unit"]);
        assert_eq!(look("make -f tests/suite verify"), ["check", "unit", "verify"]);
    }

    #[test]
    fn what_is_in_the_way_is_found_in_every_directory() {
        let directory = TempDir::new().unwrap();
        let root = directory.path();
        let write = |name: &str, text: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        };
        let makefiles = ["Makefile", "sub/Makefile"];
        write("Makefile", "check:\n\tsh run.sh\napp: app.c\n\tcc -o app app.c\n");
        write("sub/Makefile", "test:\n\tsh run.sh\n");
        for name in ["check/x", "app", "sub/test", "made"] {
            write(name, "");
        }
        let look = |command: &str| {
            let check = Check::of_command(command, CheckOrigin::User);
            let files = makefiles.iter().map(|name| root.join(name));
            let found = in_the_way_of_make(root, &check, files, &CancellationToken::new());
            found.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(look("make && make -C sub test app"), ["check", "sub/test"]);
        assert_eq!(look("make made"), ["check", "made", "sub/test"]);
        assert_eq!(look("sh run.sh"), Vec::<String>::new());
    }

    #[test]
    fn files_that_make_would_build_are_found() {
        let directory = TempDir::new().unwrap();
        let root = directory.path();
        let makefile = "B = build\nall: $(B)/app\n.PHONY: clean\nclean:\n\trm -f clean\n$(B)/app: app.c\n\tcc -o $@ app.c\n\
            lib.o: lib.c\nbin/%: %.c\n\tcc -o $@ $<\n%: %.sh\n\tcp $< $@\ndocs:\n\tdoc docs\ntest:\n\tsh run.sh\n";
        fs::write(root.join("Makefile"), makefile).unwrap();
        fs::create_dir_all(root.join("build")).unwrap();
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        let parts = "suite: check-all part.o\n\t./check-all\ncheck-all:\n";
        fs::write(root.join("Makefile"), format!("{makefile}{parts}")).unwrap();
        let names = ["build/app", "bin/tool", "lib.o", "clean", "test", "app.c"];
        for name in names.iter().chain(&["check-all", "check-all.sh", "part.c", "part.o"]) {
            fs::write(root.join(name), "").unwrap();
        }
        let look = |command: &str| {
            let check = Check::of_command(command, CheckOrigin::User);
            let files = ["Makefile", "app.c", "bin/tool"].map(|name| root.join(name)).into_iter();
            built_by_make(root, &check, files, &CancellationToken::new())
        };
        let built = ["bin/tool", "build/app", "check-all", "lib.o", "part.o"];
        assert_eq!(Vec::from_iter(look("make && build/app")), built);
        fs::write(root.join("check-all.c"), "").unwrap();
        let sources = look("make").into_iter().filter(|path| path.starts_with("check-all."));
        assert_eq!(Vec::from_iter(sources), ["check-all.c", "check-all.sh"], "make takes one of them");
        assert!(look("build/app").is_empty());
    }

    #[test]
    fn files_of_which_make_makes_makefiles_are_found() {
        let directory = TempDir::new().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("RCS")).unwrap();
        let names = ["GNUmakefile.sh", "Makefile,v", "RCS/Makefile", "judge.mk.sh", "s.Makefile", "s.rules"];
        for name in names.iter().chain(&["Makefile", "build.sh", "s.x", "Makefile.in"]) {
            fs::write(root.join(name), "").unwrap();
        }
        let look = |command: &str| {
            let check = Check::of_command(command, CheckOrigin::User);
            let files = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
            let files = files.chain([root.join("RCS/Makefile")]);
            Vec::from_iter(built_by_make(root, &check, files, &CancellationToken::new()))
        };
        assert_eq!(look("make -f rules test"), names);
        assert_eq!(look("make"), names[..5]);
        assert_eq!(look("sh build.sh"), <[&str; 0]>::default());
    }

    #[test]
    fn targets_in_commands_are_known() {
        let check = Check {
            setup: vec!["/usr/bin/make -j4 deps V=1".to_owned()],
            ..Check::of_command("cd a && make 'test' lint; makeup x", CheckOrigin::User)
        };
        let targets = make_targets(&check).unwrap();
        assert_eq!(targets.into_iter().collect::<Vec<_>>(), ["deps", "lint", "test"]);
        assert_eq!(make_targets(&Check::of_command("remake x", CheckOrigin::User)), None);
    }
}
