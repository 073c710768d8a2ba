"""All that uses numpy. It is imported when an array is asked for, never before."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional, Sequence


def find_numpy() -> Optional[Callable[..., Any]]:
    """`numpy.asarray`, or None if numpy is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy.asarray


def dtype_of(cls: Any) -> Any:
    """The structured dtype of a class of messages that have a fixed size."""
    import numpy

    dtype = cls.__dict__.get("__dtype__")
    if dtype is None:
        layout = cls.__situ__.layout()
        formats = []
        for of, inner in layout["formats"]:
            base = of if isinstance(of, str) else dtype_of(of.cls)
            formats.append((base, tuple(inner)) if inner else base)
        dtype = numpy.dtype(
            {
                "names": layout["names"],
                "formats": formats,
                "offsets": layout["offsets"],
                "itemsize": layout["itemsize"],
            }
        )
        cls.__dtype__ = dtype
    return dtype


def count(value: Any, inner: Sequence[int]) -> int:
    """The number of elements of an array, if each has the lengths `inner`. Other dimensions are joined."""
    size, each = math.prod(value.shape), math.prod(inner)
    if each == 0 or size % each:
        raise ValueError(f"an array of shape {tuple(value.shape)} has no whole elements of shape {tuple(inner)}")
    return int(size // each)


def assign(target: Any, value: Any) -> None:
    """Copies an array, or a list of structs, into the memory of a message."""
    import numpy

    if target.dtype.names is not None and not hasattr(value, "dtype"):
        value = numpy.array([_row(target.dtype, it) for it in value], dtype=target.dtype)
    given = array(value)
    if given.size != target.size:
        raise ValueError(f"{given.size} numbers are given, and it has {target.size}")
    numpy.copyto(target.reshape(-1), _fitting(given, target.dtype).reshape(-1), casting="unsafe")


def pack(value: Any, typestr: str, inner: Sequence[int]) -> bytes:
    """The bytes of an array, or of anything that numpy makes an array of."""
    import numpy

    given = array(value)
    count(given, inner)
    return numpy.ascontiguousarray(_fitting(given, numpy.dtype(typestr)), dtype=typestr).tobytes()


def records(value: Any) -> Any:
    """The rows of a structured array as dicts."""
    return [_plain(row) for row in value]


def _plain(row: Any) -> Any:
    return {name: _plain(row[name]) if row.dtype[name].names else row[name] for name in row.dtype.names}


def _row(dtype: Any, value: Any) -> Any:
    """A struct as the tuple of which numpy makes a row."""
    if isinstance(value, tuple) or dtype.names is None:
        return value
    parts = []
    for name in dtype.names:
        part = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        inner = dtype[name]
        parts.append(_row(inner, part) if part is not None else _zero(inner))
    return tuple(parts)


def _zero(dtype: Any) -> Any:
    import numpy

    return numpy.zeros((), dtype=dtype)[()]


#: DLPack's numbers of devices whose memory the host can read: `kDLCPU`, `kDLCUDAHost` and `kDLROCMHost`.
_HOST = (1, 3, 11)


def array(value: Any) -> Any:
    """An array of numpy, which shares the memory where that is possible."""
    import numpy

    if hasattr(value, "__dlpack_device__"):
        kind, number = value.__dlpack_device__()
        if int(kind) not in _HOST:
            raise ValueError(f"the array is in the memory of device {number} of DLPack's kind {int(kind)}: copy it to the host first")
    if not hasattr(value, "__array_interface__") and not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        return numpy.from_dlpack(value)
    return numpy.asarray(value)


def _fitting(given: Any, dtype: Any) -> Any:
    """The array, if all its numbers can be what the message stores."""
    import numpy

    if given.size == 0 or given.dtype == dtype or numpy.can_cast(given.dtype, dtype, "same_kind"):
        return given
    if given.dtype.kind in "iu" and dtype.kind in "iu":
        limits, low, high = numpy.iinfo(dtype), int(given.min()), int(given.max())
        if low < limits.min or high > limits.max:
            raise ValueError(f"{low} to {high} does not fit in {dtype}, which holds {limits.min} to {limits.max}")
        return given
    raise ValueError(f"an array of {given.dtype} cannot be stored as {dtype}: convert it with `astype`")
