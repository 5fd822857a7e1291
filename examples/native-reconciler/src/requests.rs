//! Requests from outside: each line `NAMESPACE/NAME` on standard input requests a new password.

use std::io::BufRead;
use std::sync::Arc;

use futures::{Stream, stream};
use kube::runtime::reflector::ObjectRef;
use tokio::sync::mpsc;

use crate::credential::Credential;
use crate::reconcile::Context;

/// A stream of the requested Credentials; it ends with standard input.
pub(crate) fn from_stdin(
    context: &Arc<Context>,
) -> impl Stream<Item = ObjectRef<Credential>> + Send + use<> {
    let context = context.clone();
    let (sender, receiver) = mpsc::channel(16);
    // Reading blocks and may never end. In its own thread it does not delay the exit.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let Some((namespace, name)) = line.trim().split_once('/') else {
                tracing::warn!("a line of standard input is not NAMESPACE/NAME");
                continue;
            };
            let object = ObjectRef::new(name).within(namespace);
            context.renew(&object);
            if sender.blocking_send(object).is_err() {
                break;
            }
        }
    });
    stream::unfold(receiver, |mut receiver| async move {
        let object = receiver.recv().await?;
        Some((object, receiver))
    })
}
