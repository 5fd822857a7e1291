//! Where the objects of targets may be, and how many outputs cannot be there.

use object::Placement;
use triomphe::Arc;

use super::Circuit;
use super::branch::BranchState;
use crate::apply::OutputKind;

impl Circuit {
    /// The circuit without its state.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let kinds: Vec<OutputKind> = self.kinds.iter().map(|kind| (**kind).clone()).collect();
        Self::new(&self.pipeline, &kinds, self.budget)
    }

    /// Sets whether the objects of a target are in namespaces. Returns false, and changes nothing,
    /// if that affects an output or an error: then everything has to be evaluated again.
    #[must_use]
    pub fn set_scope(&mut self, target: usize, namespaced: bool) -> bool {
        let Some(known) = &self.kinds[target].placement else {
            return true;
        };
        if known.namespaced == Some(namespaced) {
            return true;
        }
        let placement = Placement {
            namespaced: Some(namespaced),
            ..known.clone()
        };
        let branches = self.pipeline.branches.iter().zip(&mut self.branches);
        let of_target = branches.filter(|(rule, _)| rule.output.target == Some(target));
        let checks: Vec<_> = of_target
            .filter_map(|(_, branch)| branch.output_check_mut())
            .collect();
        let fit = self.targets[target]
            .names()
            .all(|name| placement.check(name).is_ok());
        if !fit || checks.iter().any(|check| check.misplaced() > 0) {
            return false;
        }
        for check in checks {
            check.place(&placement);
        }
        Arc::make_mut(&mut self.kinds[target]).placement = Some(placement);
        true
    }

    /// How many errors there are, without conflicts.
    pub fn count_errors(&self) -> usize {
        self.branches.iter().map(BranchState::count_errors).sum()
    }
}
