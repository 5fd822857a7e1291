//! The graph as a picture.

use std::fmt::Write;

use super::counts::NodeState;
use super::layout::{Corner, Layout, Size, layout};
use super::model::{Graph, GraphEdge, GraphNode, NodeKind};
use crate::cli::graph::Theme;
use crate::xml::escaped;

/// The width of a character of 12 px, and of the larger ones of a title.
const CHARACTER: f64 = 7.25;
const TITLE_CHARACTER: f64 = 7.9;
const LINE: f64 = 17.0;
const PADDING: f64 = 12.0;
/// Longer texts are cut; the whole text is in the tooltip.
const MAX_CHARACTERS: usize = 44;

/// The rules that do not depend on the theme.
const STYLE: &str = "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}.title{font-size:13px;font-weight:bold}.soft,.label{font-size:11px}.view{stroke-dasharray:5 3}.edge{fill:none;stroke-width:1.4}.label{stroke-width:4px;paint-order:stroke}";

/// The colours of a theme.
struct Palette {
    page: &'static str,
    text: &'static str,
    soft: &'static str,
    edge: &'static str,
    /// The fill and the border of kinds on the cluster, and of views.
    cluster: (&'static str, &'static str),
    view: (&'static str, &'static str),
    controller: &'static str,
    head: &'static str,
    /// Numbers of a running deltic, and what is wrong.
    now: &'static str,
    failing: &'static str,
}

const LIGHT: Palette = Palette {
    page: "#ffffff",
    text: "#1c2430",
    soft: "#5b6675",
    edge: "#8b97a8",
    cluster: ("#eef1f5", "#b9c2ce"),
    view: ("#fdf6e3", "#d9a514"),
    controller: "#ffffff",
    head: "#2f6fde",
    now: "#1d5fcf",
    failing: "#c62828",
};

const DARK: Palette = Palette {
    page: "#14181f",
    text: "#e4e8ee",
    soft: "#9aa5b4",
    edge: "#6f7b8c",
    cluster: ("#222933", "#3d4857"),
    view: ("#2b2614", "#b98b13"),
    controller: "#1b212b",
    head: "#2a5fc0",
    now: "#86b4ff",
    failing: "#ff8a80",
};

impl Palette {
    /// The rules of the theme. Not with variables, which not all viewers know.
    fn rules(&self, live: bool) -> String {
        let Self {
            page,
            text,
            soft,
            edge,
            cluster,
            view,
            controller,
            head,
            now,
            failing,
        } = self;
        let live = if live {
            format!(
                ".now{{fill:{now};font-weight:bold}}.failing{{fill:{failing};font-weight:bold}}\
                 .alarm{{stroke:{failing};stroke-width:2}}"
            )
        } else {
            String::new()
        };
        format!(
            "text{{fill:{text}}}.head{{fill:#ffffff}}.soft{{fill:{soft}}}.page{{fill:{page}}}\
             .cluster{{fill:{};stroke:{}}}.view{{fill:{};stroke:{}}}\
             .controller{{fill:{controller};stroke:{head}}}.bar{{fill:{head}}}\
             .edge{{stroke:{edge}}}.arrow{{fill:{edge}}}.label{{fill:{soft};stroke:{page}}}{live}",
            cluster.0, cluster.1, view.0, view.1
        )
    }
}

pub(super) fn print(graph: &Graph, theme: Theme) -> String {
    let sizes: Vec<Size> = graph.nodes.iter().map(size).collect();
    let edges: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to))
        .collect();
    let layout = layout(&sizes, &edges);
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let live = graph.is_live();
    let colors = match theme {
        Theme::Light => LIGHT.rules(live),
        Theme::Dark => DARK.rules(live),
        Theme::Auto => format!(
            "{}@media(prefers-color-scheme:dark){{{}}}",
            LIGHT.rules(live),
            DARK.rules(live)
        ),
    };
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"controllers and the kinds that they read and write\">"
    );
    let _ = writeln!(svg, "<style>{STYLE}{colors}</style>");
    svg.push_str("<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"arrow\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n");
    let _ = writeln!(
        svg,
        "<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>"
    );
    for (number, edge) in graph.edges.iter().enumerate() {
        draw_edge(edge, &layout.waypoints[number], &layout, &sizes, &mut svg);
    }
    for ((node, place), size) in graph.nodes.iter().zip(&layout.places).zip(&sizes) {
        draw_node(node, *place, *size, &mut svg);
    }
    for (number, edge) in graph.edges.iter().enumerate() {
        draw_label(edge, &layout.waypoints[number], &layout, &sizes, &mut svg);
    }
    svg.push_str("</svg>\n");
    svg
}

fn size(node: &GraphNode) -> Size {
    let characters = |text: &str| shown(text).chars().count() as f64;
    let title = characters(&node.title) * TITLE_CHARACTER;
    let others = node.lines.iter().chain([&node.subtitle, &node.now.text]);
    let others = others
        .map(|line| characters(line) * CHARACTER)
        .fold(0.0, f64::max);
    let optional = [&node.subtitle, &node.now.text];
    let optional = optional.iter().filter(|text| !text.is_empty()).count();
    let rows = 1 + optional + node.lines.len();
    let between = if node.kind == NodeKind::Controller {
        10.0
    } else {
        0.0
    };
    Size {
        width: (title.max(others) + 2.0 * PADDING).max(64.0).round(),
        height: rows as f64 * LINE + 12.0 + between,
    }
}

fn draw_node(node: &GraphNode, place: Corner, size: Size, svg: &mut String) {
    let Corner { x, y } = place;
    let Size { width, height } = size;
    let (class, radius) = match node.kind {
        NodeKind::Cluster => ("cluster", 4),
        NodeKind::View => ("view", 14),
        NodeKind::Controller if node.now.failing => ("controller alarm", 6),
        NodeKind::Controller => ("controller", 6),
    };
    let _ = writeln!(svg, "<g><title>{}</title>", escaped(&tooltip(node)));
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
    );
    let is_controller = node.kind == NodeKind::Controller;
    let mut baseline = y + 6.0 + 13.0;
    if is_controller {
        let rows = 1 + usize::from(!node.subtitle.is_empty());
        let bar = rows as f64 * LINE + 8.0;
        // The corners at the top are round, those at the bottom are not.
        let _ = writeln!(
            svg,
            "<path class=\"bar\" d=\"M{x} {}v-{}a6 6 0 0 1 6 -6h{}a6 6 0 0 1 6 6v{}z\"/>",
            y + bar,
            bar - 6.0,
            width - 12.0,
            bar - 6.0
        );
    }
    let mut line = |text: &str, class: &str, gap: f64| {
        let text = escaped(&shown(text));
        let _ = writeln!(
            svg,
            "<text class=\"{class}\" x=\"{}\" y=\"{baseline}\">{text}</text>",
            x + PADDING
        );
        baseline += LINE + gap;
    };
    let head = if is_controller { "head" } else { "" };
    let gap = if is_controller { 8.0 } else { 0.0 };
    let has_subtitle = !node.subtitle.is_empty();
    line(
        &node.title,
        &format!("title {head}"),
        if has_subtitle { 0.0 } else { gap },
    );
    if has_subtitle {
        line(
            &node.subtitle,
            if is_controller { "head" } else { "soft" },
            gap,
        );
    }
    for stage in &node.lines {
        line(stage, "", 0.0);
    }
    let NodeState { text, failing } = &node.now;
    if !text.is_empty() {
        line(text, if *failing { "failing" } else { "now" }, 0.0);
    }
    svg.push_str("</g>\n");
}

/// The ends of an arrow: the right side of a node, and the left side of another.
fn ends(edge: &GraphEdge, layout: &Layout, sizes: &[Size]) -> (Corner, Corner) {
    let (from, to) = (layout.places[edge.from], layout.places[edge.to]);
    let middle = |node: usize, place: Corner| place.y + sizes[node].height / 2.0;
    let start = Corner {
        x: from.x + sizes[edge.from].width,
        y: middle(edge.from, from),
    };
    (
        start,
        Corner {
            x: to.x,
            y: middle(edge.to, to),
        },
    )
}

fn draw_edge(
    edge: &GraphEdge,
    waypoints: &[Corner],
    layout: &Layout,
    sizes: &[Size],
    svg: &mut String,
) {
    let (start, end) = ends(edge, layout, sizes);
    let mut path = format!("M{} {}", start.x, start.y);
    let mut last = start;
    for point in waypoints.iter().copied().chain([end]) {
        let bend = (point.x - last.x) / 2.0;
        let _ = write!(
            path,
            "C{} {} {} {} {} {}",
            last.x + bend,
            last.y,
            point.x - bend,
            point.y,
            point.x,
            point.y
        );
        last = point;
    }
    let _ = writeln!(
        svg,
        "<path class=\"edge\" marker-end=\"url(#arrow)\" d=\"{path}\"/>"
    );
}

/// The label, in the middle of the last part of an arrow.
fn draw_label(
    edge: &GraphEdge,
    waypoints: &[Corner],
    layout: &Layout,
    sizes: &[Size],
    svg: &mut String,
) {
    if edge.label.is_empty() {
        return;
    }
    let (start, end) = ends(edge, layout, sizes);
    let last = waypoints.last().copied().unwrap_or(start);
    let (x, y) = (
        f64::midpoint(last.x, end.x),
        f64::midpoint(last.y, end.y) + 4.0,
    );
    let text = escaped(&edge.label);
    let _ = writeln!(
        svg,
        "<text class=\"label\" text-anchor=\"middle\" x=\"{x}\" y=\"{y}\">{text}</text>"
    );
}

fn tooltip(node: &GraphNode) -> String {
    let parts = [&node.title, &node.subtitle].into_iter().chain(&node.lines);
    let parts = parts.chain([&node.now.text]);
    let parts: Vec<&str> = parts
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n")
}

/// A text that fits.
fn shown(text: &str) -> String {
    if text.chars().count() <= MAX_CHARACTERS {
        return text.to_owned();
    }
    let cut: String = text.chars().take(MAX_CHARACTERS - 1).collect();
    format!("{cut}…")
}
