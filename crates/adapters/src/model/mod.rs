//! Ways to reach models, and the way from an agent's model to the one that answers: aliases and providers of
//! `synod.yaml`.

mod anthropic;
mod conversation;
mod described;
mod draft;
mod embeddings;
mod fault;
mod fill;
mod http;
mod keys;
mod lenient;
mod openai;
mod purse;
mod scripted;
mod speakers;
mod sse;
mod structured;
mod tape;
mod thoughts;
mod turns;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use domain::settings::{Endpoint, ModelRef, Provider, Settings};
use formats::{Severity, script};
use ports::model::{Model, ModelError, Reply, Request};

use http::{Api, Remote};
use keys::Key;
use tape::{Record, Replay};

pub(crate) use embeddings::Embedder;
pub(crate) use purse::{LATE, Purse, USED_UP};
pub use scripted::{Scripted, Unused};

/// Larger scripts are not read.
const SCRIPT_BYTES_MAX: u64 = 16 << 20;

/// All models of a home. A request names an alias; the provider is asked with its own name for it.
pub struct Models {
    aliases: BTreeMap<String, ModelRef>,
    providers: BTreeMap<String, Way>,
    /// By file.
    scripts: BTreeMap<String, Sheet>,
}

/// A script as it was read.
#[derive(Clone)]
struct Sheet {
    stamp: Option<Stamp>,
    /// The last that read; absent if none did.
    model: Option<Arc<Scripted>>,
}

/// What changes when a file is saved: its time, its size and which file it is.
type Stamp = (SystemTime, u64, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len(), found.ino()))
}

/// How a provider is reached, or why it is not.
type Way = Result<Arc<dyn Model>, String>;

impl Models {
    /// The models that the settings of a home name. A provider that cannot be had is an error only for those
    /// who ask it; [`Models::problems`] tells it at once. Reads files.
    pub fn new(home: &Path, settings: &Settings) -> Self {
        let mut models =
            Self { aliases: settings.models.clone(), providers: BTreeMap::new(), scripts: BTreeMap::new() };
        for (name, provider) in &settings.providers {
            let way = models.way(home, settings, provider);
            models.providers.insert(name.clone(), way.map_err(|e| format!("provider {name}: {e}")));
        }
        models
    }

    /// Adds a provider, in place of one with the same name.
    pub fn with(mut self, name: &str, model: Arc<dyn Model>) -> Self {
        self.providers.insert(name.to_owned(), Ok(model));
        self
    }

    /// The same providers, under other aliases.
    #[must_use]
    pub(crate) fn called(&self, aliases: &BTreeMap<String, ModelRef>) -> Self {
        Self { aliases: aliases.clone(), providers: self.providers.clone(), scripts: self.scripts.clone() }
    }

    pub(crate) fn are_called(&self, aliases: &BTreeMap<String, ModelRef>) -> bool {
        self.aliases == *aliases
    }

    /// Whether no script changed since it was read, and all providers can be had. A look at the name of each.
    pub(crate) fn are_current(&self, home: &Path) -> bool {
        let is_broken = self.providers.values().any(Result::is_err);
        !is_broken && self.scripts.iter().all(|(file, sheet)| stamp(&home.join(file)) == sheet.stamp)
    }

    /// The same, with scripts read again that changed, and providers looked for again that could not be had. Of one that does not read any more the last that did stays; what is
    /// wrong is said with its file.
    pub(crate) fn reread(&self, home: &Path, settings: &Settings) -> (Self, Vec<(String, String)>) {
        let (mut models, mut wrong) = (self.called(&self.aliases), Vec::new());
        for (name, provider) in &settings.providers {
            let Provider::Scripted { script } = provider else {
                // What was missing, such as the file of a key, may be there by now.
                if models.providers.get(name).is_some_and(Result::is_err) {
                    let way = models.way(home, settings, provider);
                    models.providers.insert(name.clone(), way.map_err(|e| format!("provider {name}: {e}")));
                }
                continue;
            };
            let before = self.scripts.get(script);
            if before.is_some_and(|sheet| sheet.stamp == stamp(&home.join(script))) {
                continue;
            }
            match (models.scripted(home, script), before.and_then(|sheet| sheet.model.clone())) {
                (Err(error), Some(last)) => {
                    models.scripts.entry(script.clone()).and_modify(|sheet| sheet.model = Some(last));
                    wrong.push((script.clone(), error));
                }
                (way, _) => {
                    let way = way.map_err(|error| format!("provider {name}: {error}"));
                    models.providers.insert(name.clone(), way);
                }
            }
        }
        (models, wrong)
    }

    /// What is wrong with providers and aliases, for people.
    pub fn problems(&self) -> Vec<String> {
        let providers = self.providers.values().filter_map(|way| way.as_ref().err().cloned());
        let aliases =
            self.aliases.iter().filter(|(_, target)| !self.providers.contains_key(&target.provider));
        let aliases = aliases.map(|(alias, target)| self.no_provider(alias, &target.provider));
        providers.chain(aliases).collect()
    }

    /// Rules of scripts that never answered.
    pub fn unmatched(&self) -> Vec<Unused> {
        self.scripts.values().filter_map(|sheet| sheet.model.as_ref()).flat_map(|s| s.unmatched()).collect()
    }

    fn way(&mut self, home: &Path, settings: &Settings, provider: &Provider) -> Way {
        match provider {
            Provider::Scripted { script } => self.scripted(home, script),
            Provider::OpenAi(endpoint) => remote(home, Api::OpenAi, endpoint),
            Provider::Anthropic(endpoint) => remote(home, Api::Anthropic, endpoint),
            Provider::Replay { tape, by } => Ok(Arc::new(Replay::new(home, tape, *by)?)),
            Provider::Record { tape, of } => match settings.providers.get(of) {
                Some(Provider::Record { .. } | Provider::Replay { .. }) => {
                    Err(format!("{of} is a tape itself; name the provider that answers"))
                }
                Some(other) => Ok(Arc::new(Record::new(home, tape, self.way(home, settings, other)?)?)),
                None => {
                    Err(format!("synod.yaml has no provider {of:?}{}", help(of, settings.providers.keys())))
                }
            },
        }
    }

    fn scripted(&mut self, home: &Path, file: &str) -> Way {
        let path = home.join(file);
        // Before it is read: what is saved in between is looked at again.
        let sheet = Sheet { stamp: stamp(&path), model: None };
        let sheet = self.scripts.entry(file.to_owned()).insert_entry(sheet).into_mut();
        let size = std::fs::metadata(&path).map_err(|e| format!("{file}: {e}"))?.len();
        if size > SCRIPT_BYTES_MAX {
            return Err(format!("{file} has {size} bytes, at most {SCRIPT_BYTES_MAX} are read"));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?;
        let read = script::read(file, &text);
        let error = read.diagnostics.iter().find(|found| found.severity == Severity::Error);
        match (read.value, error) {
            (Some(script), None) => {
                let model = Arc::new(Scripted::new(file, script));
                sheet.model = Some(Arc::clone(&model));
                Ok(model)
            }
            (_, Some(found)) => Err(format!("{file}:{}:{}: {}", found.line, found.column, found.message)),
            (None, None) => Err(format!("{file} has no rules")),
        }
    }

    fn find(&self, alias: &str) -> Result<(&dyn Model, &str), ModelError> {
        // An agent may also name a model as its provider does.
        let named = || self.aliases.values().find(|target| target.model == alias);
        let Some(target) = self.aliases.get(alias).or_else(named) else {
            return Err(fault::down(self.no_alias(alias)));
        };
        match self.providers.get(&target.provider) {
            Some(Ok(model)) => Ok((model.as_ref(), &target.model)),
            Some(Err(error)) => Err(fault::denied(error.clone())),
            None => Err(fault::down(self.no_provider(alias, &target.provider))),
        }
    }

    fn no_alias(&self, alias: &str) -> String {
        let help = help(alias, self.aliases.keys());
        format!("synod.yaml has no model {alias:?}{help}")
    }

    fn no_provider(&self, alias: &str, provider: &str) -> String {
        let help = help(provider, self.providers.keys());
        format!("synod.yaml has no provider {provider:?}, which model {alias:?} names{help}")
    }
}

#[async_trait]
impl Model for Models {
    async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
        let (model, request) = self.found(request)?;
        ask(model, request).await
    }
}

impl Models {
    /// Asks with what is in the purse, however often it takes.
    pub(crate) async fn ask_out_of(&self, purse: &Purse, request: Request) -> Result<Reply, ModelError> {
        let (model, request) = self.found(request)?;
        ask(&purse.opened(model), request).await
    }

    /// The provider that answers a request, and the request in its words.
    fn found(&self, request: Request) -> Result<(&dyn Model, Request), ModelError> {
        let (model, name) = self.find(&request.model).map_err(|error| ModelError {
            message: format!("{} (asked by {})", error.message, request.agent),
            ..error
        })?;
        Ok((model, Request { model: name.to_owned(), ..request }))
    }
}

async fn ask(model: &dyn Model, request: Request) -> Result<Reply, ModelError> {
    match request.schema.clone() {
        Some(schema) => structured::ask(model, request, &schema).await,
        None => model.ask(request).await,
    }
}

fn remote(home: &Path, api: Api, endpoint: &Endpoint) -> Way {
    let key = endpoint.key.clone().map(|source| Key::new(home, source));
    Ok(Arc::new(Remote::new(api, endpoint, key)?))
}

fn help<'a>(given: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<&str> = known.map(String::as_str).collect();
    match formats::did_you_mean(given, known.iter().copied()) {
        Some(close) => format!(", did you mean {close}?"),
        None if known.is_empty() => "; it has none".to_owned(),
        None => format!("; it has {}", known.join(", ")),
    }
}
