"""The systems of table `python`, each as two topics between two processes: `a` from the first to the second,
and `b` back.

`send(number)` lends where the system can, writes the number and publishes; `take()` returns the number of the
next message, or None. Images have their number in the first 8 bytes, and are read as an array of numpy.
"""

import importlib.metadata
import os
import time

HEIGHT, WIDTH = 1080, 1920
IMAGE = HEIGHT * WIDTH * 3
IDL = """
module bench {
  @flat struct Small { int64 number; octet data[56]; };
  @flat struct Image { uint32 height; uint32 width; @bulk sequence<octet> pixels; };
};
"""


class Situ:
    module = "situ"

    def __init__(self, kind, first):
        import situ

        schema = situ.Schema(text=IDL)
        self.situ, self.kind = situ, kind
        self.node = situ.Node("first" if first else "second")
        name = "bench::Small" if kind == "small" else "bench::Image"
        mine, other = ("a", "b") if first else ("b", "a")
        handle = schema.find(name)
        self.publisher = self.node.publisher(mine, type=handle, depth=256 if kind == "small" else 8)
        self.subscriber = self.node.subscriber(other, type=handle)
        if kind == "image":
            self.send, self.take = self.send_image, self.take_image

    def ready(self):
        self.publisher.wait_for_subscribers(1, 60)

    def send(self, number):
        with self.publisher.loan() as out:
            out.number = number

    def take(self):
        message = self.subscriber.take()
        if message is None:
            return None
        with message:
            return message.number

    def send_image(self, number):
        with self.publisher.loan(pixels=IMAGE) as out:
            out.height, out.width = HEIGHT, WIDTH
            out.pixels[:8].view("<i8")[0] = number

    def take_image(self):
        message = self.subscriber.take()
        if message is None:
            return None
        with message:
            pixels = self.situ.image(message)
            return int(pixels[0, :3].reshape(-1)[:8].view("<i8")[0])


class Iceoryx2:
    module = "iceoryx2"

    def __init__(self, kind, first):
        import ctypes

        import iceoryx2 as iox2
        import numpy

        self.numpy, self.iox2, self.kind = numpy, iox2, kind
        iox2.set_log_level(iox2.LogLevel.Fatal)
        self.node = iox2.NodeBuilder.new().create(iox2.ServiceType.Ipc)
        size = 64 if kind == "small" else IMAGE
        run = os.environ["BENCH_RUN"]

        def service(name):
            builder = self.node.service_builder(iox2.ServiceName.new(f"bench/{run}/{kind}/{name}"))
            builder = builder.publish_subscribe(iox2.Slice[ctypes.c_uint8]).subscriber_max_buffer_size(256 if kind == "small" else 8)
            return builder.open_or_create()

        mine, other = ("a", "b") if first else ("b", "a")
        self.out, self.into = service(mine), service(other)
        self.publisher = self.out.publisher_builder().initial_max_slice_len(size).create()
        self.subscriber = self.into.subscriber_builder().create()
        self.size, self.ctypes = size, ctypes
        self.type = ctypes.c_int64
        if kind == "image":
            self.send, self.take = self.send_image, self.take_image

    def ready(self):
        time.sleep(1)  # Both sides have connected by then, or the first message is lost and the round fails.

    def send(self, number):
        sample = self.publisher.loan_slice_uninit(64)
        self.type.from_address(sample.payload_ptr).value = number
        sample.assume_init().send()

    def take(self):
        sample = self.subscriber.receive()
        if sample is None:
            return None
        number = self.type.from_address(sample.payload_ptr).value
        sample.delete()
        return number

    def array(self, sample):
        return self.numpy.frombuffer(sample.payload().as_memory_view(), dtype="u1").reshape(HEIGHT, WIDTH, 3)

    def send_image(self, number):
        sample = self.publisher.loan_slice_uninit(IMAGE)
        array = self.array(sample)
        array[0, :3].reshape(-1)[:8].view("<i8")[0] = number
        sample.assume_init().send()

    def take_image(self):
        sample = self.subscriber.receive()
        if sample is None:
            return None
        number = int(self.array(sample)[0, :3].reshape(-1)[:8].view("<i8")[0])
        sample.delete()
        return number


class Zenoh:
    """Peers over shared memory. Small messages have the number in the payload; larger ones lie in a buffer of
    zenoh's provider."""

    module = "zenoh"

    def __init__(self, kind, first):
        import numpy
        import zenoh

        self.numpy, self.zenoh, self.kind = numpy, zenoh, kind
        run = os.environ["BENCH_RUN"]
        config = zenoh.Config()
        place = f"unixsock-stream//dev/shm/bench-python-{run}-{kind}.sock"
        config.insert_json5("scouting/multicast/enabled", "false")
        config.insert_json5("transport/shared_memory/enabled", "true")
        if first:
            config.insert_json5("listen/endpoints", f'["unixsock-stream//{place.split("//", 1)[1]}"]')
        else:
            config.insert_json5("listen/endpoints", "[]")
            config.insert_json5("connect/endpoints", f'["unixsock-stream//{place.split("//", 1)[1]}"]')
        self.session = zenoh.open(config)
        mine, other = ("a", "b") if first else ("b", "a")
        key = f"bench/{run}/{kind}/"
        self.publisher = self.session.declare_publisher(
            key + mine, congestion_control=zenoh.CongestionControl.BLOCK, express=True, priority=zenoh.Priority.REAL_TIME
        )
        self.subscriber = self.session.declare_subscriber(key + other, zenoh.handlers.FifoChannel(1024))
        self.provider = zenoh.shm.ShmProvider.default_backend(64 << 20) if kind == "image" else None
        self.policy = zenoh.shm.BlockOn(zenoh.shm.GarbageCollect()) if kind == "image" else None
        if kind == "image":
            self.send, self.take = self.send_image, self.take_image
        self.filling = bytes(56)

    def ready(self):
        for _ in range(3000):
            if self.publisher.matching_status.matching:
                return
            time.sleep(0.01)
        raise RuntimeError("zenoh's peers did not find each other")

    def send(self, number):
        self.publisher.put(number.to_bytes(8, "little") + self.filling)

    def take(self):
        sample = self.subscriber.try_recv()
        return None if sample is None else int.from_bytes(sample.payload.to_bytes()[:8], "little")

    def send_image(self, number):
        buffer = self.provider.alloc(IMAGE, self.policy)
        buffer[0:8] = number.to_bytes(8, "little")
        self.publisher.put(buffer)

    def take_image(self):
        sample = self.subscriber.try_recv()
        if sample is None:
            return None
        shared = sample.payload.as_shm()
        if shared is None:
            raise RuntimeError("zenoh's image is not in shared memory")
        # Its package shows the content of a buffer only as a copy.
        pixels = self.numpy.frombuffer(bytes(shared), dtype="u1").reshape(HEIGHT, WIDTH, 3)
        return int(pixels[0, :3].reshape(-1)[:8].view("<i8")[0])


class CycloneDds:
    module = "cyclonedds"

    def __init__(self, kind, first):
        from dataclasses import dataclass

        import numpy
        from cyclonedds.core import Policy, Qos
        from cyclonedds.domain import DomainParticipant
        from cyclonedds.idl import IdlStruct
        from cyclonedds.idl.types import array, int64, sequence, uint8
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic
        from cyclonedds.util import duration

        @dataclass
        class Small(IdlStruct, typename="bench.Small"):
            number: int64
            data: array[uint8, 56]

        @dataclass
        class Image(IdlStruct, typename="bench.Image"):
            number: int64
            pixels: sequence[uint8]

        self.numpy, self.kind = numpy, kind
        self.type = Small if kind == "small" else Image
        qos = Qos(Policy.Reliability.Reliable(duration(seconds=10)), Policy.History.KeepLast(256 if kind == "small" else 8))
        run = os.environ["BENCH_RUN"]
        mine, other = ("a", "b") if first else ("b", "a")
        self.participant = DomainParticipant(int(os.environ.get("BENCH_DOMAIN", "91")))
        self.writer = DataWriter(self.participant, Topic(self.participant, f"bench_{run}_{kind}_{mine}", self.type), qos=qos)
        self.reader = DataReader(self.participant, Topic(self.participant, f"bench_{run}_{kind}_{other}", self.type), qos=qos)
        self.data = [0] * 56 if kind == "small" else bytes(IMAGE)

    def ready(self):
        for _ in range(3000):
            if self.writer.get_matched_subscriptions() and self.reader.get_matched_publications():
                return
            time.sleep(0.01)
        raise RuntimeError("cyclonedds's participants did not find each other")

    def send(self, number):
        self.writer.write(self.type(number, self.data))

    def take(self):
        for sample in self.reader.take(1):
            if self.kind == "image":
                self.numpy.frombuffer(bytes(sample.pixels), dtype="u1").reshape(HEIGHT, WIDTH, 3)
            return sample.number
        return None


class Rclpy:
    """Over its default middleware. Each side spins once for what is there."""

    module = "rclpy"

    def __init__(self, kind, first):
        import numpy
        import rclpy
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import Image
        from std_msgs.msg import UInt8MultiArray

        self.numpy, self.kind = numpy, kind
        os.environ.setdefault("ROS_DOMAIN_ID", "91")
        rclpy.init()
        self.node = rclpy.create_node("first" if first else "second")
        self.type = UInt8MultiArray if kind == "small" else Image
        run = os.environ["BENCH_RUN"]
        mine, other = ("a", "b") if first else ("b", "a")
        qos = QoSProfile(depth=256 if kind == "small" else 8, reliability=ReliabilityPolicy.RELIABLE)
        self.publisher = self.node.create_publisher(self.type, f"bench_{run}_{kind}_{mine}", qos)
        self.subscription = self.node.create_subscription(self.type, f"bench_{run}_{kind}_{other}", lambda message: None, qos)
        self.message = self.type()
        if kind == "image":
            import array

            self.message.height, self.message.width, self.message.step = HEIGHT, WIDTH, WIDTH * 3
            self.message.data = array.array("B", bytes(IMAGE))
        else:
            self.message.data = bytes(64)

    def ready(self):
        for _ in range(3000):
            if self.publisher.get_subscription_count() and self.node.count_publishers(self.subscription.topic_name):
                return
            time.sleep(0.01)
        raise RuntimeError("rclpy's nodes did not find each other")

    def send(self, number):
        if self.kind == "image":
            self.message.header.stamp.sec = number
        else:
            self.message.data[:8] = type(self.message.data)("B", number.to_bytes(8, "little"))
        self.publisher.publish(self.message)

    def take(self):
        with self.subscription.handle:
            taken = self.subscription.handle.take_message(self.type, False)
        if taken is None:
            return None
        message = taken[0]
        if self.kind == "image":
            self.numpy.frombuffer(message.data, dtype="u1").reshape(HEIGHT, WIDTH, 3)
            return message.header.stamp.sec
        return int.from_bytes(bytes(message.data[:8]), "little")


SYSTEMS = {"situ": Situ, "iceoryx2": Iceoryx2, "zenoh": Zenoh, "cyclonedds": CycloneDds, "rclpy": Rclpy}
PACKAGES = {"situ": "situ", "iceoryx2": "iceoryx2", "zenoh": "eclipse-zenoh", "cyclonedds": "cyclonedds", "rclpy": "ros-rclpy"}


def version(system):
    return importlib.metadata.version(PACKAGES[system])
