//! Copies bytes in both directions until both sides have closed or the tunnel has been idle for too long.

use std::io;
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::Notify;
use tokio::time::timeout;

const BUFFER_BYTES: usize = 16 * 1024;

/// One end of a tunnel.
pub(crate) trait TunnelStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> TunnelStream for T {}

/// A tunnel that starts once its response has been sent.
pub(crate) struct Tunnel {
    pub client: OnUpgrade,
    pub target: Box<dyn TunnelStream>,
    /// The tunnel is closed after this time without data; `None` keeps it open until a side closes it.
    pub idle_limit: Option<Duration>,
}

/// Copies bytes between the two ends. A side that has closed its sending half can still receive.
pub(crate) async fn copy_both_ways(
    client: impl TunnelStream,
    target: impl TunnelStream,
    idle_limit: Option<Duration>,
) {
    let (from_client, to_client) = split(client);
    let (from_target, to_target) = split(target);
    let moved = Notify::new();
    let both = async {
        tokio::try_join!(copy(from_client, to_target, &moved), copy(from_target, to_client, &moved))
    };
    tokio::select! {
        // An I/O error on either side ends the tunnel; there is nobody left to report it to.
        _ = both => {}
        () = idle(&moved, idle_limit) => {}
    }
}

async fn copy(
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

/// Returns when nothing has moved for `limit`; without a limit it never returns.
async fn idle(moved: &Notify, limit: Option<Duration>) {
    match limit {
        Some(limit) => while timeout(limit, moved.notified()).await.is_ok() {},
        None => std::future::pending().await,
    }
}
