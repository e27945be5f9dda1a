//! Fields of a context that somebody does not see: taken out of what is shown, and kept when whoever does not see
//! them writes. What cannot be kept for certain is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Stands where a field was.
pub const REDACTED: &str = "[redacted]";
/// The deepest field that is looked for.
const DEPTH_MAX: usize = 64;

/// Any field, and any item of a list.
const ANY: &str = "*";

/// Fields that are hidden, as a tree: `a.b` is the field `b` of `a`, in every item where a list comes in between; `a.0.b`
/// and `a[0].b` are that of its first item only, and `a.*.b` that of every field or item of `a`. A field whose own name has
/// dots in it is meant by that name as well.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hidden {
    is_here: bool,
    below: BTreeMap<String, Hidden>,
}

/// Why what somebody wrote cannot be joined with what they do not see. Names no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmergeable {
    /// It says something where a hidden field is.
    Hidden(String),
    /// It has something else where parts are hidden, which would be lost.
    Holds(String),
    /// It changes a list, and which item is which cannot be told.
    Items(String),
    /// It sets a field where nothing is seen that could have one.
    Absent {
        /// What would have to have it.
        above: String,
        /// The field.
        field: String,
    },
}

impl std::fmt::Display for Unmergeable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hidden(path) => {
                write!(f, "{path} is hidden from you: leave it out, or leave it as {REDACTED:?}")
            }
            Self::Holds(path) => {
                write!(f, "{path} holds fields that are hidden from you: keep it as it is built")
            }
            Self::Items(path) => write!(
                f,
                "{path} has items with fields that are hidden from you: add items, or change one at a time, and leave \
                 the others as they are; take none out"
            ),
            Self::Absent { above, field } => {
                write!(f, "{above} has no such field or item that you see, so {field} cannot be set")
            }
        }
    }
}

impl Hidden {
    /// These fields.
    pub fn of<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hidden = Self::default();
        for field in fields {
            hidden.add(field);
            // A field may be called so; what is meant by brackets is hidden as well.
            if field.contains('[') {
                hidden.add(&field.replace('[', ".").replace(']', ""));
            }
        }
        hidden
    }

    fn add(&mut self, field: &str) {
        let keys = field.split('.').take(DEPTH_MAX);
        keys.fold(self, |here, key| here.below.entry(key.to_owned()).or_default()).is_here = true;
    }

    /// Whether this field hides something of `value`.
    pub fn fits(field: &str, value: &Value) -> bool {
        Self::of([field]).is_in(value)
    }

    /// What is hidden of a field of this. One with dots in its name can be meant as one or as one below the other.
    fn field(&self, key: &str) -> Option<Self> {
        let one = self.named(key);
        let parts = || key.split('.').try_fold(self.clone(), |here, part| here.named(part));
        let other = if key.contains('.') { parts() } else { None };
        match (one, other) {
            (Some(one), Some(other)) => Some(one.with(&other)),
            (one, other) => one.or(other),
        }
    }

    /// What is hidden below this name.
    fn named(&self, name: &str) -> Option<Self> {
        match (self.below.get(name), self.below.get(ANY)) {
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (Some(one), Some(other)) => Some(one.clone().with(other)),
        }
    }

    /// What is hidden of an item of this: the fields that are hidden in every one, and those of this one.
    fn item(&self, index: usize) -> Self {
        let mut item = self.clone();
        item.below.remove(ANY);
        match self.field(&index.to_string()) {
            Some(own) => item.with(&own),
            None => item,
        }
    }

    /// Whether something is hidden of this item because of where it stands.
    fn is_placed(&self, index: usize, item: &Value) -> bool {
        self.below.get(&index.to_string()).is_some_and(|own| own.is_in(item))
    }

    fn with(mut self, other: &Self) -> Self {
        self.is_here |= other.is_here;
        for (key, theirs) in &other.below {
            let ours = self.below.remove(key).unwrap_or_default();
            self.below.insert(key.clone(), ours.with(theirs));
        }
        self
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        !self.is_here && self.below.is_empty()
    }

    /// The value as it is shown.
    pub fn shown(&self, value: &Value) -> Value {
        match value {
            _ if self.is_here => Value::from(REDACTED),
            Value::Array(items) => {
                items.iter().enumerate().map(|(index, item)| self.item(index).shown(item)).collect()
            }
            Value::Object(fields) => {
                let show = |(key, value): (&String, &Value)| {
                    let shown = self.field(key).map_or_else(|| value.clone(), |below| below.shown(value));
                    (key.clone(), shown)
                };
                Value::Object(fields.iter().map(show).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    /// What `written` becomes when it replaces `old`, written by somebody who does not see these fields: each keeps
    /// its value, and what they wrote counts for the rest.
    pub fn merged(&self, old: Option<&Value>, written: Value) -> Result<Value, Unmergeable> {
        self.merge(old, written, &mut Vec::new())
    }

    /// What `old` becomes when somebody who does not see these fields sets one field of it: `a.b` is the field `b` of `a`,
    /// `a.0` the first item of the list `a`, however many others look like it. Fields above it that are missing are made.
    pub fn set(&self, old: Option<&Value>, field: &str, new: Value) -> Result<Value, Unmergeable> {
        let keys: Vec<&str> = field.split('.').take(DEPTH_MAX).collect();
        self.set_at(old, &keys, new, &mut Vec::new()).map_err(|why| match why {
            Unmergeable::Absent { above, .. } => Unmergeable::Absent { above, field: field.to_owned() },
            why => why,
        })
    }

    fn set_at(
        &self,
        old: Option<&Value>,
        keys: &[&str],
        new: Value,
        path: &mut Vec<String>,
    ) -> Result<Value, Unmergeable> {
        let Some((key, rest)) = keys.split_first() else {
            return match old {
                Some(old) if self.is_here && new == REDACTED => Ok(old.clone()),
                _ if self.is_here => Err(Unmergeable::Hidden(shown(path))),
                _ => self.merge(old, new, path),
            };
        };
        let above = if path.is_empty() { "the context".to_owned() } else { path.join(".") };
        let absent = Unmergeable::Absent { above, field: String::new() };
        path.push((*key).to_owned());
        match old {
            _ if self.is_here => Err(absent),
            None | Some(Value::Null | Value::Object(_)) => {
                let mut fields = old.and_then(Value::as_object).cloned().unwrap_or_default();
                let below = self.field(key).unwrap_or_default();
                let set = below.set_at(fields.get(*key), rest, new, path)?;
                fields.insert((*key).to_owned(), set);
                Ok(Value::Object(fields))
            }
            Some(Value::Array(items)) => {
                let index = key.parse::<usize>().ok().filter(|index| *index < items.len()).ok_or(absent)?;
                let mut items = items.clone();
                items[index] = self.item(index).set_at(Some(&items[index]), rest, new, path)?;
                Ok(Value::Array(items))
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Err(absent),
        }
    }

    fn merge(
        &self,
        old: Option<&Value>,
        written: Value,
        path: &mut Vec<String>,
    ) -> Result<Value, Unmergeable> {
        match (old, written) {
            (old, Value::Object(fields)) if old.is_none_or(|old| old.is_object() || !self.is_in(old)) => {
                self.merge_fields(old.and_then(Value::as_object), fields, path).map(Value::Object)
            }
            (Some(Value::Array(old)), Value::Array(items)) => {
                self.merge_items(old, items, path).map(Value::Array)
            }
            (Some(old), _) if self.is_in(old) => Err(Unmergeable::Holds(shown(path))),
            (_, Value::Array(items)) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| self.item(index).merge(None, item, path))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            (_, written) => Ok(written),
        }
    }

    fn merge_fields(
        &self,
        old: Option<&Map<String, Value>>,
        mut fields: Map<String, Value>,
        path: &mut Vec<String>,
    ) -> Result<Map<String, Value>, Unmergeable> {
        let mut keys: BTreeSet<String> = self.below.keys().cloned().collect();
        let is_any = self.below.contains_key(ANY);
        let found = old.into_iter().flat_map(Map::keys).chain(fields.keys());
        keys.extend(found.filter(|key| is_any || key.contains('.')).cloned());
        for key in keys {
            let Some(below) = self.field(&key) else { continue };
            let before = old.and_then(|old| old.get(&key));
            path.push(key.clone());
            let kept = match (before, fields.remove(&key)) {
                (_, Some(written)) if below.is_here && written != REDACTED => {
                    return Err(Unmergeable::Hidden(shown(path)));
                }
                (before, _) if below.is_here => before.cloned(),
                (before, Some(written)) => Some(below.merge(before, written, path)?),
                (Some(before), None) if below.is_in(before) => {
                    let nothing =
                        if before.is_array() { Value::Array(vec![]) } else { Value::Object(Map::new()) };
                    Some(below.merge(Some(before), nothing, path)?)
                }
                (_, None) => None,
            };
            path.pop();
            fields.extend(kept.map(|kept| (key, kept)));
        }
        Ok(fields)
    }

    /// Items are told by what is seen of them. Of those with hidden fields one may have changed in its place; if more
    /// did, nobody could say whose hidden fields belong to which.
    fn merge_items(
        &self,
        old: &[Value],
        items: Vec<Value>,
        path: &mut Vec<String>,
    ) -> Result<Vec<Value>, Unmergeable> {
        let mut open: Vec<(usize, Value)> =
            old.iter().enumerate().map(|(index, item)| (index, self.item(index).shown(item))).collect();
        let is_as_long = old.len() == items.len();
        let mut merged: Vec<(Value, bool)> = Vec::with_capacity(items.len());
        for (place, item) in items.into_iter().enumerate() {
            match open.iter().position(|(_, seen)| *seen == item) {
                Some(found) => {
                    let index = open.remove(found).0;
                    // Elsewhere it would be seen.
                    if index != place && self.is_placed(index, &old[index]) {
                        return Err(Unmergeable::Items(shown(path)));
                    }
                    merged.push((old[index].clone(), true));
                }
                None => merged.push((item, false)),
            }
        }
        let mut lost =
            open.iter().map(|(index, _)| *index).filter(|index| self.item(*index).is_in(&old[*index]));
        match (lost.next(), lost.next()) {
            (None, _) => {}
            (Some(index), None) if is_as_long && !merged[index].1 => {
                let written = std::mem::take(&mut merged[index].0);
                merged[index] = (self.item(index).merge(Some(&old[index]), written, path)?, true);
            }
            _ => return Err(Unmergeable::Items(shown(path))),
        }
        let settle = |(place, (item, is_old)): (usize, (Value, bool))| match is_old {
            true => Ok(item),
            false => self.item(place).merge(None, item, path),
        };
        merged.into_iter().enumerate().map(settle).collect()
    }

    /// Whether something of `value` is hidden.
    fn is_in(&self, value: &Value) -> bool {
        match value {
            _ if self.is_here => true,
            Value::Array(items) => items.iter().enumerate().any(|(index, item)| self.item(index).is_in(item)),
            Value::Object(fields) => {
                fields.iter().any(|(key, field)| self.field(key).is_some_and(|below| below.is_in(field)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
}

fn shown(path: &[String]) -> String {
    if path.is_empty() { "it".to_owned() } else { path.join(".") }
}

/// The value at a field: `a.b` is the field `b` of `a`, `a.0` the first item of the list `a`.
pub fn at<'v>(value: &'v Value, field: &str) -> Option<&'v Value> {
    field.split('.').try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_hidden_however_deep_and_in_every_item() {
        let value = json!({
            "a": {"b": {"c": 1, "d": 2}}, "list": [{"x": {"y": "s"}}, [{"x": {"y": "t", "z": 3}}]], "c": 4
        });
        let hidden = Hidden::of(["a.b.c", "list.x.y", "none.at.all", "c.deeper"]);
        let expected = json!({
            "a": {"b": {"c": REDACTED, "d": 2}},
            "list": [{"x": {"y": REDACTED}}, [{"x": {"y": REDACTED, "z": 3}}]],
            "c": 4
        });
        assert_eq!(hidden.shown(&value), expected);
        assert_eq!(hidden.merged(Some(&value), expected), Ok(value));
    }

    #[test]
    fn an_item_is_meant_by_its_place_and_all_by_a_star() {
        let value = json!({"c": [{"n": 1, "mail": "a"}, {"n": 2, "mail": "b"}], "by": {"x": {"k": 1}, "y": {"k": 2}}});
        let (a, b) = (json!({"n": 1, "mail": REDACTED}), json!({"n": 2, "mail": REDACTED}));
        for (field, list) in [
            ("c.0.mail", json!([a, value["c"][1]])),
            ("c[0].mail", json!([a, value["c"][1]])),
            ("c.*.mail", json!([a, b])),
            ("c[*].mail", json!([a, b])),
            ("c.mail", json!([a, b])),
            ("c.1", json!([value["c"][0], REDACTED])),
        ] {
            let hidden = Hidden::of([field]);
            let shown = hidden.shown(&value);
            assert_eq!(shown["c"], list, "{field}");
            assert!(Hidden::fits(field, &value), "{field}");
            assert_eq!(hidden.merged(Some(&value), shown), Ok(value.clone()), "{field}");
        }
        for field in ["c.2.mail", "c.mial", "d", "c.*.n.x", "by.x.k.z"] {
            assert!(!Hidden::fits(field, &value), "{field}");
            assert_eq!(Hidden::of([field]).shown(&value), value, "{field}");
        }
        let hidden = Hidden::of(["by.*.k"]);
        let shown = hidden.shown(&value);
        assert_eq!(shown["by"], json!({"x": {"k": REDACTED}, "y": {"k": REDACTED}}));
        assert_eq!(hidden.merged(Some(&value), shown), Ok(value.clone()));
        let wish = json!({"c": value["c"], "by": {"x": {"k": 7}}});
        assert_eq!(hidden.merged(Some(&value), wish), Err(Unmergeable::Hidden("by.x.k".to_owned())));
        // Whoever moves an item would see it.
        let moved = json!({"c": [value["c"][1], a], "by": value["by"]});
        let refused = Err(Unmergeable::Items("c".to_owned()));
        assert_eq!(Hidden::of(["c.0.mail"]).merged(Some(&value), moved), refused);
    }

    #[test]
    fn a_writer_never_destroys_what_is_hidden_from_them() {
        let hidden = Hidden::of(["pay", "who.mail", "rows.key"]);
        let old = json!({"pay": 9, "who": {"mail": "d@x", "name": "D"}, "rows": [{"n": 1, "key": "a"}, {"n": 2, "key": "b"}], "z": 0});
        let is = |written: Value, becomes: Value| {
            assert_eq!(hidden.merged(Some(&old), written.clone()), Ok(becomes), "{written}");
        };
        let refused = |written: Value, why: Unmergeable| {
            assert_eq!(hidden.merged(Some(&old), written.clone()), Err(why), "{written}");
        };
        let rows = old["rows"].clone();
        let seen = json!([{"n": 1, "key": REDACTED}, {"n": 2, "key": REDACTED}]);
        is(json!({"rows": seen}), json!({"pay": 9, "who": {"mail": "d@x"}, "rows": rows}));
        is(
            json!({"pay": REDACTED, "who": {"name": "E"}, "rows": [{"n": 7}, seen[1]], "new": [1]}),
            json!({"pay": 9, "who": {"name": "E", "mail": "d@x"}, "rows": [{"n": 7, "key": "a"}, rows[1]], "new": [1]}),
        );
        // Moved and added items keep what is theirs.
        is(
            json!({"rows": [{"n": 3}, seen[1], seen[0]]}),
            json!({"pay": 9, "who": {"mail": "d@x"}, "rows": [{"n": 3}, rows[1], rows[0]]}),
        );
        let items = || Unmergeable::Items("rows".to_owned());
        refused(json!({"rows": [seen[0]]}), items());
        refused(json!({}), items());
        refused(json!({"rows": [{"n": 8}, {"n": 9}]}), items());
        refused(json!({"rows": [{"n": 8}, seen[0]]}), items());
        refused(json!({"rows": 1}), Unmergeable::Holds("rows".to_owned()));
        refused(json!({"rows": {"key": REDACTED}}), Unmergeable::Holds("rows".to_owned()));
        refused(json!({"rows": seen, "who": null}), Unmergeable::Holds("who".to_owned()));
        refused(json!([1]), Unmergeable::Holds("it".to_owned()));
        refused(json!({"rows": seen, "pay": 10}), Unmergeable::Hidden("pay".to_owned()));
        refused(
            json!({"rows": [seen[0], seen[1], {"key": "c"}]}),
            Unmergeable::Hidden("rows.key".to_owned()),
        );
        assert_eq!(hidden.merged(None, json!({"pay": 1})), Err(Unmergeable::Hidden("pay".to_owned())));
        assert_eq!(hidden.merged(None, json!({"pay": REDACTED, "z": 1})), Ok(json!({"z": 1})));
    }

    #[test]
    fn a_field_is_found_and_set_where_its_path_leads() {
        let mut value = json!({"a": {"b": [1, {"c": 2}]}, "s": "text"});
        assert_eq!(at(&value, "a.b.1.c"), Some(&json!(2)));
        for absent in ["a.x", "a.b.2", "a.b.c", "s.t", ""] {
            assert_eq!(at(&value, absent), None, "{absent}");
        }
        let all = Hidden::default();
        value = all.set(Some(&value), "a.b.1.c", json!(3)).unwrap();
        value = all.set(Some(&value), "n.m", json!([])).unwrap();
        assert_eq!(value, json!({"a": {"b": [1, {"c": 3}]}, "s": "text", "n": {"m": []}}));
        assert_eq!(all.set(None, "a.b", json!(1)), Ok(json!({"a": {"b": 1}})));
        for (field, above) in [("s.t", "s"), ("a.b.9", "a.b"), ("a.b.x.c", "a.b")] {
            let absent = Unmergeable::Absent { above: above.to_owned(), field: field.to_owned() };
            assert_eq!(all.set(Some(&value), field, json!(1)), Err(absent), "{field}");
        }
    }

    #[test]
    fn an_item_named_by_its_place_is_that_item_however_many_look_like_it() {
        let hidden = Hidden::of(["rows.key"]);
        let old = json!({"rows": [{"n": 1, "key": "a"}, {"n": 1, "key": "b"}, {"n": 1, "key": "c"}]});
        for place in 0..3 {
            let mut wanted = old.clone();
            wanted["rows"][place]["n"] = json!(7);
            assert_eq!(hidden.set(Some(&old), &format!("rows.{place}.n"), json!(7)), Ok(wanted.clone()));
            let item = json!({"n": 7, "key": REDACTED});
            assert_eq!(hidden.set(Some(&old), &format!("rows.{place}"), item), Ok(wanted));
        }
        for (field, value, why) in [
            ("rows.0.key", json!("x"), Unmergeable::Hidden("rows.0.key".to_owned())),
            ("rows.0", json!(1), Unmergeable::Holds("rows.0".to_owned())),
            ("rows", json!([]), Unmergeable::Items("rows".to_owned())),
            (
                "rows.0.key.x",
                json!(1),
                Unmergeable::Absent { above: "rows.0.key".to_owned(), field: "rows.0.key.x".to_owned() },
            ),
        ] {
            assert_eq!(hidden.set(Some(&old), field, value), Err(why), "{field}");
        }
        assert_eq!(hidden.set(Some(&old), "rows.0.key", json!(REDACTED)), Ok(old));
    }

    #[test]
    fn a_field_with_dots_in_its_name_is_hidden_like_one_below_the_other() {
        let value = json!({
            "customer.email": "a", "customer": {"email": "b", "name": "D"}, "a.b": {"c": 1, "d": 2}, "a": {"b.c": 3},
            "customer.emails": "c", "list": [{"x.y": 1}]
        });
        let fields = ["customer.email", "a.b.c", "list.x.y"];
        let hidden = Hidden::of(fields);
        let seen = json!({
            "customer.email": REDACTED, "customer": {"email": REDACTED, "name": "D"},
            "a.b": {"c": REDACTED, "d": 2}, "a": {"b.c": REDACTED}, "customer.emails": "c", "list": [{"x.y": REDACTED}]
        });
        assert_eq!(hidden.shown(&value), seen);
        assert_eq!(hidden.merged(Some(&value), seen.clone()), Ok(value.clone()));
        let mut without = seen;
        without.as_object_mut().unwrap().remove("customer.email");
        assert_eq!(hidden.merged(Some(&value), without.clone()), Ok(value.clone()), "what is hidden is kept");
        without["customer.email"] = json!("mine");
        let refused = Err(Unmergeable::Hidden("customer.email".to_owned()));
        assert_eq!(hidden.merged(Some(&value), without), refused);
        assert!(Hidden::fits("customer.email", &json!({"customer.email": 1})));
        assert!(!Hidden::fits("customer", &json!({"customer.email": 1})), "that is another field");
    }
}
