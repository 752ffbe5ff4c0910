use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use autonoe_core::notification::{NotificationEvent, NotificationLevel, UserNotification};
use autonoe_core::redact::Redactor;
use autonoe_store::{DeliveryState, Outbox, Project};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Dispatcher, DispatcherOptions};
use crate::program::Programs;
use crate::target::{Channel, DEFAULT_TIME_LIMIT, NotifyTarget};

/// Far above what anything here needs.
const LONG: Duration = Duration::from_secs(60);

fn outbox(state: &TempDir) -> Arc<Outbox> {
    let project = Project::open(&std::env::temp_dir(), state.path()).expect("project");
    Arc::new(Outbox::open(&project).expect("outbox"))
}

/// Records a notification that happened so long ago, for these targets.
fn record(outbox: &Outbox, ago: Duration, targets: &[&str]) {
    let at = Timestamp::now().checked_sub(ago).expect("a time");
    let notification = UserNotification {
        id: outbox.id(1, NotificationEvent::Done, "").expect("an id"),
        event: NotificationEvent::Done,
        level: NotificationLevel::Success,
        title: "shop: done".to_owned(),
        text: "All passed.".to_owned(),
        project: "shop".to_owned(),
        project_path: "/home/ann/shop".to_owned(),
        run: Some(1),
        at,
    };
    let expires_at = at + SignedDuration::from_hours(24);
    let targets: Vec<_> = targets.iter().map(|name| (*name, expires_at)).collect();
    assert!(outbox.record(&notification, &targets).expect("recorded"));
}

/// A dispatcher for one target, whose program is missing.
fn dispatcher(outbox: &Arc<Outbox>, warnings: &Arc<Mutex<Vec<String>>>) -> Dispatcher {
    let warnings = Arc::clone(warnings);
    Dispatcher::start(DispatcherOptions {
        outbox: Arc::clone(outbox),
        targets: vec![NotifyTarget {
            name: "desk".to_owned(),
            events: NotificationEvent::ALL.into(),
            expire_after: None,
            time_limit: DEFAULT_TIME_LIMIT,
            channel: Channel::Desktop {
                notify_send: Err("notify-send hunter22hunter22 is missing".to_owned()),
            },
        }],
        programs: Programs {
            own_executable: PathBuf::from("/nowhere"),
            environment: Vec::new(),
            directory: PathBuf::from("/"),
        },
        redactor: Redactor::new(&["hunter22hunter22".to_owned()]),
        warn: Box::new(move |sentence| warnings.lock().expect("not poisoned").push(sentence.to_owned())),
    })
}

#[tokio::test]
async fn what_cannot_be_delivered_is_given_up_with_its_reason_and_one_sentence() {
    for (ago, target, state, attempts, reason) in [
        (Duration::ZERO, "desk", DeliveryState::Failed, 1, "is missing"),
        (Duration::ZERO, "gone", DeliveryState::Failed, 0, "it is no longer configured"),
        (
            Duration::from_secs(25 * 3600),
            "desk",
            DeliveryState::Expired,
            0,
            "no process was there to notify it",
        ),
    ] {
        let (state_home, warnings) = (TempDir::new().expect("state"), Arc::default());
        let outbox = outbox(&state_home);
        record(&outbox, ago, &[target]);
        let left =
            dispatcher(&outbox, &warnings).finish(LONG, &CancellationToken::new()).await.expect("finished");
        assert_eq!(left, []);
        let rows = outbox.newest(10).expect("rows");
        assert_eq!((rows[0].state, rows[0].attempts), (state, attempts), "{rows:?}");
        let problem = rows[0].problem.as_deref().expect("a reason");
        assert!(problem.contains(reason) && !problem.contains("hunter22"), "{problem}");
        let warnings = warnings.lock().expect("not poisoned").clone();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains(target) && warnings[0].contains("'done'"), "{warnings:?}");
    }
}

#[tokio::test]
async fn one_process_delivers_and_another_takes_over() {
    let (state_home, warnings) = (TempDir::new().expect("state"), Arc::default());
    let (one, other) = (outbox(&state_home), outbox(&state_home));
    let lock = other.try_lock().expect("a lock").expect("free");
    record(&one, Duration::ZERO, &["desk"]);
    let short = Duration::from_millis(100);
    let left = dispatcher(&one, &warnings).finish(short, &CancellationToken::new()).await.expect("finished");
    assert_eq!(left.len(), 1, "the other one does it");
    let waiting = dispatcher(&one, &warnings);
    drop(lock);
    assert_eq!(waiting.finish(LONG, &CancellationToken::new()).await.expect("finished"), []);
    assert_eq!(one.newest(1).expect("rows")[0].attempts, 1);
}

#[tokio::test]
async fn an_interrupt_and_a_later_retry_are_not_waited_for() {
    let (state_home, warnings) = (TempDir::new().expect("state"), Arc::default());
    let outbox = outbox(&state_home);
    record(&outbox, Duration::ZERO, &["desk"]);
    let interrupt = CancellationToken::new();
    interrupt.cancel();
    let lock = outbox.try_lock().expect("a lock");
    let left = dispatcher(&outbox, &warnings).finish(LONG, &interrupt).await.expect("finished");
    assert_eq!(left.len(), 1);
    drop(lock);
    let later = Timestamp::now() + SignedDuration::from_hours(2);
    outbox.postpone(&left[0].key, 3, later, "it answered 500").expect("postponed");
    let left =
        dispatcher(&outbox, &warnings).finish(LONG, &CancellationToken::new()).await.expect("finished");
    assert_eq!((left.len(), left[0].attempts), (1, 3));
}
