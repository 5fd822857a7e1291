//! The parts of a Markdown page that are checked.

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Fence {
    /// The language.
    pub(crate) language: String,
    /// The line at which it begins.
    pub(crate) line: usize,
    /// What is in it, without the indentation of the fence.
    pub(crate) text: String,
}

/// The fenced blocks of a page, and its other lines.
pub(crate) fn split(page: &str) -> (Vec<Fence>, Vec<&str>) {
    let (mut fences, mut prose) = (Vec::new(), Vec::new());
    let mut open: Option<(Fence, usize)> = None;
    for (number, line) in page.lines().enumerate() {
        let trimmed = line.trim_start();
        let indentation = line.len() - trimmed.len();
        let marks = trimmed.strip_prefix("```");
        open = match (open, marks) {
            (None, None) => {
                prose.push(line);
                None
            }
            (None, Some(language)) => {
                let fence = Fence {
                    language: language.trim().to_owned(),
                    line: number + 1,
                    text: String::new(),
                };
                Some((fence, indentation))
            }
            (Some((fence, _)), Some(_)) => {
                fences.push(fence);
                None
            }
            (Some((mut fence, indented)), None) => {
                fence.text.push_str(line.get(indented..).unwrap_or(trimmed));
                fence.text.push('\n');
                Some((fence, indented))
            }
        };
    }
    (fences, prose)
}

/// The targets of the links in lines of prose.
pub(crate) fn links<'a>(prose: &[&'a str]) -> Vec<&'a str> {
    let parts = prose.iter().flat_map(|line| line.split("](").skip(1));
    let targets = parts.filter_map(|part| part.split_once(')').map(|(target, _)| target));
    targets.collect()
}

/// The anchors of the headings, as GitHub and mdBook make them.
pub(crate) fn anchors(prose: &[&str]) -> Vec<String> {
    let headings = prose.iter().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#').trim()))
        .collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c))
        .collect::<String>();
    kept.replace(' ', "-")
}

/// The commands of a block of shell lines: without comments, split at pipes and the like.
pub(crate) fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        line.split_once(" #").map_or(line, |(line, _)| line)
    });
    lines
        .flat_map(|line| line.split(['|', ';']).flat_map(|part| part.split("&&")))
        .map(|command| command.trim().to_owned())
        .filter(|command| !command.is_empty())
        .collect()
}
