//! Getting and listing objects.

use document::{Map, Value, json};
use object::metadata::KEYS;
use store::{Error, List};

use crate::answer::Answer;
use crate::failure::status_of;
use crate::negotiate::{self, Form};
use crate::query::ListVersion;
use crate::resource::Resource;
use crate::server::ObjectRequest;
use crate::status::StatusError;
use crate::table::{TableForm, partial};

impl ObjectRequest {
    /// One object.
    pub(crate) fn get(&self) -> Result<Answer, StatusError> {
        let form = negotiate::form(&self.headers)?;
        self.check_newest()?;
        self.require_complete()?;
        let key = self.key();
        let object = self.store().get(&self.resource.kind, &key);
        let object =
            object.ok_or_else(|| StatusError::not_found(self.resource.name(), key.name()))?;
        Ok(Answer::ok(self.one(form, object)))
    }

    /// An object in the form that the client accepts.
    pub(crate) fn one(&self, form: Form, object: Value) -> Value {
        match form {
            Form::Objects => object,
            Form::Metadata => partial(&object),
            Form::Table => {
                let version = object
                    .get_key(&KEYS.metadata)
                    .get_key(&KEYS.resource_version);
                let metadata = json!({"resourceVersion": (version.clone())});
                self.table_form()
                    .table(&self.resource, &[object], metadata, true)
            }
        }
    }

    /// A list of objects.
    pub(crate) fn list(&self) -> Result<Answer, StatusError> {
        let form = negotiate::form(&self.headers)?;
        let list = self.list_objects()?;
        let mut metadata = vec![(
            KEYS.resource_version.clone(),
            list.version.to_string().into(),
        )];
        // As in kube-apiserver, where only lists of whole custom resources have an empty token.
        let token = match (list.token, form) {
            (None, Form::Objects) => Some(String::new()),
            (token, _) => token,
        };
        if let Some(token) = token {
            metadata.push((document::Key::new("continue"), token.into()));
        }
        let remaining = list.remaining.and_then(|number| i64::try_from(number).ok());
        if let Some(remaining) = remaining {
            metadata.push((document::Key::new("remainingItemCount"), remaining.into()));
        }
        let metadata: Value = Map::from_entries(metadata).into();
        Ok(Answer::ok(match form {
            Form::Table => self
                .table_form()
                .table(&self.resource, &list.items, metadata, true),
            Form::Metadata => json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "items": (list.items.iter().map(partial).collect::<Value>())
            }),
            Form::Objects => list_value(&self.resource, metadata, list.items),
        }))
    }

    /// The objects that the query selects.
    pub(crate) fn list_objects(&self) -> Result<List, StatusError> {
        let selector = self.query.selector(self.route.namespace.as_deref())?;
        let version = self.query.list_version()?;
        self.require_complete()?;
        let (store, kind, limit) = (self.store(), &self.resource.kind, self.query.limit());
        if !self.query.token.is_empty() {
            if !matches!(self.query.resource_version.as_str(), "" | "0") {
                return Err(StatusError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let token = self.query.token.as_str();
            let odd = token.bytes().position(|byte| !is_base64(byte));
            // A single character at the end is less than a byte.
            let odd = odd.or_else(|| (token.len() % 4 == 1).then(|| token.len() - 1));
            if let Some(at) = odd {
                return Err(StatusError::bad_request(format!(
                    "invalid continue token: continue key is not valid: illegal base64 data at \
                     input byte {at}"
                )));
            }
            return self.mapped(store.list_page(kind, &selector, limit, Some(token)));
        }
        match version {
            ListVersion::Exact(version) => {
                self.check_not_newer(version)?;
                self.mapped(store.list_at(kind, &selector, version, limit))
            }
            ListVersion::NotOlderThan(version) => {
                self.check_not_newer(version)?;
                self.mapped(store.list_page(kind, &selector, limit, None))
            }
            ListVersion::Newest => self.mapped(store.list_page(kind, &selector, limit, None)),
        }
    }

    /// An error of the store as an answer.
    pub(crate) fn mapped<T>(&self, result: Result<T, Error>) -> Result<T, StatusError> {
        let name = self.route.name.as_deref().unwrap_or_default();
        result.map_err(|error| status_of(&error, &self.resource, name))
    }

    /// Nothing is read from a collection that is not complete: an empty list would be wrong.
    pub(crate) fn require_complete(&self) -> Result<(), StatusError> {
        let complete = self.store().require_complete(&self.resource.kind);
        self.mapped(complete).map(drop)
    }

    pub(crate) fn check_not_newer(&self, version: store::Version) -> Result<(), StatusError> {
        let newest = self.store().version();
        if version > newest {
            return Err(StatusError::too_large_version(version.0, newest.0));
        }
        Ok(())
    }

    /// A get may name a version that the answer must not be older than.
    fn check_newest(&self) -> Result<(), StatusError> {
        match self.query.list_version()? {
            ListVersion::Newest => Ok(()),
            ListVersion::NotOlderThan(version) | ListVersion::Exact(version) => {
                self.check_not_newer(version)
            }
        }
    }

    pub(crate) fn table_form(&self) -> TableForm {
        TableForm {
            include: self.query.include_object,
            now: self.server.shared.env.now(),
        }
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// A list of objects with their own kind.
pub(crate) fn list_value(resource: &Resource, metadata: Value, items: Vec<Value>) -> Value {
    json!({
        "apiVersion": (resource.api_version()),
        "kind": (format!("{}List", resource.kind.kind)),
        "metadata": metadata,
        "items": (Value::list(items))
    })
}
