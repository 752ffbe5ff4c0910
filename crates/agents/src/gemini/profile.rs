//! How the program is installed, logged in and reached.

use autonoe_model::ProviderKind;

use crate::vendor::{KeyPlacement, VendorProfile};

pub const PROFILE: VendorProfile = VendorProfile {
    program: "gemini",
    oldest: [0, 61, 0],
    install: "npm install -g @google/gemini-cli",
    log_in: "start `gemini` and log in, or set GEMINI_API_KEY",
    ungated: None,
    home: ("GEMINI_CLI_HOME", ".gemini", &["oauth_creds.json", "google_accounts.json"]),
    key: (&["GEMINI_API_KEY", "GOOGLE_API_KEY"], KeyPlacement::Header("x-goog-api-key")),
    tokens: &[],
    base_url: ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
    hosts: &[
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "oauth2.googleapis.com",
        "accounts.google.com",
    ],
    passed: &["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_USE_VERTEXAI"],
    models_of: ProviderKind::Gemini,
    default_models: ("gemini-2.5-pro", "gemini-2.5-pro"),
};
