//! A terminal in which the binary runs, and a person who looks at it and types.

use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::team::{Team, until, until_so};

/// So many rows: nothing scrolls out of sight.
const ROWS: NonZero<u16> = NonZero::new(200).unwrap();

/// A terminal of `script`, which belongs to util-linux.
pub struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    screen: Arc<Mutex<vt100::Parser>>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Runs the binary in a home, on a terminal that is so wide. When it has ended, the terminal says how it is left.
    pub fn open(team: &Team, columns: u16, args: &[&str]) -> Self {
        let words: Vec<String> = args.iter().map(|word| format!("'{word}'")).collect();
        let synod = env!("CARGO_BIN_EXE_synod");
        let line = format!(
            "stty rows {ROWS} cols {columns}; trap : INT; '{synod}' {}; echo ended with $?; stty -a",
            words.join(" ")
        );
        let mut command = Command::new("script");
        for key in ["SYNOD_HOME", "COLUMNS", "NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "SYNOD_SANDBOX"] {
            command.env_remove(key);
        }
        command.env("SYNOD_USER", "tess").env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        command.current_dir(team.path()).args(["-qfec", &line, "/dev/null"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let keys = child.stdin.take();
        let mut output = child.stdout.take().unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(ROWS, NonZero::new(columns).unwrap(), 0)));
        let seen = screen.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                seen.lock().unwrap().process(&bytes[..read]);
            }
        });
        Self { child, keys, screen, reader: Some(reader) }
    }

    /// All that it shows now.
    pub fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until it shows this.
    pub fn shows(&self, words: &str) {
        self.shows_so(words, |text| text.contains(words));
    }

    /// Waits until it shows something that is so.
    pub fn shows_so(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let began = std::time::Instant::now();
        until_so(what, || {
            assert!(began.elapsed().as_secs() < 50, "{what} is not shown:\n{}", self.text());
            is_so(&self.text())
        });
    }

    /// Presses keys.
    pub fn types(&mut self, keys: &str) {
        let stdin = self.keys.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Waits for the end; all that is shown then. The terminal must be as it was.
    pub fn ends(mut self, code: i32) -> String {
        self.shows_so("the end", |text| text.contains("ended with ") && text.contains("-echoprt"));
        let text = self.text();
        assert!(text.contains(&format!("ended with {code}\n")), "{text}");
        let left: Vec<&str> = text.split_whitespace().collect();
        for mode in ["icanon", "echo", "isig"] {
            assert!(left.contains(&mode), "the terminal is left without {mode}: {text}");
        }
        drop(self.keys.take());
        until("the terminal closes", || self.child.try_wait().unwrap());
        text
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.keys.take());
        _ = self.child.kill();
        _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            _ = reader.join();
        }
    }
}
