//! Server-side apply and field managers.

use super::*;

impl Cluster {
    async fn apply(&self, manager: &str, force: bool, spec: Value) -> (u16, Value) {
        let uri = format!("{WIDGETS}/a?fieldManager={manager}&force={force}");
        let content = "application/apply-patch+yaml";
        let body = json!({"metadata": {"name": "a"}, "spec": spec});
        self.ask("PATCH", &uri, content, &body).await
    }
}

fn spec(answer: &(u16, Value)) -> &Value {
    answer.1.get("spec")
}

#[tokio::test(start_paused = true)]
async fn fields_that_are_no_longer_applied_are_removed() {
    let cluster = Cluster::new();
    let created = cluster
        .apply("m", false, json!({"a": 1, "map": {"x": 1}}))
        .await;
    assert_eq!(created.0, 201);
    let less = cluster.apply("m", false, json!({"a": 1})).await;
    assert_eq!(less.0, 200);
    assert_eq!(spec(&less), &json!({"a": 1, "defaulted": "yes"}));
    let same = cluster.apply("m", false, json!({"a": 1})).await;
    assert_eq!(version(&same.1), version(&less.1));
}

#[tokio::test(start_paused = true)]
async fn fields_of_others_are_taken_only_by_force() {
    let cluster = Cluster::new();
    cluster.apply("first", false, json!({"a": 1})).await;
    let (code, conflict) = cluster
        .apply("second", false, json!({"a": 2, "b": 2}))
        .await;
    assert_eq!(code, 409);
    let cause = at(&conflict, &["details", "causes"]).at(0);
    assert_eq!(cause.get("field"), &json!(".spec.a"));
    assert!(cause.get("message").as_str().unwrap().contains("\"first\""));
    let forced = cluster.apply("second", true, json!({"a": 2})).await;
    assert_eq!(spec(&forced).get("a"), &json!(2));
    // The first manager does not own it any more.
    let nothing = cluster.apply("first", false, json!({})).await;
    assert_eq!(spec(&nothing).get("a"), &json!(2));
}

#[tokio::test(start_paused = true)]
async fn a_field_of_two_managers_stays_until_both_release_it() {
    let cluster = Cluster::new();
    cluster.apply("first", false, json!({"a": 1})).await;
    cluster.apply("second", false, json!({"a": 1})).await;
    let one = cluster.apply("first", false, json!({})).await;
    assert_eq!(spec(&one).get("a"), &json!(1));
    let none = cluster.apply("second", false, json!({})).await;
    assert!(spec(&none).get("a").is_null());
}

#[tokio::test(start_paused = true)]
async fn an_update_owns_what_it_changes() {
    let cluster = Cluster::new();
    cluster
        .apply("applier", false, json!({"a": 1, "b": 1}))
        .await;
    let uri = format!("{WIDGETS}/a?fieldManager=human");
    let (_, changed) = cluster.patch(&uri, &json!({"spec": {"a": 2}})).await;
    let managed = at(&changed, &["metadata", "managedFields"]).as_list();
    let human = managed.unwrap().iter().find(|entry| {
        let manager = entry.get("manager").as_str();
        manager == Some("human") && entry.get("operation").as_str() == Some("Update")
    });
    assert_eq!(
        human.unwrap().get("fieldsV1"),
        &json!({"f:spec": {"f:a": {}}})
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_creates_a_map_owns_it_without_what_others_add() {
    let cluster = Cluster::new();
    let create = json!({"metadata": {"name": "a"}, "spec": {"map": {"x": 1}}});
    let uri = format!("{WIDGETS}?fieldManager=human");
    cluster.ask("POST", &uri, "application/json", &create).await;
    let (_, applied) = cluster
        .apply("m", true, json!({"map": {"x": 2, "y": 2}}))
        .await;
    let managed = at(&applied, &["metadata", "managedFields"])
        .as_list()
        .unwrap();
    let fields = |manager: &str| {
        let mut entries = managed.iter();
        let entry = entries.find(|entry| entry.get("manager").as_str() == Some(manager));
        entry.unwrap().get("fieldsV1").get("f:spec").clone()
    };
    assert_eq!(
        fields("human"),
        json!({".": {}, "f:defaulted": {}, "f:map": {}})
    );
    assert_eq!(fields("m"), json!({"f:map": {"f:x": {}, "f:y": {}}}));
    let nothing = cluster.apply("m", false, json!({})).await;
    let left = spec(&nothing).as_map().unwrap();
    assert_eq!(left.get_str("map"), Some(&Value::NULL), "the map is theirs");
}

#[tokio::test(start_paused = true)]
async fn a_map_of_a_kind_with_go_types_is_never_null() {
    let cluster = Cluster::new();
    let uri = "/apis/apps/v1/namespaces/ns/deployments";
    let object = |spec: Value| json!({"metadata": {"name": "a"}, "spec": spec});
    let created = format!("{uri}?fieldManager=human");
    let theirs = object(json!({"replicas": 1, "map": {"x": 1}}));
    cluster
        .ask("POST", &created, "application/json", &theirs)
        .await;
    let applied = format!("{uri}/a?fieldManager=m&force=true");
    let content = "application/apply-patch+yaml";
    let ours = object(json!({"map": {"x": 2}}));
    cluster.ask("PATCH", &applied, content, &ours).await;
    let nothing = object(json!({}));
    let left = cluster.ask("PATCH", &applied, content, &nothing).await;
    assert_eq!(spec(&left).get("replicas"), &json!(1));
    assert_eq!(spec(&left).as_map().unwrap().get_str("map"), None);
}
