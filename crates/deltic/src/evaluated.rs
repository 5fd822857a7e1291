//! What an Operator derives from objects in memory, evaluated again to be explained.

use std::collections::BTreeSet;
use std::sync::Arc;

use explanation::Recorded;
use expr::Env;
use object::ObjectKey;
use offline::Offline;

use crate::exit::Stop;
use crate::input;

/// Evaluates an Operator again, after a run.
pub(crate) fn evaluated(offline: &Offline, env: Env) -> Result<Recorded, Stop> {
    let operator = Arc::new(offline.operator().clone());
    let snapshots = offline.snapshots().map(Some);
    let recorded = Recorded::new(operator, snapshots, |_| true, env);
    let recorded = recorded
        .map_err(|error| Stop::failed(input::error(error.error.code(), error.to_string())))?;
    let existing: BTreeSet<ObjectKey> =
        offline.targets().iter().filter_map(ObjectKey::of).collect();
    Ok(recorded.with_existing(existing))
}

/// An object that does not exist, and for which a Patcher waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The name of the controller.
    pub(crate) controller: String,
    /// What it waits for, in words.
    pub(crate) message: String,
}

/// The objects for which the Patchers of an Operator wait after a run.
pub(crate) fn waiting(offline: &Offline, env: Env) -> Result<Vec<Waiting>, Stop> {
    // Usually there are none, and nothing is evaluated again.
    if !offline.waits_for_objects() {
        return Ok(Vec::new());
    }
    let controllers = &offline.operator().controllers;
    let recorded = evaluated(offline, env)?;
    let story = recorded.story();
    let mut waiting = Vec::new();
    for (number, controller) in controllers.iter().enumerate() {
        let objects = story.outputs(number);
        let messages = objects.filter_map(|object| story.waits_for_object(&object));
        waiting.extend(messages.map(|message| Waiting {
            controller: controller.name.clone(),
            message,
        }));
    }
    Ok(waiting)
}
