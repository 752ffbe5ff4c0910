//! Random scripts that make text in every way that bash has and read what it names, and scripts that set variables and write where they lead.

use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::{collection, option};

/// Pieces of which paths outside, links and options can be made.
const PIECES: &[&str] = &[
    "/",
    "/",
    ".",
    "..",
    "etc",
    "passwd",
    "/etc/",
    "/etc/passwd",
    "escape",
    "escape-file",
    "esc",
    "ape",
    "file",
    "-",
    "@OUT@/secret.txt",
    "secret.txt",
    "../outside",
    "src",
    "main.js",
    "README.md",
    "x",
    "x ",
    " x",
    "",
    "a",
    "~",
    "*",
    "?",
    "[e]",
    "#",
    "%",
    "%s",
    "&",
    "\\\\n",
    "\\\\057",
    "\\\\.",
    "-n",
    "-e",
    ",",
    ":",
    "x/",
    "..x",
];

const PATTERNS: &[&str] = &[
    "x", "*", "*/", "a", "/", "?", "[a-z]", "#x", "##", "%x", "\\\\/", "'*'", "e*", "", "\"$y\"", "esc", "..",
];

const PROGRAMS: &[&str] = &[
    "cat",
    "sort",
    "head -1",
    "tail -1",
    "tr x /",
    "tr a-z A-Z",
    "tr -d x",
    "sed s/x/a/",
    "sed s,^,/,",
    "sed s/x//",
    "rev",
    "cut -c2-",
    "cut -dx -f2",
    "paste -sd /",
    "head -c 3",
    "grep -o ..",
    "awk '{print $2}'",
    "fold -w1",
    "awk -Fx '{print \"/\"$2}'",
    "xargs",
    "xargs printf /%s",
    "xargs -n1 echo",
    "base64 -d",
    "uniq",
    "xargs basename",
];

const OPERATORS: &[&str] = &["#", "##", "%", "%%", "/", "//", "/#", "/%", "^", ",,"];

/// Writes one part of a script, deciding by the numbers that follow from a seed.
struct Writer(u64);

impl Writer {
    fn number(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % below
    }

    fn pick(&mut self, pool: &'static [&'static str]) -> String {
        pool[self.number(pool.len())].to_owned()
    }

    fn name(&mut self) -> String {
        self.pick(&["x", "y", "z"])
    }

    fn words(&mut self, depth: usize) -> String {
        let count = 1 + self.number(3);
        (0..count).map(|_| self.word(depth)).collect::<Vec<_>>().join(" ")
    }

    fn word(&mut self, depth: usize) -> String {
        let count = 1 + self.number(3);
        (0..count).map(|_| self.part(depth + 1)).collect()
    }

    fn part(&mut self, depth: usize) -> String {
        let piece = self.pick(PIECES);
        match self.number(if depth > 3 { 6 } else { 16 }) {
            0 => format!("'{piece}'"),
            1 => format!("\"{piece}\""),
            2 => format!("$'{}'", piece.replace("\\\\", "\\")),
            3 => self.pick(&["{a,x}", "{/,x}", "{a..c}", "{esc,x}ape", "\\/", "\\.", "e\\tc"]),
            4 => piece,
            5..=8 => self.expansion(depth),
            9..=12 => format!("\"{}\"", self.expansion(depth)),
            13 => format!("$({})", self.printing(depth)),
            _ => format!("\"$({})\"", self.printing(depth)),
        }
    }

    fn expansion(&mut self, depth: usize) -> String {
        let name = self.name();
        match self.number(16) {
            0..=3 => format!("${name}"),
            4 => format!("${{{name}:-{}}}", self.pick(&["..", "/etc/passwd", "a", "/"])),
            5 => format!("${{{name}:={}}}", self.pick(&["..", "/etc", "escape", "a"])),
            6 => format!("${{{name}:{}}}", self.pick(&["1", "0:1", " -2", "0:4", "$#"])),
            7 => format!("${{a[{}]}}", self.pick(&["0", "1", "@", "*", "-1"])),
            8 => format!("${{a[@]{}{}}}", self.pick(OPERATORS), self.pick(PATTERNS)),
            9 => self.pick(&[
                "$1",
                "$*",
                "$@",
                "${1%x}",
                "$_",
                "$PWD",
                "${PWD%/*}",
                "$((1))",
                "${#x}",
                "$0",
                "$HOME",
            ]),
            10 if depth < 3 => format!("${{{name}+{}}}", self.word(depth)),
            11..=12 => {
                let operator = self.pick(&["/", "//", "/#", "/%"]);
                format!(
                    "${{{name}{operator}{}/{}}}",
                    self.pick(PATTERNS),
                    self.pick(PIECES).trim_matches('}')
                )
            }
            _ => format!("${{{name}{}{}}}", self.pick(OPERATORS), self.pick(PATTERNS)),
        }
    }

    /// A command that prints text.
    fn printing(&mut self, depth: usize) -> String {
        match self.number(12) {
            0..=2 => format!("echo {}", self.words(depth)),
            3 => format!("echo {} {}", self.pick(&["-n", "-e", "-E", "-ne"]), self.words(depth)),
            4 | 5 => format!("printf {} {}", self.format(), self.words(depth)),
            6 => format!("cat <<< {}", self.word(depth)),
            7 => format!("basename {}", self.word(depth)),
            8 => format!("dirname {}", self.word(depth)),
            9 => format!("f {}", self.words(depth)),
            _ => format!("echo {} | {}", self.words(depth), self.pick(PROGRAMS)),
        }
    }

    fn format(&mut self) -> String {
        self.pick(&[
            "%s",
            "'%s%s'",
            "'%s\\n'",
            "'%.3s'",
            "%b",
            "'/%s'",
            "'%s\\057'",
            "'%(/)T%s'",
            "'%c'",
            "'%%%s'",
            "-- %s",
        ])
    }

    fn statement(&mut self, depth: usize) -> String {
        let name = self.name();
        match self.number(if depth > 1 { 14 } else { 22 }) {
            0..=3 => format!("{name}={}", self.word(depth)),
            4 | 5 => format!("{name}+={}", self.word(depth)),
            6 => format!("a=({})", self.words(depth)),
            7 => format!("a+=({})", self.words(depth)),
            8 => format!("read {}{name} <<< {}", self.pick(&["", "-r ", "-n 3 ", "-d x "]), self.word(depth)),
            9 => format!("IFS={} read -r x y <<< {}", self.pick(&[":", "/", "x"]), self.word(depth)),
            10 => format!("printf -v {name} {} {}", self.format(), self.words(depth)),
            11 => format!("set -- {}", self.words(depth)),
            12 => format!(
                "[[ {} =~ {} ]]; {name}=${{BASH_REMATCH[1]}}",
                self.word(depth),
                self.pick(&["x(.*)", "^(..)", "(.*)x"])
            ),
            13 => format!(
                "{} {name}={}",
                self.pick(&["local", "declare", "export", "readonly"]),
                self.word(depth)
            ),
            14 => format!("for {name} in {}; do {}; done", self.words(depth), self.statement(depth + 1)),
            15 => format!(
                "if {}; then {}; fi",
                self.pick(&["true", "false", "[ -n \"$x\" ]"]),
                self.statement(depth + 1)
            ),
            16 => format!("{} | while read -r {name}; do {}; done", self.printing(depth), self.reading()),
            17 => format!(
                "case {} in {}) {};; esac",
                self.word(depth),
                self.pick(&["*", "x"]),
                self.statement(depth + 1)
            ),
            18 => format!("( {} )", self.statement(depth + 1)),
            19 => format!("mapfile -t a <<< {}", self.word(depth)),
            20 => format!("{} || {}", self.statement(depth + 1), self.statement(depth + 1)),
            _ => format!("{} &", self.statement(depth + 1)),
        }
    }

    /// A command that reads what a word names.
    fn reading(&mut self) -> String {
        let name = self.name();
        let start = self.pick(&["", "", "esc", "escape", "escape-", "src/", "x/", "/e", "."]);
        let end = self.pick(&["", "", "ape", "-file", "file", "tc/passwd", "/../x", "/secret.txt", "."]);
        let word = match self.number(6) {
            0 | 1 => format!("\"{start}${{{name}}}{end}\""),
            2 => format!("${name}"),
            3 => format!("{start}{}", self.expansion(1)),
            _ => self.word(1),
        };
        match self.number(9) {
            0 => format!("echo {word} | xargs cat"),
            1 => format!("printf '%s\\n' {word} | xargs -I{{}} cat {start}{{}}"),
            2 => format!("head -1 {word}"),
            3 => format!("grep -o {word} {word}"),
            4 => format!("for f in {word}; do cat \"$f\"; done"),
            5 => format!("wc -l -- {word}"),
            _ => format!("cat {word}"),
        }
    }
}

/// Scripts of some statements, and a command that reads.
pub fn reading_scripts() -> BoxedStrategy<String> {
    let functions = option::weighted(0.2, any::<bool>());
    (functions, collection::vec(any::<u64>(), 0..5), any::<u64>(), any::<bool>())
        .prop_map(|(function, statements, reading, is_chained)| {
            let function = function
                .map(|prints| if prints { "f() { echo \"$1$2\"; }" } else { "f() { x=$1; cat \"$2\"; }" });
            let statements = statements.into_iter().map(|seed| Writer(seed).statement(0));
            let lines = function.map(str::to_owned).into_iter().chain(statements);
            let lines = lines.chain([Writer(reading).reading()]);
            lines
                .collect::<Vec<_>>()
                .join(if is_chained { " && " } else { "; " })
                .replace("& &&", "&")
                .replace("&;", "&")
        })
        .boxed()
}

/// Values that are written out, of which some lead out.
const VALUES: &[&str] = &[
    "a",
    "b",
    "src",
    "src/new",
    "x/y",
    "escape",
    "escape-file",
    "escape/new",
    "../new",
    ".git/config",
    "-t",
    "-rf",
    "'a b'",
    "'*'",
    "''",
    "\"$y\"",
    "x$z",
    "\"$x\"/new",
    "src/../escape-file",
    "{a,escape-file}",
    "$'escape\\x2dfile'",
];

impl Writer {
    /// A way to set a variable, or not to.
    fn setting(&mut self, depth: usize) -> String {
        let (name, value) = (self.name(), self.pick(VALUES));
        let set = format!("{name}={value}");
        match self.number(if depth > 1 { 8 } else { 20 }) {
            0..=4 => set,
            5 => format!("{name}+={value}"),
            6 => format!("unset {name}"),
            7 => format!("read -r {name} <<< {value}"),
            8 => format!("for {name} in {value} {}; do {}; done", self.pick(VALUES), self.setting(depth + 1)),
            9 => format!("[ -f README.md ] && {set}"),
            10 => format!("false || {set}"),
            11 => format!("({set})"),
            12 => format!(
                "{} {set}",
                self.pick(&["export", "declare", "readonly", "declare -l", "declare -u", "declare -i"])
            ),
            13 => format!("f() {{ {set}; }}; f"),
            14 => format!("f() {{ local {set}; {}; }}; f", self.writing()),
            15 => format!(": ${{{name}:={value}}}"),
            16 => format!("set -- {value}; {name}=$1"),
            17 => format!("if true; then {set}; else {}; fi", self.setting(depth + 1)),
            18 => format!("printf -v {name} %s {value}"),
            _ => format!("{set} | cat"),
        }
    }

    /// A command that writes where a variable leads.
    fn writing(&mut self) -> String {
        let name = self.name();
        let word = match self.number(4) {
            0 => format!("\"${name}/new\""),
            1 => format!("\"src/${name}\""),
            _ => format!("\"${name}\""),
        };
        match self.number(7) {
            0 => format!("echo x > {word}"),
            1 => format!("touch {word}"),
            2 => format!("cp README.md {word}"),
            3 => format!("cp {word} \"${}\"", self.name()),
            4 => format!("mkdir -p {word}"),
            5 => format!("sed -i s/o/0/ {word}"),
            _ => format!("echo x | tee {word}"),
        }
    }
}

/// Scripts that set variables, and write where they lead.
pub fn writing_scripts() -> BoxedStrategy<String> {
    (collection::vec(any::<u64>(), 1..5), any::<u64>(), any::<bool>())
        .prop_map(|(settings, writing, is_chained)| {
            let settings = settings.into_iter().map(|seed| Writer(seed).setting(0));
            let lines = settings.chain([Writer(writing).writing()]).collect::<Vec<_>>();
            lines.join(if is_chained { " && " } else { "; " })
        })
        .boxed()
}
