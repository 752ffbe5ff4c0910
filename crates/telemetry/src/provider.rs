//! The provider of a model, in the terms of the semantic conventions, guessed from the model's name or the backend.

const UNKNOWN: &str = "unknown";

/// Provider prefixes before a slash, and their names in the semantic conventions.
const PREFIXES: [(&str, &str); 8] = [
    ("anthropic", "anthropic"),
    ("deepseek", "deepseek"),
    ("gemini", "gcp.gemini"),
    ("groq", "groq"),
    ("mistral", "mistral_ai"),
    ("ollama", "ollama"),
    ("openai", "openai"),
    ("xai", "x_ai"),
];

/// How the names of models and backends start, and the provider that this implies.
const NAME_PREFIXES: [(&str, &str); 10] = [
    ("claude", "anthropic"),
    ("chatgpt", "openai"),
    ("codex", "openai"),
    ("deepseek", "deepseek"),
    ("gemini", "gcp.gemini"),
    ("gpt-", "openai"),
    ("grok", "x_ai"),
    ("mistral", "mistral_ai"),
    ("o3", "openai"),
    ("o4", "openai"),
];

/// The provider of a model, and the model's name without the provider prefix.
pub fn provider_of<'a>(model: &'a str, backend: &str) -> (&'static str, &'a str) {
    let named = model.split_once('/').and_then(|(prefix, name)| {
        let (_, provider) = PREFIXES.into_iter().find(|(known, _)| *known == prefix)?;
        Some((provider, name))
    });
    let by_prefix = |name: &str| {
        NAME_PREFIXES.into_iter().find(|(start, _)| name.starts_with(start)).map(|(_, provider)| provider)
    };
    named.unwrap_or_else(|| (by_prefix(model).or_else(|| by_prefix(backend)).unwrap_or(UNKNOWN), model))
}

#[cfg(test)]
mod tests {
    use super::provider_of;

    #[test]
    fn the_provider_is_guessed_from_the_name() {
        let table = [
            ("claude-sonnet-5", "native", "anthropic", "claude-sonnet-5"),
            ("openai/gpt-9", "native", "openai", "gpt-9"),
            ("ollama/qwen/small", "native", "ollama", "qwen/small"),
            ("gemini-9-pro", "native", "gcp.gemini", "gemini-9-pro"),
            ("default", "codex", "openai", "default"),
            ("house/model", "native", "unknown", "house/model"),
        ];
        for (model, backend, provider, name) in table {
            assert_eq!(provider_of(model, backend), (provider, name));
        }
    }
}
