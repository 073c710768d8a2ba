"""Services, events, wait sets, the executor, event loops."""

import asyncio
import os
import threading
import time

import pytest

import situ
import situ.trace

IDL = """
module calc {
  @flat struct Sum { long a; long b; };
  @flat struct Total { long long sum; };
  struct Words { sequence<string> words; };
};
"""


@pytest.fixture
def types():
    schema = situ.Schema(text=IDL)
    return dict(request=schema.find("calc::Sum"), reply=schema.find("calc::Total"))


@pytest.fixture
def server(node, types):
    server = node.server("sum", **types)

    def answer(request):
        if request.a < 0:
            raise ValueError("too little")
        return {"sum": request.a + request.b}

    thread = threading.Thread(target=server.serve, args=(answer,))
    thread.start()
    yield server
    server.close()
    thread.join()


def test_calls(node, server):
    client = node.client("sum")
    assert client.wait_for_server(5) and client.servers == 1
    assert client.call(a=3, b=4, timeout=20).sum == 7
    assert client.call({"a": 1}, timeout=20).sum == 1
    assert client.call(client.request(b=2), timeout=20).sum == 2
    with pytest.raises(situ.RefusedError, match="ValueError: too little") as error:
        client.call(a=-1, timeout=20)
    assert error.value.code == 1 and error.value.text == "ValueError: too little"
    with pytest.raises(situ.ConversionError):
        client.call(c=1)


def test_calls_without_a_server(node, types):
    with pytest.raises(situ.NotFoundError, match="there is no service"):
        node.client("nothing", wait=0.01)
    client = node.client("sum", **types)
    assert client.wait_for_server(0.01) is False
    with pytest.raises(situ.CallError, match="has no server"):
        client.call(a=1)
    server = node.server("sum", **types)
    with pytest.raises(situ.TimeoutError, match="has no reply after"):
        client.call(a=1, timeout=0.05)
    call = client.send({"a": 1})
    request = server.recv(20)
    assert not request.is_cancelled and client.take_reply(call, False) is None
    client.cancel(call)
    assert request.is_cancelled
    with pytest.raises(situ.TimeoutError):
        server.recv(0.01)
    with pytest.raises(situ.SchemaError, match="needs both types"):
        node.client("sum", request=types["request"])


def test_replies_in_parts(node, types):
    server = node.server("sum", **types)

    def serve():
        request = server.recv(20)
        for index in range(3):
            request.answer(sum=index, more=True)
        request.end()

    thread = threading.Thread(target=serve)
    thread.start()
    client = node.client("sum", **types)
    assert [it.sum for it in client.stream(a=1, timeout=20)] == [0, 1, 2]
    thread.join()


def test_services_of_srv_files(node, tmp_path):
    (tmp_path / "p" / "srv").mkdir(parents=True)
    (tmp_path / "p" / "srv" / "Add.srv").write_text("int64 a\nint64 b\n---\nint64 sum\n")
    server = node.server("add", type="p/srv/Add", schema=tmp_path / "p" / "srv" / "Add.srv")
    thread = threading.Thread(target=lambda: server.serve(lambda it: {"sum": it.a + it.b}, count=1))
    thread.start()
    assert node.client("add").call(a=2, b=5, timeout=20).sum == 7
    thread.join()
    with pytest.raises(situ.SchemaError, match="there is no service"):
        node.server("add", type="p/Sub", schema=tmp_path / "p" / "srv" / "Add.srv")


def test_wait_sets(node, schema):
    publisher = node.publisher("p", type="t::Point", schema=schema)
    subscriber = node.subscriber("p")
    waits = situ.WaitSet(node)
    waits.attach(subscriber)
    guard, timer = waits.attach(situ.GuardCondition()), waits.attach(situ.Timer(0.01, once=True))
    read, write = os.pipe()
    waits.attach(read)
    assert len(waits) == 4
    ready = waits.wait(20)
    assert timer in ready and timer.calls == 1
    assert waits.wait(0) == []
    publisher.publish(x=1)
    assert subscriber in waits.wait(20)
    assert subscriber.take().x == 1
    guard.trigger()
    assert waits.wait(20) == [guard]
    os.write(write, b"x")
    assert waits.wait(20) == [read]
    assert waits.detach(guard) and not waits.detach(guard)
    os.close(read), os.close(write)
    with pytest.raises(situ.ConversionError):
        waits.attach(-1)
    with pytest.raises(AttributeError):
        waits.attach("text")


def test_events(node, schema):
    publisher = node.publisher("p", type="t::Point", schema=schema)
    matched = publisher.event("matched")
    waits = situ.WaitSet(node)
    waits.attach(matched)
    subscriber = node.subscriber("p")
    assert waits.wait(20) == [matched]
    status = matched.take()
    assert (status["total_count"], status["current_count_change"]) == (1, 1)
    wrong = node.subscriber("p", reliable=True)
    incompatible = wrong.event("incompatible_qos").take()
    assert incompatible["total_count"] == 1 and incompatible["policies"] == ["reliability"]
    assert subscriber.event("messages_lost").take() == {"total_count": 0, "total_count_change": 0}
    with pytest.raises(situ.Error, match="no event"):
        publisher.event("rain")


def test_the_executor(node, schema, types):
    publisher = node.publisher("p", type="t::Point", schema=schema)
    executor = situ.Executor(node)
    got = []
    executor.subscribe(node.subscriber("p"), lambda m: got.append(m.x))
    executor.serve(node.server("sum", **types), lambda it: {"sum": it.a})
    tick = executor.timer(0.005, lambda: publisher.publish(x=1))
    thread = threading.Thread(target=lambda: (node.client("sum").call(a=1, timeout=20), executor.stop()))
    thread.start()
    executor.spin()
    thread.join()
    while not got:
        executor.spin_once(1)
    assert set(got) == {1.0} and executor.remove(tick) and not executor.remove(tick)


def test_asyncio(node, schema, server):
    publisher = node.publisher("p", type="t::Point", schema=schema)
    subscriber = node.subscriber("p")
    client = node.client("sum")

    async def main():
        async def publish():
            for index in range(5):
                await asyncio.sleep(0.002)
                publisher.publish(x=index)

        task = asyncio.ensure_future(publish())
        got = []
        async for message in subscriber:
            got.append(message.x)
            if len(got) == 5:
                break
        await task
        calls = [client.acall(a=index, b=1, timeout=20) for index in range(5)]
        replies = [it.sum for it in await asyncio.gather(*calls)]
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(subscriber.arecv(), 0.02)
        return got, replies

    assert asyncio.run(main()) == ([0, 1, 2, 3, 4], [1, 2, 3, 4, 5])


@pytest.mark.parametrize("in_thread", [False, True])
def test_closing_ends_waits_of_event_loops(node, schema, types, in_thread):
    for stream in (node.subscriber("p", type="t::Point", schema=schema), node.server("s", **types)):

        async def main():
            async def all_of_it():
                return [it async for it in stream]

            waiting = [asyncio.ensure_future(all_of_it()) for _ in range(2)]
            await asyncio.sleep(0.02)
            if in_thread:
                await asyncio.get_running_loop().run_in_executor(None, stream.close)
            else:
                stream.close()
            return await asyncio.wait_for(asyncio.gather(*waiting), 60)

        assert asyncio.run(main()) == [[], []]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio(node, schema, backend):
    anyio = pytest.importorskip("anyio")
    if backend == "trio":
        pytest.importorskip("trio")
    publisher = node.publisher("p", type="t::Point", schema=schema)
    subscriber = node.subscriber("p")

    async def main():
        async with anyio.create_task_group() as group:

            async def publish():
                await anyio.sleep(0.01)
                publisher.publish(x=3)

            group.start_soon(publish)
            return (await subscriber.arecv()).x

    assert anyio.run(main, backend=backend) == 3


def test_uvloop(node, schema):
    uvloop = pytest.importorskip("uvloop")
    publisher = node.publisher("p", type="t::Point", schema=schema)
    subscriber = node.subscriber("p")

    async def main():
        asyncio.get_running_loop().call_later(0.01, lambda: publisher.publish(x=4))
        return (await subscriber.arecv()).x

    loop = uvloop.new_event_loop()
    assert loop.run_until_complete(main()) == 4
    loop.close()


def test_waits_give_the_gil_away(node, schema):
    publisher = node.publisher("p", type="t::Point", schema=schema)
    subscriber = node.subscriber("p")
    thread = threading.Thread(target=lambda: (time.sleep(0.05), publisher.publish(x=1)))
    thread.start()
    assert subscriber.recv(20).x == 1.0
    thread.join()


def test_traces(node):
    assert situ.trace.enabled() is False

    @situ.trace.slice("whole", argument=1)
    def function(x):
        situ.trace.instant("moment", text="a", number=1.5, truth=True)
        return x

    with situ.trace.slice("part", flow=7):
        assert function(3) == 3


def test_loans_of_requests_and_replies(node):
    np = pytest.importorskip("numpy")
    schema = situ.Schema(text="""
        @flat struct Ask { long scale; @bulk sequence<float> numbers; };
        @flat struct Told { @bulk sequence<float> numbers; };
        struct Words { string text; };
    """)
    types = dict(request=schema.find("Ask"), reply=schema.find("Told"))
    server, client = node.server("scale", **types), node.client("scale", **types)
    client.wait_for_server(30)

    def serve():
        for request in server:
            asked = request.message
            reply = request.loan(numbers=asked.numbers.size)
            reply.numbers[:] = asked.numbers * asked.scale
            request.answer(reply)
            with pytest.raises(situ.ReleasedError, match="the loan is sent"):
                reply.numbers

    thread = threading.Thread(target=serve)
    thread.start()
    copies = situ.copies()
    request = client.loan(numbers=3)
    request.scale = 2
    request.numbers[:] = [1, 2, 3]
    reply = client.call(request, timeout=60)
    assert reply.numbers.tolist() == [2, 4, 6] and isinstance(reply.numbers, np.ndarray)
    assert situ.copies() == copies
    with pytest.raises(situ.ReleasedError, match="the loan is sent"):
        request.scale = 3
    # A loan that is not sent, one with an array, and one of another client, which is copied.
    with client.loan(numbers=1):
        pass
    request = client.loan(numbers=2)
    numbers = request.numbers
    with pytest.raises(situ.BorrowedError, match="1 array"):
        client.call(request)
    numbers[:] = 4
    del numbers
    other = node.client("scale", **types)
    request.scale = 1
    assert other.call(request, timeout=60).numbers.tolist() == [4, 4]
    request.numbers[0] = 5
    assert client.call(request, timeout=60).numbers.tolist() == [5, 4]
    with pytest.raises(situ.ConversionError, match="there is no bulk member `words`"):
        client.loan(words=3)
    # Many loans that are dropped.
    for _ in range(200):
        client.loan(numbers=1000)
    request = client.loan(numbers=1)
    server.close()
    client.close()
    del request
    thread.join()


def test_serialized_requests_are_lent_as_new_messages(node):
    schema = situ.Schema(text="struct Words { string text; };")
    types = dict(request=schema.find("Words"), reply=schema.find("Words"))
    server, client = node.server("echo", **types), node.client("echo", **types)
    client.wait_for_server(30)
    request = client.loan()
    request.text = "hello"
    call = client.send(request, 60)
    asked = server.recv(30)
    reply = asked.loan()
    reply.text = asked.message.text + "!"
    asked.answer(reply)
    assert client.take_reply(call)[0].text == "hello!"
    for lend in (client.loan, asked.loan):
        with pytest.raises(TypeError, match="serialized"):
            lend(text=3)
