//! Lists in pages of one version.

use std::collections::BTreeMap;

use document::{Value, json};

use super::refusal::Refusal;
use super::route::Query;
use super::select::Selection;
use super::store::Store;
use super::{Reply, store};

/// The maximum size of a page, whatever the client asks for, so that even a few objects have
/// several pages.
const MAX_PAGE: usize = 3;

/// The remaining pages of lists that a client has started to read.
#[derive(Debug, Default)]
pub(super) struct Pages {
    remaining: BTreeMap<String, RemainingPages>,
    next: u64,
}

#[derive(Debug)]
struct RemainingPages {
    version: u64,
    items: Vec<Value>,
}

/// The current objects of a selection.
pub(super) fn selected(store: &Store, selection: &Selection) -> Vec<Value> {
    let objects = store.objects();
    let selected =
        objects.filter(|(key, stored)| selection.covers(key) && selection.admits(&stored.object));
    selected
        .map(|(_, stored)| store::Stored::shown(stored))
        .collect()
}

impl Pages {
    /// Forgets all remaining pages: requests for them get 410.
    pub(super) fn clear(&mut self) {
        self.remaining.clear();
    }

    /// The first page of a list, or a further one.
    pub(super) fn list(&mut self, store: &Store, selection: &Selection, query: &Query) -> Reply {
        let mut list = match query.get("continue") {
            "" => RemainingPages {
                version: store.version(),
                items: selected(store, selection),
            },
            token => self.remaining.remove(token).ok_or_else(Refusal::expired)?,
        };
        let size = query.number("limit").map_or(usize::MAX, |limit| {
            usize::try_from(limit)
                .unwrap_or(MAX_PAGE)
                .clamp(1, MAX_PAGE)
        });
        let later = list.items.split_off(size.min(list.items.len()));
        let mut metadata = json!({"resourceVersion": (list.version.to_string())});
        if !later.is_empty() {
            self.next += 1;
            let token = format!("page-{}", self.next);
            metadata = crate::fields::set(&metadata, &["continue"], token.as_str().into());
            let version = list.version;
            self.remaining.insert(
                token,
                RemainingPages {
                    version,
                    items: later,
                },
            );
        }
        let kind = selection.kind;
        let list = json!({
            "kind": (format!("{}List", kind.name)), "apiVersion": (kind.api_version()),
            "metadata": metadata, "items": (list.items),
        });
        Ok((200, list))
    }
}
