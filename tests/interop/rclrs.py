#!/usr/bin/env python3
"""Situ's messages in rclrs against rclpy: sends messages of every type to a program in Rust, and compares what comes back.

    rclrs.py PROGRAM      the program of tests/rclrs; scripts/rclrs.sh builds it and runs this
"""

import os
import subprocess
import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy

from model import Values, modes
from ros import HIDDEN, Types

PACKAGES = ("geometry_msgs", "nav_msgs", "sensor_msgs", "std_msgs", "test_msgs")
FORMS = ("idiomatic", "native")
QOS = QoSProfile(history=QoSHistoryPolicy.KEEP_ALL, reliability=QoSReliabilityPolicy.RELIABLE)
# How long a message may take, in seconds, on a machine with much to do.
PATIENCE = 60


class Peer:
    """One type: a publisher, and what came back in each form."""

    def __init__(self, node, types, name):
        self.node, self.types, self.name, self.struct = node, types, name, types.struct(name)
        topic = f"situ/{name.replace('::', '/')}"
        cls = types.classes[name]
        self.publisher = node.create_publisher(cls, f"{topic}/question", QOS)
        self.came = {form: [] for form in FORMS}
        self.subscriptions = [
            node.create_subscription(cls, f"{topic}/{form}", self.came[form].append, QOS) for form in FORMS
        ]  # fmt: skip

    def is_matched(self):
        counts = [self.node.count_publishers(it.topic_name) for it in self.subscriptions]
        return counts == [1, 1] and self.publisher.get_subscription_count() == len(FORMS)

    def messages(self):
        yield self.types.classes[self.name]()
        if HIDDEN not in self.struct.members:
            for mode in modes(3):
                yield self.types.message(Values(mode).make(self.struct), self.name)


def wait(executor, what, is_done, missing=lambda: ""):
    end = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > end:
            sys.exit(f"rclrs.py: {what} did not happen within {PATIENCE} s {missing()}")
        executor.spin_once(timeout_sec=0.05)


def check_messages(executor, node):
    types = Types()
    names = [name for name in types.classes if name.split("::")[0] in PACKAGES and "::msg::" in name]
    peers = [Peer(node, types, name) for name in names]
    missing = lambda: [peer.name for peer in peers if not peer.is_matched()]
    wait(executor, "discovery", lambda: not missing(), missing)
    total = 0
    for peer in peers:
        sent = []
        # One after another: of types with a key, the middleware keeps no order between messages of different keys.
        for message in peer.messages():
            sent.append(message)
            peer.publisher.publish(message)
            came = peer.came.values()
            wait(executor, f"the return of {peer.name}", lambda: all(len(it) == len(sent) for it in came))
        expected = [types.value(message, peer.struct) for message in sent]
        for form, came in peer.came.items():
            values = [types.value(message, peer.struct) for message in came]
            if values != expected:
                sys.exit(f"rclrs.py: {peer.name}, {form}: sent\n{expected}\ngot back\n{values}")
        total += len(sent)
    print(f"rclrs: {total} messages of {len(peers)} types came back unchanged, in both forms")


def check_services(executor, node):
    from test_msgs.srv import BasicTypes

    for form in FORMS:
        client = node.create_client(BasicTypes, f"situ/{form}")
        wait(executor, f"the service {form}", client.service_is_ready)
        for number, text in [(0, ""), (2**62, "grüße 😀"), (-1, "x" * 1000)]:
            answer = client.call_async(BasicTypes.Request(int64_value=number, string_value=text))
            wait(executor, f"an answer of {form}", answer.done)
            if (answer.result().int64_value, answer.result().string_value) != (number + 1, text):
                sys.exit(f"rclrs.py: service {form}: {answer.result()}")
    print("rclrs: the service answered in both forms")


def main():
    program = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
    try:
        ready = program.stdout.readline()
        if not ready.startswith("ready"):
            sys.exit(f"rclrs.py: {sys.argv[1]} is not ready: {ready!r}")
        rclpy.init()
        node = rclpy.create_node("situ_questions")
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        check_services(executor, node)
        check_messages(executor, node)
        if program.poll() is not None:
            sys.exit(f"rclrs.py: the program ended with {program.returncode}")
    finally:
        program.kill()
        program.wait()
    # The middleware's threads may take long to end, and there is nothing left to do.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
