"""Prints where the robot is, until Ctrl-C."""

import situ
from generated.my_robot import Pose


def main() -> None:
    with situ.Node("my_robot_subscriber") as node:
        subscriber = node.subscriber("my_robot/pose", type=Pose)
        print("waiting for my_robot/pose until Ctrl-C", flush=True)

        for pose in subscriber:
            # The pose lies in the memory where its publisher wrote it. It is given back at the end of the
            # block.
            with pose:
                number = pose.info.sequence if pose.info else 0
                print(f"pose {number}: x = {pose.x:.3f}, y = {pose.y:.3f}, heading = {pose.heading:.3f}", flush=True)


try:
    main()
except KeyboardInterrupt:
    print("done")
