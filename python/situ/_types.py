"""The classes of messages, which are made for each type when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

from . import _native

#: How many elements and characters `repr` shows.
_SHOWN = 6
_WIDTH = 60


class Member(_native.Member):
    __slots__ = ()
    # Each member has its own.
    __doc__ = property(lambda self: self.doc)


class Message(_native.Struct):
    """The base of the classes of all messages, and of the structs in them.

    Members are attributes, and also items: ``message["width"]``. If a member has the name of a method, the
    attribute is the member, and ``situ.Message.copy(message)`` calls the method.

    >>> Point = situ.Schema(text="struct Point { double x; double y; };").find("Point").cls
    >>> p = Point(x=1.5)
    >>> p
    Point(x=1.5, y=0.0)
    >>> p.y = 2
    >>> p.to_dict()
    {'x': 1.5, 'y': 2.0}
    """

    __slots__ = ()

    if TYPE_CHECKING:
        # Members are attributes. Only the schema knows their names.
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, **members: Any) -> None:
        _native.Struct._begin(self, type(self).__situ__, members, None)

    def __repr__(self) -> str:
        name = type(self).__name__
        if _native.Struct.is_released.__get__(self):
            return f"<{name}, released>"
        items = _native.Struct._items(self)
        return f"{name}({', '.join(f'{key}={shown(value)}' for key, value in items)})"

    def _repr_html_(self) -> str:
        import html

        name = html.escape(type(self).__situ__.name)
        if _native.Struct.is_released.__get__(self):
            return f"<i>{name}, released</i>"
        rows = [
            f"<tr><th style='text-align:left'>{html.escape(key)}</th><td>{_cell(value)}</td></tr>"
            for key, value in _native.Struct._items(self)
        ]
        return f"<table><caption>{name}</caption>{''.join(rows)}</table>{_picture(self)}"


def shown(value: Any) -> str:
    """A value in so few characters that a message fits a screen."""
    shape = getattr(value, "shape", None)
    if shape is not None and not isinstance(value, Message):
        dtype = getattr(value, "dtype", None) or value.typestr
        count = 1
        for length in shape:
            count *= length
        if count <= _SHOWN and getattr(dtype, "names", None) is None:
            return str(value.tolist())
        lengths = "x".join(str(length) for length in shape)
        kind = "struct" if getattr(dtype, "names", None) else dtype
        return f"<{lengths} {kind}>"
    if isinstance(value, str) and len(value) > _WIDTH:
        return f"{value[:_WIDTH]!r}... ({len(value)} characters)"
    if isinstance(value, list) and len(value) > _SHOWN:
        return f"[{', '.join(shown(it) for it in value[:_SHOWN])}, ... {len(value)} elements]"
    if isinstance(value, list):
        return f"[{', '.join(shown(it) for it in value)}]"
    return repr(value)


def _cell(value: Any) -> str:
    import html

    if isinstance(value, Message):
        return Message._repr_html_(value)
    return html.escape(shown(value))


def _picture(message: Message) -> str:
    from ._image import picture_of

    return picture_of(message)


def make_class(handle: _native.Type) -> Any:
    """The class of a struct, enum or bitmask. Called once for each type."""
    scope, _, name = handle.name.rpartition("::")
    module = "situ.types." + scope.replace("::", ".") if scope else "situ.types"
    if handle.kind in ("enum", "bitmask"):
        return _make_enum(handle, name, module)
    attributes: Dict[str, Any] = {
        "__slots__": (),
        "__situ__": handle,
        "__module__": module,
        "__doc__": _docs(handle),
        "__annotations__": {},
    }
    names: List[str] = []
    for index, (member, text, unit) in enumerate(handle.members):
        names.append(member)
        # Names of Python's own methods are reached as items only.
        if not (member.startswith("__") and member.endswith("__")):
            attributes[member] = Member(index, member, text + (f" [{unit}]" if unit else ""))
    attributes["__match_args__"] = tuple(names)
    return type(name, (Message,), attributes)


def _docs(handle: _native.Type) -> str:
    lines = [handle.docs, ""] if handle.docs else []
    lines += [f"{name}: {text}" + (f" [{unit}]" if unit else "") for name, text, unit in handle.members]
    return "\n".join([f"{handle.name}", ""] + lines)


def _make_enum(handle: _native.Type, name: str, module: str) -> Any:
    import enum

    base: Any = enum.IntEnum if handle.kind == "enum" else enum.IntFlag
    made = base(name, handle._enumerators, module=module)
    made.__situ__ = handle
    return made


def restore_type(name: str, schema: str) -> _native.Type:
    """For pickle: the type of this name."""
    return _native.type_of(name, schema)


def restore_message(handle: _native.Type, data: bytes) -> Any:
    """For pickle: a message."""
    return handle.from_cdr(data)
