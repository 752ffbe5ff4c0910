//! Converts the result of a call from a server to an output for the model.

use autonoe_tools::{MAX_IMAGE_BYTES, ToolErrorCode, ToolOutput, image_media_type};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde::Serialize;

pub(crate) fn output(result: CallToolResult) -> ToolOutput {
    let mut content = ResultContent::default();
    for block in result.content {
        content.add_block(block);
    }
    // Servers usually repeat structured content as text, for clients that do not support it; if not, we add it.
    if let Some(structured) = result.structured_content
        && !content.has_text
    {
        content.texts.push(structured.to_string());
    }
    let text = if content.texts.is_empty() { "(no output)".to_owned() } else { content.texts.join("\n") };
    let output = match result.is_error {
        Some(true) => ToolOutput::error(ToolErrorCode::Unknown, text),
        Some(false) | None => ToolOutput::ok(text),
    };
    content.images.into_iter().fold(output, |output, (media_type, data)| output.attach(media_type, data))
}

#[derive(Default)]
struct ResultContent {
    texts: Vec<String>,
    has_text: bool,
    images: Vec<(&'static str, Vec<u8>)>,
}

impl ResultContent {
    fn add_block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => {
                self.has_text = true;
                self.texts.push(text.text);
            }
            ContentBlock::Image(image) => self.add_binary(&image.mime_type, &image.data, "image"),
            ContentBlock::Audio(audio) => self.add_binary(&audio.mime_type, &audio.data, "audio"),
            ContentBlock::Resource(embedded) => self.add_resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let description =
                    link.description.or(link.title).map(|text| format!(": {text}")).unwrap_or_default();
                self.texts.push(format!("[resource {} at {}{description}]", link.name, link.uri));
            }
            other => self.add_unknown(&other),
        }
    }

    /// Adds content of a later protocol version as JSON.
    fn add_unknown(&mut self, content: &impl Serialize) {
        self.texts.extend(serde_json::to_string(content).ok());
    }

    fn add_resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.has_text = true;
                self.texts.push(format!("[resource {uri}]\n{text}"));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let media_type = mime_type.as_deref().unwrap_or("application/octet-stream");
                self.add_binary(media_type, &blob, &format!("resource {uri}"));
            }
            other => self.add_unknown(&other),
        }
    }

    /// Attaches an image that a model can view, by its actual type and not the declared one; describes other data in text.
    fn add_binary(&mut self, declared_type: &str, data: &str, label: &str) {
        let Ok(bytes) = STANDARD.decode(data) else {
            self.texts.push(format!("[{label}, {declared_type}, invalid base64]"));
            return;
        };
        let size = bytes.len();
        match image_media_type(&bytes).filter(|_| size as u64 <= MAX_IMAGE_BYTES) {
            Some(media_type) => {
                self.texts.push(format!("[{label}, {media_type}, {size} bytes, attached]"));
                self.images.push((media_type, bytes));
            }
            None => self.texts.push(format!("[{label}, {declared_type}, {size} bytes, cannot be shown]")),
        }
    }
}

#[cfg(test)]
mod tests {
    use autonoe_tools::ToolOutput;
    use base64::Engine;
    use rmcp::model::CallToolResult;
    use serde_json::{Value, json};

    use super::output;

    fn converted(result: Value) -> ToolOutput {
        output(serde_json::from_value::<CallToolResult>(result).unwrap())
    }

    #[test]
    fn texts_are_joined_with_newlines() {
        let output =
            converted(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}));
        assert_eq!((output.output.as_str(), output.is_error()), ("a\nb", false));
        assert_eq!(converted(json!({"content": []})).output, "(no output)");
    }

    #[test]
    fn is_error_becomes_an_error() {
        let output = converted(json!({"content": [{"type": "text", "text": "no"}], "isError": true}));
        assert_eq!((output.output.as_str(), output.is_error()), ("no", true));
    }

    #[test]
    fn images_are_attached_and_other_data_is_described() {
        // The first bytes of a PNG, which the server declares as JPEG.
        let png = "iVBORw0KGgo=";
        let output = converted(json!({"content": [
            {"type": "image", "data": png, "mimeType": "image/jpeg"},
            {"type": "image", "data": "AAEC", "mimeType": "image/png"},
            {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"},
            {"type": "image", "data": "%", "mimeType": "image/png"},
        ]}));
        assert_eq!(output.attachments.len(), 1);
        assert_eq!(output.attachments[0].media_type, "image/png");
        assert_eq!(output.attachments[0].data, b"\x89PNG\r\n\x1a\n");
        let lines: Vec<&str> = output.output.lines().collect();
        assert_eq!(lines[0], "[image, image/png, 8 bytes, attached]");
        assert_eq!(lines[1], "[image, image/png, 3 bytes, cannot be shown]");
        assert_eq!(lines[2], "[audio, audio/wav, 3 bytes, cannot be shown]");
        assert_eq!(lines[3], "[image, image/png, invalid base64]");
    }

    #[test]
    fn an_image_that_is_too_large_for_providers_is_not_attached() {
        let mut large = b"\x89PNG\r\n\x1a\n".to_vec();
        large.resize(usize::try_from(super::MAX_IMAGE_BYTES).unwrap() + 1, 0);
        let data = super::STANDARD.encode(large);
        let output =
            converted(json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}));
        assert!(
            output.attachments.is_empty() && output.output.contains("cannot be shown"),
            "{}",
            output.output
        );
    }

    #[test]
    fn resources_are_shown_with_their_uri() {
        let output = converted(json!({"content": [
            {"type": "resource", "resource": {"uri": "a://1", "text": "one"}},
            {"type": "resource", "resource": {"uri": "a://2", "blob": "AAEC"}},
            {"type": "resource_link", "uri": "a://3", "name": "three", "description": "the third"},
        ]}));
        assert_eq!(
            output.output,
            "[resource a://1]\none\n[resource a://2, application/octet-stream, 3 bytes, cannot be shown]\n\
             [resource three at a://3: the third]"
        );
    }

    #[test]
    fn structured_content_is_shown_once() {
        let text = json!([{"type": "text", "text": "{\"a\":1}"}]);
        assert_eq!(converted(json!({"content": text, "structuredContent": {"a": 1}})).output, "{\"a\":1}");
        assert_eq!(converted(json!({"content": [], "structuredContent": {"a": 1}})).output, "{\"a\":1}");
    }
}
