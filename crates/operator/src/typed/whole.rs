//! Pipelines that write a whole source object back to where it came from.

use dataflow::fields::Fields as Reads;
use document::{Key, Location, Value};
use object::KnownLabel;
use schema::{Origin, Strings, Type};

use crate::problem::Problem;
use crate::single;
use crate::spec::{Controller, Source, Target, TargetType};

/// How a result relates to the source object of its own kind, name and namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrittenBack {
    /// It is the whole object.
    Whole,
    /// It has only some of its fields, or fields with other values.
    Part,
}

/// The problem of a result that is a source object of the target's own kind and name. Such a pipeline
/// writes back what a user has just changed, and creates a deleted object again.
pub(super) fn check(
    controller: &Controller,
    target: &Target,
    document: &Type,
    at: &Location,
) -> Option<Problem> {
    if written_back(controller, target, document)? != WrittenBack::Whole {
        return None;
    }
    let kind = &target.resource.kind;
    let message = format!(
        "the result is the whole {kind} that it was read from: this overwrites what others change in it, and creates it again when it is deleted"
    );
    let problem = Problem::warning(super::WHOLE_OBJECT, at, message);
    Some(problem.with_help(if target.kind == TargetType::Applier {
        "yield only the fields that you own, or use `type: Patcher`, which writes only the difference"
    } else {
        "use `type: Patcher`, which writes only the difference, or `type: Applier` and yield only the fields that you own"
    }))
}

/// Whether an Updater replaces the object that it was read from by a part of it: probably
/// `type: Patcher` was forgotten.
pub(super) fn is_part(controller: &Controller, target: &Target, document: &Type) -> bool {
    target.kind == TargetType::Updater
        && !document.any
        && written_back(controller, target, document) == Some(WrittenBack::Part)
}

/// Whether the results of a target that is no Patcher replace the objects that they were read from.
fn written_back(controller: &Controller, target: &Target, document: &Type) -> Option<WrittenBack> {
    if target.kind == TargetType::Patcher {
        return None;
    }
    let metadata = document.field(&Key::new("metadata"))?;
    let name = metadata.field(&Key::new("name"))?.origin?;
    if !name.is(&["metadata", "name"]) {
        return None;
    }
    let source = controller.inputs.get(name.source)?;
    let Source {
        resource: source,
        namespace: read_from,
        ..
    } = &controller.sources[*source];
    if source.group != target.resource.group || source.kind != target.resource.kind {
        return None;
    }
    // A copy in another namespace is another object.
    let namespace = metadata.field(&Key::new("namespace"))?;
    let same =
        |origin: &Origin| origin.source == name.source && origin.is(&["metadata", "namespace"]);
    if namespace
        .origin
        .as_ref()
        .is_some_and(|origin| !same(origin))
        || is_elsewhere(&namespace, read_from.as_deref())
    {
        return None;
    }
    let from = |origin: &Option<Origin>, names: usize| {
        let origin = origin.as_ref();
        origin.is_some_and(|origin| origin.source == name.source && origin.path.len() == names)
    };
    let whole = from(&document.origin, 0);
    let fields = document.fields();
    let mut fields = fields.iter().flat_map(|fields| &fields.named);
    let content = fields.any(|(key, field)| {
        !matches!(key.as_str(), "metadata" | "status" | "apiVersion" | "kind")
            && from(&field.origin, 1)
    });
    Some(if whole || content {
        WrittenBack::Whole
    } else {
        WrittenBack::Part
    })
}

/// Whether a controller does not see what it writes to a target of a kind that it reads: an Applier
/// that sets fields of the object that it was read from, and reads other fields.
pub(super) fn is_apart(controller: &Controller, target: &Target, document: &Type) -> bool {
    if target.kind != TargetType::Applier {
        return false;
    }
    let field = |name: &str| document.field(&Key::new(name));
    let Some(metadata) = field("metadata") else {
        return false;
    };
    let mut readers = controller.inputs_of(&target.resource);
    let (Some(input), None) = (readers.next(), readers.next()) else {
        return false;
    };
    let key = ["name", "namespace"].map(|name| metadata.field(&Key::new(name)));
    let [Some(name), Some(namespace)] = key else {
        return false;
    };
    let is = |found: &Type, name: &str| {
        let origin = found.origin.as_ref();
        origin.is_some_and(|origin| origin.source == input && origin.is(&["metadata", name]))
    };
    if !is(&name, "name") || !(is(&namespace, "namespace") || namespace.is_null()) {
        return false;
    }
    let reads = &dataflow::fields::used(&controller.pipeline)[input];
    let selects = controller.sources[controller.inputs[input]]
        .selector
        .is_some();
    let written = |owner: &Type, reads: Option<&Reads>, but: &[&str]| {
        let fields = owner.fields();
        fields.is_none_or(|fields| {
            let mut named = fields.named.iter();
            fields.rest.is_some()
                || named.any(|(name, written)| {
                    !but.contains(&name.as_str())
                        && (selects && name.as_str() == "labels"
                            || reads.is_some_and(|reads| overlaps(reads.names.get(name), written)))
                })
        })
    };
    !reads.all
        && reads.each.is_none()
        && !written(document, Some(reads), &["apiVersion", "kind", "metadata"])
        && !written(
            &metadata,
            reads.names.get(&Key::new("metadata")),
            &["name", "namespace"],
        )
}

/// Whether a controller (the writer itself or another one) reads this kind but never sees the target's
/// objects, because the namespaces, names or selectors of its sources exclude it.
pub(super) fn is_excluded(
    writer: &Controller,
    target: &Target,
    document: &Type,
    reader: &Controller,
) -> bool {
    let metadata = document.field(&Key::new("metadata"));
    let Some(metadata) = metadata.filter(|metadata| !metadata.any) else {
        return false;
    };
    let field = |name: &str| metadata.field(&Key::new(name)).unwrap_or_else(Type::any);
    let labels = field("labels");
    // An object that exists keeps the labels that others have set.
    let from_source = |name: &str| {
        let origin = field(name).origin;
        origin.is_some_and(|origin| {
            let mut inputs = writer.inputs_of(&target.resource);
            inputs.any(|input| origin.source == input) && origin.is(&["metadata", name])
        })
    };
    let creates = target.kind == TargetType::Updater
        && !(from_source("name") && (from_source("namespace") || field("namespace").is_null()));
    let mut inputs = reader.inputs_of(&target.resource);
    inputs.all(|input| {
        let source = &reader.sources[reader.inputs[input]];
        let elsewhere = is_elsewhere(&field("namespace"), source.namespace.as_deref());
        let selector = source.selector.as_ref().filter(|_| creates);
        // An object with a name of its own is looked up, and is not the one that is written.
        let is_looked_up =
            |names: Vec<&str>| !from_source("name") && is_other(&field("name"), &names);
        let apart = single::objects(reader, input).is_some_and(is_looked_up);
        elsewhere
            || apart
            || selector.is_some_and(|selector| selector.excludes(|key| label(&labels, key)))
    })
}

/// Whether a name is none of these, as far as it is written in the spec.
fn is_other(name: &Type, names: &[&str]) -> bool {
    let KnownLabel::OneOf(known) = values(name) else {
        return true;
    };
    let mut known = known.iter().flatten().filter_map(Value::as_str);
    !known.any(|known| names.contains(&known))
}

/// Whether results of this namespace are never in that of a source.
fn is_elsewhere(namespace: &Type, of_source: Option<&str>) -> bool {
    let KnownLabel::OneOf(known) = values(namespace) else {
        return false;
    };
    let is = |known: &Option<Value>| known.as_ref().and_then(Value::as_str) == of_source;
    of_source.is_some() && !known.iter().any(is)
}

/// What is known about a label, given the type of all labels.
fn label(labels: &Type, key: &str) -> KnownLabel {
    if labels.is_null() {
        return KnownLabel::OneOf(vec![None]);
    }
    let fields = labels.fields().filter(|_| !labels.any);
    let Some(fields) = fields.filter(|fields| fields.rest.is_none()) else {
        return KnownLabel::Nothing;
    };
    let mut label = fields
        .named
        .get(&Key::new(key))
        .cloned()
        .unwrap_or_else(Type::null);
    label.null |= labels.null;
    values(&label)
}

/// The strings that a value may be.
fn values(of: &Type) -> KnownLabel {
    if of.any || of.is_never() {
        return KnownLabel::Nothing;
    }
    let mut other = of.clone().without_null();
    other.string = Strings::None;
    let Some(known) = of.string.as_known().filter(|_| other.is_never()) else {
        return match (of.null, of.is_null()) {
            (true, true) => KnownLabel::OneOf(vec![None]),
            (true, false) => KnownLabel::Nothing,
            (false, _) => KnownLabel::Present,
        };
    };
    let known = known.iter().map(|text| Some(Value::from(&**text)));
    KnownLabel::OneOf(known.chain(of.null.then_some(None)).collect())
}

/// Whether fields that are read may be among those that are written.
fn overlaps(reads: Option<&Reads>, written: &Type) -> bool {
    let Some(reads) = reads else {
        return false;
    };
    let fields = written.fields().filter(|_| !written.any && !reads.all);
    let Some(fields) = fields.filter(|fields| fields.rest.is_none()) else {
        return true;
    };
    let mut named = fields.named.iter();
    named.any(|(name, written)| {
        overlaps(reads.names.get(name), written) || overlaps(reads.each.as_deref(), written)
    })
}
