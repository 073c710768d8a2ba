"""A node that speaks rmw_zenoh's format, written from its published design on the library `eclipse-zenoh`.

    rmw_zenoh.py ENDPOINT DOMAIN

It publishes `/from_zenoh`, subscribes to `/from_situ`, serves `/multiply` and calls `/add`. It reads commands from
standard input, one a line, and prints JSON objects, one a line: what it receives, and the tokens of others.
"""

import json
import struct
import sys
import threading
import time

import zenoh

STRING = (
    "std_msgs::msg::dds_::String_",
    "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
)
# The hash that ROS 2 installs with the package example_interfaces.
ADD = (
    "example_interfaces::srv::dds_::AddTwoInts_",
    "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a",
)
QOS = "::,10:,:,:,,"
GID = bytes(range(1, 17))

lock = threading.Lock()


def say(**values):
    with lock:
        print(json.dumps(values), flush=True)


def attachment(sequence, gid=GID):
    """A number, a time, and a GID with its length before it."""
    return struct.pack("<qqB", sequence, time.time_ns(), 16) + gid


def read_attachment(data):
    data = bytes(data)
    sequence, when, length = struct.unpack_from("<qqB", data)
    assert length == 16 and len(data) >= 33, data
    return sequence, when, data[17:33]


def string(text):
    raw = text.encode() + b"\0"
    return b"\0\1\0\0" + struct.pack("<I", len(raw)) + raw


def read_string(data):
    data = bytes(data)
    assert data[:2] == b"\0\1", data[:4]
    (length,) = struct.unpack_from("<I", data, 4)
    raw = data[8 : 8 + length]
    assert len(raw) == length and raw[-1:] == b"\0"
    return raw[:-1].decode()


def main():
    endpoint, domain = sys.argv[1:]
    config = zenoh.Config()
    config.insert_json5("mode", '"client"')
    config.insert_json5("connect/endpoints", json.dumps([endpoint]))
    config.insert_json5("scouting/multicast/enabled", "false")
    session = zenoh.open(config)
    zid = str(session.info.zid())
    say(zid=zid)

    def token(number, kind, *rest):
        head = f"@ros2_lv/{domain}/{zid}/0/{number}/{kind}/%/%robots/zenoh_node"
        return session.liveliness().declare_token("/".join([head, *rest]))

    def key(name, kind):
        return "/".join([domain, name, *kind])

    def on_token(sample):
        text = str(sample.key_expr)
        if text.split("/")[2] != zid:
            say(token=text, alive=sample.kind == zenoh.SampleKind.PUT)

    def on_sample(sample):
        sequence, when, gid = read_attachment(sample.attachment.to_bytes())
        text = read_string(sample.payload.to_bytes())
        say(received=text[:100], length=len(text), sequence=sequence, time=when, gid=gid.hex())

    def on_query(query):
        sequence, when, gid = read_attachment(query.attachment.to_bytes())
        a, b = struct.unpack_from("<qq", query.payload.to_bytes(), 4)
        say(asked=[a, b], sequence=sequence, gid=gid.hex())
        query.reply(str(query.key_expr), b"\0\1\0\0" + struct.pack("<q", a * b), attachment=attachment(sequence, gid))

    keep = [
        session.liveliness().declare_subscriber(f"@ros2_lv/{domain}/**", on_token, history=True),
        session.declare_subscriber(key("from_situ", STRING), on_sample),
        session.declare_queryable(key("multiply", ADD), on_query, complete=True),
    ]
    publisher = session.declare_publisher(key("from_zenoh", STRING))
    tokens = [
        token(0, "NN"),
        token(1, "MP", "%from_zenoh", *STRING, QOS),
        token(2, "MS", "%from_situ", *STRING, QOS),
        token(3, "SS", "%multiply", *ADD, QOS),
        token(4, "SC", "%add", *ADD, QOS),
    ]
    sequence = 0
    for line in sys.stdin:
        words = line.rstrip("\n").split(" ", 1)
        sequence += 1
        if words[0] == "publish":
            publisher.put(string(words[1]), attachment=attachment(sequence))
        elif words[0] == "call":
            a, b = map(int, words[1].split())
            replies = session.get(
                key("add", ADD),
                payload=b"\0\1\0\0" + struct.pack("<qq", a, b),
                attachment=attachment(sequence),
                target=zenoh.QueryTarget.ALL_COMPLETE,
                consolidation=zenoh.ConsolidationMode.NONE,
                timeout=60.0,
            )
            for reply in replies:
                if reply.ok is None:
                    say(failed=bytes(reply.err.payload.to_bytes()).decode())
                    continue
                number, _, gid = read_attachment(reply.ok.attachment.to_bytes())
                (total,) = struct.unpack_from("<q", reply.ok.payload.to_bytes(), 4)
                say(sum=total, is_own=(number, gid) == (sequence, GID))
        elif words[0] == "forget":
            tokens.pop(1).undeclare()
        else:
            break
    session.close()
    del keep


main()
