//! Why an object is derived, and where a source object ends.
//!
//! ```text
//! snapshots ─▶ Recorded ─▶ Story ─▶ Explanation ─▶ text, Mermaid, JSON
//!    of the circuits  evaluated again    │
//!                                        └─▶ shown: the objects that a reader must be allowed to read
//! ```
//!
//! Nothing is recorded while an Operator runs. To explain it, the objects that its circuits hold are
//! evaluated again ([`Recorded`]). `deltic why` does so with objects of files, and a running deltic with
//! its own. Values of Secrets, and what is computed from them, are masked in both.

// Enums are matched without `_`, so that the compiler lists all matches that a new variant affects.
#![warn(clippy::wildcard_enum_match_arm)]

mod cel;
mod ends;
mod excluded;
mod json;
mod mermaid;
mod missing;
mod reason;
mod recorded;
mod rivals;
mod secret;
mod story;
mod telling;
mod wanted;
mod way_back;

pub use ends::{BranchEnd, End, Lost, StageEnd};
pub use json::{KIND, SUBRESOURCE};
pub use reason::{StagePlace, no_partner, reason};
pub use recorded::{RecordError, Recorded};
pub use secret::{SecretTexts, masked};
pub use story::{Story, StoryObject, TargetObject, shown};
pub use telling::{Content, Detail, Explanation, Told, TooLarge, concerned, kinds_of};
pub use wanted::{NoObject, Wanted};
pub use way_back::Node;

impl Explanation {
    /// The answer as text.
    pub fn text(&self) -> String {
        match &self.content {
            Content::WayBack(trees) => trees.iter().map(Node::text).collect(),
            Content::Ends(ends) => ends.iter().map(End::text).collect(),
        }
    }

    /// Draws the ways back of several answers as one Mermaid diagram, from the sources at the top to the
    /// derived objects. `None` if there is none: ends are not drawn.
    pub fn mermaid<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Option<String> {
        let trees = all.flat_map(|one| match &one.content {
            Content::WayBack(trees) => trees.as_slice(),
            Content::Ends(_) => &[],
        });
        let any = trees.clone().next().is_some();
        any.then(|| mermaid::diagram(trees))
    }
}
