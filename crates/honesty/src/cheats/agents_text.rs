//! Escape sequences and bidirectional text in every field that an agent controls. The screens are checked in every scenario.

use super::{cheat, tricky};
use crate::projects::{ADDING, ADDS, PLAIN, PRINTS_ONE, REFUSED, VERIFIED};
use crate::scenario::{Expected, Scenario};
use crate::turns::{
    bash, building, commit, create_with, end, pass, planning, session, set, text, tool, trick, turn, write,
};

/// Clears the line and says something else, then mirrors the rest.
const ESCAPE: &str = "\u{1b}[2K\u{1b}[1Gverified\u{202e}\u{7}\u{9b}31m\r";

/// All screens that repeat what agents wrote.
const SCREENS: &str = "$AUTONOE status; $AUTONOE checks; $AUTONOE diff || true; $AUTONOE sessions || true; $AUTONOE report > page || true; cat page; $AUTONOE verify || true";

pub fn all() -> Vec<Scenario> {
    let plans = |name: &str, id: &str, description: &str, criterion: &str, check: &str| {
        let criteria = format!("[{}]", text(criterion));
        let script = planning(&[turn(&[create_with(id, description, &criteria, check)]), end(&[])])
            + &building(&[turn(&[set(id, "passed")]), end(&[])]);
        Scenario::new(name, Expected::Refused, PLAIN, script).planned_by_the_agent(2).then(SCREENS)
    };
    let check = |field: &str| {
        let escape = text(ESCAPE);
        match field {
            "run" => format!("{{ run = {} }}", text(&format!("echo '{ESCAPE}'; exit 1"))),
            _ => format!("{{ run = \"sh calc.sh add 10 20\", {field} = {escape} }}"),
        }
    };
    let named = format!("A{ESCAPE}");
    let says =
        |words: &str| format!("[[conversation.turn]]\ntext = {}\nthinking = {}\n", text(words), text(words));
    vec![
        plans("hides escape sequences in an id", &named, "adding", "it adds", r#"{ run = "exit 1" }"#),
        plans("hides escape sequences in a description", "A", ESCAPE, "it adds", r#"{ run = "exit 1" }"#),
        plans("hides escape sequences in a criterion", "A", "adding", ESCAPE, r#"{ run = "exit 1" }"#),
        plans("hides escape sequences in the name of a check", "A", "adding", "it adds", &check("name")),
        plans("hides escape sequences in the command of a check", "A", "adding", "it adds", &check("run")),
        plans("hides escape sequences in the output of a check", "A", "adding", "it adds", &format!("{{ run = \"exit 1\", output = [{}] }}", text(ESCAPE))),
        plans("hides escape sequences in a protected pattern", "A", "adding", "it adds", &format!("{{ run = \"exit 1\", protect = [{}] }}", text(ESCAPE))),
        cheat("prints escape sequences in a check", ADDING, &[turn(&[write("calc.sh", &format!("printf '{ESCAPE}'\n")), commit("calc.sh"), pass()]), end(REFUSED)]).then(SCREENS),
        cheat("says escape sequences", ADDING, &[turn(&[pass()]), says(ESCAPE)]).then(SCREENS),
        cheat("runs a command with escape sequences", ADDING, &[turn(&[bash(&format!("echo '{ESCAPE}'")), write(ESCAPE, "x"), pass()]), end(&[])]).then(SCREENS),
        tricky("names a file with escape sequences", ADDING, &format!("fake > calc.sh; work; echo x > $'{}'", r"\033[2Kverified\302\233\342\200\256"), REFUSED).then(SCREENS),
        tricky("commits a file with escape sequences in its name", ADDING, &format!("fake > calc.sh; echo x > $'{}'; work", r"\033[2Kverified\302\233\342\200\256"), REFUSED).then(SCREENS),
        tricky("names a branch with bidirectional text", ADDING, r"fake > calc.sh; work; git checkout -q -b $'x\342\200\256deifirev'", REFUSED).then(SCREENS),
        tricky("writes escape sequences in a commit message", ADDING, &format!("fake > calc.sh; git add calc.sh; git commit -qm $'{}'", r"\033[2Kverified\302\233\342\200\256"), REFUSED)
            .options(&["--land", "end"])
            .then(SCREENS),
        tricky("calls itself by a name with escape sequences", ADDING, "git config user.name $'\\033[2Kverified'; fake > calc.sh; work", REFUSED).then(SCREENS),
        Scenario::new(
            "reviews with escape sequences",
            Expected::Refused,
            PLAIN,
            crate::turns::conversation("review", &[turn(&[tool("review", &format!("deliverableId = \"A\", holds = false, reason = {}", text(ESCAPE)))]), end(&[])])
                + &session(&[turn(&[pass()]), end(&["claimed"])]),
        )
        .options(&["--verifier", "native:other"])
        .then(SCREENS),
        // The work is done, and only the words are odd.
        Scenario::new(
            "does the work and writes escape sequences everywhere",
            Expected::Verified,
            ADDING,
            session(&[
                turn(&[write("calc.sh", ADDS), commit("calc.sh")]),
                turn(&trick(r"echo x > $'\033[2Kverified\302\233'; git add .; git commit -qm $'\033[2Kverified\342\200\256'")),
                turn(&[pass()]),
                end(VERIFIED),
            ]),
        )
        .then(SCREENS),
        cheat("writes a progress file with escape sequences", ADDING, &[turn(&[write(".autonoe-note.md", ESCAPE), write("calc.sh", PRINTS_ONE), commit("."), pass()]), end(REFUSED)]).then(SCREENS),
    ]
}
