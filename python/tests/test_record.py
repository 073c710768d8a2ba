"""Recordings: what a program writes comes back; topics are recorded and played; what goes wrong."""

import gc
import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings

import pytest

import situ


@pytest.fixture
def path(tmp_path):
    return tmp_path / "test.mcap"


def test_messages_come_back_with_their_times(path, schema):
    with situ.RecordWriter(path, compression="zstd") as writer:
        writer.add_topic("points", "t::Point", schema=schema)
        writer.add_topic("trees", schema.find("t::Tree").cls)
        writer.write("points", {"x": 1.5, "y": -2.0}, log_time_ns=1000, publish_time_ns=900)
        writer.write("trees", {"name": "oak", "children": [{"name": "leaf"}]}, log_time_ns=2000)
        writer.write("points", struct.pack("<4Bdd", 0, 1, 0, 0, 3.0, 4.0), log_time_ns=3000)
    with situ.open_record(path) as record:
        assert record.topics == {"points": "t::Point", "trees": "t::Tree"}
        assert (len(record), record.start_time_ns, record.end_time_ns) == (3, 1000, 3000)
        assert record.is_complete and record.problems == [] and record.profile == "ros2"
        assert [channel.encoding for channel in record.channels] == ["flat", "xcdr1"]
        first, second, third = record
        assert (first.topic, first.sequence, first.log_time_ns, first.publish_time_ns) == ("points", 0, 1000, 900)
        # CDR, written by hand.
        assert first.data == struct.pack("<4Bdd", 0, 1, 0, 0, 1.5, -2.0)
        assert (first.value.x, first.value.y) == (1.5, -2.0)
        assert second.publish_time_ns == 2000
        assert second.value.name == "oak" and second.value.children[0].name == "leaf"
        assert (third.sequence, third.value.x, third.value.y) == (1, 3.0, 4.0)
        late = record.messages("poin*", start_ns=1001, end_ns=3001)
        assert [message.log_time_ns for message in late] == [3000]
        assert list(record.messages("other")) == [] and len(list(record.messages())) == 3


def test_regions_are_read_in_place(path, root, schema):
    type = situ.Schema(text="@region struct Hero { string name; sequence<long> scores; };").find("Hero")
    with situ.Node("hero") as node, situ.record(path, "heroes", node=node) as recording:
        publisher = node.publisher("heroes", type=type)
        deadline = time.monotonic() + 10
        while not publisher.subscribers and time.monotonic() < deadline:
            time.sleep(0.001)
        publisher.publish(name="Conan", scores=[3, 4])
    assert recording.missing == 0
    (message,) = situ.open_record(path)
    assert message.value.name == "Conan" and list(message.value.scores) == [3, 4]


def test_topics_are_recorded_and_played(path, node, schema):
    publisher = node.publisher("points", type="t::Point", schema=schema)
    other = node.publisher("debug", type="t::Point", schema=schema)
    with situ.record(path, exclude="debug", node=node) as recording:
        for number in range(5):
            publisher.publish(x=number)
            other.publish(x=number)
        assert not recording.has_ended
    assert [(it.topic, it.messages, it.lost) for it in recording.topics] == [("points", 5, 0)]
    assert recording.missing == 0 and recording.has_ended
    recording.stop()
    record = situ.open_record(path)
    assert [message.value.x for message in record] == [0, 1, 2, 3, 4]
    assert record.channels[0].node == "/test" and record.channels[0].publisher == publisher.id

    with node.subscriber("again", type="t::Point", schema=schema) as subscriber:
        played = []
        play = lambda: played.append(situ.play(path, "points", remap={"points": "again"}, node=node, wait=60.0))
        player = threading.Thread(target=play)
        player.start()
        assert [subscriber.recv(60).x for _ in range(5)] == [0, 1, 2, 3, 4]
        player.join()
        assert played == [5]


def test_play_ends_with_the_signal_of_the_program(path, node, schema):
    with situ.RecordWriter(path) as writer:
        writer.add_topic("points", "t::Point", schema=schema)
        writer.write("points", {}, log_time_ns=0)
        writer.write("points", {}, log_time_ns=3600 * 10**9)
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        situ.play(path, node=node, wait=0.0)
    timer.join()


def test_mistakes_are_reported(path, schema):
    with pytest.raises(situ.RecordError, match="cannot read"):
        situ.open_record(path)
    path.write_text("no recording")
    with pytest.raises(situ.RecordError, match="is no MCAP file"):
        situ.open_record(path)
    with pytest.raises(situ.RecordError, match="exists already"):
        situ.RecordWriter(path)
    with pytest.raises(situ.ConversionError, match="there is no compression"):
        situ.RecordWriter(path, compression="zip")
    writer = situ.RecordWriter(path, overwrite=True)
    with pytest.raises(situ.RecordError, match="add it first"):
        writer.write("points", {})
    writer.add_topic("points", "t::Point", schema=schema)
    with pytest.raises(situ.RecordError, match="has the topic"):
        writer.add_topic("points", "t::Point", schema=schema)
    with pytest.raises(situ.RecordError, match="4 bytes"):
        writer.write("points", b"abc")
    with pytest.raises(situ.ConversionError):
        writer.write("points", {"z": 1})
    writer.write("points", {"x": 1})
    writer.finish()
    writer.finish()
    with pytest.raises(situ.ReleasedError, match="finished"):
        writer.write("points", {})
    assert len(situ.open_record(path)) == 1
    with pytest.raises(situ.RecordError, match="nothing to play"):
        situ.play(path, "other", node=situ.Node("player"))
    with pytest.raises(situ.ConversionError, match="rate"):
        situ.play(path, rate=0)


def test_a_file_that_was_not_finished_is_read(path, schema):
    writer = situ.RecordWriter(path)
    writer.add_topic("points", "t::Point", schema=schema)
    writer.write("points", {"x": 1})
    writer.flush()
    record = situ.open_record(path)
    assert not record.is_complete and len(record) == 1
    assert next(iter(record)).value.x == 1
    writer.finish()


def test_a_damaged_part_is_an_error_and_the_rest_is_read(path, schema):
    with situ.RecordWriter(path, checksums=True) as writer:
        writer.add_topic("points", "t::Point", schema=schema)
        for number in range(2):
            writer.write("points", {"x": number}, log_time_ns=number)
            # Each message gets a chunk of its own.
            writer.flush()
    bytes = bytearray(path.read_bytes())
    at = bytes.index(struct.pack("<4Bdd", 0, 1, 0, 0, 0.0, 0.0))
    bytes[at + 5] ^= 0xFF
    path.write_bytes(bytes)
    messages = iter(situ.open_record(path))
    with pytest.raises(situ.RecordError, match="check sum"):
        next(messages)
    assert next(messages).value.x == 1
    with pytest.raises(StopIteration):
        next(messages)


LIMITED = """
import resource, signal, sys
import situ
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
type = situ.Schema(text="struct P { sequence<octet> bytes; };").find("P")

def write(path):
    writer = situ.RecordWriter(path)
    writer.add_topic("p", type)
    for _ in range(10):
        writer.write("p", {"bytes": bytes(1000)})
    return writer
"""


def run(text, *arguments):
    program = [sys.executable, "-X", "faulthandler", "-c", text, *map(str, arguments)]
    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(situ.__file__).parents[1]))
    return subprocess.run(program, capture_output=True, text=True, timeout=100, env=environment)


def test_a_writer_that_is_dropped_finishes_its_file_and_warns(path, schema):
    writer = situ.RecordWriter(path)
    writer.add_topic("points", "t::Point", schema=schema)
    writer.write("points", {"x": 1})
    with pytest.warns(ResourceWarning, match="test.mcap"):
        del writer
        gc.collect()
    assert situ.open_record(path).is_complete and len(situ.open_record(path)) == 1
    with pytest.raises(situ.RecordError):
        situ.RecordWriter(path)
    gc.collect()


def test_what_a_dropped_writer_could_not_write_is_told(path):
    ran = run(LIMITED + "write(sys.argv[1])\nprint('on')", path)
    assert ran.stdout == "on\n" and ran.returncode == 0
    assert "RecordError: 10 messages are not in the file" in ran.stderr


@pytest.mark.parametrize("keep", ["kept = write(path)", "def f(it): event.wait()\nimport threading; event = threading.Event(); "
                                  "threading.Thread(target=f, args=[write(path)], daemon=True).start()"])  # fmt: skip
def test_the_end_of_the_interpreter_finishes_files(path, keep):
    ran = run(LIMITED + "path = sys.argv[1]\n" + keep, path)
    assert "RecordError: 10 messages are not in the file" in ran.stderr
    unlimited = LIMITED.replace("4096", "1 << 20")
    path.unlink()
    ran = run(unlimited + "path = sys.argv[1]\n" + keep, path)
    assert ran.stderr == "" and situ.open_record(path).is_complete and len(situ.open_record(path)) == 10


def test_the_end_of_the_interpreter_ends_recordings(path, root):
    text = """
import sys, threading, situ
type = situ.Schema(text="struct P { long x; };").find("P")
node = situ.Node("a")
publisher = node.publisher("p", type=type)
recording = situ.record(sys.argv[1], node=node)
publisher.publish(x=1)
threading.Thread(target=lambda it: threading.Event().wait(), args=[recording], daemon=True).start()
"""
    ran = run(text, path)
    assert ran.returncode == 0 and ran.stderr == ""
    assert situ.open_record(path).is_complete and len(situ.open_record(path)) == 1


def test_a_forked_child_leaves_the_file_to_its_parent(path, schema):
    writer = situ.RecordWriter(path)
    writer.add_topic("points", "t::Point", schema=schema)
    writer.write("points", {"x": 1})
    child = os.fork()
    if child == 0:
        code = 1
        try:
            try:
                writer.write("points", {"x": 2})
            except situ.ForkedError:
                del writer
                gc.collect()
                code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    writer.finish()
    assert len(situ.open_record(path)) == 1


def test_other_threads_run_while_one_waits_for_the_disk(path, schema):
    # A pipe that nobody reads is a slow disk.
    text = """
import os, sys, threading, time, situ
type = situ.Schema(text="struct P { sequence<octet> bytes; };").find("P")
reader = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
os.set_blocking(reader, True)
writer = situ.RecordWriter(sys.argv[1], overwrite=True)
writer.add_topic("p", type)
writer.write("p", {"bytes": bytes(2 << 20)})
first = threading.Thread(target=writer.flush)
first.start()
time.sleep(0.2)
second = threading.Thread(target=writer.finish)
second.start()
time.sleep(0.2)
assert first.is_alive() and second.is_alive()
size = 0
while first.is_alive() or second.is_alive():
    size += len(os.read(reader, 1 << 16))
print(size > 1 << 20)
"""
    os.mkfifo(path)
    ran = run(text, path)
    assert ran.stdout == "True\n", ran.stderr


def test_what_a_recording_counted_is_there_although_warnings_are_errors(root):
    class Ended:
        def stop(self):
            return [("p", "P", 2, 10, 1, 0)], 0, situ.RecordError("the disk is full")

        def warnings(self):
            return ["topic p: messages are lost"]

        def is_open(self):
            return False

    node = situ.Node("own")
    recording = situ.Recording(Ended(), node, "x.mcap")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(situ.RecordError, match="the disk is full"):
            recording.stop()
    assert recording.missing == 1 and node.is_closed


def test_the_books_code_runs(path):
    example = pathlib.Path(__file__).resolve().parents[1] / "examples/recording.py"
    ran = subprocess.run([sys.executable, str(example), str(path)], capture_output=True, text=True, check=True)
    topics, message = ran.stdout.splitlines()
    assert topics == "{'robot/pose': 'robot::Pose'}"
    assert message.endswith(" 1.5")
