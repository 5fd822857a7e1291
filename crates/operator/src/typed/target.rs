//! Whether the documents of a pipeline fit their target.

use document::path::Segment;
use document::{Key, Location, LocationStep};
use schema::{KindSchema, Numbers, Strings, Type};

use super::inference::Inference;
use super::path::{listed, peek};
use crate::problem::Problem;
use crate::spec::{Target, TargetType};

/// The fields of an output's metadata that are written, besides the name.
const METADATA: [&str; 5] = [
    "name",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
];

/// Groups of Kubernetes whose objects may have names with colons and the like.
const FREE_NAMES: [&str; 2] = ["rbac.authorization.k8s.io", "apiregistration.k8s.io"];

impl Inference {
    /// Checks the documents for a target; `schema` is that of its kind, if it is known. A document
    /// that replaces an object by a part of it counts as lacking the other fields.
    pub(super) fn output(
        &mut self,
        document: &Type,
        target: &Target,
        schema: Option<&KindSchema>,
        at: &Location,
        is_part: bool,
    ) {
        if document.any || document.is_never() {
            return;
        }
        let at = document.at.clone().unwrap_or_else(|| at.clone());
        if document.map.is_none() {
            self.no_name(&format!("the result is {document}, not an object"), &at);
            return;
        }
        self.name(document, target, &at);
        self.used_metadata(document, target, &at);
        if schema.is_none_or(|schema| !schema.namespaced) {
            self.null_namespace(document);
        }
        if let Some(schema) = schema {
            self.namespace(document, target, schema, &at);
            self.content(document, target, schema, &at);
            // What is missing here may be in the object that a Patcher or Applier changes.
            if target.kind == TargetType::Updater && !is_part {
                self.required(document, &schema.object, &target.resource.kind, &at);
            }
        }
    }

    /// Checks the fields of the metadata: those that are written, and those that do not exist.
    fn used_metadata(&mut self, document: &Type, target: &Target, at: &Location) {
        let metadata = document.field(&Key::new("metadata"));
        let Some(fields) = metadata.and_then(|metadata| metadata.fields()) else {
            return;
        };
        let known = Type::defined("ObjectMeta");
        let owner = format!("{}.metadata", target.resource.kind);
        for (name, field) in &fields.named {
            let place = format!("metadata.{name}");
            let written = METADATA.contains(&name.as_str());
            let exists = known
                .map
                .as_ref()
                .is_some_and(|map| map.field(name).is_some());
            if written || !exists {
                self.field(field, &known, name, (&owner, &place), at);
            }
        }
    }

    pub(super) fn no_name(&mut self, message: &str, at: &Location) {
        let problem = self.fails("no-name", at, message.to_owned());
        self.report(problem.with_help("every result needs metadata.name, a non-empty string"));
    }

    fn name(&mut self, document: &Type, target: &Target, at: &Location) {
        let name = metadata(document, "name");
        let at = name.at.clone().unwrap_or_else(|| at.clone());
        if name.is_null() {
            self.no_name("the result has no metadata.name", &at);
            return;
        }
        if !name.is_never() && !name.overlaps(&Type::string()) {
            self.no_name(
                &format!("metadata.name is always {name}, not a string"),
                &at,
            );
            return;
        }
        let Some(known) = name.string.as_known().filter(|_| !name.any) else {
            return;
        };
        let bad: Vec<_> = known.iter().filter(|name| !valid(name, target)).collect();
        let Some(first) = bad.first() else { return };
        let kind = &target.resource.kind;
        let message = format!("{first:?} is not a valid name for {kind}");
        let mut problem = self.fails("invalid-name", &at, message);
        if bad.len() < known.len() || name.null {
            problem.severity = crate::Severity::Warning;
        }
        self.report(problem.with_help(
            "a name has lower-case letters, digits, `-` and `.`, and starts and ends with a letter or digit",
        ));
    }

    /// Reports a namespace that is written and always null, such as that of an object without one.
    fn null_namespace(&mut self, document: &Type) {
        let namespace = metadata(document, "namespace");
        if let Some(at) = namespace.at.as_ref().filter(|_| namespace.is_null()) {
            let message = "metadata.namespace is always null, and must be a string".to_owned();
            let problem = self.fails("wrong-scope", at, message);
            let help = "the objects of a cluster-scoped kind have no namespace: leave it out";
            self.report(problem.with_help(help));
        }
    }

    fn namespace(&mut self, document: &Type, target: &Target, schema: &KindSchema, at: &Location) {
        let namespace = metadata(document, "namespace");
        if namespace.any || namespace.is_never() {
            return;
        }
        let kind = &target.resource.kind;
        let empty = namespace.string == Strings::known([""]);
        let always = namespace.string != Strings::None && !namespace.null && !empty;
        let at = namespace.at.clone().unwrap_or_else(|| at.clone());
        if schema.namespaced && (namespace.is_null() || empty) {
            let message = format!("a {kind} needs a namespace, but the result has none");
            let problem = self.fails("wrong-scope", &at, message);
            self.report(problem.with_help("set metadata.namespace"));
        } else if !schema.namespaced && always {
            let message = format!("a {kind} is in no namespace, but the result has one");
            let problem = self.fails("wrong-scope", &at, message);
            self.report(problem.with_help("leave out metadata.namespace"));
        }
    }

    /// Compares the fields with those of the kind.
    fn content(&mut self, document: &Type, target: &Target, schema: &KindSchema, at: &Location) {
        let Some(fields) = document.fields() else {
            return;
        };
        let kind = &target.resource.kind;
        for (name, field) in &fields.named {
            if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                let place = format!("{kind}.{name}");
                self.field(field, &schema.object, name, (kind, &place), at);
            }
        }
    }

    /// Checks the field of a map. `names` are those of the map and of the field.
    fn field(
        &mut self,
        field: &Type,
        owner: &Type,
        name: &Key,
        names: (&str, &str),
        at: &Location,
    ) {
        let Some(shape) = owner.map.as_ref().filter(|_| !owner.any) else {
            return;
        };
        match shape.field(name) {
            Some(wanted) => self.fits(field, &wanted, names.1, at),
            None if field.is_null() => {}
            None => {
                let (at, is_key) = name_place(field.at.as_ref().unwrap_or(at), name);
                let known = shape.names();
                let message = format!("{} has no field {name}", names.0);
                let nearest = expr::nearest(name.as_str(), known.iter().map(String::as_str));
                let known = listed(&known);
                let help = match nearest {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    // A field at the top is often one that only the stages need.
                    None if is_key && !names.0.contains('.') => format!(
                        "its fields are {known}; leave out what only stages need with a last @project, or remove it with @patch"
                    ),
                    None => format!("its fields are {known}"),
                };
                let mut problem = Problem::warning("no-such-field", &at, message);
                problem.at_key = is_key;
                self.report(problem.with_help(help));
            }
        }
    }

    /// Checks that a value may have the type that the schema wants.
    pub(super) fn fits(&mut self, found: &Type, wanted: &Type, place: &str, at: &Location) {
        if !self.budget.take() || found.any || wanted.any || found.is_never() || found.is_null() {
            return;
        }
        let at = found.at.clone().unwrap_or_else(|| at.clone());
        if !found.overlaps(wanted) {
            self.misfit(found, wanted, place, &at);
            return;
        }
        self.fits_integer(found, wanted, place);
        if let (Some(element), Some(wanted)) = (&found.list, &wanted.list) {
            self.fits(element, wanted, &format!("{place}[]"), &at);
        }
        let (Some(shape), Some(_)) = (&found.map, &wanted.map) else {
            return;
        };
        let fields = shape.fields();
        for (name, field) in &fields.named {
            let inner = format!("{place}.{name}");
            self.field(field, wanted, name, (place, &inner), &at);
        }
        match (
            &fields.rest,
            wanted.map.as_ref().and_then(schema::Shape::rest),
        ) {
            (Some(rest), Some(wanted)) => self.fits(rest, &wanted, place, &at),
            (Some(rest), None) if fields.named.is_empty() => {
                self.fits_fields(rest, wanted, place, &at);
            }
            (Some(_) | None, _) => {}
        }
    }

    /// Checks a map with any keys where certain fields are needed: the values of the map must have
    /// the type of one of them.
    fn fits_fields(&mut self, values: &Type, wanted: &Type, place: &str, at: &Location) {
        let Some(shape) = wanted.map.as_ref() else {
            return;
        };
        let names = shape.names();
        let mut fields = names.iter().filter_map(|name| shape.field(&Key::new(name)));
        if names.is_empty() || values.is_never() || fields.any(|field| field.overlaps(values)) {
            return;
        }
        let kind = values.clone().without_null();
        let message = format!(
            "{place} has the fields {}, but each value of this map is {kind}",
            listed(&names)
        );
        let problem = Problem::warning("refused-value", at, message);
        let mut fits = names.iter().filter(|name| {
            let field = shape.field(&Key::new(name));
            let rest = field.and_then(|field| field.map.as_ref()?.rest());
            rest.is_some_and(|rest| !rest.any && rest.overlaps(values))
        });
        self.report(match fits.next() {
            Some(name) => problem.with_help(format!("did you mean {{{name}: …}}?")),
            None => problem,
        });
    }

    fn misfit(&mut self, found: &Type, wanted: &Type, place: &str, at: &Location) {
        let wanted = wanted.clone().without_null();
        let found = found.clone().without_null();
        if let (Some(words), Some(allowed)) = (found.string.as_known(), wanted.string.as_known()) {
            let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
            let message = format!("{place} is one of {}", allowed.join(", "));
            let problem = Problem::warning("refused-value", at, message);
            let nearest = words
                .first()
                .and_then(|word| expr::nearest(word, allowed.iter().map(AsRef::as_ref)));
            self.report(match nearest {
                Some(nearest) => problem.with_help(format!("did you mean {nearest}?")),
                None => problem,
            });
            return;
        }
        let message = format!("{place} must be {wanted}, but this is always {found}");
        let problem = self.fails("refused-value", at, message);
        let help = if wanted.string == Strings::All && wanted.list.is_none() {
            Some("write it in quotes, or convert it with @string")
        } else if found.string == Strings::None {
            None
        } else if wanted.number != Numbers::None {
            Some("write it without quotes, or convert it with @int or @float")
        } else if wanted.boolean {
            Some("write it without quotes, or convert it with @bool")
        } else {
            None
        };
        self.report(match help {
            Some(help) => problem.with_help(help),
            None => problem,
        });
    }

    /// Warns about required fields that a new object never has.
    fn required(&mut self, document: &Type, wanted: &Type, place: &str, at: &Location) {
        let (Some(found), Some(wanted)) = (&document.map, &wanted.map) else {
            return;
        };
        let at = document.at.as_ref().unwrap_or(at);
        let fields = found.fields();
        if document.any || fields.rest.is_some() {
            return;
        }
        for name in wanted.required() {
            let missing = fields.named.get(&name).is_none_or(Type::is_null);
            if missing {
                let message = format!("{place} needs the field {name}");
                self.report(Problem::warning("missing-field", at, message));
            }
        }
        for (name, field) in &fields.named {
            if let Some(wanted) = wanted.field(name)
                && self.budget.take()
            {
                self.required(field, &wanted, &format!("{place}.{name}"), at);
                if let (Some(element), Some(wanted)) = (&field.list, &wanted.list) {
                    self.required(element, wanted, &format!("{place}.{name}[]"), at);
                }
            }
        }
    }
}

/// Kinds of the core group whose objects are often complete with only metadata.
const BARE_KINDS: [&str; 2] = ["Namespace", "ServiceAccount"];

/// Whether a target replaces the content of objects that exist by nothing: its documents have only
/// metadata, and its kind has more.
pub(super) fn is_emptied(document: &Type, target: &Target, schema: Option<&KindSchema>) -> bool {
    let kind = &target.resource;
    if target.kind != TargetType::Updater
        || target.refuse_existing
        || !target.ignore.is_empty()
        || kind.is_view()
        || (kind.group.is_empty() && BARE_KINDS.contains(&kind.kind.as_str()))
    {
        return false;
    }
    let beyond = |name: &str, known: &[&str]| {
        !known.contains(&name) && !matches!(name, "apiVersion" | "kind" | "metadata")
    };
    let object = schema.and_then(|schema| schema.object.map.as_ref());
    let names = object.map(schema::Shape::names).unwrap_or_default();
    let has_content = names.iter().any(|name| beyond(name, &["status"]));
    let fields = document.fields().filter(|_| !document.any);
    has_content
        && fields.is_some_and(|fields| {
            let mut names = fields.named.iter();
            fields.rest.is_none()
                && fields.named.contains_key(&Key::new("metadata"))
                && names.all(|(name, field)| field.is_null() || !beyond(name.as_str(), &[]))
        })
}

/// The problem of a target that [`is_emptied`].
pub(super) fn only_metadata(at: &Location, kind: &str) -> Problem {
    let message = format!(
        "an Updater that yields only metadata removes all other fields of a {kind} that exists"
    );
    let problem = Problem::warning("only-metadata", at, message).at_key();
    problem.with_help("did you mean `type: Patcher`, which changes only what it yields?")
}

/// The type of a field of the metadata.
pub(super) fn metadata(document: &Type, name: &str) -> Type {
    let path = ["metadata", name].map(|name| Segment::Name(Key::new(name)));
    peek(document, &path)
}

/// Where the name of a field is written whose value is here: that of a patch in its path. Also
/// whether it is the key at this location.
fn name_place(value: &Location, name: &Key) -> (Location, bool) {
    let is =
        |step: &LocationStep, name: &str| matches!(step, LocationStep::Key(key) if key == name);
    let mut here = value;
    while let Some((around, step)) = here.parent() {
        if is(step, name.as_str()) {
            return (here.clone(), true);
        }
        // The value is an expression.
        if !matches!(step, LocationStep::Key(key) if key.starts_with('@')) {
            break;
        }
        here = around;
    }
    let steps = value.steps();
    match (steps.as_slice(), value.parent()) {
        ([.., patch, operations, LocationStep::Index(_), last], Some((operation, _)))
            if is(patch, "@patch") && is(operations, "operations") && is(last, "value") =>
        {
            (operation.key("path"), false)
        }
        _ => (value.clone(), false),
    }
}

/// Whether a literal is a valid name of an object of the target.
fn valid(name: &str, target: &Target) -> bool {
    if target.resource.is_view() {
        return !name.is_empty();
    }
    if FREE_NAMES.contains(&target.resource.group.as_str()) {
        return !name.is_empty() && !name.contains(['/', '%']) && name != "." && name != "..";
    }
    object::is_subdomain(name)
}
