//! `deltic replay`: the input objects act as the cluster, and writes of controllers are applied to
//! them.

use document::Value;

use crate::common::Files;

/// An Operator with these controllers.
fn operator(controllers: &str) -> String {
    format!(
        "apiVersion: dcontroller.io/v1alpha1\nkind: Operator\nmetadata: {{ name: test }}\n\
         spec:\n  controllers: {controllers}\n"
    )
}

/// An event about an object of the core group, written as flow YAML without braces.
fn event(kind: &str, object: &str) -> Value {
    let text = format!("{{type: {kind}, object: {{apiVersion: v1, {object}}}}}");
    let manifests = manifest::parse_bytes("event", text.into_bytes()).unwrap();
    manifests[0].value.clone()
}

/// Replays batches of events. Output lines are compared in a short form: events as `TYPE kind` with
/// the content, errors by their codes.
fn check(name: &str, controllers: &str, batches: &[(&[(&str, &str)], &str)]) {
    let files =
        Files::new(&format!("cluster-{name}")).with("operator.yaml", &operator(controllers));
    let mut stream = String::new();
    for (events, _) in batches {
        let events: Value = events
            .iter()
            .map(|(kind, object)| event(kind, object))
            .collect();
        stream += &events.to_string();
    }
    let args = ["replay", "-f", "operator.yaml", "-o", "jsonl"];
    let run = files.deltic_on(stream, &args).ended(0);
    let found: Vec<String> = run.stdout.lines().map(short).collect();
    let expect: Vec<&str> = batches.iter().map(|(_, expect)| *expect).collect();
    assert_eq!(found, expect, "\n{}", run.stdout);
}

fn short(line: &str) -> String {
    let line: Value = line.parse().unwrap();
    let mut parts = Vec::new();
    for event in line.get("events").as_list().unwrap() {
        let object = event.get("object");
        let rest = object.as_map().unwrap();
        let rest = ["apiVersion", "kind"]
            .iter()
            .fold(rest.clone(), |rest, key| rest.without(key));
        let kind = event.get("type").as_str().unwrap();
        let of = object.get("kind").as_str().unwrap();
        parts.push(format!(
            "{kind} {of} {}",
            Value::from(rest).to_string().replace('"', "")
        ));
    }
    for error in line.get("errors").as_list().unwrap() {
        parts.push(
            format!("error {} of {}", error.get("code"), error.get("controller")).replace('"', ""),
        );
    }
    parts.join(" ; ")
}

const COPY: &str = r#"
  - name: copy
    sources: [{ apiGroup: "", kind: Service }]
    pipeline:
      "@project":
        metadata: { name: $.metadata.name }
        data: { x: $.spec.x }
    target: { apiGroup: "", kind: ConfigMap }
"#;

#[test]
fn an_updater_creates_repairs_and_deletes() {
    let service = "kind: Service, metadata: {name: a}, spec: {x: '1'}";
    let created = "{data:{x:1},metadata:{name:a}}";
    check(
        "updater",
        COPY,
        &[
            (&[("ADDED", service)], &format!("ADDED ConfigMap {created}")),
            // An event with the state of our object that we wrote.
            (
                &[(
                    "ADDED",
                    "kind: ConfigMap, metadata: {name: a}, data: {x: '1'}",
                )],
                "",
            ),
            // Someone else changes it: our fields are repaired, fields of others stay.
            (
                &[(
                    "MODIFIED",
                    "kind: ConfigMap, metadata: {name: a, uid: u, labels: {their: s}}, data: {x: '2', y: '3'}, status: {s: 1}",
                )],
                "MODIFIED ConfigMap {data:{x:1},metadata:{labels:{their:s},name:a,uid:u},status:{s:1}}",
            ),
            (
                &[("DELETED", "kind: ConfigMap, metadata: {name: a}")],
                &format!("ADDED ConfigMap {created}"),
            ),
            (
                &[("DELETED", "kind: Service, metadata: {name: a}")],
                &format!("DELETED ConfigMap {created}"),
            ),
        ],
    );
}

#[test]
fn an_updater_does_not_delete_what_it_did_not_create() {
    check(
        "adopted",
        COPY,
        &[
            (
                &[(
                    "ADDED",
                    "kind: ConfigMap, metadata: {name: a}, data: {x: theirs}",
                )],
                "",
            ),
            (
                &[(
                    "ADDED",
                    "kind: Service, metadata: {name: a}, spec: {x: '1'}",
                )],
                "MODIFIED ConfigMap {data:{x:1},metadata:{name:a}}",
            ),
            (&[("DELETED", "kind: Service, metadata: {name: a}")], ""),
        ],
    );
}

#[test]
fn a_patcher_waits_for_its_object() {
    let patcher = COPY.replace("kind: ConfigMap", "kind: ConfigMap, type: Patcher");
    check(
        "patcher",
        &patcher,
        &[
            (
                &[(
                    "ADDED",
                    "kind: Service, metadata: {name: a}, spec: {x: '1'}",
                )],
                "",
            ),
            (
                &[(
                    "ADDED",
                    "kind: ConfigMap, metadata: {name: a}, data: {y: '2'}",
                )],
                "MODIFIED ConfigMap {data:{x:1,y:2},metadata:{name:a}}",
            ),
            // It is created with the patched value.
            (
                &[(
                    "MODIFIED",
                    "kind: ConfigMap, metadata: {name: a}, data: {x: '1', y: '3'}",
                )],
                "",
            ),
            (&[("DELETED", "kind: ConfigMap, metadata: {name: a}")], ""),
            (
                &[("ADDED", "kind: ConfigMap, metadata: {name: a}")],
                "MODIFIED ConfigMap {data:{x:1},metadata:{name:a}}",
            ),
            (
                &[("DELETED", "kind: Service, metadata: {name: a}")],
                "MODIFIED ConfigMap {metadata:{name:a}}",
            ),
        ],
    );
}

/// The controllers are in the wrong order on purpose.
const CHAIN: &str = r#"
  - name: last
    sources: [{ kind: Middle }, { apiGroup: "", kind: Service }]
    pipeline:
    - "@join": { "@eq": [$.Middle.metadata.name, $.Service.metadata.name] }
    - "@project":
        metadata: { name: $.Middle.metadata.name }
        sum: { "@add": [$.Middle.x, $.Service.spec.x] }
    target: { kind: Last }
  - name: first
    sources: [{ apiGroup: "", kind: Service }]
    pipeline:
      "@project":
        metadata: { name: $.metadata.name }
        x: $.spec.x
    target: { kind: Middle }
"#;

#[test]
fn views_feed_the_next_controller_in_the_same_batch() {
    let service = |x: &str| format!("kind: Service, metadata: {{name: a}}, spec: {{x: {x}}}");
    check(
        "views",
        CHAIN,
        &[
            (
                &[("ADDED", &service("1"))],
                "ADDED Last {metadata:{name:a},sum:2} ; ADDED Middle {metadata:{name:a},x:1}",
            ),
            // No intermediate state is printed, such as a sum of 3.
            (
                &[("MODIFIED", &service("2"))],
                "MODIFIED Last {metadata:{name:a},sum:4} ; MODIFIED Middle {metadata:{name:a},x:2}",
            ),
            // An error of one controller does not affect the other.
            (
                &[("MODIFIED", &service("x"))],
                "MODIFIED Middle {metadata:{name:a},x:x} ; error text of last",
            ),
            (
                &[("DELETED", &service("x"))],
                "DELETED Last {metadata:{name:a},sum:4} ; DELETED Middle {metadata:{name:a},x:x}",
            ),
        ],
    );
}

#[test]
fn deletes_come_first_and_each_in_key_order() {
    let service = |name: &str| format!("kind: Service, metadata: {{name: {name}}}, spec: {{x: 1}}");
    check(
        "order",
        COPY,
        &[
            (
                &[("ADDED", &service("b")), ("ADDED", &service("a"))],
                "ADDED ConfigMap {data:{x:1},metadata:{name:a}} ; ADDED ConfigMap {data:{x:1},metadata:{name:b}}",
            ),
            (
                &[
                    ("ADDED", &service("A")),
                    ("DELETED", &service("b")),
                    ("DELETED", &service("a")),
                ],
                "DELETED ConfigMap {data:{x:1},metadata:{name:a}} ; DELETED ConfigMap {data:{x:1},metadata:{name:b}} ; \
                 ADDED ConfigMap {data:{x:1},metadata:{name:A}}",
            ),
        ],
    );
}

#[test]
fn two_controllers_on_one_object_are_a_conflict() {
    let both = format!(
        "{COPY}{}",
        COPY.replace("name: copy", "name: other")
            .replace("$.spec.x", "fix")
    );
    check(
        "conflict",
        &both,
        &[(
            &[(
                "ADDED",
                "kind: Service, metadata: {name: a}, spec: {x: '1'}",
            )],
            "ADDED ConfigMap {data:{x:1},metadata:{name:a}} ; error conflict of other",
        )],
    );
}

#[test]
fn an_origin_names_objects_positions_and_keys() {
    let controllers = r#"
  - name: join
    sources: [{ apiGroup: "", kind: Service }, { apiGroup: "", kind: Pod }]
    pipeline:
    - "@join": { "@eq": [$.Service.metadata.name, $.Pod.spec.service] }
    - "@project": { metadata: { name: x }, list: $.Pod.spec.list }
    - "@unwind": $.list
    - "@project": { metadata: { name: $.metadata.name }, n: { "@abs": $.list } }
    target: { kind: Joined }
  - name: group
    sources: [{ apiGroup: "", kind: Pod }]
    pipeline:
    - "@gather": [$.spec.service, $.spec.n]
    - "@project": { metadata: { name: { "@abs": $.spec.service } } }
    target: { kind: Grouped }
"#;
    let files = Files::new("cluster-origin").with("operator.yaml", &operator(controllers));
    let pod = "kind: Pod, metadata: {name: p, namespace: ns}, spec: {service: s, list: [x], n: 1}";
    let events: Value = [
        event("ADDED", "kind: Service, metadata: {name: s}"),
        event("ADDED", pod),
    ]
    .into_iter()
    .collect();
    let args = ["replay", "-f", "operator.yaml"];
    let run = files.deltic_on(events.to_string(), &[&args[..], &["-o", "jsonl"]].concat());
    let line: Value = run.ended(0).stdout.parse().unwrap();
    let origins: Vec<String> = line
        .get("errors")
        .as_list()
        .unwrap()
        .iter()
        .map(|error| error.get("origin").to_string())
        .collect();
    assert_eq!(
        origins,
        [
            r#"[{"name":"s","source":"Service"},{"name":"p","namespace":"ns","source":"Pod"},{"index":0}]"#,
            r#"[{"key":"s"}]"#,
        ]
    );
    files
        .deltic_on(events.to_string(), &args)
        .ended(1)
        .mentioned(&[
            "error[text] join/pipeline[3].@project Service/s + Pod/ns/p[0]: ",
            "error[text] group/pipeline[1].@project key \"s\": ",
        ]);
}
