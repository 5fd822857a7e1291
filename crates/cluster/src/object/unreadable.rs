//! Objects that cannot be read because they are nested too deep or too large.
//!
//! Such an object is parsed to its end all the same, because its metadata may follow the part
//! that is over the limits:
//!
//! ```text
//! {"spec": {"a": [[[[ … 200 levels … ]]]]}, "metadata": {"name": "x"}}
//! ```
//!
//! So its name is known, and the error is reported for this object alone; the other objects of
//! the list or watch are read as usual.

use kube::runtime::watcher;

/// Whether a watch failed because an event is not valid JSON or does not have the form of an
/// event. Then not even the name of its object is known.
pub fn lost_event(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchFailed(kube::Error::SerdeError(_)) => true,
        // kube reads any other JSON as a Status in which all fields are empty.
        watcher::Error::WatchFailed(kube::Error::Api(status)) => {
            status.code == 0 && status.reason.is_empty() && status.message.is_empty()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use document::json;
    use kube::ResourceExt;
    use kube::core::{ObjectList, WatchEvent};

    use crate::object::{MAX_SIZE, Object, Unreadable};

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    /// An object read from a watch event, from a list and by itself.
    fn read(object: &str) -> [Object; 3] {
        let line = format!(r#"{{"type": "ADDED", "object": {object}}}"#);
        let WatchEvent::Added(event) = serde_json::from_str::<WatchEvent<Object>>(&line).unwrap()
        else {
            panic!("expected ADDED");
        };
        let list = format!(
            r#"{{"metadata": {{}}, "items": [{object}, {{"metadata": {{"name": "b"}}}}]}}"#
        );
        let list: ObjectList<Object> = serde_json::from_str(&list).unwrap();
        assert_eq!(list.items[1].name_any(), "b");
        let answer = serde_json::from_slice(object.as_bytes()).unwrap();
        [event, list.items[0].clone(), answer]
    }

    #[test]
    fn the_name_is_known_before_and_after_the_part_over_the_limit() {
        for levels in [100, 127, 128, 129, 10_000] {
            let deep = nested(levels);
            let metadata = r#""metadata": {"namespace": "n", "name": "a", "resourceVersion": "7"}"#;
            for object in [
                format!(r#"{{{metadata}, "spec": {deep}}}"#),
                format!(r#"{{"spec": {deep}, {metadata}}}"#),
            ] {
                for object in read(&object) {
                    let why = object.unreadable().map(ToString::to_string);
                    let expect = "spec is nested deeper than 100 levels";
                    assert_eq!(why.as_deref(), Some(expect));
                    assert_eq!(object.name_any(), "a");
                    assert_eq!(object.namespace().as_deref(), Some("n"));
                    assert_eq!(object.resource_version().as_deref(), Some("7"));
                }
            }
        }
    }

    #[test]
    fn the_limits_count_from_the_root_of_the_object() {
        let object = |levels| {
            format!(
                r#"{{"metadata": {{"name": "a"}}, "spec": {}}}"#,
                nested(levels)
            )
        };
        assert!(
            read(&object(99))
                .iter()
                .all(|object| object.unreadable().is_none())
        );
        assert!(
            read(&object(100))
                .iter()
                .all(|object| object.unreadable().is_some())
        );
        let object = |size| {
            format!(
                r#"{{"metadata": {{"name": "a"}}, "spec": "{}"}}"#,
                "x".repeat(size)
            )
        };
        assert!(
            read(&object(MAX_SIZE - 100))
                .iter()
                .all(|object| object.unreadable().is_none())
        );
        for object in read(&object(MAX_SIZE)) {
            assert_eq!(object.unreadable(), Some(&Unreadable::Large));
            assert_eq!(object.name_any(), "a");
        }
    }

    #[test]
    fn the_metadata_is_known() {
        let object = format!(
            r#"{{"kind": "A", "spec": {{"deep": {}, "x": 1}}, "metadata": {{"name": "a"}}}}"#,
            nested(200)
        );
        let object = &read(&object)[0];
        assert_eq!(
            object.bare(),
            json!({"kind": "A", "metadata": {"name": "a"}})
        );
    }

    #[test]
    fn the_depth_of_managed_fields_does_not_count() {
        let object = format!(
            r#"{{"metadata": {{"name": "a", "managedFields": [{{"fieldsV1": {}}}]}}, "spec": {}}}"#,
            nested(120),
            nested(90)
        );
        for object in read(&object) {
            assert_eq!(object.unreadable(), None);
            assert_eq!(object.value().get("metadata"), &json!({"name": "a"}));
        }
    }
}
