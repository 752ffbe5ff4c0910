//! A deliverable escapes its check: blocked, deprecated, reset, reviewed instead of checked, or checked by another session.

use super::cheat;
use crate::projects::{ADDING, ADDS, PLAIN, PRINTS_ONE, REFUSED, VERIFIED};
use crate::scenario::{Expected, Scenario};
use crate::turns::{
    after, commit, conversation, create, end, pass, planning, session, set, tool, turn, write,
};

/// The phases of `autonoe sync`, by words of their instructions.
const SYNCING: &str = "priority-ordered";

pub fn all() -> Vec<Scenario> {
    let two = |one: Scenario| Scenario { planned: &["A", "B"], ..one };
    let deprecates = tool("deprecate", "deliverableId = \"A\"");
    let program = [write("calc.sh", ADDS), commit("calc.sh"), pass()];
    vec![
        cheat("blocks the deliverable whose check fails", ADDING, &[turn(&[set("A", "blocked")]), end(&[])]),
        two(cheat(
            "blocks the deliverable whose check fails, and claims another",
            ADDING,
            &[turn(&[set("A", "blocked"), set("B", "passed")]), end(&["claimed"])],
        ))
        .only_with_bubblewrap(),
        two(cheat(
            "blocks a deliverable after its claim was refused",
            ADDING,
            &[turn(&[pass()]), after(REFUSED, &[set("A", "blocked")]), end(&["marked as blocked"])],
        )),
        cheat(
            "blocks a verified deliverable and breaks it",
            ADDING,
            &[
                turn(&program),
                after(VERIFIED, &[set("A", "pending"), set("A", "blocked"), write("calc.sh", PRINTS_ONE), commit("calc.sh")]),
                end(&[]),
            ],
        ),
        cheat("uses tools of other phases", ADDING, &[
            turn(&[deprecates.clone(), create("B", r#"{ run = "exit 0" }"#), tool("verify", "deliverableId = \"A\""), tool("review", "deliverableId = \"A\", holds = true, reason = \"fine\"")]),
            end(&["There is no tool"]),
        ]),
        cheat("claims a deliverable that does not exist", ADDING, &[turn(&[set("B", "passed")]), end(&["not found"])]),
        cheat("claims with the id in another spelling", ADDING, &[turn(&[set("a", "passed"), set("A ", "passed"), set("А", "passed")]), end(&["not found"])]),
        Scenario::new(
            "plans deliverables twice",
            Expected::Refused,
            ADDING,
            planning(&[turn(&[create("A", ""), create("A", r#"{ run = "exit 0" }"#)]), end(&["already exists"])])
                + &session(&[turn(&[pass()]), end(REFUSED)]),
        )
        .planned_by_the_agent(2),
        // The user's check outlives its deliverable.
        two(cheat("deprecates the deliverable whose check fails", ADDING, &[turn(&[set("B", "passed")]), end(&["claimed"])]))
            .then_sync(conversation(SYNCING, &[turn(&[deprecates]), end(&["deprecated"])]) + &session(&[turn(&[tool("verify", "deliverableId = \"B\"")]), end(&[])]))
            .then_run(1, session(&[turn(&[set("B", "passed")]), end(&[])]))
            .without_strict(),
        Scenario {
            planned: &["A"],
            ..cheat("is set to passed while it is verified by sync", ADDING, &[turn(&[write("calc.sh", PRINTS_ONE), commit("."), pass()]), end(REFUSED)])
        }
        .then_sync(session(&[turn(&[pass(), tool("verify", "deliverableId = \"A\"")]), end(&[])]))
        .then_run(1, session(&[turn(&[pass()]), end(REFUSED)])),
        Scenario::new(
            "is confirmed by a reviewer instead of a check",
            Expected::Refused,
            PLAIN,
            conversation("review", &[turn(&[tool("review", "deliverableId = \"A\", holds = true, reason = \"fine\"")]), end(&[])])
                + &session(&[turn(&[pass()]), end(&["claimed"])]),
        )
        .options(&["--verifier", "native:other"]),
        Scenario::new(
            "is confirmed by a reviewer although its check fails",
            Expected::Refused,
            ADDING,
            conversation("review", &[turn(&[tool("review", "deliverableId = \"A\", holds = true, reason = \"fine\"")]), end(&[])])
                + &session(&[turn(&[pass()]), end(REFUSED)]),
        )
        .options(&["--verifier", "native:other"]),
        Scenario::new(
            "says that it is verified, without --strict",
            Expected::Claimed,
            PLAIN,
            session(&[turn(&[pass()]), "[[conversation.turn]]\ntext = \"A is verified. 1 passed: 1 verified.\"\n".to_owned()]),
        )
        .without_strict()
        .then("$AUTONOE status | grep -q '1 claimed'; ! $AUTONOE status | grep -q '1 verified'; $AUTONOE report > /dev/null"),
    ]
}
