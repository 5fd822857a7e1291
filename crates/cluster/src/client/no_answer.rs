//! Requests that got no answer, with the actual cause in the message.
//!
//! The errors of HTTP clients are nested, and print only their outermost part, such as `client error
//! (Connect)`. The cause may be far from what a reader then thinks of: a process without file
//! descriptors, for example, cannot reach a server that is well.

use std::error::Error;

/// The errors of a process, or of the machine, that has too many open files: `EMFILE`, `ENFILE`.
const TOO_MANY_FILES: [i32; 2] = [24, 23];

/// The error of a request that got no answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct NoAnswer {
    message: String,
    #[source]
    cause: kube::Error,
}

impl NoAnswer {
    pub(super) fn new(cause: kube::Error) -> Self {
        Self {
            message: message(&cause),
            cause,
        }
    }
}

/// The message if the cause is that too many files are open.
pub(crate) fn too_many_files(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut codes = causes(error)
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .filter_map(std::io::Error::raw_os_error);
    codes
        .any(|code| TOO_MANY_FILES.contains(&code))
        .then_some("deltic has too many open files: raise the limit of its process (ulimit -n)")
}

/// An error, and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| Error::source(*error))
}

fn message(error: &(dyn Error + 'static)) -> String {
    if let Some(message) = too_many_files(error) {
        return message.to_owned();
    }
    let mut message = String::new();
    for cause in causes(error).map(ToString::to_string) {
        // Some errors quote their cause.
        if message.contains(&cause) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&cause);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("client error (Connect)")]
    struct Outer(#[source] std::io::Error);

    fn check(error: std::io::Error, expect: &str) {
        let error = kube::Error::Service(Box::new(Outer(error)));
        assert_eq!(NoAnswer::new(error).to_string(), expect);
    }

    #[test]
    fn the_message_names_the_cause() {
        check(
            std::io::Error::from_raw_os_error(111),
            "ServiceError: client error (Connect): Connection refused (os error 111)",
        );
        check(
            std::io::Error::from_raw_os_error(24),
            "deltic has too many open files: raise the limit of its process (ulimit -n)",
        );
    }
}
