use super::{Provider, ProviderKind};

#[test]
fn kinds_round_trip_and_openai_is_distinguished_from_compatible_servers() {
    for kind in ProviderKind::ALL {
        assert_eq!(ProviderKind::parse(kind.name()), Ok(kind));
        let json = serde_json::to_value(kind).unwrap();
        assert_eq!(json, kind.name());
    }
    let fault = ProviderKind::parse("bedrock").expect_err("unknown");
    assert_eq!(fault.code, "provider_not_supported");
    assert!(fault.message.contains("openai-compatible"), "{}", fault.message);
    for (url, kind) in [
        (None, ProviderKind::OpenAi),
        (Some("https://api.openai.com/v1"), ProviderKind::OpenAi),
        (Some("https://eu.api.openai.com"), ProviderKind::OpenAi),
        (Some("http://127.0.0.1:8000/v1"), ProviderKind::OpenAiCompatible),
        (Some("https://notopenai.com"), ProviderKind::OpenAiCompatible),
        (Some("nonsense"), ProviderKind::OpenAiCompatible),
    ] {
        assert_eq!(ProviderKind::of_openai(url), kind, "{url:?}");
    }
}

#[test]
fn a_key_is_not_shown() {
    let provider = Provider {
        name: "x".to_owned(),
        kind: ProviderKind::OpenAiCompatible,
        base_url: None,
        api_key: Some("very-secret".to_owned()),
    };
    assert!(!format!("{provider:?}").contains("very-secret"));
}
