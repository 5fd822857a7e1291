//! Who is answered next: questions are answered one at a time, and users take turns.
//!
//! ```text
//! alice ▮▮▮▮  ┐
//! bob   ▮     ├─▶ alice, bob, carol, alice, carol, alice, alice
//! carol ▮▮    ┘
//! ```
//!
//! So whoever asks much delays others by one question each. The queue is bounded.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// How many questions may wait.
const MOST_WAITING: usize = 64;
/// How many questions of one user may wait.
const MOST_OF_USER: usize = 32;
/// How long a question waits for those before it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a question is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoTurn {
    #[error("too many questions wait for an answer; please try again later")]
    Full,
    #[error("too many of your questions wait for an answer; please try again later")]
    FullOfUser,
    #[error("others are asking, too; please try again later")]
    Late,
}

/// The questions that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct QuestionTurns(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    /// Whether a question is being answered.
    busy: bool,
    /// The questions that wait, by user; the user in front is next.
    users: VecDeque<(String, VecDeque<oneshot::Sender<QuestionTurn>>)>,
}

/// The turn of a question. When it is dropped, the next one is answered.
#[derive(Debug)]
pub(super) struct QuestionTurn(QuestionTurns);

impl QuestionTurns {
    /// Waits until this question of a user is the next one.
    pub(super) async fn wait(&self, user: &str) -> Result<QuestionTurn, NoTurn> {
        let Some(turn) = self.queue().enter(user)? else {
            return Ok(QuestionTurn(self.clone()));
        };
        // A sender is dropped only when its turn has come, or with the queue.
        match timeout(PATIENCE, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(NoTurn::Late),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Enters a question. `None` if it need not wait.
    fn enter(&mut self, user: &str) -> Result<Option<oneshot::Receiver<QuestionTurn>>, NoTurn> {
        if !self.busy {
            self.busy = true;
            return Ok(None);
        }
        for (_, waiting) in &mut self.users {
            waiting.retain(|turn| !turn.is_closed());
        }
        self.users.retain(|(_, waiting)| !waiting.is_empty());
        let all: usize = self.users.iter().map(|(_, waiting)| waiting.len()).sum();
        if all >= MOST_WAITING {
            return Err(NoTurn::Full);
        }
        let (sender, receiver) = oneshot::channel();
        match self.users.iter_mut().find(|(name, _)| name == user) {
            Some((_, waiting)) if waiting.len() >= MOST_OF_USER => return Err(NoTurn::FullOfUser),
            Some((_, waiting)) => waiting.push_back(sender),
            None => self.users.push_back((user.to_owned(), [sender].into())),
        }
        Ok(Some(receiver))
    }

    /// Who is next. The user goes to the end of the queue.
    fn next(&mut self) -> Option<oneshot::Sender<QuestionTurn>> {
        let (user, mut waiting) = self.users.pop_front()?;
        let next = waiting.pop_front();
        if !waiting.is_empty() {
            self.users.push_back((user, waiting));
        }
        next
    }
}

impl Drop for QuestionTurn {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        let next = queue.next();
        queue.busy = next.is_some();
        drop(queue);
        if let Some(next) = next {
            // If nobody waits there any more, the turn comes back, and is dropped for the next one.
            let _ = next.send(Self(self.0.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets tasks run until all of them wait.
    async fn settle() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn users_take_turns() {
        let (turns, answered) = (QuestionTurns::default(), Arc::new(Mutex::new(Vec::new())));
        let first = turns.wait("alice").await.unwrap();
        for user in ["alice", "alice", "alice", "bob", "carol", "carol"] {
            let (turns, answered) = (turns.clone(), answered.clone());
            tokio::spawn(async move {
                let _turn = turns.wait(user).await.unwrap();
                answered.lock().unwrap().push(user);
                settle().await;
            });
            settle().await;
        }
        drop(first);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let expect = ["alice", "bob", "carol", "alice", "carol", "alice"];
        assert_eq!(*answered.lock().unwrap(), expect);
        // Nobody waits.
        assert!(turns.wait("bob").await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_bounded() {
        let turns = QuestionTurns::default();
        let first = turns.wait("alice").await.unwrap();
        let mut waiting = Vec::new();
        let mut ask = |user: &str| {
            let (turns, user) = (turns.clone(), user.to_owned());
            waiting.push(tokio::spawn(
                async move { turns.wait(&user).await.map(drop) },
            ));
        };
        (0..MOST_OF_USER).for_each(|_| ask("alice"));
        settle().await;
        assert_eq!(turns.wait("alice").await.unwrap_err(), NoTurn::FullOfUser);
        (MOST_OF_USER..MOST_WAITING).for_each(|number| ask(&format!("user-{number}")));
        settle().await;
        assert_eq!(turns.wait("bob").await.unwrap_err(), NoTurn::Full);
        // Those who gave up make room.
        waiting.pop().unwrap().abort();
        settle().await;
        let (bob, ()) = tokio::join!(turns.wait("bob"), async { drop(first) });
        assert!(bob.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_forever() {
        let turns = QuestionTurns::default();
        let first = turns.wait("alice").await.unwrap();
        assert_eq!(turns.wait("bob").await.unwrap_err(), NoTurn::Late);
        drop(first);
        assert!(turns.wait("bob").await.is_ok());
    }
}
