//! Objects on their way out of a pipeline. What of them enters one is compiled by
//! [`Keep`](dataflow::fields::Keep).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::{Key, Map, Value, View};

/// A derived Secret with its data encoded. `literals` are the keys whose value is
/// written in the pipeline: valid base64 there is taken as it is.
pub fn encode_secret(object: &Value, literals: &[String]) -> Value {
    let (Some(fields), Some(data)) = (object.as_map(), object.get("data").as_map()) else {
        return object.clone();
    };
    let encoded: Map = data
        .iter()
        .map(|(key, value)| {
            let value = match value.view() {
                View::Bytes(bytes) => STANDARD.encode(bytes).into(),
                View::Str(text) => {
                    let literal = literals.iter().any(|literal| literal == key.as_str());
                    if literal && STANDARD.decode(text).is_ok() {
                        value.clone()
                    } else {
                        STANDARD.encode(text).into()
                    }
                }
                View::Null
                | View::Bool(_)
                | View::Int(_)
                | View::Float(_)
                | View::List(_)
                | View::Map(_) => value.clone(),
            };
            (key.clone(), value)
        })
        .collect();
    fields.with(Key::new("data"), encoded.into()).into()
}

#[cfg(test)]
mod tests {
    use dataflow::fields::{Fields, Intake, Keep};
    use document::json;

    use super::*;

    #[test]
    fn a_copied_secret_is_encoded_again_exactly() {
        let secret = json!({"metadata": {"name": "s"}, "data": {"text": "aGVsbG8=", "bytes": "//79", "bad": "%"}});
        let intake = Intake {
            secret: true,
            ..Intake::default()
        };
        let inside = Keep::new(&Fields::all(), intake)
            .of(&secret)
            .into_document();
        assert_eq!(inside.get("data").get("text"), &json!("hello"));
        assert_eq!(
            inside.get("data").get("bytes"),
            &Value::bytes(&[0xff, 0xfe, 0xfd])
        );
        let outside = encode_secret(&inside, &[]);
        assert_eq!(outside.get("data").get("text"), &json!("aGVsbG8="));
        assert_eq!(outside.get("data").get("bytes"), &json!("//79"));
        let literal = encode_secret(&json!({"data": {"k": "aGVsbG8="}}), &["k".to_owned()]);
        assert_eq!(literal.get("data").get("k"), &json!("aGVsbG8="));
        let plain = encode_secret(&json!({"data": {"k": "not base64!"}}), &["k".to_owned()]);
        assert_eq!(plain.get("data").get("k"), &json!("bm90IGJhc2U2NCE="));
    }
}
