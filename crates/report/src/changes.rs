//! The changes section: commits of the run, changed files, and as much of the diff as is readable.

use autonoe_core::ci_files::is_ci_file;
use autonoe_core::file_names::list_names;
use autonoe_verify::Changes;

use crate::document::{CodeBlock, CodeKind, ReportBlock, ReportLine, code, paragraph, text};
use crate::facts::RunFacts;
use crate::hook_files::describe_hook_files;
use crate::sanitize::DIFF_LINES;

const MAX_FILES: usize = 300;
/// Diff lines shown for all files together.
const MAX_LINES: usize = 3_000;

/// A clause that follows a colon. The report is still useful without the changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesUnavailable {
    #[error("the run did not record the commit it began on")]
    NotRecorded,
    #[error("{0}")]
    Unreadable(String),
}

pub(crate) fn changes(facts: &RunFacts, changed: &Result<Changes, ChangesUnavailable>) -> Vec<ReportBlock> {
    let changes = match changed {
        Ok(changes) => changes,
        Err(why) => return vec![paragraph(format!("The changes cannot be shown: {why}."))],
    };
    let mut blocks = vec![ReportBlock::Paragraph(range(facts))];
    if changes.commits.is_empty() {
        blocks.push(paragraph("The run made no commits."));
    } else {
        let line = |commit: &autonoe_verify::Commit| {
            vec![code(commit.hash.as_str()), text(format!(" {}", commit.subject))]
        };
        blocks.push(ReportBlock::Points(changes.commits.iter().map(line).collect()));
    }
    if changes.has_more_commits {
        blocks.push(paragraph(format!("Commits older than these {} are omitted.", changes.commits.len())));
    }
    if changes.files.is_empty() {
        return blocks;
    }
    let ci: Vec<_> =
        changes.files.iter().map(|file| file.path.as_str()).filter(|path| is_ci_file(path)).collect();
    let acting: Vec<_> = facts.self_acting.iter().map(String::as_str).collect();
    blocks.extend(named("These files change what your CI runs: ", &ci));
    blocks.extend(named("Programs act on these files by themselves, so look at them first: ", &acting));
    if !facts.hook_files.is_empty() {
        blocks.push(paragraph(format!("{}.", describe_hook_files(&facts.hook_files))));
    }
    blocks.push(files(changes));
    if changes.files.len() > MAX_FILES {
        blocks.push(paragraph(format!("{} more files are omitted.", changes.files.len() - MAX_FILES)));
    }
    blocks.extend(differences(changes));
    blocks
}

/// A paragraph that names files; `None` without any.
fn named(words: &str, paths: &[&str]) -> Option<ReportBlock> {
    let mut line = vec![text(words)];
    for (number, path) in paths.iter().enumerate() {
        line.extend([text(if number == 0 { "" } else { ", " }), code(*path)]);
    }
    (!paths.is_empty()).then_some(ReportBlock::Paragraph(line))
}

fn range(facts: &RunFacts) -> ReportLine {
    let (before, after) = match &facts.commits {
        Some(commits) => (commits.before.as_deref(), commits.after.as_deref()),
        None => (None, None),
    };
    let mut line = match before {
        Some(before) => {
            vec![text("From "), code(short(before)), text(", the last commit when the run began, to ")]
        }
        None => vec![text("There were no commits when the run began, so this is everything up to ")],
    };
    line.extend(match after {
        Some(after) => [code(short(after)), text(", the last commit of the run.")],
        None => [text("the current commit; "), text("the run did not record the commit it ended on.")],
    });
    line
}

fn files(changes: &Changes) -> ReportBlock {
    let rows = changes.files.iter().take(MAX_FILES).map(|file| {
        let [added, removed] = match file.lines {
            Some((added, removed)) => [format!("+{added}"), format!("\u{2212}{removed}")],
            None => ["binary".to_owned(), String::new()],
        };
        vec![vec![code(file.path.as_str())], vec![text(added)], vec![text(removed)]]
    });
    ReportBlock::Table { head: vec!["File", "Added", "Removed"], rows: rows.collect() }
}

/// The diff of each file, as many as fit, and the names of the others.
fn differences(changes: &Changes) -> Vec<ReportBlock> {
    let mut blocks = Vec::new();
    let mut shown = Vec::new();
    let mut lines = 0;
    for (path, diff) in split_by_file(&changes.diff) {
        let count = diff.lines().count().min(DIFF_LINES);
        if lines + count > MAX_LINES {
            continue;
        }
        lines += count;
        shown.push(path);
        let code_block = ReportBlock::Code(CodeBlock { kind: CodeKind::Diff, text: diff });
        blocks.push(ReportBlock::Section { title: vec![code(path)], blocks: vec![code_block] });
    }
    let omitted: Vec<&str> =
        changes.files.iter().map(|file| file.path.as_str()).filter(|path| !shown.contains(path)).collect();
    if !omitted.is_empty() {
        let named: Vec<&str> = omitted.iter().take(MAX_FILES).copied().collect();
        blocks.push(paragraph(format!(
            "The diffs of {} file(s) are omitted to keep the page short: {}.",
            omitted.len(),
            list_names(named)
        )));
    } else if !changes.is_whole {
        blocks.push(paragraph("The end of the last file is omitted."));
    }
    blocks
}

/// Splits a diff by file into path and hunks. Content lines start with a sign, so none of them looks like a header.
fn split_by_file(diff: &str) -> Vec<(&str, String)> {
    let mut files: Vec<(&str, String)> = Vec::new();
    let mut in_header = false;
    for line in diff.lines() {
        if let Some(paths) = line.strip_prefix("diff --git ") {
            // The same path twice, separated by a space.
            files.push((&paths[..paths.len() / 2], String::new()));
            in_header = true;
            continue;
        }
        in_header &= !line.starts_with("@@");
        let is_redundant = in_header && ["index ", "--- ", "+++ "].iter().any(|word| line.starts_with(word));
        if let Some((_, text)) = files.last_mut().filter(|_| !is_redundant) {
            text.push_str(line);
            text.push('\n');
        }
    }
    files
}

fn short(hash: &str) -> String {
    hash.chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::{differences, split_by_file};
    use crate::document::{ReportBlock, text};
    use autonoe_verify::{Changes, FileChange};

    const DIFF: &str = "diff --git a b.txt a b.txt\nnew file mode 100755\nindex 000..111\n--- /dev/null\n+++ a b.txt\n\
                        @@ -0,0 +1,2 @@\n+--- x\n+diff --git c c\ndiff --git d.bin d.bin\nindex 1..2 100644\n\
                        Binary files d.bin and d.bin differ\n";

    #[test]
    fn a_diff_is_split_at_file_headers_only() {
        let wanted = [
            ("a b.txt", "new file mode 100755\n@@ -0,0 +1,2 @@\n+--- x\n+diff --git c c\n".to_owned()),
            ("d.bin", "Binary files d.bin and d.bin differ\n".to_owned()),
        ];
        assert_eq!(split_by_file(DIFF), wanted);
    }

    #[test]
    fn files_that_do_not_fit_are_omitted_and_named() {
        let names: Vec<String> = (0..10).map(|number| format!("f{number}")).collect();
        let diff = |name: &String| format!("diff --git {name} {name}\n@@ @@\n{}", "+x\n".repeat(399));
        let changes = Changes {
            commits: Vec::new(),
            has_more_commits: false,
            files: names
                .iter()
                .map(|name| FileChange { path: name.clone(), lines: Some((399, 0)) })
                .collect(),
            diff: names.iter().map(diff).collect(),
            is_whole: true,
        };
        let blocks = differences(&changes);
        let sections = blocks.iter().filter(|block| matches!(block, ReportBlock::Section { .. }));
        assert_eq!(sections.count(), 7, "seven diffs of 400 lines fit into 3,000");
        let note = "The diffs of 3 file(s) are omitted to keep the page short: f7, f8, f9.";
        assert_eq!(blocks.last(), Some(&ReportBlock::Paragraph(vec![text(note)])));
    }
}
