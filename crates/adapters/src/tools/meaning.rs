//! Search by meaning beside search by words: asks the provider that the settings name for vectors, a bounded number
//! at a time. When that fails, words alone count, and the answer says so.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::settings::{Provider, Search, Settings, Trust};
use tokio::time::{Instant, timeout_at};

use super::blocking;
use crate::beneath::Root;
use crate::model::Embedder;
use crate::search::{Index, Scope};
use crate::until::Until;

/// So many pieces go into one request.
const BATCH: usize = 64;
/// So many get their vectors in one search; the next goes on.
const PIECES_MAX: usize = 512;
/// Asking for vectors may take so long, all together.
const ASK_MS_MAX: u64 = 10_000;
/// So many files near to the query take part.
const NEAR_MAX: usize = 50;

/// What of the settings concerns searching.
#[derive(Default)]
pub(super) struct Settled(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    trust: Trust,
    search: Search,
    providers: BTreeMap<String, Provider>,
    /// Made when it is first needed.
    embedder: Option<Result<Arc<Embedder>, String>>,
}

impl Settled {
    /// Takes over what is in force.
    pub(super) fn take(&self, settings: &Settings) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.trust != settings.trust {
            inner.trust = settings.trust.clone();
        }
        if inner.search != settings.search || inner.providers != settings.providers {
            inner.search = settings.search.clone();
            inner.providers = settings.providers.clone();
            inner.embedder = None;
        }
    }

    /// What the owner said of paths.
    pub(super) fn trust(&self) -> Trust {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).trust.clone()
    }

    /// Who makes vectors, if anybody. Reads a key; blocks.
    fn embedder(&self, home: &Path) -> Option<Result<Arc<Embedder>, String>> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.search.embeddings.as_ref()?;
        if inner.embedder.is_none() {
            let settings = Settings {
                search: inner.search.clone(),
                providers: inner.providers.clone(),
                ..Settings::default()
            };
            inner.embedder = Embedder::new(home, &settings).map(|made| made.map(Arc::new));
        }
        inner.embedder.clone()
    }
}

/// One search by meaning.
pub(super) struct Meaning {
    pub(super) root: Arc<Root>,
    pub(super) index: Arc<Index>,
    pub(super) settled: Arc<Settled>,
    pub(super) scopes: Vec<Scope>,
    pub(super) query: String,
}

/// Files by nearness, each with the line that is near; and what is to be said of it.
#[derive(Default)]
pub(super) struct Near {
    pub(super) files: Vec<(String, usize)>,
    pub(super) note: Option<String>,
}

impl Meaning {
    /// The nearest files; none if the settings name nobody who makes vectors.
    pub(super) async fn find(self, ms_max: u64) -> Near {
        let (settled, root) = (Arc::clone(&self.settled), Arc::clone(&self.root));
        let made = blocking(move || Ok(settled.embedder(root.path()))).await;
        let found = match made {
            Ok(None) => return Near::default(),
            Ok(Some(Ok(embedder))) => {
                let end = Instant::now() + Duration::from_millis(ms_max.min(ASK_MS_MAX));
                match timeout_at(end, self.ask(&embedder)).await {
                    Ok(found) => found,
                    Err(_) => Err("the vectors took too long".to_owned()),
                }
            }
            Ok(Some(Err(error))) | Err(error) => Err(error),
        };
        found.unwrap_or_else(|error| Near {
            files: Vec::new(),
            note: Some(format!("searched by words alone: {error}")),
        })
    }

    async fn ask(&self, embedder: &Embedder) -> Result<Near, String> {
        let wanted = embedder.embed(std::slice::from_ref(&self.query)).await?.pop().unwrap_or_default();
        let model = embedder.model().to_owned();
        let mut asked = 0;
        let mut note = None;
        loop {
            let pieces = self.without_vector(model.clone()).await?;
            if pieces.is_empty() {
                break;
            }
            if asked >= PIECES_MAX {
                note =
                    Some("not all files are searched by meaning yet; search again for the others".to_owned());
                break;
            }
            for batch in pieces.chunks(BATCH) {
                let texts: Vec<String> = batch.iter().map(|piece| piece.text.clone()).collect();
                let vectors = embedder.embed(&texts).await?;
                let kept: Vec<(Vec<u8>, Vec<f32>)> =
                    batch.iter().map(|piece| piece.hash.clone()).zip(vectors).collect();
                let (index, root) = (Arc::clone(&self.index), Arc::clone(&self.root));
                blocking(move || index.keep(&root, &kept)).await?;
                asked += batch.len();
            }
        }
        let (index, root, scopes) = (Arc::clone(&self.index), Arc::clone(&self.root), self.scopes.clone());
        let files = blocking(move || index.nearest(&root, &scopes, &model, &wanted, NEAR_MAX)).await?;
        Ok(Near { files, note })
    }

    async fn without_vector(&self, model: String) -> Result<Vec<crate::search::meaning::Piece>, String> {
        let (index, root, scopes) = (Arc::clone(&self.index), Arc::clone(&self.root), self.scopes.clone());
        let trust = self.settled.trust();
        let until = Until::ms(ASK_MS_MAX);
        // Nobody waits for it any more when this is dropped.
        let _guard = until.guard();
        blocking(move || {
            let may_leave = |path: &str| !trust.is_secret(path);
            index.without_vector(&root, &scopes, &model, &may_leave, BATCH, &until)
        })
        .await
    }
}
