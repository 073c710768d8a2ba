"""Blackboards: one writer, readers of any process, values by key."""

import subprocess
import sys
import textwrap

import pytest

import situ


def test_values_are_set_and_read(node, schema):
    point = schema.find("t/Point")
    with node.blackboard_writer("poses", ["arm", "base"], type=point) as writer:
        reader = node.blackboard_reader("poses")
        assert (reader.type, reader.keys(), len(reader)) == (point, ["arm", "base"], 2)
        assert reader.get("arm") is None and reader.latest("arm") is None and reader.changes == 0
        with pytest.raises(KeyError, match="never set"):
            reader["arm"]
        assert writer.set("arm", x=0.5) == 1
        assert writer.set("arm", {"x": 1, "y": 2}) == 2
        writer["base"] = point.cls(y=7)
        assert reader["arm"] == point.cls(x=1, y=2) and type(reader["arm"]).__name__ == "Point"
        value, version = reader.latest("arm")
        assert (value.y, version) == (2.0, 2) and not reader.changed_since("arm", 2)
        assert (reader.version("base"), reader.changes, reader.writer) == (1, 3, "alive")
        assert [key for key, _ in reader.items()] == list(reader) == ["arm", "base"] and "arm" in reader
        # A value is a copy: it stays, and cannot be changed.
        writer.set("arm", x=9)
        assert value.x == 1.0 and reader.changed_since("arm", version)
        with pytest.raises(situ.ConversionError, match="read-only"):
            value.x = 3
        for unknown in (lambda: writer.set("leg", x=1), lambda: reader["leg"], lambda: reader.version("leg")):
            with pytest.raises(situ.UnknownKeyError, match="no key \"leg\""):
                unknown()
        with pytest.raises(situ.ConversionError, match="`x`"):
            writer["arm"] = {"x": "far"}
        assert reader["arm"].x == 9.0


def test_values_are_changed_in_place(node, schema):
    numpy = pytest.importorskip("numpy")
    kitchen = schema.find("t/Choice")  # A union is no struct.
    with pytest.raises(situ.Error):
        node.blackboard_writer("kitchens", ["a"], type=kitchen)
    flat = situ.Schema(text="struct Arm { double joints[3]; string<7> mode; };").find("Arm")
    with node.blackboard_writer("arms", ["left"], type=flat) as writer:
        reader = node.blackboard_reader("arms", type=flat)
        with writer.edit("left") as arm:
            arm.joints[:] = [1, 2, 3]
            arm.mode = "idle"
            assert reader.get("left") is None
        with writer.edit("left") as arm:
            assert arm.mode == "idle"
            arm.joints[1] = 5
        with pytest.raises(ZeroDivisionError):
            with writer.edit("left") as arm:
                arm.mode = "lost"
                1 / 0
        assert reader["left"].mode == "idle" and reader.version("left") == 2
        numpy.testing.assert_array_equal(reader["left"].joints, [1, 5, 3])
        assert not reader["left"].joints.flags.writeable


def test_joining_can_fail(node, schema):
    point, small = schema.find("t/Point"), schema.find("t/Small")
    with pytest.raises(situ.NotFoundError, match="no blackboard"):
        node.blackboard_reader("poses", wait=0)
    with node.blackboard_writer("poses", ["arm"], type=point):
        with pytest.raises(situ.RegisterError, match="has a writer already"):
            node.blackboard_writer("poses", ["arm"], type=point)
        with pytest.raises(situ.RegisterError, match="t::Point.*t::Small"):
            node.blackboard_reader("poses", type=small)
    for keys in ([], ["a", "a"], [""]):
        with pytest.raises(situ.RegisterError):
            node.blackboard_writer("poses", keys, type=point)
    for refused in ("t/Image", "t/Heap"):
        with pytest.raises(situ.Error):
            node.blackboard_writer("poses", ["a"], type=refused, schema=schema)


def test_ends_of_writers_are_told(node, schema):
    writer = node.blackboard_writer("poses", ["arm"], type="t/Point", schema=schema)
    reader = node.blackboard_reader("poses")
    writer["arm"] = {"x": 4}
    writer.close()
    assert reader.writer == "left" and reader["arm"].x == 4.0 and writer.is_closed
    for closed in (lambda: writer.set("arm", x=1), lambda: writer.edit("arm").__enter__()):
        with pytest.raises(situ.ReleasedError):
            closed()
    reader.close()
    with pytest.raises(situ.ReleasedError):
        reader.get("arm")


def test_other_processes_read_what_a_killed_writer_has_set(node, root):
    code = """
        import os, signal, situ
        node = situ.Node("writer")
        point = situ.Schema(text="module t { @flat struct Point { double x; double y; }; };").find("t/Point")
        writer = node.blackboard_writer("poses", ["arm"], type=point)
        for x in range(1, 101):
            writer.set("arm", x=x)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)])
    reader = node.blackboard_reader("poses")
    assert reader.writer == "dead"
    value, version = reader.latest("arm")
    assert (value.x, version) == (100.0, 100)
    with node.blackboard_writer("poses", ["arm"], type=reader.type) as writer:
        assert writer.set("arm", x=7) == 101 and reader["arm"].x == 7.0 and reader.writer == "alive"


def test_hostile_values_are_errors_of_their_members(node):
    word = situ.Schema(text="struct Word { string<7> text; boolean yes; };").find("Word")
    writer = node.blackboard_writer("words", ["a"], type=word)
    writer.set("a", text="right")
    reader = node.blackboard_reader("words")
    path = next(it for it in __import__("pathlib").Path(node.root).rglob("*") if it.is_file() and b"right\0" in it.read_bytes())
    data = path.read_bytes()
    at = data.rindex(b"right\0")
    with path.open("r+b") as file:
        file.seek(at - 4)
        file.write((200).to_bytes(4, "little"))
    with pytest.raises(situ.MalformedError, match="200"):
        reader["a"].text
    assert reader["a"].yes is False


def test_what_is_lent_of_another_type_is_no_value(node):
    text = "@flat struct A { double x; }; @flat struct B { double y; }; @flat struct C { A a; };"
    schema = situ.Schema(text=text)
    writers = {name: node.blackboard_writer(name, ["k"], type=schema.find(name)) for name in "ABC"}
    writers["B"]["k"] = {"y": 2.0}
    with writers["B"].edit("k") as lent:
        with pytest.raises(situ.ConversionError):
            writers["A"]["k"] = lent
    with writers["C"].edit("k") as lent:
        lent.a.x = 5.0
        # A struct in it lies where the value begins, and is as large.
        writers["A"]["k"] = lent.a
        with pytest.raises(situ.ConversionError):
            writers["C"]["k"] = lent.a
        lent.a.x = 6.0
    assert node.blackboard_reader("A")["k"].x == 5.0
    assert node.blackboard_reader("C")["k"].a.x == 6.0
