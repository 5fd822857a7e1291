//! Versioned objects with watches, in memory. Views are stored here.
//!
//! A [`Store`] contains objects by *collection* (API group and kind) and name, and behaves like
//! an API server:
//!
//! - **Writes** ([`Store::write`]) are made by a [`Caller`]. Each write that changes something
//!   creates a new [`Version`] of the whole store, which becomes the object's
//!   `resourceVersion`. An [`Error`] has the HTTP status and the reason that Kubernetes uses.
//! - **Lists** ([`Store::list`], [`Store::list_page`]) show one version, even if they are read
//!   in pages with writes in between.
//! - **Watches** ([`Store::watch`]) deliver the changes after a version, or start with all
//!   objects and a bookmark. A version that is no longer in the history is [`Expired`].
//! - **Completeness** ([`Store::status`]) says whether a collection contains all objects that
//!   belong to it. Its producer sets it, and readers check it before they list.
//!
//! This mechanism is the same for every collection. The [`Strategy`] of a collection decides
//! what is special about it: who may write what, and whether the status is written separately.
//! [`Views`] is the strategy for objects that controllers derive.
//!
//! | module | content |
//! |---|---|
//! | `store`, `state` | the handle; all collections, and how a write becomes a version |
//! | `decide`, `draft` | the effect of a write on an object: identity, preconditions,
//! finalizers |
//! | `strategy`, `views` | who may write what |
//! | `history`, `page`, `watch` | the latest changes, and the lists and watches that use them |
//! | `completeness` | which collections are complete |
//!
//! The store has no clock and no random numbers: an [`Env`] provides both. Its futures wait only
//! for the next change, so it runs under any executor.
//!
//! ```
//! use document::json;
//! use store::{Caller, Config, Env, Selector, Store, Write};
//! use object::GroupKind;
//!
//! struct Fixed;
//! impl Env for Fixed {
//!     fn now(&self) -> String {
//!         "2026-01-01T00:00:00Z".to_owned()
//!     }
//!     fn uid(&self) -> String {
//!         "5a0c7a52-0000-4000-8000-000000000001".to_owned()
//!     }
//! }
//!
//! let store = Store::new(Fixed, Config::default());
//! let health = GroupKind::new("shop.view.dcontroller.io", "Health");
//! let web = json!({
//!     "apiVersion": "shop.view.dcontroller.io/v1alpha1",
//!     "kind": "Health",
//!     "metadata": {"name": "web"},
//!     "ready": 2
//! });
//! let written = store.write(&Caller::user("alice"), &health, &Write::Create(web)).unwrap();
//! assert_eq!(written.object.get("metadata").get("generation").as_int(), Some(1));
//! assert_eq!(store.list(&health, &Selector::default()).items, [written.object]);
//! ```

mod caller;
mod completeness;
mod decide;
mod draft;
mod error;
mod history;
mod notice;
mod page;
mod selector;
mod state;
mod store;
mod strategy;
mod version;
mod views;
mod watch;
mod write;

pub use caller::{Caller, ControllerName};
pub use completeness::{Basis, CollectionStatus, Completeness, GroupCompleteness, Lost};
pub use error::Error;
pub use notice::Notice;
pub use selector::{FieldTerm, Selector};
pub use store::{Config, Env, List, Store};
pub use strategy::{Admitted, Derived, Live, Request, Strategy};
pub use version::Version;
pub use views::{Holder, NO_OPERATOR, Views, Yielded};
pub use watch::{Event, Expired, Start, Watch};
pub use write::{Change, Preconditions, Write, Written};
