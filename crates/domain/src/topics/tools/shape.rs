//! The schema of a tool's arguments as models are shown it: short, and with the fields in the order of their declaration,
//! because a model writes them in the order in which it reads them, and the deciding ones come first.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// What a schema says beside what a model needs to know; a call that breaks it is refused with the reason.
const LEFT_OUT: [&str; 7] =
    ["minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems"];

/// The schema of the arguments `T` as text.
pub(super) fn shown<T: DeserializeOwned>(mut schema: Value, unshown: &[&str]) -> String {
    leave_out(&mut schema);
    let names: Vec<&str> = fields::<T>().iter().copied().filter(|name| !unshown.contains(name)).collect();
    let properties = names.iter().filter_map(|name| Some((name, schema.get("properties")?.get(name)?)));
    let properties: Vec<String> = properties.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    let is_required = |name: &&&str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|all| all.iter().any(|one| one == **name))
    };
    let required: Vec<String> = names.iter().filter(is_required).map(|name| format!("\"{name}\"")).collect();
    let mut text = format!("{{\"type\":\"object\",\"properties\":{{{}}}", properties.join(","));
    if !required.is_empty() {
        text.push_str(&format!(",\"required\":[{}]", required.join(",")));
    }
    // Providers enforce only schemas that require every field; elsewhere the word costs tokens and does nothing.
    if required.len() == names.len() {
        text.push_str(",\"additionalProperties\":false");
    }
    text.push('}');
    text
}

fn leave_out(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            LEFT_OUT.iter().for_each(|key| drop(map.remove(*key)));
            // A field may have the name of a bound.
            let (fields, rest): (Vec<_>, Vec<_>) = map.iter_mut().partition(|(key, _)| *key == "properties");
            let fields = fields.into_iter().filter_map(|(_, value)| value.as_object_mut());
            fields.flat_map(|fields| fields.values_mut()).for_each(leave_out);
            rest.into_iter().for_each(|(_, value)| leave_out(value));
        }
        Value::Array(all) => all.iter_mut().for_each(leave_out),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The names of a type's fields, as serde knows them.
fn fields<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // It reads nothing, so that it always ends with an error.
    _ = T::deserialize(Names(&mut names));
    names
}

struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("there is nothing to read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
