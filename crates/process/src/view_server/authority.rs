//! The authority of generated certificates, which is kept in a Secret.

use std::collections::BTreeMap;

use cluster::connect::describe;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use serving::{Authority, CertificateError};

/// The Secret with the authority of generated certificates.
pub const SECRET: &str = "deltic-serving";
/// The keys of the Secret.
const AUTHORITY: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";

/// Why there is no authority.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// There is no Secret.
    #[error("there is no Secret {SECRET} in namespace {namespace}")]
    Missing {
        /// The namespace.
        namespace: String,
    },
    /// The Secret may not be read or created.
    #[error("the Secret {SECRET} in namespace {namespace}: {message}")]
    Forbidden {
        /// The namespace.
        namespace: String,
        /// What the cluster answered.
        message: String,
    },
    /// The cluster cannot be asked for the Secret.
    #[error(
        "cannot use the Secret {SECRET} in namespace {namespace}: {}",
        describe(.error)
    )]
    Cluster {
        /// The namespace.
        namespace: String,
        /// Why.
        #[source]
        error: Box<kube::Error>,
    },
    /// The Secret contains something else.
    #[error("the Secret {SECRET} in namespace {namespace} has no authority of deltic: {error}")]
    Damaged {
        /// The namespace.
        namespace: String,
        /// What is wrong.
        #[source]
        error: CertificateError,
    },
    /// None can be generated.
    #[error(transparent)]
    Generate(#[from] CertificateError),
}

impl AuthorityError {
    fn of(error: kube::Error, namespace: &str) -> Self {
        let namespace = namespace.to_owned();
        match error {
            kube::Error::Api(status) if status.code == 404 => Self::Missing { namespace },
            kube::Error::Api(status) if status.code == 403 => Self::Forbidden {
                namespace,
                message: status.message.clone(),
            },
            error => Self::Cluster {
                namespace,
                error: Box::new(error),
            },
        }
    }
}

/// The certificate of the authority that a process has stored in this namespace.
pub async fn stored_authority(client: &Client, namespace: &str) -> Result<String, AuthorityError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = secrets.get(SECRET).await;
    let secret = secret.map_err(|error| AuthorityError::of(error, namespace))?;
    Ok(stored(&secret, namespace)?.certificate().to_owned())
}

/// The authority in the Secret, which is created if it does not exist.
pub(super) async fn authority(
    client: &Client,
    namespace: &str,
) -> Result<Authority, AuthorityError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let failed = |error: kube::Error| AuthorityError::of(error, namespace);
    // A second attempt if another process creates it at the same time.
    for _ in 0..2 {
        if let Some(secret) = secrets.get_opt(SECRET).await.map_err(failed)? {
            return stored(&secret, namespace);
        }
        let authority = Authority::generate()?;
        match secrets
            .create(&PostParams::default(), &secret(&authority))
            .await
        {
            Ok(_) => return Ok(authority),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let secret = secrets.get(SECRET).await.map_err(failed)?;
    stored(&secret, namespace)
}

fn stored(secret: &Secret, namespace: &str) -> Result<Authority, AuthorityError> {
    let text = |key: &str| {
        let data = secret.data.as_ref().and_then(|data| data.get(key));
        let text = data.map(|ByteString(bytes)| String::from_utf8_lossy(bytes).into_owned());
        text.unwrap_or_default()
    };
    let authority = Authority::from_pem(text(AUTHORITY), text(AUTHORITY_KEY));
    authority.map_err(|error| AuthorityError::Damaged {
        namespace: namespace.to_owned(),
        error,
    })
}

fn secret(authority: &Authority) -> Secret {
    let data = [
        (AUTHORITY, authority.certificate()),
        (AUTHORITY_KEY, authority.key()),
    ];
    let data = data.map(|(key, text)| (key.to_owned(), ByteString(text.as_bytes().to_vec())));
    Secret {
        metadata: ObjectMeta {
            name: Some(SECRET.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from(data)),
        ..Secret::default()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response, StatusCode};
    use kube::client::Body;

    use super::*;

    /// The error of reading the Secret from a server that gives this answer.
    async fn error_of(code: u16, body: &'static str) -> AuthorityError {
        let service = tower::service_fn(move |_: Request<Body>| async move {
            let mut response = Response::new(Body::from(body.as_bytes().to_vec()));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            Ok::<_, Infallible>(response)
        });
        let client = Client::new(service, "default");
        stored_authority(&client, "ns").await.unwrap_err()
    }

    #[tokio::test]
    async fn a_secret_that_cannot_be_read_is_named_with_the_reason() {
        let missing = r#"{"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "x"}"#;
        let error = error_of(404, missing).await;
        assert_eq!(
            error.to_string(),
            "there is no Secret deltic-serving in namespace ns"
        );
        let forbidden = r#"{"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "User \"u\" cannot get secrets"}"#;
        let error = error_of(403, forbidden).await;
        assert_eq!(
            error.to_string(),
            r#"the Secret deltic-serving in namespace ns: User "u" cannot get secrets"#
        );
        let down = r#"{"kind": "Status", "status": "Failure", "code": 503, "reason": "ServiceUnavailable", "message": "down"}"#;
        let error = error_of(503, down).await;
        assert_eq!(
            error.to_string(),
            "cannot use the Secret deltic-serving in namespace ns: down"
        );
    }

    #[test]
    fn a_damaged_secret_is_named() {
        let [one, other] = [(); 2].map(|()| Authority::generate().unwrap());
        assert!(stored(&secret(&one), "ns").is_ok());
        let mut mixed = secret(&one);
        let key = secret(&other).data.unwrap().remove(AUTHORITY_KEY).unwrap();
        mixed
            .data
            .get_or_insert_default()
            .insert(AUTHORITY_KEY.to_owned(), key);
        for damaged in [mixed, Secret::default()] {
            let error = stored(&damaged, "ns").unwrap_err().to_string();
            let expect = "the Secret deltic-serving in namespace ns has no authority of deltic: ";
            assert!(error.starts_with(expect), "{error}");
        }
    }
}
