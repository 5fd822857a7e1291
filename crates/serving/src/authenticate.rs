//! Who makes a request: asks the cluster about tokens with `TokenReview`.

use std::time::Duration;

use apiserver::{StatusError, User};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::api::{Api, PostParams};
use rustls::pki_types::CertificateDer;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::cache::Cache;
use crate::front_proxy::ClientAuthorities;

/// How long the user of a token is reused.
const KNOWN: Duration = Duration::from_secs(10);
/// How long a token that the cluster does not know is refused without asking again.
const UNKNOWN: Duration = Duration::from_secs(5);
/// How long to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Tokens are a few kilobytes at most. A longer one is not sent on.
const MAX_TOKEN: usize = 64 * 1024;
/// How many tokens are reviewed at the same time. Strangers can send any number of them.
const MAX_REVIEWS: usize = 64;

/// Finds out who makes a request.
pub struct Authenticator {
    client: kube::Client,
    authorities: watch::Receiver<ClientAuthorities>,
    tokens: Cache<String, Option<User>>,
    reviews: Semaphore,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator").finish_non_exhaustive()
    }
}

impl Authenticator {
    /// Asks with this client, which needs the right to create `tokenreviews`.
    pub fn new(client: kube::Client, authorities: watch::Receiver<ClientAuthorities>) -> Self {
        Self {
            client,
            authorities,
            tokens: Cache::new(|token, user| token.len() + user.as_ref().map_or(0, User::size)),
            reviews: Semaphore::new(MAX_REVIEWS),
        }
    }

    /// The authorities of client certificates, for new connections.
    pub(crate) fn authorities(&self) -> watch::Receiver<ClientAuthorities> {
        self.authorities.clone()
    }

    /// The user of a request. A certificate counts before a token, as in kube-apiserver.
    pub(crate) async fn user(
        &self,
        certificates: &[CertificateDer<'_>],
        headers: &HeaderMap,
    ) -> Result<User, StatusError> {
        let known = self.authorities.borrow().user(certificates, headers);
        if let Some(user) = known {
            return Ok(user);
        }
        let token = headers.get(AUTHORIZATION).and_then(bearer);
        let token = token.ok_or_else(StatusError::unauthorized)?;
        let user = match self.tokens.get(&token) {
            Some(user) => user,
            None => self.review(token).await?,
        };
        user.ok_or_else(StatusError::unauthorized)
    }

    async fn review(&self, token: String) -> Result<Option<User>, StatusError> {
        let _permit = self.reviews.try_acquire().map_err(|_| {
            StatusError::too_many_requests("too many logins at the same time; try again later")
        })?;
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.clone(),
                audiences: None,
            },
            ..TokenReview::default()
        };
        let answer = timeout(TIMEOUT, reviews.create(&PostParams::default(), &review)).await;
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(cannot_ask(&error.to_string())),
            Err(_) => return Err(cannot_ask("the API server did not answer in time")),
        };
        let user = user_of(answer);
        let time = if user.is_some() { KNOWN } else { UNKNOWN };
        self.tokens.put(token, user.clone(), time);
        Ok(user)
    }
}

fn cannot_ask(error: &str) -> StatusError {
    tracing::warn!(
        error,
        "cannot ask the cluster whose token it is; `deltic rbac --serve` prints the permissions \
         that are needed"
    );
    StatusError::unavailable("the cluster cannot be asked who you are; try again later")
}

/// The token in `Authorization: Bearer …`.
fn bearer(header: &HeaderValue) -> Option<String> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let valid = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty();
    (valid && token.len() <= MAX_TOKEN).then(|| token.to_owned())
}

fn user_of(review: TokenReview) -> Option<User> {
    let status = review
        .status
        .filter(|status| status.authenticated == Some(true))?;
    let user = status.user?;
    let name = user.username.filter(|name| !name.is_empty())?;
    Some(User {
        name,
        uid: user.uid.unwrap_or_default(),
        groups: user.groups.unwrap_or_default(),
        extra: user.extra.unwrap_or_default().into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn strangers_cannot_make_the_cluster_review_without_end() {
        // A cluster that does not answer.
        let silent = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Body>, std::io::Error>>()
        });
        let client = kube::Client::new(silent, "default");
        let (_, authorities) = watch::channel(ClientAuthorities::default());
        let authenticator = Arc::new(Authenticator::new(client, authorities));
        let login = |number: usize| {
            let authenticator = authenticator.clone();
            async move {
                let mut headers = HeaderMap::new();
                let token = format!("Bearer token-{number}");
                headers.insert(AUTHORIZATION, HeaderValue::from_str(&token).unwrap());
                authenticator.user(&[], &headers).await.unwrap_err().code
            }
        };
        let waiting: Vec<_> = (0..MAX_REVIEWS).map(|n| tokio::spawn(login(n))).collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(login(MAX_REVIEWS).await, 429);
        for task in waiting {
            assert_eq!(task.await.unwrap(), 503);
        }
        assert_eq!(login(0).await, 503, "there is room again");
    }

    #[test]
    fn only_bearer_tokens_are_read() {
        let read = |text: &'static str| bearer(&HeaderValue::from_static(text));
        assert_eq!(read("Bearer abc"), Some("abc".to_owned()));
        assert_eq!(read("bearer  abc "), Some("abc".to_owned()));
        for text in ["Bearer", "Bearer ", "Basic abc", "abc"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
