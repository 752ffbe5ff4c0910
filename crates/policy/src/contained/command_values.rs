//! Values that a shell, git or another program runs as a command: of environment variables and of git's settings.

/// Variables whose value is a command, or is expanded as a shell expands one.
#[rustfmt::skip]
const VARIABLES: [&str; 55] = [
    "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND",
    "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS",
    "SSH_ASKPASS", "EDITOR", "VISUAL", "FCEDIT", "PAGER", "MANPAGER", "SYSTEMD_PAGER", "LESSOPEN", "LESSCLOSE", "BROWSER",
    "GH_PAGER", "GH_EDITOR", "GH_BROWSER", "RSYNC_RSH", "CVS_RSH", "SVN_SSH", "SVN_EDITOR", "HGEDITOR",
    "FZF_DEFAULT_COMMAND", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC", "RUSTDOC", "CC", "CXX", "SUDO_ASKPASS",
    "SUDO_EDITOR", "KUBE_EDITOR", "KUBECTL_EXTERNAL_DIFF", "BAT_PAGER", "DELTA_PAGER", "SYSTEMD_EDITOR", "P4EDITOR",
    "PARALLEL", "WATCHEXEC_SHELL", "npm_config_script_shell", "NPM_CONFIG_SCRIPT_SHELL", "npm_config_editor", "MANROFFOPT",
];

/// The sections of git's settings whose values are texts about people.
const TEXT_SECTIONS: [&str; 3] = ["user.", "author.", "committer."];

/// Whether the value of a variable is run.
pub fn is_command_variable(name: &str) -> bool {
    let is_of_target =
        name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
    is_of_target
        || VARIABLES.contains(&name)
        || name.starts_with("GIT_CONFIG_VALUE_")
        || name.starts_with("GIT_PAGER_")
}

/// What git may run for a setting; `None` if it is none, or only text. Git has too many settings that are commands, and
/// has more with each version, to tell them from others: a name or a number is no command that publishes.
pub fn command_of_setting(key: &str, value: &str) -> Option<String> {
    let key = key.to_lowercase();
    let is_setting = key.contains('.')
        && key.starts_with(|c: char| c.is_ascii_lowercase())
        && !key.contains([' ', '\n'])
        && !TEXT_SECTIONS.iter().any(|section| key.starts_with(section));
    match value.strip_prefix('!') {
        _ if !is_setting => None,
        Some(script) => Some(script.to_owned()),
        None if key.starts_with("alias.") => Some(format!("git {value}")),
        None => Some(value.to_owned()),
    }
}

/// What git runs for the settings in `GIT_CONFIG_PARAMETERS`: `'key=value'` or `'key'='value'`.
pub fn settings_of_parameters(parameters: &str) -> Vec<String> {
    let pieces: Vec<&str> = parameters.split('\'').filter(|piece| !piece.trim().is_empty()).collect();
    let joined = pieces.iter().filter_map(|piece| piece.split_once('='));
    let apart = pieces.windows(3).filter(|three| three[1] == "=").map(|three| (three[0], three[2]));
    joined.chain(apart).filter_map(|(key, value)| command_of_setting(key, value)).collect()
}
