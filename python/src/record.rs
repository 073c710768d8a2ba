//! Recordings: MCAP files that are read and written. `record_bus` records topics and plays files.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use situ_bus::{Encoding, TypeDescription};
use situ_record::{
    Channel, Compression, End, Filter, Messages, Reader, Selection, TopicWriter, WriterOptions, Written,
    bus_encoding, bus_topic, read_type,
};

use crate::errors::Kind as Error;
use crate::info::encoding_name;
use crate::process;
use crate::sync::lock;
use crate::types::TypeHandle;

/// A channel: topic, type, encoding of the messages, encoding on the bus, publisher, node, messages.
type ChannelTuple = (String, String, String, Option<&'static str>, String, String, u64);

/// A file that is read.
#[pyclass(frozen, module = "situ._native", name = "RecordReader")]
pub struct RecordReader {
    reader: Reader,
    /// The numbers of the channels in the file, in the order of `channels`.
    ids: Vec<u16>,
}

#[pymethods]
impl RecordReader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let reader = process::detached(py, || Reader::open(&path));
        let reader = reader.map_err(|error| Error::Record.error(py, error))?;
        let ids = reader.channels().keys().copied().collect();
        Ok(Self { reader, ids })
    }

    /// `(profile, library, size, messages, start, end, is_complete)`.
    fn summary(&self) -> (&str, &str, u64, u64, u64, u64, bool) {
        let Self { reader, .. } = self;
        let counts = reader.statistics();
        (
            reader.profile(),
            reader.library(),
            reader.size(),
            counts.messages,
            counts.start_time,
            counts.end_time,
            *reader.end() == End::Whole,
        )
    }

    /// Parts that cannot be read.
    fn problems(&self) -> Vec<String> {
        self.reader.problems().to_vec()
    }

    /// The channels.
    fn channels(&self) -> Vec<ChannelTuple> {
        let counts = &self.reader.statistics().channel_messages;
        let of = |channel: &Channel| {
            let said = |key: &str| channel.metadata.get(key).cloned().unwrap_or_default();
            let type_name =
                self.reader.schemas().get(&channel.schema_id).map(|it| it.name.replace('/', "::"));
            (
                bus_topic(channel).to_owned(),
                type_name.unwrap_or_default(),
                channel.message_encoding.clone(),
                bus_encoding(channel).map(encoding_name),
                said("situ.publisher"),
                said("situ.node"),
                counts.get(&channel.id).copied().unwrap_or(0),
            )
        };
        self.reader.channels().values().map(|channel| of(channel)).collect()
    }

    /// The name and the canonical schema of the type of the channel with this index.
    fn type_of(&self, py: Python<'_>, index: usize) -> PyResult<(String, String)> {
        let channel = self.ids.get(index).and_then(|id| self.reader.channels().get(id));
        let schema = channel.and_then(|channel| self.reader.schemas().get(&channel.schema_id));
        let Some(schema) = schema else {
            let topic = channel.map_or("", |channel| bus_topic(channel));
            return Err(Error::Schema.error(py, format!("the messages of {topic:?} have no type")));
        };
        match read_type(&schema.encoding, &schema.name, &schema.data) {
            Ok((types, root)) => Ok((types.name(root).to_string(), types.canonical(root))),
            Err(error) => Err(Error::Schema.error(py, error)),
        }
    }

    /// The messages of topics (all, without patterns) and times, in the order of their log times.
    #[pyo3(signature = (topics, start, end))]
    fn messages(&self, topics: Option<Vec<String>>, start: Option<u64>, end: Option<u64>) -> RecordMessages {
        let selection = topics.map(|topics| Selection::patterns(&topics, &[]));
        let wants = selection.map(|selection| -> situ_record::Wants<'static> {
            Box::new(move |channel| selection.has(bus_topic(channel)))
        });
        let messages = self.reader.messages(Filter { from: start, until: end, channel: wants });
        RecordMessages { messages: Mutex::new(messages), ids: self.ids.clone() }
    }
}

/// The messages of a file.
#[pyclass(frozen, module = "situ._native", name = "RecordMessages")]
pub struct RecordMessages {
    messages: Mutex<Messages<'static>>,
    ids: Vec<u16>,
}

/// A message: the index of its channel, sequence, log time, publish time, data.
type MessageTuple<'py> = (usize, u32, u64, u64, Bound<'py, PyBytes>);

#[pymethods]
impl RecordMessages {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<MessageTuple<'py>>> {
        // Without the GIL, because a chunk may have to be read and decompressed. The lock is released before
        // the GIL is taken again.
        let next = process::detached(py, || lock(&self.messages).next());
        let Some(message) = next else { return Ok(None) };
        let message = message.map_err(|error| Error::Record.error(py, error))?;
        let Ok(channel) = self.ids.binary_search(&message.channel.id) else {
            let id = message.channel.id;
            let text = format!("a message is of channel {id}, which the summary of the file does not have");
            return Err(Error::Record.error(py, text));
        };
        let data = PyBytes::new(py, message.data());
        Ok(Some((channel, message.sequence, message.log_time, message.publish_time, data)))
    }
}

/// What the keyword arguments say about how a file is written.
pub fn writer_options(
    py: Python<'_>,
    compression: &str,
    overwrite: bool,
    checksums: bool,
) -> PyResult<WriterOptions> {
    let compression: Compression = compression.parse().map_err(|error| Error::Conversion.error(py, error))?;
    Ok(WriterOptions {
        profile: "ros2".into(),
        compression,
        overwrite,
        checksums,
        ..WriterOptions::default()
    })
}

/// The error of what was written, if there is one.
pub fn written_error(py: Python<'_>, written: &Written) -> Option<PyErr> {
    let error = written.error.as_ref()?;
    let missing = match written.unwritten {
        0 => String::new(),
        missing => format!("{missing} messages are not in the file: "),
    };
    Some(Error::Record.error(py, format!("{missing}{error}")))
}

/// A file that is written.
#[pyclass(frozen, module = "situ._native", name = "RecordWriter")]
pub struct RecordWriter {
    writer: Mutex<Option<TopicWriter>>,
    process: process::Process,
}

impl RecordWriter {
    /// Calls an operation of the writer without the GIL: it may wait for the disk.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut TopicWriter) -> R + Send,
    ) -> PyResult<R> {
        self.process.check(py, "the recording")?;
        let result = process::detached(py, || lock(&self.writer).as_mut().map(operation));
        result.ok_or_else(|| Error::Released.error(py, "the recording is finished"))
    }
}

#[pymethods]
impl RecordWriter {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        compression: &str,
        overwrite: bool,
        checksums: bool,
    ) -> PyResult<Self> {
        let options = writer_options(py, compression, overwrite, checksums)?;
        let writer = process::detached(py, || TopicWriter::create(&path, options));
        let writer = writer.map_err(|error| Error::Record.error(py, error))?;
        Ok(Self { writer: Mutex::new(Some(writer)), process: process::Process::this() })
    }

    /// Adds a topic, and returns its number.
    fn add_topic(&self, py: Python<'_>, name: &str, handle: &TypeHandle, encoding: &str) -> PyResult<u16> {
        let schema = &handle.types.schema;
        let encoding = match encoding {
            "flat" => Encoding::Flat,
            "cdr" => Encoding::Xcdr1,
            "region" => Encoding::Region,
            other => {
                let text = format!("there is no storage {other:?}: use flat, cdr or region");
                return Err(Error::Conversion.error(py, text));
            }
        };
        let description = TypeDescription {
            name: schema.name(handle.id).to_string(),
            schema: schema.canonical(handle.id),
            schema_hash: schema.schema_hash(handle.id),
            layout_hash: schema.layout_hash(handle.id),
            encoding,
            fixed_size: 0,
            user_header_size: 0,
        };
        let added = self.with(py, |writer| writer.add_topic(name, &description))?;
        added.map_err(|error| Error::Record.error(py, error))
    }

    /// Adds a message: CDR with its header, or the image of a region.
    fn write(
        &self,
        py: Python<'_>,
        topic: u16,
        data: &[u8],
        log_time: Option<u64>,
        publish_time: Option<u64>,
    ) -> PyResult<()> {
        let added = self.with(py, |writer| writer.write(topic, data, log_time, publish_time))?;
        added.map_err(|error| Error::Record.error(py, error))
    }

    /// Whether it is a file of this process that is not finished.
    fn is_open(&self, py: Python<'_>) -> bool {
        self.process.is_this() && process::detached(py, || lock(&self.writer).is_some())
    }

    /// Waits until all messages are in the file.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let flushed = self.with(py, |writer| writer.writer().flush_and_wait())?;
        flushed.map_err(|error| Error::Record.error(py, error))
    }

    /// Ends the file. Returns the number of messages, and the size of the file. Later calls return `None`.
    fn finish(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        self.process.check(py, "the recording")?;
        // Another thread may have the lock and wait for the disk.
        let written = process::detached(py, || {
            let writer = lock(&self.writer).take();
            writer.map(TopicWriter::finish)
        });
        let Some(written) = written else { return Ok(None) };
        match written_error(py, &written) {
            Some(error) => Err(error),
            None => {
                let files = written.files.iter();
                let sums = files.map(|file| (file.statistics.messages, file.bytes));
                Ok(Some(sums.fold((0, 0), |sum, file| (sum.0 + file.0, sum.1 + file.1))))
            }
        }
    }
}
