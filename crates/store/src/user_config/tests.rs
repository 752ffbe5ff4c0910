use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use autonoe_core::notification::NotificationEvent;
use tempfile::TempDir;

use super::{
    ChannelConfig, NotifyConfig, NotifyTargetConfig, SandboxConfig, UserConfig, ValueSource, WebhookShape,
    WebhooksConfig,
};
use crate::byte_size::ByteSize;
use crate::config::AgentConfig;

fn parse(text: &str) -> Result<UserConfig, String> {
    UserConfig::parse(text, Some(Path::new("/home/me"))).map_err(|error| error.to_string())
}

/// A file with this text and mode.
fn written(text: &str, mode: u32) -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("temporary directory");
    let path = directory.path().join("config.toml");
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permissions set");
    (directory, path)
}

/// First example in this language in docs/configuration.md.
fn documented(language: &str) -> &'static str {
    example(include_str!("../../../../docs/configuration.md"), language)
}

fn example<'a>(document: &'a str, language: &str) -> &'a str {
    let rest = document.split_once(&format!("```{language}\n")).expect("an example").1;
    rest.split_once("```").expect("its end").0
}

#[test]
fn the_documented_examples_are_parsed() {
    AgentConfig::parse(documented("json")).expect("valid");
    let config = parse(documented("toml")).expect("valid");
    assert!(config.sandbox.enabled);
    assert_eq!(config.sandbox.read, [Path::new("/home/me/datasets")]);
    assert_eq!(config.sandbox.write, [Path::new("/home/me/.cargo/registry")]);
    assert_eq!(config.sandbox.max_processes.map(u32::from), Some(512));
    assert_eq!(config.sandbox.max_memory, ByteSize::new(8 << 30));
    assert_eq!(config.sandbox.max_file_size, ByteSize::new(4 << 30));
    assert_eq!(config.network.allow, ["artifacts.example.com", "*.internal.example.com:8443"]);
    assert_eq!(config.webhooks.hosts, ["hooks.example.com"]);
    assert_eq!(config.webhooks.secret_variable.as_deref(), Some("HOOK_SECRET"));
}

#[test]
fn absent_settings_have_defaults() {
    let directory = TempDir::new().expect("temporary directory");
    let absent = UserConfig::load(&directory.path().join("no/config.toml"), None).expect("defaults");
    assert_eq!(absent, UserConfig::default());
    assert!(absent.sandbox.enabled, "the sandbox is on by default");
    assert_eq!(parse(""), Ok(UserConfig::default()));
    assert_eq!(parse("[sandbox]\n[network]\n"), Ok(UserConfig::default()));
    let off = parse("[sandbox]\nenabled = false").expect("valid").sandbox;
    assert_eq!(off, SandboxConfig { enabled: false, ..SandboxConfig::default() });
    assert_eq!(parse("sandbox.max_memory = 4096").expect("valid").sandbox.max_memory, ByteSize::new(4096));
}

#[test]
fn errors_name_the_field_the_line_and_the_choices() {
    for (text, wanted) in [
        ("\n[sandbx]\n", vec!["sandbx", "`sandbox`", "`network`", "line 2"]),
        (
            "[sandbox]\nenabled = true\nmax_memroy = \"8GiB\"",
            vec!["sandbox.max_memroy", "`max_memory`", "`max_file_size`", "line 3"],
        ),
        ("[network]\n\nalow = []", vec!["network.alow", "`allow`", "line 3"]),
        ("[network]\nallow = [\"a\", 3]", vec!["network.allow[1]", "string", "line 2"]),
        ("[network]\nallow = \"a\"", vec!["network.allow", "sequence", "line 2"]),
        ("[sandbox]\nenabled = \"no\"", vec!["sandbox.enabled", "boolean", "line 2"]),
        ("[sandbox]\nmax_memory = \"8 gigs\"", vec!["sandbox.max_memory", "'8 gigs'", "GiB", "line 2"]),
        ("[sandbox]\nmax_memory = 1.5", vec!["sandbox.max_memory", "1.5", "\"8GiB\"", "line 2"]),
        ("[sandbox]\nmax_memory = -1", vec!["sandbox.max_memory", "-1", "line 2"]),
        (
            "[sandbox]\nmax_file_size = 0",
            vec!["sandbox.max_file_size", "zero never means unlimited", "line 2"],
        ),
        ("[sandbox]\nmax_file_size = \"0GiB\"", vec!["sandbox.max_file_size", "zero never", "line 2"]),
        (
            "[sandbox]\nmax_processes = 0",
            vec!["sandbox.max_processes", "zero never means unlimited", "line 2"],
        ),
        ("[sandbox]\nmax_processes = 5000000000", vec!["sandbox.max_processes", "5000000000", "line 2"]),
        ("[sandbox]\nenabled = true\nenabled = false", vec!["duplicate key", "line 3"]),
        ("[sandbox\n", vec!["line 1"]),
        ("[sandbox]\nread = [\"/a\", \"data\"]", vec!["sandbox.read[1]", "'data'", "~/"]),
        ("[sandbox]\nwrite = [\"./data\"]", vec!["sandbox.write[0]", "'./data'", "absolute"]),
        ("[sandbox]\nwrite = [\"~you/data\"]", vec!["sandbox.write[0]", "'~you/data'"]),
        ("[sandbox]\nwrite = [\"\"]", vec!["sandbox.write[0]", "relative"]),
        ("[sandbox]\nread = [\"~/../you\"]", vec!["sandbox.read[0]", "'..'"]),
    ] {
        let message = parse(text).expect_err(text);
        for part in wanted {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
}

#[test]
fn webhooks_go_to_hosts_that_the_user_named_and_are_signed_with_a_variable() {
    assert_eq!(parse("").expect("valid").webhooks, WebhooksConfig::default());
    let webhooks = parse("[webhooks]\nhosts = [\"hooks.example.org\"]\nsecret_variable = \"_HOOK_2\"")
        .expect("valid")
        .webhooks;
    assert_eq!(webhooks.hosts, ["hooks.example.org"]);
    assert_eq!(webhooks.secret_variable.as_deref(), Some("_HOOK_2"));
    for (text, wanted) in [
        ("[webhooks]\nhost = []", vec!["webhooks.host", "`hosts`", "`secret_variable`", "line 2"]),
        ("[webhooks]\nhosts = [1]", vec!["webhooks.hosts[0]", "string", "line 2"]),
        ("[webhooks]\nsecret_variable = \"\"", vec!["webhooks.secret_variable", "HOOK_SECRET"]),
        ("[webhooks]\nsecret_variable = \"2A\"", vec!["webhooks.secret_variable"]),
        (
            "[webhooks]\nsecret_variable = \"whsec-7+x\"",
            vec!["webhooks.secret_variable", "must not be in this file"],
        ),
    ] {
        let message = parse(text).expect_err(text);
        assert!(!message.contains("whsec"), "{message}");
        for part in wanted {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
}

fn target(text: &str) -> Result<NotifyTargetConfig, String> {
    let config = parse(&format!("[notify.targets.team]\n{text}"))?.notify;
    Ok(config.targets.into_values().next().expect("one target"))
}

#[test]
fn a_target_of_notifications_has_the_settings_of_its_kind() {
    assert_eq!(parse("").expect("valid").notify, NotifyConfig::default());
    assert_eq!(parse("[notify]\ndenied_threshold = 3").expect("valid").notify.denied_threshold.get(), 3);
    let desktop = target("kind = 'desktop'").expect("valid");
    assert_eq!(
        (desktop.channel, desktop.events.len()),
        (ChannelConfig::Desktop, NotificationEvent::ALL.len() - 1)
    );
    assert!(!desktop.events.contains(&NotificationEvent::Progress), "nobody has to know");
    let filtered = target("kind = 'desktop'\nevents = ['stuck', 'done', 'done']\nexpire_after = '2h'");
    let filtered = filtered.expect("valid");
    assert_eq!(filtered.events, [NotificationEvent::Done, NotificationEvent::Stuck].into());
    assert_eq!(filtered.expire_after.map(|limit| limit.as_secs()), Some(7200));
    let webhook =
        target("kind = 'webhook'\nshape = 'ntfy'\nurl_variable = 'U'\nsecret_command = ['pass', 'x']");
    assert_eq!(
        webhook.expect("valid").channel,
        ChannelConfig::Webhook {
            shape: WebhookShape::Ntfy,
            url: ValueSource::Variable("U".to_owned()),
            secret: Some(ValueSource::Command(vec!["pass".to_owned(), "x".to_owned()])),
            token: None,
        }
    );
    let email = target("kind = 'email'\nto = ['ann+x@example.com', 'root@localhost']\nfrom = 'a@b'");
    assert!(matches!(email.expect("valid").channel, ChannelConfig::Email { sendmail: None, .. }));
}

#[test]
fn the_documented_targets_are_parsed_and_all_events_are_documented() {
    let document = include_str!("../../../../docs/notify.md");
    let targets = parse(example(document, "toml")).expect("valid").notify.targets;
    assert_eq!(targets.keys().collect::<Vec<_>>(), ["desk", "phone"]);
    for event in NotificationEvent::ALL {
        assert!(document.contains(&format!("\n| `{}` | ", event.name())), "{event:?}");
    }
}

#[test]
fn a_wrong_target_of_notifications_is_named_without_its_secrets() {
    let many: String = (0..51).map(|at| format!("[notify.targets.t{at}]\nkind = 'desktop'\n")).collect();
    assert!(parse(&many).expect_err("many").contains("more than 50"));
    for (text, wanted) in [
        (
            "[notify]\ndenied_treshold = 3",
            vec!["notify.denied_treshold", "line 2", "did you mean `denied_threshold`?"],
        ),
        ("[notify]\ndenied_threshold = 0", vec!["notify.denied_threshold", "zero never"]),
        ("[notify.targets.'a b']\nkind = 'desktop'", vec!["notify.targets", "'a b'", "letters"]),
    ] {
        let message = parse(text).expect_err(text);
        for part in wanted {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
    for (text, wanted) in [
        ("", vec!["notify.targets.team", "`kind`"]),
        ("kind = 'desk'", vec!["notify.targets.team.kind", "`desktop`", "line 2"]),
        ("kind = 'webhok'\nurl = 'x'", vec!["did you mean `webhook`?"]),
        (
            "kind = 'desktop'\nevent = ['done']",
            vec!["notify.targets.team.event", "line 3", "did you mean `events`?"],
        ),
        ("kind = 'desktop'\nevents = ['dnoe']", vec!["events[0]", "did you mean `done`?"]),
        ("kind = 'desktop'\nevents = ['test']", vec!["events[0]", "unknown variant"]),
        ("kind = 'desktop'\nevents = []", vec!["never be notified"]),
        ("kind = 'desktop'\nurl = 'https://whsec'", vec!["`url`", "\"desktop\""]),
        ("kind = 'email'\nto = ['a@b']\nshape = 'slack'", vec!["`shape`", "\"email\""]),
        ("kind = 'command'", vec!["`command`"]),
        ("kind = 'command'\ncommand = []", vec!["`command`: name a program"]),
        ("kind = 'command'\ncommand = [' ']", vec!["`command`: name a program"]),
        ("kind = 'webhook'", vec!["`url_variable`"]),
        ("kind = 'webhook'\nurl = 'https://whsec'\nurl_variable = 'U'", vec!["only one of", "`url_command`"]),
        ("kind = 'webhook'\nurl_variable = 'https://whsec'", vec!["`url_variable`", "SLACK_URL"]),
        (
            "kind = 'webhook'\nurl = 'x'\nsecret_variable = 'whsec-7'",
            vec!["`secret_variable`", "HOOK_SECRET"],
        ),
        ("kind = 'webhook'\nurl = 'x'\nshape = 'teams'", vec!["shape", "`discord`"]),
        ("kind = 'email'", vec!["`to`"]),
        ("kind = 'email'\nto = []", vec!["`to`"]),
        ("kind = 'email'\nto = ['a@b', 'ann']", vec!["'ann' is not an e-mail address"]),
        ("kind = 'email'\nto = [\"a@b\\nBcc: c@d\"]", vec!["`to`", "\\nBcc"]),
        ("kind = 'email'\nto = ['a@b,c@d']", vec!["`to`"]),
        ("kind = 'email'\nto = ['-oQ/tmp@x']", vec!["`to`"]),
        ("kind = 'email'\nto = ['a@b']\nfrom = 'Ann <a@b>'", vec!["`from`"]),
        ("kind = 'email'\nto = ['a@b']\nsendmail = 'msmtp'", vec!["`sendmail`", "whole path"]),
        ("kind = 'desktop'\ntime_limit = '0s'", vec!["time_limit", "above 0"]),
        ("kind = 'desktop'\nexpire_after = 'soon'", vec!["expire_after", "'soon'"]),
    ] {
        let message = target(text).expect_err(text);
        assert!(!message.contains("whsec"), "{message}");
        for part in wanted {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
}

#[test]
fn the_caller_decides_the_home_directory() {
    let config = parse("sandbox.read = [\"~\", \"~/a/b\", \"/~/c\"]").expect("valid");
    assert_eq!(config.sandbox.read, ["/home/me", "/home/me/a/b", "/~/c"].map(PathBuf::from));
    let message = UserConfig::parse("sandbox.read = [\"~/a\"]", None).expect_err("no home").to_string();
    assert!(message.contains("sandbox.read[0]") && message.contains("HOME"), "{message}");
}

#[test]
fn a_file_that_others_may_write_is_rejected_with_a_hint() {
    for (mode, is_fine) in
        [(0o600, true), (0o644, true), (0o400, true), (0o664, false), (0o620, false), (0o602, false)]
    {
        let (_directory, path) = written("", mode);
        match UserConfig::load(&path, None) {
            Ok(config) => assert!(is_fine && config == UserConfig::default(), "{mode:o}"),
            Err(fault) => {
                assert!(!is_fine, "{mode:o}: {fault}");
                assert!(fault.message.contains(&format!("{mode:o}")), "{fault}");
                assert!(fault.hint.unwrap_or_default().contains("chmod go-w"), "a remedy");
            }
        }
    }
}

#[test]
fn a_fault_names_the_file_and_the_documentation() {
    let (_directory, path) = written("[sandbox]\nfoo = 1", 0o600);
    let fault = UserConfig::load(&path, None).expect_err("refused");
    assert!(fault.message.contains("config.toml is not valid: field sandbox.foo: unknown field"), "{fault}");
    assert!(!fault.message.contains('\n') && fault.message.ends_with("at line 2."), "{fault}");
    assert!(fault.hint.is_some_and(|hint| hint.contains("docs/configuration.md")));
    let directory = UserConfig::load(path.parent().expect("a parent"), None).expect_err("a directory");
    assert!(directory.message.contains("cannot be read"), "{directory}");
}

#[test]
fn agents_have_a_command() {
    let config =
        parse("[agents.mine]\ncommand = [\"mine\", \"--acp\"]\nenv = [\"MINE_HOME\"]\nhosts = [\"a.b\"]")
            .expect("valid");
    assert_eq!(config.agents["mine"].command, ["mine", "--acp"]);
    assert_eq!(config.agents["mine"].env, ["MINE_HOME"]);
    assert_eq!(config.agents["mine"].hosts, ["a.b"]);
    for (text, wanted) in [
        ("[agents.mine]", "command"),
        ("[agents.mine]\ncommand = []", "agents.mine.command"),
        ("[agents.mine]\ncommand = [\"\"]", "agents.mine.command"),
        ("[agents.mine]\ncommand = [\"a\"]\nargs = []", "args"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains(wanted), "{error}");
    }
}
