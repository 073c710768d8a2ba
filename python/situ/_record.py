"""Recordings: MCAP files that a program reads, writes, records and plays."""

from __future__ import annotations

import atexit
import os
import traceback
import warnings
import weakref
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _native
from ._errors import RecordError, SchemaError
from ._node import Node, SchemaLike, TypeLike, find_type

PathLike = Union[str, "os.PathLike[str]"]
Topics = Union[str, Iterable[str], None]


#: Files that a program writes. At the end of the interpreter not every object is deleted, and what it has not
#: written would be lost.
_open: "weakref.WeakSet[_Ending]" = weakref.WeakSet()


class _Ending:
    """What writes a file. One that is dropped, or that is there when the interpreter ends, is ended, and warns."""

    _handle: Union[_native.RecordWriter, _native.Recorder]

    def _end(self) -> None:
        raise NotImplementedError

    def _end_late(self) -> None:
        # Without a handle, it could not be made. In a forked child, the file is its parent's.
        handle = getattr(self, "_handle", None)
        if handle is not None and handle.is_open():
            try:
                warnings.warn(f"{self!r} was dropped before its end", ResourceWarning, source=self)
            finally:
                self._end()

    def __del__(self) -> None:
        self._end_late()


@atexit.register
def _end_all() -> None:
    for it in list(_open):
        try:
            it._end_late()
        except Exception:
            traceback.print_exc()


def _patterns(topics: Topics) -> List[str]:
    if topics is None:
        return []
    return [topics] if isinstance(topics, str) else list(topics)


class RecordChannel:
    """The messages of one publisher of a topic."""

    __slots__ = ("topic", "message_encoding", "encoding", "publisher", "node", "messages", "_name", "_index", "_record", "_type")

    #: The topic's name on the bus.
    topic: str
    #: The encoding of the messages in the file: ``cdr``, or ``situ-region``.
    message_encoding: str
    #: The encoding on the bus: ``flat``, ``xcdr1``, ``xcdr2`` or ``region``; None if it is not known.
    encoding: Optional[str]
    #: The id of the publisher, and its node; empty if they are not known.
    publisher: str
    node: str
    #: How many messages there are.
    messages: int

    def __init__(self, record: "Record", index: int, of: Tuple[Any, ...]) -> None:
        self.topic, name, self.message_encoding, self.encoding, self.publisher, self.node, self.messages = of
        self._name: str = name
        self._record, self._index = record, index
        self._type: Optional[_native.Type] = None

    @property
    def type_name(self) -> str:
        """The name of the type; empty without one."""
        try:
            return self.type.name
        except SchemaError:
            return self._name

    @property
    def type(self) -> _native.Type:
        """The type, by the definition in the file. SchemaError if it cannot be read."""
        if self._type is None:
            self._type = _native.type_of(*self._record._reader.type_of(self._index))
        return self._type

    def decode(self, data: bytes) -> Any:
        """A message of these bytes."""
        if self.message_encoding == "situ-region":
            return self.type.view_region(data)
        if self.message_encoding != "cdr":
            raise RecordError(f"the messages of {self.topic} are encoded as {self.message_encoding!r}: Situ reads cdr and situ-region")
        return self.type.from_cdr(data)

    def __repr__(self) -> str:
        return f"<RecordChannel {self.topic!r}: {self.messages} messages of {self.type_name}>"


class RecordMessage:
    """A message of a file. It is decoded when `value` is first asked for."""

    __slots__ = ("channel", "sequence", "log_time_ns", "publish_time_ns", "data", "_value")

    #: Its channel.
    channel: RecordChannel
    #: Its number among those of its publisher, modulo 2**32.
    sequence: int
    #: When it was recorded, and when it was published, in nanoseconds since 1970.
    log_time_ns: int
    publish_time_ns: int
    #: Its bytes, in the encoding of its channel.
    data: bytes

    def __init__(self, channel: RecordChannel, sequence: int, log_time: int, publish_time: int, data: bytes) -> None:
        self.channel, self.sequence, self.data = channel, sequence, data
        self.log_time_ns, self.publish_time_ns = log_time, publish_time
        self._value: Any = None

    @property
    def topic(self) -> str:
        """The topic's name on the bus."""
        return self.channel.topic

    @property
    def value(self) -> Any:
        """The message, as a subscriber gives it."""
        if self._value is None:
            self._value = self.channel.decode(self.data)
        return self._value

    def __repr__(self) -> str:
        return f"<RecordMessage {self.sequence} of {self.topic!r} at {self.log_time_ns} ns, {len(self.data)} bytes>"


class Record:
    """A recording that is read: see `open_record`. Iterating gives all messages, in the order of their times."""

    def __init__(self, path: PathLike) -> None:
        self._reader = _native.RecordReader(os.fspath(path))
        (
            self.profile,
            self.library,
            self.size,
            self._messages,
            self.start_time_ns,
            self.end_time_ns,
            self.is_complete,
        ) = self._reader.summary()
        #: The channels, one for each publisher of a topic.
        self.channels = [RecordChannel(self, index, of) for index, of in enumerate(self._reader.channels())]

    @property
    def topics(self) -> Dict[str, str]:
        """The topics, by name, each with the name of its type."""
        return {channel.topic: channel.type_name for channel in self.channels}

    @property
    def problems(self) -> List[str]:
        """Parts of the file that cannot be read."""
        return self._reader.problems()

    def __len__(self) -> int:
        return self._messages

    def messages(
        self, topics: Topics = None, *, start_ns: Optional[int] = None, end_ns: Optional[int] = None
    ) -> Iterator[RecordMessage]:
        """The messages of some topics, from one log time to before another.

        `topics` is a name or a pattern (``camera/**``), or several. A damaged part raises RecordError; the
        next call of ``next`` goes on behind it.
        """
        found = self._reader.messages(None if topics is None else _patterns(topics), start_ns, end_ns)
        return _Messages(self.channels, found)

    def __iter__(self) -> Iterator[RecordMessage]:
        return self.messages()

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"<Record of {len(self)} messages on {len(self.topics)} topics>"


class _Messages:
    """Not a generator, which would end with its first exception."""

    __slots__ = ("_channels", "_found")

    def __init__(self, channels: List[RecordChannel], found: Iterator[Tuple[int, int, int, int, bytes]]) -> None:
        self._channels, self._found = channels, found

    def __iter__(self) -> "_Messages":
        return self

    def __next__(self) -> RecordMessage:
        channel, sequence, log_time, publish_time, data = next(self._found)
        return RecordMessage(self._channels[channel], sequence, log_time, publish_time, data)


def open_record(path: PathLike) -> Record:
    """Opens a recording, also one that was not finished.

    >>> with situ.open_record("drive.mcap") as record:         # doctest: +SKIP
    ...     for message in record.messages("camera/*"):
    ...         print(message.topic, message.value.width)
    """
    return Record(path)


class RecordWriter(_Ending):
    """Writes a recording of a program's own messages.

    >>> with situ.RecordWriter("numbers.mcap") as writer:      # doctest: +SKIP
    ...     writer.add_topic("numbers", Number)
    ...     writer.write("numbers", Number(value=7))

    The end of the ``with`` block finishes the file, and raises RecordError if messages are missing in it.
    Without it, call `finish`. A writer that is dropped finishes the file, too, and warns.
    """

    _handle: _native.RecordWriter

    def __init__(
        self, path: PathLike, *, compression: str = "none", overwrite: bool = False, checksums: bool = False
    ) -> None:
        self._path = os.fspath(path)
        self._handle = _native.RecordWriter(self._path, compression, overwrite, checksums)
        _open.add(self)
        self._topics: Dict[str, Tuple[int, _native.Type, bool]] = {}

    def add_topic(
        self,
        topic: str,
        type: TypeLike,
        *,
        schema: SchemaLike = None,
        include: Iterable[Any] = (),
        storage: Optional[str] = None,
    ) -> None:
        """Adds a topic of a type: its class, its handle, or its name in a schema.

        `storage` is ``flat``, ``cdr`` or ``region``: what the messages become when the file is played. By
        default it is that of the type. Of regions, give the bytes of images.
        """
        handle = find_type(type, schema, include)
        if handle is None:
            raise SchemaError(f"the type of {topic} is not known: give a class of messages, or a name and its schema")
        chosen = storage or ("flat" if handle.is_flat else "cdr")
        self._topics[topic] = (self._handle.add_topic(topic, handle, chosen), handle, chosen == "region")

    def write(
        self, topic: str, message: Any, *, log_time_ns: Optional[int] = None, publish_time_ns: Optional[int] = None
    ) -> None:
        """Adds a message: one of the topic's class, a dict of members, or bytes (CDR with its header, or an image).

        The log time is now by default, and the publish time the log time. Both are nanoseconds since 1970.
        """
        known = self._topics.get(topic)
        if known is None:
            raise RecordError(f"the recording has no topic {topic!r}: add it first (`add_topic`)")
        number, handle, is_region = known
        if isinstance(message, (bytes, bytearray, memoryview)):
            data = bytes(message)
        elif is_region:
            raise RecordError(f"the messages of {topic} are regions: give the bytes of an image")
        else:
            data = handle.to_cdr(message)
        self._handle.write(number, data, log_time_ns, publish_time_ns)

    def flush(self) -> None:
        """Waits until all messages so far are in the file, not necessarily on the disk."""
        self._handle.flush()

    def finish(self) -> None:
        """Writes the rest and the summary. RecordError if messages are missing. Further calls do nothing."""
        self._handle.finish()

    _end = finish

    def __repr__(self) -> str:
        return f"<RecordWriter of {self._path!r}>"

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        self.finish()


class TopicCounts(NamedTuple):
    """What was recorded of a topic."""

    topic: str
    type: str
    messages: int
    bytes: int
    #: Messages that were published and not taken.
    lost: int
    #: Messages that could not be read.
    unreadable: int


class Recording(_Ending):
    """A recording of topics, which runs on a thread of its own: see `record`."""

    _handle: _native.Recorder

    def __init__(self, handle: _native.Recorder, node: Optional[Node], path: str) -> None:
        self._handle, self._node, self._path = handle, node, path
        _open.add(self)
        #: What was recorded, once it is stopped.
        self.topics: List[TopicCounts] = []
        self._unwritten = 0

    @property
    def missing(self) -> int:
        """How many messages are missing in the file, once it is stopped."""
        return self._unwritten + sum(it.lost + it.unreadable for it in self.topics)

    @property
    def has_ended(self) -> bool:
        """Whether it has ended: it was stopped, or writing failed, which `stop` raises."""
        return self._handle.has_ended()

    def stop(self) -> None:
        """Takes what was published until now, and ends the file.

        What is lost is warned of and counted. RecordError if writing failed. Further calls do nothing.
        """
        try:
            ended = self._handle.stop()
        finally:
            if self._node is not None:
                self._node.close()
        error = None
        if ended is not None:
            topics, self._unwritten, error = ended
            self.topics = [TopicCounts(*it) for it in topics]
        try:
            for text in self._handle.warnings():
                warnings.warn(text, RuntimeWarning, stacklevel=2)
        finally:
            if error is not None:
                raise error

    _end = stop

    def __repr__(self) -> str:
        return f"<Recording into {self._path!r}>"

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        self.stop()


def record(
    path: PathLike,
    topics: Topics = None,
    *,
    exclude: Topics = None,
    services: bool = False,
    project: bool = False,
    compression: str = "none",
    overwrite: bool = False,
    checksums: bool = False,
    node: Optional[Node] = None,
) -> Recording:
    """Records topics until the end of the ``with`` block, on a thread of its own.

    >>> with situ.record("drive.mcap", ["camera/**", "imu"]) as recording:   # doctest: +SKIP
    ...     drive()
    >>> recording.missing                                                    # doctest: +SKIP
    0

    `topics` are names or patterns; without them, all. Topics that appear later are recorded, too. Publishers
    never wait for it: messages that are lost are counted, and warned of.
    """
    own = Node("recorder") if node is None else None
    try:
        handle = _native.Recorder(
            own or node,
            os.fspath(path),
            _patterns(topics),
            _patterns(exclude),
            services,
            project,
            compression,
            overwrite,
            checksums,
        )
    except BaseException:
        if own is not None:
            own.close()
        raise
    return Recording(handle, own, os.fspath(path))


def play(
    files: Union[PathLike, Iterable[PathLike]],
    topics: Topics = None,
    *,
    exclude: Topics = None,
    remap: Optional[Mapping[str, str]] = None,
    rate: float = 1.0,
    start_ns: Optional[int] = None,
    end_ns: Optional[int] = None,
    loop: bool = False,
    clock: Optional[float] = None,
    wait: float = 1.0,
    node: Optional[Node] = None,
) -> int:
    """Publishes the messages of files with the spacing that they had, and returns how many.

    `wait` is how many seconds to wait for a subscriber of each topic. `clock` publishes the time of the file
    so many times a second. What cannot be played is warned of.
    """
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    own = Node("player") if node is None else None
    try:
        played, problems = _native.play_files(
            own or node,
            [os.fspath(path) for path in paths],
            _patterns(topics),
            _patterns(exclude),
            dict(remap or {}),
            rate,
            (start_ns, end_ns),
            loop,
            clock,
            wait,
        )
    finally:
        if own is not None:
            own.close()
    for problem in problems:
        warnings.warn(problem, RuntimeWarning, stacklevel=2)
    return played
