//! The content of the drawings.

use serde_json::json;

use super::{mermaid, svg, text};
use crate::samples::{good, of_steps, patched};

#[test]
fn text_shows_the_entry_first_and_every_step_with_its_transitions() {
    let drawn = text(&good());
    let expected = "\
fix 1.0.0: Fixes an issue.
Done when all steps are finished; at most 100 iterations.

▶ plan  (entry)
    prompt  plan.md
    → build

● build
    prompt  build.md, or plan.md
    actions test
    check   the action test succeeds
    → polish  [pass]
    ↻ build  [fail: 2 retries]
    → repair  [after 2 retries]
    ⇢ help  [escalates]

● polish
    steps   format, lint
    → format  [first]

    ○ format  (sub-step of polish)
        prompt  plan.md
        → lint

    ○ lint  (sub-step of polish)
        prompt  plan.md
        check   the response contains LINTED
        ↻ lint  [fail: 3 retries]
        → review

● repair
    prompt  plan.md
    ↺ polish

● help
    prompt  plan.md
    ↺ build  [returns: resume]

◆ review  (gateway)
    prompt  steps/review/code/f_default.md
    ↺ build  [verdict = bad]
    → ■ the end  [verdict = good]
";
    assert!(drawn.starts_with(expected), "{drawn}");
}

#[test]
fn an_invalid_definition_is_drawn_as_far_as_possible() {
    let wrong = of_steps(json!({}), json!({ "b": { "prompt": "plan.md", "next": "nowhere" } }));
    assert!(text(&wrong).contains("→ nowhere  (missing step)"));
    assert!(mermaid(&wrong).contains("s0[\"b<br/>plan.md\"]"));
    assert!(svg(&wrong).contains(">b</text>"));
    assert!(svg(&of_steps(json!({}), json!({}))).ends_with("</svg>\n"), "no steps at all");
}

#[test]
fn mermaid_shows_boxes_and_gateways_and_labels() {
    let drawn = mermaid(&good());
    for line in [
        "flowchart TD",
        "    start --> s0",
        "    s0[\"plan<br/>plan.md\"]",
        "    s7{\"review<br/>steps/review/code/f#95;default.md\"}",
        "    finish(((\"the end\")))",
        "    s0 --> s1",
        "    s1 -.->|\"fail: 2 retries\"| s1",
        "    s7 -->|\"verdict = good\"| finish",
    ] {
        let line = line.replace("#95;", "_");
        assert!(drawn.lines().any(|found| found == line), "{line} is not in:\n{drawn}");
    }
}

#[test]
fn texts_of_the_definition_are_escaped() {
    let evil = "\"]; click x <script>alert(1)</script>\u{1b}[2J\n|";
    let steps = json!({ "steps": {
        "review": { "branch": { "targets": { evil: "build" } } },
        "lint": { "check": { "keywords": [evil] } },
        "plan": { "description": evil },
    } });
    let definition = patched(json!({ "description": evil }), steps);
    let drawn = svg(&definition);
    assert!(!drawn.contains("<script") && drawn.contains("&lt;script"), "{drawn}");
    assert!(!mermaid(&definition).contains("<script") && !mermaid(&definition).contains("\"]; click"));
    for drawn in [text(&definition), mermaid(&definition), drawn] {
        assert!(drawn.chars().all(|c| c == '\n' || !c.is_control()));
    }
}

#[test]
fn a_diagram_has_a_box_for_each_step_and_no_boxes_overlap() {
    let diagram = super::layout::layout(&good());
    assert_eq!(diagram.boxes.len(), good().steps.steps.len() + 1, "and the end");
    for (number, one) in diagram.boxes.iter().enumerate() {
        assert!(one.x - one.width / 2.0 >= diagram.left && one.y + one.height <= diagram.height, "{one:?}");
        assert!(one.x + one.width / 2.0 <= diagram.left + diagram.width, "{one:?}");
        for other in &diagram.boxes[number + 1..] {
            let beside = (one.x - other.x).abs() >= (one.width + other.width) / 2.0;
            let below = one.y + one.height <= other.y || other.y + other.height <= one.y;
            assert!(beside || below, "{one:?} covers {other:?}");
        }
    }
}

#[test]
fn an_svg_is_self_contained() {
    let drawn = svg(&of_steps(
        json!({}),
        json!({
            "a": { "type": "gateway", "prompt": "plan.md", "output": {}, "branch": { "field": "kind", "targets": {
                "bug": "b", "feature": "c", "question": "d", "spam": null }, "default": "e" } },
            "b": { "prompt": "plan.md", "next": "f" }, "c": { "prompt": "plan.md", "next": "f" },
            "d": { "prompt": "plan.md", "next": "a" }, "e": { "prompt": "plan.md", "escalation": { "escalateTo": "d", "returnFlow": "abort" } },
            "f": { "prompt": "a/rather/long/path/of/a/prompt.md", "check": { "type": "prompt", "prompt": "plan.md", "onPass": { "complete": true }, "onFail": { "next": "b" } } },
        }),
    ));
    assert!(drawn.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    for word in ["<script", "href", "@import", "url(http", "<image", "NaN", "inf"] {
        assert!(!drawn.contains(word), "{word}");
    }
    let opened = drawn.matches("<text ").count();
    assert_eq!(opened, drawn.matches("</text>").count());
}

#[test]
fn the_maximum_number_of_steps_can_be_drawn() {
    let steps = (0..500).map(|number| {
        let next = format!("a{}", (number * 7 + 1) % 500);
        (format!("a{number}"), json!({ "prompt": "plan.md", "next": next }))
    });
    let many = of_steps(json!({}), serde_json::Value::Object(steps.collect()));
    assert!(text(&many).contains("a499") && mermaid(&many).contains("a499") && svg(&many).contains("a499"));
}
