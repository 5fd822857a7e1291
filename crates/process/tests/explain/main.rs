//! `deltic why` of a running process, on an API server in memory.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod permissions;
mod world;

use document::{Value, json};
use explanation::{Content, Detail, Wanted};
use expr::{Env, Interrupt};
use object::ObjectKey;
use remote::questions::{self, AskError, Question};
use seeded::Random;
use world::{ALL, World, evaluated, offline, read, rest};

/// Pods are joined with their zones, selected, and gathered by zone into a view; a second controller
/// derives a `ConfigMap` for each zone.
pub(crate) fn zones() -> Value {
    json!({"controllers": [{
        "name": "gather",
        "sources": [{"apiGroup": "", "kind": "Pod"}, {"apiGroup": "example.com", "kind": "Zone"}],
        "pipeline": [
            {"@join": {"@eq": ["$.Pod.spec.zone", "$.Zone.metadata.name"]}},
            {"@select": {"@exists": "$.Pod.metadata.labels.app"}},
            {"@project": {"metadata": {"name": "$.Zone.metadata.name"}, "pods": "$.Pod.metadata.name"}},
            {"@gather": ["$.metadata.name", "$.pods"]},
        ],
        "target": {"kind": "Zoned"},
    }, {
        "name": "publish",
        "sources": [{"kind": "Zoned"}],
        "pipeline": [{"@project": {
            "metadata": {"name": "$.metadata.name", "namespace": "shop"},
            "data": {"pods": {"@join": ["$.pods", ","]}},
        }}],
        "target": {"apiGroup": "", "kind": "ConfigMap"},
    }]})
}

pub(crate) fn pod(namespace: &str, name: &str, zone: &str, labelled: bool) -> (ObjectKey, Value) {
    let labels = if labelled {
        json!({"app": "x"})
    } else {
        json!({})
    };
    let key = ObjectKey::new("", "Pod", namespace, name);
    (
        key,
        json!({"metadata": {"labels": labels}, "spec": {"zone": zone}}),
    )
}

pub(crate) fn zone(name: &str) -> (ObjectKey, Value) {
    (ObjectKey::new("example.com", "Zone", "", name), json!({}))
}

fn two_zones() -> Vec<(ObjectKey, Value)> {
    vec![
        zone("east"),
        zone("west"),
        pod("shop", "a", "east", true),
        pod("shop", "b", "east", true),
        pod("shop", "c", "east", false),
        pod("shop", "lost", "eats", true),
    ]
}

/// Controllers that are connected by views, each with many stages.
fn long() -> Value {
    let select = json!({"@select": true});
    let controller = |number: i64| {
        let source = match number {
            0 => json!({"apiGroup": "example.com", "kind": "Zone"}),
            _ => json!({"kind": (format!("V{number}"))}),
        };
        json!({
            "name": (format!("c{number}")), "sources": [source],
            "pipeline": (Value::list(vec![select.clone(); 900])),
            "target": {"kind": (format!("V{}", number + 1))},
        })
    };
    let controllers: Value = (0..5).map(controller).collect();
    json!({ "controllers": controllers })
}

#[tokio::test(start_paused = true)]
async fn a_long_way_back_is_followed_a_part_of_the_way() {
    let world = World::new(&[("long", long())], &[zone("east")]);
    rest().await;
    let why = world.explanation("long", "v5/east/why").await;
    assert!(why.text().lines().count() < 1_000);
    assert!(why.text().ends_with("… and 1 more\n"), "{}", why.text());
    // The shortest way back of a view.
    let near = world.explanation("long", "zone/east/why").await;
    assert!(near.text().contains("derived: v1/east"), "{}", near.text());
}

#[tokio::test(start_paused = true)]
async fn the_way_back_leads_through_views_to_the_sources() {
    let world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    let why = world
        .explanation("zones", "namespaces/shop/configmap/east/why")
        .await;
    let expect = "\
configmap/shop/east   target of controller publish
└ @project pipeline[0]
  zoned/east   view of controller gather
  └ @gather pipeline[3]   key \"east\", 2 members
    ├ @project pipeline[2]
    │ @select pipeline[1]
    │ @join pipeline[0]
    │ ├ pod/shop/a
    │ └ zone/east
    └ @project pipeline[2]
      @select pipeline[1]
      @join pipeline[0]
      ├ pod/shop/b
      └ zone/east
";
    assert_eq!(why.text(), expect);
    // In any namespace, without documents, and with fewer members.
    let few = world
        .explanation("zones", "configmap/east/why?members=1&documents=false")
        .await;
    assert!(few.text().contains("… and 1 more"), "{}", few.text());
    assert!(
        !few.json().to_string().contains("document"),
        "{}",
        few.json()
    );
}

#[tokio::test(start_paused = true)]
async fn a_source_object_is_followed_to_its_end() {
    let world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    let lost = world
        .explanation("zones", "namespaces/shop/pod/lost/why?not=true")
        .await;
    let expect = "no partner among 2 Zone: the key is \"eats\", nobody has it (nearest: \"east\")";
    assert!(lost.text().contains(expect), "{}", lost.text());
    // An object that is only read is followed in any case.
    let read = world
        .explanation("zones", "namespaces/shop/pod/c/why")
        .await;
    assert!(matches!(read.content, Content::Ends(_)));
    assert!(
        read.text()
            .contains("@select   pipeline[1]            1 → 0"),
        "{}",
        read.text()
    );
    // The answer is about now.
    let (key, fixed) = pod("shop", "lost", "west", true);
    world.scene.server.put(&key, "user", &fixed);
    rest().await;
    let there = world
        .explanation("zones", "namespaces/shop/pod/lost/why?not=true")
        .await;
    assert!(
        there.text().contains("derived: configmap/shop/west"),
        "{}",
        there.text()
    );
}

#[tokio::test(start_paused = true)]
async fn the_view_of_another_operator_names_it() {
    let reader = json!({"controllers": [{
        "name": "copy",
        "sources": [{"apiGroup": "zones.view.dcontroller.io", "kind": "Zoned"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name"}, "n": {"@len": "$.pods"}}}],
        "target": {"kind": "Count"},
    }]});
    let operators = [("zones", zones()), ("reader", reader)];
    let world = World::new(&operators, &two_zones());
    rest().await;
    let why = world.explanation("reader", "count/east/why").await;
    let expect = "\
count/east   view of controller copy
└ @project pipeline[0]
  zoned/east   view of Operator zones
";
    assert_eq!(why.text(), expect);

    // A client follows it, if the user may ask.
    let wanted = Wanted::at("count", None, "east");
    let question = Question {
        wanted: &wanted,
        not: false,
        members: 1,
        documents: false,
    };
    let client = world.client();
    let ask = async || {
        let mut answer = questions::ask(&client, "reader", &question).await.unwrap();
        questions::follow(&client, &mut answer, &question).await;
        answer.text()
    };
    let followed = "\
count/east   view of controller copy
└ @project pipeline[0]
  zoned/east   view of controller gather of Operator zones
  └ @gather pipeline[3]   key \"east\", 2 members
    ├ @project pipeline[2]
    │ @select pipeline[1]
    │ @join pipeline[0]
    │ ├ pod/shop/a
    │ └ zone/east
    └ … and 1 more
";
    assert_eq!(ask().await, followed);
    world
        .rules
        .set(&["get */why *", "get count *", "get zoned *"]);
    assert_eq!(ask().await, expect);
    let error = questions::ask(&client, "nobody", &question)
        .await
        .unwrap_err();
    assert!(matches!(error, AskError::NotServed(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn questions_without_an_answer_get_the_reason() {
    let mut world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    for (path, expect) in [
        (
            "configmap/none/why",
            "no controller of Operator zones derives or reads configmap/none",
        ),
        (
            "namespaces/shop/pod/none/why?not=true",
            "no controller of Operator zones reads pod/shop/none",
        ),
        (
            "service/east/why",
            "no controller of Operator zones derives or reads service/east",
        ),
    ] {
        let (code, answer) = world.get("zones", path).await;
        assert_eq!((code, answer.get("message").as_str()), (404, Some(expect)));
        assert_eq!(answer.get("details").get("kind").as_str(), Some("why"));
    }
    let (code, answer) = world.get("nobody", "configmap/east/why").await;
    assert_eq!(
        (code, answer.get("details").get("kind")),
        (404, &Value::NULL)
    );
    for path in [
        "configmap/east/why?not=maybe",
        "configmap/east/why?members=many",
    ] {
        assert_eq!(world.error("zones", path).await.0, 400, "{path}");
    }
    world.stop().await;
    let (code, message) = world.error("zones", "configmap/east/why").await;
    let expect = "Operator zones cannot be explained: the Operator has stopped";
    assert_eq!((code, message.as_str()), (503, expect));
}

#[tokio::test(start_paused = true)]
async fn what_a_source_does_not_admit_is_said() {
    let spec = json!({"controllers": [{
        "name": "c",
        "sources": [{
            "apiGroup": "", "kind": "Pod", "namespace": "shop", "labelSelector": {"app": "x"},
        }],
        "pipeline": [],
        "target": {"kind": "Seen"},
    }]});
    let world = World::new(&[("some", spec)], &[pod("shop", "a", "east", false)]);
    rest().await;
    for (path, expect) in [
        (
            "namespaces/shop/pod/a/why?not=true",
            "no controller of Operator some reads pod/shop/a (controller c, source Pod: the source \
             wants the labels app=x)",
        ),
        (
            "namespaces/lab/pod/a/why?not=true",
            "no controller of Operator some reads pod/lab/a (controller c, source Pod: namespace is \
             lab, the source reads shop; the source wants the labels app=x)",
        ),
    ] {
        let found = world.error("some", path).await;
        assert_eq!(found, (404, expect.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_cannot_be_read_is_named() {
    let world = World::new(&[("zones", zones())], &two_zones());
    world.scene.drop_kind("example.com", "Zone");
    rest().await;
    let (code, message) = world.error("zones", "zoned/east/why").await;
    assert_eq!(code, 503);
    let expect =
        "Operator zones cannot be explained: controller gather is not complete: source Zone";
    assert!(message.starts_with(expect), "{message}");
}

#[tokio::test(start_paused = true)]
async fn values_of_secrets_are_masked() {
    let copy = json!({"controllers": [{
        "name": "copy",
        "sources": [{"apiGroup": "", "kind": "Secret"}],
        "pipeline": [
            {"@select": {"@ne": ["$.data.password", "other"]}},
            {"@project": {
                "metadata": {"name": "$.metadata.name", "namespace": "$.metadata.namespace"},
                "url": {"@concat": ["db://root:", "$.data.password"]},
            }},
        ],
        "target": {"kind": "Url"},
    }]});
    let reader = json!({"controllers": [{
        "name": "read",
        "sources": [{"apiGroup": "copy.view.dcontroller.io", "kind": "Url"}],
        "pipeline": [{"@project": {"metadata": "$.metadata", "login": "$.url"}}],
        "target": {"kind": "Login"},
    }]});
    let secret = json!({"data": {"password": "aHVudGVyMg=="}});
    let key = ObjectKey::new("", "Secret", "shop", "db");
    let world = World::new(&[("copy", copy), ("reader", reader)], &[(key, secret)]);
    rest().await;
    for (operator, path) in [
        ("copy", "namespaces/shop/url/db/why"),
        ("copy", "namespaces/shop/secret/db/why?not=true"),
        ("reader", "namespaces/shop/login/db/why"),
        ("reader", "namespaces/shop/url/db/why?not=true"),
    ] {
        let (code, answer) = world.get(operator, path).await;
        let text = answer.to_string();
        assert_eq!(code, 200, "{text}");
        let secret = text.contains("hunter2") || text.contains("aHVudGVyMg");
        assert!(!secret, "{text}");
        assert!(text.contains("/shop/db"), "{text}");
    }
    let why = world
        .explanation("copy", "namespaces/shop/url/db/why")
        .await;
    assert!(
        why.json().to_string().contains(r#""url":"***""#),
        "{}",
        why.json()
    );
}

#[tokio::test(start_paused = true)]
async fn a_running_process_says_what_files_say() {
    for seed in seeded::seeds(8) {
        let random = &mut Random::new(seed);
        let mut objects: Vec<_> = ["east", "west", "north"].map(zone).to_vec();
        for number in 0..random.below(12) {
            let zone = *random.pick(&["east", "west", "south"]);
            let namespace = *random.pick(&["shop", "other"]);
            objects.push(pod(
                namespace,
                &format!("p{number}"),
                zone,
                random.chance(70),
            ));
        }
        let world = World::new(&[("zones", zones())], &objects);
        rest().await;
        let operator = read("zones", &zones());
        let stored = objects.iter().map(|(key, _)| {
            let object = world.scene.server.get(key).unwrap();
            (key.clone(), object)
        });
        let stored: Vec<_> = stored.collect();
        let pods = objects.iter().skip(3).map(|(key, _)| (key.clone(), true));
        let maps = ["east", "west", "south"]
            .map(|name| (ObjectKey::new("", "ConfigMap", "shop", name), false));
        for (key, not) in pods.chain(maps) {
            let kind = key.kind.kind.as_str().to_lowercase();
            let (namespace, name) = (key.namespace(), key.object_name());
            let wanted = Wanted::at(&kind, Some(namespace), name);
            let path = format!("namespaces/{namespace}/{kind}/{name}/why?not={not}");
            let expect = offline(&operator, &stored, &wanted, not);
            let (code, answer) = world.get("zones", &path).await;
            let found = explanation::Explanation::from_value(&answer);
            assert_eq!(found, expect, "seed {seed}, {key}");
            assert_eq!(
                code,
                if expect.is_some() { 200 } else { 404 },
                "seed {seed}, {key}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn several_users_may_ask_at_the_same_time() {
    let world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    let path = "namespaces/shop/configmap/east/why";
    let asked = (0..20).map(|_| world.get("zones", path));
    let answers = futures::future::join_all(asked).await;
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(answers[0].0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_asks_too_much_is_told_when_to_ask_again() {
    let world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    let path = "namespaces/shop/configmap/east/why";
    let asked = (0..100).map(|_| world.get("zones", path));
    let answers = futures::future::join_all(asked).await;
    let (good, bad): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(code, _)| *code == 200);
    // One is being answered, and the others wait.
    assert_eq!((good.len(), bad.len()), (33, 67));
    let (code, answer) = &bad[0];
    let message = "too many of your questions wait for an answer; please try again later";
    assert_eq!(
        (*code, answer.get("message").as_str()),
        (429, Some(message))
    );
    let after = answer.get("details").get("retryAfterSeconds");
    assert_eq!(after.as_int(), Some(5));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_takes_too_long_ends() {
    let world = World::new(&[("zones", zones())], &two_zones());
    rest().await;
    let path = "namespaces/shop/configmap/east/why";
    world.rules.hang(true);
    let (code, message) = world.error("zones", path).await;
    let expect = "Operator zones cannot be explained: the answer took longer than 60 s";
    assert_eq!((code, message.as_str()), (503, expect));
    world.rules.hang(false);
    assert_eq!(world.get("zones", path).await.0, 200);
}

#[test]
fn an_evaluation_has_limits() {
    let operator = read("zones", &zones());
    let wanted = Wanted::at("configmap", Some("shop"), "east");
    let story = |env: Env, bytes: u64| {
        let recorded =
            evaluated(&operator, &two_zones(), env).map_err(|error| error.to_string())?;
        let detail = Detail { bytes, ..ALL };
        let told = recorded.story().explain(&wanted, false, &detail);
        told.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(story(Env::default(), u64::MAX), Ok(()));
    let too_large = "the answer is larger than 100 bytes".to_owned();
    assert_eq!(story(Env::default(), 100), Err(too_large));
    let mut env = Env::default();
    env.interrupt = Interrupt::when(|| true);
    let error = story(env, u64::MAX).unwrap_err();
    assert!(error.starts_with("controller gather: "), "{error}");
}
