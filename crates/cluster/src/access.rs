//! Asks the API server whether an account may read a resource (`SubjectAccessReview`).
//!
//! Views are read from memory, so the API server does not check who reads them. [`Reviews`] asks it
//! instead, as if the views were served by it: the account needs `list` and `watch`.
//!
//! ```text
//! reader ─▶ Reviews::follow(rule) ─▶ Allowed, Refused(why), …   asked again every 30 s
//! ```
//!
//! Readers with the same rule share the answers. If the server cannot be asked, the last answer
//! counts for a few minutes; after that the account is refused.

use std::collections::HashMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::client::{Clients, Identity};
use crate::connect::describe;

/// How often the server is asked.
const INTERVAL: Duration = Duration::from_secs(30);
/// How long an answer counts if the server cannot be asked again.
const TRUST: Duration = Duration::from_mins(5);
/// How long to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a question that failed.
const RETRY: Duration = Duration::from_secs(5);

/// The permission of a service account to list and watch a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReadRule {
    /// The namespace of the account.
    pub account_namespace: String,
    /// The name of the account.
    pub account: String,
    /// The API group of the resource.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// Only its objects in this namespace; `None` for all.
    pub namespace: Option<String>,
}

impl ReadRule {
    fn user(&self) -> String {
        let Self {
            account_namespace,
            account,
            ..
        } = self;
        format!("system:serviceaccount:{account_namespace}:{account}")
    }

    fn review(&self, verb: &str) -> SubjectAccessReview {
        // The server adds these groups to a request of the account, but not to a review.
        let groups = vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", self.account_namespace),
            "system:authenticated".to_owned(),
        ];
        SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(self.user()),
                groups: Some(groups),
                resource_attributes: Some(ResourceAttributes {
                    group: Some(self.group.clone()),
                    resource: Some(self.resource.clone()),
                    namespace: self.namespace.clone(),
                    verb: Some(verb.to_owned()),
                    version: Some("*".to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        }
    }
}

impl fmt::Display for ReadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resource, group) = (&self.resource, &self.group);
        write!(f, "list and watch {resource} in group {group}")?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

/// Whether an account may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allowed,
    /// It may not, or this is not known, for this reason.
    Refused(String),
}

/// Asks about accounts. Clones share their answers.
#[derive(Clone)]
pub struct Reviews {
    clients: Clients,
    answers: Arc<Mutex<HashMap<ReadRule, Answer>>>,
}

impl fmt::Debug for Reviews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reviews").finish_non_exhaustive()
    }
}

/// The last answer for a rule. Whoever asks the server locks it, so that others wait for
/// the same answer.
type Answer = Arc<tokio::sync::Mutex<LastAnswer>>;

#[derive(Debug, Default)]
struct LastAnswer {
    /// When the server answered last, and whether it allowed the rule.
    answered: Option<(Instant, bool)>,
    /// When it was asked last, and why it did not answer.
    failed: Option<(Instant, String)>,
}

/// Follows the permission of an account. Dropping it ends the questions.
#[derive(Debug)]
pub struct Permission {
    verdict: watch::Receiver<Verdict>,
    task: AbortHandle,
}

impl Drop for Permission {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Permission {
    /// Why the account may not read; `None` if it may.
    pub fn refusal(&mut self) -> Option<String> {
        match &*self.verdict.borrow_and_update() {
            Verdict::Allowed => None,
            Verdict::Refused(why) => Some(why.clone()),
        }
    }

    /// Whether the account may read.
    pub fn is_granted(&self) -> bool {
        *self.verdict.borrow() == Verdict::Allowed
    }

    /// Completes when the answer has changed since [`Permission::refusal`] was called.
    pub async fn changed(&mut self) {
        if self.verdict.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Reviews {
    /// Asks with the permissions of deltic itself.
    pub fn new(clients: Clients) -> Self {
        Self {
            clients,
            answers: Arc::default(),
        }
    }

    /// Asks now, and then regularly. Until the first answer, the account is refused.
    pub fn follow(&self, rule: ReadRule) -> Permission {
        let first = Verdict::Refused(format!("asking whether {} may {rule}", rule.user()));
        let (sender, verdict) = watch::channel(first);
        let reviews = self.clone();
        let task = tokio::spawn(async move {
            loop {
                let (verdict, again) = reviews.ask(&rule).await;
                sender.send_if_modified(|old| {
                    let changed = *old != verdict;
                    *old = verdict;
                    changed
                });
                sleep(again).await;
            }
        });
        Permission {
            verdict,
            task: task.abort_handle(),
        }
    }

    /// Whether an account may read, and when to ask again.
    async fn ask(&self, rule: &ReadRule) -> (Verdict, Duration) {
        let answer = self.answer(rule);
        let mut answer = answer.lock().await;
        if let Some(again) = answer.counts_for() {
            return (answer.verdict(rule), again);
        }
        // A panic must not end the task of those who follow the rule.
        let reviewed = AssertUnwindSafe(self.review(rule)).catch_unwind().await;
        let failed =
            |_| Err("an error in deltic itself: please report this, with the log".to_owned());
        match reviewed.unwrap_or_else(failed) {
            Ok(allowed) => {
                answer.answered = Some((Instant::now(), allowed));
                answer.failed = None;
            }
            Err(why) => answer.failed = Some((Instant::now(), why)),
        }
        let again = answer.counts_for().unwrap_or(RETRY);
        (answer.verdict(rule), again)
    }

    fn answer(&self, rule: &ReadRule) -> Answer {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if !answers.contains_key(rule) {
            // Nobody follows the others any more.
            answers.retain(|_, answer| {
                Arc::strong_count(answer) > 1 || answer.try_lock().is_ok_and(|a| a.is_recent())
            });
        }
        answers.entry(rule.clone()).or_default().clone()
    }

    /// Asks the server. Returns why it did not answer.
    async fn review(&self, rule: &ReadRule) -> Result<bool, String> {
        let api: Api<SubjectAccessReview> = Api::all(self.clients.of(&Identity::Own));
        for verb in ["list", "watch"] {
            let review = rule.review(verb);
            let params = PostParams::default();
            let answer = timeout(TIMEOUT, api.create(&params, &review)).await;
            let answer = answer.map_err(|_| "the API server does not answer".to_owned())?;
            let status = answer.map_err(|error| explain(&error))?.status;
            if !status.is_some_and(|status| status.allowed) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl LastAnswer {
    /// For how much longer the server is not asked again; `None` if it has to be asked now.
    fn counts_for(&self) -> Option<Duration> {
        let (since, interval) = match (&self.failed, &self.answered) {
            (Some((at, _)), _) => (*at, RETRY),
            (None, Some((at, _))) => (*at, INTERVAL),
            (None, None) => return None,
        };
        let left = interval.saturating_sub(since.elapsed());
        (!left.is_zero()).then_some(left)
    }

    fn is_recent(&self) -> bool {
        let (answered, failed) = (self.answered.as_ref(), self.failed.as_ref());
        let last = answered.map(|(at, _)| *at).max(failed.map(|(at, _)| *at));
        last.is_some_and(|at| at.elapsed() < TRUST)
    }

    fn verdict(&self, rule: &ReadRule) -> Verdict {
        let user = rule.user();
        let refused = || {
            Verdict::Refused(format!(
                "{user} may not {rule}; grant it, `deltic rbac` prints the rules"
            ))
        };
        match (self.answered, &self.failed) {
            (Some((at, allowed)), failed) if failed.is_none() || at.elapsed() < TRUST => {
                if allowed { Verdict::Allowed } else { refused() }
            }
            (_, Some((_, why))) => {
                Verdict::Refused(format!("cannot ask whether {user} may {rule}: {why}"))
            }
            (_, None) => refused(),
        }
    }
}

fn explain(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 403 => {
            "grant deltic create of subjectaccessreviews (authorization.k8s.io)".to_owned()
        }
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        error => describe(error),
    }
}
