//! URLs and headers of calls, by provider kind. Base URLs are accepted with and without the API version and a
//! trailing slash.

use autonoe_core::fault::{Fault, FaultLayer};
use genai::adapter::AdapterKind;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::code::ModelErrorCode;
use crate::provider::{Provider, ProviderKind, no_key};

const ANTHROPIC_VERSION: &str = "2023-06-01";

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub url: String,
    /// The key is marked as sensitive, so that it is not printed.
    pub headers: HeaderMap,
}

pub(crate) fn adapter(kind: ProviderKind) -> AdapterKind {
    match kind {
        ProviderKind::Anthropic => AdapterKind::Anthropic,
        ProviderKind::OpenAi => AdapterKind::OpenAIResp,
        ProviderKind::OpenAiCompatible => AdapterKind::OpenAI,
        ProviderKind::Gemini => AdapterKind::Gemini,
        ProviderKind::Ollama => AdapterKind::Ollama,
    }
}

pub(crate) fn of(provider: &Provider, model: &str) -> Result<Endpoint, Fault> {
    if !provider.is_configured() {
        return Err(no_key(provider));
    }
    let Some(base) = provider.base_url.as_deref().or(provider.kind.vendor_base_url()) else {
        return Err(invalid(provider, "has no base URL"));
    };
    let mut url =
        parse(base).ok_or_else(|| invalid(provider, &format!("has an invalid base URL: '{base}'")))?;
    append(&mut url, provider.kind, model);
    Ok(Endpoint { url: url.into(), headers: headers(provider)? })
}

/// Base URLs such as `OLLAMA_HOST` may lack the scheme.
fn parse(base: &str) -> Option<Url> {
    let base = base.trim();
    let has_scheme = base.contains("://") || base.starts_with('/');
    let url = Url::parse(&if has_scheme { base.to_owned() } else { format!("http://{base}") }).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

fn append(url: &mut Url, kind: ProviderKind, model: &str) {
    let path = url.path().to_owned();
    let mut given: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_versioned = given.last().is_some_and(|part| is_version(part));
    let version = |name| (!is_versioned).then_some(name);
    let streamed = format!("{model}:streamGenerateContent");
    let call: Vec<&str> = match kind {
        ProviderKind::Anthropic => version("v1").into_iter().chain(["messages"]).collect(),
        // Paths of gateways are used as given.
        ProviderKind::OpenAi => given.is_empty().then_some("v1").into_iter().chain(["responses"]).collect(),
        ProviderKind::OpenAiCompatible => {
            given.is_empty().then_some("v1").into_iter().chain(["chat", "completions"]).collect()
        }
        ProviderKind::Gemini => version("v1beta").into_iter().chain(["models", &streamed]).collect(),
        ProviderKind::Ollama => {
            given.pop_if(|part| ["v1", "api"].contains(part));
            vec!["api", "chat"]
        }
    };
    // The given path is escaped already; `%20` must not become `%2520`.
    url.set_path(&given.join("/"));
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(call);
    }
    if kind == ProviderKind::Gemini && !url.query_pairs().any(|(name, _)| name == "alt") {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    url.set_fragment(None);
}

/// `v1`, `v4`, `v1beta`.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

fn headers(provider: &Provider) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    if provider.kind == ProviderKind::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    if let Some(key) = provider.api_key.as_deref().map(str::trim) {
        let (name, value) = match provider.kind {
            ProviderKind::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
            ProviderKind::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
            ProviderKind::OpenAi | ProviderKind::OpenAiCompatible | ProviderKind::Ollama => {
                (AUTHORIZATION, format!("Bearer {key}"))
            }
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            invalid(provider, "has an API key with characters that are not allowed in a header")
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn invalid(provider: &Provider, problem: &str) -> Fault {
    Fault::permanent(
        FaultLayer::Config,
        ModelErrorCode::ProviderNotConfigured.as_str(),
        format!("The provider '{}' {problem}.", provider.name),
    )
    .hint("A base URL looks like https://example.com/v1; `autonoe doctor` shows what is set.")
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, of};
    use crate::provider::{Provider, ProviderKind};

    fn provider(kind: ProviderKind, base_url: Option<&str>, key: Option<&str>) -> Provider {
        Provider {
            name: kind.name().to_owned(),
            kind,
            base_url: base_url.map(str::to_owned),
            api_key: key.map(str::to_owned),
        }
    }

    #[test]
    fn a_base_url_works_with_and_without_its_version_and_slash() {
        use ProviderKind::{Anthropic, Gemini, Ollama, OpenAi, OpenAiCompatible};
        for (kind, bases, wanted) in [
            (Anthropic, ["http://h", "http://h/", "http://h/v1", "http://h/v1/"], "http://h/v1/messages"),
            (OpenAi, ["http://h", "http://h//", "http://h/v1", "http://h/v1/"], "http://h/v1/responses"),
            (
                OpenAiCompatible,
                ["http://h", "http://h/", "http://h/v1", "http://h/v1/"],
                "http://h/v1/chat/completions",
            ),
            (
                Gemini,
                ["http://h", "http://h/", "http://h/v1beta", "http://h/v1beta/"],
                "http://h/v1beta/models/m-1:streamGenerateContent?alt=sse",
            ),
            (Ollama, ["http://h", "http://h/v1", "http://h/api/", "h"], "http://h/api/chat"),
        ] {
            for base in bases {
                let endpoint = of(&provider(kind, Some(base), None), "m-1").expect(base);
                assert_eq!(endpoint.url, wanted, "{kind} {base}");
            }
        }
    }

    #[test]
    fn paths_of_gateways_are_kept() {
        for (kind, base, wanted) in [
            (ProviderKind::Anthropic, "https://h/anthropic", "https://h/anthropic/v1/messages"),
            (ProviderKind::OpenAiCompatible, "https://h/api/v4", "https://h/api/v4/chat/completions"),
            (ProviderKind::OpenAiCompatible, "https://h/inference", "https://h/inference/chat/completions"),
            (ProviderKind::Ollama, "127.0.0.1:11434", "http://127.0.0.1:11434/api/chat"),
        ] {
            assert_eq!(
                of(&provider(kind, Some(base), None), "m").map(|at| at.url).ok().as_deref(),
                Some(wanted)
            );
        }
    }

    #[test]
    fn escapes_and_queries_in_a_base_url_are_kept() {
        use ProviderKind::{Anthropic, Gemini, Ollama, OpenAi, OpenAiCompatible};
        for (kind, base, wanted) in [
            (Anthropic, "http://h/my%20team", "http://h/my%20team/v1/messages"),
            (Anthropic, "http://h/a%2Fb/v1/", "http://h/a%2Fb/v1/messages"),
            (OpenAi, "http://h/100%25/?team=a%20b", "http://h/100%25/responses?team=a%20b"),
            (
                OpenAiCompatible,
                "http://h/d%C3%A9j%C3%A0/v1?api-version=2024-10-21",
                "http://h/d%C3%A9j%C3%A0/v1/chat/completions?api-version=2024-10-21",
            ),
            (
                Gemini,
                "http://h/a%20b?k=1#top",
                "http://h/a%20b/v1beta/models/m%2F1:streamGenerateContent?k=1&alt=sse",
            ),
            (Ollama, "http://h/a%20b/api/", "http://h/a%20b/api/chat"),
        ] {
            let endpoint = of(&provider(kind, Some(base), None), "m/1").expect(base);
            assert_eq!(endpoint.url, wanted, "{kind} {base}");
        }
    }

    #[test]
    fn without_a_base_url_the_vendors_is_used_and_a_key_required() {
        for (kind, wanted) in [
            (ProviderKind::Anthropic, "https://api.anthropic.com/v1/messages"),
            (ProviderKind::OpenAi, "https://api.openai.com/v1/responses"),
            (
                ProviderKind::Gemini,
                "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
        ] {
            let Endpoint { url, headers } =
                of(&provider(kind, None, Some("k")), "m").expect("a key is enough");
            assert_eq!(url, wanted);
            assert!(headers.values().any(|value| value.to_str().unwrap().contains('k')));
            assert!(!format!("{headers:?}").contains("\"k\""), "{headers:?}");
            let missing = of(&provider(kind, None, None), "m").expect_err("no key");
            assert_eq!(missing.code, "provider_not_configured");
            assert!(missing.message.contains(kind.key_variable().unwrap()), "{}", missing.message);
        }
        let local = of(&provider(ProviderKind::Ollama, None, None), "m").expect("needs no key");
        assert_eq!(local.url, "http://localhost:11434/api/chat");
        assert!(of(&provider(ProviderKind::OpenAiCompatible, None, Some("k")), "m").is_err());
    }

    #[test]
    fn an_invalid_base_url_or_key_fails_before_anything_is_sent() {
        for base in ["", "not a url", "http://", "ftp://127.0.0.1", "/v1"] {
            let fault = of(&provider(ProviderKind::Anthropic, Some(base), Some("k")), "m").expect_err(base);
            assert_eq!(fault.code, "provider_not_configured", "{base}");
        }
        let broken = provider(ProviderKind::OpenAi, None, Some("a\nb"));
        let fault = of(&broken, "m").expect_err("a broken key");
        assert!(fault.message.contains("key") && !fault.message.contains('\n'), "{}", fault.message);
    }
}
