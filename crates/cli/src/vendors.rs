//! The agents of other vendors: what each needs to be known of, and whether it could be driven here.

use std::path::PathBuf;

use crate::backend_name::BackendName;
use crate::environment::Environment;
use crate::probe::Version;
use crate::programs::find_program;

/// Whether an agent can be driven here, as far as can be seen without starting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// The program, if it is one and was found.
    pub program: Option<PathBuf>,
    /// What it would log in with; none if nothing was found.
    pub login: Option<&'static str>,
    /// The oldest version that is known to work.
    pub oldest: Version,
    /// How to get it.
    pub install: &'static str,
    /// How to log in.
    pub log_in: &'static str,
    /// What of it our gates cannot veto, so that the sandbox alone holds it.
    pub ungated: Option<&'static str>,
}

/// A vendor's agent: its program, where it keeps the user's login, what it is told by the environment.
pub struct Vendor {
    /// What the program is called.
    pub program: &'static str,
    /// The oldest version that is known to work.
    pub oldest: Version,
    /// How a user gets it.
    pub install: &'static str,
    /// How they log in.
    pub log_in: &'static str,
    /// What of it our gates cannot veto, so that the sandbox alone holds it.
    pub ungated: Option<&'static str>,
    /// The variable that names its directory, that directory below the home, and the files of a login in it.
    pub home: (&'static str, &'static str, &'static [&'static str]),
    /// The variables with a key of the service, the first of which counts, and how it is sent.
    pub key: (&'static [&'static str], Sent),
    /// Other variables that log it in.
    pub tokens: &'static [&'static str],
    /// The variable that says where the service is, and where it is otherwise.
    pub base_url: (&'static str, &'static str),
    /// The hosts that it talks to with the user's login.
    pub hosts: &'static [&'static str],
    /// Further variables of the user's that it is passed: other services through which its models are had.
    pub passed: &'static [&'static str],
}

/// How a key is sent.
#[derive(Clone, Copy)]
pub enum Sent {
    /// As the whole of this header.
    Header(&'static str),
    /// As a bearer token.
    Bearer,
}

/// Claude Code.
pub const CLAUDE: Vendor = Vendor {
    program: "claude",
    oldest: [2, 1, 325],
    install: "npm install -g @anthropic-ai/claude-code",
    log_in: "start `claude` and type /login, or set ANTHROPIC_API_KEY",
    ungated: None,
    home: ("CLAUDE_CONFIG_DIR", ".claude", &[".credentials.json"]),
    key: (&["ANTHROPIC_API_KEY"], Sent::Header("x-api-key")),
    tokens: &["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"],
    base_url: ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    hosts: &["api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"],
    passed: &[
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL",
        "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "ANTHROPIC_DEFAULT_SONNET_MODEL",
        "ANTHROPIC_SMALL_FAST_MODEL",
        "ANTHROPIC_VERTEX_PROJECT_ID",
        "AWS_ACCESS_KEY_ID",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLOUD_ML_REGION",
    ],
};

/// Codex.
pub const CODEX: Vendor = Vendor {
    program: "codex",
    oldest: [0, 166, 0],
    install: "npm install -g @openai/codex",
    log_in: "run `codex login`, or set OPENAI_API_KEY",
    ungated: Some("looking at pictures"),
    home: ("CODEX_HOME", ".codex", &["auth.json"]),
    key: (&["OPENAI_API_KEY", "CODEX_API_KEY"], Sent::Bearer),
    tokens: &[],
    base_url: ("OPENAI_BASE_URL", "https://api.openai.com"),
    hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
    passed: &[],
};

/// The Gemini CLI.
pub const GEMINI: Vendor = Vendor {
    program: "gemini",
    oldest: [0, 61, 0],
    install: "npm install -g @google/gemini-cli",
    log_in: "start `gemini` and log in, or set GEMINI_API_KEY",
    ungated: None,
    home: ("GEMINI_CLI_HOME", ".gemini", &["oauth_creds.json", "google_accounts.json"]),
    key: (&["GEMINI_API_KEY", "GOOGLE_API_KEY"], Sent::Header("x-goog-api-key")),
    tokens: &[],
    base_url: ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    hosts: &[
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "oauth2.googleapis.com",
        "accounts.google.com",
    ],
    passed: &["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_VERTEXAI"],
};

fn vendor(name: &BackendName) -> Option<&'static Vendor> {
    match name {
        BackendName::Native | BackendName::Acp(_) | BackendName::Configured(_) | BackendName::Replay(_) => {
            None
        }
        BackendName::Gemini => Some(&GEMINI),
        BackendName::Claude => Some(&CLAUDE),
        BackendName::Codex => Some(&CODEX),
    }
}

/// Looks whether a vendor's agent is there and has something to log in with.
pub fn readiness(name: &BackendName, environment: &Environment) -> Option<Readiness> {
    let vendor = vendor(name)?;
    let program = find_program(vendor.program, environment);
    let has = |name: &&str| environment.variable(name).is_some();
    let variables = || vendor.key.0.iter().chain(vendor.tokens).find(|name| has(name)).copied();
    let login = variables().or_else(|| {
        let directory = vendor.directory(environment)?;
        vendor.home.2.iter().find(|name| directory.join(name).is_file()).copied()
    });
    let Vendor { oldest, install, log_in, ungated, .. } = *vendor;
    Some(Readiness { program, login, oldest, install, log_in, ungated })
}

impl Vendor {
    /// The user's own directory of this agent.
    pub fn directory(&self, environment: &Environment) -> Option<PathBuf> {
        let (variable, below_home, _) = self.home;
        let named = environment.variable(variable).map(PathBuf::from);
        // With some the variable names the directory around it.
        let named = named.map(|named| match named.join(below_home) {
            inside if inside.is_dir() => inside,
            _ => named,
        });
        named.or_else(|| Some(environment.home.as_ref()?.join(below_home)))
    }
}
