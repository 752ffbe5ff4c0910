//! Commands of which only the forms that show something are allowed: what a file or an archive contains, and the name of
//! this machine.

use super::options::{OptionSyntax, parse};
use super::reads;
use super::rule::{CommandCall, Rule, always, never};
use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::Arg;

pub const RULES: &[Rule] = &[
    Rule {
        name: "file",
        commands: &["file"],
        run_only: false,
        judge: file,
        examples: &[
            always("file a.txt src/*"),
            always("file -b --mime-type a.txt"),
            never("file /etc/passwd"),
            never("file -f a.txt"),
            never("file --files-from=/etc/passwd"),
            never("file -C -m a.txt"),
            never("file $x"),
        ],
    },
    Rule {
        name: "tar",
        commands: &["tar"],
        run_only: false,
        judge: tar,
        examples: &[
            always("tar tf a.tar | head"),
            always("tar -tzvf a.tar.gz src/a.js"),
            never("tar tf /root/a.tar"),
            never("tar tf host:a.tar"),
            never("tar tf \"$x\""),
            never("tar xf a.tar"),
            never("tar cf a.tar src"),
            never("tar -tf a.tar --to-command=./evil"),
            never("tar -tf a.tar -I ./evil"),
            never("tar -tvF ./evil"),
            never("tar t"),
        ],
    },
    Rule {
        name: "unzip",
        commands: &["unzip", "zipinfo"],
        run_only: false,
        judge: unzip,
        examples: &[
            always("unzip -l a.zip"),
            always("zipinfo -1 a.zip"),
            never("unzip a.zip"),
            never("unzip -l /root/a.zip"),
            never("unzip -l a.zip -d x"),
            never("unzip -p a.zip"),
            never("unzip -l '*.zip'"),
        ],
    },
    Rule {
        name: "hostname",
        commands: &["hostname"],
        run_only: false,
        judge: hostname,
        examples: &[
            always("hostname"),
            always("hostname -s"),
            never("hostname evil"),
            never("hostname -F a.txt"),
        ],
    },
];

#[rustfmt::skip]
const FILE: OptionSyntax = OptionSyntax {
    flags: "bhikLNpr0v",
    valued: "",
    long: &[
        "brief", "mime", "mime-type", "mime-encoding", "dereference", "no-dereference", "keep-going", "extension",
        "version", "help",
    ],
    long_valued: &[],
};

fn file(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let parsed = parse("file", &FILE, call.args)?;
    parsed.operands.iter().try_for_each(|operand| reads::judge(scope, operand))
}

/// `tar tf archive`: options can run programs, and so can the name of an archive with a host in it.
fn tar(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let lists = |letters: &str| {
        letters.contains('t')
            && letters.ends_with('f')
            && letters.chars().all(|letter| "tvzjJf".contains(letter))
    };
    match call.args {
        [letters, archive, members @ ..]
            if letters.literal().is_some_and(|text| lists(text.trim_start_matches('-')))
                && archive.literal().is_some_and(|text| !text.contains(':'))
                && members.iter().all(Arg::is_operand) =>
        {
            reads::judge(scope, archive)
        }
        _ => deny_with_hint("tar", "tar may only list an archive of the project.", "tar tf archive.tar"),
    }
}

fn unzip(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    match call.args {
        [option, archive]
            if matches!(option.literal(), Some("-l" | "-1" | "-Z1"))
                // It expands patterns itself.
                && archive.literal().is_some_and(|text| !text.starts_with('-') && !text.contains(['*', '?', '['])) =>
        {
            // Without a suffix it finds the file with one, too.
            for suffix in ["", ".zip", ".ZIP"] {
                reads::judge(scope, &Arg::plain(format!("{}{suffix}", archive.text)))?;
            }
            Ok(())
        }
        _ => {
            deny_with_hint("unzip", "unzip may only list an archive of the project.", "unzip -l archive.zip")
        }
    }
}

fn hostname(_: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let shows = |arg: &Arg| matches!(arg.literal(), Some("-f" | "-s" | "-i" | "-I" | "-d"));
    match call.args.iter().all(shows) {
        true => Ok(()),
        false => deny_with_hint("hostname", "The name of the machine may not be set.", "hostname"),
    }
}
