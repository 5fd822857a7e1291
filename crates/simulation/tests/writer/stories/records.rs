//! The record on the object: what it holds, when it is lost, and its first format.

use super::*;

#[tokio::test(start_paused = true)]
async fn long_values_and_those_of_secrets_are_not_kept() {
    let long = Value::from("x".repeat(2000));
    let theirs = json!({"data": {"long": (long.clone()), "short": "MQ=="}});
    let steps = |left: Value| {
        let patch = json!({"data": {"long": "Mg==", "short": "Mg==", "new": "Mg=="}});
        [Wants("p", patch), Restart, Gone("p"), Is(left)]
    };
    let left = json!({"data": {"long": "Mg==", "short": "MQ=="}});
    check(theirs.clone(), &steps(left)).await;
    let left = json!({"data": {"long": "Mg==", "short": "Mg=="}});
    let secret = ObjectKey::new("", "Secret", "ns", "x");
    check_on(secret, theirs, &steps(left)).await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_too_large_is_an_error_before_any_write() {
    let mut story = Story::new(config_map("x"), &json!({"data": {"a": "1"}}));
    let fields = (0..6000).map(|i| {
        let name = format!("a-field-with-a-name-{i}");
        (document::Key::new(&name), Value::from("1"))
    });
    let data: document::Map = fields.collect();
    let document = json!({"data": data});
    story.h.sim.take_sent();
    story
        .h
        .want(&story.key, &controller_of("p", &document).wants(&document));
    let other = json!({"data": {"b": "1"}});
    story
        .h
        .want(&story.key, &controller_of("q", &other).wants(&other));
    story.h.settle().await;
    assert_eq!(story.h.codes(&story.key), ["record-too-large"].into());
    assert_eq!(story.on_server(), json!({"data": {"a": "1", "b": "1"}}));
    story
        .h
        .want(&story.key, &controller_of("p", &other).wants(&other));
    story.h.settle().await;
    assert!(story.h.codes(&story.key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_record_that_we_took_off_stays_off() {
    let containers = |fields: Value| {
        let named = document::merge(&json!({"name": "side"}), &fields);
        json!({"spec": {"containers": [named]}})
    };
    let steps = [
        Wants("q", containers(json!({}))),
        They(containers(json!({"image": "1"}))),
        Wants("p", containers(json!({"image": "2"}))),
        Restart,
        Gone("q"),
        Is(containers(json!({"image": "2"}))),
        Gone("p"),
        Is(containers(json!({"image": "1"}))),
    ];
    check(json!({}), &steps).await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_somebody_took_off_is_remembered() {
    let mut story = Story::new(config_map("x"), &json!({"data": {"a": "1"}}));
    story
        .run(&Wants("p", json!({"data": {"a": "1", "b": "1"}})))
        .await;
    let stripped = |object: &Value| unset(object, &["metadata", "annotations"]);
    story.h.sim.foreign(&story.key, "human", stripped);
    story.run(&They(json!({}))).await;
    story.run(&Restart).await;
    story.run(&Gone("p")).await;
    assert_eq!(story.on_server(), json!({"data": {"a": "1"}}));
}

/// A record as the first format had it: a text for each place, and all that is wanted.
fn in_first_format(object: &Value, more: &[&str]) -> Value {
    let annotations = object.get("metadata").get("annotations").as_map().unwrap();
    let mut records = annotations.iter();
    let record = records.find(|(name, _)| name.as_str().starts_with("dcontroller.io/set."));
    let (name, text) = record.unwrap();
    let record: Value = text.as_str().unwrap().parse().unwrap();
    let paths = record.get("paths").as_map().unwrap().iter();
    let paths = paths.map(|(place, mark)| (place.clone(), mark.get("sent").clone()));
    let more = more.iter().map(|place| {
        let hash = Value::from("0123456789abc");
        (document::Key::new(place), hash)
    });
    let paths: document::Map = paths.chain(more).collect();
    let text = Value::from(set(&record, &["paths"], paths.into()).to_string());
    set(object, &["metadata", "annotations", name.as_str()], text)
}

#[tokio::test(start_paused = true)]
async fn of_a_record_in_the_first_format_counts_what_only_we_have_written() {
    let annotations = |list: Value| json!({"annotations": list});
    let theirs = json!({"metadata": (annotations(json!({"theirs": "1"}))), "data": {"theirs": "1", "added": "1"}});
    let wanted = json!({"metadata": (annotations(json!({"theirs": "1", "ours": "1"}))),
        "data": {"theirs": "1", "ours": "1"}});
    let places = [
        "/data/theirs",
        "/data/added",
        "/metadata/annotations/theirs",
    ];
    // What was at /data/ours before, such a record does not say.
    let left = set(&theirs, &["data", "ours"], json!("1"));
    let laid = document::merge(&theirs, &wanted);
    for again in [false, true] {
        let mut story = Story::new(config_map("x"), &theirs);
        story.run(&Wants("p", wanted.clone())).await;
        let old = |object: &Value| in_first_format(object, &places);
        story.h.sim.foreign(&story.key, "deltic/op/p", old);
        if again {
            story.run(&Restart).await;
            assert_eq!(story.on_server(), laid);
        }
        story.h.wanted.clear();
        story.h.restart();
        story.h.settle().await;
        assert_eq!(story.on_server(), left, "wanted again: {again}");
    }
}
