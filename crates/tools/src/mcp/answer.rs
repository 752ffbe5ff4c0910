//! From a server's answer to a call to what the model is given.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde::Serialize;

use crate::image::{self, MAX_IMAGE_BYTES};
use crate::{ToolErrorCode, ToolOutput};

/// The result of a call, for the model.
pub(super) fn output(result: CallToolResult) -> ToolOutput {
    let mut said = Said::default();
    for block in result.content {
        said.block(block);
    }
    // A server repeats its structured content as text, for clients that do not know it; if it did not, we do.
    if let Some(structured) = result.structured_content
        && !said.has_text
    {
        said.texts.push(structured.to_string());
    }
    let text = if said.texts.is_empty() { "(no output)".to_owned() } else { said.texts.join("\n") };
    let output = match result.is_error {
        Some(true) => ToolOutput::error(ToolErrorCode::Unknown, text),
        Some(false) | None => ToolOutput::ok(text),
    };
    said.images.into_iter().fold(output, |output, (media_type, data)| output.attach(media_type, data))
}

#[derive(Default)]
struct Said {
    texts: Vec<String>,
    has_text: bool,
    images: Vec<(&'static str, Vec<u8>)>,
}

impl Said {
    fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => {
                self.has_text = true;
                self.texts.push(text.text);
            }
            ContentBlock::Image(image) => self.binary(&image.mime_type, &image.data, "an image"),
            ContentBlock::Audio(audio) => self.binary(&audio.mime_type, &audio.data, "a sound"),
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let about =
                    link.description.or(link.title).map(|about| format!(": {about}")).unwrap_or_default();
                self.texts.push(format!("[resource {} at {}{about}]", link.name, link.uri));
            }
            other => self.unknown(&other),
        }
    }

    /// What a later version of the protocol adds is shown as it is.
    fn unknown(&mut self, content: &impl Serialize) {
        self.texts.extend(serde_json::to_string(content).ok());
    }

    fn resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.has_text = true;
                self.texts.push(format!("[resource {uri}]\n{text}"));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let media_type = mime_type.as_deref().unwrap_or("application/octet-stream");
                self.binary(media_type, &blob, &format!("resource {uri}"));
            }
            other => self.unknown(&other),
        }
    }

    /// Attaches what a model can be shown, going by what it is and not by what it is said to be, and tells of the rest.
    fn binary(&mut self, said_to_be: &str, data: &str, what: &str) {
        let Ok(bytes) = STANDARD.decode(data) else {
            self.texts.push(format!("[{what}, {said_to_be}, whose data is not base64]"));
            return;
        };
        let size = bytes.len();
        match image::media_type(&bytes).filter(|_| size as u64 <= MAX_IMAGE_BYTES) {
            Some(media_type) => {
                self.texts.push(format!("[{what}, {media_type}, {size} bytes, attached]"));
                self.images.push((media_type, bytes));
            }
            None => self.texts.push(format!("[{what}, {said_to_be}, {size} bytes, which cannot be shown]")),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use rmcp::model::CallToolResult;
    use serde_json::{Value, json};

    use super::output;
    use crate::ToolOutput;

    fn told(result: Value) -> ToolOutput {
        output(serde_json::from_value::<CallToolResult>(result).unwrap())
    }

    #[test]
    fn texts_are_lines() {
        let said = told(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}));
        assert_eq!((said.output.as_str(), said.is_error()), ("a\nb", false));
        assert_eq!(told(json!({"content": []})).output, "(no output)");
    }

    #[test]
    fn a_failure_is_an_error() {
        let said = told(json!({"content": [{"type": "text", "text": "no"}], "isError": true}));
        assert_eq!((said.output.as_str(), said.is_error()), ("no", true));
    }

    #[test]
    fn images_are_attached_and_the_rest_is_told() {
        // The first bytes of a PNG, whatever the server calls it.
        let png = "iVBORw0KGgo=";
        let said = told(json!({"content": [
            {"type": "image", "data": png, "mimeType": "image/jpeg"},
            {"type": "image", "data": "AAEC", "mimeType": "image/png"},
            {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"},
            {"type": "image", "data": "%", "mimeType": "image/png"},
        ]}));
        assert_eq!(said.attachments.len(), 1);
        assert_eq!(said.attachments[0].media_type, "image/png");
        assert_eq!(said.attachments[0].data, b"\x89PNG\r\n\x1a\n");
        let lines: Vec<&str> = said.output.lines().collect();
        assert_eq!(lines[0], "[an image, image/png, 8 bytes, attached]");
        assert_eq!(lines[1], "[an image, image/png, 3 bytes, which cannot be shown]");
        assert_eq!(lines[2], "[a sound, audio/wav, 3 bytes, which cannot be shown]");
        assert_eq!(lines[3], "[an image, image/png, whose data is not base64]");
    }

    #[test]
    fn an_image_that_no_provider_takes_is_not_attached() {
        let mut large = b"\x89PNG\r\n\x1a\n".to_vec();
        large.resize(usize::try_from(super::MAX_IMAGE_BYTES).unwrap() + 1, 0);
        let data = super::STANDARD.encode(large);
        let said = told(json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}));
        assert!(said.attachments.is_empty() && said.output.contains("cannot be shown"), "{}", said.output);
    }

    #[test]
    fn resources_are_shown_with_where_they_are() {
        let said = told(json!({"content": [
            {"type": "resource", "resource": {"uri": "a://1", "text": "one"}},
            {"type": "resource", "resource": {"uri": "a://2", "blob": "AAEC"}},
            {"type": "resource_link", "uri": "a://3", "name": "three", "description": "the third"},
        ]}));
        assert_eq!(
            said.output,
            "[resource a://1]\none\n[resource a://2, application/octet-stream, 3 bytes, which cannot be shown]\n\
             [resource three at a://3: the third]"
        );
    }

    #[test]
    fn structured_content_is_shown_once() {
        let text = json!([{"type": "text", "text": "{\"a\":1}"}]);
        assert_eq!(told(json!({"content": text, "structuredContent": {"a": 1}})).output, "{\"a\":1}");
        assert_eq!(told(json!({"content": [], "structuredContent": {"a": 1}})).output, "{\"a\":1}");
    }
}
