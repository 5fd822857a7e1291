//! The reasons of the condition `Ready`.

/// A reason of the condition `Ready`, which also decides its status. `docs/operations.md` describes
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Ready,
    Syncing,
    ReconciliationFailed,
    NotReady,
    BudgetExceeded,
    Invalid,
    Deleting,
    CyclicViews,
    Crashed,
}

impl Reason {
    /// All of them, in the order of the documentation.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 9] = [
        Self::Ready,
        Self::Syncing,
        Self::ReconciliationFailed,
        Self::NotReady,
        Self::BudgetExceeded,
        Self::Invalid,
        Self::Deleting,
        Self::CyclicViews,
        Self::Crashed,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Syncing => "Syncing",
            Self::ReconciliationFailed => "ReconciliationFailed",
            Self::NotReady => "NotReady",
            Self::BudgetExceeded => "BudgetExceeded",
            Self::Invalid => "Invalid",
            Self::Deleting => "Deleting",
            Self::CyclicViews => "CyclicViews",
            Self::Crashed => "Crashed",
        }
    }

    /// The status of a condition with this reason.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Ready => "True",
            Self::ReconciliationFailed => "Unknown",
            Self::Syncing
            | Self::NotReady
            | Self::BudgetExceeded
            | Self::Invalid
            | Self::Deleting
            | Self::CyclicViews
            | Self::Crashed => "False",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_documented() {
        let page = include_str!("../../../../docs/operations.md");
        let (_, section) = page.split_once("\n## The condition `Ready`\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let rows: Vec<&str> = rows.collect();
        assert_eq!(rows.len(), Reason::ALL.len(), "{rows:?}");
        for (row, reason) in rows.iter().zip(Reason::ALL) {
            let begins = format!("| `{}` | `{}` | ", reason.status(), reason.as_str());
            assert!(row.starts_with(&begins), "{row}: expected {begins}");
        }
    }

    #[test]
    fn the_definition_names_each_reason() {
        let descriptions = operator::DEFINITION.lines();
        let of_condition = descriptions.filter(|line| line.contains("The condition Ready"));
        let of_condition: Vec<&str> = of_condition.collect();
        assert!(!of_condition.is_empty());
        for description in of_condition {
            for reason in Reason::ALL {
                let named = description.contains(reason.as_str());
                assert!(named, "{}: {description}", reason.as_str());
            }
        }
    }
}
