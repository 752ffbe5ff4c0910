//! How the program is installed, logged in and reached.

use autonoe_model::ProviderKind;

use crate::vendor::{KeyPlacement, VendorProfile};

pub const PROFILE: VendorProfile = VendorProfile {
    program: "codex",
    oldest: [0, 166, 0],
    install: "npm install -g @openai/codex",
    log_in: "run `codex login`, or set OPENAI_API_KEY",
    ungated: Some("viewing images"),
    home: ("CODEX_HOME", ".codex", &["auth.json"]),
    key: (&["OPENAI_API_KEY", "CODEX_API_KEY"], KeyPlacement::Bearer),
    tokens: &[],
    base_url: ("OPENAI_BASE_URL", "https://api.openai.com"),
    hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
    passed: &[],
    models_of: ProviderKind::OpenAi,
    default_models: ("gpt-5.5", "gpt-5.5"),
};
