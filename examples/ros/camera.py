"""The camera of the ROS demo: a node in rclpy that publishes images with moving stripes.

    camera.py TOPIC WIDTH HEIGHT RATE

Each line of standard input is a number of images to publish; each is answered by a line. Ends with its input.
"""
import array
import sys
import time

import rclpy
from sensor_msgs.msg import Image


def main():
    topic, width, height, rate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    rclpy.init()
    node = rclpy.create_node('camera', enable_rosout=False, start_parameter_services=False)
    publisher = node.create_publisher(Image, topic, 10)
    while publisher.get_subscription_count() == 0:
        time.sleep(0.002)
    image = Image(height=height, width=width, encoding='rgb8', step=3 * width)
    image.data = array.array('B', bytes(x // 16 % 2 * 200 for _ in range(height) for x in range(width) for _ in range(3)))
    print('ready', flush=True)
    number = 0
    for line in sys.stdin:
        due = time.monotonic()
        for _ in range(int(line)):
            image.data[number * 3 % (3 * width)] ^= 255
            image.header.frame_id = str(number)
            number += 1
            now = time.monotonic_ns()
            image.header.stamp.sec, image.header.stamp.nanosec = divmod(now, 1_000_000_000)
            publisher.publish(image)
            due += 1 / rate
            time.sleep(max(0.0, due - time.monotonic()))
        print('published', flush=True)
    node.destroy_node()
    rclpy.shutdown()


main()
