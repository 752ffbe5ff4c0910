//! A reader that takes bytes only when a test asks for them.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use super::{OutputStream, OutputWriter};

#[derive(Default, Clone)]
struct WrittenText(Arc<Mutex<String>>);

impl WrittenText {
    fn text(&self) -> String {
        self.0.lock().expect("lock").clone()
    }
}

fn lost_line(_: OutputStream, count: u64) -> String {
    format!("lost {count}\n")
}

/// Each message lets the reader take one chunk; once the sender is gone it takes everything.
fn writer(max_waiting: usize) -> (OutputWriter, WrittenText, Sender<()>) {
    let (reads, allowed): (_, Receiver<()>) = channel();
    let (written, allowed) = (WrittenText::default(), Mutex::new(allowed));
    let taken = written.clone();
    let write = move |_, bytes: &[u8]| {
        let _ = allowed.lock().expect("lock").recv();
        taken.0.lock().expect("lock").push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    };
    let writer = OutputWriter::start_with(max_waiting, lost_line, write, |_| {}).expect("started");
    (writer, written, reads)
}

#[test]
fn lines_are_written_in_order_and_a_slow_reader_gets_all_of_them() {
    let (writer, written, reads) = writer(1024 * 1024);
    let lines: Vec<String> = (0..100).map(|number| format!("line {number}\n")).collect();
    for (number, line) in lines.iter().enumerate() {
        let stream = if number % 2 == 0 { OutputStream::Out } else { OutputStream::Err };
        writer.line(stream, line.clone());
    }
    drop(reads);
    writer.flush().expect("written");
    assert_eq!(written.text(), lines.concat());
}

#[test]
fn lines_beyond_the_limit_are_dropped_and_counted() {
    let (writer, written, reads) = writer(20);
    for number in 0..10 {
        writer.line(OutputStream::Out, format!("line {number}\n"));
    }
    drop(reads);
    writer.flush().expect("written");
    writer.line(OutputStream::Out, "after\n".to_owned());
    writer.flush().expect("written");
    assert_eq!(written.text(), "line 0\nline 1\nlost 8\nafter\n");
}

#[test]
fn a_flush_does_not_wait_for_a_reader_that_takes_nothing() {
    let (writer, written, reads) = writer(1024);
    writer.line(OutputStream::Out, "one\n".to_owned());
    writer.line(OutputStream::Out, "two\n".to_owned());
    assert_eq!(writer.flush().expect_err("unread").kind(), io::ErrorKind::TimedOut);
    writer.line(OutputStream::Out, "three\n".to_owned());
    let start = std::time::Instant::now();
    assert_eq!(writer.flush().expect_err("unread").kind(), io::ErrorKind::TimedOut);
    assert!(start.elapsed() < super::STALL_LIMIT / 2, "it gives up only once");
    drop(reads);
    assert!(!written.text().contains("three"));
}

#[test]
fn redraws_of_the_bottom_line_do_not_pile_up() {
    let (writer, written, reads) = writer(1024);
    writer.line(OutputStream::Out, "one\n".to_owned());
    for number in 0..1000 {
        writer.bottom(Some(format!("{number} s")));
    }
    writer.line(OutputStream::Out, "two\n".to_owned());
    drop(reads);
    writer.flush().expect("written");
    writer.bottom(None);
    writer.flush().expect("written");
    let text = written.text();
    assert!(text.starts_with("one\ntwo\n") || text.len() < 100, "{text}");
    assert!(text.ends_with("999 s\r\x1b[K"), "{text:?}");
}

#[test]
fn closed_output_is_reported_once() {
    let (report, reports) = channel();
    let write = |stream, bytes: &[u8]| match stream {
        OutputStream::Out => Err(io::ErrorKind::BrokenPipe.into()),
        OutputStream::Err => Ok(bytes.len()),
    };
    let on_closed = move |error: &io::Error| report.send(error.kind()).expect("sent");
    let writer = OutputWriter::start_with(1024, lost_line, write, on_closed).expect("started");
    for _ in 0..3 {
        writer.line(OutputStream::Err, "x\n".to_owned());
        writer.line(OutputStream::Out, "x\n".to_owned());
    }
    assert_eq!(writer.flush().expect_err("closed").kind(), io::ErrorKind::BrokenPipe);
    drop(writer);
    assert_eq!(reports.iter().collect::<Vec<_>>(), [io::ErrorKind::BrokenPipe]);
}
