#!/usr/bin/env python3
"""The same as the program in rclrs (src/main.rs), in rclpy.

peer.py single|publish|subscribe SYSTEM TOPIC SECONDS
"""

import array
import os
import sys
import threading
import time

import rclpy
from rclpy.qos import QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from std_msgs.msg import UInt8MultiArray

SIZE = 65_536
QOS = QoSProfile(history=QoSHistoryPolicy.KEEP_LAST, depth=1000, reliability=QoSReliabilityPolicy.RELIABLE)
WARM_UP = 0.5


def main():
    mode, _, topic, seconds = sys.argv[1:]
    rclpy.init()
    node = rclpy.create_node("situ_bench")
    came = [0]

    def count(message):
        data = message.data
        assert len(data) == SIZE and data[0] == 0 and data[-1] == 255, "another message came"
        came[0] += 1

    def report():
        while came[0] == 0:
            time.sleep(0.001)
        time.sleep(WARM_UP)
        before, begin = came[0], time.monotonic()
        time.sleep(float(seconds))
        print((came[0] - before) / (time.monotonic() - begin), flush=True)
        # The middleware's threads may take long to end, and there is nothing left to do.
        os._exit(0)

    def publish(publisher):
        message = UInt8MultiArray(data=array.array("B", [at % 256 for at in range(SIZE)]))
        while publisher.get_subscription_count() == 0:
            time.sleep(0.005)
        while True:
            publisher.publish(message)

    if mode != "publish":
        node.create_subscription(UInt8MultiArray, topic, count, QOS)
        threading.Thread(target=report, daemon=True).start()
    if mode != "subscribe":
        threading.Thread(target=publish, args=(node.create_publisher(UInt8MultiArray, topic, QOS),), daemon=True).start()
    executor = rclpy.executors.SingleThreadedExecutor()
    executor.add_node(node)
    parent = os.getppid()
    while os.getppid() == parent:
        executor.spin_once(timeout_sec=0.2)


if __name__ == "__main__":
    main()
