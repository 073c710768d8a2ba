"""Other processes: forks, `spawn`, kills, the end of the interpreter."""

import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import situ

PATH = str(pathlib.Path(situ.__file__).parents[1])


def run(text, *arguments, **options):
    """A program of its own."""
    environment = dict(os.environ, PYTHONPATH=PATH)
    program = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text), *map(str, arguments)]
    return subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def finish(process):
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return out.strip()


def test_use_after_fork_is_an_error_in_the_child(node, schema):
    publisher = node.publisher("p", type="t::Image", schema=schema)
    subscriber = node.subscriber("p")
    loan = publisher.loan(pixels=3)
    server = node.server("s", request="t::Point", reply="t::Point", schema=schema)
    publisher.publish(pixels=bytes(5000))
    message = subscriber.recv(5)
    array = message.pixels
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for use in (
                lambda: publisher.publish(pixels=b"a"), lambda: publisher.loan(), lambda: subscriber.take(),
                lambda: subscriber.wait(1), lambda: node.publisher("q"), lambda: server.take(), lambda: loan.publish(),
            ):  # fmt: skip
                try:
                    use()
                    os._exit(2)
                except situ.ForkedError as error:
                    assert "spawn" in str(error) or "create a node in this process" in str(error), error
            array.sum()
            del message, array, loan
            with situ.Node("child") as own:
                assert own.subscriber("p").take() is None
            publisher.close(), subscriber.close(), server.close(), node.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert array.nbytes == 5000 and subscriber.take() is None
    publisher.publish(pixels=b"abc")
    assert subscriber.recv(5).pixels.tobytes() == b"abc"


def _double(topic):
    with situ.Node("worker") as node:
        return int(node.subscriber(topic, durability="transient_local").recv(60).pixels.sum())


def test_spawn(node, schema):
    publisher = node.publisher("p", type="t::Image", schema=schema, durability="transient_local")
    publisher.publish(pixels=np.full(1000, 2, np.uint8))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_double, ("p",)) == 2000


def test_two_processes_exchange_messages(node, schema):
    publisher = node.publisher("image", type="t::Image", schema=schema, depth=16)
    process = run(
        """
        import situ
        with situ.Node("reader") as node:
            for image in node.subscriber("image", wait=60):
                with image:
                    if image.height == 99:
                        break
                    print(image.width, int(image.pixels.sum()), flush=True)
        """
    )
    publisher.wait_for_subscribers(1, 60)
    for index in range(3):
        publisher.publish(width=index, pixels=np.full(100000, index, np.uint8))
    publisher.publish(height=99)
    assert finish(process).split("\n") == ["0 0", "1 100000", "2 200000"]


def test_ctrl_c_ends_waits(root):
    process = run(
        """
        import signal, situ
        # A shell starts the tests with this signal ignored when they run in its background.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        node = situ.Node("waiting")
        schema = situ.Schema(text="@flat struct P { long x; };")
        subscriber = node.subscriber("p", type="P", schema=schema)
        print("ready", flush=True)
        try:
            for message in subscriber:
                pass
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert finish(process) == "interrupted"


@pytest.mark.parametrize("order", ["node", "endpoints", "nothing", "exit"])
def test_the_interpreter_ends_with_live_handles(root, order):
    process = run(
        """
        import sys, threading, situ, numpy
        node = situ.Node("ends")
        schema = situ.Schema(text="@flat struct P { long x; @bulk sequence<octet> raw; };")
        publisher = node.publisher("p", type="P", schema=schema)
        subscriber = node.subscriber("p")
        publisher.publish(x=1, raw=bytes(5000))
        message = subscriber.recv(5)
        array = message.raw
        loan = publisher.loan(raw=100)
        kept = loan.raw
        subscriber.fileno()
        waits = situ.WaitSet(node); waits.attach(subscriber); waits.attach(situ.Timer(0.001))
        threading.Thread(target=subscriber.wait, daemon=True).start()
        print("done", flush=True)
        if sys.argv[1] == "node": del node
        if sys.argv[1] == "endpoints": del publisher, subscriber
        if sys.argv[1] == "exit": sys.exit()
        """,
        order,
    )
    assert finish(process) == "done"


def test_a_killed_reader_leaves_no_trace(node, schema):
    publisher = node.publisher("p", type="t::Image", schema=schema, reliable=True, depth=2, block=60)
    process = run(
        """
        import situ, time
        node = situ.Node("victim")
        subscriber = node.subscriber("p", wait=60, reliable=True)
        held = [subscriber.recv(60)]
        print("held", flush=True)
        time.sleep(100)
        """
    )
    publisher.wait_for_subscribers(1, 60)
    publisher.publish(pixels=bytes(5000))
    assert process.stdout.readline() == "held\n"
    process.kill()
    process.wait()
    # A dead reader does not hold the publisher up.
    for _ in range(20):
        publisher.publish(pixels=bytes(5000))
    process.stdout.close(), process.stderr.close()


def test_a_killed_writer_leaves_its_messages_readable(node, schema):
    subscriber = node.subscriber("p", type="t::Image", schema=schema)
    process = run(
        """
        import situ, time
        node = situ.Node("victim")
        publisher = node.publisher("p")
        publisher.publish(pixels=b"x" * 5000)
        loan = publisher.loan(pixels=10)
        print("sent", flush=True)
        time.sleep(100)
        """
    )
    assert process.stdout.readline() == "sent\n"
    message = subscriber.recv(20)
    process.kill()
    process.wait()
    assert message.pixels.tobytes() == b"x" * 5000 and subscriber.take() is None
    process.stdout.close(), process.stderr.close()


def test_threads_share_a_subscriber(node, schema):
    publisher = node.publisher("p", type="t::Small", schema=schema, reliable=True, depth=512)
    subscriber = node.subscriber("p", reliable=True)
    got, lock = [], threading.Lock()

    def take():
        while True:
            number = subscriber.recv(60).number
            if number < 0:
                return
            with lock:
                got.append(number)

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for index in range(300):
        publisher.publish(number=index)
    for _ in threads:
        publisher.publish(number=-1)
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(300))


def test_imports_neither_numpy_nor_asyncio():
    process = run(
        """
        import sys, situ
        print(sorted({"numpy", "asyncio", "dataclasses", "typing_extensions"} & set(sys.modules)))
        """
    )
    assert finish(process) == "[]"


def test_works_without_numpy(root):
    process = run(
        """
        import sys
        sys.modules["numpy"] = None
        import situ
        with situ.Node("bare") as node:
            schema = situ.Schema(text="@flat struct P { long x[2][2]; sequence<float, 4> few; @bulk sequence<short> raw; };")
            publisher = node.publisher("p", type="P", schema=schema)
            subscriber = node.subscriber("p")
            publisher.publish(x=[[1, 2], [3, 4]], few=[0.5], raw=[-1, 2])
            m = subscriber.recv(5)
            print(m.x.tolist(), list(m.few), m.raw[0], m.raw[-1], len(m.raw), m.to_dict(), m)
        """
    )
    expected = "[[1, 2], [3, 4]] [0.5] -1 2 2 {'x': [[1, 2], [3, 4]], 'few': [0.5], 'raw': [-1, 2]}"
    assert finish(process) == expected + " P(x=[[1, 2], [3, 4]], few=[0.5], raw=[-1, 2])"


def test_what_runs_at_the_end_of_the_interpreter_may_close(root):
    process = run(
        """
        import atexit

        class Robot:
            def __init__(self):
                self.node = situ.Node("robot")

            def __del__(self):
                self.node.close()
                print("deleted", flush=True)

        def last():
            node.close()
            print("last", flush=True)

        # What is registered before the import runs after what the import registers.
        atexit.register(last)
        import situ

        node, robot = situ.Node("a"), Robot()
        """
    )
    assert finish(process) == "last\ndeleted"


def test_the_end_of_the_interpreter_ends_a_player(root, tmp_path):
    process = run(
        """
        import sys, threading, time, situ
        type = situ.Schema(text="struct P { long x; };").find("P")
        with situ.RecordWriter(sys.argv[1]) as writer:
            writer.add_topic("p", type)
            writer.write("p", {"x": 1}, log_time_ns=0)
            writer.write("p", {"x": 2}, log_time_ns=3600 * 10**9)
        subscriber = situ.Node("a").subscriber("p", type=type)
        threading.Thread(target=situ.play, args=[sys.argv[1]], daemon=True).start()
        print(subscriber.recv(60).x)
        time.sleep(0.1)
        """,
        tmp_path / "p.mcap",
    )
    out, err = process.communicate(timeout=100)
    assert (out, err, process.returncode) == ("1\n", "", 0)
