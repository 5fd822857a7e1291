//! Serves an API to the users of a cluster.
//!
//! ```text
//! connection ─▶ Listener (TLS) ─▶ Authenticator ─▶ apiserver::Server ─▶ answer
//!                                  │ TokenReview, certificates   │ ClusterAccess
//!                                  ▼                             ▼ SubjectAccessReview
//!                                       API server of the cluster
//! ```
//!
//! Nothing is served without a login. The cluster decides who a user is and what the user may
//! do: tokens are checked with `TokenReview`, client certificates against the cluster's own
//! authority, and every request with `SubjectAccessReview`. Answers of the cluster are reused for
//! some seconds.
//!
//! | module | content |
//! |---|---|
//! | `listener` | connections, their limits, and TLS |
//! | `certificates` | the certificate of the server, from files or generated |
//! | `authenticate` | who makes a request |
//! | `front_proxy` | requests that the cluster's API server forwards |
//! | `authorize` | what a user may do |
//! | `observe` | metrics, and the audit log of writes |
//! | `local` | refuses web pages on a port without logins |
//! | `limits`, `activity` | limits on connections, and which are not used |
//! | `write_timeout`, `streams` | give up clients that read nothing |
//! | `cache` | answers that are reused for a short time |

mod activity;
mod authenticate;
mod authorize;
mod cache;
mod certificates;
mod front_proxy;
mod limits;
mod listener;
mod local;
mod observe;
mod streams;
mod write_timeout;

pub use authenticate::Authenticator;
pub use authorize::ClusterAccess;
pub use certificates::{Authority, CertificateError, Certificates, names_of};
pub use front_proxy::{AUTHORITIES, ClientAuthorities, FrontProxy};
pub use limits::ConnectionLimits;
pub use listener::{Listener, Security};
pub use observe::AUDIT;
