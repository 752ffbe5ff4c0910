//! Cuts a byte stream after its last complete frame, reading each byte once.

/// How a provider delimits the frames of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events: a frame ends with an empty line. Lines end with LF, CR LF or CR.
    Events,
    /// One JSON object per line.
    Lines,
}

#[derive(Debug)]
pub(crate) struct FrameSplitter {
    framing: Framing,
    /// The beginning of a frame that is not complete yet.
    unfinished: Vec<u8>,
    line_is_empty: bool,
    after_cr: bool,
}

impl FrameSplitter {
    pub fn new(framing: Framing) -> Self {
        Self { framing, unfinished: Vec::new(), line_is_empty: true, after_cr: false }
    }

    /// The frames that these bytes complete; empty if they complete none.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut end = 0;
        for (index, byte) in bytes.iter().enumerate() {
            let completes_cr_lf = *byte == b'\n' && self.after_cr;
            self.after_cr = *byte == b'\r';
            match byte {
                // Belongs to the line that the CR ended, and to the frame if it ended one.
                b'\n' if completes_cr_lf => {
                    if end == index && index > 0 {
                        end = index + 1;
                    }
                }
                b'\n' | b'\r' => {
                    if self.line_is_empty || self.framing == Framing::Lines {
                        end = index + 1;
                    }
                    self.line_is_empty = true;
                }
                _ => self.line_is_empty = false,
            }
        }
        let (complete, rest) = bytes.split_at(end);
        if complete.is_empty() {
            self.unfinished.extend_from_slice(rest);
            return Vec::new();
        }
        let mut frames = std::mem::replace(&mut self.unfinished, rest.to_vec());
        frames.extend_from_slice(complete);
        frames
    }

    /// Size of the unfinished frame in bytes.
    pub fn unfinished_len(&self) -> usize {
        self.unfinished.len()
    }

    /// What is left at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unfinished)
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameSplitter, Framing};
    use proptest::prelude::*;

    fn pushed(framing: Framing, pieces: &[&str]) -> (Vec<String>, String) {
        let mut splitter = FrameSplitter::new(framing);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let frames = pieces.iter().map(|piece| text(splitter.push(piece.as_bytes()))).collect();
        (frames, text(splitter.finish()))
    }

    #[test]
    fn an_event_ends_with_an_empty_line() {
        for (pieces, frames, rest) in [
            (vec!["data: 1\n\ndata: 2"], vec!["data: 1\n\n"], "data: 2"),
            (vec!["data: 1\n", "\ndata: 2\n\n"], vec!["", "data: 1\n\ndata: 2\n\n"], ""),
            (vec!["event: a\r\ndata: 1\r\n\r\n"], vec!["event: a\r\ndata: 1\r\n\r\n"], ""),
            (
                vec!["event: a\r", "\ndata: 1\r", "\n\r", "\n"],
                vec!["", "", "event: a\r\ndata: 1\r\n\r", ""],
                "\n",
            ),
            (vec!["data: 1\r\rdata: 2"], vec!["data: 1\r\r"], "data: 2"),
            (vec![": ping\n\n"], vec![": ping\n\n"], ""),
            (vec!["data: 1\ndata: 2\n"], vec![""], "data: 1\ndata: 2\n"),
        ] {
            let frames = frames.into_iter().map(str::to_owned).collect();
            assert_eq!(pushed(Framing::Events, &pieces), (frames, rest.to_owned()), "{pieces:?}");
        }
    }

    #[test]
    fn a_line_ends_with_a_newline() {
        assert_eq!(
            pushed(Framing::Lines, &["{}\n{", "}\n", "{"]),
            (vec!["{}\n".to_owned(), "{}\n".to_owned(), String::new()], "{".to_owned())
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_reordered(text in "[ab:\r\n]{0,60}", cuts in prop::collection::vec(1..7usize, 0..30)) {
            for framing in [Framing::Events, Framing::Lines] {
                let mut splitter = FrameSplitter::new(framing);
                let (mut rest, mut passed) = (text.as_bytes(), Vec::new());
                for cut in &cuts {
                    let (piece, later) = rest.split_at((*cut).min(rest.len()));
                    passed.extend(splitter.push(piece));
                    rest = later;
                }
                passed.extend(splitter.push(rest));
                passed.extend(splitter.finish());
                prop_assert_eq!(&passed, text.as_bytes());
            }
        }
    }
}
