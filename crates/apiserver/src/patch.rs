//! Patches: JSON Patch, merge patch and server-side apply.

use document::{Key, Value};
use fieldset::FieldSet;
use http::header::CONTENT_TYPE;
use object::metadata::KEYS;
use store::{Change, Error, Write, Written};

use crate::answer::Answer;
use crate::body::{parse, syntax};
use crate::json_patches;
use crate::managed::{
    FieldConflict, Manager, Managers, Operation, changes, fields_of, merge, shown,
    without as without_fields,
};
use crate::metadata::{prune, validate, validate_update};
use crate::negotiate::{self, BodyFormat, Form, media_type};
use crate::options::Options;
use crate::resource::Resource;
use crate::server::ObjectRequest;
use crate::status::{Cause, StatusError};
use crate::write::{check_size, with, without};

/// How often a patch is tried again when the object changes in between.
const ATTEMPTS: usize = 5;

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// The manager of kubectl's server-side apply.
const KUBECTL: &str = "kubectl";
/// Where client-side apply stores what it has applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The manager of all fields from before the first apply, as in kube-apiserver.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// A patch of an object that exists.
enum Patch {
    Json(json_patch::Patch),
    Merge(serde_json::Value),
}

impl ObjectRequest {
    /// Patches an object, or its status.
    pub(crate) fn patch(&self) -> Result<Answer, StatusError> {
        let form = negotiate::form(&self.headers)?;
        let content_type = media_type(&self.headers, &CONTENT_TYPE);
        let patch = match content_type.as_str() {
            JSON_PATCH => {
                Options::Patch.check(&self.query)?;
                Patch::Json(self.json_patch()?)
            }
            MERGE_PATCH => {
                Options::Patch.check(&self.query)?;
                Patch::Merge(self.merge_patch()?)
            }
            APPLY => {
                Options::Apply.check(&self.query)?;
                return self.apply(form);
            }
            _ => {
                return Err(StatusError::unsupported_media_type(&[
                    JSON_PATCH,
                    MERGE_PATCH,
                    APPLY,
                ]));
            }
        };
        for _ in 0..ATTEMPTS {
            let live = self.live()?;
            let patched = patched(&live, &patch)?;
            let (patched, warnings) = self.checked(&live, patched)?;
            // A patch that names a version or uid must meet it. Another one is tried again.
            let uid = |object: &Value| object::metadata::uid(object).to_owned();
            let named = version(&patched) != version(&live) || uid(&patched) != uid(&live);
            match self.replace(&live, &patched) {
                Err(error) if error.reason == "Conflict" && !named => {}
                other => {
                    let object = self.one(form, other?.object);
                    return Ok(Answer::ok(object).with_warnings(warnings));
                }
            }
        }
        let why = "the object is changed all the time; please try again";
        Err(StatusError::conflict(
            self.resource.name(),
            self.key().name(),
            why,
        ))
    }

    /// The patched object, if it is still the same kind of object with the same name.
    fn checked(&self, live: &Value, patched: Value) -> Result<(Value, Vec<String>), StatusError> {
        self.check_patched_kind(&patched)?;
        self.check_name(&patched)?;
        let patched = self.placed(patched)?;
        let pruned = prune(&patched, &[], self.query.field_validation());
        let (patched, warnings) = pruned.map_err(|wrong| {
            // The managers are not part of what is patched.
            let sent = without(&patched, &KEYS.managed_fields).to_string();
            let cause = Cause::invalid("patch", &sent.into(), &wrong);
            StatusError::invalid(&object::GroupKind::new("", ""), "", &[cause])
        })?;
        validate_update(&self.resource, live, &patched)?;
        // A patch that removes the version means the current one.
        let patched = if version(&patched).is_null() {
            with(&patched, &KEYS.resource_version, version(live).clone())
        } else {
            patched
        };
        Ok((patched, warnings))
    }

    fn json_patch(&self) -> Result<json_patch::Patch, StatusError> {
        let form = "[]handlers.jsonPatchOp";
        let patch: json_patch::Patch = decode(&self.content, form, serde_json::Value::is_array)?;
        json_patches::check(&patch)?;
        Ok(patch)
    }

    fn merge_patch(&self) -> Result<serde_json::Value, StatusError> {
        let form = "map[string]interface {}";
        decode(&self.content, form, serde_json::Value::is_object)
    }

    /// Server-side apply: creates the object, or merges the configuration into it.
    fn apply(&self, form: Form) -> Result<Answer, StatusError> {
        let config = parse(BodyFormat::Yaml, &self.content)?;
        self.check_kind(&config)?;
        self.check_declared(&config)?;
        let config = self.placed(self.with_path_name(config))?;
        self.check_name(&config)?;
        let sent = config.get_key(&KEYS.metadata).get_key(&KEYS.managed_fields);
        if !sent.is_null() {
            return Err(StatusError::bad_request(
                "metadata.managedFields must be nil",
            ));
        }
        for _ in 0..ATTEMPTS {
            let (code, write) = self.applied(&config)?;
            match self.try_write(&write) {
                Err(Error::Changed { .. } | Error::AlreadyExists { .. })
                    if version(&config).is_null() => {}
                other => {
                    let Written { object, change } = self.mapped(other)?;
                    let code = if change == Change::Created { 201 } else { code };
                    let object = self.one(form, object);
                    return Ok(Answer::new(code, object));
                }
            }
        }
        let why = "the object is changed all the time; please try again";
        Err(StatusError::conflict(
            self.resource.name(),
            self.key().name(),
            why,
        ))
    }

    /// Fields of metadata that do not exist cannot be owned.
    fn check_declared(&self, config: &Value) -> Result<(), StatusError> {
        match crate::metadata::unknown(config).next() {
            None => Ok(()),
            Some(field) => Err(StatusError::internal(format!(
                "failed to create typed patch object ({}/{}; {}, Kind={}): .metadata.{field}: \
                 field not declared in schema",
                self.namespace(),
                self.key().name(),
                self.resource.api_version(),
                self.resource.kind.kind
            ))),
        }
    }

    /// The managers of an object that is applied for the first time: what is there already
    /// belongs to somebody.
    fn managers_before_apply(&self, live: &Value) -> Managers {
        let managers = Managers::of(live);
        if !managers.0.is_empty() {
            return managers;
        }
        let before = Manager {
            name: BEFORE_FIRST_APPLY.to_owned(),
            operation: Operation::Update,
            api_version: self.resource.api_version(),
            subresource: String::new(),
        };
        let keys = self.resource.merge_keys();
        let all = changes(&Value::empty_map(), live, Operation::Update, &keys);
        managers.after_update(&before, &all, &self.now())
    }

    /// A configuration may leave out the name.
    fn with_path_name(&self, config: Value) -> Value {
        if object::metadata::name(&config).is_empty() {
            return with(&config, &KEYS.name, self.key().name().into());
        }
        config
    }

    /// The write of an apply, on the object as it is now.
    fn applied(&self, config: &Value) -> Result<(u16, Write), StatusError> {
        let manager = self.manager(Operation::Apply);
        let part = |object: &Value| self.owned_part(object);
        let keys = &self.resource.merge_keys();
        let owned = fields_of(&part(config), Operation::Apply, keys);
        let Some(live) = self.store().get(&self.resource.kind, &self.key()) else {
            if self.on_status() {
                return self.live().map(|live| (404, Write::Status(live)));
            }
            if !self.may_create {
                let why = "the object was deleted in the meantime; please try again";
                let (resource, key) = (self.resource.name(), self.key());
                return Err(StatusError::conflict(resource, key.name(), why));
            }
            validate(&self.resource, config)?;
            let changes = changes(&Value::empty_map(), &part(config), Operation::Apply, keys);
            let managers = Managers::default().after_apply(&manager, owned, &changes, &self.now());
            let object = managers.put(&without(config, &KEYS.resource_version));
            check_size(&object, &Value::NULL)?;
            return Ok((201, Write::Create(object)));
        };
        let managers = self.managers_before_apply(&live);
        let merged = merge(&live, &part(config), keys);
        let set = changes(&part(&live), &part(&merged), Operation::Apply, keys);
        let mut conflicts = managers.conflicts(&manager, &set);
        if manager.name == KUBECTL {
            let allowed = last_applied(&live, &self.resource);
            conflicts.retain_mut(|conflict| {
                conflict.fields.retain(|field| !allowed.contains(field));
                !conflict.fields.is_empty()
            });
        }
        if !conflicts.is_empty() && self.query.force != Some(true) {
            return Err(apply_conflict(&conflicts));
        }
        let given_up = managers.fields(&manager).difference(&owned);
        let given_up = given_up.difference(&managers.others(&manager));
        let mut result = without_fields(&merged, &given_up, keys);
        if manager.name == KUBECTL {
            result = with_last_applied(&result, config);
        }
        validate_update(&self.resource, &live, &result)?;
        // An apply that changes nothing leaves no time.
        let now = if result == live {
            String::new()
        } else {
            self.now()
        };
        let managers = managers.after_apply(&manager, owned, &set, &now);
        let named = version(config);
        let expected = if named.is_null() {
            version(&live).clone()
        } else {
            named.clone()
        };
        let result = managers.put(&with(&result, &KEYS.resource_version, expected));
        check_size(&result, &live)?;
        Ok((200, self.replacement(result)))
    }
}

/// The fields that client-side apply has set, and that nobody has changed since: kubectl may take
/// them over when it switches to server-side apply.
fn last_applied(live: &Value, resource: &Resource) -> FieldSet {
    let annotations = live.get_key(&KEYS.metadata).get_key(&KEYS.annotations);
    let text = annotations.get(LAST_APPLIED).as_str().unwrap_or_default();
    let applied: Value = text.parse().unwrap_or_default();
    let version = resource.api_version();
    if applied.get_key(&KEYS.api_version).as_str() != Some(version.as_str()) {
        return FieldSet::default();
    }
    let keys = &resource.merge_keys();
    let changed = changes(&applied, live, Operation::Apply, keys);
    fields_of(&applied, Operation::Apply, keys)
        .difference(&changed.set)
        .difference(&changed.removed)
}

/// The object with what kubectl has applied in the annotation of client-side apply, if it has that
/// annotation: a later client-side apply starts from there.
fn with_last_applied(object: &Value, config: &Value) -> Value {
    let annotations = object.get_key(&KEYS.metadata).get_key(&KEYS.annotations);
    let Some(map) = annotations.as_map() else {
        return object.clone();
    };
    if map.get_str(LAST_APPLIED).is_none() {
        return object.clone();
    }
    let text = format!("{config}\n");
    let annotations = map.with(Key::new(LAST_APPLIED), text.into());
    with(object, &KEYS.annotations, annotations.into())
}

fn version(object: &Value) -> &Value {
    let metadata = object.get_key(&KEYS.metadata);
    metadata.get_key(&KEYS.resource_version)
}

/// A patch as JSON. `is_form` says whether it has the form that kube-apiserver calls `form`.
fn decode<T: serde::de::DeserializeOwned>(
    content: &[u8],
    form: &str,
    is_form: fn(&serde_json::Value) -> bool,
) -> Result<T, StatusError> {
    let wrong = |why: String| StatusError::bad_request(format!("error decoding patch: {why}"));
    let value: serde_json::Value =
        serde_json::from_slice(content).map_err(|error| wrong(syntax(&error)))?;
    if !is_form(&value) {
        let found = match value {
            serde_json::Value::Null => "null",
            serde_json::Value::Bool(_) => "bool",
            serde_json::Value::Number(_) => "number",
            serde_json::Value::String(_) => "string",
            serde_json::Value::Array(_) => "array",
            serde_json::Value::Object(_) => "object",
        };
        return Err(wrong(format!(
            "json: cannot unmarshal {found} into Go value of type {form}"
        )));
    }
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}

/// The object after a patch.
fn patched(live: &Value, patch: &Patch) -> Result<Value, StatusError> {
    let invalid = |error: String| StatusError::new(422, "Invalid", error);
    let mut object: serde_json::Value = serde_json::from_str(&live.to_string())
        .map_err(|error| StatusError::new(500, "InternalError", error.to_string()))?;
    match patch {
        Patch::Json(patch) => json_patches::carry_out(&mut object, patch)?,
        Patch::Merge(patch) => json_patch::merge(&mut object, patch),
    }
    let text = object.to_string();
    text.parse()
        .map_err(|error| invalid(format!("the patched object cannot be read: {error}")))
}

/// 409 for fields of other managers, in the words of kube-apiserver.
fn apply_conflict(conflicts: &[FieldConflict]) -> StatusError {
    let who = |conflict: &FieldConflict| {
        let manager = &conflict.manager;
        let subresource = match manager.subresource.as_str() {
            "" => String::new(),
            subresource => format!(" with subresource \"{subresource}\""),
        };
        let version = match manager.operation {
            Operation::Apply => String::new(),
            Operation::Update => format!(" using {}", manager.api_version),
        };
        format!("\"{}\"{subresource}{version}", manager.name)
    };
    let number: usize = conflicts.iter().map(|conflict| conflict.fields.len()).sum();
    let mut lines = Vec::new();
    let mut causes = Vec::new();
    for conflict in conflicts {
        let who = who(conflict);
        let fields: Vec<String> = conflict.fields.iter().map(shown).collect();
        match fields.as_slice() {
            [one] => lines.push(format!("conflict with {who}: {one}")),
            several => lines.push(format!("conflicts with {who}:\n- {}", several.join("\n- "))),
        }
        causes.extend(fields.into_iter().map(|field| Cause {
            reason: "FieldManagerConflict",
            field,
            message: format!("conflict with {who}"),
        }));
    }
    let plural = if number == 1 { "" } else { "s" };
    let message = format!(
        "Apply failed with {number} conflict{plural}: {}",
        lines.join("\n")
    );
    StatusError::new(409, "Conflict", message).with_causes(&causes)
}
