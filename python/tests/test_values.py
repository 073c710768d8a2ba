"""Messages as values: members of each type, in flat messages and in objects, with and without a copy."""

import copy
import enum
import gc
import pickle
import weakref

import numpy as np
import pytest

import situ

KITCHEN = dict(
    yes=True, i8=-128, u8=255, i16=-32768, u16=65535, i32=-(2**31), u32=2**32 - 1, i64=-(2**63), u64=2**64 - 1,
    f32=0.5, f64=-1e300, c="é", w="\ud834", text="grüße", wide="\U0001d11e!", color="BLUE", flags=9,
    point={"x": 1.0, "y": 2.0}, corners=[{"x": 3.0, "y": 4.0}, {"x": 5.0, "y": 6.0}],
    grid=[[1, 2, 3], [4, 5, 6]], few=[0.5, 1.5], points=[{"x": 7.0, "y": 8.0}], names=["a", "", "sevench"],
    ages={"b": 2, "a": 1}, maybe=-5, spot=None, choice=("real", 2.5), raw=b"\x01\x02\x03",
    cloud=[{"x": 9.0, "y": 10.0}],
)  # fmt: skip

PLAIN = dict(
    KITCHEN, color=7, grid=[[1, 2, 3], [4, 5, 6]], ages={"a": 1, "b": 2}, choice={"real": 2.5}, raw=[1, 2, 3],
)  # fmt: skip


def check(m):
    """The members of a kitchen, whatever holds it."""
    for name in "yes i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 c w text wide maybe spot".split():
        assert m[name] == KITCHEN[name], name
    assert m.color == 7 and m.color.name == "BLUE" and isinstance(m.color, enum.IntEnum)
    assert m.flags == 9 and isinstance(m.flags, enum.IntFlag)
    assert (m.point.x, m.point.y) == (1.0, 2.0)
    assert [float(it["x"]) if not isinstance(it, situ.Message) else it.x for it in m.corners] == [3.0, 5.0]
    assert m.grid.dtype == np.int32 and m.grid.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert m.few.dtype == np.float32 and m.few.tolist() == [0.5, 1.5]
    assert [float(it["x"]) for it in m.points] == [7.0]
    assert list(m.names) == ["a", "", "sevench"] and "sevench" in m.names and len(m.names) == 3
    assert dict(m.ages) == {"a": 1, "b": 2}
    assert m.choice == situ.Union("real", 2.5)
    assert bytes(m.raw.tobytes()) == b"\x01\x02\x03"
    assert float(m.cloud[0]["y"]) == 10.0
    assert m.to_dict() == PLAIN


@pytest.fixture(scope="module")
def Kitchen(schema):
    return schema.find("t::Kitchen").cls


def test_an_object_has_all_members(Kitchen):
    check(Kitchen(**KITCHEN))


def test_a_flat_message_is_read_in_place(Kitchen):
    handle = Kitchen.__situ__
    head, body = handle.to_flat(Kitchen(**KITCHEN))
    assert len(head) == handle.flat_size and len(body) == 64 + 16
    m = handle.from_flat(head, body)
    check(m)
    assert m.points.dtype.names == ("x", "y") and not m.points.flags.writeable
    assert m.raw.base is not None and not m.raw.flags.writeable
    with pytest.raises(situ.ConversionError, match="read-only"):
        m.i8 = 1
    with pytest.raises(situ.ConversionError, match="read-only"):
        m.point.x = 1.0
    with pytest.raises(TypeError):
        m.ages["c"] = 1


def test_copies_pickles_and_encodings_are_equal(Kitchen):
    handle = Kitchen.__situ__
    m = handle.from_flat(*handle.to_flat(KITCHEN))
    for other in (
        m.copy(), copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m)),
        handle.from_cdr(handle.to_cdr(m)), handle.from_cdr(handle.to_cdr(m, 2)),
        handle.from_text(m.to_json()), handle.from_text(m.to_yaml()),
    ):  # fmt: skip
        check(other)
        assert other == m and type(other) is Kitchen
    changed = m.copy()
    changed.point.x = 99.0
    assert changed != m and m.point.x == 1.0
    assert m != 1
    assert pickle.loads(pickle.dumps(handle)) == handle


def test_defaults_and_repr(Kitchen, schema):
    m = Kitchen()
    assert (m.i32, m.text, m.maybe, m.color.name, len(m.raw), dict(m.ages)) == (0, "", None, "RED", 0, {})
    assert m.choice.case == "whole"
    assert repr(schema.find("t::Point").cls(x=1)) == "Point(x=1.0, y=0.0)"
    assert len(repr(Kitchen(**KITCHEN))) < 1000
    image = schema.find("t::Image").cls(height=2, width=100, pixels=bytes(600))
    assert repr(image) == "Image(height=2, width=100, pixels=<600 uint8>)"
    assert "<th" in image._repr_html_() and "png" in image._repr_html_()
    assert "x: double" in schema.find("t::Point").cls.__doc__


@pytest.mark.parametrize(
    "members, text",
    [
        ({"i8": 128}, "`i8`: 128 does not fit in int8"),
        ({"u8": -1}, "`u8`: -1 does not fit"),
        ({"i8": 1.5}, "`i8`: an integer is expected, and this is of type float"),
        ({"f64": "1"}, "`f64`: a number is expected"),
        ({"yes": 1}, "`yes`: True or False is expected"),
        ({"text": "sixteen letters!"}, "`text`: a text of 16 bytes exceeds the bound 15"),
        ({"text": "a\0"}, "`text`: the text contains a zero"),
        ({"text": "\ud800"}, "`text`: the text has a surrogate"),
        ({"text": 1}, "`text`: text is expected"),
        ({"color": "PINK"}, "there is no \"PINK\"; there are: RED, GREEN, BLUE"),
        ({"few": [1.0] * 9}, "`few`: 9 elements exceed the bound 8"),
        ({"few": ["a"]}, "number is expected"),
        ({"few": "ab"}, "a list or an array of numbers is expected"),
        ({"few": 3}, "a list or an array of numbers is expected"),
        ({"few": np.array(["a"])}, "cannot be stored as float32"),
        ({"grid": [[1, 2, 3]]}, "1 elements are given, and the array has 2"),
        ({"grid": [[1, 2], [3, 4]]}, "2 elements are given, and the array has 3"),
        ({"grid": np.zeros((2, 2), "i4")}, "4 elements"),
        ({"raw": [256]}, "`raw[0]`: 256 does not fit in uint8"),
        ({"raw": np.array([300])}, "does not fit in uint8"),
        ({"raw": np.array([0.5])}, "cannot be stored as uint8"),
        ({"names": ["a", 1]}, "`names[1]`: text is expected"),
        ({"names": "abc"}, "`names`: a list is expected"),
        ({"ages": {"a": "x"}}, "an integer is expected"),
        ({"ages": [1]}, "a dict is expected"),
        ({"point": {"z": 1}}, "has no member \"z\"; it has: x, y"),
        ({"point": 3}, "`point`: a t::Point"),
        ({"point": {"x": "a"}}, "`point.x`: a number is expected"),
        ({"choice": ("nothing", 1)}, "there is no case \"nothing\"; there are: whole, real, point"),
        ({"choice": 1}, "a union"),
        ({"nothing": 1}, "has no member \"nothing\""),
    ],
)  # fmt: skip
def test_errors_name_the_member_and_what_it_takes(Kitchen, members, text):
    with pytest.raises(situ.ConversionError) as error:
        Kitchen(**members)
    assert text in str(error.value)


def test_numpy_numbers_and_arrays_are_taken(Kitchen):
    m = Kitchen(i8=np.int64(5), f32=np.float32(1.5), yes=np.bool_(True), raw=np.array([[1, 2], [3, 4]]), few=np.arange(3))
    assert (m.i8, m.f32, m.yes, m.raw.tolist(), m.few.tolist()) == (5, 1.5, True, [1, 2, 3, 4], [0.0, 1.0, 2.0])
    cloud = np.zeros(2, dtype=[("x", "f8"), ("y", "f8")])
    cloud["x"] = [1, 2]
    assert [it.x for it in Kitchen(cloud=cloud).cloud] == [1.0, 2.0]


def test_values_that_contain_themselves_are_refused(schema):
    Tree = schema.find("t::Tree").cls
    assert Tree(name="a", children=[{"name": "b"}]).children[0].name == "b"
    loop = {"name": "a", "children": []}
    loop["children"].append(loop)
    with pytest.raises(situ.ConversionError, match="nested deeper"):
        Tree(**loop)


def test_heap_types(schema):
    handle = schema.find("t::Heap")
    m = handle.cls(
        yes=True, i64=1, f64=2.0, text="x" * 100, wide="w", color=1, flags=8, few=[1, 2], points=[{"x": 1.0}],
        names=["n"], ages={"a": 1}, grid=np.arange(6).reshape(2, 3), bits=[True, False], colors=[schema.find("t::Color").cls.GREEN, 7], maybe=3,
        choice={"point": {"x": 1.0}}, trees=[{"name": "r", "children": [{"name": "c"}]}],
    )  # fmt: skip
    for n in (m.copy(), handle.from_cdr(handle.to_cdr(m)), handle.from_cdr(handle.to_cdr(m, 2))):
        assert n == m
        assert n.bits.tolist() == [True, False] and n.bits.dtype == bool
        assert n.colors.tolist() == [1, 7] and n.color.name == "GREEN"
        assert n.grid.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert n.choice.value.x == 1.0 and n.trees[0].children[0].name == "c"
        n.names.append("more")
        n.grid[0, 0] = 50
        again = handle.from_cdr(handle.to_cdr(n))
        assert list(again.names) == ["n", "more"] and again.grid[0, 0] == 50
    assert not handle.is_flattable and handle.flat_size is None
    with pytest.raises(situ.MalformedError, match="no flat form"):
        handle.from_flat(b"")
    with pytest.raises(situ.MalformedError):
        handle.from_cdr(b"\0\1\0\0\2")


def test_cycles_through_lists_of_a_message_are_collected(schema):
    class Mark:
        pass

    for cycle in (lambda m: m, lambda m: situ.Union("whole", m), lambda m: {"in": [m]}):
        m = schema.find("t::Heap").cls()
        mark = Mark()
        m.names.extend([cycle(m), mark])
        is_there = weakref.ref(mark)
        del m, mark
        gc.collect()
        assert is_there() is None


def test_the_end_of_a_replaced_value_may_use_the_message(schema):
    seen = []

    class Last:
        def __del__(self):
            seen.append(m.i64)

    m = schema.find("t::Heap").cls(i64=5)
    m.names.append(Last())
    m.names = ["new"]
    m.names.append(Last())
    m.__init__(i64=6)
    assert seen == [5, 6]


def test_match_statement_arguments(schema):
    assert schema.find("t::Point").cls.__match_args__ == ("x", "y")


def test_schemas(schema, tmp_path):
    with pytest.raises(situ.SchemaError, match="there is no type `t::Nothing`"):
        schema.find("t::Nothing")
    with pytest.raises(situ.SchemaError, match="there is no file"):
        situ.Schema(files=[tmp_path / "no.idl"])
    (tmp_path / "pairs" / "msg").mkdir(parents=True)
    (tmp_path / "pairs" / "msg" / "Pair.msg").write_text("int32 a\nint32 b 5\n")
    assert situ.Schema(files=[tmp_path / "pairs" / "msg" / "Pair.msg"]).find("pairs/Pair").cls().b == 5
    constants = situ.Schema(text="module m { const long N = 3; const string S = \"s\"; };").constants
    assert constants == {"m::N": 3, "m::S": "s"}
    # Two schemas with the same type share its class.
    again = situ.Schema(text="module t { @flat struct Point { double x; double y; }; };").find("t::Point")
    assert again == schema.find("t::Point") and again.cls is schema.find("::t::Point").cls


def test_arrays_of_sequences_have_an_element_for_each_place():
    handle = situ.Schema(text="@flat struct M { sequence<uint8, 3> m[1][3]; string<4> s[2][2]; };").find("M")
    value = dict(m=[[[1, 2], [], [3]]], s=[["a", "b"], ["c", "d"]])
    for m in (handle.cls(**value), handle.from_flat(*handle.to_flat(value)), handle.from_cdr(handle.to_cdr(value))):
        assert [it.tolist() for it in m.m[0]] == [[1, 2], [], [3]] and len(m.m) == 1
        assert [list(it) for it in m.s] == [["a", "b"], ["c", "d"]]
        assert m.to_dict() == value and m.copy() == m
