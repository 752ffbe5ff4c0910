//! Opens rooms, with the best layer that this machine supports.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::bounds::{Bounds, SandboxLayer};
use crate::bubblewrap;
use crate::kill_cause::OomBaseline;
use crate::layer_unavailable::LayerUnavailable;
use crate::record::{CleanupPlan, RoomRecord};
use crate::room::{Room, RoomShutdown, RoomSupervisor};
use crate::room_process::ROOM_ARG;
use crate::seatbelt;
use crate::supervisor::{EXIT_SIGNAL_BASE, SUPERVISOR_ARG};
use crate::supervisor_client::SupervisorClient;
use crate::system;
use crate::wire::{self, ExitReport, RoomEvent, RoomSetup, SpawnRequest, StopMethod};

/// How long opening a room may take.
const OPEN_LIMIT: Duration = Duration::from_secs(20);
/// How long the supervisor of a room that has ended may take to send its report.
const REPORT_LIMIT: Duration = Duration::from_millis(500);
/// How many bytes are read of the error output of a room that could not be opened.
const MAX_ERROR_OUTPUT: u64 = 4096;

/// Opens rooms with one layer.
#[derive(Debug, Clone)]
pub struct Sandbox {
    own_binary: PathBuf,
    layer: SandboxLayer,
    helper: PathBuf,
    /// Better layers that do not work on this machine, each with the reason.
    unavailable: Vec<String>,
}

/// This machine supports no layer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no sandbox works on this machine: {}", reasons.join("; "))]
pub struct NoSandbox {
    /// One reason per layer.
    pub reasons: Vec<String>,
}

/// Why a room could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A process or a socket could not be created.
    #[error("cannot open the room: {0}")]
    Io(#[from] io::Error),
    /// The layer failed.
    #[error("cannot set up the room: {0}")]
    Layer(String),
}

impl Sandbox {
    /// Rooms without restrictions, which still kill everything that was started in them. `own_binary` is a binary that calls
    /// [`crate::run_helper_process`], normally our own executable.
    pub fn none(own_binary: impl Into<PathBuf>) -> Self {
        Self {
            own_binary: own_binary.into(),
            layer: SandboxLayer::None,
            helper: PathBuf::new(),
            unavailable: Vec::new(),
        }
    }

    /// The best layer that works on this machine. Each candidate is tried by opening a room around `scratch`; nothing is
    /// written there.
    pub async fn find(own_binary: &Path, path: &OsStr, scratch: &Path) -> Result<Self, NoSandbox> {
        let mut reasons = Vec::new();
        for layer in candidates() {
            match Self::with_layer(own_binary, layer, path) {
                Ok(sandbox) => match sandbox.probe(scratch).await {
                    Ok(()) => return Ok(Self { unavailable: reasons, ..sandbox }),
                    Err(error) => reasons.push(format!("{}: {error}", layer.name())),
                },
                Err(why) => reasons.push(format!("{}: {why}", layer.name())),
            }
        }
        Err(NoSandbox { reasons })
    }

    /// A sandbox with this layer. `path` is the search path for the layer's helper program.
    pub fn with_layer(
        own_binary: &Path,
        layer: SandboxLayer,
        path: &OsStr,
    ) -> Result<Self, LayerUnavailable> {
        let helper = match layer {
            SandboxLayer::Bubblewrap => find_program("bwrap", path).ok_or(LayerUnavailable::NoBubblewrap)?,
            SandboxLayer::Landlock => system::landlock_is_available().map(|()| PathBuf::new())?,
            SandboxLayer::Seatbelt => PathBuf::from("/usr/bin/sandbox-exec"),
            SandboxLayer::None => PathBuf::new(),
        };
        Ok(Self { own_binary: own_binary.to_owned(), layer, helper, unavailable: Vec::new() })
    }

    pub fn layer(&self) -> SandboxLayer {
        self.layer
    }

    /// Better layers that do not work on this machine, each with the reason.
    pub fn unavailable(&self) -> &[String] {
        &self.unavailable
    }

    /// The path of our own binary inside a room.
    pub fn own_binary_inside(&self) -> &Path {
        match self.layer {
            SandboxLayer::Bubblewrap => Path::new(bubblewrap::OWN_BINARY),
            SandboxLayer::Landlock | SandboxLayer::Seatbelt | SandboxLayer::None => &self.own_binary,
        }
    }

    async fn probe(&self, scratch: &Path) -> Result<(), OpenError> {
        // No program runs in this room, so there is nothing to clean up. It ends by itself in the background.
        self.open_with(Bounds::new(scratch, scratch, scratch), |_, _| CleanupPlan::none()).await.map(drop)
    }

    /// Opens a room. Its home and temporary directory are created if they are missing.
    pub async fn open(&self, bounds: Bounds) -> Result<Room, OpenError> {
        let layer = self.layer;
        self.open_with(bounds, move |bounds, missing| CleanupPlan::of(bounds, layer, missing)).await
    }

    /// Opens a second room around a project, while another one is open and cleans up there.
    pub(crate) async fn open_beside(&self, bounds: Bounds) -> Result<Room, OpenError> {
        self.open_with(bounds, |_, _| CleanupPlan::none()).await
    }

    async fn open_with(
        &self,
        mut bounds: Bounds,
        plan: impl FnOnce(&Bounds, Vec<PathBuf>) -> CleanupPlan + Send + 'static,
    ) -> Result<Room, OpenError> {
        let sandbox = self.clone();
        let opening = tokio::task::spawn_blocking(move || {
            let left_out = bounds.leave_out_redirected();
            let cleanup = plan(&bounds, sandbox.missing(&bounds.protected));
            sandbox.build(bounds, cleanup).map(|room| room.note_left_out(left_out))
        });
        opening.await.map_err(|error| OpenError::Io(io::Error::other(error)))?
    }

    fn build(&self, bounds: Bounds, cleanup: CleanupPlan) -> Result<Room, OpenError> {
        fs::create_dir_all(&bounds.home)?;
        fs::create_dir_all(&bounds.temp)?;
        let record =
            bounds.records.as_ref().map(|directory| RoomRecord::write(directory, &cleanup)).transpose()?;
        for placeholder in &cleanup.placeholders {
            // If the directory cannot be created here, programs in the room cannot create it either.
            let _ = fs::create_dir(placeholder);
        }
        let (ours, rooms) = UnixStream::pair()?;
        let (mut error_output, stderr) = io::pipe()?;
        let before = OomBaseline::now();
        let (supervisor, reports) = self.start(&bounds, rooms, stderr.into(), &cleanup, record.as_ref())?;
        let mapping = bounds.mapping();
        ours.set_read_timeout(Some(OPEN_LIMIT))?;
        let setup = RoomSetup { layer: self.layer, bounds };
        let event = wire::send(&ours, &setup, &[]).and_then(|()| wire::receive::<RoomEvent>(&ours));
        let problem = match event {
            Ok(Some((RoomEvent::Ready, fds))) => {
                ours.set_read_timeout(None)?;
                let mut fds = fds.into_iter();
                let egress_listener = fds.next().map(TcpListener::from);
                if let (Some(calls), Some(listener)) = (fds.next(), &egress_listener) {
                    system::guard_calls(calls, &setup.bounds, listener.local_addr()?.port())?;
                }
                return Ok(Room::new(
                    ours,
                    SupervisorClient::new(reports)?,
                    egress_listener,
                    RoomShutdown { supervisor, cleanup, record },
                    mapping,
                )?);
            }
            Ok(Some((RoomEvent::Failed(why) | RoomEvent::Cleared(why), _))) => Some(why),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Some(format!("it was not ready within {} s", OPEN_LIMIT.as_secs()))
            }
            // The room is gone without an event.
            Ok(None) | Err(_) => killed(&reports, before),
        };
        drop((ours, supervisor, reports));
        if let Some(record) = record {
            record.remove();
        }
        let mut stderr = String::new();
        let _ = error_output.by_ref().take(MAX_ERROR_OUTPUT).read_to_string(&mut stderr);
        let stderr = stderr.trim();
        Err(OpenError::Layer(problem.unwrap_or_else(|| match stderr {
            "" => "it ended without an error message".to_owned(),
            stderr => stderr.to_owned(),
        })))
    }

    /// Protected directories that are missing. Bubblewrap protects a directory with a mount, which needs an existing mount
    /// point; without one, programs could create the directory. The other layers cannot protect an empty directory.
    fn missing(&self, protected: &[PathBuf]) -> Vec<PathBuf> {
        if self.layer != SandboxLayer::Bubblewrap {
            return Vec::new();
        }
        // Files get no placeholder: an empty file would have a meaning of its own.
        let directories = protected.iter().filter(|path| path.extension().is_none());
        directories.filter(|path| path.symlink_metadata().is_err()).cloned().collect()
    }

    /// Starts the supervisor of the room, which starts the room. The returned socket is the one for its exit report.
    fn start(
        &self,
        bounds: &Bounds,
        rooms: UnixStream,
        stderr: OwnedFd,
        cleanup: &CleanupPlan,
        record: Option<&RoomRecord>,
    ) -> io::Result<(RoomSupervisor, UnixStream)> {
        let (ours, supervisors) = UnixStream::pair()?;
        let process = tokio::process::Command::new(&self.own_binary)
            .arg(SUPERVISOR_ARG)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(supervisors))
            .stdout(Stdio::null())
            .stderr(stderr.try_clone()?)
            .spawn()
            .map_err(|error| {
                io::Error::new(error.kind(), format!("cannot start {}: {error}", self.own_binary.display()))
            })?;
        let (program, args) = self.command(bounds);
        let request = SpawnRequest {
            program,
            args,
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            ends_all: true,
            stop: StopMethod::Socket,
            scopes_signals: self.layer == SandboxLayer::Landlock,
            remove: cleanup.placeholders.clone(),
        };
        let null = fs::File::options().write(true).open("/dev/null")?;
        let record = record.map(RoomRecord::share).transpose()?;
        let fds = [rooms.as_fd(), null.as_fd(), stderr.as_fd()].into_iter();
        let fds: Vec<_> = fds.chain(record.as_ref().map(AsFd::as_fd)).collect();
        wire::send(&ours, &request, &fds)?;
        Ok((RoomSupervisor { process, socket: ours.try_clone()? }, ours))
    }

    fn command(&self, bounds: &Bounds) -> (OsString, Vec<OsString>) {
        match self.layer {
            SandboxLayer::Bubblewrap => {
                (self.helper.clone().into(), bubblewrap::arguments(bounds, &self.own_binary, ROOM_ARG))
            }
            SandboxLayer::Seatbelt => {
                let profile = seatbelt::profile(bounds, &self.own_binary);
                let args = ["-p".into(), profile.into(), self.own_binary.clone().into(), ROOM_ARG.into()];
                (self.helper.clone().into(), args.into())
            }
            SandboxLayer::Landlock | SandboxLayer::None => {
                (self.own_binary.clone().into(), vec![ROOM_ARG.into()])
            }
        }
    }
}

/// How a room was killed before it was ready; `None` if it exited by itself, because then its stderr has the reason.
fn killed(reports: &UnixStream, before: OomBaseline) -> Option<String> {
    let report = reports
        .set_read_timeout(Some(REPORT_LIMIT))
        .and_then(|()| wire::receive::<ExitReport>(reports))
        .map(|received| received.map(|(report, _)| report));
    match report {
        Ok(Some(ExitReport::Exited(code))) if code <= EXIT_SIGNAL_BASE => None,
        Ok(Some(ExitReport::Exited(code))) => Some(before.explain("the room", Some(code))),
        Ok(Some(ExitReport::NotStarted { why, .. })) => Some(why),
        Ok(None) | Err(_) => Some(before.explain("the room", None)),
    }
}

/// The layers for this operating system, best first.
fn candidates() -> Vec<SandboxLayer> {
    if cfg!(target_os = "linux") {
        vec![SandboxLayer::Bubblewrap, SandboxLayer::Landlock]
    } else if cfg!(target_os = "macos") {
        vec![SandboxLayer::Seatbelt]
    } else {
        Vec::new()
    }
}

/// Finds a program in the absolute directories of a search path.
fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).find(|file| file.is_file())
}
