//! Target objects that cannot be read.

use document::json;

use crate::server::DEEP;
use crate::{World, copied, copies, servers, spec};

#[tokio::test(start_paused = true)]
async fn a_target_that_cannot_be_read_is_left_alone() {
    for server in servers() {
        // An object of others, without our label: the target watch does not deliver it.
        server.put("copies", "a", &spec(DEEP));
        server.put("things", "a", &spec("x"));
        server.put("things", "b", &spec("x"));
        let world = World::start(&server, vec![copies("o", "$.spec")]);
        world.cannot_read("a").await;
        assert_eq!(copied(&server, "a"), json!(DEEP));
        assert_eq!(copied(&server, "b"), json!("x"));

        // An object that is ours.
        server.put("copies", "a", &spec("theirs"));
        world.is_well().await;
        assert_eq!(copied(&server, "a"), json!("x"));
        let ours = server.get("copies", "b");
        let ours = ours
            .as_map()
            .unwrap()
            .with("spec".into(), json!({"value": DEEP}));
        server.put("copies", "b", &ours.into());
        server.take_writes();
        let error = world.cannot_read("b").await;
        assert_eq!(error.stage, "target");
        assert_eq!(server.take_writes(), [""; 0]);
        world.stop().await;

        // The same after a restart; when it is no longer derived, it is deleted.
        let world = World::start(&server, vec![copies("o", "$.spec")]);
        world.cannot_read("b").await;
        assert_eq!(copied(&server, "b"), json!(DEEP));
        assert_eq!(server.take_writes(), [""; 0]);
        server.delete("things", "b");
        world.is_well().await;
        assert_eq!(server.names("copies"), ["a"]);
        world.stop().await;
        server.delete("things", "a");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_is_no_reason_to_write_again() {
    for server in servers() {
        server.webhook(json!({"extra": DEEP}));
        server.put("things", "a", &spec("x"));
        let world = World::start(&server, vec![copies("o", "$.spec")]);
        let error = world.cannot_read("a").await;
        assert_eq!(error.stage, "target");
        assert_eq!(server.take_writes(), ["POST copies"]);
        let copy = server.get("copies", "a");
        let copy = copy.as_map().unwrap().without("extra");
        server.put("copies", "a", &copy.into());
        world.is_well().await;
        assert_eq!(server.take_writes(), [""; 0]);
        world.stop().await;
    }
}
