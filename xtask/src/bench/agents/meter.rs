//! Measures one run of a program with the scripted model: wall time, processor time and first request, or else memory.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use autonoe_scripted::ScriptedServer;
use nix::errno::Errno;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::bench::process::{children, largest_peak_mb, share_mb};
use crate::result::Result;

/// How often to check for the first model request and for the end of the program.
const POLL_INTERVAL: Duration = Duration::from_micros(500);
/// How often to measure memory; the kernel keeps each process's peak in between.
const MEMORY_INTERVAL: Duration = Duration::from_millis(10);
const GRACE: Duration = Duration::from_secs(2);

/// What a run measures. Never both, since measuring memory takes time, and more of it with more processes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    Time,
    Memory,
}

#[derive(Clone, Copy)]
pub enum RunReading {
    Time {
        wall: Duration,
        /// User and system time of the program and all its descendants.
        cpu: Duration,
        /// From the start of the program.
        first_request: Duration,
    },
    Memory {
        /// The peak resident memory of any one of its processes.
        peak_mb: f64,
        /// The peak total memory of our own processes among them.
        own_mb: f64,
    },
}

/// Makes this process the parent of orphans, so that they are counted and killed.
pub fn adopt_orphans() -> Result {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    Ok(())
}

/// Runs a program to its end. The memory of processes that run `ours` is measured separately. Only one call at a time: the
/// processor time is that of all our children.
pub fn meter(
    mut command: Command,
    ours: &Path,
    model: &ScriptedServer,
    metric: Metric,
    timeout: Duration,
) -> Result<RunReading> {
    let mut output = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    let cpu_before = cpu_of_children()?;
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let reading = watch(&mut child, start, &fs::metadata(ours)?, model, metric, timeout);
    end_orphans()?;
    let ProcessReading { status, wall, first_request, peak_mb, own_mb } = reading?;
    let cpu = cpu_of_children()?.saturating_sub(cpu_before);
    if !status.success() {
        return Err(format!("it ended with {status}: {}", output_end(&mut output)?).into());
    }
    let first_request = first_request.ok_or("it sent no model request")?;
    Ok(match metric {
        Metric::Time => RunReading::Time { wall, cpu, first_request },
        Metric::Memory => RunReading::Memory { peak_mb, own_mb },
    })
}

struct ProcessReading {
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
    model: &ScriptedServer,
    metric: Metric,
    timeout: Duration,
) -> Result<ProcessReading> {
    let (mut first_request, mut peak_mb, mut own_mb, mut last_memory) = (None, 0.0_f64, 0.0_f64, start);
    loop {
        let status = child.try_wait()?;
        let now = start.elapsed();
        if first_request.is_none() && !model.requests().is_empty() {
            first_request = Some(now);
        }
        if let Some(status) = status {
            return Ok(ProcessReading { status, wall: now, first_request, peak_mb, own_mb });
        }
        if now > timeout {
            child.kill()?;
            child.wait()?;
            return Err(format!("it timed out after {} s", timeout.as_secs()).into());
        }
        if metric == Metric::Memory && last_memory.elapsed() > MEMORY_INTERVAL {
            peak_mb = peak_mb.max(largest_peak_mb(child.id()));
            own_mb = own_mb.max(share_mb(child.id(), ours));
            last_memory = Instant::now();
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Waits for orphans of the program and kills those that stay.
fn end_orphans() -> Result {
    let since = Instant::now();
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return Ok(()),
            Ok(WaitStatus::StillAlive) if since.elapsed() > GRACE => {
                for process in children(std::process::id()) {
                    // It may have just ended.
                    let _ = kill(Pid::from_raw(process.cast_signed()), Signal::SIGKILL);
                }
                thread::sleep(POLL_INTERVAL);
            }
            Ok(WaitStatus::StillAlive) => thread::sleep(POLL_INTERVAL),
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

/// The end of a program's output, in one line.
fn output_end(output: &mut fs::File) -> Result<String> {
    const LAST_CHARS: usize = 300;
    let mut text = Vec::new();
    io::Seek::rewind(output)?;
    io::Read::read_to_end(output, &mut text)?;
    let text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = text.chars().count().saturating_sub(LAST_CHARS);
    Ok(text.chars().skip(skipped).collect())
}
