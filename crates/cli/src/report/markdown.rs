//! A page as Markdown: CommonMark with the tables that GitHub and GitLab know. Nothing that was put into the page can become
//! markup.

use super::document::{Block, Code, Document, Kind, Line, Span};

/// Writes a page down.
pub fn markdown(document: &Document) -> String {
    let mut out = format!("# {}\n", words(&document.title));
    blocks(&document.blocks, 2, &mut out);
    out
}

fn blocks(list: &[Block], level: usize, out: &mut String) {
    for block in list {
        out.push('\n');
        match block {
            Block::Paragraph(spans) => out.push_str(&format!("{}\n", beginning(spans))),
            Block::Facts(facts) => {
                for (name, spans) in facts {
                    out.push_str(&format!("- **{}**: {}\n", words(name), line(spans)));
                }
            }
            Block::Points(items) => {
                for item in items {
                    out.push_str(&format!("- {}\n", beginning(item)));
                }
            }
            Block::Numbered(items) => {
                for (index, item) in items.iter().enumerate() {
                    out.push_str(&format!("{}. {}\n", index + 1, beginning(item)));
                }
            }
            Block::Table { head, rows } => {
                let head: Vec<String> = head.iter().map(|name| words(name)).collect();
                out.push_str(&row(&head));
                out.push_str(&row(&vec!["---".to_owned(); head.len()]));
                for cells in rows {
                    // A bar ends a cell wherever it stands.
                    let cells: Vec<String> =
                        cells.iter().map(|cell| line(cell).replace('|', "\\|")).collect();
                    out.push_str(&row(&cells));
                }
            }
            Block::Code(code) => out.push_str(&fenced(code)),
            Block::Section { title, blocks: inner } => {
                out.push_str(&format!("{} {}\n", "#".repeat(level.min(6)), line(title)));
                blocks(inner, level + 1, out);
            }
        }
    }
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn line(spans: &Line) -> String {
    let parts = spans.iter().map(|span| match span {
        Span::Text(text) => words(text),
        Span::Code(text) => code_span(text),
        Span::Badge(_, word) => format!("**{}**", words(word)),
    });
    parts.collect::<String>().trim().to_owned()
}

/// Text in which nothing is markup, on one line.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
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

/// Words with which a block begins: what looks like a list, a heading or a rule there would be one.
fn beginning(spans: &Line) -> String {
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

/// Code within a line: between more backquotes than stand within it.
fn code_span(text: &str) -> String {
    let text = text.replace(['\n', '\t'], " ");
    let mark = "`".repeat(longest_run(&text) + 1);
    match text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() {
        true => format!("{mark} {text} {mark}"),
        false => format!("{mark}{text}{mark}"),
    }
}

/// A text as it is: between fences that are longer than any run of backquotes within it.
fn fenced(Code { kind, text }: &Code) -> String {
    let language = match kind {
        Kind::Command => "sh",
        Kind::Output => "text",
        Kind::Diff => "diff",
    };
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{beginning, code_span, fenced, markdown, words};
    use crate::report::document::{Block, Code, Document, Kind, Tone, badge, code, paragraph, text};

    #[test]
    fn text_is_never_markup() {
        for (said, written) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a & b &lt;", "a &amp; b &amp;lt;"),
            ("![x](http://y) *b* _c_ ~~d~~", "!\\[x\\](http://y) \\*b\\* \\_c\\_ \\~\\~d\\~\\~"),
            ("one\n\n# two\n- three", "one  # two - three"),
            ("back\\slash `tick`", "back\\\\slash \\`tick\\`"),
        ] {
            assert_eq!(words(said), written);
        }
    }

    #[test]
    fn words_do_not_begin_a_block() {
        for (said, written) in [
            ("# no heading", "\\# no heading"),
            ("- no item", "\\- no item"),
            ("---", "\\---"),
            ("=== ", "\\==="),
            ("12. no number", "12\\. no number"),
            ("3) no number", "3\\) no number"),
            ("    no code", "no code"),
            ("12 is a number", "12 is a number"),
        ] {
            assert_eq!(beginning(&vec![text(said)]), written);
        }
    }

    #[test]
    fn code_ends_where_it_should() {
        assert_eq!(code_span("plain"), "`plain`");
        assert_eq!(code_span("a `b` c"), "``a `b` c``");
        assert_eq!(code_span("`` x"), "``` `` x ```");
        let block = |text: &str| fenced(&Code { kind: Kind::Output, text: text.to_owned() });
        assert_eq!(block("x"), "```text\nx\n```\n");
        assert_eq!(block("```\n# out\n````"), "`````text\n```\n# out\n````\n`````\n");
    }

    #[test]
    fn a_table_has_the_cells_that_it_has() {
        let rows = vec![vec![vec![code("a | b")], vec![text("c | d"), badge(Tone::Bad, "e")]]];
        let blocks = vec![paragraph("Before."), Block::Table { head: vec!["x", "y"], rows }];
        let page = markdown(&Document { title: "T <b>".to_owned(), blocks });
        let wanted = "# T &lt;b&gt;\n\nBefore.\n\n| x | y |\n| --- | --- |\n| `a \\| b` | c \\| d**e** |\n";
        assert_eq!(page, wanted);
    }
}
