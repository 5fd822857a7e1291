use expr::Functions;

use super::*;

fn operator(spec: &str) -> Operator {
    let text = format!(
        "apiVersion: dcontroller.io/v1alpha1\nkind: Operator\nmetadata: {{name: op}}\nspec: {spec}\n"
    );
    let manifests = manifest::parse_bytes("operator.yaml", text.into_bytes()).unwrap();
    let (operator, problems) = operator::read(&manifests[0].value, &Functions::builtin());
    operator.unwrap_or_else(|| panic!("{problems:?}"))
}

/// A role or binding in short form: `kind namespace/name`, then its rules.
fn short(role: &Value) -> String {
    let texts = |list: &Value| {
        let texts = list.as_list().map(document::ListRef::to_vec);
        let texts = texts.unwrap_or_default();
        let texts: Vec<_> = texts.iter().filter_map(Value::as_str).collect();
        texts.join(",")
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = role.get("metadata");
    let mut lines = vec![format!(
        "{} {}/{}",
        text(role.get("kind")),
        text(metadata.get("namespace")),
        text(metadata.get("name"))
    )];
    for rule in role
        .get("rules")
        .as_list()
        .into_iter()
        .flat_map(document::ListRef::to_vec)
    {
        let names = texts(rule.get("resourceNames"));
        let names = if names.is_empty() {
            names
        } else {
            format!("[{names}]")
        };
        lines.push(format!(
            "{}/{}{names}: {}",
            texts(rule.get("apiGroups")),
            texts(rule.get("resources")),
            texts(rule.get("verbs"))
        ));
    }
    for subject in role
        .get("subjects")
        .as_list()
        .into_iter()
        .flat_map(document::ListRef::to_vec)
    {
        let (namespace, name) = (subject.get("namespace"), subject.get("name"));
        lines.push(format!("{}/{}", text(namespace), text(name)));
    }
    lines.join("\n")
}

/// The account that deltic runs as.
fn system_account() -> ServiceAccount {
    ServiceAccount {
        namespace: "system".to_owned(),
        name: "deltic".to_owned(),
    }
}

fn check(spec: &str, options: &Options<'_>, expect: &[&str]) {
    let roles = roles(&operator(spec), &WellKnown, options);
    let found: Vec<String> = roles.iter().map(short).collect();
    assert_eq!(found, expect);
}

/// The permissions that every Operator needs.
const OWN: &str = "dcontroller.io/operators: get,list,watch
dcontroller.io/operators/status[op]: patch";
const EVENTS: &str = "Role default/deltic-op\nevents.k8s.io/events: create,patch";

/// The rules about objects that an Operator with one controller needs.
fn objects(sources: &str, pipeline: &str, target: &str) -> String {
    let spec = format!(
        "{{controllers: [{{name: c, sources: [{sources}], pipeline: {pipeline}, target: {target}}}]}}"
    );
    let roles = roles(&operator(&spec), &WellKnown, &Options::default());
    let [role, events] = roles.as_slice() else {
        panic!("{roles:?}");
    };
    assert_eq!(short(events), EVENTS);
    let own: Vec<_> = OWN.lines().collect();
    let role = short(role);
    let rules = role.lines().skip(1).filter(|line| !own.contains(line));
    rules.collect::<Vec<_>>().join("; ")
}

const POD: &str = "{apiGroup: '', kind: Pod}";
const NAMED: &str = "{'@project': {metadata: {name: $.metadata.name}}}";

#[test]
fn each_type_of_target_has_its_verbs() {
    let of = |kind: &str| {
        objects(
            POD,
            NAMED,
            &format!("{{apiGroup: apps, kind: Deployment, type: {kind}}}"),
        )
    };
    let updater =
        "/namespaces,pods: list,watch; apps/deployments: get,list,watch,create,update,patch,delete";
    assert_eq!(of("Updater"), updater);
    assert_eq!(of("Setter"), updater);
    assert_eq!(
        of("Patcher"),
        "/pods: list,watch; apps/deployments: get,list,watch,patch"
    );
    assert_eq!(
        of("Applier"),
        "/namespaces,pods: list,watch; apps/deployments: get,list,watch,create,patch,delete"
    );
}

#[test]
fn a_kind_that_is_read_and_written_has_one_rule() {
    assert_eq!(
        objects(POD, NAMED, "{apiGroup: '', kind: Pod, type: Patcher}"),
        "/pods: get,list,watch,patch"
    );
}

#[test]
fn views_and_ticks_need_nothing() {
    let sources = "{kind: View}, {apiGroup: apps, kind: Deployment, type: Periodic}";
    assert_eq!(objects(sources, NAMED, "{kind: Other}"), "");
    let sources = "{apiGroup: '', kind: ConfigMap, type: OneShot}";
    assert_eq!(objects(sources, NAMED, "{kind: Other}"), "");
}

#[test]
fn the_status_may_be_written_if_the_pipeline_may_yield_it() {
    let of = |pipeline: &str| {
        let rules = objects(POD, pipeline, "{apiGroup: '', kind: Pod, type: Patcher}");
        rules.contains("pods/status: patch")
    };
    let name = "metadata: {name: x}";
    for (pipeline, expect) in [
        (format!("{{'@project': {{{name}}}}}"), false),
        (
            format!("{{'@project': {{{name}, status: {{a: 1}}}}}}"),
            true,
        ),
        (
            format!("{{'@project': [{{{name}}}, {{$.status.a: 1}}]}}"),
            true,
        ),
        (
            format!("{{'@project': [{{{name}}}, {{$.spec.a: 1}}]}}"),
            false,
        ),
        ("[]".to_owned(), true),
        ("{'@select': true}".to_owned(), true),
        (
            format!("[{{'@project': {{{name}}}}}, {{'@select': true}}]"),
            false,
        ),
        // The copy of a document that an earlier stage has reduced.
        (
            format!("[{{'@project': {{{name}}}}}, {{'@project': {{$.: $., a: 1}}}}]"),
            false,
        ),
        (
            format!("[{{'@project': {{{name}, status: $.status}}}}, {{'@project': {{$.: $.}}}}]"),
            true,
        ),
        ("{'@project': {$.: $.}}".to_owned(), true),
        ("{'@project': $}".to_owned(), true),
    ] {
        assert_eq!(of(&pipeline), expect, "{pipeline}");
    }
    // A kind without a status needs no permission on it.
    let map = objects(POD, "[]", "{apiGroup: '', kind: ConfigMap, type: Patcher}");
    assert!(!map.contains("status"), "{map}");
}

#[test]
fn a_source_in_one_namespace_needs_a_role_there() {
    let spec = "{controllers: [{name: c, sources: [{apiGroup: '', kind: Secret, namespace: a}, {apiGroup: '', kind: Node, namespace: a, as: N}],
        pipeline: [{'@join': true}, {'@project': {metadata: {name: x}}}], target: {kind: V}}]}";
    let cluster = format!("ClusterRole /deltic-op\n/nodes: list,watch\n{OWN}");
    check(
        spec,
        &Options::default(),
        &[&cluster, "Role a/deltic-op\n/secrets: list,watch", EVENTS],
    );
}

#[test]
fn namespaces_are_watched_only_for_objects_that_are_created_in_some() {
    let node = objects(POD, NAMED, "{apiGroup: '', kind: Node}");
    assert!(!node.contains("namespaces"), "{node}");
    // With `--namespace` only that namespace.
    let spec = format!(
        "{{controllers: [{{name: c, sources: [{POD}], pipeline: {NAMED}, target: {{apiGroup: '', kind: ConfigMap}}}}]}}"
    );
    let options = Options {
        namespace: Some("a"),
        ..Options::default()
    };
    let cluster = format!("ClusterRole /deltic-op\n/namespaces[a]: list,watch\n{OWN}");
    let role = "Role a/deltic-op\n/configmaps: get,list,watch,create,update,patch,delete\n/pods: list,watch";
    check(&spec, &options, &[&cluster, role, EVENTS]);
}

#[test]
fn with_a_namespace_roles_are_in_that_namespace() {
    let spec = format!(
        "{{controllers: [{{name: c, sources: [{POD}], pipeline: {NAMED}, target: {{apiGroup: '', kind: ConfigMap, type: Patcher}}}}]}}"
    );
    let options = Options {
        namespace: Some("a"),
        ..Options::default()
    };
    let cluster = format!("ClusterRole /deltic-op\n{OWN}");
    let role = "Role a/deltic-op\n/configmaps: get,list,watch,patch\n/pods: list,watch";
    check(&spec, &options, &[&cluster, role, EVENTS]);
}

#[test]
fn an_instance_gets_its_lease_as_well() {
    let spec = format!("{{controllers: [{{name: c, sources: [{POD}], target: {{kind: V}}}}]}}");
    let account = system_account();
    let options = Options {
        account: Some(&account),
        instance: Some("dev"),
        ..Options::default()
    };
    let cluster = format!("ClusterRole /deltic-op\n/pods: list,watch\n{OWN}");
    let leases = "coordination.k8s.io/leases: create\n\
        coordination.k8s.io/leases[deltic,deltic-instance-dev]: get,update";
    check(
        &spec,
        &options,
        &[
            &cluster,
            "ClusterRoleBinding /deltic-op\nsystem/deltic",
            EVENTS,
            "RoleBinding default/deltic-op\nsystem/deltic",
            &format!("Role system/deltic-op\n{leases}"),
            "RoleBinding system/deltic-op\nsystem/deltic",
        ],
    );
}

#[test]
fn an_account_gets_bindings_and_its_lease() {
    let spec = format!("{{controllers: [{{name: c, sources: [{POD}], target: {{kind: V}}}}]}}");
    let account = system_account();
    let options = Options {
        account: Some(&account),
        ..Options::default()
    };
    let cluster = format!("ClusterRole /deltic-op\n/pods: list,watch\n{OWN}");
    check(
        &spec,
        &options,
        &[
            &cluster,
            "ClusterRoleBinding /deltic-op\nsystem/deltic",
            EVENTS,
            "RoleBinding default/deltic-op\nsystem/deltic",
            "Role system/deltic-op\ncoordination.k8s.io/leases: create\ncoordination.k8s.io/leases[deltic]: get,update",
            "RoleBinding system/deltic-op\nsystem/deltic",
        ],
    );
}

#[test]
fn an_installation_may_read_operators_and_write_their_status() {
    let account = system_account();
    let options = Options {
        account: Some(&account),
        ..Options::default()
    };
    let roles: Vec<String> = base("deltic", &options).iter().map(short).collect();
    let expect = [
        "ClusterRole /deltic\ndcontroller.io/operators: get,list,watch\ndcontroller.io/operators/status: patch",
        "ClusterRoleBinding /deltic\nsystem/deltic",
        "Role default/deltic\nevents.k8s.io/events: create,patch",
        "RoleBinding default/deltic\nsystem/deltic",
        "Role system/deltic\ncoordination.k8s.io/leases: create\ncoordination.k8s.io/leases[deltic]: get,update",
        "RoleBinding system/deltic\nsystem/deltic",
    ];
    assert_eq!(roles, expect);
}

#[test]
fn the_account_of_an_operator_has_its_own_roles() {
    let spec = format!(
        "{{serviceAccount: {{namespace: team, name: bot}}, controllers: [{{name: c, sources: [{POD}], target: {{kind: V}}}}]}}"
    );
    let cluster = format!("ClusterRole /deltic-op\n{OWN}");
    check(
        &spec,
        &Options::default(),
        &[
            &cluster,
            EVENTS,
            "Role team/deltic-op\n/serviceaccounts[bot]: impersonate",
            "ClusterRole /deltic-op-account\n/pods: list,watch",
            "ClusterRoleBinding /deltic-op-account\nteam/bot",
        ],
    );
}

#[test]
fn deleting_what_was_derived_needs_a_finalizer() {
    let spec = format!(
        "{{deletionPolicy: Delete, controllers: [{{name: c, sources: [{POD}], target: {{kind: V}}}}]}}"
    );
    let cluster = "ClusterRole /deltic-op
/pods: list,watch
dcontroller.io/operators: get,list,watch
dcontroller.io/operators,operators/status[op]: patch
dcontroller.io/operators/finalizers[op]: update";
    check(&spec, &Options::default(), &[cluster, EVENTS]);
}

#[test]
fn an_account_needs_permission_on_views_of_other_operators() {
    let view = |group: &str, namespace: &str| {
        format!("{{apiGroup: {group}.view.dcontroller.io, kind: Health{namespace}}}")
    };
    let spec = |account: &str, source: &str| {
        format!("{{{account}controllers: [{{name: c, sources: [{source}], target: {{kind: V}}}}]}}")
    };
    let account = "serviceAccount: {namespace: team, name: bot}, ";
    let impersonate = "Role team/deltic-op\n/serviceaccounts[bot]: impersonate";
    let reviews =
        format!("ClusterRole /deltic-op\nauthorization.k8s.io/subjectaccessreviews: create\n{OWN}");
    check(
        &spec(account, &view("other", "")),
        &Options::default(),
        &[
            &reviews,
            EVENTS,
            impersonate,
            "ClusterRole /deltic-op-account\nother.view.dcontroller.io/health: list,watch",
            "ClusterRoleBinding /deltic-op-account\nteam/bot",
        ],
    );
    check(
        &spec(account, &view("other", ", namespace: a")),
        &Options::default(),
        &[
            &reviews,
            EVENTS,
            impersonate,
            "Role a/deltic-op-account\nother.view.dcontroller.io/health: list,watch",
            "RoleBinding a/deltic-op-account\nteam/bot",
        ],
    );
    // Neither its own views, nor deltic itself.
    let cluster = format!("ClusterRole /deltic-op\n{OWN}");
    check(
        &spec(account, &view("op", "")),
        &Options::default(),
        &[&cluster, EVENTS, impersonate],
    );
    check(
        &spec("", &view("other", "")),
        &Options::default(),
        &[&cluster, EVENTS],
    );
}

#[test]
fn owners_need_permission_on_their_finalizers() {
    let owned = "{'@project': {metadata: {name: $.metadata.name, ownerReferences: [{uid: $.metadata.uid}]}}}";
    let of = |kind: &str| {
        objects(
            POD,
            owned,
            &format!("{{apiGroup: apps, kind: Deployment, type: {kind}}}"),
        )
    };
    // Whoever changes the owners of an object needs the permission to delete it.
    assert_eq!(
        of("Patcher"),
        "/pods: list,watch; /pods/finalizers: update; apps/deployments: get,list,watch,patch,delete"
    );
    assert_eq!(
        of("Applier"),
        "/namespaces,pods: list,watch; /pods/finalizers: update; \
         apps/deployments: get,list,watch,create,patch,delete"
    );
}

#[test]
fn with_a_namespace_cluster_scoped_targets_are_only_read() {
    let spec = format!(
        "{{controllers: [{{name: c, sources: [{POD}], pipeline: {NAMED}, target: {{apiGroup: '', kind: Node}}}}]}}"
    );
    let options = Options {
        namespace: Some("a"),
        ..Options::default()
    };
    let cluster = format!("ClusterRole /deltic-op\n/nodes: list,watch\n{OWN}");
    let role = "Role a/deltic-op\n/pods: list,watch";
    check(&spec, &options, &[&cluster, role, EVENTS]);
}

#[test]
fn serving_views_needs_reviews_and_registrations() {
    let operator = operator(
        "{controllers: [{name: c, sources: [{apiGroup: example.com, kind: Item}], \
         pipeline: [], target: {kind: V}}]}",
    );
    let account = ServiceAccount {
        namespace: "sys".to_owned(),
        name: "deltic".to_owned(),
    };
    let print = |serve, aggregate| {
        let options = Options {
            account: Some(&account),
            serve,
            aggregate,
            ..Options::default()
        };
        let roles = roles(&operator, &WellKnown, &options);
        let lines: Vec<String> = roles.iter().map(short).collect();
        lines.join("\n")
    };
    let plain = print(false, None);
    let added = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !plain.lines().any(|old| old == *line));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(
        added(&print(true, None)),
        [
            "authentication.k8s.io/tokenreviews: create",
            "authorization.k8s.io/subjectaccessreviews: create",
            "Role kube-system/deltic-op",
            "/configmaps[extension-apiserver-authentication]: get",
            "RoleBinding kube-system/deltic-op",
            "/secrets: create",
            "/secrets[deltic-serving]: get",
        ]
    );
    assert_eq!(
        added(&print(false, Some(None))),
        [
            "apiregistration.k8s.io/apiservices: list,create",
            "apiregistration.k8s.io/apiservices[v1alpha1.op.view.dcontroller.io]: update,delete",
            "authorization.k8s.io/subjectaccessreviews: create",
            "Role kube-system/deltic-op",
            "/configmaps[extension-apiserver-authentication]: get",
            "RoleBinding kube-system/deltic-op",
            "/secrets: create",
            "/secrets[deltic-serving]: get",
            "discovery.k8s.io/endpointslices: create",
            "discovery.k8s.io/endpointslices[deltic-views]: get,update,delete",
        ]
    );
}

#[test]
fn a_view_that_users_fill_is_served_too() {
    let needs = |source: &str| {
        let operator = operator(&format!(
            "{{controllers: [{{name: c, sources: [{source}], pipeline: {NAMED}, \
             target: {{apiGroup: '', kind: ConfigMap}}}}]}}"
        ));
        let options = Options {
            aggregate: Some(None),
            ..Options::default()
        };
        let roles = roles(&operator, &WellKnown, &options);
        let lines: Vec<String> = roles.iter().map(short).collect();
        lines.join("\n").contains("apiservices[v1alpha1.op.view")
    };
    assert!(needs("{kind: Filled}"));
    assert!(!needs(
        "{apiGroup: other.view.dcontroller.io, kind: Filled}"
    ));
    assert!(!needs(POD));
}
