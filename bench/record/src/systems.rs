//! The systems, and a turn of each: writes a number of messages into a file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use situ_bus::{Node, Root};
use situ_record::{Compression, RecordOptions, Recorder, Selection, WriterOptions};

use crate::{Failure, topic};

/// The buffers from which the peers write: as many as a topic of 1 MiB keeps messages, so that the caches of
/// the processor help them no more than the recorder.
const BUFFERS: usize = 64;

/// A system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The recorder: takes the messages of another process.
    Situ,
    /// Plain writes, one for each message of 1 MiB, and one for 64 KiB of small ones. The content is in the
    /// process.
    Write,
    /// The writer of the crate `mcap`, without compression and check sums. The content is in the process.
    Mcap,
}

/// What a turn took.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// The bytes of the messages' data.
    pub bytes: u64,
    /// The time until the file was complete.
    pub seconds: f64,
    /// The time on the processor, of all threads of this process, user and system.
    pub cpu_seconds: f64,
}

/// A file that is removed at the end.
pub struct Scratch(pub PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The time on the processor so far, of all threads of this process, user and system.
pub fn cpu_seconds() -> f64 {
    // SAFETY: all bits of the struct are numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the struct is valid for the call.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

impl System {
    /// All, the first is the one that is compared.
    pub const ALL: [Self; 3] = [Self::Situ, Self::Write, Self::Mcap];

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Situ => "situ",
            Self::Write => "write",
            Self::Mcap => "mcap",
        }
    }

    /// Writes `count` messages of `size` bytes.
    pub fn turn(self, folder: &Path, size: usize, count: u64) -> Result<Turn, Failure> {
        let file = Scratch(folder.join(format!("situ-bench-{}.tmp", std::process::id())));
        match self {
            Self::Situ => situ(&file.0, size, count),
            Self::Write => write(&file.0, size, count),
            Self::Mcap => mcap(&file.0, size, count),
        }
    }
}

fn measured(size: usize, count: u64, work: impl FnOnce() -> Result<(), Failure>) -> Result<Turn, Failure> {
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    work()?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Turn { bytes: size as u64 * count, seconds, cpu_seconds: cpu_seconds() - cpu })
}

fn situ(path: &Path, size: usize, count: u64) -> Result<Turn, Failure> {
    let failed = Failure::of("the recorder");
    let place = Scratch(PathBuf::from(format!("/dev/shm/situ-bench-record-{}", std::process::id())));
    let root = Root::at(place.0.clone(), None);
    let mut publisher = topic::start(&place.0, size, count, 0)?;
    let node = Node::in_root("recorder", root.clone()).map_err(|it| failed(&it))?;
    let options = RecordOptions {
        output: path.to_owned(),
        selection: Selection::all(),
        project: false,
        services: false,
        writer: WriterOptions { compression: Compression::None, overwrite: true, ..WriterOptions::default() },
    };
    let mut recorder = Recorder::start(&node, &root, options).map_err(|it| failed(&it))?;
    drop(publisher.stdin.take());
    let mut result = None;
    let turn = measured(size, count, || {
        // The first message begins the time: before it, the publisher wakes.
        while recorder.counts().iter().map(|it| it.messages + it.lost).sum::<u64>() < count {
            recorder.step(Duration::from_millis(5)).map_err(|it| failed(&it))?;
        }
        result = Some(recorder.finish());
        Ok(())
    });
    let _ = publisher.wait();
    let missing = result.map_or(0, |it| it.missing());
    if missing > 0 {
        return Err(failed(&format!("{missing} messages are lost")));
    }
    turn
}

fn buffers(size: usize) -> Vec<Vec<u8>> {
    (0..BUFFERS).map(|number| vec![number as u8; size]).collect()
}

fn write(path: &Path, size: usize, count: u64) -> Result<Turn, Failure> {
    let failed = Failure::of("plain writes");
    let buffers = buffers(size);
    let file = File::create(path).map_err(|it| failed(&it))?;
    measured(size, count, || {
        let mut file = BufWriter::with_capacity(64 << 10, file);
        for number in 0..count {
            file.write_all(&buffers[number as usize % BUFFERS]).map_err(|it| failed(&it))?;
        }
        file.flush().map_err(|it| failed(&it))
    })
}

fn mcap(path: &Path, size: usize, count: u64) -> Result<Turn, Failure> {
    let failed = Failure::of("the crate mcap");
    let buffers = buffers(size);
    let file = File::create(path).map_err(|it| failed(&it))?;
    measured(size, count, || {
        let options = mcap::WriteOptions::new()
            .compression(None)
            .chunk_size(Some(4 << 20))
            .calculate_chunk_crcs(false)
            .calculate_data_section_crc(false)
            .calculate_summary_section_crc(false);
        let mut writer = options.create(BufWriter::new(file)).map_err(|it| failed(&it))?;
        let schema = writer
            .add_schema("bench/msg/Small", "ros2msg", b"uint8[64] bytes\n")
            .map_err(|it| failed(&it))?;
        let channel =
            writer.add_channel(schema, topic::TOPIC, "cdr", &BTreeMap::new()).map_err(|it| failed(&it))?;
        for number in 0..count {
            let head = mcap::records::MessageHeader {
                channel_id: channel,
                sequence: number as u32,
                log_time: number,
                publish_time: number,
            };
            let data: Cow<[u8]> = Cow::Borrowed(&buffers[number as usize % BUFFERS]);
            writer.write_to_known_channel(&head, &data).map_err(|it| failed(&it))?;
        }
        writer.finish().map_err(|it| failed(&it))?;
        Ok(())
    })
}
