//! `CONNECT` tunnels.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{allowing, client, listen, open_tunnel, read_until, start, within};

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways_and_closes_one_side_at_a_time() {
    within(async {
        let (listener, address) = listen().await;
        let egress = start(allowing(&[format!("localhost:{}", address.port())]));
        let mut client = open_tunnel(&egress, &format!("LOCALHOST.:{}", address.port())).await;
        let (mut origin, _) = listener.accept().await.unwrap();
        origin.write_all(b"\0first").await.unwrap();
        read_until(&mut client, "\0first").await;
        client.write_all(b"question\xff").await.unwrap();
        client.shutdown().await.unwrap();
        let mut question = Vec::new();
        origin.read_to_end(&mut question).await.unwrap();
        assert_eq!(question, b"question\xff");
        origin.write_all(b"answer").await.unwrap();
        drop(origin);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer");
    })
    .await;
}

#[tokio::test]
async fn bytes_sent_along_with_connect_reach_the_target() {
    within(async {
        let (listener, address) = listen().await;
        let egress = start(allowing(&[address.to_string()]));
        let mut client = client(&egress).await;
        let early = format!("CONNECT [::ffff:127.0.0.1]:{} HTTP/1.1\r\n\r\nearly", address.port());
        client.write_all(early.as_bytes()).await.unwrap();
        let (mut origin, _) = listener.accept().await.unwrap();
        read_until(&mut origin, "early").await;
    })
    .await;
}

#[tokio::test]
async fn large_transfers_arrive_complete() {
    within(async {
        let (listener, address) = listen().await;
        let egress = start(allowing(&[address.to_string()]));
        let (mut from_client, mut to_client) = open_tunnel(&egress, &address.to_string()).await.into_split();
        let (mut origin, _) = listener.accept().await.unwrap();
        let sent: Vec<u8> = (0..4_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let echo = async move {
            let (mut read, mut write) = origin.split();
            tokio::io::copy(&mut read, &mut write).await.unwrap();
        };
        let send = async {
            to_client.write_all(&sent).await.unwrap();
            to_client.shutdown().await.unwrap();
        };
        let mut received = Vec::new();
        let (.., count) = tokio::join!(echo, send, from_client.read_to_end(&mut received));
        assert_eq!(count.unwrap(), sent.len());
        assert!(received == sent);
    })
    .await;
}

#[tokio::test]
async fn dropping_the_egress_closes_every_connection() {
    within(async {
        let (listener, address) = listen().await;
        let egress = start(allowing(&[address.to_string()]));
        let proxy = egress.proxy_url().strip_prefix("http://").unwrap().to_owned();
        let mut tunnel = open_tunnel(&egress, &address.to_string()).await;
        let (mut origin, _) = listener.accept().await.unwrap();
        let mut waiting = client(&egress).await;
        waiting.write_all(b"GET /").await.unwrap();
        drop(egress);
        for stream in [&mut tunnel, &mut origin, &mut waiting] {
            assert!(matches!(stream.read(&mut [0; 10]).await, Ok(0) | Err(_)));
        }
        assert!(TcpStream::connect(proxy).await.is_err());
    })
    .await;
}
