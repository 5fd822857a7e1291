//! The graph of controllers, compared with slow and simple definitions.

// The seeds are printed, so that a failing one can be repeated.
#![allow(clippy::print_stdout)]

use document::{Value, json};
use expr::Functions;
use seeded::Random;

use crate::Operator;
use crate::graph::Graph;

/// Controllers that read and write the views of these numbers.
fn operator(controllers: &[(Vec<usize>, Vec<usize>)]) -> Operator {
    let kind = |number: &usize| format!("V{number}");
    let controllers = controllers
        .iter()
        .enumerate()
        .map(|(number, (reads, writes))| {
            let sources = reads.iter().enumerate().map(
                |(position, view)| json!({"kind": (kind(view)), "as": (format!("S{position}"))}),
            );
            let inputs: Value = (0..reads.len())
                .map(|position| Value::from(format!("S{position}")))
                .collect();
            let branches = writes.iter().map(|view| {
                json!([
                    {"@inputs": (inputs.clone())}, {"@join": true},
                    {"@project": {"metadata": {"name": "x"}}}, {"@output": (kind(view))},
                ])
            });
            let targets = writes.iter().map(|view| json!({"kind": (kind(view))}));
            json!({
                "name": (format!("c{number}")),
                "sources": (sources.collect::<Value>()),
                "pipeline": (branches.collect::<Value>()),
                "targets": (targets.collect::<Value>()),
            })
        });
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator", "metadata": {"name": "o"},
        "spec": {"controllers": (controllers.collect::<Value>())},
    });
    let (operator, problems) = crate::read(&manifest, &Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

fn slow_order(operator: &Operator) -> Vec<usize> {
    let controllers = &operator.controllers;
    let mut order: Vec<usize> = Vec::new();
    while order.len() < controllers.len() {
        let waiting: Vec<usize> = (0..controllers.len())
            .filter(|number| !order.contains(number))
            .collect();
        let ready = waiting.iter().find(|&&i| {
            let mut others = waiting.iter().filter(|&&j| j != i);
            others.all(|&j| !controllers[j].feeds(&controllers[i]))
        });
        order.push(*ready.unwrap_or(&waiting[0]));
    }
    order
}

fn slow_cycles(operator: &Operator) -> Vec<bool> {
    let controllers = &operator.controllers;
    (0..controllers.len())
        .map(|start| {
            let mut reached = vec![false; controllers.len()];
            let mut stack = vec![start];
            while let Some(from) = stack.pop() {
                for (to, reader) in controllers.iter().enumerate() {
                    if controllers[from].feeds(reader) && !reached[to] {
                        reached[to] = true;
                        stack.push(to);
                    }
                }
            }
            reached[start]
        })
        .collect()
}

#[test]
fn random_graphs_equal_the_slow_definitions() {
    let seeds = seeded::seeds(300);
    println!("seeds {seeds:?}");
    for seed in seeds {
        let mut random = Random::new(seed);
        let views = 1 + random.below(8);
        let controllers: Vec<_> = (0..=random.below(8))
            .map(|_| {
                let mut some = || {
                    let count = 1 + random.below(2);
                    let mut views: Vec<_> = (0..count).map(|_| random.below(views)).collect();
                    views.sort_unstable();
                    views.dedup();
                    views
                };
                (some(), some())
            })
            .collect();
        let operator = operator(&controllers);
        let graph = Graph::new(&operator.controllers);
        assert_eq!(graph.order(), slow_order(&operator), "seed {seed}");
        assert_eq!(graph.in_cycles(), slow_cycles(&operator), "seed {seed}");
    }
}

#[test]
fn thousands_of_controllers_on_one_kind_are_ordered_at_once() {
    let controllers = vec![(vec![0], vec![0]); 1000];
    let operator = operator(&controllers);
    let graph = Graph::new(&operator.controllers);
    assert_eq!(graph.order(), (0..1000).collect::<Vec<_>>());
    assert_eq!(graph.in_cycles(), vec![true; 1000]);
}
