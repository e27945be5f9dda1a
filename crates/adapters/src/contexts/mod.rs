//! Shared contexts for agents: what a grant shows, and what it lets be written. Everything that is not granted is
//! refused, with the rule that refuses it and what can be done about it.

mod numbers;
mod store;

use domain::context::{
    self, Access, Acl, Asker, Denied, Grant, Granted, Grantee, Hidden, acl_path, at, is_name, places,
};
use domain::id::{Ticket, Time};
use domain::tool::{Part, Seen};
use formats::document::{Document, Scalar, Value as Edited};
use serde_json::Value;

use crate::digest::digest;
use crate::redact::redact;
pub use store::{BYTES_MAX, CONTEXTS_MAX, Grants, Store, Text, Turn, Unreadable};

/// So often a put is tried while people save the same file.
const TRIES_MAX: usize = 5;
/// How the mark begins that stands for a credential.
const CREDENTIAL: &str = "[redacted: ";

/// What an agent does not get, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) text: String,
    /// The place whose content shows in the text, if any.
    pub(crate) place: Option<String>,
}

impl From<String> for Refused {
    fn from(text: String) -> Self {
        Self { text, place: None }
    }
}

/// What was done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Put {
    pub(crate) text: String,
    pub(crate) wrote: Vec<String>,
}

/// What a put changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    Whole(String),
    Field(String, Value),
}

impl Change {
    /// What the arguments ask for.
    pub(crate) fn of(
        content: Option<String>,
        field: Option<String>,
        value: Option<Value>,
    ) -> Result<Self, String> {
        match (content, field, value) {
            (Some(content), None, None) => Ok(Self::Whole(content)),
            (None, Some(field), Some(value)) => Ok(Self::Field(field, value)),
            _ => Err("give either content, or field and value".to_owned()),
        }
    }
}

/// Who asks, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) asker: Asker<'a>,
    pub(crate) now: Time,
}

impl At<'_> {
    fn denied(&self, name: &str, denied: &Denied) -> String {
        let (rule, advice) = (denied.rule(self.asker.agent, name), denied.advice(self.asker.agent, name));
        let when = match denied {
            Denied::Ended(end) => format!(" (at {})", formats::time::print(*end)),
            Denied::Closed | Denied::NoGrant | Denied::ReadOnly | Denied::Above(_) => String::new(),
        };
        format!("refused: {rule}{when}; {advice}")
    }

    fn may(&self, name: &str, acl: Option<&Acl>, wanted: Access) -> Result<Granted, String> {
        let judged = acl.unwrap_or(&Acl::default()).judge(self.asker, name, wanted, self.now);
        judged.map_err(|denied| self.denied(name, &denied))
    }
}

/// Grants that do not read grant nothing.
fn grants(store: &Store, name: &str) -> Result<Option<Grants>, String> {
    if !is_name(name) {
        return Err(format!("refused: {name:?} is no name of a context: use letters, digits, - and _ only"));
    }
    store.grants(name).map_err(|error| {
        format!("refused: {error}; grants that do not read grant nothing, and a person has to mend them")
    })
}

/// What an agent sees of a context, or of a field of it, and the place it stands in.
pub(crate) fn get(
    store: &Store,
    at: At<'_>,
    name: &str,
    field: Option<&str>,
) -> Result<(String, String), Refused> {
    let grants = grants(store, name)?;
    let granted = at.may(name, grants.as_ref().map(|g| &g.acl), Access::Read)?;
    let content = store.content(name).map_err(|error| format!("refused: {error}"))?;
    let Some(content) = content else {
        return Err(format!("the context {name} says nothing yet").into());
    };
    let refused = |text: String| Refused { text, place: Some(content.path.clone()) };
    let text = match field {
        None => view(&granted, &content),
        Some(field) => view_field(&granted, &content, field),
    };
    Ok((text.map_err(refused)?, content.path.clone()))
}

/// All that a grant shows of a context.
pub fn view(granted: &Granted, content: &Text) -> Result<String, String> {
    if granted.redact.is_empty() {
        return Ok(content.text.clone());
    }
    let value = Hidden::of(granted.redact.iter().map(String::as_str)).shown(&json(content)?);
    Ok(numbers::print(&value))
}

fn view_field(granted: &Granted, content: &Text, field: &str) -> Result<String, String> {
    let value = Hidden::of(granted.redact.iter().map(String::as_str)).shown(&json(content)?);
    let found =
        at(&value, field).ok_or_else(|| format!("{} has no field {field} that you see", content.path))?;
    Ok(numbers::print(found))
}

/// The fields of a context. What has none cannot be shown in part.
fn json(content: &Text) -> Result<Value, String> {
    let path = &content.path;
    if !content.is_json() {
        return Err(format!(
            "{path} is text and has no fields: none can be hidden, read or written by itself"
        ));
    }
    numbers::read(&content.text).map_err(|e| {
        format!(
            "{path}:{}:{} is not JSON; a person has to mend it before parts are shown",
            e.line(),
            e.column()
        )
    })
}

/// Writes a context as far as the grant goes; makes it, with a grant for the agent alone, if there is none.
pub(crate) fn put(
    store: &Store,
    at: At<'_>,
    name: &str,
    change: &Change,
    seen: Option<&Seen>,
    ticket: Ticket,
) -> Result<Put, Refused> {
    let mark = format!("{}-{}", ticket.effect, ticket.attempt);
    let is_again = ticket.attempt > 1;
    let turn = store.turn().map_err(|error| error.to_string())?;
    for _ in 0..TRIES_MAX {
        let grants = grants(store, name)?;
        let old = store.content(name).map_err(|error| format!("refused: {error}"))?;
        let is_new = grants.is_none() && old.is_none();
        let granted = match is_new {
            true => at.may(name, Some(&own(&at)), Access::ReadWrite)?,
            false => at.may(name, grants.as_ref().map(|g| &g.acl), Access::ReadWrite)?,
        };
        let place = old.as_ref().map(|old| old.path.clone());
        let new = next(name, old.as_ref(), &granted, change)
            .map_err(|text| Refused { text, place: place.clone() })?;
        if new.text.len() as u64 > BYTES_MAX {
            let size = new.text.len();
            return Err(format!("the context would have {size} bytes, at most {BYTES_MAX} are kept").into());
        }
        // The try before may have been killed when it had written: nobody was told.
        let mut wrote: Vec<String> = grants
            .filter(|grants| is_again && grants.file.text == formats::acl::print(&own(&at)))
            .map(|grants| grants.file.path)
            .into_iter()
            .collect();
        if old.as_ref() == Some(&new) {
            wrote.extend(is_again.then(|| new.path.clone()));
            return Ok(done(name, &new, "is so already", wrote));
        }
        is_as_seen(name, old.as_ref(), seen)?;
        if is_new {
            if store.names().len() >= CONTEXTS_MAX {
                return Err(format!("there are {CONTEXTS_MAX} contexts already; put into one of them").into());
            }
            // First: content without grants is a person's, and a try that a crash cut short could not go on.
            let path = acl_path(name);
            match store.write(&turn, &path, None, &formats::acl::print(&own(&at)), &mark) {
                Ok(true) => wrote.push(path),
                Ok(false) => continue,
                Err(error) => return Err(error.to_string().into()),
            }
        }
        let how = if old.is_some() { "is written" } else { "is made" };
        match store.write(&turn, &new.path, old.as_ref().map(|old| old.text.as_str()), &new.text, &mark) {
            Ok(true) => {
                wrote.push(new.path.clone());
                return Ok(done(name, &new, how, wrote));
            }
            Ok(false) => {}
            Err(error) => return Err(error.to_string().into()),
        }
    }
    Err(format!("others write the context {name} all the time; try again").into())
}

fn done(name: &str, new: &Text, how: &str, wrote: Vec<String>) -> Put {
    let alone = if wrote.iter().any(|path| context::is_acl(path)) {
        format!(
            "; only you see it, until a person grants it to others (`synod context grant {name} <agent>`)"
        )
    } else {
        String::new()
    };
    Put { text: format!("{} {how}: {} bytes{alone}", new.path, new.text.len()), wrote }
}

/// The grants of a context that an agent makes. One that may see no context gets none.
fn own(at: &At<'_>) -> Acl {
    let to = Grantee::Agent(at.asker.agent.clone());
    let grant = Grant { to, access: Access::ReadWrite, redact: Vec::new(), expires: None };
    Acl { owner: Some(at.asker.agent.clone()), grants: vec![grant] }
}

/// What the context becomes.
fn next(name: &str, old: Option<&Text>, granted: &Granted, change: &Change) -> Result<Text, String> {
    let hidden = Hidden::of(granted.redact.iter().map(String::as_str));
    let new = match change {
        Change::Whole(content) => whole(name, old, &hidden, content)?,
        Change::Field(field, value) => one_field(name, old, &hidden, field, value)?,
    };
    // What looks like a credential is shown as a mark; a mark that is written back would be all that is left of it.
    let marks = |text: &str| text.matches(CREDENTIAL).count();
    if old.is_some_and(|old| redact(&old.text) != old.text && marks(&new.text) > marks(&old.text)) {
        let text =
            "it has credentials that are not shown to you and would be lost: write other fields one by one";
        return Err(text.to_owned());
    }
    Ok(new)
}

fn whole(name: &str, old: Option<&Text>, hidden: &Hidden, content: &str) -> Result<Text, String> {
    let written = numbers::read(content);
    let [as_json, as_text] = places(name);
    let path = match old {
        Some(old) => old.path.clone(),
        None if hidden.is_empty() && !written.as_ref().is_ok_and(|v| v.is_object() || v.is_array()) => {
            as_text
        }
        None => as_json,
    };
    if !path.ends_with(".json") {
        if !hidden.is_empty() {
            return Err(format!("{path} is text, and of a text no field can be hidden from you"));
        }
        return Ok(Text { path, text: content.to_owned() });
    }
    let written = written.map_err(|e| {
        format!("{path} is JSON and the content is not ({e}); give one JSON value, or another context's name")
    })?;
    let before = match old.map(json) {
        Some(Err(_)) if hidden.is_empty() => None,
        Some(before) => Some(before?),
        None => None,
    };
    let mut merged = hidden.merged(before.as_ref(), written.clone()).map_err(|e| e.to_string())?;
    if let (Some(old), Some(before)) = (old, &before)
        && let Ok(seen) = numbers::read(&redact(&old.text))
    {
        keep_credentials(before, &seen, &mut merged);
    }
    let text = if merged == written { content.to_owned() } else { printed(&merged) };
    Ok(Text { path, text })
}

/// Puts credentials back where the mark stands that was shown instead of them.
fn keep_credentials(before: &Value, seen: &Value, new: &mut Value) {
    if *new == *seen {
        *new = before.clone();
        return;
    }
    match (before, seen, new) {
        (Value::Object(before), Value::Object(seen), Value::Object(new)) => {
            for (key, new) in new {
                if let (Some(before), Some(seen)) = (before.get(key), seen.get(key)) {
                    keep_credentials(before, seen, new);
                }
            }
        }
        (Value::Array(before), Value::Array(seen), Value::Array(new)) => {
            before
                .iter()
                .zip(seen)
                .zip(new)
                .for_each(|((before, seen), new)| keep_credentials(before, seen, new));
        }
        _ => {}
    }
}

fn one_field(
    name: &str,
    old: Option<&Text>,
    hidden: &Hidden,
    field: &str,
    value: &Value,
) -> Result<Text, String> {
    let before = old.map(json).transpose()?;
    let written = numbers::carried(value.clone());
    let merged = hidden.set(before.as_ref(), field, written).map_err(|e| e.to_string())?;
    let [path, _] = places(name);
    let text = old.and_then(|old| edited(old, field, value, &merged)).unwrap_or_else(|| printed(&merged));
    Ok(Text { path, text })
}

/// The text with only the bytes of one field changed; `None` if that would not say what is wanted.
fn edited(old: &Text, field: &str, value: &Value, wanted: &Value) -> Option<String> {
    let scalar = |value: &Value| match value {
        Value::Null => Some(Scalar::Nothing),
        Value::Bool(value) => Some(Scalar::Bool(*value)),
        Value::Number(number) => {
            number.as_i64().map(Scalar::Int).or_else(|| number.as_f64().map(Scalar::Number))
        }
        Value::String(text) => Some(Scalar::Text(text.clone())),
        Value::Array(_) | Value::Object(_) => None,
    };
    let value = match value {
        Value::Array(items) => Edited::List(items.iter().map(scalar).collect::<Option<_>>()?),
        value => Edited::Scalar(scalar(value)?),
    };
    let mut document = Document::parse(&old.path, &old.text).0?;
    document.set(&field.split('.').collect::<Vec<_>>(), value).ok()?;
    let says = numbers::read(document.text()).ok()?;
    (says == *wanted).then(|| document.text().to_owned())
}

fn printed(value: &Value) -> String {
    numbers::print(value) + "\n"
}

/// What is seen of a context that is to be replaced whole.
pub(crate) fn look(store: &Store, name: &str) -> Option<Seen> {
    if !is_name(name) {
        return None;
    }
    let content = store.content(name).ok()?;
    Some(Seen { parts: vec![part(name, content.as_ref())], sandbox: true, ..Seen::default() })
}

fn part(name: &str, content: Option<&Text>) -> Part {
    let digest = content.map_or_else(|| "absent".to_owned(), |content| digest(content.text.as_bytes()));
    Part { what: format!("context {name}"), digest }
}

/// Whoever wrote since the agent asked (or a person said yes) wrote for a reason.
fn is_as_seen(name: &str, old: Option<&Text>, seen: Option<&Seen>) -> Result<(), String> {
    match seen {
        Some(seen) if !seen.parts.contains(&part(name, old)) => Err(format!(
            "void: the context {name} changed since this was asked for; read it again and put what is still wanted"
        )),
        Some(_) | None => Ok(()),
    }
}
