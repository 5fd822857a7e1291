//! Writes the table of built-in kinds from the `OpenAPI` documents of Kubernetes: `hack/schema-table`.
//! Without the documents, which are 12 MB, there is nothing to compare the table with.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use document::Value;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kubernetes-1.36.txt");

#[test]
fn the_table_is_that_of_the_documents() {
    let Ok(directory) = std::env::var("OPENAPI") else {
        return;
    };
    let mut documents = Documents::default();
    let files = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files {
        documents.read(&std::fs::read_to_string(&file).unwrap().parse().unwrap());
    }
    let table = documents.table();
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(TABLE, &table).unwrap();
    }
    let stored = std::fs::read_to_string(TABLE).unwrap();
    assert!(
        stored == table,
        "the table is out of date: hack/schema-table"
    );
}

#[derive(Default)]
struct Documents {
    /// By full name.
    schemas: BTreeMap<String, Value>,
    /// Group, version and kind of all resources that can be listed, and whether they are in
    /// namespaces.
    kinds: BTreeMap<(String, String, String), bool>,
}

impl Documents {
    fn read(&mut self, document: &Value) {
        let schemas = document.get("components").get("schemas").as_map();
        for (name, schema) in schemas.into_iter().flatten() {
            self.schemas
                .insert(name.as_str().to_owned(), schema.clone());
        }
        for (path, item) in document.get("paths").as_map().into_iter().flatten() {
            let get = item.get("get");
            if get.get("x-kubernetes-action").as_str() != Some("list") {
                continue;
            }
            let kind = get.get("x-kubernetes-group-version-kind");
            let text = |name: &str| kind.get(name).as_str().unwrap_or_default().to_owned();
            let namespaced = path.as_str().contains("/namespaces/{namespace}/");
            let key = (text("group"), text("version"), text("kind"));
            *self.kinds.entry(key).or_default() |= namespaced;
        }
    }

    fn table(&self) -> String {
        let mut table = Vec::new();
        let mut wanted = vec!["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta".to_owned()];
        for ((group, version, kind), namespaced) in &self.kinds {
            let name = self.definition_of(group, version, kind);
            let short = self.short(&name);
            let group = if group.is_empty() { "-" } else { group };
            let scope = if *namespaced { "N" } else { "C" };
            table.push(format!("kind {group} {version} {kind} {scope} {short}\n"));
            wanted.push(name);
        }
        let mut lines: BTreeMap<String, String> = BTreeMap::new();
        while let Some(name) = wanted.pop() {
            let short = self.short(&name);
            if let Entry::Vacant(vacant) = lines.entry(short) {
                vacant.insert(self.definition(&self.schemas[&name], &mut wanted));
            }
        }
        for (name, line) in lines {
            table.push(format!("{name} {line}\n"));
        }
        table.concat()
    }

    /// The full name of the schema of a kind.
    fn definition_of(&self, group: &str, version: &str, kind: &str) -> String {
        let is = |schema: &Value| {
            let kinds = schema.get("x-kubernetes-group-version-kind").as_list();
            kinds.into_iter().flatten().any(|other| {
                let text = |name: &str| other.get(name).as_str().unwrap_or_default();
                (text("group"), text("version"), text("kind")) == (group, version, kind)
            })
        };
        let mut schemas = self.schemas.iter();
        let found = schemas.find(|(_, schema)| is(schema));
        found.expect("a kind has a schema").0.clone()
    }

    /// The last word of a name, or more if several schemas have the same.
    fn short(&self, name: &str) -> String {
        let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        let same = self
            .schemas
            .keys()
            .filter(|other| last(other) == last(name));
        if same.count() == 1 {
            return last(name);
        }
        let words: BTreeSet<&str> = ["io", "k8s", "api", "pkg", "apis"].into();
        let words: Vec<&str> = name
            .split('.')
            .filter(|word| !words.contains(word))
            .collect();
        words.join(".")
    }

    fn definition(&self, schema: &Value, wanted: &mut Vec<String>) -> String {
        let Some(properties) = schema.get("properties").as_map() else {
            return format!("={}", self.type_of(schema, wanted));
        };
        let required = schema.get("required").as_list().into_iter().flatten();
        let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
        let fields = properties.iter().map(|(name, schema)| {
            let mark = if required.contains(name.as_str()) {
                "!"
            } else {
                ""
            };
            format!("{name}{mark}:{}", self.type_of(schema, wanted))
        });
        fields.collect::<Vec<_>>().join(" ")
    }

    fn type_of(&self, schema: &Value, wanted: &mut Vec<String>) -> String {
        if let Some(reference) = schema.get("$ref").as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default().to_owned();
            let short = self.short(&name);
            wanted.push(name);
            return format!("@{short}");
        }
        if let Some(all) = schema.get("allOf").as_list()
            && all.len() == 1
        {
            return self.type_of(all.get(0).unwrap_or(&Value::NULL), wanted);
        }
        if schema.get("oneOf").as_list().is_some() {
            let text = schema.get("oneOf").to_string();
            let numbers = text.contains("number");
            return if numbers { "q" } else { "x" }.to_owned();
        }
        let words = schema.get("enum").as_list().into_iter().flatten();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        match schema.get("type").as_str() {
            Some("string") if schema.get("format").as_str() == Some("int-or-string") => "x".into(),
            Some("string") if !words.is_empty() && words.iter().all(|word| plain(word)) => {
                format!("e({})", words.join("|"))
            }
            Some("string") => "s".into(),
            Some("integer") => "i".into(),
            Some("number") => "n".into(),
            Some("boolean") => "b".into(),
            Some("array") => format!("[{}", self.type_of(schema.get("items"), wanted)),
            Some("object") if schema.get("additionalProperties").as_map().is_some() => {
                let values = schema.get("additionalProperties");
                format!("{{{}", self.type_of(values, wanted))
            }
            Some("object") => "o".into(),
            _ => "a".into(),
        }
    }
}

/// Whether a word of an enum can be written in the table.
fn plain(word: &str) -> bool {
    !word.is_empty() && !word.contains([' ', '|', ')', '@'])
}
