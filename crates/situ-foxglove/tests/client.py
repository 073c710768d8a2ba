"""A client of the server, written from the protocol's page and RFC 6455 with the standard library alone.

client.py PORT TOPIC COUNT [PUBLISH]   prints COUNT messages of TOPIC as JSON, decoded by mcap-ros2 from the definition that
                                       the server gives; with PUBLISH, first publishes that text on /said
"""
import base64
import hashlib
import json
import os
import socket
import struct
import sys

from mcap_ros2._dynamic import generate_dynamic


class WebSocket:
    """A connection, with masked frames as the standard wants them of clients."""

    def __init__(self, port, protocol):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["GET / HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Protocol: {protocol}", "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.more()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        status, *fields = head.decode().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in fields)}
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        assert status.startswith("HTTP/1.1 101 "), status
        assert fields["sec-websocket-accept"] == accept and fields["sec-websocket-protocol"] == protocol, fields

    def more(self):
        received = self.socket.recv(1 << 20)
        assert received, "the server closed the connection"
        self.bytes += received

    def take(self, count):
        while len(self.bytes) < count:
            self.more()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def send(self, opcode, data):
        mask = os.urandom(4)
        length = bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack(">BH", 0x80 | 126, len(data))
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def say(self, **message):
        self.send(1, json.dumps(message).encode())

    def receive(self):
        """The next message: a dictionary, or bytes."""
        whole, kind = b"", None
        while True:
            first, second = self.take(2)
            assert second < 128, "the server masks"
            length = second
            if second == 126:
                length, = struct.unpack(">H", self.take(2))
            elif second == 127:
                length, = struct.unpack(">Q", self.take(8))
            data = self.take(length)
            opcode = first & 15
            if opcode == 9:
                self.send(10, data)
                continue
            assert opcode in (0, 1, 2), f"opcode {opcode}: {data}"
            kind = kind or opcode
            whole += data
            if first & 0x80:
                return json.loads(whole) if kind == 1 else whole


def plain(value):
    """A decoded message as dictionaries and lists."""
    if hasattr(value, "__slots__"):
        return {name: plain(getattr(value, name)) for name in value.__slots__ if not name.startswith("_")}
    if isinstance(value, (list, tuple, bytes)):
        return [plain(item) for item in value]
    return value


def main():
    port, topic, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    connection = WebSocket(port, "foxglove.websocket.v1")
    info = connection.receive()
    assert info["op"] == "serverInfo" and info["name"] == "situ", info
    channels = {}
    while topic not in channels:
        message = connection.receive()
        if message["op"] == "advertise":
            channels.update({channel["topic"]: channel for channel in message["channels"]})
    channel = channels[topic]
    assert channel["encoding"] == "cdr" and channel["schemaEncoding"] == "ros2msg", channel
    decoders = generate_dynamic(channel["schemaName"], channel["schema"])
    if len(sys.argv) > 4:
        assert "clientPublish" in info["capabilities"] and "cdr" in info["supportedEncodings"], info
        connection.say(op="advertise", channels=[{"id": 5, "topic": "/said", "encoding": "cdr", "schema": "string data",
                                                  "schemaEncoding": "ros2msg", "schemaName": "std_msgs/msg/String"}])
        text = sys.argv[4].encode() + b"\0"
        connection.send(2, b"\x01" + struct.pack("<I", 5) + b"\0\1\0\0" + struct.pack("<I", len(text)) + text)
    connection.say(op="subscribe", subscriptions=[{"id": 77, "channelId": channel["id"]}])
    while count > 0:
        message = connection.receive()
        if isinstance(message, dict):
            assert message["op"] in ("advertise", "unadvertise"), message
            continue
        opcode, subscription, time = struct.unpack("<BIQ", message[:13])
        assert (opcode, subscription) == (1, 77)
        decoded = decoders[channel["schemaName"]](message[13:])
        print(json.dumps({"time": time, "message": plain(decoded)}), flush=True)
        count -= 1


if __name__ == "__main__":
    main()
