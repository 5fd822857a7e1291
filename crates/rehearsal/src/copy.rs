//! The copy of a cluster: the objects that a rehearsal has read, and how it has changed them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use apiserver::{AllowAll, Catalog, Limits, ObjectsRoute, Resource, Server};
use document::{Key, Value};
use engine::clock::System;
use http::Method;
use object::metadata::{KEYS, resource_version, uid, with_metadata};
use object::{GroupKind, ObjectKey, ObjectName};
use process::view_server::ViewServerEnv;
use store::{Caller, Config, Store, Strategy, Write};

use crate::cluster::{Cluster, Refusal, encoded};

/// The objects of a cluster, as far as they were read.
pub(crate) struct Copy {
    pub(crate) cluster: Cluster,
    pub(crate) store: Store,
    pub(crate) server: Server,
    catalog: Catalog,
    /// The kinds whose status is written separately.
    with_status: Arc<RwLock<HashSet<GroupKind>>>,
    known: tokio::sync::Mutex<Known>,
    /// The versions of the objects on the cluster.
    versions: Mutex<HashMap<ObjectKey, String>>,
    pub(crate) written: Mutex<Written>,
    requests: Mutex<Requests>,
}

/// The requests for objects, except for watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    /// How many there were.
    count: u64,
    /// How many are not answered yet.
    pub(crate) under_way: usize,
}

/// A request that is being answered.
pub(crate) struct UnderWay<'a>(&'a Copy);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.count_requests(|requests| requests.under_way -= 1);
    }
}

/// What was copied so far.
#[derive(Default)]
struct Known {
    /// The resources of each API group and version, by plural name.
    versions: HashMap<(String, String), BTreeMap<String, Arc<Served>>>,
    /// The lists, by path and selector.
    lists: HashSet<(String, String)>,
    /// The objects that were looked up by name, whether they exist or not.
    names: HashSet<ObjectKey>,
}

/// A resource of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) kind: GroupKind,
    api_version: String,
    namespaced: bool,
}

/// What the rehearsal has written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The objects before their first change.
    pub(crate) originals: BTreeMap<ObjectKey, Option<Value>>,
}

/// The strategy of copied objects: everybody may write them, because the cluster decides that.
#[derive(Debug)]
struct Copied {
    has_status: bool,
}

impl Strategy for Copied {
    fn has_status(&self) -> bool {
        self.has_status
    }
}

impl Copy {
    pub(crate) fn new(cluster: Cluster) -> Self {
        let with_status: Arc<RwLock<HashSet<GroupKind>>> = Arc::default();
        let kinds = with_status.clone();
        let store = Store::with_strategies(System, Config::default(), move |kind| {
            let kinds = kinds.read().unwrap_or_else(PoisonError::into_inner);
            let has_status = kinds.contains(kind);
            Arc::new(Copied { has_status })
        });
        let catalog = Catalog::default();
        let limits = Limits {
            requests_per_user: Limits::default().requests,
            ..Limits::default()
        };
        let (access, env) = (Arc::new(AllowAll), Arc::new(ViewServerEnv));
        let server = Server::new(store.clone(), catalog.clone(), access, env, limits);
        Self {
            cluster,
            store,
            server,
            catalog,
            with_status,
            known: tokio::sync::Mutex::default(),
            versions: Mutex::default(),
            written: Mutex::default(),
            requests: Mutex::default(),
        }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Requests {
        self.count_requests(|requests| *requests)
    }

    /// Counts a request until it is answered.
    pub(crate) fn begin(&self) -> UnderWay<'_> {
        self.count_requests(|requests| {
            requests.count += 1;
            requests.under_way += 1;
        });
        UnderWay(self)
    }

    fn count_requests<T>(&self, count: impl FnOnce(&mut Requests) -> T) -> T {
        count(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a resource that the cluster perhaps does not serve.
    pub(crate) async fn serve_operators(&self) {
        let mut known = self.known.lock().await;
        let kind = operator_kind();
        self.set_status(&kind);
        let (group, version) = (operators::crd::GROUP, operators::crd::VERSION);
        let resource = operators::crd::resource();
        let served = Served {
            kind,
            api_version: resource.api_version,
            namespaced: false,
        };
        self.catalog
            .set_group(group, [resource_of(&resource.plural, version, &served)]);
        let path = format!("/apis/{group}/{version}/{}", resource.plural);
        known.lists.insert((path, String::new()));
        let resources = BTreeMap::from([(resource.plural, Arc::new(served))]);
        let of = (group.to_owned(), version.to_owned());
        known.versions.insert(of, resources);
    }

    fn set_status(&self, kind: &GroupKind) {
        let kinds = self.with_status.write();
        let mut kinds = kinds.unwrap_or_else(PoisonError::into_inner);
        kinds.insert(kind.clone());
    }

    /// The resource of a path; `None` if the cluster does not serve it.
    pub(crate) async fn resource(
        &self,
        route: &ObjectsRoute,
    ) -> Result<Option<Arc<Served>>, Refusal> {
        let mut known = self.known.lock().await;
        self.resource_in(&mut known, route).await
    }

    async fn resource_in(
        &self,
        known: &mut Known,
        route: &ObjectsRoute,
    ) -> Result<Option<Arc<Served>>, Refusal> {
        let version = (route.group.clone(), route.version.clone());
        if let Some(resources) = known.versions.get(&version) {
            return Ok(resources.get(&route.resource).cloned());
        }
        let list = match self.cluster.get(&version_path(route)).await {
            Ok(list) => list,
            Err(refusal) if refusal.is_not_found() => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let mut found = BTreeMap::new();
        let all = || list.get("resources").as_list().into_iter().flatten();
        let names: BTreeSet<&str> = all().filter_map(|one| one.get("name").as_str()).collect();
        for resource in all() {
            let (Some(name), Some(kind)) =
                (resource.get("name").as_str(), resource.get("kind").as_str())
            else {
                continue;
            };
            if name.contains('/') {
                continue;
            }
            let kind = GroupKind::new(&route.group, kind);
            if names.contains(format!("{name}/status").as_str()) {
                self.set_status(&kind);
            }
            let served = Served {
                kind,
                api_version: api_version(route),
                namespaced: resource.get("namespaced").as_bool() == Some(true),
            };
            found.insert(name.to_owned(), Arc::new(served));
        }
        let found = known.versions.entry(version).or_insert(found);
        let found = found.get(&route.resource).cloned();
        self.publish(known, &route.group);
        Ok(found)
    }

    /// Serves all known resources of a group. Of a resource with several versions, the last one
    /// that was asked for is served.
    fn publish(&self, known: &Known, group: &str) {
        let versions = known.versions.iter().filter(|((of, _), _)| of == group);
        let resources = versions.flat_map(|((_, version), resources)| {
            resources
                .iter()
                .map(|(plural, served)| resource_of(plural, version, served))
        });
        self.catalog.set_group(group, resources);
    }

    /// Copies the objects that a list or a watch asks for, unless they were copied before.
    pub(crate) async fn load_list(
        &self,
        route: &ObjectsRoute,
        served: &Served,
        selector: &str,
    ) -> Result<(), Refusal> {
        let mut known = self.known.lock().await;
        let path = collection_path(route);
        if known.has(route, selector) {
            return Ok(());
        }
        let Known { names, .. } = &*known;
        self.cluster
            .list(&path, selector, |object| self.import(served, object, names))
            .await?;
        known.lists.insert((path, selector.to_owned()));
        Ok(())
    }

    /// Copies an object, unless it was copied before.
    pub(crate) async fn load_name(
        &self,
        route: &ObjectsRoute,
        served: &Served,
        name: &str,
    ) -> Result<(), Refusal> {
        let mut known = self.known.lock().await;
        let namespace = route.namespace.as_deref().filter(|_| served.namespaced);
        let key = ObjectKey {
            kind: served.kind.clone(),
            name: ObjectName::new(namespace.unwrap_or_default(), name),
        };
        let there = || self.store.get(&key.kind, &key.name).is_some();
        if known.names.contains(&key) || known.has(route, "") || there() {
            return Ok(());
        }
        let path = format!("{}/{}", collection_path(route), encoded(name));
        match self.cluster.get(&path).await {
            Ok(object) => self.import(served, &object, &known.names),
            Err(refusal) if refusal.is_not_found() => {}
            Err(refusal) => return Err(refusal),
        }
        known.names.insert(key);
        Ok(())
    }

    /// Adds an object of the cluster. One that was copied before, and perhaps changed since, stays.
    fn import(&self, served: &Served, object: &Value, names: &HashSet<ObjectKey>) {
        let Some(name) = ObjectName::of(object) else {
            return;
        };
        let key = ObjectKey {
            kind: served.kind.clone(),
            name,
        };
        if names.contains(&key) || self.store.get(&key.kind, &key.name).is_some() {
            return;
        }
        let typed = object.as_map().map(|map| {
            let kind = Value::from(served.kind.kind.as_str());
            let map = map.with(Key::new("kind"), kind);
            let version = Value::from(served.api_version.as_str());
            map.with(Key::new("apiVersion"), version)
        });
        let version = resource_version(object).to_owned();
        let versions = self.versions.lock();
        let mut versions = versions.unwrap_or_else(PoisonError::into_inner);
        versions.insert(key, version);
        // An object of the cluster has the form of an object.
        let _ = self
            .store
            .import(&served.kind, &typed.unwrap_or_default().into());
    }

    /// Notes a write: the object as it was before, if this is the first one.
    pub(crate) fn note(&self, key: ObjectKey, before: Option<Value>) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if key.kind != operator_kind() {
            written.originals.entry(key).or_insert(before);
        }
    }

    /// Whether the object was written before.
    pub(crate) fn has_written(&self, key: &ObjectKey) -> bool {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.originals.contains_key(key)
    }

    /// A body that names the version of the object in the copy, with its version on the cluster.
    pub(crate) fn with_version_of_cluster(&self, key: &ObjectKey, body: &[u8]) -> Vec<u8> {
        let live = self.store.get(&key.kind, &key.name).unwrap_or_default();
        let versions = self.versions.lock();
        let versions = versions.unwrap_or_else(PoisonError::into_inner);
        let (Ok(mut sent), Some(theirs)) = (
            serde_json::from_slice::<serde_json::Value>(body),
            versions.get(key),
        ) else {
            return body.to_vec();
        };
        for path in VERSIONS {
            if let Some(version) = sent.pointer_mut(path)
                && version.as_str() == Some(resource_version(&live))
            {
                *version = theirs.as_str().into();
            }
        }
        sent.to_string().into_bytes()
    }

    /// The one write that makes an object of the cluster what it is in the copy, with its method;
    /// `None` if the cluster has another object of this name.
    pub(crate) fn as_one_write(
        &self,
        key: &ObjectKey,
        object: &Value,
    ) -> Option<(Method, Vec<u8>)> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let original = written.originals.get(key)?.as_ref();
        let metadata = object.get_key(&KEYS.metadata).as_map()?;
        let metadata = metadata.without(KEYS.managed_fields.as_str());
        let (method, metadata) = match original {
            None => {
                let system = [&KEYS.uid, &KEYS.resource_version, &KEYS.creation_timestamp];
                let bare = system
                    .iter()
                    .fold(metadata, |rest, key| rest.without(key.as_str()));
                (Method::POST, bare)
            }
            Some(original) if uid(original) == uid(object) => {
                let versions = self.versions.lock();
                let versions = versions.unwrap_or_else(PoisonError::into_inner);
                let version = Value::from(versions.get(key)?.as_str());
                let version = metadata.with(KEYS.resource_version.clone(), version);
                (Method::PUT, version)
            }
            Some(_) => return None,
        };
        let object = with_metadata(object, metadata);
        Some((method, object.to_string().into_bytes()))
    }

    /// Removes an object that waits only for its finalizers, as those who set them will do.
    pub(crate) fn let_go(&self, key: &ObjectKey) {
        let Some(object) = self.store.get(&key.kind, &key.name) else {
            return;
        };
        let metadata = object.get_key(&KEYS.metadata);
        let free = metadata.as_map().map(|map| {
            let map = map.without(KEYS.finalizers.as_str());
            with_metadata(&object, map)
        });
        let caller = Caller::user("deltic");
        if let Some(object) = free {
            // It fails only if the object is gone.
            let _ = self
                .store
                .write(&caller, &key.kind, &Write::Replace(object));
        }
    }
}

impl Known {
    /// Whether these objects were copied, perhaps as part of a larger list.
    fn has(&self, route: &ObjectsRoute, selector: &str) -> bool {
        let everywhere = ObjectsRoute {
            namespace: None,
            ..route.clone()
        };
        let paths = [collection_path(route), collection_path(&everywhere)];
        paths.into_iter().any(|path| {
            self.lists.contains(&(path.clone(), String::new()))
                || self.lists.contains(&(path, selector.to_owned()))
        })
    }
}

/// Where a body names a version: that of an object, and that of a deletion.
const VERSIONS: [&str; 2] = [
    "/metadata/resourceVersion",
    "/preconditions/resourceVersion",
];

/// The kind of Operators.
pub(crate) fn operator_kind() -> GroupKind {
    GroupKind::new(operators::crd::GROUP, "Operator")
}

fn resource_of(plural: &str, version: &str, served: &Served) -> Resource {
    Resource {
        version: version.to_owned(),
        plural: plural.to_owned(),
        singular: served.kind.kind.as_str().to_lowercase(),
        categories: Vec::new(),
        description: String::new(),
        ..Resource::view(served.kind.clone())
    }
}

fn api_version(route: &ObjectsRoute) -> String {
    match route.group.as_str() {
        "" => route.version.clone(),
        group => format!("{group}/{}", route.version),
    }
}

fn version_path(route: &ObjectsRoute) -> String {
    match route.group.as_str() {
        "" => format!("/api/{}", route.version),
        group => format!("/apis/{group}/{}", route.version),
    }
}

/// The path of all objects of a route's resource and namespace.
pub(crate) fn collection_path(route: &ObjectsRoute) -> String {
    let (version, resource) = (version_path(route), &route.resource);
    match &route.namespace {
        Some(namespace) => format!("{version}/namespaces/{namespace}/{resource}"),
        None => format!("{version}/{resource}"),
    }
}
