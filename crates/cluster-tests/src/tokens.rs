//! Tokens of accounts that the cluster would not issue.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, SigningKey as _};
use serde_json::{Value, json};

use crate::cluster::Cluster;

/// A key that signs tokens of accounts.
#[derive(Debug)]
pub enum TokenKey {
    /// The cluster's own.
    Own,
    /// That of another cluster.
    Foreign,
}

impl Cluster {
    /// A token of an existing account, signed by a key of the test's choice. It is valid for an
    /// hour, from some time ago.
    pub fn signed_token(
        &self,
        namespace: &str,
        account: &str,
        key: &TokenKey,
        ago: Duration,
    ) -> String {
        let object = self.get(&["serviceaccount", account, "-n", namespace]);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let issued = now
            .expect("the clock is right")
            .saturating_sub(ago)
            .as_secs();
        let issuer = "https://kubernetes.default.svc";
        let claims = json!({
            "iss": issuer, "aud": [issuer],
            "sub": format!("system:serviceaccount:{namespace}:{account}"),
            "iat": issued, "nbf": issued, "exp": issued + 3600,
            "kubernetes.io": {
                "namespace": namespace,
                "serviceaccount": {"name": account, "uid": object["metadata"]["uid"]}
            }
        });
        let key = match key {
            TokenKey::Own => {
                let pem = std::fs::read_to_string(self.plane().file("accounts.key"));
                KeyPair::from_pem(&pem.expect("the key of accounts is a file"))
            }
            TokenKey::Foreign => KeyPair::generate(),
        };
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let text = format!("{}.{}", encode(&json!({"alg": "ES256"})), encode(&claims));
        let signature = key.expect("a key is made").sign(text.as_bytes());
        let signature = fixed(&signature.expect("a key signs"));
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// An ECDSA signature in ASN.1, as the two numbers of 32 bytes that a token has.
fn fixed(signature: &[u8]) -> Vec<u8> {
    // 0x30, length, then for each number: 0x02, length, bytes, with a zero before a high bit.
    let mut rest = &signature[2..];
    let mut numbers = Vec::new();
    for _ in 0..2 {
        let length = usize::from(rest[1]);
        let bytes = &rest[2..2 + length];
        let bytes = &bytes[length.saturating_sub(32)..];
        numbers.extend(vec![0; 32 - bytes.len()]);
        numbers.extend(bytes);
        rest = &rest[2 + length..];
    }
    numbers
}
