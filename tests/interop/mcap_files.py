#!/usr/bin/env python3
"""Reads and writes MCAP files with independent implementations: mcap, mcap-ros2-support and rosbags.

    mcap_files.py read FILE     prints each message as a line of JSON, as each of the three reads it
    mcap_files.py write FILE    writes messages with mcap-ros2-support
    mcap_files.py bag FOLDER    writes a bag of rosbag2 with rosbags
"""
import json
import sys
from pathlib import Path

POINT = "float64 x\nfloat64 y\nfloat64 z\n"
PATH = "string name\nuint32 number\ngeometry_msgs/Point[] points\nuint8[] raw\n" + "=" * 80 + "\nMSG: geometry_msgs/Point\n" + POINT


def plain(value):
    """Messages as dictionaries, arrays as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (bytes, bytearray)):
        return list(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    names = getattr(value, "__slots__", None) or [name for name in getattr(value, "__dict__", {}) if name != "__msgtype__"]
    if names:
        return {name: plain(getattr(value, name)) for name in names if not name.startswith("_")}
    return value


def read(path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        for schema, channel, message in reader.iter_messages():
            line = {"by": "mcap", "topic": channel.topic, "type": schema.name, "encoding": channel.message_encoding}
            line |= {"sequence": message.sequence, "log": message.log_time, "publish": message.publish_time}
            print(json.dumps(line | {"size": len(message.data)}))
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        texts = {c.topic for s in [reader.get_summary()] for c in s.channels.values() if s.schemas[c.schema_id].encoding == "ros2msg"}
        for _, channel, _, message in reader.iter_decoded_messages(topics=sorted(texts)):
            print(json.dumps({"by": "mcap_ros2", "topic": channel.topic, "message": plain(message)}))

    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    with open(path, "rb") as file:
        reader = make_reader(file)
        known = set()
        for schema, channel, message in reader.iter_messages():
            if channel.message_encoding != "cdr":
                continue
            if schema.id not in known:
                known.add(schema.id)
                text = schema.data.decode()
                types = get_types_from_msg(text, schema.name) if schema.encoding == "ros2msg" else get_types_from_idl(text)
                store.register({name: fields for name, fields in types.items() if name not in store.fielddefs})
            decoded = store.deserialize_cdr(message.data, schema.name)
            print(json.dumps({"by": "rosbags", "topic": channel.topic, "message": plain(decoded)}))


def write(path):
    from mcap_ros2.writer import Writer

    with open(path, "wb") as file:
        writer = Writer(file)
        schema = writer.register_msgdef("nav_demo/msg/Path", PATH)
        for number in range(5):
            points = [{"x": float(number), "y": 0.5, "z": -1.0}] * number
            message = {"name": f"path {number}", "number": number, "points": points, "raw": bytes(range(number))}
            time = 1_700_000_000_000_000_000 + number * 1_000_000
            writer.write_message("/path", schema, message, time, time, number)
        writer.finish()


def bag(folder):
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    text = store.types["std_msgs/msg/String"]
    with Writer(Path(folder), version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/chatter", "std_msgs/msg/String", typestore=store)
        for number in range(5):
            data = store.serialize_cdr(text(f"hello {number}"), "std_msgs/msg/String")
            writer.write(connection, 1_700_000_000_000_000_000 + number * 1_000_000, data)


if __name__ == "__main__":
    {"read": read, "write": write, "bag": bag}[sys.argv[1]](sys.argv[2])
