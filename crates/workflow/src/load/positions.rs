//! The line of each value of a JSON file, by its JSON path, and the fields that are there twice: of these, serde would silently
//! keep the last one.

use std::collections::{BTreeMap, BTreeSet};

use crate::json_location::JsonLocation;

pub(super) struct Positions {
    lines: BTreeMap<String, usize>,
    /// The second occurrence of each field, with its name and line.
    pub(super) duplicates: Vec<(JsonLocation, String, usize)>,
}

impl Positions {
    /// The line of the value at this path, or of the nearest value around it.
    pub(super) fn line_of(&self, path: &str) -> Option<usize> {
        let mut path = path;
        loop {
            if let Some(line) = self.lines.get(path) {
                return Some(*line);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}

/// Scans a text that is known to be JSON.
pub(super) fn positions(file: &'static str, text: &str) -> Positions {
    let positions = Positions { lines: BTreeMap::new(), duplicates: Vec::new() };
    let mut scanner = Scanner { text, at: 0, line: 1, positions };
    scanner.value(&JsonLocation::root(file), None);
    scanner.positions
}

struct Scanner<'a> {
    text: &'a str,
    /// The offset of the next byte.
    at: usize,
    line: usize,
    positions: Positions,
}

impl Scanner<'_> {
    /// `line` is that of the field's name; a value without one has its own.
    fn value(&mut self, location: &JsonLocation, line: Option<usize>) {
        let first = self.next_byte();
        self.positions.lines.insert(location.path.clone(), line.unwrap_or(self.line));
        match first {
            Some(b'{') => self.object(location),
            Some(b'[') => self.array(location),
            Some(b'"') => drop(self.string()),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, location: &JsonLocation) {
        let mut names = BTreeSet::new();
        self.at += 1;
        while self.next_byte() == Some(b'"') {
            let line = self.line;
            let name = self.string();
            let field = location.key(&name);
            self.skip(b':');
            if !names.insert(name.clone()) {
                self.positions.duplicates.push((field.clone(), name, line));
            }
            self.value(&field, Some(line));
            self.skip(b',');
        }
        self.skip(b'}');
    }

    fn array(&mut self, location: &JsonLocation) {
        self.at += 1;
        let mut index = 0;
        while self.next_byte().is_some_and(|byte| byte != b']') {
            self.value(&location.item(index), None);
            self.skip(b',');
            index += 1;
        }
        self.skip(b']');
    }

    /// The content of the string that starts here.
    fn string(&mut self) -> String {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while self.at < bytes.len() && bytes[self.at] != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(bytes.len());
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(quoted).unwrap_or_default()
    }

    fn scalar(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
        self.at += rest.iter().position(is_end).unwrap_or(rest.len());
    }

    /// Skips white space.
    fn next_byte(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at).filter(|byte| byte.is_ascii_whitespace()) {
            self.line += usize::from(*byte == b'\n');
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn skip(&mut self, byte: u8) {
        if self.next_byte() == Some(byte) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::positions;

    #[test]
    fn each_value_has_the_line_of_its_name() {
        let text = "{\n \"a\": {\n  \"b.c\":\n   [1,\n    {\"d\": \"x\\\"}\"}]\n },\n \"e\": -1.5e3\n}";
        let positions = positions("agent.json", text);
        for (path, line) in [("$", 1), ("$.a", 2), ("$.a[\"b.c\"]", 3), ("$.a[\"b.c\"][1].d", 5), ("$.e", 7)]
        {
            assert_eq!(positions.line_of(path), Some(line), "{path}");
        }
        assert_eq!(positions.line_of("$.a.missing.deep"), Some(2), "that of what is around it");
        assert!(positions.duplicates.is_empty());
    }

    #[test]
    fn every_duplicate_field_is_found() {
        let found = positions("steps.json", "{\"a\": 1,\n\"a\": {\"b\": 1, \"b\": 2},\n\"a\": 3}").duplicates;
        let found: Vec<(&str, usize)> = found.iter().map(|(at, _, line)| (at.path.as_str(), *line)).collect();
        assert_eq!(found, [("$.a", 2), ("$.a.b", 2), ("$.a", 3)]);
    }
}
