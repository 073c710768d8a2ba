//! Sums up the slices of a trace by their stacks: how long each stack of slices was the innermost one. A
//! flame graph shows these sums.

use std::collections::HashMap;

use super::strings::TextId;
use super::trace::{ReadTrace, SliceEnd, Track, TrackKind};

/// Slices deeper than this count for the slice at this depth.
const MAX_DEPTH: usize = 64;
/// The maximum number of stacks. Those with the smallest times are left out.
const MAX_STACKS: usize = 20_000;
/// The maximum number of characters of a frame's name.
const MAX_NAME: usize = 120;

/// The time of a stack of slices, without the slices within its last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedStack {
    /// The process and the thread or track, unless they are merged, then the names of the slices, the
    /// outermost first. Names hold neither semicolons nor control characters, so that semicolons can join
    /// them.
    pub frames: Vec<String>,
    /// The time during which the last slice was the innermost one, in nanoseconds.
    pub self_ns: u64,
}

/// The stacks of slices of a part of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldedStacks {
    /// The stacks whose time is not 0, in the order of their frames.
    pub stacks: Vec<FoldedStack>,
    /// The number of stacks with small times that were left out.
    pub left_out: usize,
}

/// A stack: a frame below another one.
struct Node {
    parent: Option<usize>,
    frame: Frame,
    /// Its own time; for a moment also the negative time of slices within it.
    self_ns: i128,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Frame {
    Process(Option<usize>),
    Track(usize),
    Slice(TextId),
}

#[derive(Default)]
struct Stacks {
    nodes: Vec<Node>,
    children: HashMap<(Option<usize>, Frame), usize>,
}

impl Stacks {
    fn child(&mut self, parent: Option<usize>, frame: Frame) -> usize {
        let nodes = &mut self.nodes;
        *self.children.entry((parent, frame)).or_insert_with(|| {
            nodes.push(Node { parent, frame, self_ns: 0 });
            nodes.len() - 1
        })
    }
}

impl ReadTrace {
    /// Sums up the slices between two times, in nanoseconds. Slices that begin before or end after count with
    /// their part in between. With `merge`, equal stacks of all processes and threads are one.
    pub fn fold(&self, from_ns: u64, to_ns: u64, merge: bool) -> FoldedStacks {
        let mut stacks = Stacks::default();
        // For each track, the nodes of its open slices.
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); self.tracks.len()];
        for slice in &self.slices {
            let open = &mut open[slice.track];
            open.truncate(slice.depth as usize);
            if open.len() < slice.depth as usize || open.len() >= MAX_DEPTH {
                continue;
            }
            let end_ns = if let SliceEnd::At(end_ns) = slice.end { end_ns } else { to_ns };
            let time = i128::from(end_ns.min(to_ns)) - i128::from(slice.begin_ns.max(from_ns));
            let base = (!merge).then(|| {
                let process = stacks.child(None, Frame::Process(self.tracks[slice.track].process));
                stacks.child(Some(process), Frame::Track(slice.track))
            });
            let around = open.last().copied();
            let node = stacks.child(around.or(base), Frame::Slice(slice.name));
            open.push(node);
            if time > 0 {
                stacks.nodes[node].self_ns += time;
                if let Some(around) = around {
                    stacks.nodes[around].self_ns -= time;
                }
            }
        }
        self.name_stacks(&stacks)
    }

    fn name_stacks(&self, stacks: &Stacks) -> FoldedStacks {
        let mut largest: Vec<(u64, usize)> = stacks
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(index, node)| Some((u64::try_from(node.self_ns).ok()?, index)))
            .filter(|(self_ns, _)| *self_ns > 0)
            .collect();
        largest.sort_unstable_by_key(|(self_ns, index)| (std::cmp::Reverse(*self_ns), *index));
        let left_out = largest.len().saturating_sub(MAX_STACKS);
        largest.truncate(MAX_STACKS);
        let mut folded: Vec<FoldedStack> = largest
            .into_iter()
            .map(|(self_ns, index)| {
                let above = |index: &usize| stacks.nodes[*index].parent;
                let way = std::iter::successors(Some(index), above);
                let mut frames: Vec<String> = way.map(|at| self.frame(stacks.nodes[at].frame)).collect();
                frames.reverse();
                FoldedStack { frames, self_ns }
            })
            .collect();
        folded.sort_unstable_by(|one, other| one.frames.cmp(&other.frames));
        FoldedStacks { stacks: folded, left_out }
    }

    fn frame(&self, frame: Frame) -> String {
        match frame {
            Frame::Slice(name) => clean(self.text(name)),
            Frame::Track(index) => self.track_frame(&self.tracks[index]),
            Frame::Process(index) => match index.and_then(|index| self.processes.get(index)) {
                Some(process) => format!("{} ({})", clean(self.text(process.name)), process.pid),
                None => "no process".to_owned(),
            },
        }
    }

    fn track_frame(&self, track: &Track) -> String {
        match (track.kind, self.text(track.name)) {
            (TrackKind::Thread(tid), "") => format!("thread {tid}"),
            (TrackKind::Thread(tid), name) => format!("{}, thread {tid}", clean(name)),
            (_, name) => clean(name),
        }
    }
}

/// Returns a name that may stand between semicolons, on a line.
fn clean(name: &str) -> String {
    if name.is_empty() {
        return "(no name)".to_owned();
    }
    let replace = |letter: char| match letter {
        ';' => ',',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    name.chars().take(MAX_NAME).map(replace).collect()
}

#[cfg(test)]
mod tests {
    use super::super::trace::{ProcessTrack, TimedSlice};
    use super::*;

    /// Two threads of a process. The first: outer from 100 to 200 with inner from 110 to 140 and from 150 to
    /// 160, then outer from 300 on, which does not end. The second: inner from 100 to 130.
    fn trace() -> ReadTrace {
        let mut trace = ReadTrace::default();
        let [outer, inner, name] = ["ou;ter", "inner", "robot"].map(|text| trace.texts.id(text));
        trace.processes.push(ProcessTrack { uuid: 1, pid: 7, name });
        for (uuid, tid) in [(2, 8), (3, 9)] {
            let kind = TrackKind::Thread(tid);
            trace.tracks.push(Track { uuid, process: Some(0), name: TextId::default(), kind });
        }
        let slice = |track, depth, begin_ns, end, name| TimedSlice {
            track,
            depth,
            begin_ns,
            end,
            category: TextId::default(),
            name,
            arguments: Vec::new(),
            flows: Vec::new(),
        };
        trace.slices = vec![
            slice(0, 0, 100, SliceEnd::At(200), outer),
            slice(1, 0, 100, SliceEnd::At(130), inner),
            slice(0, 1, 110, SliceEnd::At(140), inner),
            slice(0, 1, 150, SliceEnd::At(160), inner),
            slice(0, 0, 300, SliceEnd::Open, outer),
        ];
        trace
    }

    fn lines(folded: &FoldedStacks) -> Vec<(String, u64)> {
        folded.stacks.iter().map(|stack| (stack.frames.join(";"), stack.self_ns)).collect()
    }

    #[test]
    fn a_stack_has_the_time_of_its_last_slice_without_those_within() {
        let whole = trace().fold(0, 350, false);
        // Outer: 100 and 50 ns, of which 30 and 10 are inner's.
        let expected = [
            ("robot (7);thread 8;ou,ter", 110),
            ("robot (7);thread 8;ou,ter;inner", 40),
            ("robot (7);thread 9;inner", 30),
        ];
        assert_eq!(lines(&whole), expected.map(|(frames, time)| (frames.to_owned(), time)));
        let merged = trace().fold(0, 350, true);
        let expected = [("inner", 30), ("ou,ter", 110), ("ou,ter;inner", 40)];
        assert_eq!(lines(&merged), expected.map(|(frames, time)| (frames.to_owned(), time)));
        assert_eq!(merged.left_out, 0);
    }

    #[test]
    fn slices_count_with_their_part_of_the_window() {
        let part = trace().fold(120, 155, true);
        let expected = [("inner", 10), ("ou,ter", 10), ("ou,ter;inner", 25)];
        assert_eq!(lines(&part), expected.map(|(frames, time)| (frames.to_owned(), time)));
        assert_eq!(trace().fold(210, 290, true), FoldedStacks::default());
        assert_eq!(trace().fold(400, 300, true), FoldedStacks::default());
    }

    #[test]
    fn the_time_of_slices_that_are_too_deep_is_that_of_the_last_one_shown() {
        let mut trace = trace();
        let name = trace.texts.id("again");
        let slice = trace.slices[0].clone();
        trace.slices = (0..200)
            .map(|depth| {
                let end = SliceEnd::At(1000 - u64::from(depth));
                TimedSlice { depth, begin_ns: u64::from(depth), end, name, ..slice.clone() }
            })
            .collect();
        let folded = trace.fold(0, 2000, true);
        assert_eq!(folded.stacks.len(), MAX_DEPTH);
        let deepest = folded.stacks.last().unwrap();
        assert_eq!((deepest.frames.len(), deepest.self_ns), (MAX_DEPTH, 1000 - 2 * 63));
        assert_eq!(folded.stacks.iter().map(|stack| stack.self_ns).sum::<u64>(), 1000);
    }

    #[test]
    fn the_smallest_of_too_many_stacks_are_left_out() {
        let mut trace = trace();
        let slice = trace.slices[0].clone();
        let many = MAX_STACKS as u64 + 5;
        trace.slices = (0..many)
            .map(|index| {
                let name = trace.texts.id(&format!("{index}"));
                let end = SliceEnd::At(index * 1_000_000 + index + 1);
                TimedSlice { begin_ns: index * 1_000_000, end, name, ..slice.clone() }
            })
            .collect();
        let folded = trace.fold(0, u64::MAX, true);
        assert_eq!((folded.stacks.len(), folded.left_out), (MAX_STACKS, 5));
        assert_eq!(folded.stacks.iter().map(|stack| stack.self_ns).min(), Some(6), "1 to 5 are left out");
    }
}
