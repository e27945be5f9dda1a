//! Server-sent events, read strictly: what is not an event stream is an error, not silence.

use super::fault::line;

/// A longer line is not an event of a model.
const LINE_BYTES_MAX: usize = 4 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Event {
    /// Its name, or nothing.
    pub(super) name: String,
    /// Its text.
    pub(super) data: String,
}

/// Turns bytes into events, however they are cut.
#[derive(Debug, Default)]
pub(super) struct Reader {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a carriage return, so that a line feed belongs to it.
    after_return: bool,
    begun: bool,
}

impl Reader {
    /// Takes the next bytes and gives the events that they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.push(rest)?;
                break;
            };
            self.push(&rest[..at])?;
            self.after_return = rest[at] == b'\r';
            rest = &rest[at + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.end_line(&line)?);
        }
        Ok(events)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.line.len() + bytes.len() > LINE_BYTES_MAX {
            return Err(format!("a line of the stream has more than {LINE_BYTES_MAX} bytes"));
        }
        self.line.extend(bytes);
        Ok(())
    }

    /// Whether the stream ended in the middle of an event.
    pub(super) fn is_torn(&self) -> bool {
        !self.line.is_empty() || self.has_data
    }

    fn end_line(&mut self, bytes: &[u8]) -> Result<Option<Event>, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "the stream is not UTF-8".to_owned())?;
        let text = if std::mem::replace(&mut self.begun, true) {
            text
        } else {
            text.strip_prefix('\u{feff}').unwrap_or(text)
        };
        if text.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                if self.event.data.len() + value.len() > LINE_BYTES_MAX {
                    return Err(format!("an event of the stream has more than {LINE_BYTES_MAX} bytes"));
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.event.name),
            // A comment, or what only matters to browsers.
            "" | "id" | "retry" => {}
            _ => return Err(format!("this is no line of an event stream: {}", line(text))),
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}: hello\n\nevent: a\ndata: one\ndata:two\n\nid: 7\r\nretry: 5\r\ndata: {\"x\": \"é\"}\r\n\r\ndata\n\nevent: lost\n\ndata: open";

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let expected = [event("a", "one\ntwo"), event("", "{\"x\": \"é\"}"), event("", "")];
        for size in 1..STREAM.len() {
            let mut reader = Reader::default();
            let mut events = Vec::new();
            for bytes in STREAM.as_bytes().chunks(size) {
                events.extend(reader.take(bytes).unwrap());
            }
            assert_eq!(events, expected, "in pieces of {size}");
            assert!(reader.is_torn());
        }
    }

    #[test]
    fn what_is_no_event_stream_is_an_error() {
        for (bytes, part) in [
            (&b"<!doctype html>\n"[..], "no line of an event stream: <!doctype html>"),
            (b"{\"error\": 1}\n", "no line of an event stream"),
            (b"data: \xff\n", "not UTF-8"),
        ] {
            let error = Reader::default().take(bytes).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let mut reader = Reader::default();
        let endless = std::iter::repeat_n(&[b'x'; 1 << 16][..], 1 << 10);
        let error = endless.map(|bytes| reader.take(bytes)).find_map(Result::err).unwrap();
        assert!(error.contains("more than"), "{error}");
    }
}
