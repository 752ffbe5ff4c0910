//! Why git does not change the files of the user's checkout, in our words.

use autonoe_core::file_names::shown_name;
use autonoe_git::Finished;

/// What git says before and behind the name of a file, and what that means for the file.
const REFUSALS: [(&str, &str, &str); 4] = [
    ("Entry '", "' not uptodate", "is not as your last commit has it, although git is set to assume so"),
    // The index has neither what the last commit has nor what the new one has; changes of the file itself were found before.
    ("Entry '", "' would be overwritten", "has staged changes that are not committed"),
    ("Untracked working tree file '", "' would be", "is not committed and would be overwritten"),
    ("Updating '", "' would lose untracked files", "has files that are not committed and would be lost"),
];

/// The files that git names, and why it does not change them.
pub(crate) fn describe(finished: &Finished) -> String {
    let plain = |line: &str| {
        line.trim_start_matches("error: ").trim_start_matches("fatal: ").trim_end_matches('.').to_owned()
    };
    let lines = || finished.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    // Git goes on to guess why.
    if let Some(lock) = lines().find(|line| line.contains(".lock': File exists")) {
        return plain(lock);
    }
    if let Some(refusal) = lines().find_map(in_our_words) {
        return refusal;
    }
    let is_reason =
        |line: &&str| !line.starts_with("Please ") && !line.starts_with("hint:") && *line != "Aborting";
    let lines: Vec<_> = lines().filter(is_reason).take(5).map(plain).collect();
    if lines.is_empty() { finished.reason() } else { lines.join(" ") }
}

/// Why git failed in the user's repository.
pub(crate) fn why_it_failed(finished: &Finished) -> String {
    match finished.stderr.contains("not a git repository") {
        true => "git no longer finds a repository there; .git/HEAD may be damaged".to_owned(),
        false => finished.reason(),
    }
}

/// The first file that a line refuses to change, and why; `None` if it is about something else.
fn in_our_words(line: &str) -> Option<String> {
    REFUSALS.iter().find_map(|(before, behind, meaning)| {
        let (_, rest) = line.split_once(before)?;
        let (file, _) = rest.split_once(behind)?;
        Some(format!("{} {meaning}", shown_name(file)))
    })
}

#[cfg(test)]
mod tests {
    use autonoe_git::Finished;

    use super::describe;

    #[test]
    fn a_refusal_names_the_file_and_what_is_the_matter_with_it() {
        for (stderr, words) in [
            (
                "error: Entry 'a.txt' would be overwritten by merge. Cannot merge.\n",
                "a.txt has staged changes that are not committed",
            ),
            (
                "error: Entry 'it's' not uptodate. Cannot merge.\n",
                "it's is not as your last commit has it, although git is set to assume so",
            ),
            (
                "error: Untracked working tree file 'd/b' would be overwritten by merge.\n",
                "d/b is not committed and would be overwritten",
            ),
            (
                "error: Updating 'd' would lose untracked files in it\n",
                "d has files that are not committed and would be lost",
            ),
            ("fatal: something else.\n", "something else"),
        ] {
            let finished = Finished { code: 128, stdout: String::new(), stderr: stderr.to_owned() };
            assert_eq!(describe(&finished), words);
        }
    }
}
