//! Parses the stages other than `@join` and `@patch`.

use document::{Key, Location, Map, Path, Value};
use expr::{DocumentKind, Expr, Items};

use super::{Gather, GroupBy, PipelineErrorKind, PipelineReader, Project, Stage, StageKind};

/// The names of the stages.
pub const STAGE_NAMES: [&str; 10] = [
    "@join",
    "@select",
    "@project",
    "@unwind",
    "@demux",
    "@gather",
    "@mux",
    "@groupBy",
    "@distinct",
    "@patch",
];

impl PipelineReader<'_> {
    /// Parses a list of stages. `inputs` are the names of the inputs, and `documents` is
    /// the kind of their documents.
    pub(super) fn stages(
        &mut self,
        specs: &[(Value, Location)],
        inputs: &[String],
        documents: DocumentKind,
        at: &Location,
    ) -> Vec<Stage> {
        let joins = specs
            .first()
            .is_some_and(|(spec, _)| stage_name(spec) == Some("@join"));
        // A @join in another place is a mistake of its own.
        let mut named = specs.iter().map(|(spec, _)| spec.get("@join"));
        if inputs.len() > 1 && named.all(Value::is_null) {
            let at = specs.first().map_or(at, |(_, at)| at);
            self.error(
                at,
                PipelineErrorKind::JoinMissing {
                    count: inputs.len(),
                },
            );
        }
        let mut documents = if joins && documents != DocumentKind::Derived {
            DocumentKind::Joined
        } else {
            documents
        };
        let mut stages = Vec::new();
        for (i, (spec, at)) in specs.iter().enumerate() {
            if let Some(stage) = self.stage(spec, at, inputs, i == 0, documents) {
                if stage.kind.rebuilds() {
                    documents = DocumentKind::Derived;
                }
                stages.push(stage);
            } else {
                self.stage_missing = true;
            }
        }
        stages
    }

    fn stage(
        &mut self,
        spec: &Value,
        at: &Location,
        inputs: &[String],
        first: bool,
        documents: DocumentKind,
    ) -> Option<Stage> {
        if spec.as_str() == Some("@distinct") {
            return Some(Stage {
                kind: StageKind::Distinct,
                spec: Value::NULL,
                at: at.clone(),
            });
        }
        let Some([(name, argument)]) = spec.as_map().map(Map::entries) else {
            self.no_stage(spec, at);
            return None;
        };
        let inner = at.key(name.as_str());
        let kind = match name.as_str() {
            "@join" => {
                if !first {
                    self.error(&inner, PipelineErrorKind::JoinNotFirst);
                    return None;
                }
                StageKind::Join(self.join(argument, &inner, inputs))
            }
            "@select" => StageKind::Select(self.compile(documents, |compiler| {
                compiler.expr(argument, &inner, Items::None)
            })),
            "@project" => StageKind::Project(self.project(argument, &inner, documents)),
            "@unwind" | "@demux" => StageKind::Unwind(self.one_place(argument, "@unwind", &inner)?),
            "@gather" | "@mux" => StageKind::Gather(self.gather(argument, &inner, documents)?),
            "@groupBy" => StageKind::GroupBy(self.group_by(argument, &inner, documents)?),
            "@patch" => StageKind::Patch(Box::new(self.patch(argument, &inner, documents)?)),
            "@distinct" => {
                if !(argument.is_null() || argument.as_map().is_some_and(Map::is_empty)) {
                    self.error(
                        &inner,
                        PipelineErrorKind::Form {
                            stage: "@distinct",
                            expected: "no argument, null or {}",
                        },
                    );
                }
                StageKind::Distinct
            }
            _ => {
                self.no_stage(spec, at);
                return None;
            }
        };
        Some(Stage {
            kind,
            spec: argument.clone(),
            at: inner,
        })
    }

    fn no_stage(&mut self, spec: &Value, at: &Location) {
        if let Some(error) = spec.as_map().and_then(not_indented) {
            self.error(at, error);
            return;
        }
        let keys = spec.as_map().map(Map::entries);
        if let Some(entries) = keys.filter(|entries| entries.len() > 1)
            && entries.iter().all(|(key, _)| key.as_str().starts_with('@'))
        {
            let names: Vec<_> = entries.iter().map(|(key, _)| key.as_str()).collect();
            let names = names.join(", ");
            self.error(at, PipelineErrorKind::StagesInMap { names });
            return;
        }
        let (found, name) = match (spec.as_map().map(Map::entries), spec.as_str()) {
            (Some([(name, _)]), _) => (name.as_str().to_owned(), Some(name.as_str().to_owned())),
            (Some([]), _) => ("an empty map".to_owned(), None),
            (Some(entries), _) => (
                format!(
                    "a map with the keys {}",
                    entries
                        .iter()
                        .map(|(k, _)| k.as_str())
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                None,
            ),
            (None, Some(text)) => (format!("{text:?}"), Some(text.to_owned())),
            (None, None) => (spec.kind().to_string(), None),
        };
        let names = || STAGE_NAMES.into_iter().chain(["@inputs", "@output"]);
        let nearest = name.and_then(|name| {
            expr::nearest(&name, names())
                .or_else(|| expr::nearest(&format!("@{name}"), names()))
                .map(str::to_owned)
        });
        self.error(at, PipelineErrorKind::NoStage { found, nearest });
    }

    fn project(&mut self, spec: &Value, at: &Location, documents: DocumentKind) -> Project {
        let Some(items) = spec.as_list() else {
            return Project::Whole(
                self.compile(documents, |compiler| compiler.expr(spec, at, Items::None)),
            );
        };
        if items.is_empty() {
            self.error(at, PipelineErrorKind::EmptyProject);
        }
        let steps = items
            .iter()
            .enumerate()
            .map(|(i, item)| {
                self.compile(documents, |compiler| {
                    compiler.expr(item, &at.index(i), Items::None)
                })
            })
            .collect();
        Project::Steps(steps)
    }

    /// A path that matches at most one field.
    fn one_place(&mut self, spec: &Value, stage: &'static str, at: &Location) -> Option<Path> {
        let Some(text) = spec.as_str().filter(|text| text.starts_with('$')) else {
            self.error(
                at,
                PipelineErrorKind::Form {
                    stage,
                    expected: if stage == "@unwind" {
                        "the path of a list, such as \"$.spec.ports\""
                    } else {
                        "[key, path]: the path of a field, such as \"$.spec.address\""
                    },
                },
            );
            return None;
        };
        let path = self
            .compile(DocumentKind::Derived, |compiler| {
                compiler.path(text, at, Items::None)
            })?
            .path;
        if !path.is_singular() || path.is_root() {
            self.error(at, PipelineErrorKind::PluralPath { stage });
            return None;
        }
        Some(path)
    }

    fn gather(&mut self, spec: &Value, at: &Location, documents: DocumentKind) -> Option<Gather> {
        let Some(args) = spec.as_list().filter(|args| args.len() == 2) else {
            self.error(
                at,
                PipelineErrorKind::Form {
                    stage: "@gather",
                    expected: "[key, path]",
                },
            );
            return None;
        };
        let key = self.group_key(args.get(0).unwrap_or(&Value::NULL), &at.index(0), documents);
        let path = self.one_place(args.get(1).unwrap_or(&Value::NULL), "@gather", &at.index(1))?;
        Some(Gather { key, path })
    }

    fn group_by(
        &mut self,
        spec: &Value,
        at: &Location,
        documents: DocumentKind,
    ) -> Option<GroupBy> {
        let Some(args) = spec.as_list().filter(|args| (2..=3).contains(&args.len())) else {
            self.error(
                at,
                PipelineErrorKind::Form {
                    stage: "@groupBy",
                    expected: "[key, value] or [key, value, {distinct: true}]",
                },
            );
            return None;
        };
        let key = self.group_key(args.get(0).unwrap_or(&Value::NULL), &at.index(0), documents);
        let value = args.get(1).filter(|value| !value.is_null()).map(|value| {
            self.compile(documents, |compiler| {
                compiler.expr(value, &at.index(1), Items::None)
            })
        });
        let distinct = match args.get(2) {
            Some(options) => self.group_options(options, &at.index(2)),
            None => false,
        };
        Some(GroupBy {
            key,
            value,
            distinct,
        })
    }

    fn group_options(&mut self, options: &Value, at: &Location) -> bool {
        let mut distinct = false;
        match options.as_map() {
            Some(map) => {
                for (name, value) in map {
                    match (name.as_str(), value.as_bool()) {
                        ("distinct", Some(on)) => distinct = on,
                        ("distinct", None) => self.error(
                            &at.key("distinct"),
                            PipelineErrorKind::Form {
                                stage: "distinct",
                                expected: "true or false",
                            },
                        ),
                        (name, _) => self.error(
                            &at.key(name),
                            PipelineErrorKind::UnknownName {
                                what: "option of @groupBy",
                                name: name.to_owned(),
                                nearest: expr::nearest(name, ["distinct"]).map(str::to_owned),
                                known: vec!["distinct".to_owned()],
                            },
                        ),
                    }
                }
            }
            None => self.error(
                at,
                PipelineErrorKind::Form {
                    stage: "@groupBy",
                    expected: "options as a map, such as {distinct: true}",
                },
            ),
        }
        distinct
    }

    fn group_key(&mut self, spec: &Value, at: &Location, documents: DocumentKind) -> Expr {
        let key = self.compile(documents, |compiler| compiler.expr(spec, at, Items::None));
        let volatile = key.volatile();
        if volatile.now || volatile.random {
            self.error(
                at,
                PipelineErrorKind::Volatile {
                    what: "a group key",
                },
            );
        }
        key
    }
}

/// The mistake of a map with a stage that is null, and with what the stage was to take: it was not
/// indented.
fn not_indented(map: &Map) -> Option<PipelineErrorKind> {
    let is_stage = |key: &Key| STAGE_NAMES.contains(&key.as_str());
    let (stages, argument): (Vec<_>, Vec<_>) = map.iter().partition(|(key, _)| is_stage(key));
    match stages.as_slice() {
        [(stage, value)] if value.is_null() && !argument.is_empty() => {
            let names = argument.iter().map(|(key, _)| key.as_str().to_owned());
            Some(PipelineErrorKind::StageNotIndented {
                stage: stage.as_str().to_owned(),
                argument: names.collect(),
            })
        }
        _ => None,
    }
}

pub(super) fn stage_name(spec: &Value) -> Option<&str> {
    match spec.as_map()?.entries() {
        [(name, _)] => Some(name.as_str()),
        _ => None,
    }
}
