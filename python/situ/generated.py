"""What code uses that `situ gen --lang python` wrote: bases of its classes, and types for checkers."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING, Any, Dict, Generic, Mapping, Optional, Tuple, Type, TypeVar, cast

from . import _native
from ._interface import Interface, InterfaceAsyncClient, InterfaceClient, Operation, RaisedError
from ._service import Service
from ._types import Member
from ._types import Message as _Message

INFINITY = math.inf
NAN = math.nan

#: The classes of generated code, by the package around them and the name in the schema.
_classes: Dict[Tuple[str, str], Any] = {}
#: The modules of generated code, by the package around them and the module of the schema.
_modules: Dict[Tuple[str, str], str] = {}

if TYPE_CHECKING:
    from typing import Awaitable as _Awaitable
    from typing import Union as _Either, overload

    import numpy as _np
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import NDArray as _NDArray

    BoolArray = _NDArray[_np.bool_]
    Int8Array = _NDArray[_np.int8]
    UInt8Array = _NDArray[_np.uint8]
    Int16Array = _NDArray[_np.int16]
    UInt16Array = _NDArray[_np.uint16]
    Int32Array = _NDArray[_np.int32]
    UInt32Array = _NDArray[_np.uint32]
    Int64Array = _NDArray[_np.int64]
    UInt64Array = _NDArray[_np.uint64]
    Float32Array = _NDArray[_np.float32]
    Float64Array = _NDArray[_np.float64]

    _T = TypeVar("_T")
    #: What a server's method returns: a value, or a coroutine that gives it.
    Result = _Either[_T, _Awaitable[_T]]

    _Read = TypeVar("_Read")
    _Written = TypeVar("_Written")
    _Self = TypeVar("_Self")

    class Field(Generic[_Read, _Written]):
        """A member to which more may be assigned than is read: a list to an array, a name to an enum."""

        @overload
        def __get__(self, message: None, owner: Any) -> Member: ...
        @overload
        def __get__(self, message: object, owner: Any) -> _Read: ...
        def __get__(self, message: Any, owner: Any) -> _Either[Member, _Read]: ...
        def __set__(self, message: Any, value: _Written) -> None: ...

    # Members are declared one by one, so that checkers find names that do not exist.
    _Base = _native.Struct
else:
    _Base = _Message

_E = TypeVar("_E", bound="Enum")
_U = TypeVar("_U", bound="Union")


class Message(_Base):
    """The base of generated classes of messages."""

    __slots__ = ()
    #: Names of attributes that are not those of the members, because Python has these.
    __situ_renamed__: Mapping[str, str] = {}

    if not TYPE_CHECKING:

        def __init__(self, **members: Any) -> None:
            renamed = type(self).__situ_renamed__
            if renamed:
                members = {renamed.get(name, name): value for name, value in members.items()}
            _native.Struct._begin(self, type(self).__situ__, members, None)


class Enum(enum.IntEnum):
    """The base of generated enums. Messages may have values that the schema does not name: they have a number
    as name."""

    @classmethod
    def _unknown(cls: Type[_E], value: int) -> _E:
        made = int.__new__(cls, value)
        made._name_ = str(value)
        made._value_ = value
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restore_enum, (type(self), int(self))


def _restore_enum(cls: Any, value: int) -> Any:
    try:
        return cls(value)
    except ValueError:
        return cls._unknown(value)


class Bitmask(enum.IntFlag):
    """The base of generated bitmasks."""


class Union(_native.Union):
    """The base of generated unions. Each case has a class of its own, which is derived from the union's:

    `match message.shape: case Shape_circle(value=circle): ...`
    """

    __slots__ = ()
    #: The case of this class.
    __situ_case__: Optional[str] = None
    #: The classes of a union's cases.
    __situ_cases__: Dict[str, Any] = {}

    if TYPE_CHECKING:

        def __new__(cls: Type[_U], value: Any = None, discriminator: Any = None) -> _U: ...

    else:

        def __new__(cls, value: Any = None, discriminator: Any = None) -> Any:
            return _native.Union.__new__(cls, cls.__situ_case__, value, discriminator)

        def __init_subclass__(cls) -> None:
            if cls.__situ_case__ is None:
                cls.__situ_cases__ = {}
            else:
                cls.__situ_cases__[cls.__situ_case__] = cls

        def __reduce__(self) -> Any:
            return type(self), (self.value, self.discriminator)

    def __repr__(self) -> str:
        if self.case is None:
            return f"{type(self).__name__}(discriminator={self.discriminator!r})"
        return f"{type(self).__name__}({self.value!r})"


def bind(module: str, depth: int, classes: Mapping[str, Any], modules: Mapping[str, str], text: str) -> None:
    """Binds classes to their types. Called once by each generated module.

    `depth` is of how many packages a module of the schema consists, without the packages around all of them.
    `modules` says where the types are that these need, and `text` is the schema.
    """
    family = ".".join(module.split(".")[:-depth])
    for scope, path in modules.items():
        _modules[family, scope] = f"{family}.{path}" if family else path
    schema = _native.Schema(text=text) if text else None
    for name, cls in classes.items():
        _classes[family, name] = cls
        if schema is not None:
            cls.__situ__ = schema.bind(name, family, cls)


def find_class(family: str, name: str, schema_hash: int) -> Any:
    """The class of a type, if it was generated from the same definition; None otherwise."""
    cls = _classes.get((family, name))
    if cls is None:
        path = _modules.get((family, name.rpartition("::")[0]))
        if path is None:
            return None
        import importlib

        try:
            importlib.import_module(path)
        except ImportError:
            return None
        cls = _classes.get((family, name))
    handle = getattr(cls, "__situ__", None)
    return cls if handle is not None and handle.schema_hash == schema_hash else None


def restore_handle(cls: Any) -> _native.Type:
    """For pickle: the type of a generated class."""
    return cast(_native.Type, cls.__situ__)


__all__ = [
    "Bitmask",
    "Enum",
    "Interface",
    "InterfaceAsyncClient",
    "InterfaceClient",
    "Member",
    "Message",
    "Operation",
    "RaisedError",
    "Service",
    "Union",
    "bind",
]
