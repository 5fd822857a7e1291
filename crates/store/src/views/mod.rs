//! Views: collections of objects that controllers derive and that users create.
//!
//! Each object belongs to the Operator whose controller derives it, or to a user. The marks of a
//! derived object contain its [`Owner`].
//!
//! | the object is | a user may change | a controller may |
//! |---|---|---|
//! | a user's | everything | patch it, but not derive or delete it |
//! | derived by the caller's Operator | status, finalizers, other labels and annotations | everything |
//! | derived by another Operator | the same | nothing |

mod policy;

use std::fmt;
use std::sync::LazyLock;

use document::{Key, Map, Value};
use object::{GroupKind, ObjectName};

use crate::caller::ControllerName;
use crate::completeness::Completeness;
use crate::error::Error;
use crate::store::Store;
use crate::strategy::{Admitted, Derived, Live, Request, Strategy};

/// The strategy of views.
#[derive(Clone, Copy, Debug, Default)]
pub struct Views;

/// The controller that derives an object, and the document that it yields.
#[derive(Clone, Debug, PartialEq)]
struct Owner {
    controller: ControllerName,
    document: Value,
}

/// The names of the fields of an [`Owner`] in the marks.
struct Keys {
    operator: Key,
    controller: Key,
    document: Key,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    operator: Key::new("operator"),
    controller: Key::new("controller"),
    document: Key::new("document"),
});

impl Owner {
    fn of(marks: &Value) -> Option<Self> {
        let text = |key: &Key| marks.get_key(key).as_str().map(str::to_owned);
        let controller = ControllerName {
            operator: text(&KEYS.operator)?,
            controller: text(&KEYS.controller)?,
        };
        Some(Self {
            controller,
            document: marks.get_key(&KEYS.document).clone(),
        })
    }

    fn marks(self) -> Value {
        let ControllerName {
            operator,
            controller,
        } = self.controller;
        Value::from(Map::from_entries(vec![
            (KEYS.operator.clone(), operator.into()),
            (KEYS.controller.clone(), controller.into()),
            (KEYS.document.clone(), self.document),
        ]))
    }
}

impl Strategy for Views {
    fn replace(
        &self,
        request: &Request<'_>,
        live: &Live<'_>,
        new: Value,
    ) -> Result<Admitted, Error> {
        match (&request.caller.controller, Owner::of(live.marks)) {
            (Some(_), owner) => check_operator(request, owner.as_ref())?,
            (None, None) => {}
            (None, Some(owner)) => {
                if let Some(what) = policy::forbidden(&owner.document, &live.draft, &new) {
                    return Err(derived(request, owner, Some(what)));
                }
            }
        }
        Ok(Admitted {
            draft: new,
            marks: live.marks.clone(),
        })
    }

    fn derive(
        &self,
        request: &Request<'_>,
        live: Option<&Live<'_>>,
        derived: Derived,
    ) -> Result<Admitted, Error> {
        let owner = live.map(|live| Owner::of(live.marks));
        let Some(controller) = &request.caller.controller else {
            return Err(held(request, owner.flatten().as_ref()));
        };
        match &owner {
            None => {}
            Some(None) => return Err(held(request, None)),
            Some(Some(owner)) => check_operator(request, Some(owner))?,
        }
        if live.is_some_and(|live| live.terminating) {
            let key = request.key.clone();
            return Err(Error::Terminating { key });
        }
        let owner = Owner {
            controller: controller.clone(),
            document: derived.document,
        };
        Ok(Admitted {
            draft: derived.object,
            marks: owner.marks(),
        })
    }

    fn write_status(&self, request: &Request<'_>, live: &Live<'_>) -> Result<(), Error> {
        check_operator(request, Owner::of(live.marks).as_ref())
    }

    fn delete(&self, request: &Request<'_>, live: &Live<'_>) -> Result<(), Error> {
        match (&request.caller.controller, Owner::of(live.marks)) {
            (None, Some(owner)) if !live.terminating => Err(derived(request, owner, None)),
            (None, _) => Ok(()),
            (Some(_), None) => Err(held(request, None)),
            (Some(_), owner) => check_operator(request, owner.as_ref()),
        }
    }

    fn completeness(&self) -> Completeness {
        Completeness::Incomplete(NO_OPERATOR.to_owned())
    }
}

/// Fails if a controller writes to an object that another Operator derives.
fn check_operator(request: &Request<'_>, owner: Option<&Owner>) -> Result<(), Error> {
    match (&request.caller.controller, owner) {
        (Some(by), Some(owner)) if by.operator != owner.controller.operator => {
            Err(held(request, Some(owner)))
        }
        _ => Ok(()),
    }
}

fn held(request: &Request<'_>, owner: Option<&Owner>) -> Error {
    Error::Held {
        caller: request.caller.to_string().into(),
        key: request.key.clone(),
        holder: Holder::of(owner),
    }
}

fn derived(request: &Request<'_>, owner: Owner, what: Option<String>) -> Error {
    Error::Derived {
        caller: request.caller.to_string().into(),
        key: request.key.clone(),
        controller: owner.controller,
        what,
    }
}

/// Why the views of an Operator that does not exist are incomplete.
pub const NO_OPERATOR: &str = "there is no such Operator";

/// The holder of an object of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Anybody but a controller of an Operator.
    User,
    /// A controller.
    Controller(ControllerName),
}

impl Holder {
    fn of(owner: Option<&Owner>) -> Self {
        owner.map_or(Self::User, |owner| {
            Self::Controller(owner.controller.clone())
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("a user"),
            Self::Controller(controller) => controller.fmt(f),
        }
    }
}

/// An object of a view that a controller derives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yielded {
    /// Its collection.
    pub collection: GroupKind,
    /// Its key.
    pub key: ObjectName,
    /// The controller that last yielded it.
    pub controller: String,
}

/// Functions for views.
impl Store {
    /// The holder of an object of a view; `None` if there is no such object.
    pub fn holder(&self, collection: &GroupKind, key: &ObjectName) -> Option<Holder> {
        let marks = self.marks(collection, key)?;
        Some(Holder::of(Owner::of(&marks).as_ref()))
    }

    /// All objects that the controllers of an Operator derive, sorted by collection and key.
    pub fn yielded(&self, operator: &str) -> Vec<Yielded> {
        let state = self.read();
        let mut all = Vec::new();
        for (collection, objects) in &state.collections {
            for (key, entry) in &objects.entries {
                let marks = &entry.marks;
                let controller = marks.get_key(&KEYS.controller).as_str();
                let own = marks.get_key(&KEYS.operator).as_str() == Some(operator);
                if let Some(controller) = controller.filter(|_| own) {
                    all.push(Yielded {
                        collection: collection.clone(),
                        key: key.clone(),
                        controller: controller.to_owned(),
                    });
                }
            }
        }
        all
    }
}
