//! What keeps a home from beginning: settings that do not read, where no version of them was ever good. Without them
//! nobody knows who takes what, and everything that begins would fail.

use domain::layout;
use domain::settings::Settings;
use formats::diagnostic::{Diagnostic, Severity};
use tokio::sync::watch;

/// What is wrong with the file that all work waits for, if there is one.
pub type Held = watch::Receiver<Option<Diagnostic>>;

/// The desk's side of it.
pub(super) struct Hold {
    /// Whether any settings were good, in the journal or since.
    has_good: bool,
    /// What is wrong with those that are there.
    wrong: Option<Diagnostic>,
    /// Whether files were not looked at because of it.
    has_put_off: bool,
    tell: watch::Sender<Option<Diagnostic>>,
}

impl Hold {
    pub(super) fn new(settings: &Settings) -> (Self, Held) {
        let (tell, held) = watch::channel(None);
        (Self { has_good: *settings != Settings::default(), wrong: None, has_put_off: false, tell }, held)
    }

    /// The file of settings was looked at, and this is wrong with it.
    pub(super) fn note(&mut self, diagnostics: &[Diagnostic]) {
        self.wrong = diagnostics.iter().find(|d| d.severity == Severity::Error).cloned();
        self.has_good |= self.wrong.is_none();
    }

    /// Whether nothing may begin now.
    pub(super) fn is_on(&self) -> bool {
        self.wrong.is_some() && !self.has_good
    }

    /// Whether a file is left for later: what people want is given to somebody as soon as it is read.
    pub(super) fn puts_off(&mut self, path: &str) -> bool {
        let depends = ![layout::AGENTS, layout::POLICY].iter().any(|folder| layout::is_inside(path, folder))
            && !layout::SETTINGS_FILES.contains(&path);
        let puts_off = depends && self.is_on();
        self.has_put_off |= puts_off;
        puts_off
    }

    /// Whether what was put off can be looked at now; says so once.
    pub(super) fn is_over(&mut self) -> bool {
        !self.is_on() && std::mem::take(&mut self.has_put_off)
    }

    /// Tells those who would begin. To be called when the engine has all that was read: whoever hears that nothing keeps
    /// them finds the settings in force.
    pub(super) fn tell(&self) {
        let now = self.wrong.as_ref().filter(|_| self.is_on());
        self.tell.send_if_modified(|told| {
            let is_news = told.as_ref() != now;
            if is_news {
                *told = now.cloned();
            }
            is_news
        });
    }
}
