//! The work of making shared links: values are walked once, and not again for each link.

use situ_region::region_struct;
use situ_region::{Region, ShareError, Shared, Vector, view};

region_struct! { struct Node: NodeRef, NodeMut { number: u32, to: Vector<Shared<Node>> } }
region_struct! { struct Graph: GraphRef, GraphMut { nodes: Vector<Shared<Node>> } }

const LAYERS: usize = if cfg!(miri) { 4 } else { 20 };
const WIDTH: usize = if cfg!(miri) { 3 } else { 800 };
const NODES: usize = LAYERS * WIDTH;

fn add(r: &mut Region<Graph>) {
    let number = r.root().nodes().len() as u32;
    r.root_mut().nodes().push_default().unwrap().fill().unwrap().number().set(number).unwrap();
}

fn link(r: &mut Region<Graph>, from: usize, to: usize) -> Result<(), ShareError> {
    r.root_mut().share(
        |graph| graph.nodes().get(to),
        |mut graph, value| {
            let mut nodes = graph.nodes();
            let mut node = nodes.get_mut(from).unwrap();
            let mut node = node.get_mut().unwrap();
            let made = node.to().push_default()?.link(value);
            if made.is_err() {
                let last = node.to().len() - 1;
                node.to().remove(last);
            }
            made
        },
    )
}

/// The four nodes of the layer before that of a node to which it leads.
fn before(node: usize) -> impl Iterator<Item = usize> {
    let (layer, column) = (node / WIDTH, node % WIDTH);
    (0..4).filter(move |_| layer != 0).map(move |i| (layer - 1) * WIDTH + (column * 7 + i * 3) % WIDTH)
}

fn edges(r: &Region<Graph>) -> usize {
    r.root().nodes().iter().map(|node| node.get().unwrap().to().len()).sum()
}

#[test]
fn a_graph_that_is_made_from_its_leaves_on_is_walked_once() {
    let mut r = Region::<Graph>::new();
    for node in 0..NODES {
        add(&mut r);
        before(node).for_each(|to| link(&mut r, node, to).unwrap());
    }
    assert_eq!(edges(&r), (NODES - WIDTH) * 4);
    assert!(r.walked() <= NODES as u64, "{}", r.walked());
    view::<Graph>(r.bytes()).unwrap();
}

#[test]
fn links_from_the_leaves_on_between_nodes_that_are_there_walk_each_once() {
    let mut r = Region::<Graph>::new();
    (0..NODES).for_each(|_| add(&mut r));
    for node in 0..NODES {
        before(node).for_each(|to| link(&mut r, node, to).unwrap());
    }
    assert!(r.walked() <= NODES as u64, "{}", r.walked());
    view::<Graph>(r.bytes()).unwrap();
}

#[test]
fn links_from_the_top_on_walk_one_value_each() {
    let mut r = Region::<Graph>::new();
    (0..NODES).for_each(|_| add(&mut r));
    for node in (0..NODES).rev() {
        before(node).for_each(|to| link(&mut r, node, to).unwrap());
    }
    assert!(r.walked() <= 2 * edges(&r) as u64, "{}", r.walked());
    view::<Graph>(r.bytes()).unwrap();
}

/// The same verdicts as those of a search through all links.
#[test]
fn cycles_are_found_whatever_the_order_of_links_is() {
    let count = 12;
    for round in 0..if cfg!(miri) { 2 } else { 300_u64 } {
        let (mut r, mut links) = (Region::<Graph>::new(), Vec::<(usize, usize)>::new());
        (0..count / 2).for_each(|_| add(&mut r));
        let mut random = round;
        for step in 0..60 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let there = r.root().nodes().len();
            let pick = |bits: u32| (random >> bits) as usize % there;
            match (random >> 60, step % 7) {
                (_, 6) if there < count => add(&mut r),
                (0 | 1, _) if !links.is_empty() => {
                    let (from, to) = links.remove(pick(20) % links.len());
                    let mut root = r.root_mut();
                    let mut nodes = root.nodes();
                    let mut node = nodes.get_mut(from).unwrap();
                    let mut node = node.get_mut().unwrap();
                    let index = node
                        .to()
                        .as_ref()
                        .iter()
                        .position(|link| link.get().is_some_and(|value| *value.number() as usize == to));
                    assert!(node.to().remove(index.unwrap()));
                }
                (2, _) => r.compact_in_place(),
                _ => {
                    let (from, to) = (pick(10), pick(30));
                    let mut found = vec![to];
                    let mut next = 0;
                    while next < found.len() {
                        let here = found[next];
                        for (_, leads) in links.iter().filter(|link| link.0 == here) {
                            if !found.contains(leads) {
                                found.push(*leads);
                            }
                        }
                        next += 1;
                    }
                    let made = link(&mut r, from, to);
                    assert_eq!(made.is_err(), found.contains(&from), "{round} {step}: {from} {to} {links:?}");
                    if made.is_ok() {
                        links.push((from, to));
                    }
                }
            }
        }
        view::<Graph>(r.bytes()).unwrap();
    }
}
