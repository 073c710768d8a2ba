"""Images: messages as arrays of height, width and channels, and as pictures in notebooks."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any, Optional, Tuple

from ._errors import ConversionError

#: The numbers of channels and the kinds of numbers of encodings, by the names that ROS uses.
_ENCODINGS = {
    "rgb8": (3, "u1"),
    "bgr8": (3, "u1"),
    "rgba8": (4, "u1"),
    "bgra8": (4, "u1"),
    "mono8": (1, "u1"),
    "mono16": (1, "u2"),
    "8UC1": (1, "u1"),
    "8UC3": (3, "u1"),
    "8UC4": (4, "u1"),
    "16UC1": (1, "u2"),
    "32FC1": (1, "f4"),
}
#: The number of pixels in a notebook's picture at most, in each direction.
_MOST = 480


_KNOWN = {name.lower(): parts for name, parts in _ENCODINGS.items()}


def _members(cls: Any) -> Any:
    """The member with the data of a class of images, and whether it has `encoding` and `step`; None of other
    classes. Kept in the class, because finding it takes longer than all the rest."""
    found = cls.__dict__.get("__image__", False)
    if found is False:
        names = {name for name, _, _ in cls.__situ__.members}
        data = next((name for name in ("data", "pixels") if name in names), None)
        is_image = data is not None and {"height", "width"} <= names
        found = (data, "encoding" in names, "step" in names) if is_image else None
        cls.__image__ = found
    return found


def _parts(message: Any) -> Optional[Tuple[int, int, str, int, Any]]:
    """Height, width, encoding, bytes of a row, and data of an image."""
    found = _members(type(message))
    if found is None:
        return None
    data, has_encoding, has_step = found
    encoding = "rgb8"
    if has_encoding:
        encoding = message["encoding"]
        encoding = str(getattr(encoding, "name", encoding)).lower()
    step = message["step"] if has_step else 0
    return message["height"], message["width"], encoding, step, message[data]


def image(message: Any) -> Any:
    """The pixels of an image as an array of height, width and channels: a view of the message, not a copy.

    A message is an image if it has the members `height`, `width` and `data` or `pixels`, and perhaps
    `encoding` and `step`, as `sensor_msgs/Image` has them. Images of one channel have two dimensions.
    """
    parts = _parts(message)
    if parts is None:
        raise ConversionError(f"{type(message).__situ__.name} is no image: it has no height, width and data")
    height, width, encoding, step, data = parts
    if getattr(data, "ndim", 1) >= 2:
        return data
    known = _KNOWN.get(encoding)
    if known is None:
        raise ConversionError(f"the encoding {encoding!r} is not known; there are: {', '.join(_ENCODINGS)}")
    channels, kind = known
    size = data.dtype.itemsize
    numbers = data.view(kind) if size == 1 and (kind != "u1" or data.dtype.kind != "u") else data
    row = width * channels
    each = step // numbers.dtype.itemsize if step else row
    if each == row and channels > 1 and numbers.size == height * row:
        return numbers.reshape(height, width, channels)
    if each < row or height * each > numbers.size:
        raise ConversionError(f"{numbers.size} numbers are too few for {height} rows of {max(each, row)}")
    rows = numbers[: height * each].reshape(height, each)[:, :row]
    return rows if channels == 1 else rows.reshape(height, width, channels)


def picture_of(message: Any) -> str:
    """An image as HTML, or nothing if the message is none."""
    try:
        if _parts(message) is None:
            return ""
        pixels = image(message)
        if str(pixels.dtype) != "uint8" or pixels.size == 0:
            return ""
        step = max(1, -(-max(pixels.shape[:2]) // _MOST))
        small = pixels[::step, ::step]
        encoding = str(getattr(message["encoding"], "name", message["encoding"]) if "encoding" in _names(message) else "")
        if small.ndim == 3:
            small = small[:, :, 2::-1] if encoding.lower().startswith("bgr") else small[:, :, :3]
        data = base64.b64encode(png(small.tobytes(), small.shape[1], small.shape[0], small.ndim == 3)).decode()
        return f"<img src='data:image/png;base64,{data}'/>"
    except Exception:  # A picture is a favour: without one, the table is still there.
        return ""


def _names(message: Any) -> Any:
    return [name for name, _, _ in type(message).__situ__.members]


def png(pixels: bytes, width: int, height: int, color: bool) -> bytes:
    """Pixels of one byte for each channel as a PNG file."""
    row = width * (3 if color else 1)
    lines = b"".join(b"\0" + pixels[at : at + row] for at in range(0, row * height, row))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if color else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 1)) + chunk(b"IEND", b"")
