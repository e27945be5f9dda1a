//! From an alias to the model that answers.

use std::sync::Arc;

use adapters::model::Models;
use domain::session::Speaker;
use domain::settings::{ModelRef, Provider, Settings};
use ports::model::{ErrorKind, Model, Request};
use testkit::contract;
use testkit::model::{Puppet, message, request, says};

fn settings() -> Settings {
    let scripted = |file: &str| Provider::Scripted { script: file.to_owned() };
    let to = |provider: &str| ModelRef {
        provider: provider.to_owned(),
        model: "big".to_owned(),
        context_tokens: None,
        max_tokens: None,
    };
    Settings {
        providers: [("demo", "script.yaml"), ("torn", "torn.yaml"), ("gone", "gone.yaml")]
            .map(|(name, file)| (name.to_owned(), scripted(file)))
            .into(),
        models: [
            ("sonnet", "demo"),
            ("broken", "torn"),
            ("absent", "gone"),
            ("lost", "dema"),
            ("puppet", "puppet"),
        ]
        .map(|(alias, provider)| (alias.to_owned(), to(provider)))
        .into(),
        ..Settings::default()
    }
}

fn models() -> (tempfile::TempDir, Models) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("script.yaml"), "rules:\n- {matches: hello, answer: hi}\n").unwrap();
    std::fs::write(home.path().join("torn.yaml"), "rules:\n- {answr: hi}\n").unwrap();
    let models = Models::new(home.path(), &settings());
    (home, models)
}

fn ask(model: &str) -> Request {
    Request { model: model.to_owned(), ..request("coder-001", vec![message(Speaker::User, "hello")]) }
}

#[tokio::test]
async fn the_models_keep_the_contract() {
    contract::model::holds(&models().1).await;
}

#[tokio::test]
async fn an_alias_leads_to_its_provider_with_the_name_it_has_there() {
    let (_home, models) = models();
    assert_eq!(models.ask(ask("sonnet")).await.unwrap().text, "hi");
    assert_eq!(models.unmatched(), []);
    let puppet = Arc::new(Puppet::answering(|request| Ok(says(&request.model))));
    let models = models.with("puppet", puppet);
    assert_eq!(models.ask(ask("puppet")).await.unwrap().text, "big");
}

#[tokio::test]
async fn a_model_that_cannot_be_had_is_named_with_what_was_meant() {
    let (_home, models) = models();
    let (unknown, broken) = (ErrorKind::Down, ErrorKind::Denied);
    for (alias, kind, part) in [
        ("sonet", unknown, "synod.yaml has no model \"sonet\", did you mean sonnet? (asked by coder-001)"),
        ("xyzzyx", unknown, "it has absent, broken, lost, puppet, sonnet"),
        ("lost", unknown, "has no provider \"dema\", which model \"lost\" names, did you mean demo?"),
        ("broken", broken, "provider torn: torn.yaml:2:"),
        ("absent", broken, "provider gone: gone.yaml: No such file"),
    ] {
        let error = models.ask(ask(alias)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{alias}");
        assert!(error.message.contains(part), "{} has {part}", error.message);
    }
    assert_eq!(models.problems().len(), 4, "{:?}", models.problems());
    let none = Models::new(std::path::Path::new("."), &Settings::default());
    assert_eq!(
        none.ask(ask("sonnet")).await.unwrap_err().message,
        "synod.yaml has no model \"sonnet\"; it has none (asked by coder-001)"
    );
}
