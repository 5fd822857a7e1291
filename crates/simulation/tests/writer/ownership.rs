//! Who owns an object, and when it is deleted.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_object_without_a_claim_is_adopted_and_never_deleted() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    h.want(&key, &updater().wants(&spec(&json!({"ours": 1}))));
    h.settle().await;
    assert_eq!(
        h.live(&key).get("spec"),
        &json!({"ours": 1, "defaulted": "yes"})
    );
    assert!(!claim(&h, &key).unwrap().created);
    assert!(
        h.live(&key)
            .get("metadata")
            .get("labels")
            .get("app.kubernetes.io/managed-by")
            .is_null()
    );
    assert_eq!(
        *h.reported.happened.lock().unwrap(),
        [(key.clone(), Happened::Adopted)]
    );

    h.restart();
    h.settle().await;
    assert!(
        h.reported.happened.lock().unwrap().is_empty(),
        "adopted once"
    );
    h.withdraw(&key, "c");
    h.settle().await;
    let metadata = h.live(&key).get("metadata").clone();
    assert!(
        metadata.get("annotations").is_null() && metadata.get("labels").is_null(),
        "{metadata}"
    );
    assert_eq!(
        h.live(&key).get("spec"),
        &json!({"ours": 1, "defaulted": "yes"})
    );
}

#[tokio::test(start_paused = true)]
async fn existing_objects_are_refused_if_the_target_says_so() {
    let mut h = harness();
    let key = widget("x");
    h.sim
        .foreign(&key, "human", foreign_widget(&json!({"theirs": 1})));
    let mut careful = target(TargetType::Updater);
    careful.refuse_existing = true;
    let before = h.live(&key);
    h.want(
        &key,
        &Actor::of(OPERATOR, "c", 0, careful).wants(&spec(&json!({"ours": 1}))),
    );
    h.settle_within(Duration::from_secs(10)).await;
    assert_eq!(h.live(&key), before);
    assert_eq!(h.codes(&key), ["conflict"].into());
    h.sim.foreign_delete(&key);
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("ours"), &json!(1));
    assert!(h.codes(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn claims_of_other_operators_are_respected() {
    let mut h = harness();
    for who in [updater(), patcher(), applier()] {
        let key = widget("x");
        h.sim.foreign(&key, "them", |_| {
            let theirs = Claim::new(&OperatorId::new("them", "u"), "c", &Value::NULL, true);
            let object = foreign_widget(&json!({"theirs": 1}))(&Value::NULL);
            set(
                &object,
                &["metadata", "annotations", OWNER],
                Value::from(theirs.print(&key)),
            )
        });
        let before = h.live(&key);
        h.want(&key, &who.wants(&spec(&json!({"ours": 1}))));
        h.settle_within(Duration::from_secs(10)).await;
        assert_eq!(h.live(&key), before);
        assert_eq!(h.codes(&key), ["conflict"].into());
        let message = h.messages(&key).join("");
        assert!(
            message.contains("them") && message.contains(OPERATOR),
            "{message}"
        );
        h.withdraw(&key, &who.0.controller);
        h.settle().await;
        assert_eq!(h.live(&key), before);
        h.sim.foreign_delete(&key);
        h.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn only_objects_that_we_created_are_deleted() {
    let mut h = harness();
    let (ours, copied) = (widget("ours"), widget("copied"));
    h.want(&ours, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    let text = h.live(&ours).get("metadata").clone();
    h.sim.foreign(&copied, "human", |_| {
        let object = foreign_widget(&json!({"a": 1}))(&Value::NULL);
        let object = set(
            &object,
            &["metadata", "annotations"],
            text.get("annotations").clone(),
        );
        set(&object, &["metadata", "labels"], text.get("labels").clone())
    });
    let before = h.live(&copied);
    h.wanted.clear();
    h.restart();
    h.settle().await;
    assert_eq!(h.live(&ours), Value::NULL);
    assert_eq!(h.live(&copied), before);
}

#[tokio::test(start_paused = true)]
async fn leftovers_are_deleted_after_a_restart_unless_they_are_kept() {
    let mut h = harness();
    let (gone, kept) = (widget("gone"), widget("kept"));
    for key in [&gone, &kept] {
        h.want(key, &updater().wants(&spec(&json!({"a": 1}))));
    }
    h.settle().await;
    h.wanted.clear();
    let mut fresh = Harness::new(h.sim.clone());
    fresh.settle().await;
    assert_ne!(
        fresh.live(&gone),
        Value::NULL,
        "nothing is deleted before the sweep"
    );
    let stale = fresh.writer.leftovers(|leftover| leftover.key == kept);
    assert_eq!(stale.len(), 1);
    assert!(stale[0].removes);
    assert_eq!(stale[0].origin, json!([{"kind": "Source", "name": "s"}]));
    for leftover in stale {
        fresh.writer.withdraw(&leftover.key, &leftover.controller);
        fresh.run(&leftover.key).await;
    }
    assert_eq!(fresh.live(&gone), Value::NULL);
    assert_ne!(fresh.live(&kept), Value::NULL);
}

#[tokio::test(start_paused = true)]
async fn a_renamed_patcher_undoes_nothing_that_it_still_sets() {
    let mut h = harness();
    let key = widget("a");
    h.sim
        .foreign(&key, "user", foreign_widget(&json!({"own": 1})));
    h.want(&key, &patcher().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    h.wanted.clear();
    let mut fresh = Harness::new(h.sim.clone());
    let renamed = |fields: Value| Actor::new("q", 1, TargetType::Patcher).wants(&spec(&fields));
    fresh.want(&key, &renamed(json!({"a": 1})));
    fresh.settle().await;
    let left = |fresh: &Harness| {
        let stale = fresh.writer.leftovers(|_| false).into_iter();
        stale
            .map(|leftover| (leftover.controller, leftover.removes))
            .collect::<Vec<_>>()
    };
    assert_eq!(left(&fresh), [("p".to_owned(), false)]);
    fresh.want(&key, &renamed(json!({"b": 1})));
    assert_eq!(left(&fresh), [("p".to_owned(), true)]);
}

#[tokio::test(start_paused = true)]
async fn an_object_being_deleted_is_recreated_when_it_is_gone() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    let uid = h.live(&key).get("metadata").get("uid").clone();
    h.sim.foreign(&key, "human", |object| {
        set(object, &["metadata", "finalizers"], json!(["f"]))
    });
    h.sim.foreign_delete(&key);
    h.want(&key, &updater().wants(&spec(&json!({"a": 2}))));
    writes(&h);
    h.settle_within(Duration::from_secs(10)).await;
    assert_eq!(writes(&h), [""; 0]);
    h.sim.foreign(&key, "human", |object| {
        unset(object, &["metadata", "finalizers"])
    });
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("a"), &json!(2));
    assert_ne!(h.live(&key).get("metadata").get("uid"), &uid);
}

#[tokio::test(start_paused = true)]
async fn the_first_updater_wins_and_the_next_one_succeeds_it() {
    let mut h = harness();
    let key = widget("a");
    let (first, second) = (updater(), Actor::new("d", 1, TargetType::Updater));
    h.want(&key, &second.wants(&spec(&json!({"by": "second"}))));
    h.settle().await;
    h.want(&key, &first.wants(&spec(&json!({"by": "first"}))));
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("by"), &json!("first"));
    assert_eq!(h.codes(&key), ["conflict"].into());
    assert_eq!(claim(&h, &key).unwrap().controller, "c");
    h.withdraw(&key, "c");
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("by"), &json!("second"));
    assert!(h.codes(&key).is_empty());
    let taken = claim(&h, &key).unwrap();
    assert_eq!((taken.controller.as_str(), taken.created), ("d", true));
    h.withdraw(&key, "d");
    h.settle().await;
    assert_eq!(h.live(&key), Value::NULL);
}

#[tokio::test(start_paused = true)]
async fn a_renamed_controller_takes_over_its_objects() {
    let mut h = harness();
    let key = widget("a");
    let document = json!({"metadata": {"labels": {"old": "1"}}, "spec": {"a": 1}});
    h.want(
        &key,
        &Actor::new("old", 0, TargetType::Updater).wants(&document),
    );
    h.settle().await;
    h.wanted.clear();
    let new = Actor::new("new", 0, TargetType::Updater).wants(&spec(&json!({"a": 1})));
    h.wanted.insert((key.clone(), "new".to_owned()), new);
    let uid = h.live(&key).get("metadata").get("uid").clone();
    h.restart();
    h.settle().await;
    let live = h.live(&key);
    assert_eq!(live.get("metadata").get("uid"), &uid);
    let taken = claim(&h, &key).unwrap();
    assert_eq!((taken.controller.as_str(), taken.created), ("new", true));
    assert!(live.get("metadata").get("labels").get("old").is_null());
    let marks = live
        .get("metadata")
        .get("annotations")
        .as_map()
        .unwrap()
        .len();
    assert_eq!(marks, 2, "one claim and one record");
}

#[tokio::test(start_paused = true)]
async fn owners_are_written_only_if_they_are_origins() {
    let mut h = harness();
    let key = widget("a");
    let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "Source", "name": "s", "uid": uid});
    let document = json!({"metadata": {"ownerReferences": [(owner("yes")), (owner("cluster")), (owner("far")), (owner("no"))]}, "spec": {}});
    let owners = [("yes", "ns"), ("cluster", ""), ("far", "other")];
    h.want(&key, &updater().wants_owned(&document, &owners));
    h.settle().await;
    let uids = |h: &Harness| {
        let live = h.live(&key);
        let list = live.get("metadata").get("ownerReferences").as_list();
        let uids = list
            .into_iter()
            .flatten()
            .map(|owner| owner.get("uid").as_str().unwrap().to_owned());
        uids.collect::<Vec<String>>()
    };
    assert_eq!(uids(&h), ["yes", "cluster"]);
    assert_eq!(h.messages(&key).len(), 2);
    assert_eq!(h.codes(&key), ["owner-dropped"].into());
    h.sim.foreign(&key, "human", |object| {
        let mut list = object
            .get("metadata")
            .get("ownerReferences")
            .as_list()
            .unwrap()
            .to_vec();
        list.push(owner("theirs"));
        set(object, &["metadata", "ownerReferences"], list.into())
    });
    h.restart();
    let document = json!({"metadata": {"ownerReferences": [(owner("yes"))]}, "spec": {}});
    h.want(&key, &updater().wants_owned(&document, &owners));
    h.settle().await;
    assert_eq!(uids(&h), ["yes", "theirs"]);
}

#[tokio::test(start_paused = true)]
async fn a_removed_claim_is_restored() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &updater().wants(&spec(&json!({"a": 1}))));
    h.settle().await;
    h.sim.foreign(&key, "human", |object| {
        unset(object, &["metadata", "annotations"])
    });
    h.settle().await;
    assert!(claim(&h, &key).unwrap().created);
    assert!(h.reported.happened.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_apply_onto_an_existing_object_does_not_claim_to_have_created_it() {
    let mut h = harness();
    let key = widget("a");
    h.want(&key, &applier().wants(&spec(&json!({"a": 1}))));
    // Somebody creates it between our read and our write.
    let (sim, at) = (h.sim.clone(), key.clone());
    let human = tokio::spawn(async move {
        while !sim.take_sent().iter().any(|sent| sent.method == "GET") {
            tokio::task::yield_now().await;
        }
        sim.foreign(&at, "human", foreign_widget(&json!({"theirs": 1})));
    });
    h.step(Duration::ZERO).await;
    human.await.unwrap();
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("theirs"), &json!(1));
    assert_eq!(claim(&h, &key), None);
    h.withdraw(&key, "a");
    h.settle().await;
    assert_eq!(h.live(&key).get("spec").get("theirs"), &json!(1));
}

#[tokio::test(start_paused = true)]
async fn an_updater_removes_only_labels_that_it_has_set() {
    let mut h = harness();
    let key = widget("x");
    h.sim.foreign(&key, "human", |_| {
        let object = foreign_widget(&json!({"a": 1}))(&Value::NULL);
        set(
            &object,
            &["metadata", "labels"],
            json!({"team": "a", "moved": "1"}),
        )
    });
    let wants = |labels: Value| {
        let document = spec(&json!({"a": 1}));
        updater().wants(&set(&document, &["metadata", "labels"], labels))
    };
    let labels = |h: &Harness| {
        let labels = h.live(&key).get("metadata").get("labels").clone();
        unset(&labels, &[LABEL])
    };
    let all = json!({"team": "a", "moved": "2", "own": "1"});
    h.want(&key, &wants(all.clone()));
    h.settle().await;
    assert_eq!(labels(&h), all);
    for restart in [false, true] {
        if restart {
            h.restart();
            h.settle().await;
        }
        writes(&h);
        h.check_again().await;
        assert_eq!(writes(&h), [""; 0]);
    }
    h.want(&key, &wants(json!({})));
    h.settle().await;
    assert_eq!(labels(&h), json!({"team": "a"}));

    // A value that others change is repaired, and ours from then on.
    h.want(&key, &wants(json!({"team": "a"})));
    h.settle().await;
    h.sim.foreign(&key, "human", |object| {
        set(object, &["metadata", "labels", "team"], json!("b"))
    });
    h.settle().await;
    assert_eq!(labels(&h), json!({"team": "a"}));
    h.restart();
    h.settle().await;
    h.want(&key, &wants(json!({})));
    h.settle().await;
    assert_eq!(labels(&h), json!({}));
}
