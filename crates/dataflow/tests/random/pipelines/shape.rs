//! The shape of documents, as far as the generator knows it. It makes most generated paths match.

/// The known shape of the documents between two stages.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Paths with the depth of nested lists, if the data has the right types.
    pub paths: Vec<(String, usize)>,
    /// Paths of names.
    pub names: Vec<String>,
    /// Paths of whole objects.
    pub objects: Vec<String>,
    /// Whether the document has metadata.
    pub named: bool,
}

impl Shape {
    /// An object at this path.
    pub(super) fn object(at: &str) -> Self {
        let fields = [
            ("k", 0),
            ("n", 0),
            ("n", 0),
            ("g", 0),
            ("b", 0),
            ("l", 1),
            ("ll", 2),
            ("refs", 1),
        ];
        Self {
            paths: fields
                .iter()
                .map(|(field, depth)| (format!("{at}.spec.{field}"), *depth))
                .collect(),
            names: vec![format!("{at}.metadata.name")],
            objects: vec![if at == "$" {
                "$.".to_owned()
            } else {
                at.to_owned()
            }],
            named: at == "$",
        }
    }

    /// The documents of a join.
    pub(super) fn compound(inputs: &[String]) -> Self {
        let parts: Vec<Self> = inputs
            .iter()
            .map(|input| Self::object(&format!("$.{input}")))
            .collect();
        Self {
            paths: parts.iter().flat_map(|part| part.paths.clone()).collect(),
            names: parts.iter().flat_map(|part| part.names.clone()).collect(),
            objects: parts.iter().flat_map(|part| part.objects.clone()).collect(),
            named: false,
        }
    }

    /// The documents of a `@groupBy` of documents of this shape.
    pub(super) fn group(&self) -> Self {
        let first = |path: &str| path.replacen('$', "$.documents[0]", 1);
        let mut paths = vec![
            ("$.key".to_owned(), 0),
            ("$.values".to_owned(), 1),
            ("$.documents".to_owned(), 1),
        ];
        paths.extend(self.paths.iter().map(|(path, depth)| (first(path), *depth)));
        Self {
            paths,
            names: self.names.iter().map(|path| first(path)).collect(),
            objects: self
                .objects
                .iter()
                .map(|path| first(path.trim_end_matches('.')))
                .collect(),
            named: false,
        }
    }

    /// The shape with only these fields of `spec`.
    pub(super) fn keep(&mut self, fields: &[&str]) {
        self.paths.retain(|(path, _)| {
            fields
                .iter()
                .any(|field| path.ends_with(&format!(".spec.{field}")))
        });
    }

    /// The shape after lists at a path were unwound (-1) or built (+1).
    pub(super) fn nest(&mut self, path: &str, by: isize) {
        for (known, depth) in &mut self.paths {
            if known == path {
                *depth = depth.saturating_add_signed(by);
            }
        }
    }
}
