//! A provider over HTTP: one client for both APIs, its time-outs and bounds. Dropping a question closes its
//! connection.
//!
//! Proxies of the environment are not used, only the one that the settings name. Redirects are not followed: a key
//! goes to the host that the owner named, and nowhere else.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use domain::budget::ANSWER_TOKENS;
use domain::settings::{Endpoint, Timeouts};
use domain::usage::Usage;
use ports::model::{ErrorKind, Model, ModelError, Reply, Request};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::described::{Described, WriteTools};
use super::draft::Draft;
use super::fault::{self, again, denied, down, outage};
use super::keys::Key;
use super::thoughts::Thoughts;
use super::{anthropic, openai, sse};
use crate::tokens;

/// A longer answer is not one.
const REPLY_BYTES_MAX: usize = 16 << 20;
/// So much is read of an answer that says what is wrong.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// Waits for a provider's window are sat out up to here; longer ones go back to whoever plans the work.
const HOLD_MAX: Duration = Duration::from_secs(30);
/// Those who waited for the same window come back over at most this time.
const SPREAD_MS_MAX: u64 = 250;
/// Where texts are turned into vectors.
pub(super) const EMBEDDINGS: &str = "embeddings";
const VERSION_DEFAULT: &str = "2023-06-01";

/// Which API is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    OpenAi,
    Anthropic,
}

/// A provider over HTTP.
pub(super) struct Remote {
    api: Api,
    client: Client,
    url: Url,
    host: String,
    /// What every request carries, without the key.
    headers: HeaderMap,
    stream: bool,
    described: Described,
    thoughts: Thoughts,
    timeouts: Timeouts,
    key: Option<Key>,
    /// What `key` gave; forgotten when the provider refuses it, so that a new one is found without a restart.
    secret: Mutex<Option<SecretString>>,
    /// By model: until when the provider wants no requests for it.
    closed_until: Mutex<BTreeMap<String, Instant>>,
}

/// One TLS for the whole process. It must be there before a client is built, whoever builds it.
fn install_tls() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // An error means that somebody else has installed one, which is as good.
        _ = rustls::crypto::ring::default_provider().install_default();
    });
}

impl Remote {
    /// The provider at an endpoint. Reads the key, so that a missing one is told at once.
    pub(super) fn new(api: Api, endpoint: &Endpoint, key: Option<Key>) -> Result<Self, String> {
        let path = match api {
            Api::OpenAi => "chat/completions",
            Api::Anthropic => "messages",
        };
        Self::at(api, path, endpoint, key)
    }

    /// The same, for another path of the API.
    pub(super) fn at(api: Api, path: &str, endpoint: &Endpoint, key: Option<Key>) -> Result<Self, String> {
        install_tls();
        let base = endpoint.base_url.trim_end_matches('/');
        let url = Url::parse(&format!("{base}/{path}")).map_err(|e| format!("base_url {base:?}: {e}"))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if key.is_some() && url.scheme() != "https" && !is_this_machine(&host) {
            return Err(format!("a key would go to {host} for all to read; use https in base_url"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut put = |name: &str, value: &str| {
            let bad = || format!("the header {name:?} cannot be sent");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            headers.insert(name, HeaderValue::from_str(value).map_err(|_| bad())?);
            Ok::<(), String>(())
        };
        match api {
            Api::OpenAi => {
                if let Some(organization) = &endpoint.organization {
                    put("openai-organization", organization)?;
                }
            }
            Api::Anthropic => {
                put("anthropic-version", endpoint.version.as_deref().unwrap_or(VERSION_DEFAULT))?
            }
        }
        for (name, value) in &endpoint.headers {
            put(name, value)?;
        }
        let secret = key.as_ref().map(Key::read).transpose()?;
        let client = client(endpoint)?;
        Ok(Self {
            api,
            client,
            url,
            host,
            headers,
            stream: endpoint.stream,
            described: Described::default(),
            thoughts: Thoughts::default(),
            timeouts: endpoint.timeouts,
            key,
            secret: Mutex::new(secret),
            closed_until: Mutex::default(),
        })
    }

    /// Sends something and reads the answer as JSON.
    pub(super) async fn post(&self, body: &Value, model: &str) -> Result<Value, ModelError> {
        let answer = async {
            let response = self.send(body.to_string()).await?;
            self.note_window(model, response.status(), response.headers());
            if !response.status().is_success() {
                return Err(self.refusal(response, model).await);
            }
            self.read_json(response).await
        };
        answer.await.map_err(|error| self.without_key(error))
    }

    async fn exchange(&self, request: &Request) -> Result<Reply, ModelError> {
        self.wait_for_window(request).await?;
        // As text at once: a thousand questions wait at the same time, and each tree of values is many times its text.
        let (body, write): (_, WriteTools) = match self.api {
            Api::OpenAi => (openai::body(request, &self.host, self.stream), openai::tools),
            Api::Anthropic => (anthropic::body(request, &self.thoughts, self.stream), anthropic::tools),
        };
        let body = self.described.with(&body, &request.tools, write);
        let body = body.map_err(|error| down(format!("the request cannot be written as JSON: {error}")))?;
        let response = self.send(body).await?;
        self.note_window(&request.model, response.status(), response.headers());
        if !response.status().is_success() {
            return Err(self.refusal(response, &request.model).await);
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let (most, mut draft) = (most(request), Draft::default());
        let heard = |draft: &Draft| request.progress.hear(&draft.text, draft.took(most));
        let read = match kind.contains("event-stream") {
            true => self.read_stream(response, &mut draft, heard).await,
            false => self.read_whole(response, &mut draft, heard).await,
        };
        match read {
            Ok(()) => {
                let thinking = std::mem::take(&mut draft.thinking);
                let reply = draft.finish(&self.host, most)?;
                self.thoughts.keep(&request.model, &reply.calls, thinking);
                Ok(reply)
            }
            Err(error) => Err(error.after(draft.took(most))),
        }
    }

    async fn send(&self, body: String) -> Result<Response, ModelError> {
        let mut headers = self.headers.clone();
        if let Some(secret) = self.secret().await? {
            let (name, text) = match self.api {
                Api::OpenAi => (AUTHORIZATION, format!("Bearer {}", secret.expose_secret())),
                Api::Anthropic => (HeaderName::from_static("x-api-key"), secret.expose_secret().to_owned()),
            };
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| denied("the key has characters that no key has".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let sent = self.client.post(self.url.clone()).headers(headers).body(body).send();
        let connect = Duration::from_millis(self.timeouts.connect_ms);
        let first = Duration::from_millis(self.timeouts.first_byte_ms);
        match timeout(first, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(fault::transport(&self.host, &error, connect)),
            Err(_) => Err(self.silent(first)),
        }
    }

    /// The key, read anew if the provider refused the last one.
    async fn secret(&self) -> Result<Option<SecretString>, ModelError> {
        let Some(key) = &self.key else { return Ok(None) };
        if let Some(secret) = &*self.secret.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Some(secret.clone()));
        }
        let key = key.clone();
        let read = tokio::task::spawn_blocking(move || key.read()).await;
        let secret = read.map_err(|_| denied("the key cannot be read".to_owned()))?.map_err(denied)?;
        *self.secret.lock().unwrap_or_else(PoisonError::into_inner) = Some(secret.clone());
        Ok(Some(secret))
    }

    async fn refusal(&self, response: Response, model: &str) -> ModelError {
        let (status, headers) = (response.status(), response.headers().clone());
        if status == StatusCode::UNAUTHORIZED {
            *self.secret.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        // What is wrong is known already; the words are only for people.
        let mut body = Vec::new();
        let mut pieces = Pieces::new(self, response, ERROR_BYTES_MAX);
        while let Ok(Some(piece)) = pieces.next().await {
            body.extend(piece);
        }
        fault::status(&self.host, model, status, &headers, &body)
    }

    async fn read_whole(
        &self,
        response: Response,
        draft: &mut Draft,
        heard: impl Fn(&Draft),
    ) -> Result<(), ModelError> {
        let mut body = Vec::new();
        let mut pieces = Pieces::new(self, response, REPLY_BYTES_MAX);
        while let Some(piece) = pieces.next().await? {
            body.extend(piece);
            (draft.has_begun, draft.unseen) = (true, body.len());
            heard(draft);
        }
        let read = self.json(&body);
        // A web page is nothing that a model said.
        draft.has_begun &= !matches!(&read, Err(ModelError { kind: ErrorKind::Denied, .. }));
        let value = read?;
        draft.unseen = 0;
        match self.api {
            Api::OpenAi => openai::whole(&self.host, &value, draft),
            Api::Anthropic => anthropic::whole(&self.host, &value, draft),
        }
    }

    async fn read_json(&self, response: Response) -> Result<Value, ModelError> {
        let mut body = Vec::new();
        let mut pieces = Pieces::new(self, response, REPLY_BYTES_MAX);
        while let Some(piece) = pieces.next().await? {
            body.extend(piece);
        }
        self.json(&body)
    }

    fn json(&self, body: &[u8]) -> Result<Value, ModelError> {
        match serde_json::from_slice(body) {
            Ok(value) => Ok(value),
            Err(_) if body.trim_ascii_start().starts_with(b"<") => {
                Err(denied(format!("{} answers with a web page; is base_url right?", self.host)))
            }
            Err(error) => {
                Err(again(format!("{} answers with something that is not JSON: {error}", self.host)))
            }
        }
    }

    async fn read_stream(
        &self,
        response: Response,
        draft: &mut Draft,
        heard: impl Fn(&Draft),
    ) -> Result<(), ModelError> {
        let mut reader = sse::Reader::default();
        let mut pieces = Pieces::new(self, response, REPLY_BYTES_MAX);
        loop {
            let piece = match pieces.next().await {
                Ok(Some(piece)) => piece,
                Ok(None) if reader.is_torn() && draft.stop.is_none() => {
                    return Err(outage(format!("{} breaks off in the middle of its answer", self.host)));
                }
                // Some servers leave out the last event; an answer that says why it stopped is whole.
                Ok(None) => return Ok(()),
                Err(_) if draft.stop.is_some() => return Ok(()),
                Err(error) => return Err(error),
            };
            draft.has_begun = true;
            let events = reader.take(&piece).map_err(|what| again(format!("{}: {what}", self.host)))?;
            for event in events {
                let is_last = match self.api {
                    Api::OpenAi => openai::event(&self.host, &event.data, draft)?,
                    Api::Anthropic => anthropic::event(&self.host, &event.data, draft)?,
                };
                if is_last {
                    pieces.drain().await;
                    return Ok(());
                }
            }
            heard(draft);
        }
    }

    fn silent(&self, waited: Duration) -> ModelError {
        outage(format!("{} says nothing for {} ms", self.host, waited.as_millis()))
    }

    /// Sits out a wait that the provider asked somebody else for: all share one account.
    async fn wait_for_window(&self, request: &Request) -> Result<(), ModelError> {
        let until = self.closed(&request.model);
        let Some(until) = until.filter(|until| *until > Instant::now()) else { return Ok(()) };
        let wait = until - Instant::now();
        if wait > HOLD_MAX {
            let after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let message = format!("{} wants no requests for {} s", self.host, wait.as_secs());
            return Err(ModelError::new(ErrorKind::Limited { after_ms }, message));
        }
        let hash = request.agent.as_str().bytes().fold(0_u64, |n, b| n.wrapping_mul(31) + u64::from(b));
        // A quarter of the wait is enough to come back one after the other.
        let spread =
            hash % (u64::try_from(wait.as_millis()).unwrap_or(SPREAD_MS_MAX) / 4 + 1).min(SPREAD_MS_MAX);
        tokio::time::sleep_until(until + Duration::from_millis(spread)).await;
        Ok(())
    }

    fn closed(&self, model: &str) -> Option<Instant> {
        self.closed_until.lock().unwrap_or_else(PoisonError::into_inner).get(model).copied()
    }

    /// Remembers what a provider says about its window: when it refuses, and when an answer uses up the last of it.
    fn note_window(&self, model: &str, status: StatusCode, headers: &HeaderMap) {
        let now = jiff::Timestamp::now();
        let wait_ms = match status {
            StatusCode::TOO_MANY_REQUESTS => fault::after_ms(headers, now),
            _ => fault::window_ms(headers, now).unwrap_or(0),
        };
        if wait_ms > 0 {
            let until = Instant::now() + Duration::from_millis(wait_ms);
            let mut closed = self.closed_until.lock().unwrap_or_else(PoisonError::into_inner);
            let known = closed.entry(model.to_owned()).or_insert(until);
            *known = until.max(*known);
        }
    }

    /// A provider may repeat a key in its complaint.
    fn without_key(&self, error: ModelError) -> ModelError {
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        match &*secret {
            Some(secret) => {
                ModelError { message: error.message.replace(secret.expose_secret(), "[key]"), ..error }
            }
            None => error,
        }
    }
}

#[async_trait]
impl Model for Remote {
    async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
        self.exchange(&request).await.map_err(|error| self.without_key(error))
    }
}

/// The body of an answer, piece by piece, within its bounds of size and time.
struct Pieces<'a> {
    remote: &'a Remote,
    response: Response,
    left: usize,
    bytes_max: usize,
    /// How long the next piece may take.
    wait: Duration,
}

impl<'a> Pieces<'a> {
    fn new(remote: &'a Remote, response: Response, bytes_max: usize) -> Self {
        let wait = Duration::from_millis(remote.timeouts.first_byte_ms);
        Self { remote, response, left: bytes_max, bytes_max, wait }
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        let host = &self.remote.host;
        let piece = match timeout(self.wait, self.response.chunk()).await {
            Ok(Ok(Some(piece))) => piece,
            Ok(Ok(None)) => return Ok(None),
            Ok(Err(error)) => {
                return Err(fault::transport(
                    host,
                    &error,
                    Duration::from_millis(self.remote.timeouts.connect_ms),
                ));
            }
            Err(_) => return Err(self.remote.silent(self.wait)),
        };
        self.wait = Duration::from_millis(self.remote.timeouts.idle_ms);
        let Some(left) = self.left.checked_sub(piece.len()) else {
            return Err(down(format!("{host} answers with more than {} bytes", self.bytes_max)));
        };
        self.left = left;
        Ok(Some(piece.into()))
    }

    /// Reads what is left behind the last event, so that the connection can be used again; does not wait for it.
    async fn drain(&mut self) {
        const WAIT: Duration = Duration::from_millis(5);
        _ = timeout(WAIT, async { while let Ok(Some(_)) = self.next().await {} }).await;
    }
}

/// What a request may take, as far as it can be told without asking.
pub(super) fn most(request: &Request) -> Usage {
    // A provider may read the schema too.
    let schema = request.schema.as_ref().map_or(0, |schema| schema.schema.len());
    let tokens_in = tokens::of_request(request).saturating_add(tokens::of_bytes(schema));
    Usage::of(tokens_in, request.max_tokens.map_or(ANSWER_TOKENS, u64::from))
}

fn client(endpoint: &Endpoint) -> Result<Client, String> {
    let mut builder = Client::builder()
        .connect_timeout(Duration::from_millis(endpoint.timeouts.connect_ms))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .tcp_nodelay(true)
        .user_agent(concat!("synod/", env!("CARGO_PKG_VERSION")));
    if let Some(proxy) = &endpoint.proxy {
        builder =
            builder.proxy(reqwest::Proxy::all(proxy).map_err(|_| format!("proxy {proxy:?} is no address"))?);
    }
    builder.build().map_err(|error| format!("no client can be made: {error}"))
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
