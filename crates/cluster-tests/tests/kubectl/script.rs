//! Scripts: lists of kubectl commands, in files that anybody can extend.

use std::path::Path;

use document::{Map, Value};

/// A file of commands, which run one after the other in a namespace of their own.
#[derive(Debug)]
pub(crate) struct Script {
    /// The name of the file without its extension, and of the namespace.
    pub(crate) name: String,
    pub(crate) commands: Vec<Command>,
}

/// A kubectl command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Command {
    /// The arguments, as a shell would split them.
    pub(crate) kubectl: String,
    /// What it reads from its input.
    pub(crate) input: String,
    /// The editor of `kubectl edit`.
    pub(crate) editor: String,
    /// Commands that run once it has printed its first line.
    pub(crate) meanwhile: Vec<String>,
    /// The listed difference that it shows.
    differs: Option<String>,
    /// The listed difference that it shows on deltic's own port alone.
    differs_on_own_port: Option<String>,
    /// The listed difference that it shows through the cluster's API alone.
    differs_through_cluster: Option<String>,
}

/// A way to reach views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// deltic's own port.
    OwnPort,
    /// The cluster's API.
    Cluster,
}

impl Script {
    /// All scripts of a directory, by name.
    pub(crate) fn all(directory: &Path) -> Vec<Self> {
        let files = std::fs::read_dir(directory).unwrap();
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read(path).unwrap();
        let documents = manifest::parse_bytes(&name, text);
        let documents = documents.unwrap_or_else(|diagnostic| panic!("{}", diagnostic.short()));
        let list = documents[0].value.get("commands").as_list();
        let list = list.unwrap_or_else(|| panic!("{name} has no commands"));
        Self {
            commands: list.iter().map(Command::read).collect(),
            name,
        }
    }
}

impl Command {
    /// A command with these arguments.
    pub(crate) fn of(kubectl: &str) -> Self {
        Self {
            kubectl: kubectl.to_owned(),
            ..Self::default()
        }
    }

    /// The listed difference that it shows this way.
    pub(crate) fn listed(&self, way: Way) -> Option<&str> {
        let here = match way {
            Way::OwnPort => &self.differs_on_own_port,
            Way::Cluster => &self.differs_through_cluster,
        };
        here.as_ref().or(self.differs.as_ref()).map(String::as_str)
    }

    fn read(entry: &Value) -> Self {
        if let Some(kubectl) = entry.as_str() {
            return Self::of(kubectl);
        }
        let mut command = Self::default();
        for (key, value) in entry.as_map().into_iter().flat_map(Map::iter) {
            let text = || value.as_str().unwrap_or_default().to_owned();
            match key.as_str() {
                "kubectl" => command.kubectl = text(),
                "input" => command.input = text(),
                "editor" => command.editor = text(),
                "differs" => command.differs = Some(text()),
                "differsOnOwnPort" => command.differs_on_own_port = Some(text()),
                "differsThroughCluster" => command.differs_through_cluster = Some(text()),
                "meanwhile" => {
                    let list = value.as_list().into_iter().flatten();
                    let list = list.filter_map(|item| item.as_str());
                    command.meanwhile = list.map(str::to_owned).collect();
                }
                other => panic!("unknown field {other} in {entry}"),
            }
        }
        assert!(!command.kubectl.is_empty(), "no command in {entry}");
        command
    }
}

/// The words of a command line. Quotes keep spaces, as in a shell.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut inside) = (None, false);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                if !inside {
                    words.push(String::new());
                    inside = true;
                }
            }
            (None, ' ' | '\n') => inside = false,
            (Some(_) | None, _) => {
                if !inside {
                    words.push(String::new());
                    inside = true;
                }
                words.last_mut().unwrap().push(character);
            }
        }
    }
    assert!(quote.is_none(), "an open quote in {line}");
    words
}

#[test]
fn quotes_keep_spaces() {
    let found = words(r#"get health -o 'jsonpath={.a} "b"' -l "x in (a, b)" ''"#);
    let expect = [
        "get",
        "health",
        "-o",
        r#"jsonpath={.a} "b""#,
        "-l",
        "x in (a, b)",
        "",
    ];
    assert_eq!(found, expect);
}
