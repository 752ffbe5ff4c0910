//! Permission rules: what they cover, and bypasses that must not work.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use autonoe_core::gate::{Decision, Gate, GateRuling, ToolCall, ask};
use autonoe_core::instruction::Phase;
use autonoe_core::mode::Mode;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::PermissionGate;
use crate::permission_set::PermissionSet;
use crate::permissions::permission_rule::PermissionRule;
use crate::permissions::rule_error::RuleError;
use crate::policy_options::PolicyOptions;

const BASELINE: [&str; 6] =
    ["Read(./**)", "Write(./**)", "Edit(./**)", "Glob(./**)", "Grep(./**)", "Bash(*)"];
const BASELINE_TOOLS: [&str; 6] = ["Read", "Write", "Edit", "Glob", "Grep", "Bash"];

/// A project, a sibling directory with the same name prefix, a home directory, shared data, and links.
struct PermissionFixture {
    home: TempDir,
    base: PathBuf,
}

impl PermissionFixture {
    fn new() -> Self {
        let home = TempDir::new().expect("temporary directory");
        let base = home.path().canonicalize().expect("exists");
        for directory in ["proj/src/lib", "proj/docs", "proj-other", "data/deep", "home/notes", "temp"] {
            fs::create_dir_all(base.join(directory)).expect("made");
        }
        for file in ["proj/src/a.rs", "data/a.csv", "data/deep/b.csv", "home/notes/n.md", "home/key"] {
            fs::write(base.join(file), "").expect("written");
        }
        symlink("../data", base.join("proj/way-out")).expect("link");
        symlink("src", base.join("proj/sources")).expect("link");
        symlink("data", base.join("shared")).expect("link");
        Self { home, base }
    }

    fn options(&self, mode: Mode, rules: &[&str], tools: &[&str]) -> PolicyOptions {
        PolicyOptions {
            permissions: rules
                .iter()
                .map(|rule| rule.replace("@", &self.text()).parse().expect(rule))
                .collect(),
            tools: tools.iter().map(|tool| tool.parse().expect(tool)).collect(),
            temp: Some(self.base.join("temp")),
            home: Some(self.base.join("home")),
            ..PolicyOptions::new(mode, self.base.join("proj"))
        }
    }

    fn text(&self) -> String {
        self.base.display().to_string()
    }

    async fn check(&self, rules: &[&str], tool: &str, input: Value) -> Decision {
        self.check_with(&self.options(Mode::Run, rules, &[]), tool, input).await
    }

    async fn check_with(&self, options: &PolicyOptions, tool: &str, input: Value) -> Decision {
        assert!(self.home.path().exists());
        PermissionGate::new(PermissionSet::new(options)).check(&call(tool, input)).await
    }
}

fn call(name: &str, input: Value) -> ToolCall {
    ToolCall { id: "1".into(), name: name.into(), input }
}

fn rule(text: &str) -> Result<PermissionRule, String> {
    text.parse().map_err(|error: RuleError| error.to_string())
}

#[test]
fn seed_002_5_4_every_form_of_rule_is_read() {
    for text in BASELINE.iter().chain(&[
        "Bash(npm run *)",
        "Bash",
        "Bash(git commit -m 'a; b')",
        "WebFetch(https://api.example.com/*)",
        "WebFetch(http://localhost:3000/api/*?page=*)",
        "WebFetch(*)",
        "WebFetch",
        "WebSearch",
        "Read",
        "Read(src/**)",
        "Read(/data/**)",
        "Read(~/notes/*.md)",
        "Read(./app/(group)/**)",
        "NotebookEdit(./**/*.{ipynb,py})",
        "mcp__server__*",
        "mcp__server__tool",
        "mcp__server",
    ]) {
        assert_eq!(rule(text).map(|rule| rule.to_string()), Ok((*text).to_owned()));
    }
}

#[test]
fn invalid_rules_are_rejected_with_a_reason() {
    for (text, expected) in [
        ("", "not a tool with permission rules"),
        ("Task", "allowedTools"),
        ("read(./**)", "'read' is not a tool"),
        ("Shell(ls)", "WebSearch and mcp__server__tool"),
        ("(./**)", "not a tool with permission rules"),
        ("Read(./**", "parentheses"),
        ("Read./**)", "parentheses"),
        ("Read(./**) ", ""),
        ("Read(./**)x", "parentheses"),
        ("Read(./a), Write(./b)", "parentheses"),
        ("Read(./(a)", "parentheses"),
        ("Read()", "pattern is empty"),
        ("Bash(  )", "pattern is empty"),
        ("Read(../**)", "'..'"),
        ("Read(./a/../../**)", "'..'"),
        ("Read(/data/../etc/**)", "'..'"),
        ("Read(~root/**)", "home directory"),
        ("Read(./src/)", "'**'"),
        ("Read(./[ab])", "'['"),
        ("Read(./a\\b)", "'\\'"),
        ("Read(./{a,b)", "path is invalid"),
        ("Bash(npm run * && ls)", "not a single plain command"),
        ("Bash(npm run x; ls)", "not a single plain command"),
        ("Bash(A=1 npm)", "not a single plain command"),
        ("Bash(npm > x)", "not a single plain command"),
        ("Bash(npm $x)", "not a single plain command"),
        ("Bash(npm 'run)", "command is invalid"),
        ("WebFetch(api.example.com/*)", "https://HOST/"),
        ("WebFetch(ftp://example.com/*)", "https://HOST/"),
        ("WebFetch(https:example.com)", "https://HOST/"),
        ("WebFetch(https:///example.com/*)", "https://HOST/"),
        ("WebFetch(domain:example.com)", "https://example.com/*"),
        ("WebFetch(https://*.example.com/*)", "host must be literal"),
        ("WebFetch(https://*)", "host must be literal"),
        ("WebFetch(https://me@example.com/*)", "user"),
        ("WebFetch(https://example.com/a/../*)", "'..'"),
        ("WebSearch(cats)", "takes no pattern"),
        ("mcp__server__tool(x)", "takes no pattern"),
        ("mcp__*", "literal server"),
        ("mcp__play*", "literal server"),
    ] {
        match rule(text) {
            Ok(_) => assert_eq!(expected, "", "{text:?} is accepted"),
            Err(error) => {
                assert!(
                    !expected.is_empty() && error.contains(expected),
                    "{text:?}: {error:?} lacks {expected:?}"
                )
            }
        }
    }
}

/// Commands, and whether `Bash(npm run *)`, `Bash(git status)` and `Bash(echo 'a*' *.txt)` cover them.
const COMMANDS: &[(&str, bool)] = &[
    ("npm run build", true),
    ("npm run build -- --watch", true),
    ("npm run", true),
    ("npm 'run' \"build\"", true),
    ("n\\pm run x", true),
    ("  npm   run\tx  ", true),
    ("npm run a && npm run b", true),
    ("npm run a; git status | npm run c &", true),
    ("npm run 'a; rm -rf /'", true),
    ("npm run a\nnpm run b # and a comment", true),
    ("npm run {a,b}", true),
    ("git status", true),
    ("echo 'a*' x.txt", true),
    ("echo 'a*' '*.txt'", true),
    ("npm run x; rm -rf /", false),
    ("npm run x && curl http://evil.example", false),
    ("npm run x || sh", false),
    ("npm run x | sh", false),
    ("npm run x & rm x", false),
    ("npm run x\nrm x", false),
    ("npm run $(rm x)", false),
    ("npm run `rm x`", false),
    ("npm run <(rm x)", false),
    ("npm run \"$(rm x)\"", false),
    ("npm run $x", false),
    ("npm run *.js", false),
    ("npm run ~/x", false),
    ("npm run x > /etc/passwd", false),
    ("npm run x 2>&1", false),
    ("npm run x <<< y", false),
    ("PATH=/evil npm run x", false),
    ("X=1", false),
    ("(npm run x)", false),
    ("{ npm run x; }", false),
    ("if npm run x; then npm run y; fi", false),
    ("npm() { rm x; }; npm run x", false),
    ("npm runx", false),
    ("npm 'run x'", false),
    ("'npm run' x", false),
    ("npmx run x", false),
    ("/tmp/npm run x", false),
    ("timeout 5 npm run x", false),
    ("git status --short", false),
    ("echo ab x.txt", false),
    ("export A=1", false),
    ("npm run 'x", false),
    ("", false),
    ("# npm run x", false),
];

#[tokio::test]
async fn a_command_rule_covers_simple_commands_word_by_word() {
    let fixture = PermissionFixture::new();
    for (command, covered) in COMMANDS {
        let rules = ["Bash(npm run *)", "Bash(git status)", "Bash(echo 'a*' *.txt)"];
        let decision = fixture.check(&rules, "Bash", json!({ "command": command })).await;
        assert_eq!(decision == Decision::Allow, *covered, "{command:?}: {decision:?}");
        let any = fixture.check(&["Bash(npm run *)", "Bash(*)"], "Bash", json!({ "command": command })).await;
        assert_eq!(any, Decision::Allow, "the baseline covers every command: {command:?}");
        let none = fixture.check(&["Read", "WebFetch"], "Bash", json!({ "command": command })).await;
        assert!(matches!(none, Decision::Deny(_)), "{command:?}");
    }
    let not_text = fixture.check(&["Bash"], "Bash", json!({ "command": ["ls"] })).await;
    assert!(matches!(not_text, Decision::Deny(_)));
}

/// URLs, and whether `WebFetch(https://api.example.com/*)`, `WebFetch(http://localhost:3000/v1/*)`,
/// `WebFetch(https://exact.example/a)` and `WebFetch(https://asked.example/*/b?q=*)` cover them.
const URLS: &[(&str, bool)] = &[
    ("https://api.example.com/", true),
    ("https://api.example.com", true),
    ("https://api.example.com/a/b?c=d#e", true),
    ("HTTPS://API.Example.COM/a", true),
    ("https://api.example.com:443/a", true),
    ("https://api.example.com/a/../b", true),
    ("http://localhost:3000/v1/x", true),
    ("https://exact.example/a", true),
    ("https://exact.example/a#b", true),
    ("https://asked.example/a/b?q=1", true),
    ("https://api.example.com.evil.org/", false),
    ("https://api.example.com@evil.org/", false),
    ("https://api.example.com:pw@evil.org/", false),
    ("https://me@api.example.com/", false),
    ("https://evil.org/https://api.example.com/", false),
    ("https://evil.org?https://api.example.com/", false),
    ("https://evil.org#https://api.example.com/", false),
    ("https://xapi.example.com/", false),
    ("https://sub.api.example.com/", false),
    ("https://api.example.com./", false),
    ("https://api.example.com:8443/", false),
    ("http://api.example.com/", false),
    ("http://api.example.com:443/", false),
    ("ftp://api.example.com/", false),
    ("//api.example.com/", false),
    ("api.example.com/", false),
    ("https:api.example.com/", false),
    ("https:///api.example.com/", false),
    ("https://api.example.com\\@evil.org/", false),
    ("https://evil.org\\.api.example.com/", false),
    ("https://api.exa\tmple.com/", false),
    (" https://api.example.com/", false),
    ("https://api.example.com/ x", false),
    ("https://\u{430}pi.example.com/", false),
    ("https://api.example.com%2eevil.org/", false),
    ("file:///etc/passwd", false),
    ("javascript:alert(1)", false),
    ("http://localhost:3000/v1", false),
    ("http://localhost:3000/v2/x", false),
    ("http://localhost:3000/v1/../v2/x", false),
    ("http://localhost:3000/v1/%2e%2e/v2/x", false),
    ("http://localhost:3000/v1/%2E./v2/x", false),
    ("http://localhost:3000/v1/..%2fv2/x", false),
    ("http://localhost:3000/v1/%252e%252e/v2/x", false),
    ("http://localhost:3000/v1/%25252e%25252e%25252fv2", false),
    ("http://localhost:3000/v1/..;/v2/x", false),
    ("http://localhost:3000/v1/..%5cv2", false),
    ("http://localhost/v1/x", false),
    ("https://localhost:3000/v1/x", false),
    ("https://exact.example/a?b=c", false),
    ("https://exact.example/a/", false),
    ("https://exact.example/A", false),
    ("https://asked.example/a/b?r=1", false),
    ("https://asked.example/a?x=/b?q=1", false),
    ("", false),
];

#[tokio::test]
async fn a_url_rule_covers_one_host_and_matching_paths() {
    let fixture = PermissionFixture::new();
    let rules = [
        "WebFetch(https://api.example.com/*)",
        "WebFetch(http://localhost:3000/v1/*)",
        "WebFetch(https://exact.example/a)",
        "WebFetch(https://Asked.example/*/b?q=*)",
    ];
    for (url, covered) in URLS {
        let decision = fixture.check(&rules, "WebFetch", json!({ "url": url })).await;
        assert_eq!(decision == Decision::Allow, *covered, "{url:?}: {decision:?}");
    }
    for (url, covered) in [
        ("https://anything.example/x", true),
        ("http://10.0.0.1:8080/", true),
        ("file:///etc/passwd", false),
        ("ftp://example.com/", false),
        ("data:text/html,x", false),
        ("nonsense", false),
    ] {
        for any in ["WebFetch(*)", "WebFetch"] {
            let decision = fixture.check(&[any], "WebFetch", json!({ "url": url })).await;
            assert_eq!(decision == Decision::Allow, covered, "{any} {url:?}");
        }
    }
    assert!(matches!(fixture.check(&["WebFetch"], "WebFetch", json!({})).await, Decision::Deny(_)));
    let options = fixture.options(Mode::Run, &[&rules[..], &["WebFetch(*)", rules[0]]].concat(), &[]);
    let hosts = ["api.example.com", "localhost:3000", "exact.example", "asked.example"];
    assert_eq!(PermissionSet::new(&options).web_hosts(), hosts);
    assert!(PermissionSet::new(&options).allows_any_host());
    let named = fixture.options(Mode::Run, &rules, &[]);
    assert!(!PermissionSet::new(&named).allows_any_host());
    let sync = PolicyOptions { mode: Mode::Sync, ..options };
    assert_eq!(PermissionSet::new(&sync).web_hosts(), Vec::<String>::new(), "sync has no network");
    assert!(!PermissionSet::new(&sync).allows_any_host());
    for url in ["https://api.example.com/", "https://anything.example/x"] {
        let decision = fixture.check_with(&sync, "WebFetch", json!({ "url": url })).await;
        assert!(matches!(decision, Decision::Deny(reason) if reason.contains("Sync has no network")));
    }
}

/// A rule, a path, and whether the rule covers the path; `@` is the parent directory of the project.
const PATHS: &[(&str, &str, bool)] = &[
    ("Read(./**)", "src/a.rs", true),
    ("Read(./**)", "new/deep/file", true),
    ("Read(./**)", "@/proj/src/a.rs", true),
    ("Read(./**)", "src/../docs/x", true),
    ("Read(./**)", "@/temp/x", true),
    ("Read(./**)", "../proj-other/x", false),
    ("Read(./**)", "@/proj-other/x", false),
    ("Read(./**)", "way-out/a.csv", false),
    ("Read(./**)", "not-there/../../data/a.csv", false),
    ("Read(./**)", "a\0b", false),
    ("Read(**)", "src/a.rs", true),
    ("Read(src/*.rs)", "src/a.rs", true),
    ("Read(./src/*.rs)", "sources/a.rs", true),
    ("Read(./sources/*.rs)", "sources/a.rs", false),
    ("Read(./src/*.rs)", "src/lib/b.rs", false),
    ("Read(./src/**/*.rs)", "src/lib/b.rs", true),
    ("Read(./src/**/*.rs)", "src/a.rs", true),
    ("Read(./src/**)", "docs/a", false),
    ("Read(./src/**)", "src-other/a", false),
    ("Read(./s?c/a.rs)", "src/a.rs", true),
    ("Read(./s?c/a.rs)", "s/c/a.rs", false),
    ("Read(./{src,docs}/*)", "docs/x", true),
    ("Read(./way-out/**)", "way-out/a.csv", false),
    ("Read(./src/a.rs)", "src/a.rs", true),
    ("Read(./src/a.rs)", "src/a.rs.old", false),
    ("Read(./src)", "src/a.rs", false),
    ("Read", "/etc/hosts", true),
    ("Read(@/data/**)", "@/data/deep/b.csv", true),
    ("Read(@/data/**)", "way-out/a.csv", true),
    ("Read(@/data/**)", "@/data-other/x", false),
    ("Read(@/data/**)", "@/data/../home/key", false),
    ("Read(@/data/*.csv)", "@/data/a.csv", true),
    ("Read(@/data/*.csv)", "@/data/deep/b.csv", false),
    ("Read(@/shared/**)", "@/shared/a.csv", true),
    ("Read(@/shared/**)", "@/data/a.csv", true),
    ("Read(/@/shared/**)", "@/data/a.csv", true),
    ("Read(@/proj/way-out/**)", "way-out/a.csv", false),
    ("Read(@/proj/way-out/**)", "@/data/a.csv", false),
    ("Read(~/notes/**)", "@/home/notes/n.md", true),
    ("Read(~/notes/**)", "@/home/key", false),
    ("Read(~/notes/**)", "~/notes/n.md", false),
    ("Read(/**)", "/etc/hosts", true),
    ("Write(./**)", "src/a.rs", false),
];

#[tokio::test]
async fn a_path_rule_covers_resolved_paths() {
    let fixture = PermissionFixture::new();
    for (rule, path, covered) in PATHS {
        let path = path.replace('@', &fixture.text());
        let decision = fixture.check(&[rule], "Read", json!({ "file_path": path })).await;
        assert_eq!(decision == Decision::Allow, *covered, "{rule} {path:?}: {decision:?}");
    }
    let options = PolicyOptions { home: None, ..fixture.options(Mode::Run, &["Read(~/**)"], &[]) };
    let note = json!({ "file_path": fixture.base.join("home/notes/n.md") });
    assert!(
        matches!(fixture.check_with(&options, "Read", note).await, Decision::Deny(_)),
        "~ without a home directory"
    );
}

#[tokio::test]
async fn every_path_of_a_call_is_judged_and_one_is_required() {
    let fixture = PermissionFixture::new();
    let out = fixture.base.join("data/a.csv");
    for (tool, input, covered) in [
        ("Read", json!({ "file_path": "src/a.rs", "filePath": out }), false),
        ("Read", json!({ "file_path": "src/a.rs", "path": null }), true),
        ("Read", json!({ "file_path": ["src/a.rs"] }), false),
        ("Read", json!({}), false),
        ("Read", json!("src/a.rs"), false),
        ("Write", json!({ "filePath": "src/a.rs" }), true),
        ("Write", json!({ "filePath": out }), false),
        ("Glob", json!({ "pattern": "**/*.rs" }), true),
        ("Glob", json!({ "pattern": "../*" }), false),
        ("Glob", json!({ "pattern": "/etc/*" }), false),
        ("Glob", json!({ "pattern": fixture.base.join("proj/src/*.rs") }), true),
        ("Glob", json!({ "pattern": "*", "path": "way-out" }), false),
        ("Glob", json!({ "pattern": "{src,/etc}/*" }), false),
        ("Glob", json!({ "pattern": "*/../../data/*" }), false),
        ("Glob", json!({ "pattern": "lib/*", "path": "src" }), true),
        ("Grep", json!({ "pattern": "../x" }), true),
        ("Grep", json!({ "pattern": "x", "glob": "../data/*" }), false),
        ("Grep", json!({ "pattern": "x", "path": "/etc" }), false),
    ] {
        let decision = fixture.check(&BASELINE, tool, input.clone()).await;
        assert_eq!(decision == Decision::Allow, covered, "{tool} {input}: {decision:?}");
    }
}

#[tokio::test]
async fn a_search_is_covered_only_if_everything_below_is() {
    let fixture = PermissionFixture::new();
    for (rule, path, covered) in [
        ("Grep(./src/**)", "src", true),
        ("Grep(./src/**)", "src/lib", true),
        ("Grep(./src/**)", "src/a.rs", true),
        ("Grep(./src/**)", ".", false),
        ("Grep(./src/*.rs)", "src/a.rs", true),
        ("Grep(./src/*)", "src/lib", false),
        ("Grep(./src/lib)", "src/lib", false),
        ("Grep(./**/lib/**)", "src/lib", true),
        ("Grep(./**/*.rs)", "src", false),
        ("Grep", ".", true),
    ] {
        let decision = fixture.check(&[rule], "Grep", json!({ "pattern": "x", "path": path })).await;
        assert_eq!(decision == Decision::Allow, covered, "{rule} {path}: {decision:?}");
    }
}

#[tokio::test]
async fn rules_for_a_related_tool_cover_a_call_without_allowing_it() {
    let fixture = PermissionFixture::new();
    let check = async |rule: &str, tool: &str, input: Value| fixture.check(&[rule], tool, input).await;
    let notebook = || json!({ "notebook_path": "a.ipynb" });
    assert_eq!(check("Edit(./**)", "NotebookEdit", notebook()).await, Decision::Abstain);
    assert_eq!(check("NotebookEdit(./**)", "NotebookEdit", notebook()).await, Decision::Allow);
    assert_eq!(check("Edit(./**)", "MultiEdit", json!({ "file_path": "a" })).await, Decision::Abstain);
    assert_eq!(check("Read(./**)", "NotebookRead", notebook()).await, Decision::Abstain);
    assert_eq!(check("Glob(./**)", "LS", json!({ "path": "." })).await, Decision::Abstain);
    for (rule, tool) in
        [("Write(./**)", "NotebookEdit"), ("NotebookEdit(./**)", "Edit"), ("Read(./**)", "Grep")]
    {
        let input = json!({ "path": "a", "file_path": "a", "notebook_path": "a" });
        assert!(matches!(check(rule, tool, input).await, Decision::Deny(_)), "{rule} {tool}");
    }
    let toolchain = json!({ "file_path": "/usr/include/stdio.h" });
    assert_eq!(
        check("Read(./**)", "Read", toolchain.clone()).await,
        Decision::Abstain,
        "left to the path rules"
    );
    assert!(matches!(check("Write(./**)", "Write", toolchain).await, Decision::Deny(_)));
}

#[tokio::test]
async fn tools_without_patterns_are_covered_by_name_in_either_list() {
    let fixture = PermissionFixture::new();
    for (rules, tools, name, covered) in [
        (&["mcp__a__*"][..], &[][..], "mcp__a__b", true),
        (&["mcp__a"], &[], "mcp__a__b", true),
        (&["mcp__a__*"], &[], "mcp__ab__c", false),
        (&[], &["mcp__a__*"], "mcp__a__b", true),
        (&[], &["mcp__a__b"], "mcp__a__c", false),
        (&["WebSearch"], &[], "WebSearch", true),
        (&[], &["Task", "WebSearch"], "WebSearch", true),
        (&["WebFetch"], &["WebFetch"], "WebSearch", false),
        (&BASELINE, &BASELINE_TOOLS, "mcp__a__b", false),
    ] {
        let options = fixture.options(Mode::Run, rules, tools);
        let decision = fixture.check_with(&options, name, json!({})).await;
        assert_eq!(decision == Decision::Allow, covered, "{rules:?} {tools:?} {name}: {decision:?}");
        let sync = fixture.check_with(&PolicyOptions { mode: Mode::Sync, ..options }, name, json!({})).await;
        assert!(matches!(sync, Decision::Deny(_)), "{name} in sync");
    }
    for name in ["mcp__autonoe__list", "Task", "Unknown"] {
        assert_eq!(
            fixture.check(&[], name, json!({})).await,
            Decision::Abstain,
            "{name} has no permission rules"
        );
    }
    let names_only = fixture.options(Mode::Run, &[], &["WebFetch", "Bash", "Read"]);
    for (name, input) in [
        ("WebFetch", json!({ "url": "https://api.example.com/" })),
        ("Bash", json!({ "command": "ls" })),
        ("Read", json!({ "file_path": "src/a.rs" })),
    ] {
        let decision = fixture.check_with(&names_only, name, input).await;
        assert!(matches!(decision, Decision::Deny(_)), "listing {name} in allowedTools is not a rule");
    }
}

#[tokio::test]
async fn a_denial_names_the_rules_and_how_to_add_one() {
    let fixture = PermissionFixture::new();
    for (tool, input, expected) in [
        (
            "Read",
            json!({ "file_path": "/etc/hosts" }),
            &["Read(./**)", "\"Read(/etc/hosts)\"", "permissions.allow"][..],
        ),
        ("Grep", json!({ "path": "/etc" }), &["Grep(./**)", "\"Grep(/etc/**)\""]),
        ("WebFetch", json!({ "url": "https://x.example/" }), &["none", "agent.json", "WebFetch(https://"]),
        ("mcp__a__b", json!({}), &["\"mcp__a__b\""]),
    ] {
        let Decision::Deny(reason) = fixture.check(&BASELINE, tool, input).await else {
            panic!("{tool} is not denied")
        };
        for part in expected {
            assert!(reason.contains(part), "{reason:?} lacks {part:?}");
        }
    }
}

#[test]
fn readable_roots_are_the_literal_paths_outside_the_project() {
    let fixture = PermissionFixture::new();
    let rules = [
        "Read(./**)",
        "Read",
        "Read(@/shared/*.csv)",
        "Grep(@/data/**)",
        "Read(@/data/deep/b.csv)",
        "Read(~/notes/**)",
        "Read(@/proj/src/**)",
        "Write(@/home/**)",
    ];
    let options = fixture.options(Mode::Sync, &rules, &[]);
    let roots = ["data", "data/deep/b.csv", "home/notes"].map(|path| fixture.base.join(path));
    assert_eq!(PermissionSet::new(&options).readable_roots(), roots);
}

/// Whether all gates together allow a call.
async fn all_gates_allow(options: &PolicyOptions, phase: Phase, name: &str, input: Value) -> bool {
    ask(&crate::gates_for(phase, options), &call(name, input)).await == GateRuling::Allowed
}

#[tokio::test]
async fn seed_002_9_3_rules_add_to_the_baseline_and_the_other_gates_still_judge() {
    let fixture = PermissionFixture::new();
    let rules =
        [&BASELINE[..], &["Bash(npm run *)", "WebFetch(https://api.example.com/*)", "Write(/**)"]].concat();
    let tools = [&BASELINE_TOOLS[..], &["Task", "mcp__playwright__*"]].concat();
    let options = fixture.options(Mode::Run, &rules, &tools);
    let out = fixture.base.join("data/a.csv");
    for (name, input, run, sync) in [
        ("Read", json!({ "file_path": "src/a.rs" }), true, true),
        ("Write", json!({ "file_path": "src/a.rs" }), true, false),
        ("Write", json!({ "file_path": ".autonoe-note.md" }), true, true),
        ("Write", json!({ "file_path": out }), false, false),
        ("Write", json!({ "file_path": ".git/config" }), false, false),
        ("Bash", json!({ "command": "npm run build" }), true, true),
        ("Bash", json!({ "command": "git status" }), true, true),
        ("Bash", json!({ "command": "curl https://x.example" }), false, false),
        ("WebFetch", json!({ "url": "https://api.example.com/a" }), true, false),
        ("WebFetch", json!({ "url": "https://evil.example/a" }), false, false),
        ("Task", json!({}), true, false),
        ("mcp__playwright__browser_click", json!({}), true, false),
        ("mcp__other__x", json!({}), false, false),
        ("mcp__autonoe__list", json!({}), true, true),
        ("NotebookEdit", json!({ "notebook_path": "a.ipynb" }), false, false),
        ("WebSearch", json!({}), false, false),
        ("Unknown", json!({}), false, false),
    ] {
        assert_eq!(
            all_gates_allow(&options, Phase::Coding, name, input.clone()).await,
            run,
            "run: {name} {input}"
        );
        assert_eq!(
            all_gates_allow(&options, Phase::Verify, name, input.clone()).await,
            sync,
            "sync: {name} {input}"
        );
    }
}
