//! Creating, updating and deleting objects.

use document::{Key, Map, Value, json};
use jiff::Timestamp;
use object::metadata::{self, KEYS};
use object::{GroupKind, ObjectName};
use store::{Change, Error, Preconditions, Write, Written};

use crate::answer::Answer;
use crate::duplicates::duplicates;
use crate::managed::{Manager, Managers, Operation, changes};
use crate::metadata::{prune, validate, validate_update};
use crate::negotiate::{self, BodyFormat};
use crate::query::FieldValidation;
use crate::read::list_value;
use crate::server::ObjectRequest;
use crate::status::{Cause, StatusError, deleted};

/// The characters of generated names: no vowels, so that they form no words.
const NAME_CHARACTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The largest object in YAML, in bytes, with its aliases written out.
const MAX_YAML: usize = 3 * 1024 * 1024;

impl ObjectRequest {
    /// Creates an object.
    pub(crate) fn create(&self) -> Result<Answer, StatusError> {
        let form = negotiate::form(&self.headers)?;
        let (object, warnings) = self.object()?;
        let object = self.named(self.placed(object)?);
        let written = self.create_object(&object)?;
        Ok(Answer::new(201, self.one(form, written.object)).with_warnings(warnings))
    }

    /// Stores a new object.
    fn create_object(&self, object: &Value) -> Result<Written, StatusError> {
        validate(&self.resource, object)?;
        let manager = self.manager(Operation::Update);
        let changes = changes(
            &Value::empty_map(),
            &without_status(object),
            manager.operation,
        );
        let managers = Managers::default().after_update(&manager, &changes, &self.now());
        let object = managers.put(&without(object, &KEYS.resource_version));
        self.write(&Write::Create(object))
    }

    /// Replaces an object, or its status.
    pub(crate) fn update(&self) -> Result<Answer, StatusError> {
        let form = negotiate::form(&self.headers)?;
        let (object, warnings) = self.object()?;
        let object = self.placed(object)?;
        self.check_name(&object)?;
        if metadata::resource_version(&object).is_empty() {
            // A get before the check, because a missing object is the more useful answer.
            self.live()?;
            let cause = Cause {
                reason: "FieldValueInvalid",
                field: "metadata.resourceVersion".to_owned(),
                message: "Invalid value: 0: must be specified for an update".to_owned(),
            };
            let name = metadata::name(&object);
            return Err(StatusError::invalid(&self.resource.kind, name, &[cause]));
        }
        let live = self.live()?;
        validate_update(&self.resource, &live, &object)?;
        let written = self.replace(&live, &object)?;
        Ok(Answer::ok(self.one(form, written.object)).with_warnings(warnings))
    }

    /// Writes a changed object over the one that was read.
    pub(crate) fn replace(&self, live: &Value, object: &Value) -> Result<Written, StatusError> {
        let manager = self.manager(Operation::Update);
        let part = |object: &Value| {
            if self.on_status() {
                only_status(object)
            } else {
                without_status(object)
            }
        };
        let changes = changes(&part(live), &part(object), manager.operation);
        let sent = object.get_key(&KEYS.metadata).get_key(&KEYS.managed_fields);
        let managers = if sent.as_list().is_some_and(document::ListRef::is_empty) {
            // This is how a client says that it wants them reset.
            Managers::default()
        } else {
            Managers::of(live)
        };
        let managers = managers.after_update(&manager, &changes, &self.now());
        self.write(&self.replacement(managers.put(object)))
    }

    /// The write of the object or of its status.
    pub(crate) fn replacement(&self, object: Value) -> Write {
        if self.on_status() {
            Write::Status(object)
        } else {
            Write::Replace(object)
        }
    }

    /// Deletes an object.
    pub(crate) fn delete(&self) -> Result<Answer, StatusError> {
        let options = self.delete_options()?;
        let written = self.delete_one(&self.key(), &options)?;
        if written.change != Change::Deleted {
            // It waits for its finalizers.
            return Ok(Answer::ok(written.object));
        }
        let name = self.route.name.as_deref().unwrap_or_default();
        let uid = metadata::uid(&written.object);
        Ok(Answer::ok(deleted(self.resource.name(), name, uid)))
    }

    /// Deletes all objects that the query selects. Returns them as they were. If one of them must
    /// not be deleted, none is.
    pub(crate) fn delete_collection(&self) -> Result<Answer, StatusError> {
        let options = self.delete_options()?;
        let list = self.list_objects()?;
        let mut items = Vec::new();
        let keys: Vec<_> = list.items.iter().filter_map(ObjectName::of).collect();
        for key in &keys {
            let write = Write::Delete(key.clone(), options.preconditions.clone());
            match self.mapped(self.carry_out(&write, true)) {
                Err(error) if error.code != 404 => return Err(error),
                Err(_) | Ok(_) => {}
            }
        }
        for (key, object) in keys.iter().zip(list.items) {
            match self.delete_one(key, &options) {
                Ok(_) => items.push(object),
                // Somebody else was faster.
                Err(error) if error.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        let metadata = json!({"resourceVersion": (list.version.to_string())});
        Ok(Answer::ok(list_value(&self.resource, metadata, items)))
    }

    fn delete_one(
        &self,
        key: &ObjectName,
        options: &DeleteOptions,
    ) -> Result<Written, StatusError> {
        let write = Write::Delete(key.clone(), options.preconditions.clone());
        let dry_run = options.dry_run || self.query.dry_run()?;
        self.mapped(self.carry_out(&write, dry_run))
    }

    /// Carries out a write, or tries it.
    pub(crate) fn write(&self, write: &Write) -> Result<Written, StatusError> {
        self.mapped(self.try_write(write)?)
    }

    /// Carries out a write. A failure of the store is the inner error.
    pub(crate) fn try_write(&self, write: &Write) -> Result<Result<Written, Error>, StatusError> {
        Ok(self.carry_out(write, self.query.dry_run()?))
    }

    fn carry_out(&self, write: &Write, dry_run: bool) -> Result<Written, Error> {
        let (caller, kind) = (self.caller(), &self.resource.kind);
        if !dry_run {
            return self.store().write(&caller, kind, write);
        }
        let Written { object, change } = self.store().dry_run(&caller, kind, write)?;
        // Nothing is written, so the object keeps its version, and a new one has none.
        let live = ObjectName::of(&object).and_then(|key| self.store().get(kind, &key));
        let object = match &live {
            Some(live) => {
                let version = metadata::resource_version(live).into();
                with(&object, &KEYS.resource_version, version)
            }
            None => without(&object, &KEYS.resource_version),
        };
        Ok(Written { object, change })
    }

    /// The stored object of the path.
    pub(crate) fn live(&self) -> Result<Value, StatusError> {
        let key = self.key();
        let live = self.store().get(&self.resource.kind, &key);
        live.ok_or_else(|| StatusError::not_found(self.resource.name(), key.name()))
    }

    /// The manager of this write.
    pub(crate) fn manager(&self, operation: Operation) -> Manager {
        Manager {
            name: self.caller().field_manager,
            operation,
            api_version: self.resource.api_version(),
            subresource: self.route.subresource.clone().unwrap_or_default(),
        }
    }

    /// The time for `managedFields`.
    pub(crate) fn now(&self) -> String {
        let now = Timestamp::from_second(self.server.shared.env.now());
        now.map(|now| now.to_string()).unwrap_or_default()
    }

    /// The object in the body, with warnings about it.
    fn object(&self) -> Result<(Value, Vec<String>), StatusError> {
        let format = negotiate::body_format(&self.headers)?;
        let object = parse(format, &self.content)?;
        self.check_kind(&object)?;
        let validation = self.query.field_validation()?;
        let duplicates = if format == BodyFormat::Json && validation != FieldValidation::Ignore {
            duplicates(&self.content)
        } else {
            Vec::new()
        };
        prune(&self.resource, &object, &duplicates, validation)
    }

    /// An object must have the kind of the path.
    pub(crate) fn check_kind(&self, object: &Value) -> Result<(), StatusError> {
        if object.as_map().is_none() {
            return Err(StatusError::bad_request(
                "couldn't get version/kind; json parse error: the body is not an object",
            ));
        }
        for (key, field) in [("Kind", &KEYS.kind), ("apiVersion", &KEYS.api_version)] {
            let text = object.get_key(field).as_str();
            if text.is_none_or(str::is_empty) {
                return Err(StatusError::bad_request(format!(
                    "Object '{key}' is missing in the body"
                )));
            }
        }
        let expected = self.resource.api_version();
        let found = object.get_key(&KEYS.api_version).as_str();
        if found != Some(&expected) {
            return Err(StatusError::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version \
                 ({expected})",
                found.unwrap_or_default()
            )));
        }
        let kind = GroupKind::of(object);
        if kind.as_ref() != Some(&self.resource.kind) {
            return Err(StatusError::bad_request(format!(
                "the kind in the data ({}) does not match the expected kind ({})",
                object.get_key(&KEYS.kind).as_str().unwrap_or_default(),
                self.resource.kind.kind
            )));
        }
        let metadata = object.get_key(&KEYS.metadata);
        if metadata.as_map().is_none() && !metadata.is_null() {
            return Err(StatusError::bad_request("metadata must be an object"));
        }
        Ok(())
    }

    /// The object in the namespace of the path.
    pub(crate) fn placed(&self, object: Value) -> Result<Value, StatusError> {
        let namespace = self.namespace();
        match metadata::namespace(&object) {
            "" if namespace.is_empty() => Ok(object),
            "" => Ok(with(&object, &KEYS.namespace, namespace.into())),
            found if found == namespace => Ok(object),
            _ => Err(StatusError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            )),
        }
    }

    /// An object that is written at the path of another one is refused.
    pub(crate) fn check_name(&self, object: &Value) -> Result<(), StatusError> {
        let (found, expected) = (metadata::name(object), self.key());
        if found == expected.name() {
            return Ok(());
        }
        Err(StatusError::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({})",
            expected.name()
        )))
    }

    /// The object with a name, which is generated from `generateName` if it has none.
    fn named(&self, object: Value) -> Value {
        let prefix = object.get_key(&KEYS.metadata).get("generateName").as_str();
        match prefix {
            Some(prefix) if metadata::name(&object).is_empty() && !prefix.is_empty() => {
                let mut random = self.server.shared.env.random();
                let mut name = prefix.to_owned();
                for _ in 0..5 {
                    let count = NAME_CHARACTERS.len() as u64;
                    name.push(char::from(NAME_CHARACTERS[(random % count) as usize]));
                    random /= count;
                }
                with(&object, &KEYS.name, name.into())
            }
            _ => object,
        }
    }

    fn delete_options(&self) -> Result<DeleteOptions, StatusError> {
        let mut options = DeleteOptions::default();
        let text = self.content.trim_ascii();
        if text.is_empty() {
            return Ok(options);
        }
        let body = parse(negotiate::body_format(&self.headers)?, text)?;
        let preconditions = body.get("preconditions");
        options.preconditions.uid = preconditions.get("uid").as_str().map(str::to_owned);
        if let Some(version) = preconditions.get("resourceVersion").as_str() {
            let version = version.parse().map_err(|_| {
                StatusError::bad_request("preconditions.resourceVersion must be a version")
            })?;
            options.preconditions.version = Some(version);
        }
        let dry_run = body.get("dryRun").as_list();
        options.dry_run = dry_run.is_some_and(|list| !list.is_empty());
        Ok(options)
    }
}

#[derive(Debug, Default)]
struct DeleteOptions {
    preconditions: Preconditions,
    dry_run: bool,
}

/// A document that a client has sent.
pub(crate) fn parse(format: BodyFormat, content: &[u8]) -> Result<Value, StatusError> {
    let text = std::str::from_utf8(content)
        .map_err(|_| StatusError::bad_request("the body is not valid UTF-8"))?;
    match format {
        BodyFormat::Json => text.parse().map_err(|error| {
            StatusError::bad_request(format!("the body is not valid JSON: {error}"))
        }),
        BodyFormat::Yaml => {
            let manifests = manifest::parse_bytes("body", content.to_vec());
            let manifests = manifests.map_err(|diagnostic| {
                StatusError::bad_request(format!(
                    "the body is not valid YAML: {}",
                    diagnostic.short()
                ))
            })?;
            match manifests.as_slice() {
                // Aliases repeat values without taking space in the text.
                [one] if one.value.measure().bytes as usize > MAX_YAML => {
                    Err(StatusError::too_large(MAX_YAML))
                }
                [one] => Ok(one.value.clone()),
                _ => Err(StatusError::bad_request(
                    "the body must be one YAML document",
                )),
            }
        }
    }
}

/// The object with a field of metadata.
pub(crate) fn with(object: &Value, key: &Key, value: Value) -> Value {
    let metadata = object.get_key(&KEYS.metadata).as_map();
    let metadata = metadata
        .cloned()
        .unwrap_or_else(|| Map::from_sorted(Vec::new()));
    let metadata = metadata.with(key.clone(), value).into();
    object.as_map().map_or(Value::NULL, |map| {
        map.with(KEYS.metadata.clone(), metadata).into()
    })
}

/// The object without a field of metadata.
pub(crate) fn without(object: &Value, key: &Key) -> Value {
    let (Some(map), Some(metadata)) = (object.as_map(), object.get_key(&KEYS.metadata).as_map())
    else {
        return object.clone();
    };
    let metadata = metadata.without(key.as_str()).into();
    map.with(KEYS.metadata.clone(), metadata).into()
}

/// The object without its status, which has its own path.
pub(crate) fn without_status(object: &Value) -> Value {
    object
        .as_map()
        .map_or(Value::NULL, |map| map.without(KEYS.status.as_str()).into())
}

/// The status of an object alone.
pub(crate) fn only_status(object: &Value) -> Value {
    match object.get_key(&KEYS.status) {
        status if status.is_null() => Value::empty_map(),
        status => Map::from_entries(vec![(KEYS.status.clone(), status.clone())]).into(),
    }
}
