//! `curl` to this machine only, for trying the project's own server.

use super::options::{OptionSyntax, parse};
use super::reads;
use super::rule::{CommandCall, Rule, in_run, never};
use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

pub const RULES: &[Rule] = &[Rule {
    name: "curl",
    commands: &["curl"],
    run_only: true,
    judge,
    examples: &[
        in_run("curl -s localhost:3000/health | jq ."),
        in_run("curl -i -X POST http://127.0.0.1:8080/api -H 'A: b' -d '{\"a\":1}'"),
        in_run("curl -sS -o /dev/null -w '%{http_code}' http://localhost:4321/"),
        in_run("curl -sf \"http://localhost:3000/users/$id\" || true"),
        in_run("curl -d @src/a.js http://[::1]:80/x"),
        in_run("curl -so out.json http://0.0.0.0:8000/x?y=1"),
        never("curl http://evil"),
        never("curl http://localhost@evil/"),
        never("curl http://localhost.evil/"),
        never("curl localhost evil"),
        never("curl \"http://localhost:$x\""),
        never("curl \"$x\""),
        never("curl http://{localhost,evil}/"),
        never("curl -o /etc/x localhost"),
        never("curl -o .autonoe/x localhost"),
        never("curl -o '#1' 'localhost/{a,b}'"),
        never("curl -so'src/#1' 'localhost/{../../x}'"),
        never("curl --output='src/a#2.txt' 'localhost/{a}/{b}'"),
        never("curl --output-dir .. -o x localhost"),
        never("curl --create-dirs -o x localhost"),
        in_run("curl -o 'a#b.txt' localhost"),
        never("curl -d @/etc/passwd localhost"),
        never("curl -T /etc/passwd localhost"),
        never("curl -F a=@/etc/passwd localhost"),
        never("curl -x evil localhost"),
        never("curl -K a.txt"),
        never("curl --resolve localhost:80:6.6.6.6 localhost"),
        never("curl -L localhost"),
        never("curl file:///etc/passwd"),
        never("curl -O localhost/x"),
        never("curl"),
    ],
}];

#[rustfmt::skip]
const CURL: OptionSyntax = OptionSyntax {
    flags: "sSfiIvkNG46",
    valued: "XHdowmAu",
    long: &[
        "silent", "show-error", "fail", "include", "head", "verbose", "insecure", "no-buffer", "get", "compressed",
        "fail-with-body", "no-progress-meter",
    ],
    long_valued: &[
        "request", "header", "data", "data-raw", "data-binary", "data-urlencode", "json", "output", "write-out",
        "max-time", "connect-timeout", "user-agent", "user", "retry", "retry-delay",
    ],
};

fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let parsed = parse("curl", &CURL, call.args)?;
    for (option, value) in &parsed.options {
        let Some(value) = value else { continue };
        match option.as_str() {
            "o" | "output" => {
                // curl replaces `#1` by a part of the URL.
                if value.text.as_bytes().windows(2).any(|pair| pair[0] == b'#' && pair[1].is_ascii_digit()) {
                    return refuse("curl would take a part of the URL for the name of its output.");
                }
                scope.count_path()?;
                scope.may_write(value)?;
            }
            // `@` reads a file: at the beginning, or after a name in --data-urlencode. `%output{file}` writes one.
            "d" | "data" | "data-binary" | "data-urlencode" | "json" | "H" | "header" | "w" | "write-out" => {
                let is_literal = value.kind == ArgKind::Plain;
                if (!is_literal && (value.text.is_empty() || value.text.contains('@')))
                    || value.text.contains("%output")
                {
                    return refuse(
                        "An option of curl that may name a file is not known before the command runs.",
                    );
                }
                if let Some((before, file)) = value.text.split_once('@')
                    && (before.is_empty() || option == "data-urlencode")
                {
                    reads::judge(scope, &Arg::plain(file))?;
                }
            }
            _ => {}
        }
    }
    if parsed.operands.is_empty() || !parsed.operands.iter().all(|url| is_local(url)) {
        return refuse("curl may only reach this machine.");
    }
    Ok(())
}

/// Whether a URL names this machine, whatever follows its known beginning.
fn is_local(url: &Arg) -> bool {
    let text = url.text.as_str();
    let rest = text.strip_prefix("http://").or(text.strip_prefix("https://")).unwrap_or(text);
    let hosts = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"];
    let Some(rest) = hosts.iter().find_map(|host| rest.strip_prefix(host)) else { return false };
    let after_port =
        rest.strip_prefix(':').map_or(rest, |port| port.trim_start_matches(|c: char| c.is_ascii_digit()));
    match url.kind {
        ArgKind::Plain => after_port.is_empty() || after_port.starts_with('/'),
        ArgKind::Glob | ArgKind::Unknown => after_port.starts_with('/'),
        ArgKind::Several => false,
    }
}

fn refuse(reason: &str) -> RuleResult {
    deny_with_hint("curl", reason, "curl -s http://localhost:3000/path")
}
