//! Who makes a model, by its name, in the words of the conventions. A guess where the name does not say it.

/// What is said when nothing gives the provider away.
const UNKNOWN: &str = "unknown";

/// How providers are written before a slash, and what the conventions call them.
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

/// How names of models and of backends begin.
const BEGINNINGS: [(&str, &str); 10] = [
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

/// The provider of a model, and the model's name without it.
pub fn provider_of<'a>(model: &'a str, backend: &str) -> (&'static str, &'a str) {
    let named = model.split_once('/').and_then(|(prefix, name)| {
        let (_, provider) = PREFIXES.into_iter().find(|(known, _)| *known == prefix)?;
        Some((provider, name))
    });
    let begins =
        |name: &str| BEGINNINGS.into_iter().find(|(start, _)| name.starts_with(start)).map(|(_, who)| who);
    named.unwrap_or_else(|| (begins(model).or_else(|| begins(backend)).unwrap_or(UNKNOWN), model))
}

#[cfg(test)]
mod tests {
    use super::provider_of;

    #[test]
    fn a_name_gives_its_provider_away() {
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
