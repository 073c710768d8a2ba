"""A service and its client: sets the threshold of a detector.

    python service.py serve
    python service.py call 0.5
"""

import pathlib
import sys

import situ

SCHEMA = situ.Schema(files=[pathlib.Path(__file__).with_name("camera.idl")])
TYPES = dict(request=SCHEMA.find("demo::Threshold"), reply=SCHEMA.find("demo::Accepted"))


def serve(count=None) -> None:
    def accept(request):
        if not 0 <= request.value <= 1:
            raise ValueError("a threshold is from 0 to 1")
        return {"yes": True}

    with situ.Node("detector") as node:
        node.server("threshold", **TYPES).serve(accept, count=count)


def call(value: float) -> bool:
    with situ.Node("tool") as node:
        client = node.client("threshold", **TYPES)
        client.wait_for_server(30)
        return client.call(value=value, timeout=30).yes


if __name__ == "__main__":
    print(call(float(sys.argv[2]))) if sys.argv[1] == "call" else serve()
