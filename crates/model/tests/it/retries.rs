//! Transient failures: the caller gets a reply, only later.

use std::time::Duration;

use autonoe_model::{ReplyProgress, Tuning};

use crate::support::{
    ask, ask_watched, assert_no_problems, markers, model, model_at, quick, retries, serve, serve_fault,
};

#[tokio::test]
async fn a_transient_failure_is_retried() {
    for (failure, code) in [
        ("{ kind = 'status', status = 429, times = 2 }", "rate_limited"),
        ("{ kind = 'status', status = 500, times = 2 }", "server_error"),
        ("{ kind = 'status', status = 503, times = 2 }", "overloaded"),
        ("{ kind = 'status', status = 529, times = 2 }", "overloaded"),
        ("{ kind = 'cut', times = 2 }", "network_error"),
        ("{ kind = 'malformed', times = 2 }", "invalid_response"),
    ] {
        let server = serve_fault(failure);
        let (reply, progress) = ask_watched(&model(&server)).await;
        assert_eq!(reply.expect(failure).text.as_deref(), Some("At last."), "{failure}");
        let codes: Vec<&str> =
            retries(&progress).into_iter().map(|(_, _, fault)| fault.code.as_str()).collect();
        assert_eq!(codes, [code, code], "{failure}");
        assert_eq!(server.requests().len(), 3, "{failure}");
        assert_no_problems(&server);
    }
}

#[tokio::test]
async fn the_last_retry_may_still_succeed_and_different_failures_share_the_count() {
    let server = serve(
        "[[conversation]]
         [[conversation.turn]]
         fault = { kind = 'status', status = 529 }
         [[conversation.turn]]
         fault = { kind = 'cut' }
         [[conversation.turn]]
         fault = { kind = 'status', status = 500 }
         [[conversation.turn]]
         text = 'At last.'",
    );
    let (reply, progress) = ask_watched(&model(&server)).await;
    assert_eq!(reply.expect("the third retry").text.as_deref(), Some("At last."));
    assert_eq!(retries(&progress).len(), 3);
}

#[tokio::test]
async fn a_partial_reply_is_discarded() {
    let server = serve(
        "[[conversation]]
         [[conversation.turn]]
         fault = { kind = 'cut' }
         [[conversation.turn]]
         text = 'A text that is long enough to be streamed in several pieces, so that its first half arrives.'
         call = [{ tool = 'Read', input = { file_path = 'SPEC.md' } }]",
    );
    let reply = ask(&model(&server)).await.expect("the retry");
    let text = reply.text.expect("text");
    assert!(text.starts_with("A text") && text.ends_with("arrives."), "{text}");
    assert_eq!(text.matches("A text").count(), 1);
    assert_eq!(reply.calls.len(), 1);
}

#[tokio::test]
async fn retry_after_is_respected() {
    for (headers, pause) in [
        ("{ 'retry-after' = '0.03' }", Duration::from_millis(30)),
        ("{ 'retry-after-ms' = '40' }", Duration::from_millis(40)),
        ("{ 'retry-after-ms' = '20', 'retry-after' = '50' }", Duration::from_millis(20)),
    ] {
        for status in [429, 503, 529] {
            let server =
                serve_fault(&format!("{{ kind = 'status', status = {status}, headers = {headers} }}"));
            let (reply, progress) = ask_watched(&model(&server)).await;
            assert!(reply.is_ok(), "{status} {headers}");
            let retries = retries(&progress);
            assert_eq!(retries.len(), 1);
            assert_eq!(retries[0].1, pause, "{status} {headers}");
            assert_eq!(retries[0].2.retry_after, Some(pause), "{status} {headers}");
        }
    }
}

#[tokio::test]
async fn an_invalid_retry_after_is_ignored() {
    for value in ["soon", "-5", "Wed, 21 Oct 2026 07:28:00 GMT", "1e400", "NaN"] {
        let failure =
            format!("{{ kind = 'status', status = 429, headers = {{ 'retry-after' = '{value}' }} }}");
        let server = serve_fault(&failure);
        let (reply, progress) = ask_watched(&model(&server)).await;
        assert!(reply.is_ok(), "{value}: {reply:?}");
        assert_eq!(retries(&progress)[0].2.retry_after, None, "{value}");
    }
}

/// Each frame arrives well within the idle timeout; all together take longer.
#[tokio::test]
async fn a_slow_stream_is_not_a_timeout() {
    let text = "Slow and steady. ".repeat(60);
    let server = serve(&format!(
        "[[conversation]]\n[[conversation.turn]]\nfault = {{ kind = 'slow', millis = 50 }}\ntext = '{text}'"
    ));
    let tuning = Tuning { idle_timeout: Duration::from_secs(1), ..quick() };
    let (reply, progress) = ask_watched(&model_at(&server.base_url(), "sonnet", &tuning)).await;
    assert_eq!(reply.expect("a whole reply").text.as_deref(), Some(text.as_str()));
    assert_eq!(markers(&progress), [&ReplyProgress::Thinking, &ReplyProgress::Responding]);
}

#[test]
fn the_first_pause_is_half_a_second_unless_tuned() {
    assert_eq!(Tuning::default().retry_pause, Duration::from_millis(500));
    assert_eq!(Tuning::default().idle_timeout, Duration::from_secs(120));
}
