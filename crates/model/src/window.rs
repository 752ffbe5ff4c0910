//! How much a model can read at once. A small table by family, on the safe side: where a family differs, the smallest
//! window counts, and one that is not listed is not known.

/// Tokens by the beginning of a model's name; the first match counts.
const WINDOWS: [(&str, u64); 13] = [
    ("claude-", 200_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("chatgpt-4o", 128_000),
    // Of a window of 400,000, so much may be input.
    ("gpt-5", 272_000),
    ("gpt-6", 272_000),
    ("codex-", 200_000),
    ("o1", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini-", 1_048_576),
    ("gpt-oss", 128_000),
];

/// The tokens a model can read at once, if that is known. A name may have the vendor in front, as routers have it.
pub(crate) fn of(model: &str) -> Option<u64> {
    let name = model.rsplit('/').next().unwrap_or(model);
    WINDOWS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn families_have_windows_and_strangers_have_none() {
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
