//! HTML where an API response is expected: a captive portal, a proxy's error page, a website at a wrong base
//! URL.

use serde::de::IgnoredAny;

use crate::provider::Provider;

/// Longer titles are cut.
const MAX_TITLE_CHARS: usize = 80;

/// JSON that is shown is cut after this many characters.
const MAX_JSON_CHARS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebPage {
    title: Option<String>,
}

impl WebPage {
    /// `None` if the text is not HTML.
    pub fn read(text: &str) -> Option<Self> {
        let start = text.trim_start_matches('\u{feff}').trim_start();
        let start: String = start.chars().take(15).collect::<String>().to_ascii_lowercase();
        let is_page =
            ["<!doctype html", "<html", "<head", "<body", "<script"].iter().any(|tag| start.starts_with(tag));
        is_page.then(|| Self { title: title(text) })
    }

    /// `a web page, 'Sign in to Guest Wi-Fi'`.
    pub fn describe(&self) -> String {
        self.title.as_ref().map_or_else(|| "a web page".to_owned(), |title| format!("a web page, '{title}'"))
    }
}

/// What a person can do about it.
pub(crate) fn hint(provider: &Provider) -> String {
    let Provider { base_url, kind, .. } = provider;
    let shown = base_url.as_deref().or(kind.vendor_base_url()).and_then(without_secrets);
    let base_url = shown.map_or_else(|| "the base URL".to_owned(), |url| format!("the base URL {url}"));
    format!(
        "Check {base_url} of the provider '{}', and whether a proxy or a network login is in between. Open it in a \
         browser to see the page.",
        provider.name
    )
}

/// The URL without its user, password, query and fragment, which may be secret.
fn without_secrets(url: &str) -> Option<String> {
    let mut url = reqwest::Url::parse(url).ok()?;
    url.set_query(None);
    url.set_fragment(None);
    url.set_password(None).and_then(|()| url.set_username("")).ok()?;
    Some(url.to_string().trim_end_matches('/').to_owned())
}

/// What the beginning of a body is if it is not a model's reply; `None` if that is not known.
pub(crate) fn describe_other_content(start: &str) -> Option<String> {
    if let Some(page) = WebPage::read(start) {
        return Some(format!("{} (HTML)", page.describe()));
    }
    serde_json::from_str::<IgnoredAny>(start).ok()?;
    let json = start.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!("JSON that is not a stream, '{}',", json.chars().take(MAX_JSON_CHARS).collect::<String>()))
}

/// The title, with whitespace collapsed.
fn title(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    let title = text[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then(|| title.chars().take(MAX_TITLE_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::{WebPage, without_secrets};

    #[test]
    fn a_password_in_a_base_url_is_not_shown() {
        let shown = without_secrets("https://u:hunter2@h.example/v1/?key=hunter2#x");
        assert_eq!(shown.as_deref(), Some("https://h.example/v1"));
    }

    #[test]
    fn web_pages_are_recognised() {
        for (text, shown) in [
            (
                "<!DOCTYPE html>\n<html><head><TITLE>\n Sign in\n to Wi-Fi</title>",
                "a web page, 'Sign in to Wi-Fi'",
            ),
            ("\u{feff}  <html lang=en><title class=x>É</title>", "a web page, 'É'"),
            ("<HTML><body>502", "a web page"),
            ("<html><title></title>", "a web page"),
            ("<html><title>never ends", "a web page"),
        ] {
            assert_eq!(WebPage::read(text).map(|page| page.describe()).as_deref(), Some(shown), "{text}");
        }
        for text in ["", "{}", "{\"error\": \"<html>\"}", "upstream <html>", "<xml>", "Not Found"] {
            assert_eq!(WebPage::read(text), None, "{text}");
        }
    }
}
