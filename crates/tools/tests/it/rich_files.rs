//! The Read tool, on images and PDFs.

use std::fs;

use autonoe_tools::{MAX_IMAGE_BYTES, MAX_PDF_BYTES, ToolErrorCode};
use serde_json::json;

use crate::support::ToolFixture;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A PDF with one line of text on each page.
pub fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects = vec!["<< /Type /Catalog /Pages 2 0 R >>".to_owned(), String::new()];
    objects
        .push("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned());
    let mut kids = Vec::new();
    for text in pages {
        let page = objects.len() + 1;
        kids.push(format!("{page} 0 R"));
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            page + 1
        ));
        let content = format!("BT /F1 24 Tf 72 700 Td ({text}) Tj ET");
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len());
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        offsets.push(file.len());
        file.extend(format!("{number} 0 obj\n{object}\nendobj\n").into_bytes());
    }
    let table = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).into_bytes());
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").into_bytes());
    }
    let size = objects.len() + 1;
    file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").into_bytes());
    file
}

#[tokio::test]
async fn images_are_detected_by_content_and_attached() {
    let fixture = ToolFixture::new();
    for (head, media_type) in [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01", "image/jpeg"),
        (b"GIF89a\x01\0\x01\0\0\0", "image/gif"),
        (b"RIFF\x04\0\0\0WEBPVP8 ", "image/webp"),
    ] {
        // The name does not matter.
        fixture.file("picture.txt", head);
        let output = fixture.call("Read", json!({"file_path": "picture.txt"})).await;
        assert!(!output.is_error(), "{}", output.output);
        assert_eq!(output.attachments.len(), 1);
        assert_eq!(output.attachments[0].media_type, media_type);
        assert_eq!(output.attachments[0].data, head);
        assert!(output.output.contains(media_type));
    }
    let error = fixture.error("Read", json!({"file_path": "fake.png"})).await;
    assert!(error.contains("does not exist"), "{error}");
    fixture.file("fake.png", "just text");
    assert!(fixture.ok("Read", json!({"file_path": "fake.png"})).await.contains("just text"));
}

#[tokio::test]
async fn an_image_that_is_too_large_is_not_attached() {
    let fixture = ToolFixture::new();
    let path = fixture.file("large.png", PNG);
    fs::File::options().write(true).open(path).unwrap().set_len(MAX_IMAGE_BYTES + 1).unwrap();
    let output = fixture.call("Read", json!({"file_path": "large.png"})).await;
    assert_eq!(output.error_code(), Some(ToolErrorCode::ValidationError));
    assert!(output.output.contains("Make it smaller") && output.attachments.is_empty(), "{}", output.output);
}

#[cfg(feature = "pdf")]
#[tokio::test]
async fn the_text_of_a_pdf_is_read_page_by_page() {
    let fixture = ToolFixture::new();
    let texts: Vec<_> = (1..=25).map(|n| format!("This is page {n}")).collect();
    fixture.file("a.pdf", pdf(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let text = fixture.ok("Read", json!({"file_path": "a.pdf"})).await;
    assert!(text.starts_with("--- Page 1 of 25 ---\nThis is page 1\n"), "{text}");
    assert!(text.contains("This is page 20") && !text.contains("This is page 21"), "{text}");
    assert!(text.ends_with("(5 more pages; continue with pages=\"21-25\")"), "{text}");
    let text = fixture.ok("Read", json!({"file_path": "a.pdf", "pages": "24-30"})).await;
    assert!(text.contains("page 24") && text.contains("page 25") && !text.contains("more pages"), "{text}");
    let text = fixture.ok("Read", json!({"file_path": "a.pdf", "pages": "7"})).await;
    assert!(text.contains("This is page 7\n") && text.contains("(18 more pages"), "{text}");
}

#[cfg(feature = "pdf")]
#[tokio::test]
async fn invalid_page_ranges_are_rejected() {
    let fixture = ToolFixture::new();
    fixture.file("a.pdf", pdf(&["one"]));
    for pages in ["0", "2-1", "x", "1-21", "-1", "", "1-2-3", "99999999999"] {
        let args = json!({"file_path": "a.pdf", "pages": pages});
        let error = fixture.fails("Read", args, ToolErrorCode::ValidationError).await;
        assert!(error.contains("`pages` must be"), "{pages}: {error}");
    }
    let error = fixture.error("Read", json!({"file_path": "a.pdf", "pages": "2"})).await;
    assert_eq!(error, "a.pdf has 1 pages; there is no page 2.");
}

#[tokio::test]
async fn a_broken_pdf_is_an_error() {
    let fixture = ToolFixture::new();
    let whole = pdf(&["one", "two"]);
    for length in [5, 20, whole.len() / 2, whole.len() - 30] {
        fixture.file("a.pdf", &whole[..length]);
        let output = fixture.call("Read", json!({"file_path": "a.pdf"})).await;
        assert!(output.is_error() && output.output.contains("cannot be read"), "{length}: {}", output.output);
    }
    // With flipped bits anywhere, there is some output, whatever it is.
    for at in (10..whole.len()).step_by(53) {
        let mut corrupted = whole.clone();
        corrupted[at] ^= 0x55;
        fixture.file("a.pdf", &corrupted);
        assert!(!fixture.call("Read", json!({"file_path": "a.pdf"})).await.output.is_empty());
    }
    let path = fixture.file("large.pdf", &whole);
    fs::File::options().write(true).open(path).unwrap().set_len(MAX_PDF_BYTES + 1).unwrap();
    assert!(fixture.error("Read", json!({"file_path": "large.pdf"})).await.contains("is a PDF of"));
}

#[cfg(feature = "pdf")]
#[tokio::test]
async fn a_pdf_is_read_in_a_bubblewrap_room() {
    let fixture = ToolFixture::with_bubblewrap();
    fixture.file("a.pdf", pdf(&["in the room"]));
    assert!(fixture.ok("Read", json!({"file_path": "a.pdf"})).await.contains("in the room"));
}

#[cfg(not(feature = "pdf"))]
#[tokio::test]
async fn a_build_without_pdfs_says_so() {
    let fixture = ToolFixture::new();
    fixture.file("a.pdf", pdf(&["one"]));
    let error = fixture.error("Read", json!({"file_path": "a.pdf"})).await;
    assert!(error.contains("made without the feature `pdf`, which releases have"), "{error}");
}
