//! Reading what a model wrote as arguments. Nothing here fails: what does not fit becomes words that tell the
//! model all that is wrong at once.

use std::sync::LazyLock;

use domain::id::CallId;
use domain::tool::foreign::Offer;
use domain::tool::{self, Act, Call, Want};
use jsonschema::Validator;
use ports::model::{RawCall, Tool};
use serde_json::{Map, Value};

/// Longer arguments are not read.
const ARGUMENT_BYTES_MAX: usize = 1 << 20;
/// Longer ids are replaced: they stand in file names and in every later request.
const CALL_ID_BYTES_MAX: usize = 128;
/// So much is kept of what was not read: it goes into the journal and the session.
const KEPT_BYTES_MAX: usize = 1024;
/// Longer names of tools are cut, since no tool has one.
const NAME_BYTES_MAX: usize = 256;
/// So many errors are told; a model that made more has misunderstood the tool.
const ERRORS_MAX: usize = 10;
/// So much of one error is told: some repeat the whole value.
const ERROR_CHARS_MAX: usize = 200;

/// A tool, ready for use.
struct Ready {
    tool: Tool,
    /// Of the whole schema, with all bounds.
    validator: Validator,
}

static READY: LazyLock<Vec<Ready>> = LazyLock::new(|| {
    let described = tool::ALL.iter().filter_map(|facts| Some((facts, tool::schema(facts.name)?)));
    described
        .map(|(facts, schema)| {
            let validator = jsonschema::validator_for(&schema).expect("a derived schema is a JSON Schema");
            let (name, description) = (facts.name.to_owned(), facts.description.to_owned());
            let schema = tool::shown_schema(facts.name, |_| ()).unwrap_or_default();
            Ready { tool: Tool { name, description, schema }, validator }
        })
        .collect()
});

fn ready(name: &str) -> Option<&'static Ready> {
    READY.iter().find(|ready| ready.tool.name == name)
}

/// The tools with these names, in this order; unknown names are left out.
pub(super) fn describe(names: &[&str]) -> Vec<Tool> {
    names.iter().filter_map(|name| ready(name)).map(|ready| ready.tool.clone()).collect()
}

/// Reads one call.
pub(super) fn read(raw: RawCall, number: usize) -> Call {
    let read = act(&raw.name, &raw.arguments);
    call(raw, number, read)
}

/// Reads one call of a tool of a foreign server.
pub(super) fn read_foreign(raw: RawCall, number: usize, found: &Offer) -> Call {
    let read = foreign(found, &raw.arguments);
    call(raw, number, read)
}

fn call(raw: RawCall, number: usize, read: Result<Act, String>) -> Call {
    let id = if is_usable(&raw.id) { raw.id } else { format!("call-{number}") };
    let want = match read {
        Ok(act) => Want::Act(act),
        Err(error) => Want::Invalid { tool: cut(raw.name, NAME_BYTES_MAX), error },
    };
    let arguments = if raw.arguments.len() > ARGUMENT_BYTES_MAX {
        cut(raw.arguments, KEPT_BYTES_MAX)
    } else {
        raw.arguments
    };
    Call { id: CallId::new(id), arguments, want, seen: None }
}

fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}

fn is_usable(id: &str) -> bool {
    !id.is_empty() && id.len() <= CALL_ID_BYTES_MAX && id.chars().all(|c| c.is_ascii_graphic())
}

fn act(name: &str, arguments: &str) -> Result<Act, String> {
    let Some(ready) = ready(name) else { return Err(unknown(name)) };
    let value = Value::Object(object(arguments)?);
    fits(name, (&ready.validator, &ready.tool.schema), &value)?;
    let act = tool::parse(name, value).ok_or_else(|| unknown(name))?;
    act.map_err(|e| format!("the arguments of {name} do not fit: {}", short(&e.to_string())))
}

fn foreign(found: &Offer, arguments: &str) -> Result<Act, String> {
    let name = &found.name;
    let validator = jsonschema::validator_for(&found.schema);
    let validator = validator.map_err(|e| format!("{name} cannot be called: its schema is none: {e}"))?;
    let value = Value::Object(object(arguments)?);
    fits(name, (&validator, &found.schema.to_string()), &value)?;
    Ok(Act::Foreign(found.call(value)))
}

fn fits(name: &str, (validator, schema): (&Validator, &str), value: &Value) -> Result<(), String> {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .take(ERRORS_MAX)
        .map(|error| {
            let path = error.instance_path().to_string();
            let at = if path.is_empty() { "arguments" } else { path.as_str() };
            format!("- {at}: {}", short(&error.to_string()))
        })
        .collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the arguments of {name} do not fit:\n{}\nthey must fit this schema: {schema}",
            errors.join("\n")
        )),
    }
}

/// Reads a JSON object. Nothing at all is an empty object, and `null` is a value left out: models write both
/// for a tool that needs no arguments.
fn object(arguments: &str) -> Result<Map<String, Value>, String> {
    if arguments.len() > ARGUMENT_BYTES_MAX {
        return Err(format!(
            "the arguments have {} bytes, at most {ARGUMENT_BYTES_MAX} are read",
            arguments.len()
        ));
    }
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(mut map)) => {
            map.retain(|_, value| !value.is_null());
            Ok(map)
        }
        Ok(Value::Array(_)) => Err("the arguments are a JSON array, give one JSON object".to_owned()),
        Ok(_) => Err("the arguments are a single JSON value, give one JSON object".to_owned()),
        Err(e) if e.is_eof() => Err(
            "the arguments are not whole: they end in the middle. An answer that grows too long is cut off; \
             give one whole JSON object, or do it in smaller steps"
                .to_owned(),
        ),
        Err(e) => Err(format!("the arguments are not JSON: {}; give one JSON object", short(&e.to_string()))),
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = tool::ALL.iter().map(|facts| facts.name).collect();
    let shown = short(&format!("{name:?}"));
    match formats::did_you_mean(name, names.iter().copied()) {
        Some(close) => format!("there is no tool {shown}, did you mean {close}?"),
        None => format!("there is no tool {shown}; the tools are: {}", names.join(", ")),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(ERROR_CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, arguments: &str) -> String {
        let raw = RawCall { id: String::new(), name: name.to_owned(), arguments: arguments.to_owned() };
        match read(raw, 1).want {
            Want::Invalid { error, .. } => error,
            Want::Act(act) => panic!("{act:?}"),
        }
    }

    #[test]
    fn all_errors_are_told_at_once_with_their_place() {
        let text =
            error("create_task", r#"{"assignee":"Bob!","depends_on":["a",7],"priority":"Z","urgent":true}"#);
        for part in ["/assignee", "/depends_on/1", "/priority", "urgent", "\"title\" is a required property"]
        {
            assert!(text.contains(part), "{text} has {part}");
        }
    }

    #[test]
    fn an_error_does_not_repeat_a_huge_value() {
        let text = error("read_file", &format!(r#"{{"path":["{}"]}}"#, "x".repeat(100_000)));
        assert!(text.len() < 1_000, "{} bytes", text.len());
        let text = error(&"tool".repeat(10_000), "{}");
        assert!(text.len() < 1_000, "{} bytes", text.len());
    }

    #[test]
    fn huge_arguments_are_not_read() {
        let huge = format!(r#"{{"path":"{}"}}"#, "x".repeat(ARGUMENT_BYTES_MAX));
        assert!(error("read_file", &huge).contains("at most 1048576"));
        let raw = RawCall { id: String::new(), name: "ä".repeat(1_000), arguments: huge };
        let call = read(raw, 1);
        assert!(call.arguments.len() < 1_100 && call.want.tool().len() < 300, "nor kept");
    }

    #[test]
    fn no_text_makes_it_panic() {
        let mut rng = testkit::rng::Rng::new(1);
        let pieces = [
            "{", "}", "[", "]", "\"", ":", ",", "path", "content", "null", "1e999", "-", "\\u", "d800", " ",
            "\u{0}", "ä",
        ];
        for _ in 0..3_000 {
            let length = rng.below(12);
            let arguments: String = (0..length).filter_map(|_| rng.pick(&pieces).copied()).collect();
            let name = tool::ALL[usize::try_from(rng.below(tool::ALL.len() as u64)).unwrap()].name;
            read(RawCall { id: String::new(), name: name.to_owned(), arguments }, 1);
        }
    }

    #[test]
    fn a_close_name_is_suggested() {
        assert_eq!(error("read_files", "{}"), "there is no tool \"read_files\", did you mean read_file?");
        assert!(error("teleport", "{}").contains("the tools are: read_file, "));
    }

    #[test]
    fn what_models_write_for_nothing_is_nothing() {
        for arguments in ["", "  ", "{}", r#"{"limit":null}"#] {
            let raw =
                RawCall { id: String::new(), name: "slack_read".to_owned(), arguments: arguments.to_owned() };
            assert_eq!(
                read(raw, 1).want,
                Want::Act(Act::SlackRead(tool::SlackRead { limit: None })),
                "{arguments:?}"
            );
        }
        assert!(error("read_file", r#"{"path":null}"#).contains("\"path\" is a required property"));
    }

    #[test]
    fn an_id_that_cannot_stand_in_a_file_is_replaced() {
        for (given, expected) in
            [("toolu_01A", "toolu_01A"), ("", "call-3"), ("a b", "call-3"), ("a\nb", "call-3")]
        {
            let raw =
                RawCall { id: given.to_owned(), name: "slack_read".to_owned(), arguments: String::new() };
            assert_eq!(read(raw, 3).id.as_str(), expected);
        }
    }

    /// Tokens of the definitions of tools, as they are counted before a request is sent.
    fn tokens_of(names: &[&str]) -> u64 {
        crate::tokens::of_tools(&describe(names))
    }

    #[test]
    fn the_definitions_of_a_role_are_short() {
        let coder = [
            "read_file",
            "list_directory",
            "grep",
            "write_file",
            "edit_file",
            "delete_file",
            "move_file",
            "git_commit",
            "git_diff",
            "run_tests",
            "lint",
            "request_review",
            "finish_task",
            "ask_agent",
        ];
        let coordinator = [
            "read_file",
            "list_directory",
            "finish_task",
            "create_task",
            "get_task",
            "list_agents",
            "ask_agent",
            "send_message",
        ];
        for (role, names, most) in [("coder", &coder[..], 1_500), ("coordinator", &coordinator[..], 1_000)] {
            let each: Vec<(&str, u64)> = names.iter().map(|name| (*name, tokens_of(&[name]))).collect();
            assert!(tokens_of(names) <= most, "{role}: {} {each:?}", tokens_of(names));
        }
    }
}
