//! The members of variables that an expression reads.

use std::ops::Range;

use crate::tree::{CelExpr, Located, Path};

/// The chains of members, each with its variable first, sorted and distinct.
pub(crate) fn reads(tree: &CelExpr, variables: &[String]) -> Vec<Vec<String>> {
    let mut chains = Vec::new();
    collect(tree, variables, &mut chains);
    chains.sort();
    chains.dedup();
    chains
}

fn collect(node: &CelExpr, variables: &[String], chains: &mut Vec<Vec<String>>) {
    match chain(node, variables) {
        Some(chain) => chains.push(chain),
        None => node.each(&mut |part| collect(part, variables, chains)),
    }
}

/// The chain of an expression, if it is a chain of members that starts at a variable.
pub(crate) fn chain(node: &CelExpr, variables: &[String]) -> Option<Vec<String>> {
    match node {
        CelExpr::Path(Path { variable, keys }) => {
            let keys = keys.iter().map(|key| key.as_str().to_owned());
            Some(
                std::iter::once(variables[*variable].clone())
                    .chain(keys)
                    .collect(),
            )
        }
        CelExpr::Member(base, key)
        | CelExpr::OptionalMember(base, key)
        | CelExpr::Has(base, key) => {
            let mut chain = chain(base, variables)?;
            chain.push(key.as_str().to_owned());
            Some(chain)
        }
        _ => None,
    }
}

/// Where a variable is first read, with its members.
pub(crate) fn variable_place(
    at: Located<'_>,
    variable: &str,
    variables: &[String],
) -> Option<Range<usize>> {
    match at.node {
        CelExpr::Path(path) if variables[path.variable] == variable => Some(at.place.range.clone()),
        _ => {
            let mut parts = at.parts().into_iter();
            parts.find_map(|part| variable_place(part, variable, variables))
        }
    }
}
