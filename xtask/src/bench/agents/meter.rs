//! One run of a program with the scripted model: how long, how much processor time and when it first asked, or else how much memory.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use autonoe_scripted::Server;
use nix::errno::Errno;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::Result;
use crate::bench::process::{children, largest_peak_mb, share_mb};

/// How often it is looked whether the model was asked or the program has ended.
const LOOK_EVERY: Duration = Duration::from_micros(500);
/// How often memory is looked at; the kernel keeps each process's peak in between.
const WEIGH_EVERY: Duration = Duration::from_millis(10);
/// How long a program's children may outlive it.
const GRACE: Duration = Duration::from_secs(2);

/// What is looked at in a run: never at both, since looking at memory takes time, and more of it the more processes there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// At the clock.
    Time,
    /// At the memory, many times.
    Memory,
}

/// What one run took.
#[derive(Clone, Copy)]
pub enum Reading {
    /// As the clock has it.
    Time {
        /// From its start to its end.
        wall: Duration,
        /// Of it and of all it started, user and system.
        cpu: Duration,
        /// From its start until the model had its first request.
        first_request: Duration,
    },
    /// As it was weighed.
    Memory {
        /// The largest resident memory that any one of its processes had, in megabytes.
        peak_mb: f64,
        /// The most memory that all processes of one program among them had together, in megabytes.
        own_mb: f64,
    },
}

/// Makes us the parent of what our children leave behind, so that it is counted, and ended.
pub fn adopt_orphans() -> Result {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    Ok(())
}

/// Runs a program to its end. Of its memory, what is `ours` is told apart. One at a time: the processor time is that of all our
/// children.
pub fn meter(
    mut command: Command,
    ours: &Path,
    model: &Server,
    look: Look,
    patience: Duration,
) -> Result<Reading> {
    let mut words = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(words.try_clone()?).stderr(words.try_clone()?);
    let cpu_before = cpu_of_children()?;
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let watched = watch(&mut child, start, &fs::metadata(ours)?, model, look, patience);
    end_leftovers()?;
    let Watched { status, wall, first_request, peak_mb, own_mb } = watched?;
    let cpu = cpu_of_children()?.saturating_sub(cpu_before);
    if !status.success() {
        return Err(format!("it ended with {status}: {}", last_words(&mut words)?).into());
    }
    let first_request = first_request.ok_or("it did not ask the model")?;
    Ok(match look {
        Look::Time => Reading::Time { wall, cpu, first_request },
        Look::Memory => Reading::Memory { peak_mb, own_mb },
    })
}

struct Watched {
    status: ExitStatus,
    wall: Duration,
    first_request: Option<Duration>,
    peak_mb: f64,
    own_mb: f64,
}

fn watch(
    child: &mut Child,
    start: Instant,
    ours: &fs::Metadata,
    model: &Server,
    look: Look,
    patience: Duration,
) -> Result<Watched> {
    let (mut first_request, mut peak_mb, mut own_mb, mut weighed) = (None, 0.0_f64, 0.0_f64, start);
    loop {
        let status = child.try_wait()?;
        let now = start.elapsed();
        if first_request.is_none() && !model.requests().is_empty() {
            first_request = Some(now);
        }
        if let Some(status) = status {
            return Ok(Watched { status, wall: now, first_request, peak_mb, own_mb });
        }
        if now > patience {
            child.kill()?;
            child.wait()?;
            return Err(format!("it had not ended after {} s", patience.as_secs()).into());
        }
        if look == Look::Memory && weighed.elapsed() > WEIGH_EVERY {
            peak_mb = peak_mb.max(largest_peak_mb(child.id()));
            own_mb = own_mb.max(share_mb(child.id(), ours));
            weighed = Instant::now();
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Waits for what the program left behind, and ends what stays.
fn end_leftovers() -> Result {
    let since = Instant::now();
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return Ok(()),
            Ok(WaitStatus::StillAlive) if since.elapsed() > GRACE => {
                for process in children(std::process::id()) {
                    // It may have ended by itself just now.
                    let _ = kill(Pid::from_raw(process.cast_signed()), Signal::SIGKILL);
                }
                thread::sleep(LOOK_EVERY);
            }
            Ok(WaitStatus::StillAlive) => thread::sleep(LOOK_EVERY),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn cpu_of_children() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros.unsigned_abs()))
}

/// The end of what a program wrote, in one line.
fn last_words(words: &mut fs::File) -> Result<String> {
    const LAST_CHARS: usize = 300;
    let mut text = Vec::new();
    io::Seek::rewind(words)?;
    io::Read::read_to_end(words, &mut text)?;
    let text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = text.chars().count().saturating_sub(LAST_CHARS);
    Ok(text.chars().skip(skipped).collect())
}
