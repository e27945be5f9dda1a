//! Answers that must fit a schema. A provider may help, but only the check here counts; a model that answers
//! otherwise is told what is wrong and asked again, a few times.

use domain::id::{MessageId, Time};
use domain::session::{Message, Speaker};
use domain::usage::Usage;
use jsonschema::Validator;
use ports::model::{Model, ModelError, Reply, Request, Schema};
use serde_json::Value;

use super::fault::{down, give_up, line};
use super::lenient;

/// How often one answer is asked for.
const ROUNDS_MAX: usize = 3;
/// So many errors are told at once.
const ERRORS_MAX: usize = 10;

/// Asks until the answer fits. Its text is then JSON and nothing else; its usage is that of all rounds.
pub(super) async fn ask(
    model: &dyn Model,
    mut request: Request,
    schema: &Schema,
) -> Result<Reply, ModelError> {
    let validator = validator(schema)?;
    let told = format!(
        "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n{}",
        schema.schema
    );
    request.system = if request.system.is_empty() { told } else { format!("{}\n\n{told}", request.system) };
    let mut usage = Usage::default();
    let mut wrong = String::new();
    for _ in 0..ROUNDS_MAX {
        let reply = model.ask(request.clone()).await.map_err(|error| error.after(usage))?;
        usage = usage.plus(reply.usage);
        // A model may look something up first; what it says then is what must fit.
        if !reply.calls.is_empty() {
            return Ok(Reply { usage, ..reply });
        }
        match check(&validator, &reply.text) {
            Ok(value) => return Ok(Reply { text: value.to_string(), calls: Vec::new(), usage }),
            Err(errors) => {
                let again = format!("That does not fit:\n{errors}\nAnswer again, with the JSON value only.");
                request.messages.push(said(Speaker::Assistant, reply.text));
                request.messages.push(said(Speaker::User, again));
                wrong = errors;
            }
        }
    }
    Err(down(format!(
        "the model does not answer as {} asks, {ROUNDS_MAX} times: {}",
        schema.name,
        line(&wrong)
    ))
    .after(usage))
}

fn validator(schema: &Schema) -> Result<Validator, ModelError> {
    let bad = |error: String| give_up(format!("the schema {} cannot be used: {}", schema.name, line(&error)));
    let value: Value = serde_json::from_str(&schema.schema).map_err(|e| bad(e.to_string()))?;
    jsonschema::validator_for(&value).map_err(|e| bad(e.to_string()))
}

fn check(validator: &Validator, text: &str) -> Result<Value, String> {
    let value = lenient::value(text).ok_or_else(|| "- it is not JSON".to_owned())?;
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .take(ERRORS_MAX)
        .map(|error| {
            let path = error.instance_path().to_string();
            let at = if path.is_empty() { "the answer" } else { path.as_str() };
            format!("- {at}: {}", line(&error.to_string()))
        })
        .collect();
    if errors.is_empty() { Ok(value) } else { Err(errors.join("\n")) }
}

fn said(speaker: Speaker, content: String) -> Message {
    Message {
        label: Default::default(),
        id: MessageId::new(""),
        at: Time(0),
        speaker,
        from: None,
        content,
        calls: Vec::new(),
        call: None,
        summary_through: None,
        read_through: None,
        is_error: false,
        envelope: None,
    }
}

#[cfg(test)]
mod tests {
    use ports::model::ErrorKind;
    use testkit::model::{Puppet, message, request, says, wants};

    use super::*;

    fn schema() -> Schema {
        let schema = r#"{"type":"object","properties":{"vote":{"enum":["yes","no"]}},"required":["vote"]}"#;
        Schema { name: "vote".to_owned(), schema: schema.to_owned() }
    }

    async fn given(replies: &[&str]) -> (Result<Reply, ModelError>, Puppet) {
        let puppet = Puppet::replies(replies.iter().map(|text| Ok(says(text))));
        let question = request("voter", vec![message(Speaker::User, "vote")]);
        (ask(&puppet, question, &schema()).await, puppet)
    }

    #[tokio::test]
    async fn an_answer_that_fits_is_json_whatever_stands_around_it() {
        for text in ["{\"vote\":\"yes\"}", "```json\n{\"vote\": \"yes\"}\n```", "I say {\"vote\":\"yes\"}."] {
            let (reply, puppet) = given(&[text]).await;
            assert_eq!(reply.unwrap().text, "{\"vote\":\"yes\"}", "{text}");
            assert!(puppet.asked()[0].system.contains("\"enum\":[\"yes\",\"no\"]"));
        }
    }

    #[tokio::test]
    async fn an_answer_that_does_not_fit_is_asked_for_again_with_the_errors() {
        let (reply, puppet) = given(&["maybe", "{\"vote\":\"perhaps\"}", "{\"vote\":\"no\"}"]).await;
        let reply = reply.unwrap();
        assert_eq!(reply.text, "{\"vote\":\"no\"}");
        assert_eq!(reply.usage, Usage::of(30, 15), "every round is paid for");
        let asked = puppet.asked();
        let last = |n: usize| asked[n].messages.last().unwrap().content.clone();
        assert!(last(1).contains("it is not JSON"));
        assert!(last(2).contains("- /vote: \"perhaps\" is not one of"), "{}", last(2));
    }

    #[tokio::test]
    async fn it_is_not_asked_for_ever() {
        let (reply, puppet) = given(&["a", "b", "c", "{\"vote\":\"no\"}"]).await;
        let error = reply.unwrap_err();
        assert_eq!((error.kind, error.usage), (ErrorKind::Down, Usage::of(30, 15)));
        assert_eq!(error.message, "the model does not answer as vote asks, 3 times: - it is not JSON");
        assert_eq!(puppet.asked().len(), 3);
    }

    #[tokio::test]
    async fn a_schema_that_is_none_is_an_error_and_calls_pass() {
        let puppet = Puppet::replies([Ok(wants("read_file", "{}"))]);
        let question = || request("voter", Vec::new());
        assert_eq!(ask(&puppet, question(), &schema()).await.unwrap().calls.len(), 1);
        let bad = Schema { schema: "{\"type\": 5}".to_owned(), ..schema() };
        assert_eq!(ask(&puppet, question(), &bad).await.unwrap_err().kind, ErrorKind::GiveUp);
    }
}
