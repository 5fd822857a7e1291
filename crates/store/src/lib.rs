//! Versioned objects with watches, in memory: where views live.
//!
//! In come writes of users and controllers; out come objects as an API server shows them (uid, resourceVersion,
//! generation, creationTimestamp), lists at a version, and watches from a version.
//!
//! The store knows no clock and no randomness: both come in with an [`Env`]. It waits
//! for nothing but the next change, so it runs under any executor.
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
mod converge;
mod decide;
mod draft;
mod error;
mod history;
mod page;
mod policy;
mod selector;
mod state;
mod store;
mod version;
mod watch;
mod write;

pub use caller::{Caller, ControllerName};
pub use completeness::{Basis, CollectionStatus, Completeness, GroupCompleteness};
pub use error::{Error, Holder};
pub use selector::Selector;
pub use store::{Config, Env, List, Store, Yielded};
pub use version::Version;
pub use watch::{Event, Expired, Start, Watch};
pub use write::{Change, Preconditions, Write, Written};
