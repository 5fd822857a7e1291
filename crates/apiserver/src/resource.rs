//! The resources that are served.
//!
//! A [`Catalog`] lists them by API group. Its owner changes it while the server runs: views
//! appear and go with their Operators.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use document::Value;
use fieldset::MergeKeys;
use object::{Column, GroupKind};

use crate::status::ResourceName;

/// A kind of objects that is served.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The API group and kind.
    pub kind: GroupKind,
    /// The API version.
    pub version: String,
    /// The name in paths.
    pub plural: String,
    /// The name of one object, for kubectl.
    pub singular: String,
    /// Short names, for kubectl.
    pub short_names: Vec<String>,
    /// Names of sets of resources, for kubectl.
    pub categories: Vec<String>,
    /// Whether its objects are in namespaces, for kubectl. Objects are found at paths with and
    /// without a namespace in any case.
    pub namespaced: bool,
    /// The columns of a table between name and age.
    pub columns: Vec<Column>,
    /// The `OpenAPI` schema of the fields outside of metadata: a map of `properties`, or null if
    /// nothing is known about them.
    pub properties: Value,
    /// What the kind is, for `kubectl explain`.
    pub description: String,
    /// Whether discovery names the verb `delete`. By that the controllers of a cluster find the
    /// objects that they delete with their namespace or owner; they wait for ever for an object
    /// that they may not delete. Users may delete objects in any case.
    pub collected: bool,
}

impl Resource {
    /// A view: the resource is the kind in lower case, for one object as for many.
    pub fn view(kind: GroupKind) -> Self {
        let name = kind.kind.as_str().to_lowercase();
        Self {
            version: object::VIEW_VERSION.to_owned(),
            plural: name.clone(),
            singular: name,
            short_names: Vec::new(),
            categories: vec!["views".to_owned()],
            namespaced: true,
            columns: Vec::new(),
            properties: Value::NULL,
            collected: true,
            description: format!("{} is a view: deltic derives its objects.", kind.kind),
            kind,
        }
    }

    /// `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        match self.kind.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The lists that are shared by elements: those of Kubernetes' own kinds.
    pub(crate) fn merge_keys(&self) -> MergeKeys {
        MergeKeys::of_group(self.kind.group.as_str())
    }

    /// Its name in errors.
    pub fn name(&self) -> ResourceName<'_> {
        ResourceName {
            group: self.kind.group.as_str(),
            plural: &self.plural,
        }
    }
}

/// The resources of an API group, by plural name.
pub type Group = BTreeMap<String, Arc<Resource>>;

/// The resources that are served, by API group. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    groups: Arc<RwLock<BTreeMap<String, Group>>>,
}

impl Catalog {
    /// Sets the resources of a group; a group without resources is not served.
    pub fn set_group(&self, group: &str, resources: impl IntoIterator<Item = Resource>) {
        let resources = resources.into_iter();
        let resources: Group = resources
            .map(|resource| (resource.plural.clone(), Arc::new(resource)))
            .collect();
        let mut groups = self.groups.write().unwrap_or_else(PoisonError::into_inner);
        if resources.is_empty() {
            groups.remove(group);
        } else {
            groups.insert(group.to_owned(), resources);
        }
    }

    /// A copy of all groups.
    pub fn groups(&self) -> BTreeMap<String, Group> {
        self.read(Clone::clone)
    }

    /// The resources of a group, if it is served.
    pub fn group(&self, group: &str) -> Option<Group> {
        self.read(|groups| groups.get(group).cloned())
    }

    /// A resource by its plural name.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        let found = self.read(|groups| groups.get(group)?.get(plural).cloned())?;
        (found.version == version).then_some(found)
    }

    fn read<T>(&self, look: impl FnOnce(&BTreeMap<String, Group>) -> T) -> T {
        look(&self.groups.read().unwrap_or_else(PoisonError::into_inner))
    }
}
