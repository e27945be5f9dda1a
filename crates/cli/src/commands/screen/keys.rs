//! Keys that a person presses while the screen is drawn. The terminal neither shows them nor collects lines meanwhile;
//! Ctrl-C stays a signal. Whatever ends this gives the terminal back as it was.

use std::io::{PipeReader, PipeWriter};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

/// Keys that may wait to be looked at; who types more than that types into nothing.
const KEYS_MAX: usize = 256;

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A letter.
    Char(char),
    /// The line is whole.
    Enter,
    /// Takes the last letter back.
    Backspace,
    /// Takes all letters back.
    Clear,
    /// Leaves it.
    Escape,
}

/// A terminal whose keys are read.
pub struct Keys {
    receiver: mpsc::Receiver<Key>,
    before: Termios,
    stop: Option<PipeWriter>,
    reader: Option<JoinHandle<()>>,
}

impl Keys {
    /// Reads keys from now on; none where stdin is no terminal.
    pub fn read() -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let (stopped, stop) = std::io::pipe().ok()?;
        quiet(&before);
        let (sender, receiver) = mpsc::channel(KEYS_MAX);
        let reader = std::thread::Builder::new().name("synod-keys".to_owned());
        let reader = reader.spawn(move || forward(&stopped, &sender)).ok();
        Some(Self { receiver, before, stop: Some(stop), reader })
    }

    /// The next one.
    pub async fn next(&mut self) -> Option<Key> {
        self.receiver.recv().await
    }

    /// Again, after the terminal belonged to somebody else.
    pub fn resume(&self) {
        quiet(&self.before);
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(reader) = self.reader.take() {
            _ = reader.join();
        }
        _ = tcsetattr(stdin(), OptionalActions::Drain, &self.before);
    }
}

/// No echo and no lines, so that what is typed does not tear what is drawn.
fn quiet(before: &Termios) {
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
    quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
    _ = tcsetattr(stdin(), OptionalActions::Now, &quiet);
}

fn forward(stopped: &PipeReader, keys: &mpsc::Sender<Key>) {
    let mut half = Vec::new();
    loop {
        let terminal = stdin();
        let mut both = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut both, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        if !both[1].revents().is_empty() {
            return;
        }
        let mut bytes = [0; 256];
        match rustix::io::read(stdin(), &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(read) => half.extend_from_slice(&bytes[..read]),
        }
        for key in decode(&mut half) {
            // Too many at once are dropped: nobody types so fast.
            _ = keys.try_send(key);
        }
    }
}

/// The keys of what was read; what may be half a letter stays.
fn decode(bytes: &mut Vec<u8>) -> Vec<Key> {
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // No text at all.
        Err(_) => {
            bytes.clear();
            0
        }
    };
    let text: Vec<u8> = bytes.drain(..whole).collect();
    let text = String::from_utf8(text).unwrap_or_default();
    let mut keys = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\r' => keys.push(Key::Enter),
            '\u{7f}' | '\u{8}' => keys.push(Key::Backspace),
            '\u{15}' | '\u{17}' => keys.push(Key::Clear),
            // An arrow or the like: no letter of an answer.
            '\u{1b}' if letters.next_if(|next| matches!(next, '[' | 'O')).is_some() => {
                while letters.next().is_some_and(|next| !next.is_ascii_alphabetic() && next != '~') {}
            }
            '\u{1b}' => keys.push(Key::Escape),
            letter if letter.is_control() => {}
            letter => keys.push(Key::Char(letter)),
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        decode(&mut bytes.to_vec())
    }

    #[test]
    fn letters_are_keys_and_arrows_are_none() {
        assert_eq!(keys(b"y\r"), [Key::Char('y'), Key::Enter]);
        assert_eq!(keys(b"\x1b[A\x1bOBn\x1b[3~\x7f"), [Key::Char('n'), Key::Backspace]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x15\x01"), [Key::Clear]);
    }

    #[test]
    fn half_a_letter_waits_for_its_other_half() {
        let mut bytes = "ü".as_bytes()[..1].to_vec();
        assert_eq!(decode(&mut bytes), []);
        bytes.push("ü".as_bytes()[1]);
        assert_eq!(decode(&mut bytes), [Key::Char('ü')]);
        assert_eq!(keys(b"\xff"), []);
    }
}
