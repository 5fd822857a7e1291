//! Creating, updating and deleting objects.

use document::{Key, Map, Value, json};
use jiff::Timestamp;
use object::metadata::{self, KEYS};
use object::{GroupKind, ObjectName};
use store::{Change, Error, Preconditions, Write, Written};

use crate::answer::Answer;
use crate::body::parse;
use crate::failure::status_of;
use crate::managed::{Manager, Managers, Operation, changes};
use crate::metadata::{compact, validate, validate_update};
use crate::negotiate;
use crate::options::{self, Options};
use crate::read::list_value;
use crate::server::ObjectRequest;
use crate::status::{Cause, ResourceName, StatusError, deleted};

/// The largest object that users can make, in bytes.
const MAX_OBJECT: usize = 3 * 1024 * 1024;
/// How much of `generateName` a generated name begins with, in bytes, as in kube-apiserver.
const MAX_PREFIX: usize = 58;

/// How many names are generated, if objects have them already, as in kube-apiserver.
const GENERATED_NAMES: usize = 8;

/// The characters of generated names: no vowels, so that they form no words.
const NAME_CHARACTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

impl ObjectRequest {
    /// Creates an object.
    pub(crate) fn create(&self) -> Result<Answer, StatusError> {
        let form = negotiate::form(&self.headers)?;
        Options::Create.check(&self.query)?;
        let (object, warnings) = self.object()?;
        let object = self.placed(object)?;
        let mut written = self.create_object(&self.named(object.clone()));
        for _ in 1..GENERATED_NAMES {
            match &written {
                Err(error) if error.reason == "AlreadyExists" && generates_name(&object) => {
                    written = self.create_object(&self.named(object.clone()));
                }
                Ok(_) | Err(_) => break,
            }
        }
        Ok(Answer::new(201, self.one(form, written?.object)).with_warnings(warnings))
    }

    /// Stores a new object.
    fn create_object(&self, object: &Value) -> Result<Written, StatusError> {
        validate(&self.resource, object)?;
        let manager = self.manager(Operation::Update);
        let changes = changes(
            &Value::empty_map(),
            &self.owned_part(object),
            manager.operation,
            &self.resource.merge_keys(),
        );
        let managers = Managers::default().after_update(&manager, &changes, &self.now());
        let object = managers.put(&without(object, &KEYS.resource_version));
        check_size(&object, &Value::NULL)?;
        self.write(&Write::Create(object))
    }

    /// Replaces an object, or its status.
    pub(crate) fn update(&self) -> Result<Answer, StatusError> {
        let form = negotiate::form(&self.headers)?;
        Options::Update.check(&self.query)?;
        let (object, warnings) = self.object()?;
        let object = self.placed(object)?;
        self.check_name(&object)?;
        self.check_version(&object)?;
        let live = self.live()?;
        validate_update(&self.resource, &live, &object)?;
        let written = self.replace(&live, &object)?;
        Ok(Answer::ok(self.one(form, written.object)).with_warnings(warnings))
    }

    /// A whole object must name the version that it replaces.
    fn check_version(&self, object: &Value) -> Result<(), StatusError> {
        let version = metadata::resource_version(object);
        if version.is_empty() {
            // A get before the check, because a missing object is the more useful answer.
            self.live()?;
            let why = "must be specified for an update";
            let cause = Cause::invalid("metadata.resourceVersion", &0.into(), why);
            let resource = &self.resource;
            let kind = GroupKind::new(resource.kind.group.as_str(), &resource.plural);
            return Err(StatusError::invalid(
                &kind,
                metadata::name(object),
                &[cause],
            ));
        }
        if version.parse::<u64>().is_err() {
            let message = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
            return Err(StatusError::internal(message));
        }
        Ok(())
    }

    /// Writes a changed object over the one that was read.
    pub(crate) fn replace(&self, live: &Value, object: &Value) -> Result<Written, StatusError> {
        let manager = self.manager(Operation::Update);
        let changes = changes(
            &self.owned_part(live),
            &self.owned_part(object),
            manager.operation,
            &self.resource.merge_keys(),
        );
        let mut managers = Managers::sent(live, object);
        // An object without managers gets none by an update: they were reset, or a controller
        // derives the object.
        if !managers.0.is_empty() {
            managers = managers.after_update(&manager, &changes, &self.now());
        }
        let object = managers.put(object);
        check_size(&object, live)?;
        self.write(&self.replacement(object))
    }

    /// The fields of an object that a write to this path may own. As in kube-apiserver, a write
    /// to the status takes over other fields that the client sends, although they are not
    /// stored.
    pub(crate) fn owned_part(&self, object: &Value) -> Value {
        let without = |object: &Value, key: &Key| {
            let map = object.as_map();
            map.map_or(Value::NULL, |map| map.without(key.as_str()).into())
        };
        if self.on_status() {
            return without(&without(object, &KEYS.metadata), &Key::new("spec"));
        }
        compact(&without(object, &KEYS.status))
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
        let metadata = json!({"resourceVersion": (list.version.to_string()), "continue": ""});
        Ok(Answer::ok(list_value(&self.resource, metadata, items)))
    }

    fn delete_one(
        &self,
        key: &ObjectName,
        options: &DeleteOptions,
    ) -> Result<Written, StatusError> {
        let write = Write::Delete(key.clone(), options.preconditions.clone());
        let dry_run = options.dry_run || self.query.dry_run();
        self.carry_out(&write, dry_run)
            .map_err(|error| match error {
                Error::Changed {
                    key,
                    field,
                    found,
                    expected,
                } => self.other_object(&key, field, &found, &expected),
                other => status_of(&other, &self.resource, key.name()),
            })
    }

    /// 409 for a deletion whose preconditions do not hold.
    fn other_object(
        &self,
        key: &ObjectName,
        field: &str,
        found: &str,
        expected: &str,
    ) -> StatusError {
        let (field, since) = match field {
            "uid" => ("UID", "deleted and then recreated"),
            _ => ("ResourceVersion", "modified"),
        };
        let why = format!(
            "the {field} in the precondition ({expected}) does not match the {field} in record \
             ({found}). The object might have been {since}"
        );
        let resource = ResourceName {
            group: self.resource.kind.group.as_str(),
            plural: self.resource.kind.kind.as_str(),
        };
        StatusError::conflict(resource, key.name(), &why)
    }

    /// Carries out a write, or tries it.
    pub(crate) fn write(&self, write: &Write) -> Result<Written, StatusError> {
        self.mapped(self.try_write(write))
    }

    /// Carries out a write, or tries it. A failure is that of the store.
    pub(crate) fn try_write(&self, write: &Write) -> Result<Written, Error> {
        self.carry_out(write, self.query.dry_run())
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
            Some(prefix) if generates_name(&object) => {
                let mut random = self.server.shared.env.random();
                let length = prefix.floor_char_boundary(MAX_PREFIX);
                let mut name = prefix[..length].to_owned();
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
        Options::Delete.check(&self.query)?;
        let mut options = DeleteOptions::default();
        let text = self.content.trim_ascii();
        if text.is_empty() {
            return Ok(options);
        }
        let body = parse(negotiate::body_format(&self.headers)?, text)?;
        let preconditions = body.get("preconditions");
        options.preconditions.uid = preconditions.get("uid").as_str().map(str::to_owned);
        let version = preconditions.get("resourceVersion").as_str();
        options.preconditions.version = version.map(str::to_owned);
        let dry_run = body.get("dryRun").as_list().into_iter().flatten();
        let dry_run: Vec<String> = dry_run
            .map(|value| value.as_str().unwrap_or_default().to_owned())
            .collect();
        options.dry_run = !dry_run.is_empty();
        let policy = body.get("propagationPolicy").as_str().unwrap_or_default();
        let causes: Vec<Cause> = [options::dry_run(&dry_run), options::propagation(policy)]
            .into_iter()
            .flatten()
            .collect();
        if causes.is_empty() {
            return Ok(options);
        }
        Err(Options::Delete.invalid(&causes))
    }
}

/// Whether an object has only the beginning of a name.
fn generates_name(object: &Value) -> bool {
    let prefix = object.get_key(&KEYS.metadata).get("generateName").as_str();
    metadata::name(object).is_empty() && prefix.is_some_and(|prefix| !prefix.is_empty())
}

#[derive(Debug, Default)]
struct DeleteOptions {
    preconditions: Preconditions,
    dry_run: bool,
}

/// Refuses an object that grows beyond the limit: patches could make it larger without end. What a
/// controller derives may be larger; then metadata and status alone have to fit.
pub(crate) fn check_size(object: &Value, before: &Value) -> Result<(), StatusError> {
    let bytes = |value: &Value| value.measure().bytes as usize;
    let shared = |object: &Value| {
        bytes(object.get_key(&KEYS.metadata)) + bytes(object.get_key(&KEYS.status))
    };
    let derived = |object: &Value| bytes(object).saturating_sub(shared(object));
    let size = bytes(object);
    if size <= MAX_OBJECT || (shared(object) <= MAX_OBJECT && derived(object) <= derived(before)) {
        return Ok(());
    }
    let message = format!("the object would have {size} bytes, more than {MAX_OBJECT}");
    Err(StatusError::new(413, "RequestEntityTooLarge", message))
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
