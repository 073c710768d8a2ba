//! The common part of all systems: the driver's protocol, and timing in batches.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

/// The number of different messages in a batch.
pub const MESSAGES: usize = 64;

/// The result of an operation. The driver gets the text of an error.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// The words of a `run` command.
pub struct Parameters {
    values: BTreeMap<String, String>,
}

impl Parameters {
    fn parse(words: &str) -> Self {
        let pairs = words.split_whitespace().filter_map(|word| word.split_once('='));
        Self { values: pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect() }
    }

    /// The value of this name, or an empty text.
    pub fn text(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// The number of samples.
    pub fn rounds(&self) -> usize {
        self.text("rounds").parse().unwrap_or(1)
    }
}

type Operation = Box<dyn FnMut(&Parameters) -> Outcome<Vec<f64>>>;

/// The operations of a system, by name.
#[derive(Default)]
pub struct Suite {
    operations: BTreeMap<String, Operation>,
}

impl Suite {
    /// Adds an operation. The name of an operation on a data set begins with the set's name: `log/read`.
    pub fn add(&mut self, name: &str, operation: impl FnMut(&Parameters) -> Outcome<Vec<f64>> + 'static) {
        self.operations.insert(name.to_owned(), Box::new(operation));
    }

    /// Executes the commands on standard input until its end.
    pub fn serve(mut self) -> Outcome<()> {
        let mut output = std::io::stdout().lock();
        writeln!(output, "ok")?;
        for line in std::io::stdin().lock().lines() {
            let parameters = Parameters::parse(&line?);
            let name = match parameters.text("set") {
                "" => parameters.text("op").to_owned(),
                set => format!("{set}/{}", parameters.text("op")),
            };
            // An operation that the system does not offer has no samples.
            let samples =
                self.operations.get_mut(&name).map_or_else(|| Ok(Vec::new()), |run| run(&parameters));
            match samples {
                Ok(samples) => {
                    let words: Vec<String> = samples.iter().map(|sample| format!(" {sample:.2}")).collect();
                    writeln!(output, "samples{}", words.concat())?;
                }
                Err(error) => writeln!(output, "error {}", error.to_string().replace('\n', " "))?,
            }
        }
        Ok(())
    }
}

/// The nanoseconds of one operation, one sample for each round. A sample is the mean over a batch with one
/// operation on each message. `prepare` is not timed.
pub fn timed<S>(
    parameters: &Parameters,
    state: &mut S,
    mut prepare: impl FnMut(&mut S),
    mut body: impl FnMut(&mut S, usize) -> Outcome<()>,
) -> Outcome<Vec<f64>> {
    (0..parameters.rounds())
        .map(|_| {
            prepare(state);
            let begin = Instant::now();
            for i in 0..MESSAGES {
                body(black_box(&mut *state), i)?;
            }
            Ok(begin.elapsed().as_nanos() as f64 / MESSAGES as f64)
        })
        .collect()
}

/// The nanoseconds of one operation on a whole data set.
pub fn timed_whole(parameters: &Parameters, mut body: impl FnMut() -> Outcome<()>) -> Outcome<Vec<f64>> {
    (0..parameters.rounds())
        .map(|_| {
            let begin = Instant::now();
            body()?;
            Ok(begin.elapsed().as_nanos() as f64)
        })
        .collect()
}

/// The mean size of messages, plain and compressed by zlib, and a checksum over all their bytes.
pub fn sizes<'a>(messages: impl ExactSizeIterator<Item = &'a [u8]>) -> Outcome<Vec<f64>> {
    let count = messages.len() as f64;
    let (mut plain, mut compressed) = (0, 0);
    let mut checksum = flate2::Crc::new();
    for bytes in messages {
        plain += bytes.len();
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(bytes)?;
        compressed += encoder.finish()?.len();
        checksum.update(bytes);
    }
    Ok(vec![plain as f64 / count, compressed as f64 / count, f64::from(checksum.sum())])
}

/// Bytes at a multiple of 16, like received messages.
#[derive(Clone, Default)]
pub struct Aligned {
    words: Vec<u128>,
    len: usize,
}

impl Aligned {
    /// Copies the bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let mut made = Self { words: vec![0; bytes.len().div_ceil(16)], len: bytes.len() };
        made.as_mut().copy_from_slice(bytes);
        made
    }
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the words have at least `len` bytes, and all bit patterns are valid bytes.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }
}

impl AsMut<[u8]> for Aligned {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above. The words are borrowed exclusively, and all bit patterns are valid words.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len) }
    }
}

/// Received messages: the original bytes, and buffers into which they are copied again before each batch,
/// with room behind them.
pub struct Received {
    pristine: Vec<Vec<u8>>,
    buffers: Vec<Aligned>,
}

impl Received {
    /// The room behind each message, as in the C++ suite.
    const EXTRA: usize = 4096;

    /// Messages of these bytes.
    pub fn new(pristine: Vec<Vec<u8>>) -> Self {
        let buffers = pristine.iter().map(|bytes| Aligned::new(&[bytes, &[0; Self::EXTRA][..]].concat()));
        Self { buffers: buffers.collect(), pristine }
    }

    /// Copies all messages into their buffers again.
    pub fn restore(&mut self) {
        for (buffer, bytes) in self.buffers.iter_mut().zip(&self.pristine) {
            buffer.as_mut()[..bytes.len()].copy_from_slice(bytes);
        }
    }

    /// The buffer that begins with this message.
    pub fn buffer(&mut self, i: usize) -> &mut [u8] {
        self.buffers[i].as_mut()
    }
}
