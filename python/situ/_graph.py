"""What a root contains: nodes with their endpoints, and topics."""

from __future__ import annotations

import html
import os
from typing import Any, List, NamedTuple, Optional, Union

from . import _native

Path = Optional[Union[str, "os.PathLike[str]"]]


class Endpoint(NamedTuple):
    """A publisher, subscriber, client or server."""

    role: str
    name: str
    type: str
    id: str


class NodeInfo(NamedTuple):
    """A node and its endpoints."""

    name: str
    id: str
    pid: int
    endpoints: List[Endpoint]


class TopicInfo(NamedTuple):
    """A topic."""

    name: str
    type: str
    schema: str
    encoding: str
    published: int
    publishers: int
    subscribers: int
    memory_bytes: int

    def _repr_html_(self) -> str:
        rows = [("type", self.type), ("encoding", self.encoding), ("published", self.published)]
        rows += [("publishers", self.publishers), ("subscribers", self.subscribers), ("memory", f"{self.memory_bytes} bytes")]
        cells = "".join(f"<tr><th style='text-align:left'>{k}</th><td>{html.escape(str(v))}</td></tr>" for k, v in rows)
        return f"<table><caption>{html.escape(self.name)}</caption>{cells}</table>"


def graph(root: Path = None) -> List[NodeInfo]:
    """The living nodes of a root, by name. Without `root`, it is the one of the environment."""
    found: List[Any] = _native.read_graph(root)
    return [NodeInfo(it["name"], it["id"], it["pid"], [Endpoint(**e) for e in it["endpoints"]]) for it in found]


def topics(root: Path = None) -> List[TopicInfo]:
    """The topics of a root, by name."""
    return [TopicInfo(**it) for it in _native.read_topics(root)]
