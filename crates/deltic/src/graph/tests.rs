use super::counts::NodeState;
use super::*;

const OPERATOR: &str = include_str!("../../tests/operators/shop.yaml");

fn operators() -> Vec<Operator> {
    let manifests = manifest::parse_bytes("operator.yaml", OPERATOR.into()).unwrap();
    let (operator, problems) = operator::read(&manifests[0].value, &expr::Functions::builtin());
    vec![operator.unwrap_or_else(|| panic!("{problems:?}"))]
}

fn counts() -> Counts {
    let place =
        |controller: &str, of: &str| ("shop".to_owned(), controller.to_owned(), of.to_owned());
    let state = |text: &str, failing| NodeState {
        text: text.to_owned(),
        failing,
    };
    Counts {
        sources: [
            (place("health", "Pod"), 1204.0),
            (place("report", "Health"), 37.0),
            (place("report", "Broken"), 3.0),
        ]
        .into(),
        targets: [
            (place("health", "Health"), 37.0),
            (place("report", "ConfigMap"), 1.0),
        ]
        .into(),
        controllers: [
            (
                ("shop".to_owned(), "health".to_owned()),
                state("12.3 changes/s", false),
            ),
            (
                ("shop".to_owned(), "report".to_owned()),
                state("0 changes/s, 2 errors", true),
            ),
        ]
        .into(),
    }
}

#[test]
fn kinds_and_controllers_have_numbers() {
    let graph = model::Graph::new(&operators(), &counts());
    let text = mermaid::print(&graph);
    for line in [
        "n0[\"<b>Pod</b><br/><i>core</i><br/><b>1204 objects</b>\"]",
        "n1[[\"<b>health</b><br/>@select<br/><b>12.3 changes/s</b>\"]]:::controller",
        "n2([\"<b>Health</b><br/><i>view of shop</i><br/><b>37 objects</b>\"]):::view",
        "n3[[\"<b>report</b><br/>@join<br/>@project<br/><b>0 changes/s, 2 errors</b>\"]]:::failing",
        "n4[\"<b>ConfigMap</b><br/><i>core</i><br/><b>1 object</b>\"]",
        "n0 --> n1",
        // Another number than that of the kind.
        "n0 -->|3| n3",
        "n3 -->|patch| n4",
        "classDef failing stroke-width: 2px, stroke: #c62828",
    ] {
        assert!(
            text.lines().any(|found| found.trim() == line),
            "{line}\n{text}"
        );
    }
    let text = dot::print(&graph);
    for line in [
        "n0 [label=\"Pod\\n(core)\\n1204 objects\\l\"]",
        "n3 [label=\"report\\n@join\\l@project\\l0 changes/s, 2 errors\\l\", penwidth=2, color=\"#c62828\"]",
        "n0 -> n3 [label=\"3\"]",
    ] {
        assert!(
            text.lines().any(|found| found.trim() == line),
            "{line}\n{text}"
        );
    }
    let text = svg::print(&graph, crate::cli::graph::Theme::Auto);
    for part in [
        ".failing{fill:#c62828",
        ".failing{fill:#ff8a80",
        "<rect class=\"controller alarm\"",
        ">12.3 changes/s</text>",
        "<text class=\"failing\"",
        "<text class=\"now\"",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn without_numbers_nothing_is_said_about_the_present() {
    let graph = model::Graph::new(&operators(), &Counts::default());
    let texts = [
        mermaid::print(&graph),
        dot::print(&graph),
        svg::print(&graph, crate::cli::graph::Theme::Light),
    ];
    for text in texts {
        for word in ["objects", "changes", "failing", "alarm", ".now"] {
            assert!(!text.contains(word), "{word}\n{text}");
        }
    }
}
