//! What a user may do: asks the cluster with `SubjectAccessReview`.

use std::time::Duration;

use apiserver::{Access, Attributes, Scope, StatusError, User};
use futures::future::BoxFuture;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use tokio::time::timeout;

use crate::cache::Cache;

/// How long a permission is reused.
const ALLOWED: Duration = Duration::from_secs(10);
/// How long a refusal is reused.
const REFUSED: Duration = Duration::from_secs(5);
/// How long to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks the cluster what users may do.
pub struct ClusterAccess {
    client: kube::Client,
    answers: Cache<(User, Attributes), Option<String>>,
}

impl std::fmt::Debug for ClusterAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterAccess").finish_non_exhaustive()
    }
}

impl ClusterAccess {
    /// Asks with this client, which needs the right to create `subjectaccessreviews`.
    pub fn new(client: kube::Client) -> Self {
        Self {
            client,
            answers: Cache::new(|(user, attributes), _| user.size() + attributes.size()),
        }
    }

    async fn ask(&self, user: &User, attributes: &Attributes) -> Result<Option<String>, String> {
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let review = review(user, attributes);
        let answer = timeout(TIMEOUT, reviews.create(&PostParams::default(), &review)).await;
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err("the API server did not answer in time".to_owned()),
        };
        let status = answer.status.unwrap_or_default();
        if status.allowed {
            return Ok(None);
        }
        if let Some(error) = status.evaluation_error.filter(|error| !error.is_empty()) {
            tracing::debug!(
                user = user.name,
                error,
                "the cluster could not decide fully"
            );
        }
        Ok(Some(status.reason.unwrap_or_default()))
    }
}

impl Access for ClusterAccess {
    fn check<'a>(
        &'a self,
        user: &'a User,
        attributes: &'a Attributes,
    ) -> BoxFuture<'a, Result<Option<String>, StatusError>> {
        Box::pin(async move {
            let key = (user.clone(), attributes.clone());
            if let Some(answer) = self.answers.get(&key) {
                return Ok(answer);
            }
            match self.ask(user, attributes).await {
                Ok(answer) => {
                    let time = if answer.is_none() { ALLOWED } else { REFUSED };
                    self.answers.put(key, answer.clone(), time);
                    Ok(answer)
                }
                Err(error) => {
                    tracing::warn!(error, "cannot ask the cluster what a user may do");
                    Err(StatusError::unavailable(
                        "the cluster cannot be asked whether this is allowed; try again later",
                    ))
                }
            }
        })
    }
}

fn review(user: &User, attributes: &Attributes) -> SubjectAccessReview {
    let verb = Some(attributes.verb.to_string());
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let (resource_attributes, non_resource_attributes) = match &attributes.scope {
        Scope::Path(path) => (
            None,
            Some(NonResourceAttributes {
                path: Some(path.clone()),
                verb,
            }),
        ),
        Scope::Resource {
            group,
            version,
            resource,
            subresource,
            namespace,
            name,
        } => (
            Some(ResourceAttributes {
                group: Some(group.clone()),
                version: Some(version.clone()),
                resource: Some(resource.clone()),
                subresource: given(subresource),
                namespace: given(namespace),
                name: given(name),
                verb,
                ..ResourceAttributes::default()
            }),
            None,
        ),
    };
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.name.clone()),
            uid: given(&user.uid),
            groups: Some(user.groups.clone()),
            extra: Some(user.extra.iter().cloned().collect()),
            resource_attributes,
            non_resource_attributes,
        },
        ..SubjectAccessReview::default()
    }
}
