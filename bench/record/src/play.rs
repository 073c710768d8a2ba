//! How well `play` keeps the spacing of messages.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use situ_bus::{Encoding, Node, RawSubscriber, Reliability, Root, SubscriberQos, TypeDescription};
use situ_record::{Command, PlayOptions, Player, Selection, Writer, WriterOptions};

use crate::{Failure, topic};

/// The time between two messages, in nanoseconds: 1 kHz.
const PERIOD: u64 = 1_000_000;

/// Plays messages of 64 bytes at 1 kHz. Returns the median and the 99th percentile of the error of the
/// spacing in microseconds: how much the time between two messages' publication differs from that in the
/// file.
pub fn spacing(folder: &Path, count: u64) -> Result<(f64, f64), Failure> {
    let failed = Failure::of("play");
    let path = folder.join(format!("situ-bench-{}.mcap", std::process::id()));
    let written = write(&path, count);
    let result = written.and_then(|()| measure(&path, count));
    std::fs::remove_file(&path).map_err(|it| failed(&it))?;
    result
}

fn write(path: &Path, count: u64) -> Result<(), Failure> {
    let failed = Failure::of("a file to play");
    let options = WriterOptions { profile: "ros2".into(), overwrite: true, ..WriterOptions::default() };
    let mut writer = Writer::create(path, options).map_err(|it| failed(&it))?;
    let schema =
        writer.schema("bench/msg/Small", "ros2msg", b"uint8[64] bytes\n").map_err(|it| failed(&it))?;
    let channel = writer.channel(schema, topic::TOPIC, "cdr", BTreeMap::new()).map_err(|it| failed(&it))?;
    let mut data = vec![0, 1, 0, 0];
    data.resize(4 + 64, 7);
    for number in 0..count {
        let time = 1_700_000_000_000_000_000 + number * PERIOD;
        writer.message(channel, number as u32, time, time, &data).map_err(|it| failed(&it))?;
    }
    match writer.finish().error {
        Some(error) => Err(failed(&error)),
        None => Ok(()),
    }
}

fn measure(path: &Path, count: u64) -> Result<(f64, f64), Failure> {
    let failed = Failure::of("play");
    let place = std::path::PathBuf::from(format!("/dev/shm/situ-bench-play-{}", std::process::id()));
    let root = Root::at(place.clone(), None);
    let node = Node::in_root("player", root).map_err(|it| failed(&it))?;
    let options = PlayOptions {
        files: vec![path.to_owned()],
        rate: 1.0,
        from: None,
        until: None,
        repeat: false,
        selection: Selection::all(),
        remap: BTreeMap::new(),
        clock: None,
        wait: Duration::from_secs(10),
    };
    let player = Player::new(&node, options).map_err(|it| failed(&it))?;
    let any = TypeDescription { encoding: Encoding::Region, layout_hash: 0, ..topic::description(64)? };
    let qos = SubscriberQos { reliability: Reliability::Reliable, ..SubscriberQos::default() };
    let subscriber = RawSubscriber::create(&node, topic::TOPIC, &any, qos).map_err(|it| failed(&it))?;
    let is_over = AtomicBool::new(false);
    let mut times: Vec<u64> = Vec::with_capacity(count as usize);
    let played = std::thread::scope(|scope| {
        let played = scope.spawn(|| {
            let played = player.play(&mut |_| Command::Go);
            is_over.store(true, Ordering::SeqCst);
            played
        });
        // It looks now and then, so that it does not disturb the player.
        while !is_over.load(Ordering::SeqCst) && (times.len() as u64) < count {
            while let Ok(Some(sample)) = subscriber.take() {
                times.push(sample.published_at_ns());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        played.join()
    });
    let _ = std::fs::remove_dir_all(&place);
    played.map_err(|_| failed(&"the player has failed"))?.map_err(|it| failed(&it))?;
    if (times.len() as u64) < count {
        return Err(failed(&format!("{} of {count} messages arrived", times.len())));
    }
    let error = |pair: &[u64]| (pair[1] - pair[0]).abs_diff(PERIOD) as f64 / 1e3;
    let mut errors: Vec<f64> = times.windows(2).map(error).collect();
    errors.sort_by(f64::total_cmp);
    Ok((errors[errors.len() / 2], errors[errors.len() * 99 / 100]))
}
