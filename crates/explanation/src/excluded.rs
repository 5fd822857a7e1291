//! Why sources do not read an object, although they read its kind.

use document::{Value, one_line};
use object::{ObjectName, group_of};
use operator::spec::{Source, SourceKind};

use crate::secret::SecretTexts;
use crate::story::Story;
use crate::wanted::Wanted;

impl Story<'_> {
    /// For each source of the object's kind, why it excludes the object. If the object is unknown
    /// (`None`), the namespace is taken from its name, and the labels that the source requires are
    /// listed.
    pub fn excluded(&self, wanted: &Wanted, object: Option<&Value>) -> Vec<String> {
        let mut found = Vec::new();
        for controller in &self.operator.controllers {
            for input in &controller.inputs {
                let source = &controller.sources[*input];
                let parts = match object {
                    Some(object) => of_object(source, object, self.secrets),
                    None => of_name(source, wanted),
                };
                if parts.is_empty() {
                    continue;
                }
                let (controller, source) = (&controller.name, &source.name);
                let parts = parts.join("; ");
                found.push(format!("controller {controller}, source {source}: {parts}"));
            }
        }
        found
    }
}

fn of_object(source: &Source, object: &Value, secrets: &SecretTexts) -> Vec<String> {
    if object.get("kind").as_str() != Some(source.resource.kind.as_str()) {
        return Vec::new();
    }
    let version = object.get("apiVersion").as_str();
    let groups = version.map(|version| (group_of(version), source.resource.group.as_str()));
    if let Some((found, wanted)) = groups.filter(|(found, wanted)| found != wanted) {
        let (found, wanted) = (group(found), group(wanted));
        return vec![format!("it is of {found}, the source reads {wanted}")];
    }
    let mut parts: Vec<String> = of_type(source).into_iter().collect();
    let name = ObjectName::of(object);
    parts.extend(name.and_then(|name| of_namespace(source, name.namespace())));
    let labels = object.get("metadata").get("labels");
    let selector = source.selector.iter();
    for (key, requirement) in selector.flat_map(|selector| selector.unmet(labels)) {
        let label = labels.get(&key);
        let found = if label.is_null() {
            "missing".to_owned()
        } else {
            object::bounded(&secrets.masked(label, false).to_string(), 100)
        };
        parts.push(format!(
            "label {key} is {found}, the source wants {requirement}"
        ));
    }
    parts
}

fn of_name(source: &Source, wanted: &Wanted) -> Vec<String> {
    if !wanted.is_of(&source.resource.group_kind()) {
        return Vec::new();
    }
    let mut parts: Vec<String> = of_type(source).into_iter().collect();
    let namespaces: Option<Vec<&str>> = (wanted.places().into_iter())
        .map(|(namespace, _)| namespace)
        .collect();
    let namespaces = namespaces.unwrap_or_default();
    parts.extend((namespaces.first()).and_then(|namespace| of_namespace(source, namespace)));
    let selector = source.selector.as_ref();
    let selector = selector.filter(|selector| !selector.is_empty());
    parts.extend(selector.map(|selector| format!("the source wants the labels {selector}")));
    parts
}

fn of_type(source: &Source) -> Option<String> {
    let one_shot = source.kind == SourceKind::OneShot;
    one_shot.then(|| "a OneShot source reads no objects".to_owned())
}

fn of_namespace(source: &Source, found: &str) -> Option<String> {
    let wanted = source.namespace.as_deref();
    let wanted = wanted.filter(|wanted| *wanted != found)?;
    let found = if found.is_empty() {
        "the object has no namespace".to_owned()
    } else {
        format!("namespace is {}", one_line(found))
    };
    Some(format!("{found}, the source reads {wanted}"))
}

fn group(group: &str) -> String {
    match group {
        "" => "the core group".to_owned(),
        group => format!("group {}", one_line(group)),
    }
}
