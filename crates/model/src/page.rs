//! A page for people where a model should answer: a captive portal, a proxy's page, a website at a wrong base URL.

use std::time::Duration;

use autonoe_core::fault::{Fault, Layer};

use crate::code::ModelErrorCode;
use crate::failure::{Failure, Site, cut_off};
use crate::frames::Noted;

/// How long it is looked what is there.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// How much of it is read.
const MAX_PAGE_BYTES: usize = 64 * 1024;

/// How many characters of its title are told.
const MAX_TITLE_CHARS: usize = 80;

/// A page, by its title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    title: Option<String>,
}

impl Page {
    /// Reads a text as a page; none if it is not HTML.
    pub fn read(text: &str) -> Option<Self> {
        let start = text.trim_start_matches('\u{feff}').trim_start();
        let start: String = start.chars().take(15).collect::<String>().to_ascii_lowercase();
        let is_page =
            ["<!doctype html", "<html", "<head", "<body", "<script"].iter().any(|tag| start.starts_with(tag));
        is_page.then(|| Self { title: title(text) })
    }

    /// `a web page, 'Sign in to Guest Wi-Fi'`.
    pub fn shown(&self) -> String {
        self.title.as_ref().map_or_else(|| "a web page".to_owned(), |title| format!("a web page, '{title}'"))
    }
}

/// What to do about a page.
pub(crate) fn hint(site: Site<'_>) -> String {
    let shown = site.provider.base_url.as_deref().and_then(without_secrets);
    let place = shown.map_or_else(|| "the base URL".to_owned(), |url| format!("the base URL {url}"));
    format!(
        "Is {place} of the provider '{}' right? Is there a proxy or a network that wants a login in between? Open it in a browser to see.",
        site.provider.name
    )
}

/// A URL without what may be secret: a password, or what follows a `?`.
fn without_secrets(url: &str) -> Option<String> {
    let mut url = reqwest::Url::parse(url).ok()?;
    url.set_query(None);
    url.set_fragment(None);
    url.set_password(None).and_then(|()| url.set_username("")).ok()?;
    Some(url.to_string().trim_end_matches('/').to_owned())
}

/// A page where the stream of a reply should be.
pub(crate) fn instead_of_stream(page: &Page, site: Site<'_>) -> Failure {
    let message =
        format!("The model service answered with {} (HTML), not with a model's reply.", page.shown());
    let fault = Fault::passing(Layer::Model, ModelErrorCode::InvalidResponse.as_str(), message);
    Failure::Passing(fault.hint(hint(site)))
}

/// A stream that ended before the reply did. If nothing of a reply was in it, it is looked what is there instead.
pub(crate) async fn ended_early(noted: &Noted, url: &str, site: Site<'_>) -> Failure {
    if !noted.was_no_stream() {
        return cut_off(site);
    }
    let text = tokio::time::timeout(LOOK_LIMIT, look(url)).await.ok().flatten();
    match text.as_deref().and_then(Page::read) {
        Some(page) => instead_of_stream(&page, site),
        None => cut_off(site),
    }
}

/// What is at an address. Nothing is sent but the question, and no redirection is followed.
async fn look(url: &str) -> Option<String> {
    let client = autonoe_tls::client().redirect(reqwest::redirect::Policy::none()).build().ok()?;
    let mut response = client.get(url).send().await.ok()?;
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_PAGE_BYTES {
            break;
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The title of a page, on one line.
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
    use super::{Page, without_secrets};

    #[test]
    fn a_password_in_a_base_url_is_not_told() {
        let shown = without_secrets("https://u:hunter2@h.example/v1/?key=hunter2#x");
        assert_eq!(shown.as_deref(), Some("https://h.example/v1"));
    }

    #[test]
    fn pages_are_told_from_what_services_say() {
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
            assert_eq!(Page::read(text).map(|page| page.shown()).as_deref(), Some(shown), "{text}");
        }
        for text in ["", "{}", "{\"error\": \"<html>\"}", "upstream <html>", "<xml>", "Not Found"] {
            assert_eq!(Page::read(text), None, "{text}");
        }
    }
}
