//! What one request may use.

use std::sync::Arc;

use apiserver::{AllowAll, Limits};
use document::{Value, json};
use http_body_util::{BodyExt as _, Full};
use store::{Caller, Write};

use crate::common::{Api, SHOP, health, object};

const MEGABYTE: usize = 1024 * 1024;

/// A server with this many objects of about 100 kB.
fn with_large_objects(count: usize, limits: Limits) -> Api {
    let api = Api::with(Arc::new(AllowAll), limits);
    let text = "x".repeat(100_000);
    for number in 0..count {
        let object = object(&format!("large-{number}"), 1);
        let object = object.as_map().unwrap();
        let object = object.with(document::Key::new("text"), text.as_str().into());
        let write = Write::Put(object.into());
        let caller = Caller::user("alice");
        api.store.write(&caller, &health(), &write).unwrap();
    }
    api
}

fn get(path: &str) -> http::Request<Full<bytes::Bytes>> {
    http::Request::get(path).body(Full::default()).unwrap()
}

#[tokio::test]
async fn answers_count_until_they_are_read() {
    let limits = Limits {
        answer_bytes_per_user: MEGABYTE,
        ..Limits::default()
    };
    let api = with_large_objects(8, limits);
    let first = api.send(get(SHOP)).await;
    assert_eq!(first.status(), 200);
    let second = api.send(get(SHOP)).await;
    assert_eq!(second.status(), 429, "the first one has not been read");
    assert!(second.headers().contains_key("retry-after"));
    let one = api.send(get(&format!("{SHOP}/large-0"))).await;
    assert_eq!(one.status(), 200, "a smaller one has room");
    let mut body = first.into_body();
    let mut pieces = 0;
    while let Some(frame) = body.frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        assert!(piece.len() <= 64 * 1024, "{} bytes at once", piece.len());
        pieces += 1;
    }
    assert!(pieces > 10, "{pieces}");
    drop((body, one));
    assert_eq!(api.send(get(SHOP)).await.status(), 200);
}

#[tokio::test]
async fn an_answer_over_the_limit_is_sent_alone() {
    let limits = Limits {
        answer_bytes: MEGABYTE,
        answer_bytes_per_user: MEGABYTE / 2,
        ..Limits::default()
    };
    let api = with_large_objects(20, limits);
    let first = api.send(get(SHOP)).await;
    assert_eq!(first.status(), 200);
    assert_eq!(api.send(get(SHOP)).await.status(), 429);
    let other = apiserver::User {
        name: "bob".to_owned(),
        ..apiserver::User::default()
    };
    let response = api.server.handle(&other, get(SHOP)).await;
    assert_eq!(response.status(), 200, "another user has a part of its own");
}

#[tokio::test]
async fn a_request_counts_until_its_answer_is_read() {
    let limits = Limits {
        requests_per_user: 1,
        ..Limits::default()
    };
    let api = with_large_objects(1, limits);
    let first = api.send(get(&format!("{SHOP}/large-0"))).await;
    assert_eq!(api.send(get(SHOP)).await.status(), 429);
    // Health and discovery are answered in any case.
    assert_eq!(api.send(get("/livez")).await.status(), 200);
    assert_eq!(api.send(get("/apis")).await.status(), 200);
    drop(first);
    assert_eq!(api.send(get(SHOP)).await.status(), 200);
}

#[tokio::test]
async fn a_watch_of_large_objects_is_sent_in_pieces() {
    let api = with_large_objects(30, Limits::default());
    let mut body = api.send(get(&format!("{SHOP}?watch=1"))).await.into_body();
    let mut lines = 0;
    while lines < 30 {
        let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(piece.len() < 400_000, "{} bytes at once", piece.len());
        lines += piece.split(|byte| *byte == b'\n').count() - 1;
    }
}

#[tokio::test]
async fn a_patch_cannot_nest_an_object_until_the_stack_is_full() {
    let api = Api::new();
    api.call("POST", SHOP, &object("web", 1)).await;
    let mut operations = vec![json!({"op": "add", "path": "/a", "value": {}})];
    // Each time, the object gets 50 levels deeper.
    let (deep, inside) = (
        (0..50).fold(json!({}), |deep, _| json!({"n": deep})),
        format!("/b{}/a", "/n".repeat(50)),
    );
    for _ in 0..3_333 {
        operations.extend([
            json!({"op": "add", "path": "/b", "value": (deep.clone())}),
            json!({"op": "move", "from": "/a", "path": (inside.as_str())}),
            json!({"op": "move", "from": "/b", "path": "/a"}),
        ]);
    }
    let path = format!("{SHOP}/web");
    let kind = [("content-type", "application/json-patch+json")];
    let patch = Value::list(operations).to_string();
    let (code, error) = api.call_with("PATCH", &path, &kind, &patch).await;
    let message = error.get("message").as_str().unwrap();
    assert_eq!(code, 422, "{message}");
    assert!(
        message.ends_with("the object would be nested deeper than 100"),
        "{message}"
    );
    for (kind, open, close) in [
        (
            "application/json-patch+json",
            "[{\"op\":\"add\",\"path\":\"/a\",\"value\":",
            "}]",
        ),
        ("application/merge-patch+json", "{\"a\":", "}"),
        ("application/apply-patch+yaml", "a: ", ""),
    ] {
        let deep = format!(
            "{open}{}{}{close}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let path = format!("{path}?fieldManager=one");
        let kind = [("content-type", kind)];
        let (code, error) = api.call_with("PATCH", &path, &kind, &deep).await;
        assert!((400..500).contains(&code), "{kind:?}: {error}");
    }
    let (_, live) = api.get(&path).await;
    assert!(live.get("a").is_null());
}

#[tokio::test]
async fn a_forged_token_shows_nothing_of_another_namespace() {
    let api = Api::new();
    for name in ["a", "b"] {
        api.call("POST", SHOP, &object(name, 1)).await;
    }
    let all = SHOP.replace("namespaces/shop/", "");
    let (_, page) = api.get(&format!("{all}?limit=1")).await;
    let token = page.get("metadata").get("continue").as_str().unwrap();
    // The token of a list of all namespaces, used in one namespace: before it, and inside.
    for (namespace, expect) in [("zoo", 0), ("shop", 1)] {
        let path = SHOP.replace("shop/health", &format!("{namespace}/health"));
        let (code, list) = api.get(&format!("{path}?limit=5&continue={token}")).await;
        let items = list
            .get("items")
            .as_list()
            .map_or(0, document::ListRef::len);
        assert_eq!((code, items), (200, expect), "{list}");
    }
    for token in ["e30", "W10", "AAAA", "bnVsbA", &"A".repeat(10_000)] {
        let (code, error) = api.get(&format!("{SHOP}?limit=5&continue={token}")).await;
        assert_eq!(code, 400, "{error}");
    }
}

#[tokio::test]
async fn odd_names_in_paths_are_not_found() {
    let api = Api::new();
    api.call("POST", SHOP, &object("web", 1)).await;
    for name in [
        "%2e%2e", "..", "%2F", "a%2Fb", "%00", "%0a", "web%20", "w%C3%A9b", "WEB",
    ] {
        let (code, answer) = api.get(&format!("{SHOP}/{name}")).await;
        assert_eq!(code, 404, "{name}: {answer}");
        let write = ("content-type", "application/merge-patch+json");
        let path = format!("{SHOP}/{name}");
        let (code, answer) = api.call_with("PATCH", &path, &[write], "{}").await;
        assert_eq!(code, 404, "{name}: {answer}");
        let apply = ("content-type", "application/apply-patch+yaml");
        let body = "{\"apiVersion\":\"shop.view.dcontroller.io/v1alpha1\",\"kind\":\"Health\"}";
        let path = format!("{SHOP}/{name}?fieldManager=one");
        let (code, answer) = api.call_with("PATCH", &path, &[apply], body).await;
        assert_eq!(code, 422, "{name}: {answer}");
    }
    // Encoded letters are the same path.
    assert_eq!(api.get(&format!("{SHOP}/%77eb")).await.0, 200);
    for path in [
        format!("/{SHOP}"),
        SHOP.replace("/health", "//health"),
        format!("{SHOP}/web/status/more"),
        SHOP.replace("shop/health", "/health"),
    ] {
        assert_eq!(api.get(&path).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn long_prefixes_of_names_are_cut_as_in_kubernetes() {
    let api = Api::new();
    let body = json!({
        "apiVersion": "shop.view.dcontroller.io/v1alpha1", "kind": "Health",
        "metadata": {"generateName": ("x".repeat(100))}
    });
    let (code, created) = api.call("POST", SHOP, &body).await;
    let name = created.get("metadata").get("name").as_str().unwrap();
    assert_eq!((code, name.len()), (201, 63), "{name}");
}

#[tokio::test]
async fn patches_cannot_make_an_object_grow_without_end() {
    let api = Api::new();
    api.call("POST", SHOP, &object("web", 1)).await;
    let path = format!("{SHOP}/web");
    let kind = [("content-type", "application/merge-patch+json")];
    let text = "x".repeat(MEGABYTE);
    for number in 0..5 {
        let patch = format!("{{\"text-{number}\":\"{text}\"}}");
        let (code, answer) = api.call_with("PATCH", &path, &kind, &patch).await;
        let expect = if number < 2 { 200 } else { 413 };
        assert_eq!(code, expect, "{:?}", answer.get("message"));
    }
    // What a controller derives may be larger, and its labels can be changed.
    let derived = object("large", 1);
    let derived = derived.as_map().unwrap();
    let derived: Value = derived
        .with(document::Key::new("text"), text.repeat(4).into())
        .into();
    let write = Write::Derive {
        object: derived.clone(),
        document: derived,
    };
    let caller = Caller::controller("shop", "health");
    api.store.write(&caller, &health(), &write).unwrap();
    let path = format!("{SHOP}/large");
    let patch = "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}";
    let (code, answer) = api.call_with("PATCH", &path, &kind, patch).await;
    assert_eq!(code, 200, "{:?}", answer.get("message"));
}

#[tokio::test]
async fn thousands_of_mistakes_are_one_short_answer() {
    let api = Api::new();
    let kind = "\"apiVersion\":\"shop.view.dcontroller.io/v1alpha1\",\"kind\":\"Health\"";
    let many = |one: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (0..40_000).map(one).collect();
        all.join(",")
    };
    let unknown = many(&|i| format!("\"unknown-{i}\":1"));
    let owner = |_| {
        "{\"controller\":true,\"uid\":\"1\",\"apiVersion\":\"v1\",\"kind\":\"A\",\"name\":\"a\"}"
            .to_owned()
    };
    let owners = format!("\"ownerReferences\":[{}]", many(&owner));
    let twice = format!(
        "\"labels\":{{\"{}\":{{{}}}}}",
        "x".repeat(MEGABYTE),
        many(&|_| "\"a\":1".to_owned())
    );
    for (number, (metadata, code)) in [(unknown, 201), (owners, 422), (twice, 422)]
        .iter()
        .enumerate()
    {
        let body = format!("{{{kind},\"metadata\":{{\"name\":\"m{number}\",{metadata}}}}}");
        let request = http::Request::post(SHOP).header("content-type", "application/json");
        let request = request.body(Full::from(body)).unwrap();
        let response = api.send(request).await;
        assert_eq!(response.status(), *code, "{number}");
        let warnings = response.headers().get_all("warning").iter();
        let warnings: Vec<usize> = warnings.map(http::HeaderValue::len).collect();
        assert!(
            warnings.iter().sum::<usize>() < 10_000,
            "{number}: {warnings:?}"
        );
        let length = http_body::Body::size_hint(response.body()).exact().unwrap();
        assert!(length < 20_000_000, "{number}: {length} bytes");
    }
}
