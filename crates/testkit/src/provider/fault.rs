//! Ways for a provider to misbehave.

use super::wire::Reply;

/// One way to misbehave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Answers with this status.
    Status {
        /// Such as 429.
        code: u16,
        /// Beside the usual ones.
        headers: Vec<(&'static str, String)>,
        /// In the words of the provider.
        body: String,
    },
    /// Breaks the connection when so much of the answer was sent.
    Cut {
        /// Of all bytes.
        percent: u8,
    },
    /// Ends the stream properly, but in the middle of the answer.
    Short,
    /// Puts a line into the stream that does not belong there, or breaks the JSON of a whole answer.
    Malformed,
    /// Answers with a web page and 200.
    Page,
    /// Never says anything.
    Silent,
    /// Says half and then nothing.
    Idle,
    /// Breaks the connection without an answer.
    Reset,
    /// Never stops.
    Endless {
        /// What is repeated; empty for comments of a stream.
        chunk: String,
    },
    /// Says nothing, and says that this is all.
    Empty,
    /// Declines.
    Refusal,
    /// Cuts the arguments of the last call, or the text, and says that the answer is too long.
    Length,
    /// Breaks the arguments of the last call, and says that all is well.
    BadArguments,
    /// Says in the middle of the stream that it is overloaded.
    Overloaded,
    /// Says this, in JSON, in place of what the answer took.
    Miscounted(&'static str),
}

impl Fault {
    /// A status with nothing else.
    pub fn status(code: u16) -> Self {
        Self::Status { code, headers: Vec::new(), body: String::new() }
    }

    /// A status that asks for a wait.
    pub fn wait(code: u16, header: &'static str, value: &str) -> Self {
        Self::Status { code, headers: vec![(header, value.to_owned())], body: String::new() }
    }

    /// An endless stream of events.
    pub fn endless() -> Self {
        let line = format!(": {}\n\n", "x".repeat(60_000));
        Self::Endless { chunk: format!("{:x}\r\n{line}\r\n", line.len()) }
    }

    /// What is sent if no model is needed for it.
    pub(super) fn without_model(&self, is_openai: bool) -> Option<String> {
        match self {
            Self::Status { code, headers, body } => {
                let body = match body.as_str() {
                    "" if is_openai => r#"{"error":{"message":"not now","type":"test"}}"#,
                    "" => r#"{"type":"error","error":{"type":"test","message":"not now"}}"#,
                    body => body,
                };
                Some(status(*code, headers, body))
            }
            Self::Page => {
                let page = "<!doctype html><title>Welcome</title>";
                let length = page.len();
                Some(format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\r\n{page}"
                ))
            }
            Self::Silent | Self::Reset => Some(String::new()),
            Self::Endless { .. } => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                Some(head.to_owned())
            }
            Self::Cut { .. }
            | Self::Short
            | Self::Malformed
            | Self::Idle
            | Self::Empty
            | Self::Refusal
            | Self::Length
            | Self::BadArguments
            | Self::Overloaded
            | Self::Miscounted(_) => None,
        }
    }

    /// Changes what is said.
    pub(super) fn change(&self, reply: &mut Reply) {
        match self {
            Self::Empty => {
                reply.text.clear();
                reply.calls.clear();
            }
            Self::Refusal => {
                reply.text.clear();
                reply.calls.clear();
                reply.refusal = Some("I cannot help with that".to_owned());
            }
            Self::Length => {
                reply.is_cut = true;
                match reply.calls.last_mut() {
                    Some(call) => {
                        let half = call.arguments.len() / 2;
                        call.arguments.truncate(call.arguments.floor_char_boundary(half));
                    }
                    None => {
                        let half = reply.text.len() / 2;
                        reply.text.truncate(reply.text.floor_char_boundary(half));
                    }
                }
            }
            Self::Miscounted(usage) => reply.miscounted = serde_json::from_str(usage).ok(),
            Self::BadArguments => {
                if let Some(call) = reply.calls.last_mut() {
                    call.arguments = "{\"path\": oops".to_owned();
                }
            }
            _ => {}
        }
    }

    /// Changes the pieces of a stream, or the one piece of a whole answer.
    pub(super) fn pieces(&self, mut pieces: Vec<String>, stream: bool) -> Vec<String> {
        let middle = pieces.len() / 2;
        match (self, stream) {
            (Self::Short, true) => pieces.truncate(middle),
            (Self::Malformed, true) => pieces.insert(middle, "this is not an event\n".to_owned()),
            (Self::Short | Self::Malformed, false) => {
                let half = pieces[0].len() / 2;
                let half = pieces[0].floor_char_boundary(half);
                pieces[0].truncate(half);
            }
            (Self::Overloaded, _) => {
                let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
                pieces.truncate(middle);
                pieces.push(if stream {
                    format!("event: error\ndata: {error}\n\n")
                } else {
                    error.to_owned()
                });
            }
            _ => {}
        }
        pieces
    }
}

/// A whole answer with a status.
pub(super) fn status(code: u16, headers: &[(&'static str, String)], body: &str) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    format!(
        "HTTP/1.1 {code} Test\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}
