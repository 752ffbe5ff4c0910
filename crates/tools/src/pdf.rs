//! The text of a PDF. Its parser meets whatever anybody has put into a file, so it runs as a part of our binary in the
//! session's room, with limits on time and memory.

use std::fs::File;
use std::io::{self, Read};
use std::panic::catch_unwind;
use std::time::Duration;

use autonoe_sandbox::Stream;
use pdf_extract::{Document, PlainTextOutput, output_doc_page};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::parts::{self, PDF_ARG};
use crate::{ToolErrorCode, Workspace};

/// The largest PDF that is read.
pub const MAX_PDF_BYTES: u64 = 32 * 1024 * 1024;
/// How many pages one call shows.
pub const MAX_PDF_PAGES: u32 = 20;
/// How long reading one may take.
const PDF_LIMIT: Duration = Duration::from_secs(30);

/// What every PDF begins with.
pub(crate) const MAGIC: &[u8] = b"%PDF-";

/// Which pages are wanted, from 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pages {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Pages {
    /// Reads `3` or `3-7`.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Failure> {
        let Some(text) = text else { return Ok(Self { first: 1, last: MAX_PDF_PAGES }) };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let pages = match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) => Self { first, last },
            _ => Self { first: 0, last: 0 },
        };
        match pages {
            Self { first: 0, .. } => None,
            Self { first, last } if last < first => None,
            Self { first, last } if last - first >= MAX_PDF_PAGES => None,
            fine => Some(fine),
        }
        .ok_or_else(|| {
            Failure::invalid(format!(
                "`pages` must be a page or a range of at most {MAX_PDF_PAGES} pages, such as \"3\" or \"1-10\"."
            ))
        })
    }
}

/// The text of some pages, or why there is none.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pdf {
    Text {
        /// How many pages there are in all.
        pages: u32,
        /// The text of each wanted page that is there; none where it is not understood.
        texts: Vec<Option<String>>,
    },
    NotUnderstood(String),
}

/// Has the pages of a file read.
pub(crate) async fn read(
    workspace: &Workspace,
    file: File,
    pages: Pages,
    cancel: &CancellationToken,
) -> Result<Pdf, Failure> {
    let (first, last) = (pages.first.to_string(), pages.last.to_string());
    parts::ask(workspace, &[PDF_ARG, &first, &last], Stream::from(file), PDF_LIMIT, cancel).await
}

/// The part of our binary that reads a PDF from its standard input.
pub(crate) fn part(arguments: &[&str]) -> Pdf {
    let mut bytes = Vec::new();
    if let Err(error) = io::stdin().take(MAX_PDF_BYTES + 1).read_to_end(&mut bytes) {
        return Pdf::NotUnderstood(error.to_string());
    }
    let numbers: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    match numbers.as_slice() {
        [first, last] => text_of(&bytes, Pages { first: *first, last: *last }),
        _ => Pdf::NotUnderstood("it was not told which pages".to_owned()),
    }
}

/// The text of pages. Panics of the parser are none of ours.
pub(crate) fn text_of(bytes: &[u8], wanted: Pages) -> Pdf {
    if bytes.len() as u64 > MAX_PDF_BYTES {
        return Pdf::NotUnderstood(format!("it is larger than {} MiB", MAX_PDF_BYTES / (1024 * 1024)));
    }
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
    let document = std::panic::AssertUnwindSafe(&document);
    let texts = (wanted.first..=wanted.last.min(pages)).map(|number| {
        let read = catch_unwind(|| {
            let mut text = String::new();
            output_doc_page(&document, &mut PlainTextOutput::new(&mut text), number).map(|()| text)
        });
        read.ok().and_then(Result::ok)
    });
    Pdf::Text { pages, texts: texts.collect() }
}

impl Pdf {
    /// The text for the model, with its pages numbered from `first`.
    pub(crate) fn told(self, shown: &str, first: u32) -> Result<(String, u32), Failure> {
        let (pages, texts) = match self {
            Self::Text { pages, texts } => (pages, texts),
            Self::NotUnderstood(why) => {
                return Err(Failure::new(
                    ToolErrorCode::IoError,
                    format!("{shown} is a PDF that cannot be read: {why}."),
                ));
            }
        };
        if texts.is_empty() {
            return Err(Failure::invalid(format!("{shown} has {pages} pages; there is no page {first}.")));
        }
        let mut told = String::new();
        for (number, text) in (first..).zip(&texts) {
            let text = match text.as_deref().map(str::trim) {
                Some("") => "(no text; the page may be an image)",
                Some(text) => text,
                None => "(its text is not understood)",
            };
            told.push_str(&format!("--- Page {number} of {pages} ---\n{text}\n"));
        }
        let next = first.saturating_add(u32::try_from(texts.len()).unwrap_or(u32::MAX));
        if next <= pages {
            let last = pages.min(next + MAX_PDF_PAGES - 1);
            told.push_str(&format!(
                "({} more pages; read on with pages=\"{next}-{last}\")",
                pages + 1 - next
            ));
        }
        Ok((told, pages))
    }
}
