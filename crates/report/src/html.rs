//! Renders the report as a self-contained HTML page with inline style, no scripts and no network access. All text is escaped; should
//! any of it become markup anyway, the page's content security policy blocks scripts and requests.

use crate::document::{CodeBlock, CodeKind, Document, ReportBlock, ReportLine, ReportSpan, Tone};

const STYLE: &str = include_str!("page.css");

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

pub fn html(document: &Document) -> String {
    let title = escaped(&document.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    );
    blocks(&document.blocks, 2, &mut out);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn blocks(list: &[ReportBlock], level: usize, out: &mut String) {
    for block in list {
        match block {
            ReportBlock::Paragraph(spans) => out.push_str(&format!("<p>{}</p>\n", line(spans))),
            ReportBlock::KeyValues(facts) => {
                out.push_str("<dl>\n");
                for (name, spans) in facts {
                    out.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), line(spans)));
                }
                out.push_str("</dl>\n");
            }
            ReportBlock::Points(items) => list_of("ul", items, out),
            ReportBlock::Numbered(items) => list_of("ol", items, out),
            ReportBlock::Table { head, rows } => table(head, rows, out),
            ReportBlock::Code(code) => out.push_str(&code_block(code)),
            ReportBlock::Section { title, blocks: inner } => {
                let heading = level.min(6);
                out.push_str(&format!("<section>\n<h{heading}>{}</h{heading}>\n", line(title)));
                blocks(inner, level + 1, out);
                out.push_str("</section>\n");
            }
        }
    }
}

fn list_of(tag: &str, items: &[ReportLine], out: &mut String) {
    out.push_str(&format!("<{tag}>\n"));
    for item in items {
        out.push_str(&format!("<li>{}</li>\n", line(item)));
    }
    out.push_str(&format!("</{tag}>\n"));
}

fn table(head: &[&str], rows: &[Vec<ReportLine>], out: &mut String) {
    // A table that is too wide for a small screen scrolls inside this box.
    out.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for name in head {
        out.push_str(&format!("<th scope=\"col\">{}</th>", escaped(name)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", line(cell))).collect();
        out.push_str(&format!("<tr>{cells}</tr>\n"));
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn line(spans: &ReportLine) -> String {
    let parts = spans.iter().map(|span| match span {
        ReportSpan::Text(text) => escaped(text),
        ReportSpan::Code(text) => format!("<code>{}</code>", escaped(text)),
        ReportSpan::Badge(tone, word) => {
            format!("<strong class=\"{}\">{}</strong>", tone_name(*tone), escaped(word))
        }
    });
    parts.collect()
}

fn tone_name(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "badge good",
        Tone::Open => "badge open",
        Tone::Bad => "badge bad",
        Tone::Plain => "badge plain",
    }
}

fn code_block(CodeBlock { kind, text }: &CodeBlock) -> String {
    let (class, inside) = match kind {
        CodeKind::Command => ("command", escaped(text)),
        CodeKind::Output => ("output", escaped(text)),
        CodeKind::Diff => ("diff", text.lines().map(diff_line).collect()),
    };
    format!("<pre class=\"{class}\" tabindex=\"0\"><code>{inside}</code></pre>\n")
}

fn diff_line(line: &str) -> String {
    let class = match line.as_bytes().first() {
        Some(b'+') => "added",
        Some(b'-') => "removed",
        Some(b'@') => "hunk",
        Some(_) | None => return format!("{}\n", escaped(line)),
    };
    format!("<span class=\"{class}\">{}</span>\n", escaped(line))
}

/// Safe inside elements and attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::html;
    use crate::document::{CodeBlock, CodeKind, Document, ReportBlock, Tone, badge, code, text};

    const EVIL: &str = "</code></title><script>alert('x')</script><img src=\"http://evil.example\">&amp;";
    const ESCAPED: &str = "&lt;/code&gt;&lt;/title&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\
                         &lt;img src=&quot;http://evil.example&quot;&gt;&amp;amp;";

    #[test]
    fn all_text_is_escaped() {
        let words = || vec![text(EVIL), code(EVIL), badge(Tone::Bad, EVIL)];
        let block = |kind| ReportBlock::Code(CodeBlock { kind, text: EVIL.to_owned() });
        let blocks = vec![
            ReportBlock::Paragraph(words()),
            ReportBlock::KeyValues(vec![("name", words())]),
            ReportBlock::Points(vec![words()]),
            ReportBlock::Numbered(vec![words()]),
            ReportBlock::Table { head: vec!["a"], rows: vec![vec![words()]] },
            ReportBlock::Section { title: words(), blocks: vec![] },
            block(CodeKind::Command),
            block(CodeKind::Output),
            block(CodeKind::Diff),
        ];
        let page = html(&Document { title: EVIL.to_owned(), blocks });
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
        assert_eq!(page.matches(ESCAPED).count(), 2 + 6 * 3 + 3, "{page}");
    }

    #[test]
    fn the_page_makes_no_requests() {
        let page = html(&Document { title: "T".to_owned(), blocks: vec![] });
        assert!(page.contains("default-src 'none'"), "{page}");
        for word in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word} in {page}");
        }
    }

    #[test]
    fn diff_lines_are_marked() {
        let diff = "@@ -1 +1 @@\n-<a>\n+<b>\n same";
        let blocks = vec![ReportBlock::Code(CodeBlock { kind: CodeKind::Diff, text: diff.to_owned() })];
        let page = html(&Document { title: String::new(), blocks });
        let wanted = "<span class=\"hunk\">@@ -1 +1 @@</span>\n<span class=\"removed\">-&lt;a&gt;</span>\n\
                      <span class=\"added\">+&lt;b&gt;</span>\n same\n";
        assert!(page.contains(wanted), "{page}");
    }
}
