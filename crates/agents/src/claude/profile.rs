//! How the program is installed, logged in and reached.

use autonoe_model::ProviderKind;

use crate::vendor::{KeyPlacement, VendorProfile};

pub const PROFILE: VendorProfile = VendorProfile {
    program: "claude",
    oldest: [2, 1, 325],
    install: "npm install -g @anthropic-ai/claude-code",
    log_in: "start `claude` and type /login, or set ANTHROPIC_API_KEY",
    ungated: None,
    home: ("CLAUDE_CONFIG_DIR", ".claude", &[".credentials.json"]),
    key: (&["ANTHROPIC_API_KEY"], KeyPlacement::Header("x-api-key")),
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
    models_of: ProviderKind::Anthropic,
    default_models: ("opus", "sonnet"),
};
