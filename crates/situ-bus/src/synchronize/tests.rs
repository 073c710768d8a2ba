//! The matcher against the test vectors, and against what must hold for any messages.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use situ_testkit::random::Random;

use crate::synchronize::matcher::Matcher;
use crate::synchronize::policy::{ApproximateTime, ExactTime, SynchronizerPolicy};
use crate::synchronize::queues::{MAX_TOPICS, MessageQueues, SynchronizerCounts};

/// Queues of messages, each of which is its number on its topic, and its stamp.
struct Numbered {
    arrived: Vec<u64>,
    queues: Vec<VecDeque<(u64, i64)>>,
    sets: Vec<Vec<(u64, i64)>>,
}

impl MessageQueues for Numbered {
    fn drop_first(&mut self, topic: usize) {
        self.queues[topic].pop_front().expect("a message to drop");
    }

    fn take_set(&mut self) {
        let set = self.queues.iter_mut().map(|queue| queue.pop_front().expect("a message of the set"));
        self.sets.push(set.collect());
    }
}

struct Synchronized {
    matcher: Matcher,
    messages: Numbered,
}

impl Synchronized {
    fn new(policy: impl Into<SynchronizerPolicy>, lower_bounds: &[u64]) -> Self {
        let topics = lower_bounds.len();
        let lower_bounds: Vec<_> = lower_bounds.iter().copied().map(Duration::from_nanos).collect();
        Self {
            matcher: Matcher::new(&policy.into(), &lower_bounds),
            messages: Numbered {
                arrived: vec![0; topics],
                queues: vec![VecDeque::new(); topics],
                sets: Vec::new(),
            },
        }
    }

    fn push(&mut self, topic: usize, stamp: i64) {
        let Numbered { arrived, queues, .. } = &mut self.messages;
        queues[topic].push_back((arrived[topic], stamp));
        arrived[topic] += 1;
        self.matcher.push(topic, stamp, &mut self.messages);
    }

    /// The sets since the last call.
    fn sets(&mut self) -> Vec<Vec<(u64, i64)>> {
        std::mem::take(&mut self.messages.sets)
    }
}

fn policy_of(words: &[&str]) -> Synchronized {
    let (topics, queue_size) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    match words[0] {
        "exact" => Synchronized::new(ExactTime::new(queue_size), &vec![0; topics]),
        "approximate" => {
            let policy = ApproximateTime {
                queue_size,
                age_penalty: words[3].parse().unwrap(),
                max_interval: words[4].parse().ok().map(Duration::from_nanos),
            };
            let bounds: Vec<u64> = words[5..].iter().map(|bound| bound.parse().unwrap()).collect();
            assert_eq!(bounds.len(), topics);
            Synchronized::new(policy, &bounds)
        }
        other => panic!("no policy is called {other}"),
    }
}

/// Pushes the messages of a file, and compares the sets and the counts. Returns the number of cases.
fn check_vectors(name: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/synchronizer").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).peekable();
    let mut cases = 0;
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        assert_eq!(line[0], "case");
        let case = line[1..].join(" ");
        let mut synchronized = policy_of(&lines.next().unwrap());
        while let Some(message) = lines.next_if(|line| line[0] == "message") {
            synchronized.push(message[1].parse().unwrap(), message[2].parse().unwrap());
            let mut expected: Vec<Vec<u64>> = Vec::new();
            while let Some(set) = lines.next_if(|line| line[0] == "set") {
                expected.push(set[1..].iter().map(|number| number.parse().unwrap()).collect());
            }
            let found: Vec<Vec<u64>> =
                synchronized.sets().iter().map(|set| set.iter().map(|message| message.0).collect()).collect();
            assert_eq!(found, expected, "{name}: {case}: after {message:?}");
        }
        let end = lines.next().unwrap();
        assert_eq!(end[0], "end");
        let counts = synchronized.matcher.counts();
        let queued = synchronized.messages.queues.iter().map(|queue| queue.len() as u64);
        let found: Vec<u64> =
            queued.chain([counts.unmatched, counts.overflowed, counts.clock_jumps]).collect();
        let expected: Vec<u64> = end[1..].iter().map(|count| count.parse().unwrap()).collect();
        assert_eq!(found, expected, "{name}: {case}: at the end");
        cases += 1;
    }
    cases
}

#[test]
fn exact_times_are_those_of_the_vectors() {
    assert!(check_vectors("exact.txt") > 50);
}

#[test]
fn approximate_times_are_those_of_the_vectors() {
    assert!(check_vectors("approximate.txt") > 200);
}

/// Whatever arrives: queues are bounded, no message is in two sets or out of order, each is accounted for.
#[test]
fn any_messages_make_sets_in_order() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let topics = 2 + random.below(MAX_TOPICS as u64 - 1) as usize;
        let queue_size = 1 + random.below(20) as usize;
        let max_interval = [None, Some(Duration::from_nanos(30))][random.below(2) as usize];
        let exact = seed % 3 == 0;
        let policy = match exact {
            true => SynchronizerPolicy::from(ExactTime::new(queue_size)),
            false => ApproximateTime { queue_size, age_penalty: 0.1, max_interval }.into(),
        };
        // Some promises of a distance between messages are wrong.
        let bounds: Vec<u64> = (0..topics).map(|_| random.below(3) * 4).collect();
        let mut synchronized = Synchronized::new(policy, &bounds);
        let mut stamps = vec![0; topics];
        let mut last_set: Option<Vec<(u64, i64)>> = None;
        let (mut sets, mut jumps) = (0, 0);
        for step in 0..600 {
            let topic = random.below(topics as u64) as usize;
            if random.below(200) == 0 {
                jumps += u64::from(stamps[topic] > 0);
                stamps[topic] /= 2;
            } else {
                stamps[topic] += if exact { 10 } else { random.below(12) as i64 };
            }
            synchronized.push(topic, stamps[topic]);
            for set in synchronized.sets() {
                sets += 1;
                assert_eq!(set.len(), topics);
                let span = set.iter().map(|message| message.1).max().unwrap()
                    - set.iter().map(|message| message.1).min().unwrap();
                assert!(!exact || span == 0, "seed {seed}: {set:?}");
                assert!(exact || max_interval.is_none() || span <= 30, "seed {seed}: {set:?}");
                if let Some(last) = last_set.replace(set.clone()) {
                    assert!(
                        last.iter().zip(&set).all(|(old, new)| old.0 < new.0),
                        "seed {seed}, step {step}"
                    );
                }
            }
            assert!(synchronized.messages.queues.iter().all(|queue| queue.len() <= queue_size));
        }
        let SynchronizerCounts { sets: counted, unmatched, overflowed, clock_jumps } =
            synchronized.matcher.counts();
        assert_eq!(counted, sets);
        assert!(clock_jumps <= jumps, "seed {seed}");
        let queued: usize = synchronized.messages.queues.iter().map(VecDeque::len).sum();
        assert_eq!(topics as u64 * sets + unmatched + overflowed + queued as u64, 600, "seed {seed}");
    }
}
