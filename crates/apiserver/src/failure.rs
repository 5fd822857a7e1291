//! Errors of the store in the words of kube-apiserver.

use store::Error;

use crate::resource::Resource;
use crate::status::{Cause, StatusError};

/// An error of the store as an answer. `name` is the object of the request.
pub(crate) fn status_of(error: &Error, resource: &Resource, name: &str) -> StatusError {
    let named = resource.name();
    match error {
        Error::NotFound { key, .. } => StatusError::not_found(named, key.name()),
        Error::AlreadyExists { key, .. } => StatusError::already_exists(named, key.name()),
        Error::Changed {
            key,
            field,
            found,
            expected,
        } => {
            let why = match *field {
                "uid" => format!(
                    "Precondition failed: UID in precondition: {expected}, UID in object meta: \
                     {found}"
                ),
                _ => "the object has been modified; please apply your changes to the latest \
                      version and try again"
                    .to_owned(),
            };
            StatusError::conflict(named, key.name(), &why)
        }
        Error::Forbidden { key, why, .. } => StatusError::forbidden(named, key.name(), why),
        Error::Derived {
            key,
            controller,
            what,
            ..
        } => {
            let what = match what {
                Some(what) => format!("{what} cannot be changed"),
                None => "it cannot be deleted".to_owned(),
            };
            let why = format!("{what}, because {controller} derives the object");
            StatusError::forbidden(named, key.name(), &why)
        }
        Error::Held { key, holder, .. } => {
            let why = format!("the object belongs to {holder}");
            StatusError::conflict(named, key.name(), &why)
        }
        Error::Terminating { key } => {
            StatusError::conflict(named, key.name(), "the object is being deleted")
        }
        Error::Incomplete { reason, .. } => {
            StatusError::unavailable(format!("{named} is not complete at the moment: {reason}"))
        }
        Error::Expired { from, fresh } => expired(*from, fresh.as_deref()),
        Error::Token => StatusError::bad_request(
            "invalid continue token: continue key is not valid: the token is malformed",
        ),
        Error::Form {
            path,
            expected,
            found,
        } => {
            let message = format!("expected {expected}, found {found}");
            let cause = Cause {
                reason: "FieldValueTypeInvalid",
                field: path.clone(),
                message,
            };
            StatusError::invalid(&resource.kind, name, &[cause])
        }
        Error::Rule { path, rule } => {
            let cause = Cause::forbidden(path.clone(), rule);
            StatusError::invalid(&resource.kind, name, &[cause])
        }
    }
}

/// 410, with a token that continues the list if there is one.
fn expired(from: store::Version, fresh: Option<&str>) -> StatusError {
    let Some(token) = fresh else {
        return StatusError::expired(format!("too old resource version: {from}"));
    };
    let mut error = StatusError::expired(
        "The provided continue parameter is too old to display a consistent list result. You can \
         start a new list without the continue parameter, or use the continue token in this \
         response to retrieve the remainder of the results. Continuing with the provided token \
         results in an inconsistent list - objects that were created, modified, or deleted \
         between the time the first chunk was returned and now may show up in the list.",
    );
    error.list_token = Some(token.to_owned());
    error
}
