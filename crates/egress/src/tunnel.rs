//! Bytes both ways until both sides have closed, or nothing has moved for too long.

use std::io;
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::Notify;
use tokio::time::timeout;

const BUFFER_BYTES: usize = 16 * 1024;

/// Something that can be one end of a tunnel.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A tunnel that begins when its answer has been sent.
pub(crate) struct Tunnel {
    pub client: OnUpgrade,
    pub target: Box<dyn Stream>,
    /// How long it may carry nothing; none for as long as both sides hold on.
    pub idle_limit: Option<Duration>,
}

/// Carries bytes between the two. One side may close early and still receive.
pub(crate) async fn carry(client: impl Stream, target: impl Stream, idle_limit: Option<Duration>) {
    let (from_client, to_client) = split(client);
    let (from_target, to_target) = split(target);
    let moved = Notify::new();
    let both = async {
        tokio::try_join!(pump(from_client, to_target, &moved), pump(from_target, to_client, &moved))
    };
    tokio::select! {
        // A side that broke off ends the tunnel, and there is nobody left to tell.
        _ = both => {}
        () = idle(&moved, idle_limit) => {}
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &Notify,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..count]).await?;
        to.flush().await?;
        moved.notify_one();
    }
}

/// Returns when nothing has moved for as long as the limit; never without one.
async fn idle(moved: &Notify, limit: Option<Duration>) {
    match limit {
        Some(limit) => while timeout(limit, moved.notified()).await.is_ok() {},
        None => std::future::pending().await,
    }
}
