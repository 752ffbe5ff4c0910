//! Parses a PDF with the library that the feature `pdf` brings.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, PlainTextOutput, output_doc_page};

use super::{PageRange, Pdf};

/// A panic of the library counts as a parse error.
pub(super) fn parse(bytes: &[u8], range: PageRange) -> Pdf {
    let loaded = catch_unwind(|| Document::load_mem(bytes));
    let mut document = match loaded {
        Ok(Ok(document)) => document,
        Ok(Err(error)) => return Pdf::NotUnderstood(error.to_string()),
        Err(_) => return Pdf::NotUnderstood("its structure is broken".to_owned()),
    };
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Pdf::NotUnderstood("it is encrypted".to_owned());
    }
    let pages = u32::try_from(document.get_pages().len()).unwrap_or(u32::MAX);
    let document = AssertUnwindSafe(&document);
    let texts = (range.first..=range.last.min(pages)).map(|number| {
        let read = catch_unwind(|| {
            let mut text = String::new();
            output_doc_page(&document, &mut PlainTextOutput::new(&mut text), number).map(|()| text)
        });
        read.ok().and_then(Result::ok)
    });
    Pdf::Text { pages, texts: texts.collect() }
}
