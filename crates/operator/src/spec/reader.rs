//! Reads the fields of an Operator.
//!
//! A mistake does not end the reading: it becomes a [`Problem`] with its location, and reading goes
//! on with the next field, so that all mistakes are reported at once. An unknown field is an error
//! with a suggestion:
//!
//! ```text
//! unknown-field at spec.controllers[0].pipline: unknown field pipline (did you mean pipeline?)
//! ```

mod columns;
mod inputs;
mod lint;
mod options;
mod resource;
mod selectors;
mod source_target;

use dataflow::Pipeline;
use dataflow::pipeline::PipelineErrorKind;
use document::{Key, Location, Map, Value};
use expr::{Functions, Patterns};

use super::{Controller, DeletionPolicy, Operator, ServiceAccount, Source, SourceKind};
use crate::names::{is_dns_label, is_dns_subdomain};
use crate::places::Places;
use crate::problem::{Problem, Severity};
use crate::secrets::{self, SecretParts};

/// Reads an Operator and collects its problems.
pub(super) struct SpecReader<'a> {
    table: &'a Functions,
    pub(super) problems: Vec<Problem>,
    /// The name of the Operator, which is part of the group of its views.
    operator: String,
    /// How many more regular expressions the controllers may have.
    patterns: Patterns,
    /// Whether a controller, a source or a target could not be read.
    pub(super) incomplete: bool,
    /// The fields whose names are probably misspelled: that they are missing is not reported again.
    misspelled: Vec<Location>,
}

impl<'a> SpecReader<'a> {
    pub(super) fn new(table: &'a Functions) -> Self {
        Self {
            table,
            problems: Vec::new(),
            operator: String::new(),
            patterns: Patterns::default(),
            incomplete: false,
            misspelled: Vec::new(),
        }
    }

    /// The locations of errors.
    pub(super) fn broken(&self) -> Vec<Location> {
        let errors = self.problems.iter();
        let errors = errors.filter(|problem| problem.severity == Severity::Error);
        errors.map(|problem| problem.at.clone()).collect()
    }

    fn error(&mut self, code: &'static str, at: &Location, message: impl Into<String>) {
        self.problems.push(Problem::error(code, at, message));
    }

    pub(super) fn operator(&mut self, manifest: &Value) -> Option<Operator> {
        let root = Location::root();
        if !self.is_operator(manifest, &root) {
            return None;
        }
        self.known(
            manifest,
            &["apiVersion", "kind", "metadata", "spec", "status"],
            &root,
        );
        // Without a name the rest is checked all the same.
        let name = self.operator_name(manifest, &root);
        self.operator = name.unwrap_or_else(|| "operator".to_owned());
        let spec = manifest.get("spec");
        let at = root.key("spec");
        if self.is_absent(manifest, "spec", &at)
            || !self.known(
                spec,
                &[
                    "controllers",
                    "deletionPolicy",
                    "maxDeletions",
                    "serviceAccount",
                ],
                &at,
            )
        {
            return None;
        }
        let max_deletions = self.max_deletions(spec.get("maxDeletions"), &at.key("maxDeletions"));
        let mut operator = Operator {
            name: self.operator.clone(),
            deletion_policy: self
                .deletion_policy(spec.get("deletionPolicy"), &at.key("deletionPolicy")),
            service_account: self
                .service_account(spec.get("serviceAccount"), &at.key("serviceAccount")),
            max_deletions,
            controllers: self.controllers(spec.get("controllers"), &at.key("controllers")),
        };
        for controller in &mut operator.controllers {
            let own = controller.options.max_deletions;
            controller.options.max_deletions = own.or(max_deletions);
        }
        secrets::mark(&mut operator);
        self.lint(&operator);
        let allowed = allowed(manifest);
        self.problems
            .retain(|problem| !problem.is_allowed(&allowed));
        Some(operator)
    }

    /// The Operator with its name and account only.
    pub(super) fn without_controllers(&mut self, manifest: &Value) -> Option<Operator> {
        let root = Location::root();
        let name = root.key("metadata").key("name");
        let account = root.key("spec").key("serviceAccount");
        Some(Operator {
            name: self.name(manifest.get("metadata").get("name"), &name)?,
            deletion_policy: DeletionPolicy::default(),
            service_account: self
                .service_account(manifest.get("spec").get("serviceAccount"), &account),
            max_deletions: None,
            controllers: Vec::new(),
        })
    }

    fn is_operator(&mut self, manifest: &Value, root: &Location) -> bool {
        if let Some(problem) = super::wrong_kind(manifest) {
            self.problems.push(problem);
            return false;
        }
        let version = manifest.get("apiVersion");
        let at = root.key("apiVersion");
        if version.is_null() {
            let problem = Problem::error("bad-api-version", &at, "`apiVersion` is missing");
            let help = format!("add apiVersion: {API_VERSION}");
            self.problems.push(problem.with_help(help));
        } else if version.as_str() != Some(API_VERSION) {
            let found = version
                .as_str()
                .map_or_else(|| version.kind().to_string(), str::to_owned);
            let message = format!("expected apiVersion {API_VERSION}, found {found}");
            self.error("bad-api-version", &at, message);
        }
        true
    }

    /// Reports a required field that is missing, unless a misspelled name was reported. Returns
    /// whether it is missing.
    fn is_missing(&mut self, value: &Value, at: &Location) -> bool {
        if !value.is_null() {
            return false;
        }
        if !self.misspelled.contains(at)
            && let Some(document::LocationStep::Key(name)) = at.steps().pop()
        {
            self.error("bad-field", at, format!("`{name}` is missing"));
        }
        true
    }

    /// Reports unknown fields. Returns whether the value is a map.
    fn known(&mut self, value: &Value, known: &[&str], at: &Location) -> bool {
        let Some(map) = value.as_map() else {
            self.error(
                "bad-field",
                at,
                format!("expected a map, found {}", value.kind()),
            );
            return false;
        };
        for (key, _) in map {
            if known.contains(&key.as_str()) {
                continue;
            }
            let free = |name: &&str| map.get_str(name).is_none();
            let free = known.iter().copied().filter(free);
            let help = match (
                group_and_version(map, key, known),
                expr::nearest(key.as_str(), free),
            ) {
                (Some(help), _) => help,
                (None, Some(nearest)) => {
                    self.misspelled.push(at.key(nearest));
                    format!("did you mean {nearest}?")
                }
                (None, None) => format!("the fields here are {}", known.join(", ")),
            };
            let problem = Problem::error(
                "unknown-field",
                &at.key(key.as_str()),
                format!("unknown field {key}"),
            );
            self.problems.push(problem.at_key().with_help(help));
        }
        true
    }

    /// As [`Self::is_missing`], for a field of the manifest that may be there with nothing below it.
    fn is_absent(&mut self, manifest: &Value, name: &str, at: &Location) -> bool {
        let is_empty = |map: &Map| map.get_str(name).is_some_and(Value::is_null);
        if !manifest.as_map().is_some_and(is_empty) {
            return self.is_missing(manifest.get(name), at);
        }
        let problem = Problem::error("bad-field", at, format!("`{name}` has nothing below it"));
        self.problems.push(problem.at_key());
        true
    }

    fn operator_name(&mut self, manifest: &Value, root: &Location) -> Option<String> {
        let at = root.key("metadata");
        if self.is_absent(manifest, "metadata", &at) {
            return None;
        }
        let metadata = manifest.get("metadata");
        let at = at.key("name");
        let name = metadata.get("name");
        if self.is_missing(name, &at) {
            return None;
        }
        self.name(name, &at)
    }

    /// The name of the Operator, which is part of a DNS name.
    fn name(&mut self, value: &Value, at: &Location) -> Option<String> {
        let name = value.as_str().unwrap_or_default();
        if is_dns_label(name) {
            return Some(name.to_owned());
        }
        self.error(
            "bad-name",
            at,
            "an Operator's name must be a DNS label: lower-case letters, digits and `-`, at most 63 characters",
        );
        None
    }

    fn deletion_policy(&mut self, value: &Value, at: &Location) -> DeletionPolicy {
        match value.as_str() {
            None if value.is_null() => DeletionPolicy::default(),
            Some("Orphan") => DeletionPolicy::Orphan,
            Some("Delete") => DeletionPolicy::Delete,
            _ => {
                self.error("bad-field", at, "deletionPolicy must be Orphan or Delete");
                DeletionPolicy::default()
            }
        }
    }

    fn service_account(&mut self, value: &Value, at: &Location) -> Option<ServiceAccount> {
        if value.is_null() || !self.known(value, &["namespace", "name"], at) {
            return None;
        }
        let namespace = self.text(value.get("namespace"), &at.key("namespace"));
        let name = self.text(value.get("name"), &at.key("name"));
        let account = ServiceAccount {
            namespace: namespace?,
            name: name?,
        };
        // Both become part of a user name in a request header, so they are checked strictly.
        self.check_namespace(&account.namespace, &at.key("namespace"));
        if !is_dns_subdomain(&account.name) {
            let message = "the name of a service account must be DNS labels separated by dots";
            self.error("bad-name", &at.key("name"), message);
        }
        Some(account)
    }

    /// Reads a required string.
    fn text(&mut self, value: &Value, at: &Location) -> Option<String> {
        if self.is_missing(value, at) {
            return None;
        }
        let message = match value.as_str() {
            Some("") => "expected a string, found an empty one".to_owned(),
            Some(text) => return Some(text.to_owned()),
            None => format!("expected a string, found {}", value.kind()),
        };
        self.error("bad-field", at, message);
        None
    }

    fn controllers(&mut self, value: &Value, at: &Location) -> Vec<Controller> {
        let Some(list) = value.as_list().filter(|list| !list.is_empty()) else {
            self.no_list(value, at, "an Operator needs a list of controllers");
            return Vec::new();
        };
        let mut controllers: Vec<Controller> = Vec::new();
        for (i, spec) in list.iter().enumerate() {
            let at = at.index(i);
            let controller = self.controller(spec, &at);
            self.incomplete |= controller.is_none();
            if let Some(controller) = controller {
                if controllers
                    .iter()
                    .any(|other| other.name == controller.name)
                {
                    let name = &controller.name;
                    self.error(
                        "duplicate-controller",
                        &at.key("name"),
                        format!("two controllers have the name {name}"),
                    );
                }
                controllers.push(controller);
            }
        }
        controllers
    }

    fn controller(&mut self, spec: &Value, at: &Location) -> Option<Controller> {
        if !self.known(
            spec,
            &[
                "name", "sources", "pipeline", "target", "targets", "options",
            ],
            at,
        ) {
            return None;
        }
        let name = self.text(spec.get("name"), &at.key("name"));
        let sources = self.sources(spec.get("sources"), &at.key("sources"));
        let targets = self.targets(spec, at);
        let options = self.options(spec.get("options"), &at.key("options"));
        let inputs: Vec<usize> = (0..sources.len())
            .filter(|i| !matches!(sources[*i].kind, SourceKind::Periodic(_)))
            .collect();
        let names: Vec<String> = inputs.iter().map(|i| sources[*i].name.clone()).collect();
        let kinds: Vec<String> = targets
            .iter()
            .map(|target| target.resource.kind.clone())
            .collect();
        let (pipeline, errors) = Pipeline::draft(
            spec.get("pipeline"),
            &at.key("pipeline"),
            &names,
            &kinds,
            self.table,
            &mut self.patterns,
        );
        let list = spec.get("sources").as_list();
        let sources_read = list.is_some_and(|list| list.len() == sources.len());
        if sources_read && inputs.is_empty() && !sources.is_empty() {
            self.problems
                .push(inputs::only_periodic(&at.key("sources")));
        }
        for error in errors {
            // Without sources, that is reported already.
            let no_source = matches!(error.kind, PipelineErrorKind::NoSource);
            if !no_source && (sources_read || !error.is_about_inputs()) {
                self.problems
                    .push(inputs::problem(error, &sources, spec, at));
            }
        }
        let mut controller = Controller {
            name: name?,
            sources,
            inputs,
            pipeline: pipeline?,
            targets,
            options,
            at: at.clone(),
            places: Places::default(),
            secret_parts: SecretParts::default(),
        };
        source_target::written(&mut controller);
        source_target::in_place(&mut controller);
        Some(controller)
    }

    fn sources(&mut self, value: &Value, at: &Location) -> Vec<Source> {
        let Some(list) = value.as_list().filter(|list| !list.is_empty()) else {
            self.no_list(value, at, "a controller needs a list of sources");
            return Vec::new();
        };
        let sources = list.iter().enumerate();
        let sources = sources.filter_map(|(i, spec)| self.source(spec, &at.index(i)));
        let sources: Vec<Source> = sources.collect();
        self.incomplete |= sources.len() < list.len();
        sources
    }

    /// Reports that a required list is missing, empty, or something else.
    fn no_list(&mut self, value: &Value, at: &Location, message: &str) {
        self.incomplete = true;
        if value.is_null() && self.misspelled.contains(at) {
            return;
        }
        let problem = Problem::error("bad-field", at, message);
        self.problems.push(match value.as_map() {
            Some(_) => {
                problem.with_help("found a map: make it a list, with `- ` before each element")
            }
            None => problem,
        });
    }
}

/// The version of the API that Operators have.
const API_VERSION: &str = "dcontroller.io/v1alpha1";

/// The codes of warnings that an annotation of the Operator allows.
pub(crate) fn allowed(manifest: &Value) -> Vec<&str> {
    let annotations = manifest.get("metadata").get("annotations");
    let codes = annotations
        .get(object::marks::ALLOW)
        .as_str()
        .unwrap_or_default();
    codes.split(',').map(str::trim).collect()
}

/// How an `apiVersion` is written in a source or target, which have a group and a version.
fn group_and_version(map: &Map, key: &Key, known: &[&str]) -> Option<String> {
    if key.as_str() != "apiVersion" || !known.contains(&"apiGroup") {
        return None;
    }
    let text = map.get_str("apiVersion")?.as_str()?;
    let (group, version) = text.split_once('/').unwrap_or(("", text));
    let group = if group.is_empty() { "\"\"" } else { group };
    Some(match (map.get_str("apiGroup"), map.get_str("version")) {
        (None, None) => format!("write apiGroup: {group} and version: {version}"),
        (None, Some(_)) => format!("write apiGroup: {group}"),
        (Some(_), None) => format!("write version: {version}"),
        (Some(_), Some(_)) => "leave it out: apiGroup and version are there".to_owned(),
    })
}
