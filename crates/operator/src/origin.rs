//! Prints origins for people: `Service/default/web + Pod/default/a[0]`.

use std::fmt::Write;

use document::Value;

/// Prints the result of `Origin::describe` on one line.
pub fn describe_origin(origin: &Value) -> String {
    let mut text = String::new();
    for component in origin.as_list().into_iter().flatten() {
        if let Some(index) = component.get("index").as_int() {
            // Writing to a string cannot fail.
            let _ = write!(text, "[{index}]");
            continue;
        }
        if !text.is_empty() {
            text.push_str(" + ");
        }
        text.push_str(&part(component));
    }
    text
}

fn part(component: &Value) -> String {
    let Some(map) = component.as_map() else {
        // A soft source without a partner.
        return "nothing".to_owned();
    };
    if let Some(key) = map.get_str("key") {
        return format!("key {key}");
    }
    ["source", "namespace", "name"]
        .into_iter()
        .filter_map(|field| map.get_str(field)?.as_str())
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use document::json;

    use super::*;

    #[test]
    fn an_origin_fits_on_one_line() {
        let service = json!({"source": "Service", "namespace": "default", "name": "web"});
        let node = json!({"source": "Node", "name": "n1"});
        for (origin, expect) in [
            (json!([]), ""),
            (json!([(service.clone())]), "Service/default/web"),
            (
                json!([service, node, {"index": 0}, {"index": 2}]),
                "Service/default/web + Node/n1[0][2]",
            ),
            (
                json!([{"source": "Pod", "name": "a"}, null]),
                "Pod/a + nothing",
            ),
            (json!([{"key": {"a": 1}}]), "key {\"a\":1}"),
        ] {
            assert_eq!(describe_origin(&origin), expect);
        }
    }
}
