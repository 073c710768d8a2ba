"""A model in the middle: takes images, finds what is bright, and publishes boxes.

    python detector.py [IMAGES]
"""

import pathlib
import sys

import numpy as np

import situ
import situ.trace

SCHEMA = pathlib.Path(__file__).with_name("camera.idl")


def detect(pixels: np.ndarray, threshold: float) -> list:
    """Stands for a model: one box around all that is brighter than the threshold."""
    rows, columns = np.nonzero(pixels[:, :, 0] > threshold)
    if rows.size == 0:
        return []
    return [dict(left=columns.min(), top=rows.min(), right=columns.max() + 1, bottom=rows.max() + 1, score=0.9)]


def main(images: int = 100) -> None:
    with situ.Node("detector") as node:
        boxes = node.publisher("boxes", type="demo::Boxes", schema=SCHEMA)
        # The type comes from the topic itself.
        for image in node.subscriber("camera/image", wait=30):
            with image, situ.trace.slice("detect", image=image.info.sequence):
                found = detect(situ.image(image), 128)
                boxes.publish(image=image.info.sequence, boxes=found)
            images -= 1
            if images <= 0:
                break


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
