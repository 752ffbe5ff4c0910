//! Targets of `make` that act instead of making a file. If a file or directory of that name appears with the work, make calls the target up
//! to date and does nothing, which a check takes for success.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use autonoe_core::check::Check;
use autonoe_files::read_text;
use tokio_util::sync::CancellationToken;

/// The most makefiles that are read, and the bytes of each.
const MAX_MAKEFILES: usize = 100;
const MAX_BYTES: u64 = 256 * 1024;

/// How far variables are followed, and the bytes of a text in which none are followed any more.
const MAX_DEPTH: usize = 3;
const MAX_EXPANDED: usize = 4096;

/// The most variables that are known, and the bytes of a value. The makefile may be an agent's.
const MAX_VARIABLES: usize = 200;
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
    let makefiles = files.filter(|file| is_makefile(file)).take(MAX_MAKEFILES);
    for makefile in makefiles.take_while(|_| !cancel.is_cancelled()) {
        let directory = makefile.parent().unwrap_or(root);
        let rules = read_text(&makefile, MAX_BYTES).ok().flatten().map(|text| MakeRules::parse(&text));
        let Some(rules) = rules else { continue };
        found.extend(rules.acting().map(|target| directory.join(target)));
        known.extend(rules.recipes.into_keys());
    }
    // A makefile that is not known to be one may say what they do.
    found.extend(named.difference(&known).map(|target| root.join(target)));
    let relative = |path: PathBuf| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned());
    found.into_iter().filter(|path| path.symlink_metadata().is_ok()).filter_map(relative).collect()
}

fn is_makefile(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    ["Makefile", "makefile", "GNUmakefile"].contains(&name) || name.ends_with(".mk")
}

/// What a check has `make` make; `None` if it does not start it.
fn make_targets(check: &Check) -> Option<BTreeSet<String>> {
    let is_make = |word: &&str| ["make", "gmake"].contains(&word.rsplit('/').next().unwrap_or(word));
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
    /// The commands of each target.
    recipes: BTreeMap<String, String>,
    /// Targets that are no files, whatever is there.
    phony: BTreeSet<String>,
}

impl MakeRules {
    fn parse(text: &str) -> Self {
        let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
        let variables = variables(&text);
        let mut rules = Self::default();
        let mut targets: Vec<String> = Vec::new();
        for line in text.lines() {
            if let Some(command) = line.strip_prefix('\t') {
                rules.add(&targets, &expanded(command, &variables));
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
            let (needs, command) = right.split_once(';').unwrap_or((right.as_str(), ""));
            if names().any(|name| name == ".PHONY") {
                rules.phony.extend(needs.split_whitespace().map(str::to_owned));
            }
            targets = names().filter(|name| !name.starts_with('.') && !name.contains(['%', '$'])).collect();
            rules.add(&targets, command);
        }
        rules
    }

    fn add(&mut self, targets: &[String], command: &str) {
        for target in targets {
            let recipe = self.recipes.entry(target.clone()).or_default();
            recipe.push_str(command);
            recipe.push('\n');
        }
    }

    /// The targets whose commands do not name them, and so make no file of that name.
    fn acting(&self) -> impl Iterator<Item = &String> {
        let acts = |(target, recipe): &(&String, &String)| {
            let is_apart = |c: char| c.is_whitespace() || "'\"`;&|()<>=,".contains(c);
            let mut words = recipe.split(is_apart).map(|word| word.trim_start_matches("./"));
            let makes_it = ["$@", "$(@", "${@"].iter().any(|name| recipe.contains(name));
            !self.phony.contains(*target)
                && !recipe.trim().is_empty()
                && !makes_it
                && !words.any(|word| word == target.as_str())
        };
        self.recipes.iter().filter(acts).map(|(target, _)| target)
    }
}

/// The variables that a makefile sets, with their values.
fn variables(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('\t'));
    let pairs = lines.filter_map(|line| line.split('#').next()?.split_once('='));
    let pairs =
        pairs.map(|(name, value)| (name.trim_end_matches([':', '?', '+', '!', ' ']).trim(), value.trim()));
    let is_known = |(name, value): &(&str, &str)| {
        !name.is_empty() && !name.contains([' ', ':', '$']) && value.len() <= MAX_VALUE
    };
    pairs.filter(is_known).take(MAX_VARIABLES).collect()
}

/// A text with the values of variables in place of their names, as far as one names another in turn.
fn expanded(text: &str, variables: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_DEPTH {
        for (name, value) in variables {
            if !text.contains('$') || text.len() > MAX_EXPANDED {
                return text;
            }
            text = text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use autonoe_core::check::{Check, CheckOrigin};
    use tempfile::TempDir;
    use tokio_util::sync::CancellationToken;

    use super::{MakeRules, in_the_way_of_make, make_targets};

    #[test]
    fn targets_that_act_are_told_from_those_that_make_files() {
        let text = "CC := cc\nall: app test\n.PHONY: lint\nlint:\n\tlint .\ntest: app \\\n  more\n\tsh tests/run.sh\n\
            check unit:: ; ./unit.sh\napp: app.c\n\t$(CC) -o app app.c\nlib.o: lib.c\n\tcc -c $< -o $@\n%.o: %.c\n\tx\n";
        let rules = MakeRules::parse(text);
        assert_eq!(rules.acting().collect::<Vec<_>>(), ["check", "test", "unit"]);
        let text = "UNITS = a b\nTESTS := $(UNITS) c\nOBJECT=x.o\ntest: $(TESTS)\n${TESTS}:\n\tsh run.sh\n\
            $(OBJECT): x.c\n\tcc -o $(OBJECT) x.c\nA = $(B)\nB = $(A)$(A)\n$(A):\n\tx\n";
        let rules = MakeRules::parse(text);
        assert_eq!(rules.acting().collect::<Vec<_>>(), ["a", "b", "c"]);
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
