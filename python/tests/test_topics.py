"""Topics: publishing, taking, loans; what keeps memory, and what gives it back."""

import gc
import threading

import numpy as np
import pytest

import situ


@pytest.fixture
def image(node, schema):
    return node.publisher("camera/image", type="t::Image", schema=schema), node.subscriber("camera/image")


def test_a_message_is_read_in_place(node, image):
    publisher, subscriber = image
    before = situ.copies()
    with publisher.loan(pixels=12) as out:
        out.height, out.width = 2, 2
        out.pixels[:] = np.arange(12)
    with subscriber.recv(5) as m:
        assert (m.height, m.width, m.pixels.tolist()) == (2, 2, list(range(12)))
        assert m.info.sequence == 0 and m.info.encoding == "flat" and m.info.published_at_ns > 0
        assert situ.image(m).shape == (2, 2, 3)
    assert situ.copies() == before
    assert subscriber.take() is None and subscriber.taken == 1 and subscriber.lost == 0


def test_members_are_published_without_a_loan_of_ones_own(image):
    publisher, subscriber = image
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    assert publisher.publish(height=2, width=4, pixels=pixels) == 0
    assert publisher.publish({"height": 1, "pixels": b"abc"}) == 1
    assert publisher.publish(publisher.message(width=9)) == 2
    first, second, third = (subscriber.recv(5) for _ in range(3))
    assert np.array_equal(situ.image(first), pixels)
    assert second.pixels.tobytes() == b"abc" and third.width == 9
    # A message that was taken is sent on.
    publisher.publish(first)
    assert subscriber.recv(5) == first


def test_views_raise_after_release(image, schema):
    publisher, subscriber = image
    publisher.publish(height=1)
    with subscriber.recv(5) as m:
        assert m.height == 1
    assert m.is_released and "released" in repr(m)
    for use in (lambda: m.height, lambda: m.pixels, lambda: m.copy(), lambda: m.to_dict(), lambda: m.info):
        with pytest.raises(situ.ReleasedError, match="inside its `with` block"):
            use()
    m.release()


def test_parts_of_a_released_message_raise(node, schema):
    publisher = node.publisher("kitchen", type="t::Kitchen", schema=schema)
    subscriber = node.subscriber("kitchen")
    publisher.publish(names=["a"], point={"x": 1.0}, choice=("point", {"x": 2.0}))
    with subscriber.recv(5) as m:
        names, point, choice = m.names, m.point, m.choice
        assert names[0] == "a" and point.x == 1.0 and choice.value.x == 2.0
    for use in (lambda: names[0], lambda: point.x, lambda: choice.value.x, lambda: "a" in names):
        with pytest.raises(situ.ReleasedError):
            use()


def test_an_array_keeps_its_message_after_release(image):
    publisher, subscriber = image
    publisher.publish(pixels=b"first")
    with subscriber.recv(5) as m:
        kept = m.pixels
        part = kept[1:3]
    # The memory is used again for as many messages as there may be.
    for index in range(200):
        publisher.publish(pixels=b"%05d" % index)
    assert kept.tobytes() == b"first" and part.tobytes() == b"ir"
    del kept
    assert part.tobytes() == b"ir"
    subscriber.close()
    publisher.close()
    gc.collect()
    assert part.tobytes() == b"ir"


def test_read_only_stays_read_only(image):
    publisher, subscriber = image
    publisher.publish(pixels=b"abc")
    m = subscriber.recv(5)
    array = m.pixels
    for it in (array, array[1:], array.view("i1"), array.reshape(3, 1), np.asarray(m.array("pixels"))):
        with pytest.raises(ValueError):
            it.flags.writeable = True
        with pytest.raises(ValueError):
            it[...] = 0
    with pytest.raises(BufferError):
        memoryview(array).cast("B")[0:1] = b"x" if not memoryview(array).readonly else (_ for _ in ()).throw(BufferError())
    with pytest.raises(BufferError):
        m.array("pixels").__dlpack__()


def test_a_loan_is_dropped_when_its_block_raises(image):
    publisher, subscriber = image
    with pytest.raises(KeyError):
        with publisher.loan(pixels=3) as out:
            out.pixels[:] = 1
            raise KeyError("no")
    assert subscriber.take() is None
    with pytest.raises(situ.ReleasedError, match="dropped"):
        out.height = 1


def test_a_published_loan_cannot_be_changed(image):
    publisher, subscriber = image
    with publisher.loan(pixels=3) as out:
        out.pixels[:] = 1
    with pytest.raises(situ.ReleasedError, match="published"):
        out.height = 1
    with pytest.raises(situ.ReleasedError, match="published"):
        out.publish()
    assert subscriber.recv(5).pixels.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "keep",
    [
        lambda out: out.pixels,
        lambda out: out.pixels[1:],
        lambda out: out.pixels.reshape(3, 1).T,
        lambda out: memoryview(out.pixels),
        lambda out: out.array("pixels"),
        lambda out: out.array("pixels").__dlpack__(),
        lambda out: np.from_dlpack(out.array("pixels")),
        lambda out: iter(out.pixels),
    ],
)
def test_a_loan_with_arrays_is_not_published(image, keep):
    publisher, subscriber = image
    with pytest.raises(situ.BorrowedError, match="still exist"):
        with publisher.loan(pixels=3) as out:
            kept = keep(out)
    assert subscriber.take() is None
    # What was kept stays valid, and reaches no message that is published later.
    for index in range(100):
        publisher.publish(pixels=bytes([index] * 3))
    if isinstance(kept, np.ndarray) and kept.flags.writeable:
        kept[...] = 99
    first = subscriber.recv(5)
    assert first.pixels.tolist() == [0, 0, 0] or subscriber.lost > 0


def test_a_borrowed_loan_can_be_published_later(image):
    publisher, subscriber = image
    out = publisher.loan(pixels=3)
    array = out.pixels
    array[:] = 5
    with pytest.raises(situ.BorrowedError):
        out.publish()
    del array
    assert out.publish() == 0
    assert subscriber.recv(5).pixels.tolist() == [5, 5, 5]


def test_loans_of_all_types(node, schema):
    from test_values import KITCHEN, check

    publisher = node.publisher("kitchen", type="t::Kitchen", schema=schema)
    subscriber = node.subscriber("kitchen")
    with publisher.loan(raw=3, cloud=1) as out:
        for name, value in KITCHEN.items():
            out[name] = value
        # In place, part by part.
        out.point.x, out.corners["x"][0], out.names[2] = 1.0, 3.0, "sevench"
        out.grid[1, 2] = 6
    with subscriber.recv(5) as m:
        check(m)
    publisher.publish(**KITCHEN)
    check(subscriber.recv(5))
    out = publisher.loan(raw=3)
    out.raw = b"ab"
    assert len(out.raw) == 2
    with pytest.raises(situ.ConversionError, match="4 elements are given, and 2 were lent: lend with `raw=4`"):
        out.raw = b"abcd"
    with pytest.raises(situ.ConversionError, match="`raw.1.`: an integer is expected, and this is of type str"):
        out.raw = [1, "b"]
    with pytest.raises(situ.ConversionError, match="`text`: a text of 20 bytes"):
        out.text = "x" * 20
    with pytest.raises(situ.ConversionError, match="`names`|`names.1.`"):
        out.names = ["a", 1]
    with pytest.raises(IndexError):
        out.names[0]
    with pytest.raises(AttributeError):
        out.nothing = 1
    with pytest.raises(situ.ConversionError, match="no bulk member `nothing`; there are: raw, cloud"):
        publisher.loan(nothing=1)
    with pytest.raises(situ.ConversionError, match="a number of elements"):
        publisher.loan(raw=-1)
    with pytest.raises(situ.Error):
        publisher.loan(raw=2**63)


def test_serialized_topics(node, schema):
    publisher = node.publisher("heap", type="t::Heap", schema=schema)
    subscriber = node.subscriber("heap")
    assert publisher.encoding == "xcdr1"
    with publisher.loan() as out:
        out.text = "hello"
        out.names.append("world")
    publisher.publish(text="again", few=np.arange(3))
    m = subscriber.recv(5)
    assert (m.text, m.names, m.info.encoding, m.info.sequence) == ("hello", ["world"], "xcdr1", 0)
    with subscriber.recv(5) as m:
        assert m.few.tolist() == [0, 1, 2]
    with pytest.raises(ValueError):
        with publisher.loan() as out:
            raise ValueError
    assert subscriber.take() is None


def test_a_type_is_flat_or_serialized_as_the_user_says(node, schema):
    flat = node.subscriber("point", type="t::Point", schema=schema)
    cdr = node.publisher("point", type="t::Point", schema=schema, storage="cdr")
    assert cdr.encoding == "xcdr1"
    cdr.publish(x=1.0)
    assert flat.recv(5).x == 1.0
    with pytest.raises(situ.SchemaError, match="has no flat form"):
        node.publisher("heap", type="t::Heap", schema=schema, storage="flat")
    with pytest.raises(ValueError):
        node.publisher("heap", type="t::Heap", schema=schema, storage="paper")


def test_types_of_topics(node, schema):
    with pytest.raises(situ.NotFoundError, match="there is no topic \"?'?nothing"):
        node.subscriber("nothing", wait=0.01)
    with pytest.raises(situ.SchemaError, match="name its type"):
        node.publisher("nothing")
    with pytest.raises(situ.SchemaError):
        node.publisher("nothing", type="t::Unheard")
    Point = schema.find("t::Point").cls
    publisher = node.publisher("point", type=Point)
    assert node.publisher("point").message is Point and node.subscriber("point", type="t/Point").message is Point
    with pytest.raises(situ.SchemaError, match="has the type t::Point"):
        node.subscriber("point", type="t::Small")
    with pytest.raises(situ.RegisterError):
        node.subscriber("point", type=schema.find("t::Small"))
    with pytest.raises(TypeError, match="there is no option 'depht'"):
        node.publisher("point", depht=3)
    with pytest.raises(TypeError):
        node.publisher("point", type=int)
    with pytest.raises(situ.ConversionError, match="`durability` cannot be"):
        node.publisher("point", durability="eternal")
    subscriber = node.subscriber("point")
    assert publisher.subscribers == 1 and subscriber.publishers == 1
    assert publisher.topic == "point" and "point" in repr(publisher)


def test_limits_of_held_messages_say_where_they_were_taken(node, schema):
    publisher = node.publisher("point", type="t::Point", schema=schema, depth=16)
    subscriber = node.subscriber("point", max_held=2, keep_last=16)
    situ.debug(True)
    try:
        for index in range(4):
            publisher.publish(x=index)
        held = [subscriber.recv(5) for _ in range(2)]
        # Small messages are copied out of their rows, so more can be held; larger ones are not.
        big = node.publisher("big", type="t::Image", schema=schema, depth=16)
        subscriber = node.subscriber("big", max_held=2, keep_last=16)
        for index in range(4):
            big.publish(pixels=bytes(5000))
        held += [subscriber.recv(5) for _ in range(2)]
        with pytest.raises(situ.HeldError, match="2 taken at .*test_topics.py:"):
            subscriber.take()
        held.clear()
        assert subscriber.take() is not None
    finally:
        situ.debug(False)


def test_reliable_publishers_wait(node, schema):
    publisher = node.publisher("r", type="t::Image", schema=schema, reliable=True, depth=2, block=0.2)
    subscriber = node.subscriber("r", reliable=True)
    got = []

    def take():
        for _ in range(6):
            got.append(subscriber.recv(20).height)

    thread = threading.Thread(target=take)
    thread.start()
    for index in range(6):
        while True:
            try:
                publisher.publish(height=index)
                break
            except situ.PublishError:
                continue
    thread.join()
    assert got == list(range(6))
    with pytest.raises(situ.PublishError, match="has not taken message"):
        for index in range(20):
            publisher.publish(height=index)


def test_bodies_of_devices_are_written_with_one_copy(node, schema):
    publisher = node.publisher("p", type="t::Image", schema=schema, domain="emulated:0")
    subscriber = node.subscriber("p")
    assert publisher.publish(publisher.message(pixels=b"abc")) == 0
    assert publisher.publish(height=2, pixels=np.array([1, 2, 3], np.uint8)) == 1
    assert publisher.publish(publisher.message(height=3)) == 2
    assert subscriber.recv(5).pixels.tobytes() == b"abc"
    assert subscriber.recv(5).pixels.tolist() == [1, 2, 3]
    assert subscriber.recv(5).height == 3 and subscriber.take() is None
    with publisher.loan(pixels=3) as out:
        assert isinstance(out.pixels, situ.DeviceArray) and not out.pixels.readonly
        with pytest.raises(situ.MalformedError, match="not in the memory of the host"):
            out.pixels = b"abc"


def test_durability_and_user_headers(node, schema):
    publisher = node.publisher(
        "d", type="t::Point", schema=schema, durability="transient_local", reliable=True, depth=4, user_header=8
    )
    for index in range(3):
        publisher.publish(x=index, user_header=bytes([index]) * 8)
    late = node.subscriber("d", durability="transient_local")
    got = [late.recv(5) for _ in range(3)]
    assert [it.x for it in got] == [0, 1, 2] and got[2].info.user_header == b"\x02" * 8
    with pytest.raises(situ.ConversionError, match="9 bytes"):
        publisher.publish(x=1, user_header=bytes(9))


def test_closed_endpoints_say_so(root, schema):
    node = situ.Node("short")
    publisher = node.publisher("p", type="t::Point", schema=schema)
    subscriber = node.subscriber("p")
    loan = publisher.loan()
    publisher.publish(x=1)
    m = subscriber.recv(5)
    node.close()
    node.close()
    assert m.x == 1.0 and publisher.is_closed and subscriber.is_closed and node.is_closed
    loan.x = 5
    for use in (
        lambda: publisher.publish(x=1), lambda: publisher.loan(), lambda: subscriber.take(), lambda: subscriber.recv(1),
        lambda: node.publisher("q", type="t::Point", schema=schema), lambda: subscriber.wait(1),
    ):  # fmt: skip
        with pytest.raises(situ.ReleasedError, match="closed"):
            use()
    assert list(subscriber) == []
    with pytest.raises(situ.RegisterError):
        situ.Node("")


def test_timeouts(node, schema):
    publisher = node.publisher("p", type="t::Point", schema=schema)
    subscriber = node.subscriber("p")
    assert publisher.subscribers == 1
    with pytest.raises(situ.TimeoutError, match="no message on topic"):
        subscriber.recv(0.01)
    with pytest.raises(TimeoutError):
        subscriber.recv(0.01, spin=0.005)
    assert subscriber.wait(0) is False
    with pytest.raises(situ.ConversionError):
        subscriber.wait(-1)


def test_graph_and_topics(node, schema):
    publisher = node.publisher("p", type="t::Point", schema=schema)
    publisher.publish(x=1)
    (topic,) = node.topics()
    assert (topic.name, topic.type, topic.encoding, topic.published, topic.publishers) == ("p", "t::Point", "flat", 1, 1)
    assert "p" in topic._repr_html_()
    (found,) = situ.graph()
    assert found.name == "/test" and [(it.role, it.name) for it in found.endpoints] == [("publisher", "p")]


def test_messages_of_a_million_leave_memory_steady(node, schema):
    """In short here; the bench runs a million."""
    import resource

    publisher = node.publisher("p", type="t::Small", schema=schema)
    subscriber = node.subscriber("p")

    def run(count):
        for index in range(count):
            publisher.publish(number=index)
            assert subscriber.take().number == index

    run(2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(10000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096


class Producer:
    """A library's array that has DLPack only."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device, self.exports = array, device, 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.exports += 1
        return self.array.__dlpack__(**options)


def test_arrays_of_other_libraries_come_by_dlpack(node, schema):
    np = pytest.importorskip("numpy")
    image = Producer(np.arange(12, dtype="u1").reshape(2, 2, 3))
    publisher = node.publisher("image", type="t::Image", schema=schema)
    subscriber = node.subscriber("image")
    publisher.publish(height=2, width=2, pixels=image)
    assert subscriber.recv(5).pixels.tolist() == list(range(12))
    with publisher.loan(pixels=12) as out:
        out.pixels = image
    assert subscriber.recv(5).pixels.tolist() == list(range(12))
    # Into a message of its own, which is serialized later.
    assert publisher.message(pixels=image).pixels.tolist() == list(range(12))
    on_device = Producer(image.array, (2, 1))
    for put in (lambda: publisher.publish(pixels=on_device), lambda: publisher.message(pixels=on_device)):
        with pytest.raises(situ.ConversionError, match="`pixels`.*memory of device 1 of DLPack's kind 2: copy it to the host"):
            put()
    assert on_device.exports == 0
