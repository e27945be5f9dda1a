//! Things by their ids: looked up by hash, walked in the order of the ids. Nearly everything that is decided looks
//! something up by an id; nothing may depend on the order of a hash.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt;
use std::hash::Hash;
use std::ops::Index;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values by key.
#[derive(Clone)]
pub struct Table<K, V> {
    /// Where the value of each key stands.
    places: FxHashMap<K, usize>,
    /// The same, in order.
    order: BTreeMap<K, usize>,
    slots: Vec<Option<V>>,
    free: Vec<usize>,
}

/// The entries of a table, in the order of their keys.
pub struct Iter<'a, K, V> {
    order: btree_map::Iter<'a, K, usize>,
    slots: &'a [Option<V>],
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, place) = self.order.next()?;
        Some((key, self.slots[*place].as_ref()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.order.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (key, place) = self.order.next_back()?;
        Some((key, self.slots[*place].as_ref()?))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<K: Ord + Hash + Clone, V> Table<K, V> {
    /// A table with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.places.get(key).and_then(|place| self.slots[*place].as_ref())
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.places.get(key).and_then(|place| self.slots[*place].as_mut())
    }

    /// The value of a key, with the key that the table has.
    pub fn get_key_value(&self, key: &K) -> Option<(&K, &V)> {
        let (key, place) = self.places.get_key_value(key)?;
        Some((key, self.slots[*place].as_ref()?))
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: &K) -> bool {
        self.places.contains_key(key)
    }

    /// Puts a value in; gives back what stood there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(place) = self.places.get(&key) {
            return self.slots[*place].replace(value);
        }
        let place = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(place) {
            Some(slot) => *slot = Some(value),
            None => self.slots.push(Some(value)),
        }
        self.places.insert(key.clone(), place);
        self.order.insert(key, place);
        None
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let place = self.places.remove(key)?;
        self.order.remove(key);
        self.free.push(place);
        self.slots[place].take()
    }

    /// The value of a key, made if there is none.
    pub fn or_insert_with(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.places.get(key) {
            Some(place) => *place,
            None => {
                self.insert(key.clone(), make());
                self.places[key]
            }
        };
        let Some(value) = &mut self.slots[place] else { unreachable!("a place that is named is filled") };
        value
    }

    /// The value of a key, made if there is none.
    pub fn or_default(&mut self, key: &K) -> &mut V
    where
        V: Default,
    {
        self.or_insert_with(key, V::default)
    }

    /// All entries from a key on, in order.
    pub fn starting_at(&self, key: &K) -> impl Iterator<Item = (&K, &V)> + use<'_, K, V> {
        let order = self.order.range(key..);
        order.filter_map(|(key, place)| Some((key, self.slots[*place].as_ref()?)))
    }

    /// All entries, in the order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { order: self.order.iter(), slots: &self.slots }
    }

    /// All keys, in order.
    pub fn keys(&self) -> btree_map::Keys<'_, K, usize> {
        self.order.keys()
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// All entries, in no order that anything may depend on.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        let mut keys = vec![None; self.slots.len()];
        self.order.iter().for_each(|(key, place)| keys[*place] = Some(key));
        keys.into_iter().zip(&mut self.slots).filter_map(|(key, value)| Some((key?, value.as_mut()?)))
    }

    /// All values, in no order that anything may depend on.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.slots.iter_mut().flatten()
    }

    /// The entry with the first key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The entry with the last key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { places: FxHashMap::default(), order: BTreeMap::new(), slots: Vec::new(), free: Vec::new() }
    }
}

impl<K: Ord + Hash + Clone, V> Index<&K> for Table<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        match self.get(key) {
            Some(value) => value,
            None => panic!("there is no such key"),
        }
    }
}

impl<'a, K: Ord + Hash + Clone, V> IntoIterator for &'a Table<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Ord + Hash + Clone, V> FromIterator<(K, V)> for Table<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut table = Self::new();
        table.extend(entries);
        table
    }
}

impl<K: Ord + Hash + Clone, V> Extend<(K, V)> for Table<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord + Hash + Clone, V: PartialEq> PartialEq for Table<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Ord + Hash + Clone, V: Eq> Eq for Table<K, V> {}

impl<K: Ord + Hash + Clone + fmt::Debug, V: fmt::Debug> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Hash + Clone + Serialize, V: Serialize> Serialize for Table<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Ord + Hash + Clone + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Table<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(|entries| entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_table_is_a_map_in_the_order_of_its_keys(steps in prop::collection::vec((0u8..20, any::<Option<u16>>()), 0..80)) {
            let (mut table, mut map) = (Table::new(), BTreeMap::new());
            for (key, value) in steps {
                match value {
                    Some(value) => prop_assert_eq!(table.insert(key, value), map.insert(key, value)),
                    None => prop_assert_eq!(table.remove(&key), map.remove(&key)),
                }
                prop_assert_eq!(table.get(&key), map.get(&key));
                prop_assert!(table.iter().eq(map.iter()) && table.iter().rev().eq(map.iter().rev()));
                prop_assert_eq!((table.len(), table.contains_key(&key)), (map.len(), map.contains_key(&key)));
                prop_assert_eq!(table.last_key_value(), map.last_key_value());
            }
            let text = serde_json::to_string(&table).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&map).unwrap());
            prop_assert_eq!(serde_json::from_str::<Table<u8, u16>>(&text).unwrap(), table);
        }
    }
}
