//! Extracts the text of message contents for `when` and `expect`. The formats differ little between the services and never
//! contradict each other, so one reader works for all. An image becomes `[image image/png]`.

use serde_json::Value;

/// The text of a content: a string, a part, or a list of parts; tool results are parts with a content.
pub(super) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => joined(parts.iter().map(text)),
        Value::Object(_) => image(content).unwrap_or_else(|| {
            let inner = ["text", "content"].into_iter().find_map(|key| content.get(key));
            inner.map(text).unwrap_or_default()
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Joins non-empty texts with newlines.
pub(super) fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Every string and image within a value, for results of unknown structure.
pub(super) fn strings(value: &Value) -> String {
    match value {
        Value::Object(fields) => image(value).unwrap_or_else(|| joined(fields.values().map(strings))),
        Value::Array(items) => joined(items.iter().map(strings)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => text(value),
    }
}

pub(super) fn image_text(media_type: Option<&str>) -> String {
    media_type.map_or_else(|| "[image]".to_owned(), |media_type| format!("[image {media_type}]"))
}

fn image(part: &Value) -> Option<String> {
    let inline = part.get("inlineData").or_else(|| part.get("inline_data"));
    if let Some(inline) = inline {
        let media_type = inline.get("mimeType").or_else(|| inline.get("mime_type"));
        return Some(image_text(media_type.and_then(Value::as_str)));
    }
    if let Some(url) = part.get("image_url") {
        let url = url.get("url").unwrap_or(url).as_str().unwrap_or_default();
        return Some(image_text(data_url_type(url)));
    }
    (part["type"] == "image").then(|| image_text(part["source"]["media_type"].as_str()))
}

/// The media type in `data:image/png;base64,…`.
fn data_url_type(url: &str) -> Option<&str> {
    url.strip_prefix("data:")?.split_once(';').map(|(media_type, _)| media_type)
}
