//! Context windows by model family. Conservative: where models of a family differ, the smallest window is
//! listed, and families that are not listed are unknown.

/// Tokens by prefix of the model's name; the first match wins.
const WINDOWS: [(&str, u64); 13] = [
    ("claude-", 200_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("chatgpt-4o", 128_000),
    // The input part of a window of 400,000.
    ("gpt-5", 272_000),
    ("gpt-6", 272_000),
    ("codex-", 200_000),
    ("o1", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini-", 1_048_576),
    ("gpt-oss", 128_000),
];

/// The window in tokens; `None` if unknown. The name may have a vendor prefix, as routers use it.
pub(crate) fn of(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model);
    WINDOWS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn known_families_have_windows_and_others_have_none() {
        for (model, wanted) in [
            ("claude-sonnet-5", Some(200_000)),
            ("gpt-5.2", Some(272_000)),
            ("gpt-4.1-mini", Some(1_047_576)),
            ("o3-pro", Some(200_000)),
            ("gemini-3-pro", Some(1_048_576)),
            ("anthropic/claude-sonnet-5", Some(200_000)),
            ("qwen3", None),
            ("llama3", None),
        ] {
            assert_eq!(of(model), wanted, "{model}");
        }
    }
}
