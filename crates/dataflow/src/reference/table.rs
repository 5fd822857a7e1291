//! The stages, and the other parts of pipelines.

use super::{StageDoc, StageExample};

const POD: &[&str] = &["Pod"];
const REPORT: &[&str] = &["Report"];

/// All stages and other parts of pipelines, in the order of the page.
pub const STAGES: &[StageDoc] = &[
    StageDoc {
        name: "@join",
        aliases: &[],
        signature: "\"@join\": <condition>",
        summary: "Combines the objects of several sources: one document for each combination for which the condition holds.",
        rules: &[
            "It must be the first stage, and is needed with two or more sources.",
            "The document has one key for each source: its kind, or its name if the source has `as`.",
            "An `@eq` of a field of one source and a field of another makes an index, so that partners are found without comparing all objects. `@in` and `@selector` do the same for lists and label selectors; `deltic explain` shows the indexes.",
            "Missing fields do not join: two nulls that were computed are not equal.",
            "A combination for which a part of the condition is false is left out, even if another part fails.",
        ],
        examples: &[StageExample {
            title: "Pods with the node that they run on",
            sources: &["Pod", "Node"],
            targets: REPORT,
            pipeline: r#"
- "@join": { "@eq": [$.Pod.spec.nodeName, $.Node.metadata.name] }
- "@project":
    metadata: { name: $.Pod.metadata.name }
    zone: $.Node.metadata.labels.zone
"#,
            input: r"
kind: Pod
metadata: { name: web }
spec: { nodeName: n1 }
---
kind: Pod
metadata: { name: pending }
---
kind: Node
metadata: { name: n1, labels: { zone: a } }
",
            output: r"
metadata: { name: web }
zone: a
",
        }],
        errors: &[
            "join-not-first",
            "join-missing",
            "duplicate-source",
            "too-many-sources",
            "volatile-key",
        ],
    },
    StageDoc {
        name: "soft join",
        aliases: &[],
        signature: "\"@join\": { \"on\": <condition>, soft: [<source>, …] }",
        summary: "A join in which the sources under `soft` may have no partner: their key is then null, once.",
        rules: &[
            "The other sources are joined first; then each soft one, in the order of `sources`, by the parts of the condition that mention it.",
            "Several partners in a soft source multiply the document: there is one for each of them, as in any join. A `@gather` or `@groupBy` behind the join collects them.",
            "At least one source is not soft.",
            "`\"on\"` needs its quotes: kubectl reads `on` as the boolean `true`.",
            "`[<condition>, {soft: …}]` means the same. There, `index: [<path>, <path>]` adds an `@eq` to the condition.",
        ],
        examples: &[StageExample {
            title: "All Deployments, with their autoscaler if there is one",
            sources: &["Deployment", "Autoscaler"],
            targets: REPORT,
            pipeline: r#"
- "@join":
    "on": { "@eq": [$.Deployment.metadata.name, $.Autoscaler.spec.target] }
    soft: [Autoscaler]
- "@project":
    metadata: { name: $.Deployment.metadata.name }
    max: { "@definedOr": [$.Autoscaler.spec.max, $.Deployment.spec.replicas] }
"#,
            input: r"
kind: Deployment
metadata: { name: db }
spec: { replicas: 1 }
---
kind: Deployment
metadata: { name: web }
spec: { replicas: 3 }
---
kind: Autoscaler
metadata: { name: x }
spec: { target: web, max: 10 }
",
            output: r"
metadata: { name: db }
max: 1
---
metadata: { name: web }
max: 10
",
        }],
        errors: &["all-soft", "unknown-name"],
    },
    StageDoc {
        name: "@select",
        aliases: &[],
        signature: "\"@select\": <condition>",
        summary: "Passes the documents for which the condition is true, unchanged.",
        rules: &[
            "The condition must be true or false: null and texts are errors. `@exists` and `@definedOr` handle missing fields.",
        ],
        examples: &[StageExample {
            title: "Pods that run",
            sources: POD,
            targets: REPORT,
            pipeline: r#"
- "@select": { "@eq": [$.status.phase, Running] }
- "@project": { metadata: { name: $.metadata.name } }
"#,
            input: r"
kind: Pod
metadata: { name: a }
status: { phase: Running }
---
kind: Pod
metadata: { name: b }
status: { phase: Pending }
",
            output: r"
metadata: { name: a }
",
        }],
        errors: &["type"],
    },
    StageDoc {
        name: "@project",
        aliases: &[],
        signature: "\"@project\": <map of expressions>\n\"@project\": [<map of expressions>, …]",
        summary: "Builds a new document.",
        rules: &[
            "A key that starts with `$.` sets a field; `\"$.\"` copies all keys of a map. Plain keys overwrite what `\"$.\"` copied, and setters are applied last. All of them read the input.",
            "With a list, every item changes the result so far: maps are merged, lists and scalars replaced, setters set in place.",
        ],
        examples: &[
            StageExample {
                title: "A new object from two fields",
                sources: POD,
                targets: REPORT,
                pipeline: r#"
- "@project":
    metadata: { name: { "@concat": [$.metadata.name, -report] } }
    images: { "@map": [$$.image, $.spec.containers] }
"#,
                input: r"
kind: Pod
metadata: { name: web }
spec: { containers: [{ image: nginx }, { image: envoy }] }
",
                output: r"
metadata: { name: web-report }
images: [nginx, envoy]
",
            },
            StageExample {
                title: "A copy with one field set",
                sources: POD,
                targets: REPORT,
                pipeline: r#"
- "@project":
  - { metadata: { name: $.metadata.name }, spec: $.spec }
  - { "$.spec.replicas": 2 }
"#,
                input: r"
kind: Pod
metadata: { name: web }
spec: { replicas: 1, paused: true }
",
                output: r"
metadata: { name: web }
spec: { replicas: 2, paused: true }
",
            },
        ],
        errors: &["empty-project", "no-object", "root-setter", "bad-setter"],
    },
    StageDoc {
        name: "@unwind",
        aliases: &["@demux"],
        signature: "\"@unwind\": <path of a list>",
        summary: "Yields a document for every element of a list, with the element in place of the list.",
        rules: &[
            "The name gets the position: `web-0`, `web-1`; after a second `@unwind`, `web-0-1`.",
            "A list that is missing, null or empty yields nothing; another type is an error.",
            "The path must match at most one field: no wildcard, filter, slice or `..`.",
        ],
        examples: &[StageExample {
            title: "One document for each container",
            sources: POD,
            targets: REPORT,
            pipeline: r#"
- "@unwind": $.spec.containers
- "@project":
    metadata: { name: $.metadata.name }
    image: $.spec.containers.image
"#,
            input: r"
kind: Pod
metadata: { name: web }
spec: { containers: [{ image: nginx }, { image: envoy }] }
",
            output: r"
metadata: { name: web-0 }
image: nginx
---
metadata: { name: web-1 }
image: envoy
",
        }],
        errors: &["plural-path", "no-list", "unwind-without-name"],
    },
    StageDoc {
        name: "@gather",
        aliases: &["@mux"],
        signature: "\"@gather\": [<key>, <path>]",
        summary: "Groups documents by a key: one document for each group, the first member, in which the field at the path is the list of the values of all members.",
        rules: &[
            "Members are in the order of their origins, and equal values are kept.",
            "A document whose key or value is null is skipped. A group without members disappears.",
            "It is the inverse of `@unwind`.",
        ],
        examples: &[StageExample {
            title: "The names of the Pods of each node",
            sources: POD,
            targets: REPORT,
            pipeline: r#"
- "@project":
    metadata: { name: $.spec.nodeName }
    pods: $.metadata.name
- "@gather": [$.metadata.name, $.pods]
"#,
            input: r"
kind: Pod
metadata: { name: a }
spec: { nodeName: n1 }
---
kind: Pod
metadata: { name: b }
spec: { nodeName: n2 }
---
kind: Pod
metadata: { name: c }
spec: { nodeName: n1 }
",
            output: r"
metadata: { name: n1 }
pods: [a, c]
---
metadata: { name: n2 }
pods: [b]
",
        }],
        errors: &["bad-argument", "plural-path", "volatile-key"],
    },
    StageDoc {
        name: "@groupBy",
        aliases: &[],
        signature: "\"@groupBy\": [<key>, <value>, {distinct: <boolean>}]",
        summary: "Groups documents by a key into `{key, values, documents}`.",
        rules: &[
            "`values` are the values of the members, `documents` the members themselves, in the order of their origins. A value of null is left out of `values`.",
            "If the value is written as `null`, the whole document is collected. `distinct` keeps the first of equal values.",
            "A document whose key is null is skipped. The result has no metadata, so that a `@project` has to follow.",
        ],
        examples: &[StageExample {
            title: "How many Pods each node has, and their images",
            sources: POD,
            targets: REPORT,
            pipeline: r#"
- "@groupBy": [$.spec.nodeName, $.spec.image, { distinct: true }]
- "@project":
    metadata: { name: $.key }
    pods: { "@len": $.documents }
    images: $.values
"#,
            input: r"
kind: Pod
metadata: { name: a }
spec: { nodeName: n1, image: nginx }
---
kind: Pod
metadata: { name: b }
spec: { nodeName: n1, image: nginx }
",
            output: r"
metadata: { name: n1 }
pods: 2
images: [nginx]
",
        }],
        errors: &["bad-argument", "volatile-key"],
    },
    StageDoc {
        name: "@distinct",
        aliases: &[],
        signature: "\"@distinct\"",
        summary: "Passes each document once, however many equal ones there are.",
        rules: &["It takes no argument; `\"@distinct\": null` and `{}` mean the same."],
        examples: &[StageExample {
            title: "All node names that Pods use",
            sources: POD,
            targets: REPORT,
            pipeline: r#"
- "@project": { metadata: { name: $.spec.nodeName } }
- "@distinct"
"#,
            input: r"
kind: Pod
metadata: { name: a }
spec: { nodeName: n1 }
---
kind: Pod
metadata: { name: b }
spec: { nodeName: n1 }
",
            output: r"
metadata: { name: n1 }
",
        }],
        errors: &["bad-argument"],
    },
    StageDoc {
        name: "@patch",
        aliases: &[],
        signature: "\"@patch\": { operations: [<operation>, …], at: <path>, where: <CEL>, forEach: <CEL>, var: <name>, strict: <boolean> }",
        summary: "Changes the document with JSON Patch operations, and `merge`; `${…}` in paths and values is CEL, in which `resource` is the document.",
        rules: &[
            "Paths can select elements of lists: `/spec/containers[?(@.name=='app')]/env/-`. A filter without a match skips the operation, unless `strict` is true.",
            "`at` is the part of the document that is patched; without it, all of it.",
            "Everything but `operations` is optional. The guide [patch.md](../patch.md) has all operations.",
        ],
        examples: &[StageExample {
            title: "An environment variable for one container",
            sources: POD,
            targets: REPORT,
            pipeline: r#"
- "@project": { metadata: { name: $.metadata.name }, spec: $.spec }
- "@patch":
    operations:
    - op: add
      path: /spec/containers[?(@.name=='app')]/env
      value: [{ name: POD, value: "${resource.metadata.name}" }]
"#,
            input: r"
kind: Pod
metadata: { name: web }
spec: { containers: [{ name: app }, { name: proxy }] }
",
            output: r"
metadata: { name: web }
spec:
  containers:
  - { name: app, env: [{ name: POD, value: web }] }
  - { name: proxy }
",
        }],
        errors: &["patch-no-place", "bad-argument"],
    },
    StageDoc {
        name: "branches",
        aliases: &["@inputs", "@output"],
        signature: "- - \"@inputs\": [<source or output>, …]\n  - <stage>\n  - \"@output\": <target or name>\n- …",
        summary: "A pipeline may be a list of branches, each a list of stages that starts with `@inputs` and ends with `@output`.",
        rules: &[
            "An input is a source, by kind or `as`, or the output of another branch. An output is the kind of a target, or a name that other branches read.",
            "Several branches with the same output are a union. A branch with several inputs starts with a `@join` after `@inputs`.",
            "Every output must be a target or be read, every target must have a branch, and branches must not read each other in a cycle.",
        ],
        examples: &[StageExample {
            title: "A union of two sources",
            sources: &["Pod", "Job"],
            targets: REPORT,
            pipeline: r#"
- - "@inputs": [Pod]
  - "@project": { metadata: { name: { "@concat": [pod-, $.metadata.name] } } }
  - "@output": Report
- - "@inputs": [Job]
  - "@project": { metadata: { name: { "@concat": [job-, $.metadata.name] } } }
  - "@output": Report
"#,
            input: r"
kind: Pod
metadata: { name: a }
---
kind: Job
metadata: { name: b }
",
            output: r"
metadata: { name: job-b }
---
metadata: { name: pod-a }
",
        }],
        errors: &[
            "bad-branch",
            "unknown-name",
            "unused-stream",
            "target-without-branch",
            "branches-missing",
            "source-as-output",
            "branch-cycle",
        ],
    },
    StageDoc {
        name: "@aggregate",
        aliases: &[],
        signature: "{ \"@join\": <condition>, \"@aggregate\": [<stage>, …] }",
        summary: "The form of old Operators: a pipeline may be a map of `@aggregate`, with a stage or a list of stages, and perhaps `@join`. It means the list of the `@join` and these stages.",
        rules: &[],
        examples: &[StageExample {
            title: "A stage without a list",
            sources: POD,
            targets: REPORT,
            pipeline: r#"
"@aggregate":
  "@project": { metadata: { name: $.metadata.name }, node: $.spec.nodeName }
"#,
            input: r"
kind: Pod
metadata: { name: web }
spec: { nodeName: n1 }
",
            output: r"
metadata: { name: web }
node: n1
",
        }],
        errors: &["unknown-stage"],
    },
    StageDoc {
        name: "output",
        aliases: &[],
        signature: "{ metadata: { name: <string>, namespace: <string> }, … }",
        summary: "What leaves the last stage becomes an object of the target.",
        rules: &[
            "Of the metadata, name, namespace, labels, annotations and ownerReferences are used.",
            "If two origins yield the same name, the first in the order of origins is written; the others wait, and a conflict is reported. Equal documents of several origins are one object, without a conflict.",
        ],
        examples: &[StageExample {
            title: "An empty pipeline copies",
            sources: POD,
            targets: REPORT,
            pipeline: "[]",
            input: r"
kind: Pod
metadata: { name: web, namespace: shop }
spec: { n: 1 }
",
            output: r"
metadata: { name: web, namespace: shop }
spec: { n: 1 }
",
        }],
        errors: &[
            "output-no-object",
            "output-no-metadata",
            "output-no-name",
            "output-bad-namespace",
            "bad-name",
            "wrong-scope",
            "outside-namespace",
            "conflict",
            "too-large",
            "too-deep",
        ],
    },
];
