"""A camera: publishes images that it draws in shared memory.

    python camera.py [IMAGES]
"""

import pathlib
import sys
import time

import situ

SCHEMA = pathlib.Path(__file__).with_name("camera.idl")
HEIGHT, WIDTH = 480, 640


def main(images: int = 100) -> None:
    with situ.Node("camera") as node:
        publisher = node.publisher("camera/image", type="demo::Image", schema=SCHEMA)
        publisher.wait_for_subscribers(timeout=30)
        for number in range(images):
            with publisher.loan(pixels=HEIGHT * WIDTH * 3) as out:
                out.height, out.width, out.encoding = HEIGHT, WIDTH, "rgb8"
                # The view of height, width and channels must be gone when the block ends.
                situ.image(out)[:] = 20
                situ.image(out)[100 : 100 + 50, number % 500 : number % 500 + 80] = (255, 80, 0)
            time.sleep(0.01)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
