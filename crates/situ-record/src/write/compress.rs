//! Compresses chunks on threads of their own. The file gets them in the order in which they were made.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::chunk::Chunk;
use super::options::Compression;

/// A chunk as it goes into the file.
pub struct Encoded {
    /// The chunk. If it is compressed, only what is beside its records is used.
    pub chunk: Chunk,
    /// Its records, compressed.
    pub compressed: Option<Vec<u8>>,
    /// The check sum of its records before compression; 0: none.
    pub crc: u32,
    /// The bytes that wait for the file with it.
    pub queued: u64,
}

impl Encoded {
    /// A chunk that is not compressed.
    pub fn plain(chunk: Chunk, checksum: bool) -> Self {
        let (crc, queued) = (if checksum { crc_of(&chunk) } else { 0 }, chunk.size);
        Self { chunk, compressed: None, crc, queued }
    }
}

fn crc_of(chunk: &Chunk) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    chunk.parts().for_each(|part| crc.update(part));
    crc.finalize()
}

/// The level of Zstandard: it keeps up with a camera on one thread.
const LEVEL: i32 = 1;

fn compress(chunk: &Chunk, with: Compression) -> io::Result<Vec<u8>> {
    match with {
        Compression::None => Ok(chunk.parts().flatten().copied().collect()),
        Compression::Lz4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            chunk.parts().try_for_each(|part| encoder.write_all(part))?;
            Ok(encoder.finish()?)
        }
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
            encoder.set_pledged_src_size(Some(chunk.size))?;
            chunk.parts().try_for_each(|part| encoder.write_all(part))?;
            encoder.finish()
        }
    }
}

type Work = (Chunk, SyncSender<io::Result<Encoded>>);

/// Threads that compress.
#[derive(Debug)]
pub struct Compressors {
    work: Option<Sender<Work>>,
    threads: Vec<JoinHandle<()>>,
}

impl Compressors {
    /// Starts the threads.
    pub fn start(with: Compression, threads: usize) -> io::Result<Self> {
        let (work, receiver) = channel::<Work>();
        let receiver = Arc::new(Mutex::new(receiver));
        let start = |number| {
            let receiver = receiver.clone();
            Builder::new().name(format!("compress {number}")).spawn(move || run(&receiver, with))
        };
        let threads = (0..threads.max(1)).map(start).collect::<io::Result<_>>()?;
        Ok(Self { work: Some(work), threads })
    }

    /// Compresses a chunk. The result comes later.
    pub fn submit(&self, chunk: Chunk) -> Receiver<io::Result<Encoded>> {
        let (sender, receiver) = sync_channel(1);
        if let Some(work) = &self.work {
            // If the threads are gone, the receiver finds its sender dropped.
            let _ = work.send((chunk, sender));
        }
        receiver
    }
}

impl Drop for Compressors {
    fn drop(&mut self) {
        self.work = None;
        self.threads.drain(..).for_each(|thread| _ = thread.join());
    }
}

fn run(work: &Mutex<Receiver<Work>>, with: Compression) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((mut chunk, reply)) = next else { return };
        let encoded = compress(&chunk, with).map(|compressed| {
            let (crc, queued) = (crc_of(&chunk), chunk.size);
            chunk.drop_records();
            Encoded { chunk, compressed: Some(compressed), crc, queued }
        });
        // The file may have failed meanwhile.
        let _ = reply.send(encoded);
    }
}
