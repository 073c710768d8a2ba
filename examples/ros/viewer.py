"""The viewer of the ROS demo: a node in rclpy that takes the filter's images and measures how late they are.

    viewer.py TOPIC SIZE

Prints the number and the lateness of each image in nanoseconds, from the camera's stamp to the callback; an
image with another size is an error. Ends with its input.
"""
import sys
import threading
import time

import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import Image


def seen(image):
    late = time.monotonic_ns() - image.header.stamp.sec * 1_000_000_000 - image.header.stamp.nanosec
    if image.encoding != 'mono8' or len(image.data) != int(sys.argv[2]) or not any(image.data[image.width:2 * image.width]):
        sys.exit(f'the viewer got an image of {len(image.data)} bytes in {image.encoding} instead of edges')
    print(image.header.frame_id, late, flush=True)


def main():
    rclpy.init()
    node = rclpy.create_node('viewer', enable_rosout=False, start_parameter_services=False)
    subscription = node.create_subscription(Image, sys.argv[1], seen, 10)
    while subscription.get_publisher_count() == 0:
        time.sleep(0.002)
    print('ready', flush=True)

    def end():
        sys.stdin.read()
        rclpy.shutdown()
    threading.Thread(target=end, daemon=True).start()
    try:
        rclpy.spin(node)
    except ExternalShutdownException:
        pass


main()
