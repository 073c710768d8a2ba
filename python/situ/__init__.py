"""Messages in shared memory between processes.

A node publishes and subscribes to topics. A message lies in shared memory, and every process reads it in
place. Its numbers are numpy arrays, without a copy::

    import situ

    with situ.Node("detector") as node:
        for image in node.subscriber("camera/image"):
            with image:
                print(image.pixels.mean())
"""

from __future__ import annotations

import atexit as _atexit
import os as _os
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import _native
from ._errors import (
    BorrowedError,
    CallError,
    ConversionError,
    Error,
    ForkedError,
    MalformedError,
    NotFoundError,
    PublishError,
    RecordError,
    RefusedError,
    RegionFullError,
    RegisterError,
    ReleasedError,
    SchemaError,
    TakeError,
    HeldError,
    TimeoutError,
    UnknownKeyError,
)
from ._native import (
    Array,
    DeviceArray,
    Event,
    GuardCondition,
    ListView,
    MessageInfo,
    Request,
    Schema,
    Timer,
    Type,
    Union,
    copies,
    now_ns,
)
from ._blackboard import BlackboardReader, BlackboardWriter
from ._interface import Interface, InterfaceServer, RaisedError
from ._node import Node
from ._service import Client, Server, Service
from ._topic import Publisher, Subscriber
from ._types import Message

if _TYPE_CHECKING:
    from ._debug import debug
    from ._execute import Executor, WaitSet
    from ._graph import graph, topics
    from ._image import image
    from ._record import Record, RecordChannel, RecordMessage, RecordWriter, Recording, open_record, play, record

__version__: str = _native.__version__

# Objects of the parent are of no use in a forked child, and say so.
_os.register_at_fork(after_in_child=_native.after_fork_in_child)
# Threads that still wait do not disturb the end of the interpreter.
_atexit.register(_native.at_exit)

if _os.environ.get("SITU_PYTHON_DEBUG", "0") not in ("", "0"):
    _native.note_places(True)

#: Names that are imported when they are first used, so that `import situ` stays quick.
_LATER = {
    "debug": "_debug",
    "graph": "_graph",
    "topics": "_graph",
    "image": "_image",
    "Executor": "_execute",
    "WaitSet": "_execute",
    "Record": "_record",
    "RecordChannel": "_record",
    "RecordMessage": "_record",
    "RecordWriter": "_record",
    "Recording": "_record",
    "open_record": "_record",
    "play": "_record",
    "record": "_record",
}


def __getattr__(name: str) -> _Any:
    module = _LATER.get(name)
    if name in ("trace",):
        import importlib

        return importlib.import_module("." + name, __name__)
    if module is None:
        raise AttributeError(f"module 'situ' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module("." + module, __name__), name)
    globals()[name] = value
    return value


__all__ = [
    "Array",
    "BlackboardReader",
    "BlackboardWriter",
    "BorrowedError",
    "CallError",
    "Client",
    "ConversionError",
    "DeviceArray",
    "Error",
    "Event",
    "Executor",
    "ForkedError",
    "GuardCondition",
    "HeldError",
    "Interface",
    "InterfaceServer",
    "ListView",
    "MalformedError",
    "Message",
    "MessageInfo",
    "Node",
    "NotFoundError",
    "PublishError",
    "Publisher",
    "RaisedError",
    "Record",
    "RecordChannel",
    "RecordError",
    "RecordMessage",
    "RecordWriter",
    "Recording",
    "RefusedError",
    "RegionFullError",
    "RegisterError",
    "ReleasedError",
    "Request",
    "Schema",
    "SchemaError",
    "Server",
    "Service",
    "Subscriber",
    "TakeError",
    "TimeoutError",
    "Timer",
    "Type",
    "Union",
    "UnknownKeyError",
    "WaitSet",
    "copies",
    "debug",
    "graph",
    "image",
    "now_ns",
    "open_record",
    "play",
    "record",
    "topics",
]
