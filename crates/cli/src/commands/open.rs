//! `autonoe open`

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::str::FromStr;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_report::one_line;
use autonoe_sandbox::{CONNECTED, REFUSED};
use clap::Args;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::commands::steer::needs_run;
use crate::engine::port_server::{PortRequest, ports_socket};
use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::system::runtime;

/// Maximum size of an answer of the run, in bytes.
const MAX_ANSWER: u64 = 4096;

/// Open a port of the program that an agent has started, such as the server it builds
///
/// Sessions have a network of their own, so that they never compete for a port. This makes a port of one available at 127.0.0.1 until you press
/// Ctrl-C or the run ends.
#[derive(Debug, Args)]
pub struct OpenArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// The port, after the deliverable that is being built if there are several, such as 3000 or A:3000
    #[arg(value_name = "[ID:]PORT")]
    target: PortTarget,

    /// Where it becomes available at 127.0.0.1, if not at the same port; 0 chooses one
    #[arg(long, value_name = "PORT")]
    listen: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PortTarget {
    deliverable: Option<String>,
    port: u16,
}

impl FromStr for PortTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (deliverable, port) = match text.rsplit_once(':') {
            Some((id, port)) if !id.is_empty() => (Some(id.to_owned()), port),
            Some((_, port)) => (None, port),
            None => (None, text),
        };
        let parsed = port.parse().ok().filter(|port| *port != 0);
        let port = parsed.ok_or_else(|| format!("'{port}' is not a port: it must be between 1 and 65535"))?;
        Ok(Self { deliverable, port })
    }
}

pub fn cmd_open(args: &OpenArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    needs_run(&project)?;
    let socket = ports_socket(&project);
    let PortTarget { deliverable, port } = &args.target;
    let request = PortRequest { deliverable: deliverable.clone(), port: *port };
    let request = serde_json::to_string(&request).unwrap_or_default() + "\n";
    runtime()?.block_on(async {
        let wanted = args.listen.unwrap_or(*port);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await;
        let listener = listener.map_err(|error| not_bound(wanted, &error))?;
        let here = listener.local_addr().map_err(|error| not_bound(wanted, &error))?;
        match connect(&socket, &request).await.map_err(|_| run_ended())? {
            Answer::Connected(_) => {}
            Answer::Refused => present::notice(&format!("Nothing listens on port {port} there yet.")),
            Answer::No(why) => return Err(Fault::permanent(FaultLayer::Config, "no_session", why)),
        }
        present::print(&format!(
            "http://{here} is port {port} in the agent's room. Ctrl-C ends this, the run goes on.\n"
        ));
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    let (socket, request) = (socket.clone(), request.clone());
                    tokio::spawn(async move { relay(stream, &socket, &request).await });
                }
                () = ended(&socket) => {
                    present::print("The run has ended.\n");
                    return Ok(exit::DONE);
                }
                _ = tokio::signal::ctrl_c() => return Ok(exit::DONE),
            }
        }
    })
}

/// What the run, or the room, says to a request.
enum Answer {
    Connected(BufReader<UnixStream>),
    /// Nothing listens there.
    Refused,
    No(String),
}

async fn connect(socket: &Path, request: &str) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    (&mut reader).take(MAX_ANSWER).read_line(&mut line).await?;
    Ok(match line.as_str() {
        CONNECTED => Answer::Connected(reader),
        REFUSED => Answer::Refused,
        "" => Answer::No("The session has ended.".to_owned()),
        other => Answer::No(one_line(other.trim())),
    })
}

/// Connects one program of the user's; what cannot be connected is closed.
async fn relay(mut stream: TcpStream, socket: &Path, request: &str) {
    match connect(socket, request).await {
        Ok(Answer::Connected(mut inside)) => {
            let _ = copy_bidirectional(&mut stream, &mut inside).await;
        }
        Ok(Answer::Refused) | Err(_) => {}
        Ok(Answer::No(why)) => present::notice(&why),
    }
}

/// Waits until the run has ended.
async fn ended(socket: &Path) {
    while UnixStream::connect(socket).await.is_ok() {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
}

fn run_ended() -> Fault {
    Fault::permanent(FaultLayer::Config, "no_run", "The run has no session whose ports could be opened.")
        .hint("`autonoe status` says what it does.")
}

fn not_bound(port: u16, error: &io::Error) -> Fault {
    let message = format!("Port {port} at 127.0.0.1 cannot be used: {error}.");
    Fault::permanent(FaultLayer::Config, "port", message)
        .hint("Choose another one with --listen, such as --listen 0.")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::PortTarget;

    #[test]
    fn a_target_is_a_port_with_or_without_a_deliverable() {
        let parsed = |text: &str| text.parse::<PortTarget>().map(|it| (it.deliverable, it.port));
        assert_eq!(parsed("3000").unwrap(), (None, 3000));
        assert_eq!(parsed(":3000").unwrap(), (None, 3000));
        assert_eq!(parsed("A:3000").unwrap(), (Some("A".to_owned()), 3000));
        assert_eq!(parsed("a:b:80").unwrap(), (Some("a:b".to_owned()), 80));
        for wrong in ["", "A", "A:", "0", "70000", "A:x"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
