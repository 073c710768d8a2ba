//! The roster of a topic with many subscribers: what it says, and what happens when that is not true, because
//! a process died before it wrote the place, or because a process does not keep to the rules.
#![cfg(not(loom))]

mod common;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use common::{Scratch, numbers, publish, role, take};
use situ_bus::{
    Encoding, Node, PublisherQos, RawPublisher, RawSubscriber, RegisterError, SubscriberQos, TypeDescription,
    clean, inspect,
};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};

const TOPIC: &str = "crowd";
/// From `spec/topic.md`: the offsets of the places and of the roster, the size of both, and the first place
/// that has an entry.
const PLACES: u64 = 4096;
const PLACE: u64 = 4096;
const ROSTER: u64 = 4096 + 4096 * 4096;
const ENTRY: u64 = 64;
const FIRST: u64 = 63;
const ACTIVE: u32 = 1;
const GONE: u32 = 2;
/// Some of these subscribers have entries.
const MANY: usize = 80;

fn subscriber(node: &Node) -> RawSubscriber {
    RawSubscriber::create(node, TOPIC, &numbers(), SubscriberQos::default()).unwrap()
}

fn crowd(node: &Node, number: usize) -> Vec<RawSubscriber> {
    (0..number).map(|_| subscriber(node)).collect()
}

/// The file of the topic's subscribers.
struct Subscribers(File);

impl Subscribers {
    fn open(scratch: &Scratch) -> Self {
        let path = scratch.topic(TOPIC).join("subscribers");
        Self(OpenOptions::new().read(true).write(true).open(path).unwrap())
    }

    fn bytes<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }

    fn half(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn word(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }

    /// How many places were ever taken.
    fn used(&self) -> u64 {
        u64::from(self.half(136))
    }

    /// A place's state and its node.
    fn place(&self, index: u64) -> (u32, u64) {
        let at = PLACES + index * PLACE;
        (self.half(at + 8), self.word(at + 3968))
    }

    fn entry(&self, index: u64) -> [u8; ENTRY as usize] {
        self.bytes(ROSTER + index * ENTRY)
    }

    fn write_entry(&self, index: u64, entry: &[u8; ENTRY as usize]) {
        self.0.write_all_at(entry, ROSTER + index * ENTRY).unwrap();
    }

    /// The entry that a place should have, without the bit `GONE`.
    fn right(&self, index: u64) -> [u8; ENTRY as usize] {
        let (state, node) = self.place(index);
        let mut entry = [0; ENTRY as usize];
        if state & (ACTIVE | GONE) == 0 {
            return entry;
        }
        let at = PLACES + index * PLACE;
        entry[..4].copy_from_slice(&(state & !GONE).to_le_bytes());
        entry[4..8].copy_from_slice(&self.half(at + 12).to_le_bytes());
        for (word, value) in [node, self.word(at + 4000), self.word(at + 4016), self.word(at + 3976)]
            .into_iter()
            .chain([self.word(at + 4048)])
            .enumerate()
        {
            entry[8 + word * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        entry
    }

    /// The places whose entries are not right.
    fn wrong(&self) -> Vec<u64> {
        (FIRST..self.used()).filter(|index| self.entry(*index) != self.right(*index)).collect()
    }
}

/// How many subscribers the topic has.
fn listed(scratch: &Scratch) -> usize {
    inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap().subscribers.len()
}

#[test]
fn the_roster_says_what_the_places_hold() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let mut members = crowd(&node, MANY);
    let file = Subscribers::open(&scratch);
    assert_eq!((file.used(), file.wrong()), (MANY as u64, vec![]));
    // Those of the first places have no entries.
    assert!((0..FIRST).all(|index| file.entry(index) == [0; ENTRY as usize]));
    let qos = SubscriberQos {
        deadline: Some(Duration::from_nanos(0x1111)),
        lease: Some(Duration::from_nanos(0x2222)),
        ..Default::default()
    };
    members.push(RawSubscriber::create(&node, TOPIC, &numbers(), qos).unwrap());
    let entry = file.entry(MANY as u64);
    let word = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap());
    assert_eq!((word(24), word(32), word(40)), (0x5678, 0x1111, 0x2222));
    assert_eq!((word(8), entry[4]), (node.id().0, Encoding::Flat as u8));
    assert_eq!(file.wrong(), vec![]);
    // Places in the roster and before it become free, and are taken again, the first ones first.
    let free = [3, 62, 63, 70];
    for index in free.iter().rev() {
        drop(members.remove(*index));
    }
    assert_eq!((listed(&scratch), file.wrong()), (MANY + 1 - free.len(), vec![]));
    assert_eq!(file.entry(70), [0; ENTRY as usize]);
    for taken in 1..=free.len() {
        members.push(subscriber(&node));
        let is_taken = free.map(|index| file.place(index as u64).0 & ACTIVE != 0);
        assert_eq!(is_taken, std::array::from_fn(|at| at < taken));
    }
    assert_eq!((listed(&scratch), file.used(), file.wrong()), (MANY + 1, MANY as u64 + 1, vec![]));
    drop(members);
    assert!(!scratch.topic(TOPIC).exists());
}

#[test]
fn a_process_that_dies_before_it_takes_or_frees_a_place_leaves_nothing_for_ever() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, TOPIC, &numbers(), PublisherQos::default()).unwrap();
    let mut members = crowd(&node, MANY);
    let file = Subscribers::open(&scratch);
    // Joining: the entry is taken by a node that is dead by now, the place is free.
    drop(members.remove(70));
    let mut entry = file.right(71);
    entry[8..16].copy_from_slice(&0xdead_u64.to_le_bytes());
    file.write_entry(70, &entry);
    members.push(subscriber(&node));
    assert!(file.place(70).0 & ACTIVE != 0, "the place is used again");
    assert_eq!((file.used(), file.wrong()), (MANY as u64, vec![]));
    // Freeing: the entry is free, the place is not yet. Its subscriber is gone.
    let at = PLACES + 75 * PLACE;
    let gone = members.remove(75 - 1);
    file.write_entry(75, &[0; ENTRY as usize]);
    file.0.write_all_at(&(file.place(75).0 | GONE).to_le_bytes(), at + 8).unwrap();
    members.push(subscriber(&node));
    assert_eq!(file.place(75).0 & (ACTIVE | GONE), ACTIVE, "the place is used again");
    assert_eq!((file.used(), file.wrong()), (MANY as u64, vec![]));
    for member in &members {
        while take(member).is_some() {}
    }
    publish(&publisher, 7, 10);
    assert!(members.iter().all(|member| take(member).is_some_and(|(_, value)| value == 7)));
    // This subscriber was made to look gone, and its place has another one: it must not leave.
    std::mem::forget(gone);
}

#[test]
fn no_place_of_a_living_subscriber_is_given_away() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, TOPIC, &numbers(), PublisherQos::default()).unwrap();
    let mut members = crowd(&node, MANY);
    let file = Subscribers::open(&scratch);
    let mut random = Random::seeded("roster");
    for round in 0..100 {
        for _ in 0..1 + random.below(20) {
            let at = ROSTER + FIRST * ENTRY + random.below((MANY as u64 - FIRST) * ENTRY / 8) * 8;
            let word = [0, random.number(), u64::MAX, 1][random.below(4) as usize];
            file.0.write_all_at(&word.to_le_bytes(), at).unwrap();
        }
        match random.below(3) {
            0 => drop(members.remove(random.below(members.len() as u64) as usize)),
            1 => members.push(subscriber(&node)),
            _ => _ = RawPublisher::create(&node, TOPIC, &numbers(), PublisherQos::default()).unwrap(),
        }
        assert_eq!(listed(&scratch), members.len());
        publish(&publisher, round, 10);
        assert!(members.iter().all(|it| std::iter::from_fn(|| take(it)).last().unwrap().1 == round));
    }
    let taken = |file: &Subscribers| (0..file.used()).filter(|at| file.place(*at).0 & ACTIVE != 0).count();
    assert_eq!(taken(&file), members.len());
    drop((members, publisher));
    assert!(!scratch.topic(TOPIC).exists());
}

/// A subscriber that no flat publisher can join.
fn serialized() -> TypeDescription {
    TypeDescription { encoding: Encoding::Xcdr2, layout_hash: 0, ..numbers() }
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    if role == "serialized" {
        let node = scratch.node("serialized");
        let member = RawSubscriber::create(&node, TOPIC, &serialized(), SubscriberQos::default()).unwrap();
        say("joined");
        std::thread::sleep(Duration::from_secs(1000));
        drop(member);
        return;
    }
    // Subscribers come and go until the process is killed.
    let node = scratch.node("restless");
    let mut members = crowd(&node, MANY / 2);
    let mut random = Random::seeded(&role);
    say("joined");
    loop {
        drop(members.swap_remove(random.below(members.len() as u64) as usize));
        members.push(subscriber(&node));
    }
}

#[test]
fn a_dead_subscriber_in_a_crowd_does_not_keep_publishers_out() {
    let scratch = Scratch::new();
    // So many that most of them are not asked whether they live.
    let nodes: Vec<_> = (0..MANY).map(|index| scratch.node(&format!("n{index}"))).collect();
    let members: Vec<_> = nodes.iter().map(subscriber).collect();
    let mut child = Role::start(&scratch, "serialized");
    child.wait_for("joined");
    let join = || RawPublisher::create(&nodes[0], TOPIC, &numbers(), PublisherQos::default());
    let refusal = join().map(drop);
    assert!(matches!(refusal, Err(RegisterError::NoFlatForm { .. })), "{refusal:?}");
    child.kill();
    let publisher = join().unwrap();
    publish(&publisher, 1, 10);
    assert!(members.iter().all(|member| take(member) == Some((0, 1))));
    let file = Subscribers::open(&scratch);
    assert_eq!((listed(&scratch), file.place(MANY as u64).0 & (ACTIVE | GONE)), (MANY, 0));
    assert_eq!(file.wrong(), vec![]);
}

#[test]
fn processes_that_join_and_leave_are_killed() {
    let kills =
        std::env::var("SITU_CHAOS_KILLS").map_or(10, |kills| (kills.parse::<usize>().unwrap() / 20).max(10));
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let mut random = Random::seeded("restless");
    let publisher = RawPublisher::create(&node, TOPIC, &numbers(), PublisherQos::default()).unwrap();
    let members = crowd(&node, MANY);
    let start = |number: usize| {
        let mut role = Role::start(&scratch, &format!("restless {number}"));
        role.wait_for("joined");
        role
    };
    let mut children: Vec<_> = (0..3).map(start).collect();
    for kill in 0..kills {
        std::thread::sleep(Duration::from_micros(random.below(3000)));
        children.swap_remove(random.below(3) as usize).kill();
        children.push(start(3 + kill));
        publish(&publisher, kill as u64, 10);
        assert!(members.iter().all(|it| std::iter::from_fn(|| take(it)).last().unwrap().1 == kill as u64));
    }
    drop(children);
    // Not all nodes that ever were, but all that have an entry by now.
    drop(subscriber(&node));
    let file = Subscribers::open(&scratch);
    assert_eq!((listed(&scratch), file.wrong()), (MANY, vec![]));
    let taken = (0..file.used()).filter(|index| file.place(*index).0 & (ACTIVE | GONE) != 0).count();
    assert_eq!(taken, MANY);
    drop((members, publisher, node));
    clean(&scratch.root()).unwrap();
    assert_eq!(scratch.files(), Vec::<std::path::PathBuf>::new());
}
