//! Renders the report as Markdown: CommonMark with the tables of GitHub and GitLab. All text is escaped.

use crate::document::{CodeBlock, CodeKind, Document, ReportBlock, ReportLine, ReportSpan};

pub fn markdown(document: &Document) -> String {
    let mut out = format!("# {}\n", escaped(&document.title));
    blocks(&document.blocks, 2, &mut out);
    out
}

fn blocks(list: &[ReportBlock], level: usize, out: &mut String) {
    for block in list {
        out.push('\n');
        match block {
            ReportBlock::Paragraph(spans) => out.push_str(&format!("{}\n", block_start(spans))),
            ReportBlock::KeyValues(facts) => {
                for (name, spans) in facts {
                    out.push_str(&format!("- **{}**: {}\n", escaped(name), line(spans)));
                }
            }
            ReportBlock::Points(items) => {
                for item in items {
                    out.push_str(&format!("- {}\n", block_start(item)));
                }
            }
            ReportBlock::Numbered(items) => {
                for (index, item) in items.iter().enumerate() {
                    out.push_str(&format!("{}. {}\n", index + 1, block_start(item)));
                }
            }
            ReportBlock::Table { head, rows } => {
                let head: Vec<String> = head.iter().map(|name| escaped(name)).collect();
                out.push_str(&row(&head));
                out.push_str(&row(&vec!["---".to_owned(); head.len()]));
                for cells in rows {
                    // A bar ends a cell even inside code.
                    let cells: Vec<String> =
                        cells.iter().map(|cell| line(cell).replace('|', "\\|")).collect();
                    out.push_str(&row(&cells));
                }
            }
            ReportBlock::Code(code) => out.push_str(&fenced(code)),
            ReportBlock::Section { title, blocks: inner } => {
                out.push_str(&format!("{} {}\n", "#".repeat(level.min(6)), line(title)));
                blocks(inner, level + 1, out);
            }
        }
    }
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn line(spans: &ReportLine) -> String {
    let parts = spans.iter().map(|span| match span {
        ReportSpan::Text(text) => escaped(text),
        ReportSpan::Code(text) => code_span(text),
        ReportSpan::Badge(_, word) => format!("**{}**", escaped(word)),
    });
    parts.collect::<String>().trim().to_owned()
}

/// On one line. Where the text names people or issues, a forge must not act on that.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        match c {
            '#' if next.is_ascii_digit() => out.push_str("#<!-- -->"),
            '@' if next.is_ascii_alphanumeric() => out.push_str("@<!-- -->"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' => out.extend(['\\', c]),
            '\n' | '\t' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

/// Escapes the start of a line that would otherwise become a list, a heading or a rule.
fn block_start(spans: &ReportLine) -> String {
    let line = line(spans);
    let digits = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    let rest = &line[digits..];
    if digits > 0 && rest.starts_with(['.', ')']) {
        return format!("{}\\{rest}", &line[..digits]);
    }
    match line.starts_with(['#', '-', '+', '=']) {
        true => format!("\\{line}"),
        false => line,
    }
}

/// Delimited by more backquotes than the text contains in a row.
fn code_span(text: &str) -> String {
    let text = text.replace(['\n', '\t'], " ");
    let mark = "`".repeat(longest_run(&text) + 1);
    match text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() {
        true => format!("{mark} {text} {mark}"),
        false => format!("{mark}{text}{mark}"),
    }
}

/// The fence is longer than any run of backquotes in the text.
fn fenced(CodeBlock { kind, text }: &CodeBlock) -> String {
    let language = match kind {
        CodeKind::Command => "sh",
        CodeKind::Output => "text",
        CodeKind::Diff => "diff",
    };
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{block_start, code_span, escaped, fenced, markdown};
    use crate::document::{CodeBlock, CodeKind, Document, ReportBlock, Tone, badge, code, paragraph, text};

    #[test]
    fn text_is_never_markup() {
        for (text, expected) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a & b &lt;", "a &amp; b &amp;lt;"),
            ("![x](http://y) *b* _c_ ~~d~~", "!\\[x\\](http://y) \\*b\\* \\_c\\_ \\~\\~d\\~\\~"),
            ("one\n\n# two\n- three", "one  # two - three"),
            ("back\\slash `tick`", "back\\\\slash \\`tick\\`"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn text_does_not_start_a_block() {
        for (input, expected) in [
            ("# not a heading", "\\# not a heading"),
            ("- not an item", "\\- not an item"),
            ("---", "\\---"),
            ("=== ", "\\==="),
            ("12. not a number", "12\\. not a number"),
            ("3) not a number", "3\\) not a number"),
            ("    not code", "not code"),
            ("12 is a number", "12 is a number"),
        ] {
            assert_eq!(block_start(&vec![text(input)]), expected);
        }
    }

    #[test]
    fn code_cannot_close_its_own_delimiter() {
        assert_eq!(code_span("plain"), "`plain`");
        assert_eq!(code_span("a `b` c"), "``a `b` c``");
        assert_eq!(code_span("`` x"), "``` `` x ```");
        let block = |text: &str| fenced(&CodeBlock { kind: CodeKind::Output, text: text.to_owned() });
        assert_eq!(block("x"), "```text\nx\n```\n");
        assert_eq!(block("```\n# out\n````"), "`````text\n```\n# out\n````\n`````\n");
    }

    #[test]
    fn bars_in_cells_are_escaped() {
        let rows = vec![vec![vec![code("a | b")], vec![text("c | d"), badge(Tone::Bad, "e")]]];
        let blocks = vec![paragraph("Before."), ReportBlock::Table { head: vec!["x", "y"], rows }];
        let page = markdown(&Document { title: "T <b>".to_owned(), blocks });
        let wanted = "# T &lt;b&gt;\n\nBefore.\n\n| x | y |\n| --- | --- |\n| `a \\| b` | c \\| d**e** |\n";
        assert_eq!(page, wanted);
    }
}
