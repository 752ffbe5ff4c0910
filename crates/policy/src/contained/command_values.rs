//! Values that a shell, git or another program runs as a command: of environment variables and of git's settings.

/// Variables whose value is a command, or is expanded as a shell expands one.
#[rustfmt::skip]
const VARIABLES: [&str; 36] = [
    "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND",
    "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS",
    "SSH_ASKPASS", "EDITOR", "VISUAL", "FCEDIT", "PAGER", "MANPAGER", "SYSTEMD_PAGER", "LESSOPEN", "LESSCLOSE", "BROWSER",
    "GH_PAGER", "GH_EDITOR", "GH_BROWSER", "RSYNC_RSH", "CVS_RSH", "SVN_SSH", "SVN_EDITOR", "HGEDITOR",
    "FZF_DEFAULT_COMMAND", "RUSTC_WRAPPER",
];

/// Git's settings whose value is a command, in lower case.
#[rustfmt::skip]
const SETTINGS: [&str; 12] = [
    "core.sshcommand", "core.editor", "core.pager", "core.fsmonitor", "core.askpass", "core.gitproxy", "sequence.editor",
    "diff.external", "credential.helper", "gpg.program", "gpg.ssh.defaultkeycommand", "uploadpack.packobjectshook",
];

/// The last words of git's settings whose value is a command, such as `filter.NAME.clean`.
const SETTING_ENDS: [&str; 9] =
    [".cmd", ".command", ".textconv", ".clean", ".smudge", ".process", ".driver", ".helper", ".program"];

/// Whether the value of a variable is run.
pub fn is_command_variable(name: &str) -> bool {
    VARIABLES.contains(&name) || name.starts_with("GIT_CONFIG_VALUE_") || name.starts_with("GIT_PAGER_")
}

/// What git runs for a setting; `None` if it runs nothing.
pub fn command_of_setting(key: &str, value: &str) -> Option<String> {
    let key = key.to_lowercase();
    let is_alias = key.starts_with("alias.");
    let is_command = key.starts_with("pager.")
        || SETTINGS.contains(&key.as_str())
        || SETTING_ENDS.iter().any(|end| key.ends_with(end));
    match value.strip_prefix('!') {
        Some(script) if is_alias || is_command => Some(script.to_owned()),
        _ if is_alias => Some(format!("git {value}")),
        _ => is_command.then(|| value.to_owned()),
    }
}

/// What git runs for the settings in `GIT_CONFIG_PARAMETERS`: `'key=value'` or `'key'='value'`.
pub fn settings_of_parameters(parameters: &str) -> Vec<String> {
    let pieces: Vec<&str> = parameters.split('\'').filter(|piece| !piece.trim().is_empty()).collect();
    let joined = pieces.iter().filter_map(|piece| piece.split_once('='));
    let apart = pieces.windows(3).filter(|three| three[1] == "=").map(|three| (three[0], three[2]));
    joined.chain(apart).filter_map(|(key, value)| command_of_setting(key, value)).collect()
}
