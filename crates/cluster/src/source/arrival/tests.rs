use dataflow::fields::Intake;
use document::{Path, json};
use futures::StreamExt;
use kube::ResourceExt;
use kube::core::{ObjectList, WatchEvent};

use super::*;

fn keep(paths: &[&str]) -> Keep {
    let mut fields = Fields::default();
    for path in paths {
        fields.add_path(Path::parse(path).unwrap().segments(), &Fields::all());
    }
    Keep::new(&fields, Intake::default())
}

fn reads(keep: &Keep) -> Reads {
    Reads::Kept(keep.clone(), HeaderFields::default())
}

fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 1,
        "labels": {"app": "web"}, "managedFields": [{"manager": "m"}]
    }, "spec": {"x": 1, "y": {"z": [2]}}, "status": {"phase": "Running"}})
}

fn read(reading: &Reading, object: &str) -> Arrival {
    let line = format!(r#"{{"type":"ADDED","object":{object}}}"#);
    let event = reading.run(|| serde_json::from_str::<WatchEvent<Arrival>>(&line));
    let WatchEvent::Added(object) = event.unwrap() else {
        panic!("expected ADDED");
    };
    object
}

#[test]
fn a_single_sink_stores_the_object_as_it_was_read() {
    let own = keep(&["$.spec.x"]);
    let object = read(&Reading::new(&[reads(&own)]), &pod().to_string());
    assert_eq!(object.kept.document(), &json!({"spec": {"x": 1}}));
    let kept = object.kept(&own).unwrap();
    assert!(
        kept.document().same(object.kept.document()),
        "as it was read"
    );
    assert_eq!(object.resource_version().as_deref(), Some("7"));
    assert_eq!(object.name_any(), "a");
    assert_eq!(object.header.object_name(), object::ObjectName::of(&pod()));
    assert!(object.header.labels.is_null(), "no sink reads them");
}

#[test]
fn sinks_that_read_the_same_fields_share_one_copy() {
    let (one, same) = (keep(&["$.spec.x"]), keep(&["$.spec.x"]));
    let labels = HeaderFields {
        labels: true,
        ..HeaderFields::default()
    };
    let sinks = [reads(&one), Reads::Kept(same.clone(), labels)];
    let object = read(&Reading::new(&sinks), &pod().to_string());
    let kept = [one, same].map(|keep| object.kept(&keep).unwrap());
    assert!(kept[0].document().same(kept[1].document()));
    assert_eq!(object.header.labels, json!({"app": "web"}));
}

#[test]
fn sinks_that_read_different_fields_store_copies() {
    let keeps = [keep(&["$.spec.x"]), keep(&["$.spec.y", "$.metadata.uid"])];
    let sinks = keeps.each_ref().map(reads);
    let object = read(&Reading::new(&sinks), &pod().to_string());
    let both = json!({"metadata": {"uid": "u"}, "spec": {"x": 1, "y": {"z": [2]}}});
    assert_eq!(object.kept.document(), &both);
    for keep in &keeps {
        let kept = object.kept(keep).unwrap();
        assert_eq!(kept, keep.of(&pod()));
        let document = kept.document();
        assert!(
            document.detached().same(document),
            "it does not keep the fields of other sinks in memory"
        );
    }
    let sinks = [reads(&keeps[0]), Reads::Everything];
    let object = read(&Reading::new(&sinks), &pod().to_string());
    assert_eq!(*object.whole().unwrap(), pod());
    assert_eq!(object.kept(&keeps[0]).unwrap(), keeps[0].of(&pod()));
}

#[test]
fn elements_of_a_list_get_their_types() {
    let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}}]}"#;
    let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
    let read = |sinks: &[Reads]| {
        let reading = Reading::new(sinks).of_kind(&resource);
        let list = reading.run(|| serde_json::from_str::<ObjectList<Arrival>>(list));
        list.unwrap().items.remove(0)
    };
    let whole = read(&[Reads::Everything]);
    let typed = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
    assert_eq!(*whole.whole().unwrap(), typed);
    let kind = keep(&["$.kind"]);
    assert_eq!(
        read(&[reads(&kind)]).kept.document(),
        &json!({"kind": "Pod"})
    );
    let spec = keep(&["$.spec"]);
    assert_eq!(read(&[reads(&spec)]).kept.document(), &json!({}));
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn only_sinks_that_read_the_field_over_the_limit_fail() {
    let object = format!(
        r#"{{"spec": {{"deep": {}, "x": 1}}, "metadata": {{"name": "a", "resourceVersion": "7"}}}}"#,
        nested(200)
    );
    let (other, deep) = (keep(&["$.spec.x"]), keep(&["$.spec.deep"]));
    for sinks in [
        vec![reads(&other), reads(&deep)],
        vec![reads(&other), Reads::Everything],
    ] {
        let object = read(&Reading::new(&sinks), &object);
        assert_eq!(object.name_any(), "a");
        let kept = object.kept(&other).unwrap();
        assert_eq!(kept.document(), &json!({"spec": {"x": 1}}));
        let why = object.kept(&deep).unwrap_err();
        assert_eq!(why.to_string(), "spec is nested deeper than 100 levels");
    }
    let alone = read(&Reading::new(&[reads(&deep)]), &object);
    assert!(alone.kept(&deep).is_err());
    let alone = read(&Reading::new(&[reads(&other)]), &object);
    assert!(alone.kept(&other).is_ok());
    let whole = read(&Reading::new(&[Reads::Everything]), &object);
    assert!(whole.whole().is_err());
    let metadata = json!({"metadata": {"name": "a", "resourceVersion": "7"}});
    assert_eq!(whole.bare(), metadata);
}

#[test]
fn the_depth_of_managed_fields_does_not_count() {
    let object = format!(
        r#"{{"metadata": {{"name": "a", "managedFields": [{{"fieldsV1": {}}}]}}, "spec": {}}}"#,
        nested(120),
        nested(90)
    );
    let object = read(&Reading::new(&[Reads::Everything]), &object);
    let whole = object.whole().unwrap();
    assert_eq!(whole.get("metadata"), &json!({"name": "a"}));
}

#[tokio::test]
async fn a_reading_applies_to_its_stream_only() {
    let parsed = || serde_json::from_str::<Arrival>(&pod().to_string()).unwrap();
    let stream = futures::stream::iter(0..2).map(|_| parsed());
    let reading = Reading::new(&[reads(&keep(&["$.spec.x"]))]);
    let read: Vec<Arrival> = reading.stream(stream).collect().await;
    for object in &read {
        assert_eq!(object.kept.document(), &json!({"spec": {"x": 1}}));
    }
    assert_eq!(*parsed().whole().unwrap(), pod());
}

#[test]
fn content_is_not_printed() {
    let object = read(&Reading::new(&[Reads::Everything]), &pod().to_string());
    let printed = format!("{object:?}");
    assert!(!printed.contains("Running"), "{printed}");
    assert!(printed.contains("\"a\""), "{printed}");
}
