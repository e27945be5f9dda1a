//! What can be said of every model: it answers or says why not, whatever it is asked.

use domain::session::{Message, Speaker};
use ports::model::{Model, Request};

use crate::model::{message, request, result};

/// The rules of one model.
pub async fn holds(model: &dyn Model) {
    for messages in conversations() {
        check(model, request("contract-agent", messages)).await;
    }
    a_question_that_nobody_waits_for_harms_no_other(model).await;
}

fn conversations() -> Vec<Vec<Message>> {
    let user = |text: &str| message(Speaker::User, text);
    vec![
        Vec::new(),
        vec![user("")],
        vec![user("hello")],
        vec![user(&"long ".repeat(50_000))],
        vec![user("\0\u{1b}[2J\u{202e}\u{feff}")],
        vec![user("go"), message(Speaker::Assistant, "on it"), result("no-such-call", "done")],
        vec![message(Speaker::System, "only instructions")],
    ]
}

async fn check(model: &dyn Model, request: Request) {
    match model.ask(request).await {
        Ok(reply) => {
            for call in reply.calls {
                assert!(!call.name.is_empty(), "a call names its tool");
            }
        }
        Err(error) => assert!(!error.message.trim().is_empty(), "an error says what is wrong"),
    }
}

async fn a_question_that_nobody_waits_for_harms_no_other(model: &dyn Model) {
    let question = || request("contract-agent", vec![message(Speaker::User, "hello")]);
    drop(model.ask(question()));
    check(model, question()).await;
}
