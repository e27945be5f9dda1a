//! `synod schema`: JSON Schemas for editors.

use formats::did_you_mean;
use formats::schema::{KINDS, schema};
use serde_json::{Value, json};

use crate::failure::{Exit, fail};
use crate::out::Out;
use crate::text;

pub fn run(kind: Option<&str>, out: &Out) -> anyhow::Result<Exit> {
    let Some(kind) = kind else {
        list(out);
        return Ok(Exit::Ok);
    };
    let Some(printed) = schema(kind) else {
        let help = match did_you_mean(kind, KINDS) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("kinds: {}", KINDS.join(", ")),
        };
        return Err(fail(Exit::Usage, format!("there is no kind of file {}", text::line(kind)), help));
    };
    if out.json {
        let schema: Value = serde_json::from_str(&printed)?;
        out.value(json!({ "kind": kind, "schema": schema }));
    } else {
        out.line(printed.trim_end());
    }
    Ok(Exit::Ok)
}

fn list(out: &Out) {
    if out.json {
        out.value(json!({ "kinds": KINDS }));
        return;
    }
    for kind in KINDS {
        out.line(kind);
    }
    out.say("`synod schema KIND` prints one");
}
