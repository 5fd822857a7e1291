//! Creates, changes and deletes objects.

use document::{Value, json};
use http::Method;
use object::ObjectKey;

use super::managers::{Apply, ManagedPart, Managers};
use super::policy::Policy;
use super::refusal::Refusal;
use super::route::RequestPath;
use super::store::{Store, is_being_deleted};
use super::{ApiRequest, Reply};
use crate::fields::{at, copied, merge_patch, set, text, unset};

const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// A write request for an object.
pub(super) struct Write<'a> {
    pub(super) store: &'a mut Store,
    pub(super) policies: &'a [Policy],
    pub(super) webhook: &'a Value,
    pub(super) place: &'a RequestPath,
    pub(super) key: ObjectKey,
    pub(super) request: &'a ApiRequest,
}

impl Write<'_> {
    /// Carries it out. A dry run leaves everything as it was.
    pub(super) fn run(mut self) -> Reply {
        if self.request.query.get("dryRun") != "All" {
            return self.carry_out();
        }
        let before = self.store.clone();
        let reply = self.carry_out();
        *self.store = before;
        reply
    }

    fn carry_out(&mut self) -> Reply {
        let content = self.request.content.as_str();
        match (&self.request.method, self.place.name.is_some(), content) {
            (&Method::POST, false, _) => self.create(),
            (&Method::PUT, true, _) => self.replace(),
            (&Method::PATCH, true, MERGE_PATCH) => self.patch(),
            (&Method::PATCH, true, APPLY_PATCH) => self.apply(),
            (&Method::DELETE, true, _) => self.delete(),
            _ => Err(Refusal::new(405, "MethodNotAllowed", "not supported here")),
        }
    }

    fn body(&self) -> &Value {
        &self.request.body
    }

    /// The field manager; `unknown` if the request names none.
    fn manager(&self) -> &str {
        match self.request.query.get("fieldManager") {
            "" => "unknown",
            manager => manager,
        }
    }

    fn live(&self) -> Result<Value, Refusal> {
        let stored = self.store.get(&self.key);
        let stored = stored.map(|stored| stored.object.clone());
        stored.ok_or_else(|| Refusal::not_found(self.place.kind.plural, self.key.object_name()))
    }

    /// The object as clients see it now. If this write has removed it, its last state.
    fn shown(&self, last: &Value) -> Value {
        let stored = self.store.get(&self.key);
        stored.map_or_else(|| last.clone(), super::store::Stored::shown)
    }

    fn create(&mut self) -> Reply {
        self.namespace()?;
        let mut object = self.body().clone();
        if !self.webhook.is_null() {
            object = merge_patch(&object, self.webhook);
        }
        if self.place.kind.status {
            object = unset(&object, &["status"]);
        }
        // The creator owns the defaults.
        let object = self.place.kind.complete(&object);
        self.admit(None, &object)?;
        if self.store.get(&self.key).is_some() {
            return Err(Refusal::exists(&self.key));
        }
        let mut managers = Managers::new(self.place.kind);
        managers.updated(&json!({}), &object, self.manager());
        Ok((201, self.stored(&object, managers)))
    }

    /// Stores a new object, and returns it.
    fn stored(&mut self, object: &Value, managers: Managers) -> Value {
        self.store
            .create(self.place.kind, &self.key, object, managers);
        self.shown(object)
    }

    /// Objects can be created only in namespaces that exist and are not being deleted.
    fn namespace(&self) -> Result<(), Refusal> {
        let name = self.key.namespace();
        if !self.place.kind.namespaced {
            return Ok(());
        }
        let namespace = self.store.get(&ObjectKey::new("", "Namespace", "", name));
        match namespace {
            None => Err(Refusal::not_found("namespaces", name)),
            Some(there) if is_being_deleted(&there.object) => Err(Refusal::terminating(name)),
            Some(_) => Ok(()),
        }
    }

    fn admit(&self, old: Option<&Value>, new: &Value) -> Result<(), Refusal> {
        let policies = self.policies.iter();
        let mut refusals = policies.filter_map(|policy| policy(&self.key, old, new));
        refusals.next().map_or(Ok(()), Err)
    }

    fn replace(&mut self) -> Reply {
        let old = self.live()?;
        self.expected(&old)?;
        let new = self.body().clone();
        self.change(&old, &new)
    }

    fn patch(&mut self) -> Reply {
        let old = self.live()?;
        self.expected(&old)?;
        let new = merge_patch(&old, self.body());
        self.change(&old, &new)
    }

    /// A version or a uid in the body is a precondition.
    fn expected(&self, old: &Value) -> Result<(), Refusal> {
        let metadata = self.body().get("metadata");
        for field in ["resourceVersion", "uid"] {
            let wanted = metadata.get(field);
            if !wanted.is_null() && wanted != at(old, &["metadata", field]) {
                return Err(Refusal::conflict());
            }
        }
        Ok(())
    }

    /// Stores the part that the endpoint writes: the status, or everything else.
    fn change(&mut self, old: &Value, new: &Value) -> Reply {
        let new = match self.part() {
            ManagedPart::Status => copied(old, &["status"], new),
            ManagedPart::Main => copied(new, &["status"], old),
            ManagedPart::Whole => new.clone(),
        };
        let new = self.place.kind.complete(&new);
        self.admit(Some(old), &new)?;
        let mut managers = self.managers();
        managers.updated(old, &new, self.manager());
        self.store
            .update(self.place.kind, &self.key, &new, managers);
        Ok((200, self.shown(&new)))
    }

    fn part(&self) -> ManagedPart {
        match (self.place.kind.status, self.place.status) {
            (true, true) => ManagedPart::Status,
            (true, false) => ManagedPart::Main,
            (false, _) => ManagedPart::Whole,
        }
    }

    fn managers(&self) -> Managers {
        let stored = self.store.get(&self.key);
        stored.map_or_else(
            || Managers::new(self.place.kind),
            |stored| stored.managers.clone(),
        )
    }

    fn apply(&mut self) -> Reply {
        let old = match self.live() {
            Err(refusal) if self.place.status => return Err(refusal),
            live => live.ok(),
        };
        match &old {
            Some(old) => self.expected(old)?,
            None => self.namespace()?,
        }
        let empty = json!({"metadata": {}});
        let live = old.as_ref().unwrap_or(&empty);
        let apply = Apply {
            manager: self.manager(),
            body: self.body(),
            force: self.request.query.is("force"),
            part: self.part(),
        };
        let mut managers = self.managers();
        let applied = managers.apply(live, &apply);
        let new = applied.map_err(|conflicts| Refusal::managers(&conflicts))?;
        let new = self.place.kind.complete(&new);
        managers.prune(&new);
        self.admit(old.as_ref(), &new)?;
        if old.is_none() {
            return Ok((201, self.stored(&new, managers)));
        }
        self.store
            .update(self.place.kind, &self.key, &new, managers);
        Ok((200, self.shown(&new)))
    }

    fn delete(&mut self) -> Reply {
        let old = self.live()?;
        let wanted = self.body().get("preconditions");
        for field in ["uid", "resourceVersion"] {
            let wanted = wanted.get(field);
            if !wanted.is_null() && wanted != at(&old, &["metadata", field]) {
                return Err(Refusal::conflict());
            }
        }
        self.store.delete(self.place.kind, &self.key);
        match self.store.get(&self.key) {
            Some(stored) => Ok((200, stored.shown())),
            None => {
                let uid = text(&old, &["metadata", "uid"]);
                let details = json!({"name": (self.key.object_name()), "uid": uid});
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Success"});
                Ok((200, set(&status, &["details"], details)))
            }
        }
    }
}
