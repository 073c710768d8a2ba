//! Tracks of the program's own, given times, nested arguments, computed names, typed arguments, packets of
//! one's own type, and slices that end in another order than they began.

use situ_trace::{
    Track, TypedFields, Unit, Value as Given, array, begin, category, counter, dictionary, end, instant,
    now_ns, slice, typed, write_packet,
};
use situ_wire::protobuf::Message;

use super::perfetto::Value;
use super::rules::Checked;
use super::session::Recording;

category!(ARM, "arm");
category!(GROUP, "arm,benchmark");
category!(SLOW, "details", tags = "slow,arm");

pub fn check(recording: &Recording) {
    slices_of_tracks_overlap_and_end_in_other_threads(recording);
    tracks_lie_below_others(recording);
    the_end_of_a_slice_ends_those_within_it(recording);
    arguments_nest_and_names_are_computed(recording);
    fields_and_packets_of_ones_own(recording);
    groups_and_tags_select(recording);
    counters_have_given_times_and_tracks(recording);
}

fn counters_have_given_times_and_tracks(recording: &Recording) {
    let before = now_ns();
    let mut looked_at = false;
    let bytes = recording.record("", || {
        let arm = Track::global("arm", 3);
        for (index, joint) in ["elbow", "wrist"].iter().enumerate() {
            let track = Track::below(&arm, joint, 0);
            counter!(ARM, track = &track, 10 + index, Unit::Nanoseconds, at = before + 10);
            counter!(ARM, track = &track, 10 + index, at = before + 20);
            begin!(ARM, "turns", track = &track, at = before + 12);
            end!(ARM, track = &track, at = before + 15);
        }
        counter!(ARM, track = &Track::of_thread("queue", 0), 1);
        counter!(SLOW, track = &Track::new("never", 0), {
            looked_at = true;
            1
        });
        counter!(ARM, "force", 2.5, at = before + 30);
        counter!(ARM, "size", 7, Unit::Bytes, at = before + 40);
    });
    let trace = Checked::read(&bytes);
    let counter = |name: &str| {
        let (uuid, (_, parent)) = trace.counters.iter().find(|(_, (other, _))| other == name).unwrap();
        let of_it = trace.events.iter().filter(|event| event.track == *uuid);
        let values: Vec<_> = of_it.map(|it| (it.at.wrapping_sub(before), it.value.unwrap())).collect();
        (*parent, values)
    };
    let (arm, elbow) = counter("elbow");
    assert_eq!(trace.tracks[&arm], ("arm".to_owned(), 0));
    assert_eq!(elbow, [(10, 10.0), (20, 10.0)]);
    assert_eq!(counter("wrist"), (arm, vec![(10, 11.0), (20, 11.0)]));
    assert_eq!((counter("force").1, counter("size").1), (vec![(30, 2.5)], vec![(40, 7.0)]));
    assert!(trace.threads.contains_key(&counter("queue").0));
    assert_eq!(trace.named("turns").len(), 2, "slices of the tracks lie beside their counters");
    assert!(!looked_at && !trace.counters.values().any(|(name, _)| name == "never"));
}

fn slices_of_tracks_overlap_and_end_in_other_threads(recording: &Recording) {
    let before = now_ns();
    let bytes = recording.record("", || {
        let (first, second) = (Track::new("grasp", 1), Track::new("grasp", 2));
        begin!(ARM, "one", track = &first, at = before + 10, flow = 5, "object" => "cup");
        begin!(ARM, "two", track = &second, at = before + 20);
        let guard = slice!(ARM, "within", track = &first, at = before + 25);
        std::thread::spawn(move || {
            guard.end_at(before + 27);
            end!(ARM, track = &Track::new("grasp", 1), at = before + 30, last_flow = 5, "held" => true);
        })
        .join()
        .unwrap();
        end!(ARM, track = &second, at = before + 40);
    });
    let trace = Checked::read(&bytes);
    let (one, two, within) = (trace.named("one")[0], trace.named("two")[0], trace.named("within")[0]);
    assert_ne!(one.track, two.track);
    assert_eq!(one.track, within.track);
    let times = [one, two, within].map(|slice| (slice.begin - before, slice.end - before));
    assert_eq!(times, [(10, 30), (20, 40), (25, 27)]);
    assert_eq!(within.depth, 1);
    assert_eq!((&one.flows[..], &two.flows[..]), (&[5][..], &[][..]));
    let arguments = [("object", Value::Text("cup".into())), ("held", Value::Bool(true))];
    assert_eq!(one.arguments, arguments.map(|(name, value)| (name.to_owned(), value)));
    let process = *trace.processes.keys().next().unwrap();
    for slice in [one, two] {
        assert_eq!(trace.tracks[&slice.track], ("grasp".to_owned(), process));
    }
}

fn tracks_lie_below_others(recording: &Recording) {
    let bytes = recording.record("", || {
        let robot = Track::global("robot", 0);
        let arm = Track::below(&robot, "arm", 0);
        instant!(ARM, "moves", track = &Track::below(&arm, "hand", 7));
        instant!(ARM, "waits", track = &Track::of_thread("queue", 0));
    });
    let trace = Checked::read(&bytes);
    let track = |name: &str| trace.events.iter().find(|event| event.name == name).unwrap().track;
    let hand = &trace.tracks[&track("moves")];
    let arm = &trace.tracks[&hand.1];
    let robot = &trace.tracks[&arm.1];
    assert_eq!([&hand.0, &arm.0, &robot.0], ["hand", "arm", "robot"]);
    assert_eq!(robot.1, 0, "no process");
    assert!(trace.threads.contains_key(&trace.tracks[&track("waits")].1));
}

fn the_end_of_a_slice_ends_those_within_it(recording: &Recording) {
    let bytes = recording.record("", || {
        let outer = slice!(ARM, "outer");
        let inner = slice!(ARM, "inner");
        let innermost = slice!(ARM, "innermost");
        let before = now_ns();
        drop(outer);
        let after = slice!(ARM, "after", "from" => before);
        let within = slice!(ARM, "within after");
        // They have ended, and end nothing else.
        drop(inner);
        drop(innermost);
        instant!(ARM, "in after");
        drop((within, after));
        // A slice that another thread drops ends with the one around it.
        let around = slice!(ARM, "around");
        let sent = slice!(ARM, "sent");
        std::thread::spawn(move || {
            let _other = slice!(ARM, "other");
            drop(sent);
            instant!(ARM, "in other");
        })
        .join()
        .unwrap();
        drop(around);
    });
    let trace = Checked::read(&bytes);
    let named = |name: &str| trace.named(name)[0];
    for name in ["inner", "innermost"] {
        assert_eq!(named(name).end, named("outer").end);
    }
    assert_eq!([named("outer").depth, named("inner").depth, named("innermost").depth], [0, 1, 2]);
    assert_eq!(named("after").depth, 0);
    let at = |name: &str| trace.events.iter().find(|event| event.name == name).unwrap().at;
    assert!(at("in after") <= named("within after").end);
    assert!(at("in other") <= named("other").end);
    assert_eq!(named("sent").end, named("around").end);
    assert_eq!(trace.events.iter().filter(|event| event.kind == 1).count(), trace.slices.len());
    let ends = trace.events.iter().filter(|event| event.kind == 2).count();
    assert_eq!(ends, trace.slices.len(), "no end without a begin");
}

fn arguments_nest_and_names_are_computed(recording: &Recording) {
    let bytes = recording.record("", || {
        for round in 0..2u32 {
            let name = format!("grasp {round}");
            let joints = [Given::from(1.5), Given::from(-2)];
            instant!(ARM, dynamic(&name), at = now_ns(),
                "pose" => dictionary!("x" => 0.5, "frame" => &format!("base {round}"), "deep" => array![
                    dictionary!("y" => 7u8), true,
                ]),
                "joints" => Given::Array(&joints), "none" => array![],
                "at" => std::ptr::without_provenance::<u8>(0x1234));
            drop(slice!(ARM, dynamic(&name)));
        }
    });
    let trace = Checked::read(&bytes);
    for round in 0..2 {
        let name = format!("grasp {round}");
        assert_eq!(trace.named(&name).len(), 1);
        let instant = trace.events.iter().find(|event| event.kind == 3 && event.name == name).unwrap();
        let expected = [
            ("pose.x", Value::Double(0.5)),
            ("pose.frame", Value::Text(format!("base {round}"))),
            ("pose.deep[0].y", Value::Uint(7)),
            ("pose.deep[1]", Value::Bool(true)),
            ("joints[0]", Value::Double(1.5)),
            ("joints[1]", Value::Int(-2)),
            ("at", Value::Pointer(0x1234)),
        ];
        assert_eq!(instant.arguments, expected.map(|(name, value)| (name.to_owned(), value)));
    }
    // Situ's own reader gives the same names.
    let read = situ_trace::reader::ReadTrace::read(&bytes);
    let instant = read.instants.iter().find(|instant| read.text(instant.name) == "grasp 1").unwrap();
    let names: Vec<&str> = instant.arguments.iter().map(|(name, _)| read.text(*name)).collect();
    let expected = ["pose.x", "pose.frame", "pose.deep[0].y", "pose.deep[1]", "joints[0]", "joints[1]", "at"];
    assert_eq!(names, expected);
}

fn fields_and_packets_of_ones_own(recording: &Recording) {
    // Field 33: a place in the source, with a file and a line. Field 900: a text, for tests.
    let source = [0x8a, 2, 8, 0x12, 4, b'a', b'.', b'r', b's', 0x20, 9];
    let own = [0xa2, 0x38, 5, 0x0a, 3, b'o', b'w', b'n'];
    let at = now_ns();
    let bytes = recording.record("", || {
        instant!(ARM, "typed", fields = &source, "more" => 1u8);
        // Not whole: only the fields are omitted.
        instant!(ARM, "cut off", fields = &source[..5]);
        let place = |mut event: Message<'_>, file: &str| {
            let mut place = event.message(33);
            place.string(2, file);
            place.uint32(4, 7);
        };
        instant!(ARM, "written", fields = &typed(|event| place(event, "b.rs")), "more" => 2u8);
        let file = "c".repeat(700);
        instant!(ARM, "too long", fields = &typed(|event| place(event, &file)), "more" => 3u8);
        instant!(ARM, "longer", fields = &TypedFields::<1024>::new(|event| place(event, &file)));
        assert!(write_packet(at, &own));
        assert!(!write_packet(at, &own[..5]), "cut off");
        assert!(!write_packet(at, &[0x40, 1]), "the time is Situ's");
    });
    assert!(!write_packet(at, &own), "no session");
    let trace = Checked::read(&bytes);
    let event = |name: &str| trace.events.iter().find(|event| event.name == name).unwrap();
    assert_eq!(event("typed").source, Some(("a.rs".to_owned(), 9)));
    assert_eq!(event("cut off").source, None);
    assert_eq!(event("written").source, Some(("b.rs".to_owned(), 7)));
    assert_eq!(event("too long").source, None);
    assert_eq!(event("too long").arguments, [("more".to_owned(), Value::Uint(3))]);
    assert_eq!(event("longer").source, Some(("c".repeat(700), 7)));
    assert_eq!(trace.own, [(at, "own".to_owned())]);
}

fn groups_and_tags_select(recording: &Recording) {
    for (categories, of_group, slow) in
        [("arm", true, false), ("bench*", true, false), ("", true, false), ("tag:slow", false, true)]
    {
        let bytes = recording.record(categories, || {
            assert_eq!((GROUP.is_enabled(), SLOW.is_enabled()), (of_group, slow), "{categories:?}");
            instant!(GROUP, "of both");
        });
        let trace = Checked::read(&bytes);
        let count = trace.events.iter().filter(|event| event.category == "arm,benchmark").count();
        assert_eq!(count, usize::from(of_group), "{categories:?}");
    }
}
