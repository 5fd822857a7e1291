//! Who makes a request.

use std::fmt;

/// Who makes a write: a user, a native reconciler, or a controller of an Operator.
///
/// ```
/// use store::Caller;
///
/// assert_eq!(Caller::user("alice").to_string(), "user alice");
/// let health = Caller::controller("shop", "health");
/// assert_eq!(health.to_string(), "controller health of operator shop");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name of the user, as the one who authenticated the request gives it.
    pub user: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// Under which name changes are recorded on objects.
    pub field_manager: String,
    /// The controller, if the write is what a controller derives.
    pub controller: Option<ControllerName>,
}

/// A controller of an Operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ControllerName {
    /// The Operator. What a controller derives belongs to it: a renamed controller takes
    /// its objects over.
    pub operator: String,
    /// The controller.
    pub controller: String,
}

impl Caller {
    /// Anybody who is no controller of an Operator: a user, or a native reconciler. It
    /// records its changes under its own name.
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

    /// This caller as a member of these groups.
    #[must_use]
    pub fn with_groups(mut self, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.groups = groups.into_iter().map(Into::into).collect();
        self
    }

    /// This caller with changes recorded under another name.
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
        write!(f, "controller {controller} of operator {operator}")
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
