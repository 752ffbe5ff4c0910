//! Opening rooms, with the best layer that this machine has.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::bounds::{Bounds, Layer};
use crate::bubblewrap;
use crate::launch::Supervisor;
use crate::loss::MemoryBefore;
use crate::opened::{Held, Room, RoomSupervisor};
use crate::record::{Record, Traces};
use crate::room::ROOM_ARG;
use crate::seatbelt;
use crate::supervisor::{EXIT_SIGNAL_BASE, KEEP_ARG};
use crate::system;
use crate::wire::{self, ExitReport, RoomEvent, Setup, SpawnRequest, Stop};

/// How long a room may take to be built.
const OPEN_LIMIT: Duration = Duration::from_secs(20);
/// How long the supervisor of a room that ended may take to say how.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);
/// What is kept of the complaints of a room that could not be built.
const MAX_COMPLAINT: u64 = 4096;

/// Builds rooms with the best layer that this machine has, or the one that was asked for.
#[derive(Debug, Clone)]
pub struct Sandbox {
    ourselves: PathBuf,
    layer: Layer,
    helper: PathBuf,
}

/// No layer can be had on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no sandbox can be built here: {}", reasons.join("; "))]
pub struct NoSandbox {
    /// Why not, one for each layer.
    pub reasons: Vec<String>,
}

/// A room could not be built.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A process or a socket could not be had.
    #[error("the room cannot be opened: {0}")]
    Io(#[from] io::Error),
    /// The layer refused.
    #[error("the room cannot be built: {0}")]
    Layer(String),
}

impl Sandbox {
    /// Rooms that hold nothing back, but still end whatever was started in them. `ourselves` is a binary that calls
    /// [`crate::run_helper_process`]; normally our own executable.
    pub fn none(ourselves: impl Into<PathBuf>) -> Self {
        Self { ourselves: ourselves.into(), layer: Layer::None, helper: PathBuf::new() }
    }

    /// The best layer that works here. Each is tried for real, with a room around `scratch`, in which nothing is made.
    pub async fn find(ourselves: &Path, path: &OsStr, scratch: &Path) -> Result<Self, NoSandbox> {
        let mut reasons = Vec::new();
        for layer in candidates() {
            match Self::with_layer(ourselves, layer, path) {
                Ok(sandbox) => match sandbox.try_out(scratch).await {
                    Ok(()) => return Ok(sandbox),
                    Err(error) => reasons.push(format!("{}: {error}", layer.name())),
                },
                Err(why) => reasons.push(format!("{}: {why}", layer.name())),
            }
        }
        Err(NoSandbox { reasons })
    }

    /// A sandbox of this layer, whose helper is looked up in `path`.
    pub fn with_layer(ourselves: &Path, layer: Layer, path: &OsStr) -> Result<Self, String> {
        let helper = match layer {
            Layer::Bubblewrap => find_program("bwrap", path).ok_or("bwrap is not installed")?,
            Layer::Landlock => system::landlock_is_available().map(|()| PathBuf::new())?,
            Layer::Seatbelt => PathBuf::from("/usr/bin/sandbox-exec"),
            Layer::None => PathBuf::new(),
        };
        Ok(Self { ourselves: ourselves.to_owned(), layer, helper })
    }

    /// Which layer holds the rooms.
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// Where our own binary is in a room.
    pub fn ourselves_inside(&self) -> &Path {
        match self.layer {
            Layer::Bubblewrap => Path::new(bubblewrap::OURSELVES),
            Layer::Landlock | Layer::Seatbelt | Layer::None => &self.ourselves,
        }
    }

    async fn try_out(&self, scratch: &Path) -> Result<(), OpenError> {
        // Nothing but ourselves runs in it, so that nothing is to be put right. It ends by itself, while we go on.
        self.open_with(Bounds::new(scratch, scratch, scratch), |_, _| Traces::none()).await.map(drop)
    }

    /// Opens a room. Its home and temporary directory are made if need be.
    pub async fn open(&self, bounds: Bounds) -> Result<Room, OpenError> {
        self.open_with(bounds, Traces::of).await
    }

    async fn open_with(
        &self,
        bounds: Bounds,
        look: impl FnOnce(&Bounds, Vec<PathBuf>) -> Traces + Send + 'static,
    ) -> Result<Room, OpenError> {
        let sandbox = self.clone();
        let opening = tokio::task::spawn_blocking(move || {
            let traces = look(&bounds, sandbox.missing(&bounds.protected));
            sandbox.build(bounds, traces)
        });
        opening.await.map_err(|error| OpenError::Io(io::Error::other(error)))?
    }

    fn build(&self, bounds: Bounds, traces: Traces) -> Result<Room, OpenError> {
        fs::create_dir_all(&bounds.home)?;
        fs::create_dir_all(&bounds.temp)?;
        let record = bounds.records.as_ref().map(|place| Record::write(place, &traces)).transpose()?;
        for placeholder in &traces.placeholders {
            // What cannot be made is not in the way either.
            let _ = fs::create_dir(placeholder);
        }
        let (ours, rooms) = UnixStream::pair()?;
        let (mut complaints, said) = io::pipe()?;
        let before = MemoryBefore::now();
        let (supervisor, answers) = self.start(&bounds, rooms, said.into(), &traces, record.as_ref())?;
        ours.set_read_timeout(Some(OPEN_LIMIT))?;
        let told = wire::send(&ours, &Setup { layer: self.layer, bounds }, &[])
            .and_then(|()| wire::receive::<RoomEvent>(&ours));
        let refusal = match told {
            Ok(Some((RoomEvent::Ready, mut fds))) => {
                ours.set_read_timeout(None)?;
                let way_out = fds.pop().map(TcpListener::from);
                return Ok(Room::new(
                    ours,
                    Supervisor::new(answers)?,
                    way_out,
                    Held { supervisor, traces, record },
                )?);
            }
            Ok(Some((RoomEvent::Failed(why) | RoomEvent::Cleared(why), _))) => Some(why),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Some(format!("it was not ready within {} s", OPEN_LIMIT.as_secs()))
            }
            // It is gone, and with it what it may have wanted to say.
            Ok(None) | Err(_) => killed(&answers, before),
        };
        drop((ours, supervisor, answers));
        if let Some(record) = record {
            record.remove();
        }
        let mut complaint = String::new();
        let _ = complaints.by_ref().take(MAX_COMPLAINT).read_to_string(&mut complaint);
        let complaint = complaint.trim();
        Err(OpenError::Layer(refusal.unwrap_or_else(|| match complaint {
            "" => "it ended without saying why".to_owned(),
            complaint => complaint.to_owned(),
        })))
    }

    /// Protected directories that are missing. Where a mount holds what is protected, there must be something for it to cover, or
    /// anybody inside could make them; the other layers could not hold an empty directory either.
    fn missing(&self, protected: &[PathBuf]) -> Vec<PathBuf> {
        if self.layer != Layer::Bubblewrap {
            return Vec::new();
        }
        // Files cannot be stood in for: an empty one would mean something.
        let directories = protected.iter().filter(|path| path.extension().is_none());
        directories.filter(|path| path.symlink_metadata().is_err()).cloned().collect()
    }

    /// Starts the supervisor of the room, which starts the room. The second socket is the one on which it answers.
    fn start(
        &self,
        bounds: &Bounds,
        rooms: UnixStream,
        complaints: OwnedFd,
        traces: &Traces,
        record: Option<&Record>,
    ) -> io::Result<(RoomSupervisor, UnixStream)> {
        let (ours, supervisors) = UnixStream::pair()?;
        let process = tokio::process::Command::new(&self.ourselves)
            .arg(KEEP_ARG)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(supervisors))
            .stdout(Stdio::null())
            .stderr(complaints.try_clone()?)
            .spawn()
            .map_err(|error| {
                io::Error::new(error.kind(), format!("cannot start {}: {error}", self.ourselves.display()))
            })?;
        let (program, args) = self.command(bounds);
        let order = SpawnRequest {
            program,
            args,
            env: Vec::new(),
            cwd: PathBuf::from("/"),
            ends_all: true,
            stop: Stop::Socket,
            remove: traces.placeholders.clone(),
        };
        let null = fs::File::options().write(true).open("/dev/null")?;
        let record = record.map(Record::share).transpose()?;
        let fds = [rooms.as_fd(), null.as_fd(), complaints.as_fd()].into_iter();
        let fds: Vec<_> = fds.chain(record.as_ref().map(AsFd::as_fd)).collect();
        wire::send(&ours, &order, &fds)?;
        Ok((RoomSupervisor { process, socket: ours.try_clone()? }, ours))
    }

    fn command(&self, bounds: &Bounds) -> (OsString, Vec<OsString>) {
        match self.layer {
            Layer::Bubblewrap => {
                (self.helper.clone().into(), bubblewrap::arguments(bounds, &self.ourselves, ROOM_ARG))
            }
            Layer::Seatbelt => {
                let profile = seatbelt::profile(bounds, &self.ourselves);
                let args = ["-p".into(), profile.into(), self.ourselves.clone().into(), ROOM_ARG.into()];
                (self.helper.clone().into(), args.into())
            }
            Layer::Landlock | Layer::None => (self.ourselves.clone().into(), vec![ROOM_ARG.into()]),
        }
    }
}

/// That something killed a room before it was ready; none if it ended by itself, for then it has said why.
fn killed(answers: &UnixStream, before: MemoryBefore) -> Option<String> {
    let answer = answers
        .set_read_timeout(Some(ANSWER_LIMIT))
        .and_then(|()| wire::receive::<ExitReport>(answers))
        .map(|received| received.map(|(answer, _)| answer));
    match answer {
        Ok(Some(ExitReport::Exited(code))) if code <= EXIT_SIGNAL_BASE => None,
        Ok(Some(ExitReport::Exited(code))) => Some(before.explain("the room", Some(code))),
        Ok(Some(ExitReport::NotStarted { why, .. })) => Some(why),
        Ok(None) | Err(_) => Some(before.explain("the room", None)),
    }
}

/// Layers of this system, best first.
fn candidates() -> Vec<Layer> {
    if cfg!(target_os = "linux") {
        vec![Layer::Bubblewrap, Layer::Landlock]
    } else if cfg!(target_os = "macos") {
        vec![Layer::Seatbelt]
    } else {
        Vec::new()
    }
}

/// Finds a program in the absolute directories of a search path.
fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(name)).find(|file| file.is_file())
}
