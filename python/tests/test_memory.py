"""Messages leave nothing behind: neither objects nor memory."""

import gc
import sys
import threading

import pytest

import situ


def resident():
    """The memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def growth(turn, turns, rounds=4):
    """By how many blocks and bytes the process grows in `turns` turns: the least of some rounds, because caches of
    the interpreter fill in the first ones."""
    blocks, memory = [], []
    for _ in range(rounds):
        gc.collect()
        before = sys.getallocatedblocks(), resident()
        for number in range(turns):
            turn(number)
        gc.collect()
        blocks.append(sys.getallocatedblocks() - before[0])
        memory.append(resident() - before[1])
    return min(blocks), min(memory)


def by_loan(publisher, number):
    with publisher.loan() as out:
        out.number = number


def by_keywords(publisher, number):
    publisher.publish(number=number, data=range(56))


def by_message(publisher, number):
    publisher.publish(publisher.message(number=number))


@pytest.mark.parametrize("make", [by_loan, by_keywords, by_message])
def test_messages_leave_nothing_behind(node, schema, make):
    publisher = node.publisher("small", type="t::Small", schema=schema, depth=4)
    subscriber = node.subscriber("small")

    def turn(number):
        make(publisher, number)
        with subscriber.recv(30) as message:
            assert message.number == number

    blocks, memory = growth(turn, 500)
    # One block a message would be 500, and the bytes of one message each 32,000.
    assert blocks < 100 and memory < 16 << 10


def test_arrays_and_views_leave_nothing_behind(node, schema):
    pytest.importorskip("numpy")
    publisher = node.publisher("kitchen", type="t::Kitchen", schema=schema, depth=4)
    subscriber = node.subscriber("kitchen")

    def turn(number):
        publisher.publish(raw=bytes(100), cloud=[(1, 2)] * 3, names=["a", "b"], choice=("whole", 3), ages={"x": 1})
        with subscriber.recv(30) as message:
            assert message.raw.size == 100 and message.cloud["y"].tolist() == [2, 2, 2]
            assert list(message.names) == ["a", "b"] and message.choice.value == 3 and message.ages["x"] == 1
            message.copy().to_json()

    assert growth(turn, 300)[0] < 100


def test_calls_leave_nothing_behind(node, schema):
    server = node.server("same", request=schema.find("t::Point"), reply=schema.find("t::Point"))
    thread = threading.Thread(target=server.serve, args=(lambda request: {"x": request.x + 1},))
    thread.start()
    client = node.client("same")
    client.wait_for_server(30)

    def turn(number):
        assert client.call(x=number, timeout=60).x == number + 1

    blocks = growth(turn, 200)[0]
    server.close()
    thread.join()
    assert blocks < 100
