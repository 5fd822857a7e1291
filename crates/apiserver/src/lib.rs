//! The Kubernetes API over a [`store`]: discovery, reads, watches and writes as kubectl and client
//! libraries use them.
//!
//! ```text
//! request ─▶ route, query ─▶ access ─▶ read | watch | write | patch ─▶ store
//!                                          │
//!                      answer ◀── negotiate, table, status
//! ```
//!
//! [`Server::handle`] answers one request of an authenticated [`User`]. It knows neither TLS nor
//! connections. An [`Access`] decides what the user may do, and a [`Catalog`] says which resources
//! are served. What is special about a collection is decided by its [`store::Strategy`].
//!
//! | module | content |
//! |---|---|
//! | `route`, `query`, `options`, `selector_error`, `negotiate` | what a request asks for |
//! | `server`, `access`, `limits`, `reviews` | who may make it, and how many at once |
//! | `discovery`, `openapi`, `resource` | what is served |
//! | `read`, `watch`, `encodings`, `table` | reading objects, in the form that the client accepts |
//! | `body`, `write`, `patch`, `json_patches`, `metadata`, `names`, `duplicates`, `managed` | writing objects, and who owns their fields |
//! | `protobuf` | the few messages that clients send in no other form |
//! | `answer`, `list_text`, `sending`, `status`, `failure` | answers and errors |
//! | `subresource` | requests that somebody else answers |
//! | `info` | what a request was about, for metrics and audit logs |

mod access;
mod answer;
mod body;
mod discovery;
mod duplicates;
mod encodings;
mod failure;
mod info;
mod json_patches;
mod limits;
mod list_text;
mod managed;
mod metadata;
mod names;
mod negotiate;
mod openapi;
mod options;
mod patch;
mod protobuf;
mod query;
mod read;
mod resource;
mod reviews;
mod route;
mod selector_error;
mod sending;
mod server;
mod status;
mod subresource;
mod table;
mod watch;
mod write;

pub use access::{Access, AllowAll, Attributes, Scope, User, refused};
pub use answer::Body;
pub use info::RequestInfo;
pub use limits::Limits;
pub use resource::{Catalog, Group, Resource};
pub use route::ObjectsRoute;
pub use server::{Env, Server};
pub use status::{Cause, ResourceName, StatusError};
pub use subresource::{Extension, ExtensionRequest};
