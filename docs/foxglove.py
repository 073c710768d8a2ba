#!/usr/bin/env python3
"""Draws what Foxglove's panel 3D shows of a point cloud, from a message that `situ foxglove` sends.

docs/foxglove.py PORT TOPIC FILE   needs mcap-ros2-support (scripts/interop-requirements.txt)

    situ demo --frames 0 & situ foxglove &
    docs/foxglove.py 8765 lidar/points docs/src/pictures/foxglove-lidar.png
"""
import math
import pathlib
import struct
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crates/situ-foxglove/tests"))
from client import WebSocket, generate_dynamic  # noqa: E402

WIDTH, HEIGHT = 900, 420
BACKGROUND, LINES = (20, 22, 27), (48, 52, 60)
# From violet to red, as the panel colours a number by default (the palette turbo).
COLOURS = [(48, 18, 59), (70, 107, 227), (40, 188, 235), (50, 242, 152), (164, 252, 60), (238, 207, 58), (251, 126, 33),
           (209, 48, 5), (122, 4, 3)]
# The camera: behind the sensor and above it, looking ahead and down.
EYE, DOWN, FOCUS = (-26.0, 0.0, 17.0), math.radians(27), 620.0


def receive(port, topic):
    """A message of the topic, decoded by the definition that the server gives."""
    connection = WebSocket(port, "foxglove.sdk.v1")
    channel = None
    while channel is None:
        message = connection.receive()
        for offered in message.get("channels", []):
            if offered["topic"] == topic:
                channel = offered
    connection.say(op="subscribe", subscriptions=[{"id": 1, "channelId": channel["id"]}])
    message = connection.receive()
    while isinstance(message, dict):
        message = connection.receive()
    return generate_dynamic(channel["schemaName"], channel["schema"])[channel["schemaName"]](message[13:])


def points(cloud):
    """The points with finite places, of fields of 32-bit floats."""
    offsets = {field.name: field.offset for field in cloud.fields if field.datatype == 7}
    data = bytes(cloud.data)
    for at in range(0, len(data) - cloud.point_step + 1, cloud.point_step):
        place = [struct.unpack_from("<f", data, at + offsets[axis])[0] for axis in "xyz"]
        if all(map(math.isfinite, place)):
            yield place


def project(place):
    """Where a place is in the picture, and how far it is away; `None` behind the camera."""
    ahead, left, up = (place[axis] - EYE[axis] for axis in range(3))
    depth = ahead * math.cos(DOWN) - up * math.sin(DOWN)
    height = ahead * math.sin(DOWN) + up * math.cos(DOWN)
    if depth < 1:
        return None
    return WIDTH / 2 - FOCUS * left / depth, HEIGHT / 2 - FOCUS * height / depth, depth


def colour(share):
    place = min(max(share, 0), 1) * (len(COLOURS) - 1)
    below = min(int(place), len(COLOURS) - 2)
    part = place - below
    return tuple(round(a + (b - a) * part) for a, b in zip(COLOURS[below], COLOURS[below + 1]))


def main():
    port, topic, file = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    pixels = [[BACKGROUND] * WIDTH for _ in range(HEIGHT)]
    nearest = [[math.inf] * WIDTH for _ in range(HEIGHT)]

    def dot(place, shade, size):
        seen = project(place)
        if seen is None:
            return
        for x in range(int(seen[0]), int(seen[0]) + size):
            for y in range(int(seen[1]), int(seen[1]) + size):
                if 0 <= x < WIDTH and 0 <= y < HEIGHT and seen[2] < nearest[y][x]:
                    pixels[y][x], nearest[y][x] = shade, seen[2]

    # The grid of the panel, at the height of the sensor's frame.
    for line in range(-60, 61, 10):
        for step in range(-600, 601):
            for place in ((line, step / 10, -1.9), (step / 10, line, -1.9)):
                dot(place, LINES, 1)
    cloud = sorted(points(receive(port, topic)), key=lambda place: place[2])
    low, high = cloud[len(cloud) // 100][2], cloud[-len(cloud) // 100][2]
    for place in cloud:
        dot(place, colour((place[2] - low) / (high - low)), 2)

    raw = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in pixels)
    chunk = lambda kind, data: (struct.pack(">I", len(data)) + kind + data  # noqa: E731
                                + struct.pack(">I", zlib.crc32(kind + data)))
    pathlib.Path(file).write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))
    print(f"{file}: {len(cloud)} points")


main()
