//! Random graphs of nodes, as in the paper's last experiment: the same on every machine.
//!
//! A node waits for one message from each of its predecessors, then publishes one message of its own, which
//! all of its successors take. Half of the nodes (rounded down or up) work on the device.

use super::random::Random;

/// The number of graphs.
pub const GRAPHS: usize = 98;
/// Smallest and largest message in bytes.
pub const SIZES: (usize, usize) = (4 << 10, 64 << 20);
const NODES: (usize, usize) = (2, 14);
const EDGES: (usize, usize) = (1, 17);
const LEVELS: (usize, usize) = (2, 5);
const SEED: u64 = 0x5175;

/// Where the nodes of a graph work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Half of them on the device, as the graph was drawn.
    Mixed,
    /// All of them on the host.
    Host,
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Whether it works on the device.
    pub device: bool,
    /// The size of the message that it publishes, in bytes; a multiple of 64.
    pub size: usize,
    /// The nodes whose messages it waits for, in ascending order.
    pub inputs: Vec<usize>,
    /// The nodes that take its messages, in ascending order.
    pub outputs: Vec<usize>,
}

/// A graph without cycles: edges lead from lower numbers to higher ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Its nodes.
    pub nodes: Vec<Vertex>,
}

impl Graph {
    /// The graph with this number, below [`GRAPHS`].
    pub fn numbered(number: usize) -> Self {
        let mut random = Random::new(SEED + ((number as u64) << 32));
        loop {
            if let Some(graph) = Self::attempt(&mut random) {
                return graph;
            }
        }
    }

    /// The graph with this number, with its nodes placed so.
    pub fn placed(number: usize, placement: Placement) -> Self {
        let mut graph = Self::numbered(number);
        if placement == Placement::Host {
            for node in &mut graph.nodes {
                node.device = false;
            }
        }
        graph
    }

    /// The number of edges.
    pub fn edges(&self) -> usize {
        self.nodes.iter().map(|node| node.inputs.len()).sum()
    }

    /// The number of nodes without successors.
    pub fn sinks(&self) -> usize {
        self.nodes.iter().filter(|node| node.outputs.is_empty()).count()
    }

    /// The number of nodes on the longest path.
    #[cfg(test)]
    pub fn critical_path(&self) -> usize {
        let mut depths: Vec<usize> = Vec::new();
        for node in &self.nodes {
            let before = node.inputs.iter().map(|&input| depths[input]).max().unwrap_or(0);
            depths.push(before + 1);
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// The minimum of copies in a round: one for each message and each further domain with a subscriber.
    pub fn copies_needed(&self) -> usize {
        let crosses = |node: &&Vertex| node.outputs.iter().any(|&to| self.nodes[to].device != node.device);
        self.nodes.iter().filter(crosses).count()
    }

    /// The copies of a round over host memory, where each node on the device copies every input in, and its
    /// output out.
    pub fn copies_explicit(&self) -> usize {
        let device = self.nodes.iter().filter(|node| node.device);
        device.map(|node| node.inputs.len() + usize::from(!node.outputs.is_empty())).sum()
    }

    /// Whether all nodes are connected, with edges followed either way.
    fn connected(&self) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        let mut next = vec![0];
        while let Some(node) = next.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                next.extend(&self.nodes[node].inputs);
                next.extend(&self.nodes[node].outputs);
            }
        }
        reached.into_iter().all(|reached| reached)
    }

    /// A graph, unless this attempt is not connected or has too many edges.
    fn attempt(random: &mut Random) -> Option<Self> {
        let count = random.between(NODES.0, NODES.1);
        let levels = random.between(LEVELS.0, LEVELS.1.min(count));
        // Every level has a node; the others lie on any level. After sorting, edges lead from lower numbers
        // to higher ones.
        let mut level: Vec<usize> =
            (0..count).map(|node| if node < levels { node } else { random.below(levels) }).collect();
        level.sort_unstable();
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for node in 0..count {
            // A predecessor on the level before makes the longest path as long as there are levels.
            let before: Vec<usize> = (0..count).filter(|&other| level[other] + 1 == level[node]).collect();
            if !before.is_empty() {
                edges.push((before[random.below(before.len())], node));
            }
        }
        let wanted = random.between(EDGES.0, EDGES.1).max(edges.len());
        let mut others: Vec<(usize, usize)> = (0..count)
            .flat_map(|from| (0..count).map(move |to| (from, to)))
            .filter(|edge| level[edge.0] < level[edge.1] && !edges.contains(edge))
            .collect();
        while edges.len() < wanted && !others.is_empty() {
            edges.push(others.swap_remove(random.below(others.len())));
        }
        edges.sort_unstable();
        let mut device = vec![false; count];
        let half = if random.below(2) == 0 { count / 2 } else { count.div_ceil(2) };
        let mut chosen = 0;
        while chosen < half {
            let node = random.below(count);
            chosen += usize::from(!std::mem::replace(&mut device[node], true));
        }
        let ratio = (SIZES.1 as f64 / SIZES.0 as f64).ln();
        let nodes = device
            .into_iter()
            .enumerate()
            .map(|(node, device)| Vertex {
                device,
                size: (SIZES.0 as f64 * (ratio * random.unit()).exp()) as usize / 64 * 64,
                inputs: edges.iter().filter(|edge| edge.1 == node).map(|edge| edge.0).collect(),
                outputs: edges.iter().filter(|edge| edge.0 == node).map(|edge| edge.1).collect(),
            })
            .collect();
        let graph = Self { nodes };
        (graph.edges() <= EDGES.1 && graph.connected()).then_some(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::{EDGES, GRAPHS, Graph, LEVELS, NODES, Placement, SIZES, Vertex};

    fn all() -> Vec<Graph> {
        (0..GRAPHS).map(Graph::numbered).collect()
    }

    #[test]
    fn every_graph_is_within_the_papers_limits() {
        for (number, graph) in all().iter().enumerate() {
            let count = graph.nodes.len();
            assert!((NODES.0..=NODES.1).contains(&count), "graph {number}: {count} nodes");
            assert!((EDGES.0..=EDGES.1).contains(&graph.edges()), "graph {number}: {} edges", graph.edges());
            let path = graph.critical_path();
            assert!((LEVELS.0..=LEVELS.1).contains(&path), "graph {number}: critical path {path}");
            assert!(graph.connected(), "graph {number} is not connected");
            let device = graph.nodes.iter().filter(|node| node.device).count();
            assert!(
                device == count / 2 || device == count.div_ceil(2),
                "graph {number}: {device} of {count}"
            );
            for (at, node) in graph.nodes.iter().enumerate() {
                assert!((SIZES.0..=SIZES.1).contains(&node.size) && node.size.is_multiple_of(64));
                assert!(node.inputs.iter().all(|&from| from < at && graph.nodes[from].outputs.contains(&at)));
                assert!(node.outputs.iter().all(|&to| to > at && graph.nodes[to].inputs.contains(&at)));
            }
            assert!(graph.copies_needed() <= graph.copies_explicit(), "graph {number}");
        }
    }

    #[test]
    fn together_they_fill_the_limits() {
        let graphs = all();
        let range = |of: &dyn Fn(&Graph) -> usize| {
            (graphs.iter().map(of).min().expect("some"), graphs.iter().map(of).max().expect("some"))
        };
        assert_eq!(range(&|graph| graph.nodes.len()), NODES);
        assert_eq!(range(&Graph::edges), EDGES);
        assert_eq!(range(&Graph::critical_path), LEVELS);
        // Log-uniform: half of the sizes lie below the geometric mean, 512 KiB, and a quarter are 8 MiB or
        // more.
        let sizes: Vec<usize> = graphs.iter().flat_map(|graph| &graph.nodes).map(|node| node.size).collect();
        let share = |count: usize| count as f64 / sizes.len() as f64;
        assert!((share(sizes.iter().filter(|&&size| size < 512 << 10).count()) - 0.5).abs() < 0.05);
        assert!((share(sizes.iter().filter(|&&size| size >= 6 << 20).count()) - 0.25).abs() < 0.05);
    }

    #[test]
    fn numbers_mean_the_same_for_ever() {
        assert_eq!(Graph::numbered(0), Graph::numbered(0));
        assert_ne!(Graph::numbered(0), Graph::numbered(1));
    }

    #[test]
    fn all_nodes_on_the_host_need_no_copies() {
        for number in 0..GRAPHS {
            let (mixed, host) =
                (Graph::placed(number, Placement::Mixed), Graph::placed(number, Placement::Host));
            assert_eq!(mixed, Graph::numbered(number));
            assert_eq!((host.copies_needed(), host.copies_explicit()), (0, 0), "graph {number}");
            // Nothing else differs.
            for (a, b) in mixed.nodes.iter().zip(&host.nodes) {
                assert_eq!((a.size, &a.inputs, &a.outputs), (b.size, &b.inputs, &b.outputs));
            }
            assert_eq!(mixed.nodes.len(), host.nodes.len());
        }
    }

    #[test]
    fn copies() {
        let vertex = |device, inputs: &[usize], outputs: &[usize]| Vertex {
            device,
            size: 4096,
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
        };
        // Host to two device nodes, and from one of them to the other.
        let graph = Graph {
            nodes: vec![vertex(false, &[], &[1, 2]), vertex(true, &[0], &[2]), vertex(true, &[0, 1], &[])],
        };
        assert_eq!(graph.copies_needed(), 1);
        // In, out; in, in.
        assert_eq!(graph.copies_explicit(), 4);
        assert_eq!((graph.edges(), graph.sinks(), graph.critical_path()), (3, 1, 3));
    }
}
