//! Specs that are far larger than anyone writes by hand: they are refused, or read and run in time
//! that is about linear in their size.

use dataflow::Pipeline;
use dataflow::pipeline::PipelineError;
use document::{Location, Value, json};
use expr::{Env, Functions, Items, Scope};

fn parse(spec: &Value, sources: &[String]) -> Result<Pipeline, Vec<PipelineError>> {
    let targets = ["T".to_owned()];
    Pipeline::parse(
        spec,
        &Location::root(),
        sources,
        &targets,
        &Functions::builtin(),
    )
}

#[test]
fn a_join_of_too_many_sources_is_refused() {
    let sources: Vec<String> = (0..100).map(|i| format!("S{i}")).collect();
    let conjuncts: Value = (0..99)
        .map(|i| json!({"@eq": [(format!("$.S{i}.a")), (format!("$.S{}.a", i + 1))]}))
        .collect();
    let join = json!({"@join": {"on": {"@and": conjuncts}, "soft": ["S99"]}});
    let spec = json!([join, {"@project": {"metadata": {"name": "x"}}}]);
    let errors = parse(&spec, &sources).unwrap_err();
    assert_eq!(errors[0].code(), "too-many-sources");
}

#[test]
fn hundreds_of_branches_are_ordered() {
    let count = 300;
    // In the reverse order of their streams.
    let branches: Value = (0..count)
        .rev()
        .map(|i| {
            let input = if i == 0 {
                "S".to_owned()
            } else {
                format!("s{i}")
            };
            let output = match i + 1 {
                last if last == count => "T".to_owned(),
                next => format!("s{next}"),
            };
            json!([{"@inputs": [input]}, {"@select": true}, {"@output": output}])
        })
        .collect();
    let pipeline = parse(&branches, &["S".to_owned()]).unwrap();
    let expected: Vec<usize> = (0..count).rev().collect();
    assert_eq!(pipeline.order, expected);
}

#[test]
fn a_pipeline_of_too_many_stages_is_refused() {
    let select = json!({"@select": true});
    let stages = |count: usize| Value::list(vec![select.clone(); count]);
    let branch = json!([{"@inputs": ["S"]}, {"@output": "T"}]);
    let branches = |count: usize| Value::list(vec![branch.clone(); count]);
    for (accepted, refused) in [
        (stages(1_000), stages(1_001)),
        (
            json!({"@aggregate": (stages(999))}),
            json!({"@aggregate": (stages(1_000))}),
        ),
        (branches(500), branches(501)),
        // Branches that are wrong count, too.
        (
            json!([[{"@inputs": ["S"]}, {"@output": "T"}]]),
            json!([[], (stages(1_000))]),
        ),
    ] {
        let sources = ["S".to_owned()];
        assert!(parse(&accepted, &sources).is_ok());
        let errors = parse(&refused, &sources).unwrap_err();
        let codes: Vec<_> = errors.iter().map(PipelineError::code).collect();
        assert_eq!(codes, ["too-many-stages"]);
    }
}

#[test]
fn setters_are_charged_for_the_maps_that_they_copy() {
    let setters: document::Map = (0..3_000)
        .map(|i| (document::Key::new(&format!("$.k{i}")), Value::from(i)))
        .collect();
    let spec = Value::from(setters);
    let expr = expr::compile(&spec, &Location::root(), &Functions::builtin(), Items::None).unwrap();
    let document = json!({});
    let mut env = Env::default();
    assert!(expr.eval(&Scope::new(&env, &document)).is_ok());
    // They copy 4.5 million entries; without copies it is 6,000 steps.
    env.limits.steps = 100_000;
    let error = expr.eval(&Scope::new(&env, &document)).unwrap_err();
    assert_eq!(error.code(), "limit");
}
