//! What a run committed: its commits, the files, and the differences of each, as far as a reader gets through them.

use autonoe_verify::Changes;

use super::cleaning::DIFF_LINES;
use super::document::{Block, Code, Kind, Line, code, paragraph, text};
use super::facts::Facts;

/// How many files are named, and how many lines of differences are shown of all of them together.
const MAX_FILES: usize = 300;
const MAX_LINES: usize = 3_000;

/// Says what was changed, or why that is not known.
pub fn changes(facts: &Facts, changed: &Result<Changes, String>) -> Vec<Block> {
    let changes = match changed {
        Ok(changes) => changes,
        Err(why) => return vec![paragraph(format!("It cannot be shown: {why}."))],
    };
    let mut blocks = vec![Block::Paragraph(range(facts))];
    if changes.commits.is_empty() {
        blocks.push(paragraph("Nothing was committed."));
    } else {
        let line = |commit: &autonoe_verify::Commit| {
            vec![code(commit.hash.as_str()), text(format!(" {}", commit.subject))]
        };
        blocks.push(Block::Points(changes.commits.iter().map(line).collect()));
    }
    if changes.has_more_commits {
        blocks.push(paragraph(format!("Older commits than these {} are left out.", changes.commits.len())));
    }
    if changes.files.is_empty() {
        return blocks;
    }
    blocks.push(files(changes));
    if changes.files.len() > MAX_FILES {
        blocks.push(paragraph(format!("{} more files are left out.", changes.files.len() - MAX_FILES)));
    }
    blocks.extend(differences(changes));
    blocks
}

/// Between which commits.
fn range(facts: &Facts) -> Line {
    let (before, after) = match &facts.commits {
        Some(commits) => (commits.before.as_deref(), commits.after.as_deref()),
        None => (None, None),
    };
    let mut line = match before {
        Some(before) => {
            vec![text("From "), code(short(before)), text(", which was committed when the run began, to ")]
        }
        None => vec![text("Nothing was committed when the run began, so this is all, up to ")],
    };
    line.extend(match after {
        Some(after) => [code(short(after)), text(", the last commit of the run.")],
        None => [text("what is committed now: "), text("the run did not say on which commit it ended.")],
    });
    line
}

fn files(changes: &Changes) -> Block {
    let rows = changes.files.iter().take(MAX_FILES).map(|file| {
        let [added, removed] = match file.lines {
            Some((added, removed)) => [format!("+{added}"), format!("\u{2212}{removed}")],
            None => ["not a text".to_owned(), String::new()],
        };
        vec![vec![code(file.path.as_str())], vec![text(added)], vec![text(removed)]]
    });
    Block::Table { head: vec!["File", "Added", "Taken out"], rows: rows.collect() }
}

/// The differences of each file, as many as fit, and what does not.
fn differences(changes: &Changes) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut shown = Vec::new();
    let mut lines = 0;
    for (path, diff) in parts(&changes.diff) {
        let more = diff.lines().count().min(DIFF_LINES);
        if lines + more > MAX_LINES {
            continue;
        }
        lines += more;
        shown.push(path);
        let code_block = Block::Code(Code { kind: Kind::Diff, text: diff });
        blocks.push(Block::Section { title: vec![code(path)], blocks: vec![code_block] });
    }
    let left_out: Vec<&str> =
        changes.files.iter().map(|file| file.path.as_str()).filter(|path| !shown.contains(path)).collect();
    if !left_out.is_empty() {
        let named: Vec<&str> = left_out.iter().take(MAX_FILES).copied().collect();
        blocks.push(paragraph(format!(
            "The differences of {} file(s) are left out, since the page would be too long: {}.",
            left_out.len(),
            named.join(", ")
        )));
    } else if !changes.is_whole {
        blocks.push(paragraph("The end of the last file is left out."));
    }
    blocks
}

/// The differences by file: its path, and what is not the same. Lines of a file begin with a sign, so none looks like a head.
fn parts(diff: &str) -> Vec<(&str, String)> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    let mut is_head = false;
    for line in diff.lines() {
        if let Some(paths) = line.strip_prefix("diff --git ") {
            // Twice the same path, with a space between.
            parts.push((&paths[..paths.len() / 2], String::new()));
            is_head = true;
            continue;
        }
        is_head &= !line.starts_with("@@");
        let is_known = is_head && ["index ", "--- ", "+++ "].iter().any(|word| line.starts_with(word));
        if let Some((_, text)) = parts.last_mut().filter(|_| !is_known) {
            text.push_str(line);
            text.push('\n');
        }
    }
    parts
}

fn short(hash: &str) -> String {
    hash.chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::{differences, parts};
    use crate::report::document::{Block, text};
    use autonoe_verify::{Changes, FileChange};

    const DIFF: &str = "diff --git a b.txt a b.txt\nnew file mode 100755\nindex 000..111\n--- /dev/null\n+++ a b.txt\n\
                        @@ -0,0 +1,2 @@\n+--- x\n+diff --git c c\ndiff --git d.bin d.bin\nindex 1..2 100644\n\
                        Binary files d.bin and d.bin differ\n";

    #[test]
    fn files_are_told_apart_by_their_heads_alone() {
        let wanted = [
            ("a b.txt", "new file mode 100755\n@@ -0,0 +1,2 @@\n+--- x\n+diff --git c c\n".to_owned()),
            ("d.bin", "Binary files d.bin and d.bin differ\n".to_owned()),
        ];
        assert_eq!(parts(DIFF), wanted);
    }

    #[test]
    fn what_is_too_long_is_left_out_and_named() {
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
        let sections = blocks.iter().filter(|block| matches!(block, Block::Section { .. }));
        assert_eq!(sections.count(), 7, "3,000 lines hold seven times 400");
        let note = "The differences of 3 file(s) are left out, since the page would be too long: f7, f8, f9.";
        assert_eq!(blocks.last(), Some(&Block::Paragraph(vec![text(note)])));
    }
}
