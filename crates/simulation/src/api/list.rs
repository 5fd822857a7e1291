//! Lists, in pages of one version.

use std::collections::BTreeMap;

use document::{Value, json};

use super::refusal::Refusal;
use super::route::Query;
use super::select::Selection;
use super::store::Store;
use super::{Reply, store};

/// So many objects are on a page at most, whatever is asked for: a few objects have
/// several pages.
const MAX_PAGE: usize = 3;

/// The rests of lists of which somebody has read the first pages.
#[derive(Debug, Default)]
pub(super) struct Pages {
    rests: BTreeMap<String, Rest>,
    next: u64,
}

#[derive(Debug)]
struct Rest {
    version: u64,
    items: Vec<Value>,
}

/// The objects of a selection as they are now.
pub(super) fn selected(store: &Store, selection: &Selection) -> Vec<Value> {
    let objects = store.objects();
    let selected =
        objects.filter(|(key, stored)| selection.covers(key) && selection.admits(&stored.object));
    selected
        .map(|(_, stored)| store::Stored::shown(stored))
        .collect()
}

impl Pages {
    /// Forgets all rests: who asks for one gets 410.
    pub(super) fn clear(&mut self) {
        self.rests.clear();
    }

    /// A page, the first one or one that continues.
    pub(super) fn list(&mut self, store: &Store, selection: &Selection, query: &Query) -> Reply {
        let mut rest = match query.get("continue") {
            "" => Rest {
                version: store.version(),
                items: selected(store, selection),
            },
            token => self.rests.remove(token).ok_or_else(Refusal::expired)?,
        };
        let size = query.number("limit").map_or(usize::MAX, |limit| {
            usize::try_from(limit)
                .unwrap_or(MAX_PAGE)
                .clamp(1, MAX_PAGE)
        });
        let later = rest.items.split_off(size.min(rest.items.len()));
        let mut metadata = json!({"resourceVersion": (rest.version.to_string())});
        if !later.is_empty() {
            self.next += 1;
            let token = format!("page-{}", self.next);
            metadata = crate::fields::set(&metadata, &["continue"], token.as_str().into());
            let version = rest.version;
            self.rests.insert(
                token,
                Rest {
                    version,
                    items: later,
                },
            );
        }
        let kind = selection.kind;
        let list = json!({
            "kind": (format!("{}List", kind.name)), "apiVersion": (kind.api_version()),
            "metadata": metadata, "items": (rest.items),
        });
        Ok((200, list))
    }
}
