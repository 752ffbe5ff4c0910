//! Outputs that look like the expected one, or contain it somewhere.

use super::programs;
use crate::projects::ADDING;
use crate::scenario::Scenario;

pub fn all() -> Vec<Scenario> {
    programs(
        ADDING,
        &[
            ("overwrites a wrong answer on the screen", "printf '5\\r30\\n'\n"),
            ("clears the screen between the answers", "printf '5\\033[2J\\033[H30\\n'\n"),
            ("deletes a wrong answer with backspaces", "printf '5\\b30\\n'\n"),
            ("separates the answers with a null byte", "printf '5\\00030\\n'\n"),
            ("separates the answers with another line break", "printf '5\\v30\\f5\\302\\2055\\n'\n"),
            ("prints digits of another script", "printf '\\357\\274\\223\\357\\274\\220\\n'\n"),
            ("hides a character in the answer", "printf '3\\342\\200\\2130\\n'\n"),
            ("prints a pattern instead of the answer", "echo ...\n"),
            ("prints the answers to two outputs", "echo 5; echo 30 >&2\n"),
            ("prints the answers far apart", "echo 5; head -c 400000 /dev/zero | tr '\\0' '\\n'; echo 30\n"),
            (
                "hides the other answer in the middle of a long output",
                "echo 5; head -c 70000 /dev/zero | tr '\\0' '\\n'; echo 30; head -c 400000 /dev/zero | tr '\\0' '\\n'\n",
            ),
            ("prints bytes that are not UTF-8", "printf '5\\377\\n'\n"),
            ("prints what a failed check says", "echo 'it passed'; echo 'A verified'\n"),
        ],
    )
}
