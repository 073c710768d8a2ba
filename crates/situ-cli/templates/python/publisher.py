"""Publishes where the robot is, ten times a second, until Ctrl-C."""

import math
import time

import situ
from generated.my_robot import Pose


def main() -> None:
    with situ.Node("my_robot_publisher") as node:
        publisher = node.publisher("my_robot/pose", type=Pose)
        print("publishing on my_robot/pose until Ctrl-C", flush=True)

        angle = 0.0
        while True:
            # A pose in shared memory, with default values. It is published at the end of the block:
            # subscribers receive a reference to it, and nothing is copied.
            with publisher.loan() as pose:
                pose.x = math.cos(angle)
                pose.y = math.sin(angle)
                pose.heading = angle
            angle += 0.1
            time.sleep(0.1)


try:
    main()
except KeyboardInterrupt:
    print("done")
