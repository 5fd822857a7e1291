//! Places the nodes of a graph in layers, from left to right.
//!
//! 1. The layer of a node is the longest way to it, so that all arrows go to the right. A kind that
//!    is only read moves as far to the right as its readers allow.
//! 2. An arrow over several layers gets a waypoint in each of them, so that it does not cross boxes.
//! 3. Each layer is sorted by the positions of the neighbours, in turns from both sides; the order
//!    with the fewest crossings wins.
//! 4. Each node moves towards the middle of its neighbours, as far as there is room.
//!
//! All of it is deterministic: the same graph gives the same picture.

/// The size of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The place of a node: its upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Corner {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Where everything is.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The nodes.
    pub(super) places: Vec<Corner>,
    /// For each edge, the points between its ends: where it enters and leaves each layer.
    pub(super) waypoints: Vec<Vec<Corner>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The room between two layers; more where many arrows share it.
const COLUMN_GAP: f64 = 56.0;
const GAP_PER_LINK: f64 = 2.0;
const MAX_COLUMN_GAP: f64 = 130.0;
const ROW_GAP: f64 = 18.0;
const MARGIN: f64 = 20.0;
/// How often the layers are sorted, and how often nodes are moved.
const ROUNDS: usize = 24;

/// Places nodes of these sizes. The edges have no cycles.
pub(super) fn layout(sizes: &[Size], edges: &[(usize, usize)]) -> Layout {
    let mut layering = Layering::new(sizes, edges);
    layering.sort();
    let tops = layering.tops();
    let mut columns = Vec::new();
    let mut x = MARGIN;
    let mut right = MARGIN;
    for (layer, gap) in layering.layers.iter().zip(layering.gaps()) {
        let widths = layer.iter().map(|node| layering.sizes[*node].width);
        let width = widths.fold(0.0, f64::max);
        columns.push((x, width));
        right = x + width;
        x = right + gap;
    }
    let mut places = vec![Corner::default(); layering.sizes.len()];
    for (layer, (x, width)) in layering.layers.iter().zip(&columns) {
        for node in layer {
            let size = layering.sizes[*node];
            let indent = (width - size.width) / 2.0;
            places[*node] = Corner {
                x: x + indent,
                y: tops[*node],
            };
        }
    }
    let bottom = |node: usize| places[node].y + layering.sizes[node].height;
    let height = (0..places.len()).map(bottom).fold(0.0, f64::max) + MARGIN;
    // A waypoint crosses its whole column, between the boxes.
    let crossing = |node: &usize| {
        let (x, width) = columns[layering.layer_of(*node)];
        let y = places[*node].y + layering.sizes[*node].height / 2.0;
        [Corner { x, y }, Corner { x: x + width, y }]
    };
    let waypoints = layering.chains.iter();
    let waypoints = waypoints.map(|chain| chain.iter().flat_map(crossing).collect());
    Layout {
        waypoints: waypoints.collect(),
        width: right + MARGIN,
        height,
        places: places[..sizes.len()].to_vec(),
    }
}

/// Nodes and waypoints in layers.
struct Layering {
    /// The sizes of the nodes, then of the waypoints.
    sizes: Vec<Size>,
    layers: Vec<Vec<usize>>,
    /// Edges between neighbouring layers.
    links: Vec<(usize, usize)>,
    /// For each edge, its waypoints.
    chains: Vec<Vec<usize>>,
}

impl Layering {
    fn new(sizes: &[Size], edges: &[(usize, usize)]) -> Self {
        let level = levels(sizes.len(), edges);
        let count = level.iter().max().map_or(0, |last| last + 1);
        let mut layering = Self {
            sizes: sizes.to_vec(),
            layers: vec![Vec::new(); count],
            links: Vec::new(),
            chains: Vec::new(),
        };
        for (node, level) in level.iter().enumerate() {
            layering.layers[*level].push(node);
        }
        for (from, to) in edges {
            let mut chain = Vec::new();
            let mut last = *from;
            for layer in &mut layering.layers[level[*from] + 1..level[*to]] {
                let waypoint = layering.sizes.len();
                layering.sizes.push(Size {
                    width: 0.0,
                    height: 4.0,
                });
                layer.push(waypoint);
                layering.links.push((last, waypoint));
                chain.push(waypoint);
                last = waypoint;
            }
            layering.links.push((last, *to));
            layering.chains.push(chain);
        }
        layering
    }

    /// The layer of a node or waypoint.
    fn layer_of(&self, node: usize) -> usize {
        let layer = self.layers.iter().position(|layer| layer.contains(&node));
        layer.unwrap_or_default()
    }

    /// The room behind each layer.
    fn gaps(&self) -> Vec<f64> {
        let mut links = vec![0_usize; self.layers.len()];
        for (from, _) in &self.links {
            links[self.layer_of(*from)] += 1;
        }
        let gap = |links: &usize| (COLUMN_GAP + GAP_PER_LINK * *links as f64).min(MAX_COLUMN_GAP);
        links.iter().map(gap).collect()
    }

    /// Sorts the layers so that few links cross.
    fn sort(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for round in 0..ROUNDS {
            let positions = self.positions();
            let neighbours = self.neighbours(round % 2 == 0);
            for layer in &mut self.layers {
                let centre = |node: &usize| {
                    let near = &neighbours[*node];
                    let sum: f64 = near.iter().map(|near| positions[*near]).sum();
                    if near.is_empty() {
                        positions[*node]
                    } else {
                        sum / near.len() as f64
                    }
                };
                layer.sort_by(|a, b| centre(a).total_cmp(&centre(b)));
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    /// The position of each node in its layer, from 0 to 1.
    fn positions(&self) -> Vec<f64> {
        let mut positions = vec![0.0; self.sizes.len()];
        for layer in &self.layers {
            for (position, node) in layer.iter().enumerate() {
                positions[*node] = (position as f64 + 0.5) / layer.len() as f64;
            }
        }
        positions
    }

    /// For each node, its neighbours on the left, or on the right.
    fn neighbours(&self, left: bool) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.sizes.len()];
        for (from, to) in &self.links {
            if left {
                neighbours[*to].push(*from);
            } else {
                neighbours[*from].push(*to);
            }
        }
        neighbours
    }

    /// How many links cross.
    fn crossings(&self) -> usize {
        let mut position = vec![(0, 0); self.sizes.len()];
        for (layer, nodes) in self.layers.iter().enumerate() {
            for (at, node) in nodes.iter().enumerate() {
                position[*node] = (layer, at);
            }
        }
        let mut layers: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.layers.len()];
        for (from, to) in &self.links {
            let (layer, start) = position[*from];
            layers[layer].push((start, position[*to].1));
        }
        let crosses = |links: &Vec<(usize, usize)>| -> usize {
            let pairs = links.iter().enumerate().map(|(number, a)| {
                let others = links[number + 1..].iter();
                others
                    .filter(|b| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1))
                    .count()
            });
            pairs.sum()
        };
        layers.iter().map(crosses).sum()
    }

    /// The upper edge of each node.
    fn tops(&self) -> Vec<f64> {
        let mut tops = vec![0.0; self.sizes.len()];
        for layer in &self.layers {
            let mut y = 0.0;
            for node in layer {
                tops[*node] = y;
                y += self.sizes[*node].height + ROW_GAP;
            }
        }
        for round in 0..ROUNDS {
            let sides = [
                self.neighbours(round % 2 == 0),
                self.neighbours(round % 2 != 0),
            ];
            // The last rounds look at both sides.
            let both = round + 4 >= ROUNDS;
            for layer in &self.layers {
                let wanted: Vec<f64> = layer
                    .iter()
                    .map(|node| {
                        let near = sides[0][*node]
                            .iter()
                            .chain(sides[1][*node].iter().filter(|_| both));
                        let centres: Vec<f64> = near
                            .map(|near| tops[*near] + self.sizes[*near].height / 2.0)
                            .collect();
                        if centres.is_empty() {
                            return tops[*node];
                        }
                        let centre = centres.iter().sum::<f64>() / centres.len() as f64;
                        centre - self.sizes[*node].height / 2.0
                    })
                    .collect();
                let heights: Vec<f64> = layer.iter().map(|node| self.sizes[*node].height).collect();
                for (node, top) in layer.iter().zip(spread(&wanted, &heights)) {
                    tops[*node] = top;
                }
            }
        }
        let first = tops.iter().copied().fold(f64::INFINITY, f64::min);
        tops.iter()
            .map(|top| (top - first + MARGIN).round())
            .collect()
    }
}

/// The places nearest to the wanted ones at which nothing overlaps, in the same order: the middle
/// between pushing everything down and pushing everything up.
fn spread(wanted: &[f64], heights: &[f64]) -> Vec<f64> {
    let mut down = wanted.to_vec();
    for i in 1..down.len() {
        down[i] = down[i].max(down[i - 1] + heights[i - 1] + ROW_GAP);
    }
    let mut up = wanted.to_vec();
    for i in (1..up.len()).rev() {
        up[i - 1] = up[i - 1].min(up[i] - heights[i - 1] - ROW_GAP);
    }
    down.iter()
        .zip(&up)
        .map(|(down, up)| f64::midpoint(*down, *up))
        .collect()
}

/// The layer of each node.
fn levels(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut level = vec![0; count];
    // Without cycles, the longest way has fewer edges than there are nodes.
    for _ in 0..count {
        let before = level.clone();
        for (from, to) in edges {
            level[*to] = level[*to].max(level[*from] + 1);
        }
        if level == before {
            break;
        }
    }
    for node in 0..count {
        let is_read_only = edges.iter().all(|(_, to)| *to != node);
        let readers = edges.iter().filter(|(from, _)| *from == node);
        if let Some(first) = readers
            .map(|(_, to)| level[*to])
            .min()
            .filter(|_| is_read_only)
        {
            level[node] = first - 1;
        }
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        width: 100.0,
        height: 40.0,
    };

    #[test]
    fn arrows_go_to_the_right_and_boxes_do_not_overlap() {
        // 0 → 2 → 3 → 4 → 5, 1 → 4, 0 → 5
        let edges = [(0, 2), (2, 3), (3, 4), (4, 5), (1, 4), (0, 5)];
        let layout = layout(&[SIZE; 6], &edges);
        for (from, to) in edges {
            assert!(
                layout.places[from].x + SIZE.width < layout.places[to].x,
                "{from} → {to}"
            );
        }
        for (i, a) in layout.places.iter().enumerate() {
            for b in &layout.places[..i] {
                let apart = (a.x - b.x).abs() >= SIZE.width || (a.y - b.y).abs() >= SIZE.height;
                assert!(apart, "{a:?} {b:?}");
            }
        }
        // The arrow over four layers passes three others; the only reader pulls node 1.
        assert_eq!(layout.waypoints[5].len(), 2 * 3);
        let apart = (layout.places[1].x - layout.places[3].x).abs();
        assert!(apart < 0.001, "{apart}");
    }

    #[test]
    fn nothing_is_drawn_small() {
        let layout = layout(&[], &[]);
        assert_eq!(layout.places, []);
        assert!(layout.width < 100.0);
    }

    #[test]
    fn crossings_are_avoided() {
        let layout = layout(&[SIZE; 4], &[(0, 3), (1, 2)]);
        let is_above = |a: usize, b: usize| layout.places[a].y < layout.places[b].y;
        assert_eq!(is_above(0, 1), is_above(3, 2));
    }
}
