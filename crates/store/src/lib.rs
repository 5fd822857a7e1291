//! Versioned objects with watches, in memory: where views are kept.
//!
//! A [`Store`] holds objects by *collection* (API group and kind) and name, and shows them
//! as an API server does:
//!
//! - **Writes** ([`Store::write`]) say who makes them ([`Caller`]). Each one that changes
//!   something makes a new [`Version`] of the whole store, which is the object's
//!   `resourceVersion`. An [`Error`] has the HTTP status and reason of Kubernetes.
//! - **Lists** ([`Store::list`], [`Store::list_page`]) are of one version, also in pages
//!   with writes in between.
//! - **Watches** ([`Store::watch`]) deliver the changes after a version, or begin with all
//!   objects and a bookmark that ends them. A version that is not remembered any more is
//!   [`Expired`].
//! - **Completeness** ([`Store::status`]): whether a collection holds all that belongs into
//!   it. Who fills it says so, who reads it asks first.
//!
//! All this is the mechanism, and the same for every collection. What is special about one
//! (who may write what, whether the status is written by itself) its [`Strategy`] decides;
//! [`Views`] is that of objects that controllers derive.
//!
//! | module | what it holds |
//! |---|---|
//! | `store`, `state` | the handle; all collections, and how a decision becomes a version |
//! | `decide`, `draft` | what a write does to an object: identity, preconditions, finalizers |
//! | `strategy`, `views` | who may write what |
//! | `history`, `page`, `watch` | the last changes, and what is read from them |
//! | `completeness` | what producers say of collections |
//!
//! The store has no clock and no randomness: both come with an [`Env`]. It waits for
//! nothing but the next change, so it runs under any executor.
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
pub use completeness::{Basis, CollectionStatus, Completeness, GroupCompleteness};
pub use error::Error;
pub use selector::Selector;
pub use store::{Config, Env, List, Store};
pub use strategy::{Admitted, Derived, Live, Request, Strategy};
pub use version::Version;
pub use views::{Holder, Views, Yielded};
pub use watch::{Event, Expired, Start, Watch};
pub use write::{Change, Preconditions, Write, Written};
