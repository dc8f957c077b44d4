//! Lines and server-sent events, out of bytes that are cut anywhere.
//!
//! Invariant: no more than one line and one event are held, neither longer than its bound; what is
//! longer is passed over as if it were not there. Called by `ResponseParser`.

/// Puts lines together.
#[derive(Debug)]
pub(super) struct LineBuffer {
    held: Vec<u8>,
    /// Whether the line that is coming in is too long.
    over: bool,
    most: usize,
}

impl LineBuffer {
    pub(super) fn new(most: usize) -> Self {
        Self { held: Vec::new(), over: false, most }
    }

    /// Gives each line that ends in these bytes to `each`, without its end.
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            if self.held.is_empty() && !self.over && line.len() <= self.most {
                each(trimmed(line));
            } else {
                self.hold(line);
                if !self.over {
                    each(trimmed(&self.held));
                }
            }
            self.held.clear();
            self.over = false;
            bytes = &rest[1..];
        }
        self.hold(bytes);
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.over |= self.held.len() + bytes.len() > self.most;
        if self.over {
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// Gives the last line, where it has no end.
    pub(super) fn end(self, mut each: impl FnMut(&[u8])) {
        if !self.held.is_empty() {
            each(trimmed(&self.held));
        }
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Puts the data of events together.
#[derive(Debug)]
pub(super) struct SseBuffer {
    lines: LineBuffer,
    event: SseEvent,
}

#[derive(Debug)]
struct SseEvent {
    data: Option<Vec<u8>>,
    over: bool,
    most: usize,
}

impl SseBuffer {
    pub(super) fn new(most: usize) -> Self {
        Self { lines: LineBuffer::new(most), event: SseEvent { data: None, over: false, most } }
    }

    /// Gives the data of each event that ends in these bytes to `each`.
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        let Self { lines, event } = self;
        lines.feed(bytes, |line| event.line(line, &mut each));
    }

    /// Gives the last event, where no empty line follows it.
    pub(super) fn end(self, mut each: impl FnMut(&[u8])) {
        let Self { lines, mut event } = self;
        lines.end(|line| event.line(line, &mut each));
        event.line(b"", &mut each);
    }
}

impl SseEvent {
    fn line(&mut self, line: &[u8], each: &mut impl FnMut(&[u8])) {
        if line.is_empty() {
            if let Some(data) = self.data.take().filter(|_| !self.over) {
                each(&data);
            }
            self.over = false;
            return;
        }
        let Some(more) = line.strip_prefix(b"data:") else { return };
        let more = more.strip_prefix(b" ").unwrap_or(more);
        match &mut self.data {
            Some(data) => {
                self.over |= data.len() + more.len() >= self.most;
                if self.over {
                    data.clear();
                } else {
                    data.push(b'\n');
                    data.extend_from_slice(more);
                }
            }
            None => self.data = Some(more.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out, whatever the size of the chunks.
    #[track_caller]
    fn check(most: usize, text: &str, events: &[&str], lines: &[&str]) {
        for size in 1..=text.len() {
            let (mut found, mut all) = (Vec::new(), Vec::new());
            let (mut reader, mut plain) = (SseBuffer::new(most), LineBuffer::new(most));
            for chunk in text.as_bytes().chunks(size) {
                reader.feed(chunk, |data| found.push(String::from_utf8(data.to_vec()).unwrap()));
                plain.feed(chunk, |line| all.push(String::from_utf8(line.to_vec()).unwrap()));
            }
            reader.end(|data| found.push(String::from_utf8(data.to_vec()).unwrap()));
            plain.end(|line| all.push(String::from_utf8(line.to_vec()).unwrap()));
            assert_eq!(
                (found.as_slice(), all.as_slice()),
                (strings(events).as_slice(), strings(lines).as_slice())
            );
        }
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn events_and_lines_are_put_together() {
        check(
            99,
            "event: a\ndata: 1\r\n\r\n: ping\n\ndata:2\ndata: 3\n\nid: x\n\ndata: 4",
            &["1", "2\n3", "4"],
            &[
                "event: a", "data: 1", "", ": ping", "", "data:2", "data: 3", "", "id: x", "",
                "data: 4",
            ],
        );
        check(99, "data\n\n\n", &[], &["data", "", ""]);
    }

    #[test]
    fn what_is_too_long_is_passed_over() {
        check(8, "data: 123\n\ndata: 1\n\n", &["1"], &["", "data: 1", ""]);
        check(
            8,
            "data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\n\ndata: 6",
            &["6"],
            &["data: 1", "data: 2", "data: 3", "data: 4", "data: 5", "", "data: 6"],
        );
        check(4, "123456", &[], &[]);
    }
}
