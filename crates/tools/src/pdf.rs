//! Extracts the text of a PDF. The file is untrusted, so a helper process parses it in the session's room, with limits on
//! time and memory.

#[cfg(feature = "pdf")]
mod parser;

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use autonoe_sandbox::StdioTarget;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::failure::ToolFailure;
use crate::helper_process::{self, PDF_ARG};
use crate::output::ToolErrorCode;
use crate::workspace::Workspace;

#[cfg(feature = "pdf")]
use self::parser::parse;

/// The maximum size of a PDF.
pub const MAX_PDF_BYTES: u64 = 32 * 1024 * 1024;
/// The number of pages that one call shows.
pub const MAX_PDF_PAGES: u32 = 20;
/// The time limit for parsing.
const PDF_LIMIT: Duration = Duration::from_secs(30);

/// The first bytes of every PDF.
pub(crate) const MAGIC: &[u8] = b"%PDF-";

/// A range of pages, numbered from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRange {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl PageRange {
    /// Parses `3` or `3-7`; `None` means the first [`MAX_PDF_PAGES`].
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, ToolFailure> {
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
            valid => Some(valid),
        }
        .ok_or_else(|| {
            ToolFailure::invalid(format!(
                "`pages` must be a page number or a range of at most {MAX_PDF_PAGES} pages, such as \"3\" or \"1-10\"."
            ))
        })
    }
}

/// The text of some pages, or why it cannot be read.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pdf {
    Text {
        /// The total number of pages of the PDF.
        pages: u32,
        /// The text of each requested page that exists; `None` for a page that cannot be parsed.
        texts: Vec<Option<String>>,
    },
    NotUnderstood(String),
}

/// Reads pages of a file in a helper process.
pub(crate) async fn read(
    workspace: &Workspace,
    file: File,
    pages: PageRange,
    cancel: &CancellationToken,
) -> Result<Pdf, ToolFailure> {
    let (first, last) = (pages.first.to_string(), pages.last.to_string());
    helper_process::run_helper(
        workspace,
        &[PDF_ARG, &first, &last],
        StdioTarget::from(file),
        PDF_LIMIT,
        cancel,
    )
    .await
}

/// The helper's main function: reads a PDF from standard input.
pub(crate) fn run(arguments: &[&str]) -> Pdf {
    let mut bytes = Vec::new();
    if let Err(error) = io::stdin().take(MAX_PDF_BYTES + 1).read_to_end(&mut bytes) {
        return Pdf::NotUnderstood(error.to_string());
    }
    let numbers: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    match numbers.as_slice() {
        [first, last] => text_of(&bytes, PageRange { first: *first, last: *last }),
        _ => Pdf::NotUnderstood("the page numbers are missing".to_owned()),
    }
}

/// The text of pages.
pub(crate) fn text_of(bytes: &[u8], range: PageRange) -> Pdf {
    if bytes.len() as u64 > MAX_PDF_BYTES {
        return Pdf::NotUnderstood(format!("it is larger than {} MiB", MAX_PDF_BYTES / (1024 * 1024)));
    }
    parse(bytes, range)
}

/// The parser takes long to build and few need it, so a plain build leaves it out.
#[cfg(not(feature = "pdf"))]
fn parse(_: &[u8], _: PageRange) -> Pdf {
    Pdf::NotUnderstood(
        "this build of Autonoe was made without the feature `pdf`, which releases have".to_owned(),
    )
}

impl Pdf {
    /// The text for the model, with pages numbered from `first`, and the total number of pages.
    pub(crate) fn into_text(self, shown: &str, first: u32) -> Result<(String, u32), ToolFailure> {
        let (pages, texts) = match self {
            Self::Text { pages, texts } => (pages, texts),
            Self::NotUnderstood(why) => {
                return Err(ToolFailure::new(
                    ToolErrorCode::IoError,
                    format!("{shown} is a PDF that cannot be read: {why}."),
                ));
            }
        };
        if texts.is_empty() {
            return Err(ToolFailure::invalid(format!(
                "{shown} has {pages} pages; there is no page {first}."
            )));
        }
        let mut output = String::new();
        for (number, text) in (first..).zip(&texts) {
            let text = match text.as_deref().map(str::trim) {
                Some("") => "(no text; the page may be an image)",
                Some(text) => text,
                None => "(the text of this page cannot be read)",
            };
            output.push_str(&format!("--- Page {number} of {pages} ---\n{text}\n"));
        }
        let next = first.saturating_add(u32::try_from(texts.len()).unwrap_or(u32::MAX));
        if next <= pages {
            let last = pages.min(next + MAX_PDF_PAGES - 1);
            output.push_str(&format!(
                "({} more pages; continue with pages=\"{next}-{last}\")",
                pages + 1 - next
            ));
        }
        Ok((output, pages))
    }
}
