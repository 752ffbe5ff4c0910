//! Runs blocking work, such as walking a project, off the async threads, where it would delay signals and limits of time.

use tokio_util::sync::CancellationToken;

/// If the returned future is dropped, the token is cancelled; `work` must then return soon.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> T {
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    match tokio::task::spawn_blocking(move || work(&cancel)).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => std::future::pending().await,
        },
    }
}
