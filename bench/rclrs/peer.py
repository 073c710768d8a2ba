#!/usr/bin/env python3
"""The program of src/main.rs, in rclpy.

peer.py single|publish|subscribe FILE rclpy
"""

import array
import os
import struct
import sys
import threading
import time

import rclpy
from rclpy.qos import QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from std_msgs.msg import UInt8MultiArray

SIZE = 65_536
QOS = QoSProfile(history=QoSHistoryPolicy.KEEP_LAST, depth=1000, reliability=QoSReliabilityPolicy.RELIABLE)
WINDOW = 128
STEP = 16
NAP = 50e-6
TIMEOUT = 20


class Arrivals:
    """The number of received messages, in a file that the publisher reads."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR)
        self.count = 0

    def add(self, message):
        data = message.data
        assert len(data) == SIZE and data[0] == 0 and data[-1] == 255, "another message came"
        self.count += 1
        if self.count % STEP == 0:
            os.pwrite(self.file, struct.pack("=Q", self.count), 0)

    def read(self):
        return struct.unpack("=Q", os.pread(self.file, 8, 0))[0]

    def wait(self, count):
        begin = time.monotonic()
        while (came := self.read()) < count:
            if time.monotonic() - begin > TIMEOUT:
                sys.exit(f"{came} messages came, not {count}")
            time.sleep(NAP)
        return came


def measure(publisher, message, count, arrivals):
    """Publishes `count` messages. Returns the nanoseconds until the last of them was received."""
    before = came = arrivals.read()
    begin = time.monotonic_ns()
    for sent in range(count):
        needed = before + max(sent + 1 - WINDOW, 0)
        if came < needed:
            came = arrivals.wait(needed)
        publisher.publish(message)
    arrivals.wait(before + count)
    return time.monotonic_ns() - begin


def main():
    mode, path, name = sys.argv[1:]
    arrivals = Arrivals(path)
    rclpy.init()
    node = rclpy.create_node(name)
    if mode != "publish":
        node.create_subscription(UInt8MultiArray, name, arrivals.add, QOS)
        executor = rclpy.executors.SingleThreadedExecutor()
        executor.add_node(node)
        threading.Thread(target=executor.spin, daemon=True).start()
    if mode != "subscribe":
        publisher = node.create_publisher(UInt8MultiArray, name, QOS)
        message = UInt8MultiArray(data=array.array("B", [at % 256 for at in range(SIZE)]))
        begin = time.monotonic()
        while publisher.get_subscription_count() == 0:
            if time.monotonic() - begin > TIMEOUT:
                sys.exit(f"no subscriber of {name} came")
            time.sleep(0.005)
    print("ready", flush=True)
    for line in sys.stdin:
        _, count = line.split()
        print(measure(publisher, message, int(count), arrivals), flush=True)
    # The middleware's threads may take long to end, and no work is left.
    os._exit(0)


if __name__ == "__main__":
    main()
