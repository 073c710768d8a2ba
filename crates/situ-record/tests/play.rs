//! Plays files: their speed, parts of them, again and again, with commands, and with the clock.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use situ_bus::{Encoding, Node, RawSubscriber, Root, SubscriberQos, inspect};
use situ_record::{Command, PlayOptions, Played, Player, Progress, Selection, Writer, WriterOptions};
use situ_testkit::Scratch;

/// Time enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
const SECOND: u64 = 1_000_000_000;
/// The time of the first message, in nanoseconds since 1970.
const BASE: u64 = 1_700_000_000 * SECOND;

struct Place {
    scratch: Scratch,
    root: Root,
}

impl Place {
    fn new() -> Self {
        let scratch = Scratch::created("play");
        let root = Root::at(scratch.path().join("root"), None);
        Self { scratch, root }
    }

    /// A file with messages at these times after `BASE`. Each is a number, from 0 on.
    fn file(&self, times: impl IntoIterator<Item = u64>) -> PathBuf {
        let path = self.scratch.path().join("numbers.mcap");
        let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
        let schema = writer.schema("demo/msg/Number", "ros2msg", b"uint64 number").unwrap();
        let channel = writer.channel(schema, "/numbers", "cdr", Default::default()).unwrap();
        for (number, time) in (0..).zip(times) {
            let cdr = [vec![0, 1, 0, 0], u64::from(number).to_le_bytes().to_vec()].concat();
            writer.message(channel, number, BASE + time, BASE + time, &cdr).unwrap();
        }
        assert!(writer.finish().error.is_none());
        path
    }

    fn player(&self, options: PlayOptions) -> Player {
        Player::new(&Node::in_root("player", self.root.clone()).unwrap(), options).unwrap()
    }

    /// A subscriber of a topic that exists.
    fn subscriber(&self, topic: &str) -> RawSubscriber {
        let info = inspect::topic(&self.root, topic).unwrap().unwrap();
        let node = Node::in_root("listener", self.root.clone()).unwrap();
        RawSubscriber::create(&node, topic, &info.description, SubscriberQos::default()).unwrap()
    }

    /// Plays, and returns the numbers that a subscriber got.
    fn play(&self, options: PlayOptions, control: &mut dyn FnMut(Progress) -> Command) -> (Played, Vec<u64>) {
        let player = self.player(options);
        let numbers = self.subscriber("numbers");
        let mut seen = Vec::new();
        let mut take = |progress| {
            while let Some(sample) = numbers.take().unwrap() {
                assert_eq!(sample.encoding(), Encoding::Flat);
                seen.push(u64::from_le_bytes(sample.head_in_place().try_into().unwrap()));
            }
            control(progress)
        };
        let played = player.play(&mut take).unwrap();
        assert_eq!(played.problems, [""; 0]);
        (played, seen)
    }
}

fn options(path: PathBuf) -> PlayOptions {
    PlayOptions {
        files: vec![path],
        rate: 1.0,
        from: None,
        until: None,
        repeat: false,
        selection: Selection::all(),
        remap: Default::default(),
        clock: None,
        wait: Duration::ZERO,
    }
}

fn go(_: Progress) -> Command {
    Command::Go
}

#[test]
fn a_part_is_played() {
    let place = Place::new();
    let path = place.file((0..10).map(|number| number * SECOND));
    let (from, until) = (Some(BASE + 3 * SECOND), Some(BASE + 7 * SECOND));
    let (played, seen) = place.play(PlayOptions { from, until, rate: 1000.0, ..options(path) }, &mut go);
    assert_eq!((played.messages, seen.as_slice()), (4, [3, 4, 5, 6].as_slice()));
}

#[test]
fn the_rate_is_that_of_the_options_or_of_a_command() {
    let place = Place::new();
    // At half the speed, 100 ms take 200.
    let path = place.file([0, 50_000_000, 100_000_000]);
    let begin = Instant::now();
    place.play(PlayOptions { rate: 0.5, ..options(path) }, &mut go);
    assert!(begin.elapsed() >= Duration::from_millis(200));
    // Ten hours, which no test waits for.
    let path = Place::new();
    let hours = path.file([0, 5 * 3600 * SECOND, 10 * 3600 * SECOND]);
    let (played, _) = path.play(PlayOptions { rate: 1e6, ..options(hours.clone()) }, &mut go);
    assert_eq!(played.messages, 3);
    let begin = Instant::now();
    let mut faster = |progress: Progress| {
        assert!(begin.elapsed() < PATIENCE);
        if progress.rate == 1.0 && progress.messages == 1 { Command::Rate(1e6) } else { Command::Go }
    };
    assert_eq!(path.play(options(hours), &mut faster).0.messages, 3);
}

#[test]
fn it_begins_again_where_it_began() {
    let place = Place::new();
    let path = place.file((0..5).map(|number| number * 1_000_000));
    let options = PlayOptions { from: Some(BASE + 2_000_000), repeat: true, ..options(path) };
    let mut seven = |progress: Progress| if progress.messages == 7 { Command::Stop } else { Command::Go };
    let (played, seen) = place.play(options, &mut seven);
    assert_eq!((played.messages, seen.as_slice()), (7, [2, 3, 4, 2, 3, 4, 2].as_slice()));
}

#[test]
fn it_pauses_steps_and_goes_to_a_time() {
    let place = Place::new();
    let path = place.file((0..10).map(|number| number * SECOND));
    // What to do when so many messages were published, one after the other.
    let mut plan = [
        (0, Command::TogglePause),
        (0, Command::Go),
        (0, Command::Step),
        (1, Command::Go),
        (1, Command::Step),
        (2, Command::Seek(BASE + 7 * SECOND)),
        (2, Command::Go),
        (2, Command::Step),
        (3, Command::Rate(1000.0)),
        (3, Command::TogglePause),
    ]
    .into_iter()
    .peekable();
    let mut control = |progress: Progress| {
        let is_due = |(messages, _): &(u64, Command)| progress.messages == *messages;
        let Some((messages, command)) = plan.next_if(is_due) else { return Command::Go };
        // Seconds in the file: of the last message, or where it was told to go.
        let time = (progress.time - BASE) / SECOND;
        match messages {
            0 => assert_eq!(time, 0),
            1 => assert_eq!((time, progress.is_paused), (0, true)),
            2 => assert!(time == 1 || time == 7),
            _ => assert_eq!(time, 7),
        }
        command
    };
    let (played, seen) = place.play(options(path), &mut control);
    assert_eq!((played.messages, seen.as_slice()), (5, [0, 1, 7, 8, 9].as_slice()));
}

#[test]
fn while_it_waits_for_subscribers_it_is_paused_or_ended() {
    let place = Place::new();
    let path = place.file([0, 1]);
    let wait = PATIENCE;
    let player = place.player(PlayOptions { wait, ..options(path.clone()) });
    assert_eq!(player.play(&mut |_| Command::Stop).unwrap().messages, 0);
    let player = place.player(PlayOptions { wait, ..options(path) });
    let (mut subscriber, mut calls, mut paused) = (None, 0, 0);
    let mut control = |progress: Progress| {
        calls += 1;
        match calls {
            1 => return Command::TogglePause,
            5 => subscriber = Some(place.subscriber("numbers")),
            6..15 => {
                assert_eq!((progress.is_paused, progress.messages), (true, 0));
                paused += 1;
            }
            15 => return Command::TogglePause,
            _ => {}
        }
        Command::Go
    };
    assert_eq!((player.play(&mut control).unwrap().messages, paused), (2, 9));
}

#[test]
fn the_clock_tells_the_time_of_the_file() {
    let place = Place::new();
    let path = place.file((0..11).map(|number| number * SECOND / 10));
    let player = place.player(PlayOptions { clock: Some(1000.0), rate: 4.0, ..options(path) });
    let clock = place.subscriber("clock");
    let info = inspect::topic(&place.root, "clock").unwrap().unwrap();
    assert_eq!(info.description.name, "rosgraph_msgs::msg::Clock");
    let (begin, mut times) = (Instant::now(), Vec::new());
    let mut control = |_| {
        while let Some(sample) = clock.take().unwrap() {
            let head = sample.head_in_place();
            let part = |at: usize| u64::from(u32::from_le_bytes(head[at..at + 4].try_into().unwrap()));
            let time = part(0) * SECOND + part(4);
            // The file cannot be further than four times the time since the beginning.
            assert!((BASE..=BASE + 4 * begin.elapsed().as_nanos() as u64).contains(&time), "{time}");
            times.push(time);
        }
        Command::Go
    };
    assert_eq!(player.play(&mut control).unwrap().messages, 11);
    assert!(times.is_sorted() && times.first() < times.last(), "{times:?}");
}
