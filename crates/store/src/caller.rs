//! Who makes a request.

use std::fmt;

/// Who makes a write: a user, a native reconciler, or a controller of an Operator.
///
/// ```
/// use store::Caller;
///
/// assert_eq!(Caller::user("alice").to_string(), "user alice");
/// let health = Caller::controller("shop", "health");
/// assert_eq!(health.to_string(), "controller health of Operator shop");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name of the authenticated user.
    pub user: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// The field manager that changes are recorded for.
    pub field_manager: String,
    /// The controller, if it writes its derived objects.
    pub controller: Option<ControllerName>,
}

/// A controller of an Operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ControllerName {
    /// The Operator. Derived objects belong to the Operator: when a controller is renamed, it
    /// keeps its objects.
    pub operator: String,
    /// The controller.
    pub controller: String,
}

impl Caller {
    /// A user or a native reconciler. Changes are recorded under its own name.
    pub fn user(name: impl Into<String>) -> Self {
        let user = name.into();
        Self {
            field_manager: user.clone(),
            user,
            groups: Vec::new(),
            controller: None,
        }
    }

    /// A controller of an Operator.
    pub fn controller(operator: impl Into<String>, controller: impl Into<String>) -> Self {
        let name = ControllerName {
            operator: operator.into(),
            controller: controller.into(),
        };
        Self {
            user: object::marks::MANAGER.to_owned(),
            groups: Vec::new(),
            field_manager: object::marks::field_manager(&name.operator, &name.controller),
            controller: Some(name),
        }
    }

    /// Adds the caller to these groups.
    #[must_use]
    pub fn with_groups(mut self, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.groups = groups.into_iter().map(Into::into).collect();
        self
    }

    /// Records changes for this field manager.
    #[must_use]
    pub fn with_field_manager(mut self, manager: impl Into<String>) -> Self {
        self.field_manager = manager.into();
        self
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.controller {
            Some(controller) => controller.fmt(f),
            None => write!(f, "user {}", self.user),
        }
    }
}

impl fmt::Display for ControllerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operator,
            controller,
        } = self;
        write!(f, "controller {controller} of Operator {operator}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_has_groups_and_a_field_manager() {
        let alice = Caller::user("alice")
            .with_groups(["admins"])
            .with_field_manager("kubectl");
        assert_eq!(alice.groups, ["admins"]);
        assert_eq!(alice.field_manager, "kubectl");
        assert_eq!(Caller::user("bob").field_manager, "bob");
        let controller = Caller::controller("shop", "health");
        let manager = object::marks::field_manager("shop", "health");
        assert_eq!(controller.field_manager, manager);
    }
}
