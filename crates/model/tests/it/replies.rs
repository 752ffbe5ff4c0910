//! Replies: text, thinking, tool calls and cost.

use autonoe_core::money::Usd;
use autonoe_model::{FinishReason, ReplyProgress, RequestedCall};
use serde_json::json;

use crate::support::{ask, ask_watched, assert_no_problems, markers, model, model_at, pieces, quick, serve};

fn turn(turn: &str) -> String {
    format!("[[conversation]]\n[[conversation.turn]]\n{turn}")
}

#[tokio::test]
async fn text_is_returned_unchanged() {
    let server =
        serve(&turn("text = 'Grüße — “all” of it, however long it may be: 🦀 and on and on and on.'"));
    let (reply, progress) = ask_watched(&model(&server)).await;
    let reply = reply.expect("a reply");
    assert_eq!(
        reply.text.as_deref(),
        Some("Grüße — “all” of it, however long it may be: 🦀 and on and on and on.")
    );
    assert_eq!(reply.thinking, None);
    assert_eq!(reply.calls, []);
    assert_eq!(reply.stop, FinishReason::Natural);
    assert_eq!(markers(&progress), [&ReplyProgress::Thinking, &ReplyProgress::Responding]);
    assert_eq!(pieces(&progress), (String::new(), reply.text.unwrap_or_default()));
    assert_no_problems(&server);
}

#[tokio::test]
async fn thinking_is_separate_from_text() {
    let server = serve(&turn("thinking = 'Where is it?'\ntext = 'Here.'"));
    let tuning = autonoe_model::Tuning { thinking: Some(2048), ..quick() };
    let reply = ask(&model_at(&server.base_url(), "sonnet", &tuning)).await.expect("a reply");
    assert_eq!(reply.thinking.as_deref(), Some("Where is it?"));
    assert_eq!(reply.text.as_deref(), Some("Here."));
}

#[tokio::test]
async fn blank_text_and_thinking_are_none() {
    let server = serve(&turn("thinking = ' '\ntext = \"\\n\"\ncall = [{ tool = 'Read' }]"));
    let reply = ask(&model(&server)).await.expect("a reply");
    assert_eq!((reply.thinking, reply.text), (None, None));
    assert_eq!(reply.calls.len(), 1);
}

#[tokio::test]
async fn several_calls_in_one_reply_keep_their_order_and_arguments() {
    let server = serve(&turn(
        "text = 'Three at once.'
         call = [
           { tool = 'Read', input = { file_path = 'a \"quoted\" path, long enough for several pieces of JSON', limit = 3 } },
           { tool = 'Read' },
           { tool = 'mcp__autonoe__list', input = { filter = { status = 'pending' } } },
         ]",
    ));
    let reply = ask(&model(&server)).await.expect("a reply");
    let call = |id: &str, name: &str, arguments| RequestedCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
    };
    let long = "a \"quoted\" path, long enough for several pieces of JSON";
    assert_eq!(
        reply.calls,
        [
            call("toolu_1_1_1", "Read", json!({ "file_path": long, "limit": 3 })),
            call("toolu_1_1_2", "Read", json!({})),
            call("toolu_1_1_3", "mcp__autonoe__list", json!({ "filter": { "status": "pending" } })),
        ]
    );
    assert_eq!(reply.text.as_deref(), Some("Three at once."));
    assert_eq!(reply.stop, FinishReason::Natural);
}

#[tokio::test]
async fn usage_separates_cached_tokens_and_has_a_cost() {
    let server = serve(&turn(
        "text = 'Done.'\nusage = { input = 1000, output = 200, cache_read = 30000, cache_write = 4000 }",
    ));
    let usage = ask(&model(&server)).await.expect("a reply").usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (1000, 200));
    assert_eq!((usage.cache_read_tokens, usage.cache_write_tokens), (30_000, 4000));
    // claude-sonnet-5: 2 dollars a million in, 10 out; cache reads cost 10 % of input, writes 125 %.
    let Usd(cost) = usage.cost_usd.expect("a known price");
    let wanted = (1000.0 * 2.0 + 30_000.0 * 0.2 + 4000.0 * 2.5 + 200.0 * 10.0) / 1e6;
    assert!((cost - wanted).abs() < 1e-12, "{cost} is not {wanted}");
}

#[tokio::test]
async fn an_unknown_model_has_an_unknown_cost_rather_than_zero() {
    let server = serve(&turn("text = 'Done.'\nusage = { input = 1000, output = 200 }"));
    let reply = ask(&model_at(&server.base_url(), "claude-imaginary-9", &quick())).await.expect("a reply");
    assert_eq!(reply.usage.cost_usd, None);
    assert_eq!(reply.usage.input_tokens, 1000);
}

#[tokio::test]
async fn stop_reasons_are_mapped() {
    for (stop, wanted) in [
        ("end_turn", FinishReason::Natural),
        ("stop_sequence", FinishReason::Natural),
        ("pause_turn", FinishReason::Natural),
        ("max_tokens", FinishReason::OutputLimit),
        ("refusal", FinishReason::Refused),
    ] {
        let server = serve(&turn(&format!("text = 'So.'\nstop = '{stop}'")));
        let reply = ask(&model(&server)).await.expect(stop);
        assert_eq!(reply.stop, wanted, "{stop}");
        assert_eq!(reply.text.as_deref(), Some("So."), "{stop}");
    }
}
