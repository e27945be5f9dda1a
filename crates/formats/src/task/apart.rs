//! Many edits at once: each task is edited by itself, and the whole is read once at the end.

use std::collections::{BTreeMap, HashMap};

use domain::id::TaskId;

use super::{TaskFile, TaskItem, parse};

impl TaskFile {
    /// Makes edits, each about one task of this file and nothing outside of its tree, as if one after the other.
    /// `edit` gets a file with the task in it, which need not be this one, and must find the task by its id.
    /// Edits about tasks that are not here are passed over.
    pub fn edit_each<E>(&mut self, edits: &[(&TaskId, E)], edit: impl Fn(&mut Self, &E)) {
        // Line ends are those of the first line, which a part of the file does not know.
        if edits.len() < 2 || self.text.contains('\r') || !self.edit_apart(edits, &edit) {
            for (_, what) in edits.iter().filter(|(id, _)| self.find(id).is_some()).collect::<Vec<_>>() {
                edit(self, what);
            }
        }
    }

    /// Edits each tree as a file of its own; says whether that came to the same. If not, nothing is changed.
    fn edit_apart<E>(&mut self, edits: &[(&TaskId, E)], edit: &impl Fn(&mut Self, &E)) -> bool {
        let mut places = HashMap::new();
        for (index, item) in self.items.iter().enumerate() {
            if let Some(id) = &item.id {
                places.entry(id).or_insert(index);
            }
        }
        let mut by_root: BTreeMap<usize, Vec<&E>> = BTreeMap::new();
        for (id, what) in edits {
            if let Some(index) = places.get(id) {
                by_root.entry(self.root_of(*index)).or_default().push(what);
            }
        }
        let mut text = String::with_capacity(self.text.len());
        let mut expected: Vec<Said<'_>> = Vec::with_capacity(self.items.len());
        let trees: Vec<(usize, Self)> = by_root
            .into_iter()
            .map(|(root, edits)| {
                let item = &self.items[root];
                let own = &self.text[item.span.start..item.parts.subtree_end];
                let mut tree = Self::parse(&self.path, own).0;
                edits.into_iter().for_each(|what| edit(&mut tree, what));
                (root, tree)
            })
            .collect();
        let (mut byte, mut next) = (0, 0);
        for (root, tree) in &trees {
            let item = &self.items[*root];
            text.push_str(&self.text[byte..item.span.start]);
            text.push_str(&tree.text);
            byte = item.parts.subtree_end;
            expected.extend(self.items[next..*root].iter().map(|item| said(item, 0)));
            expected.extend(tree.items.iter().map(|item| said(item, *root)));
            let after = self.items[*root + 1..].iter().take_while(|item| item.span.start < byte).count();
            next = *root + 1 + after;
            // Parents are numbers of places: a tree that lost or won a task would shift all that follow.
            if tree.items.len() != next - *root {
                return false;
            }
        }
        text.push_str(&self.text[byte..]);
        expected.extend(self.items[next..].iter().map(|item| said(item, 0)));
        let items = parse::parse(&self.path, &text).0;
        if !items.iter().map(|item| said(item, 0)).eq(expected) {
            return false;
        }
        (self.text, self.items) = (text, items);
        true
    }

    fn root_of(&self, index: usize) -> usize {
        let mut root = index;
        while let Some(parent) = self.items[root].parent {
            root = parent;
        }
        root
    }
}

/// All that a task says, wherever it stands; `first` is the place of the first task of its file.
type Said<'a> = (&'a [(String, String)], &'a str, Option<usize>, String);

fn said(item: &TaskItem, first: usize) -> Said<'_> {
    let head = format!("{:?} {:?} {:?} {:?}", item.mark, item.priority, item.assignee, item.tags);
    (&item.properties, &item.title, item.parent.map(|parent| parent + first), head)
}
