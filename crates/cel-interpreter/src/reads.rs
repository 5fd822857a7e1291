//! The members of variables that an expression reads.

use crate::tree::{CelExpr, Path};

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
