"""Loans of regions are changed in place: what they hold is compared with a model of plain Python, and their
images with the vectors of `spec/vectors` and with the check of every byte."""

import collections.abc
import gc
import os
import threading

import pytest
from conftest import REPOSITORY

import situ

SCHEMAS = REPOSITORY / "tests" / "generated" / "schema"
VECTORS = REPOSITORY / "spec" / "vectors"

IDL = """
module r {
  enum Color { RED, GREEN, @value(7) BLUE };
  @bit_bound(8) bitmask Flags { @position(0) A, @position(3) B };
  struct Point { double x; double y; };
  struct Tag { string name; sequence<long> numbers; };
  union Shape switch (Color) { case RED: float radius; case GREEN: string label; default: sequence<Tag> tags; };
  struct Node;
  struct Knot { @optional @external Node node; };
  struct Node { string name; sequence<Knot> knots; };
  struct Link { string name; @optional @shared Tag tag; };
  struct Base { long id; string title; };
  @region struct Scene : Base {
    @default(3) uint8 level;
    boolean on; char letter; wstring wide; Color color; Flags flags;
    Point point; Point corners[2];
    long grid[2][3];
    string words[2][2];
    sequence<float> ranges;
    sequence<boolean> bits;
    sequence<char> letters;
    sequence<Color> colors;
    sequence<Point> points;
    sequence<string> names;
    sequence<Tag> items;
    sequence<Tag, 3> few;
    sequence<sequence<uint8>> rows;
    map<string, Tag> by_name;
    @hash map<long, string> by_number;
    @ordered map<Color, double> by_color;
    map<string, sequence<double>> series;
    @set sequence<string> titles;
    @set @hash sequence<uint32> ids;
    @set @ordered sequence<int16> order;
    @optional long maybe;
    @optional Tag spot;
    @optional @external Node chain;
    Shape shape;
    sequence<Shape> shapes;
    @optional @shared Tag main;
    sequence<Link> links;
  };
};
"""


@pytest.fixture(scope="module")
def scene_type():
    return situ.Schema(text=IDL).find("r::Scene")


@pytest.fixture
def topic(node, scene_type):
    with node.publisher("scenes", type=scene_type, depth=4) as publisher:
        yield publisher


@pytest.fixture
def loan(topic):
    loan = topic.loan()
    yield loan
    loan.release()
    gc.collect()


def check(loan):
    """The image is whole in each byte, live and canonical, and the canonical one has the same value. Links share
    their values only in the loan, and hash tables have their order only there."""
    handle = type(loan).__situ__
    image = handle.to_region(loan)
    handle.check_region(image)
    handle.check_region(loan._image())
    assert handle.to_region(handle.from_region(image)) == handle.to_region(loan.copy())


def test_members_are_set_in_place(loan):
    assert loan.level == 3 and loan.color.name == "RED" and loan.id == 0 and loan.maybe is None
    loan.id, loan.title, loan.level = 7, "a title with a block of its own", 9
    loan.on, loan.letter, loan.wide, loan.color, loan.flags = True, "x", "wide \u00e9", "BLUE", 9
    assert (loan.id, loan.title, loan.level, loan.on) == (7, "a title with a block of its own", 9, True)
    assert (loan.letter, loan.wide, loan.color.name, int(loan.flags)) == ("x", "wide \u00e9", "BLUE", 9)
    loan.point.x = 1.5
    loan.corners[1].y = -2.0
    loan.corners[0] = {"x": 4.0}
    assert loan.point.to_dict() == {"x": 1.5, "y": 0.0}
    assert [it.to_dict() for it in loan.corners] == [{"x": 4.0, "y": 0.0}, {"x": 0.0, "y": -2.0}]
    loan.words[1][0] = "a word of an array of arrays"
    assert loan.to_dict()["words"] == [["", ""], ["a word of an array of arrays", ""]]
    loan.maybe = 5
    assert loan.maybe == 5
    loan.maybe = None
    assert loan.maybe is None
    loan["title"] = "short"
    assert loan["title"] == "short"
    check(loan)
    with pytest.raises(situ.ConversionError, match="`level`"):
        loan.level = 256
    with pytest.raises(situ.ConversionError, match="fixed"):
        loan.corners.append({})
    with pytest.raises(AttributeError):
        loan.nothing = 1


def test_lists_have_the_methods_of_lists(loan):
    items = loan.items
    assert isinstance(items, collections.abc.MutableSequence) and len(items) == 0 and items == []
    items.append({"name": "one", "numbers": [1]})
    items.extend({"name": f"item {i}"} for i in range(3))
    items.insert(0, {"name": "first"})
    items += [loan.items[0]]
    assert [it.name for it in items] == ["first", "one", "item 0", "item 1", "item 2", "first"]
    assert items[-1].name == "first" and [it.name for it in items[1:3]] == ["one", "item 0"]
    items[1].name = "changed"
    items[2] = {"name": "replaced", "numbers": range(3)}
    assert items[2].numbers.tolist() == [0, 1, 2]
    last = items.pop()
    assert last.name == "first" and type(last) is type(items[0])
    del items[0]
    del items[1:3]
    assert [it.name for it in loan.items] == ["changed", "item 2"]
    items.swap(0, 1)
    items.reverse()
    items.reverse()
    assert [it.name for it in loan.items] == ["item 2", "changed"]
    items.resize(4)
    assert [it.name for it in items] == ["item 2", "changed", "", ""]
    del items[::2]
    assert [it.name for it in items] == ["changed", ""]
    names = loan.names
    names.extend(["b", "a", "b"])
    assert names.index("b") == 0 and names.count("b") == 2 and "a" in names and "c" not in names
    names.remove("b")
    assert names == ["a", "b"] and repr(names) == "['a', 'b']"
    names.extend(names)
    assert list(names) == ["a", "b", "a", "b"]
    loan.rows = [[1, 2], [], [3]]
    loan.rows[1] = b"\x07\x08"
    assert [it.tolist() for it in loan.rows] == [[1, 2], [7, 8], [3]]
    check(loan)
    names.clear()
    assert not names and loan.names == []
    for wrong in (lambda: names.pop(), lambda: names[0], lambda: names.__delitem__(0)):
        with pytest.raises(IndexError, match="`names` has 0 elements"):
            wrong()
    with pytest.raises(situ.ConversionError, match=r"`names`: text is expected"):
        names.append(3)
    with pytest.raises(ValueError, match="not in `names`"):
        names.remove("x")
    loan.few = [{}, {}]
    loan.few.append({})
    with pytest.raises(situ.ConversionError, match="bound 3"):
        loan.few.append({})
    with pytest.raises(situ.ConversionError, match="bound 3"):
        loan.few.resize(4)
    assert len(loan.few) == 3


def test_maps_have_the_methods_of_dicts(loan):
    by_name = loan.by_name
    assert isinstance(by_name, collections.abc.MutableMapping)
    by_name["b"] = {"name": "two", "numbers": [1, 2]}
    by_name["a"] = {"name": "one"}
    assert list(by_name) == ["a", "b"] == by_name.keys() and by_name["b"].numbers.tolist() == [1, 2]
    by_name["a"].name = "changed in place"
    by_name.setdefault("c", {"name": "three"}).numbers = [3]
    assert by_name.setdefault("c").name == "three" and by_name.setdefault("d").name == ""
    assert {key: value.name for key, value in by_name.items()} == {"a": "changed in place", "b": "two", "c": "three", "d": ""}
    assert by_name.pop("b").name == "two" and "b" not in by_name and by_name.pop("b", None) is None
    assert by_name.get("b") is None and by_name.get("c").numbers.tolist() == [3]
    by_name.update({"e": {}}, f={"name": "six"})
    assert by_name.popitem()[0] == "f" and len(by_name) == 4
    del by_name["e"]
    for wrong in (lambda: by_name["e"], lambda: by_name.__delitem__("e"), lambda: by_name.pop("e")):
        with pytest.raises(KeyError, match="e"):
            wrong()
    assert 7 not in by_name
    with pytest.raises(situ.ConversionError):
        by_name[7] = {}
    with pytest.raises(situ.ConversionError, match=r'`by_name\["x"\].name`'):
        by_name["x"] = {"name": 7}
    assert "x" not in by_name

    by_number = loan.by_number
    for number in range(50):
        by_number[number * 7 % 50 - 20] = f"number {number}"
    del by_number[-20]
    assert len(by_number) == 49 and by_number[-13] == "number 1" and 30 not in by_number and 2**40 not in by_number
    by_color = loan.by_color
    by_color.update({"BLUE": 0.5, 1: 1.5})
    assert by_color == {1: 1.5, 7: 0.5} and [it.name for it in by_color] == ["GREEN", "BLUE"]
    series = loan.series
    series["x"] = [1, 2, 3]
    series["x"][1] = 9
    assert series["x"].tolist() == [1, 9, 3]
    check(loan)
    by_number.clear()
    assert by_number == {} and repr(by_color).startswith("{<Color.GREEN")


def test_sets_have_the_methods_of_sets(loan):
    titles, ids, order = loan.titles, loan.ids, loan.order
    assert isinstance(titles, collections.abc.MutableSet)
    titles.update(["b", "a"], {"c"})
    titles.add("a")
    titles.discard("nothing")
    titles.remove("b")
    with pytest.raises(KeyError):
        titles.remove("b")
    assert titles == {"a", "c"} and list(titles) == ["a", "c"] and "a" in titles and 3 not in titles
    for number in range(200):
        ids.add(number * number % 251)
        order.add(100 - number)
    assert set(ids) == {number * number % 251 for number in range(200)} and list(order) == list(range(-99, 101))
    assert order.pop() == 100 and len(order) == 199
    loan.ids = [3, 1, 3]
    assert set(loan.ids) == {1, 3}
    with pytest.raises(situ.ReleasedError):
        ids.add(1)
    check(loan)


def test_optionals_unions_and_links(loan):
    loan.spot = {"name": "there", "numbers": [1]}
    loan.spot.name = "here, and a little longer"
    assert loan.spot.name == "here, and a little longer"
    loan.spot = None
    assert loan.spot is None
    loan.chain = {"name": "a"}
    knot = loan.chain
    for name in "bcd":
        knot.knots.append({"node": {"name": name}})
        knot = knot.knots[0].node
    assert loan.chain.knots[0].node.knots[0].node.name == "c" and knot.name == "d" and knot.knots == []
    knot.knots.append({})
    assert knot.knots[0].node is None
    loan.shape = ("label", "a label with a block")
    assert loan.shape.case == "label" and loan.shape.value == "a label with a block"
    loan.shape = situ.Union("tags", [{"name": "x"}], discriminator=7)
    assert loan.shape.discriminator.name == "BLUE"
    loan.shape.value[0].name = "changed within a union"
    loan.shape.value.append({"name": "y"})
    assert [it.name for it in loan.shape.value] == ["changed within a union", "y"]
    loan.shapes.append(("radius", 2.5))
    loan.shapes.append(loan.shape)
    assert loan.shapes[0].value == 2.5 and len(loan.shapes[1].value) == 2
    loan.main = {"name": "shared", "numbers": [1, 2]}
    loan.links = [{"name": "a"}, {"name": "b"}]
    loan.links[0].share("tag", loan, "main")
    loan.links[1].share("tag", loan.links[0])
    loan.links[1].tag.name = "seen by all of them"
    assert loan.main.name == loan.links[0].tag.name == "seen by all of them"
    loan.main = {"name": "its own"}
    assert loan.links[0].tag.name == "seen by all of them"
    check(loan)
    with pytest.raises(situ.ConversionError, match="no shared link"):
        loan.share("main", loan, "chain")
    loan.links.clear()
    check(loan)


def test_numbers_are_writable_arrays_of_the_loan(loan):
    numpy = pytest.importorskip("numpy")
    loan.ranges = range(5)
    ranges = loan.ranges
    assert isinstance(ranges, numpy.ndarray) and ranges.dtype == "f4" and ranges.flags.writeable and not ranges.flags.owndata
    ranges[:] = numpy.linspace(0, 1, 5)
    assert loan.ranges.tolist() == ranges.tolist() == [0, 0.25, 0.5, 0.75, 1]
    loan.ranges *= 2
    assert ranges.tolist() == [0, 0.5, 1, 1.5, 2]
    loan.grid[1, 2] = 6
    assert loan.grid.tolist() == [[0, 0, 0], [0, 0, 6]]
    loan.bits, loan.colors = [True, False], [7, 1]
    assert loan.bits.tolist() == [True, False] and loan.colors.tolist() == [7, 1]
    loan.bits |= numpy.array([False, True])
    loan.colors[:] = [1, 0]
    loan.letters = b"ab"
    loan.list("letters").extend("cd")
    assert loan.bits.tolist() == [True, True] and loan.colors.tolist() == [1, 0] and bytes(loan.letters) == b"abcd"
    # While an array of it exists, a sequence can neither move nor end.
    numbers = loan.list("ranges")
    for change in (
        lambda: numbers.append(1),
        lambda: numbers.extend([1]),
        lambda: numbers.pop(),
        lambda: numbers.clear(),
        lambda: numbers.resize(9),
        lambda: setattr(loan, "ranges", [1]),
    ):
        with pytest.raises(situ.BorrowedError, match="arrays of `ranges` still exist"):
            change()
    # Others can.
    loan.names.extend(f"a name that is long enough for a block {i}" for i in range(100))
    loan.ranges = [5, 4, 3, 2, 1]
    assert ranges.tolist() == [5, 4, 3, 2, 1]
    with pytest.raises(situ.ReleasedError, match="replaced"):
        numbers.append(1)  # the list that `ranges` was before something was assigned to it
    numbers, part = loan.list("ranges"), ranges[2:]
    del ranges
    with pytest.raises(situ.BorrowedError):
        numbers.append(1)
    del part
    numbers.append(1)
    numbers.extend(numpy.arange(1000))
    assert len(loan.ranges) == 1006 and loan.ranges[-1] == 999
    check(loan)


def test_an_array_within_an_element_keeps_the_elements(loan):
    numpy = pytest.importorskip("numpy")
    loan.items = [{"numbers": [1, 2]}, {"numbers": [3]}]
    numbers = loan.items[0].numbers
    for change in (
        lambda: loan.items.append({}),
        lambda: loan.items.pop(),
        lambda: loan.items.clear(),
        lambda: setattr(loan, "items", []),
        lambda: loan.items.__setitem__(0, {"numbers": [1]}),
    ):
        with pytest.raises(situ.BorrowedError):
            change()
    loan.items[1].numbers = range(100)
    numbers[:] = 7
    assert loan.items[0].numbers.tolist() == [7, 7] and isinstance(numbers, numpy.ndarray)
    loan.by_name["a"] = {"numbers": [1]}
    inner = loan.by_name["a"].numbers
    with pytest.raises(situ.BorrowedError):
        loan.by_name["b"] = {}
    with pytest.raises(situ.BorrowedError):
        del loan.by_name["a"]
    del inner, numbers
    loan.by_name["b"] = {}
    loan.items.append({})
    # Also through a link that shares the value, and by DLPack.
    loan.main = {"numbers": [1, 2, 3]}
    loan.links = [{}]
    loan.links[0].share("tag", loan, "main")
    tensor = numpy.from_dlpack(loan.links[0].tag.array("numbers"))
    with pytest.raises(situ.BorrowedError):
        loan.main.list("numbers").append(1)
    with pytest.raises(situ.BorrowedError):
        loan.main.numbers = None or [1]
    assert tensor.tolist() == [1, 2, 3]
    del tensor
    loan.main.list("numbers").append(1)
    assert loan.links[0].tag.numbers.tolist() == [1, 2, 3, 1]
    check(loan)


def test_views_of_what_is_gone_raise(loan):
    loan.items = [{"name": str(i)} for i in range(4)]
    items, third = loan.items, loan.items[3]
    items.append({"name": "4"})
    assert third.name == "3"
    del items[0]
    for use in (lambda: third.name, lambda: setattr(third, "name", "x"), lambda: third.copy(), lambda: third.to_dict()):
        with pytest.raises(situ.ReleasedError, match="was replaced or removed"):
            use()
    assert [it.name for it in items] == ["1", "2", "3", "4"]
    first = items[0]
    items[0] = {"name": "new"}
    with pytest.raises(situ.ReleasedError):
        first.name
    second, other = items[1], loan.point
    loan.items = []
    for view in (second, items):
        with pytest.raises(situ.ReleasedError):
            repr(view) if view is items else view.name
    assert other.x == 0
    value = loan.by_name.setdefault("a")
    del loan.by_name["a"]
    with pytest.raises(situ.ReleasedError):
        value.name
    loan.by_name["a"] = {}
    with pytest.raises(situ.ReleasedError):
        value.name
    loan.shape = ("tags", [{"name": "x"}])
    tag = loan.shape.value[0]
    loan.shape = ("radius", 1)
    with pytest.raises(situ.ReleasedError):
        tag.name
    loan.spot = {}
    spot = loan.spot
    loan.spot = None
    with pytest.raises(situ.ReleasedError):
        spot.name


def test_many_changes_make_old_views_stale_and_not_wrong(loan):
    by_name, rows = loan.by_name, loan.rows
    kept, gone = by_name.setdefault("kept"), by_name.setdefault("gone")
    del by_name["gone"]
    by_name["gone"] = {"name": "again"}
    loan.items = [{}, {}]
    second, point = loan.items[1], loan.point
    for i in range(6000):
        by_name.setdefault(f"key {i}")
        by_name.pop(f"key {i}")
        if i == 3000:
            assert kept.name == ""
    # So many changes are not remembered one by one.
    for view in (kept, gone):
        with pytest.raises(situ.ReleasedError):
            view.name
    assert (second.name, point.x, len(by_name), by_name["gone"].name) == ("", 0, 2, "again")
    rows.append([1])
    check(loan)


def test_published_regions_are_read_in_place(node, topic, scene_type):
    subscriber = node.subscriber("scenes", type=scene_type)
    assert topic.encoding == "region"
    with topic.loan() as out:
        out.title = "a scene"
        out.items.append({"name": "an item with a long name", "numbers": [1, 2, 3]})
        out.by_name["k"] = {"name": "v"}
        kept, items, canonical = out.items[0], out.items, scene_type.to_region(out)
    for use in (lambda: out.title, lambda: setattr(out, "title", ""), lambda: kept.name, lambda: items.append({})):
        with pytest.raises(situ.ReleasedError, match="published"):
            use()
    with subscriber.recv(5) as scene:
        assert scene.info.encoding == "region" and scene.title == "a scene"
        assert scene.items[0].numbers.tolist() == [1, 2, 3] and not scene.items[0].numbers.flags.writeable
        assert scene_type.to_region(scene) == canonical
        with pytest.raises(situ.ConversionError, match="read-only"):
            scene.title = "x"
        with pytest.raises(situ.ConversionError):
            scene.list("ranges")
    # All at once, from members and from a message that was taken.
    topic.publish(title="from members", names=["a", "b"])
    with subscriber.recv(5) as scene:
        assert scene.title == "from members" and list(scene.names) == ["a", "b"]
        topic.publish(scene)
    with subscriber.recv(5) as again:
        assert again.title == "from members"
    with pytest.raises(RuntimeError):
        with topic.loan() as out:
            out.title = "dropped"
            raise RuntimeError
    assert subscriber.take() is None


def test_a_loan_with_arrays_is_not_published(topic):
    pytest.importorskip("numpy")
    out = topic.loan()
    out.ranges = [1, 2]
    ranges = out.ranges
    with pytest.raises(situ.BorrowedError):
        out.publish()
    ranges[0] = 5
    del ranges
    assert out.publish() == 0
    out = topic.loan()
    out.ranges = [1, 2]
    ranges = out.ranges
    out.release()
    ranges[:] = 3
    assert ranges.tolist() == [3, 3]


def test_room(node, topic):
    out = topic.loan(room=8192)
    with pytest.raises(situ.RegionFullError, match=r"may have 8192 bytes.*loan\(room=...\)") as failed:
        for i in range(10_000):
            out.items.append({"name": f"an item with a name that needs a block {i}", "numbers": [i]})
    assert isinstance(failed.value, situ.PublishError)
    count = len(out.items)
    assert count > 20 and out.items[count - 1].numbers.tolist() == [count - 1]
    with pytest.raises(situ.RegionFullError):
        out.names.extend(["a text of some length"] * 1000)
    assert out.names == []
    with pytest.raises(situ.RegionFullError):
        out.ranges = range(5000)
    check(out)
    del out.items[count // 2 :]
    out.title = "there is room again" * 20
    check(out)
    out.publish()
    with topic.loan() as out:
        out.ranges = range(200_000)
        ranges = out.ranges
        out.names.extend(f"name {i} of some length" for i in range(20_000))
        assert ranges[199_999] == 199_999
        del ranges
        check(out)
    with pytest.raises(TypeError, match="only `room` is given"):
        topic.loan(ranges=5)
    with pytest.raises(situ.PublishError):
        topic.loan(room=1 << 40)


CASES = {
    "pantry": ("game::Pantry", SCHEMAS / "region.idl"),
    "bazaar": ("game::Bazaar", SCHEMAS / "bazaar.idl"),
    "cupboard": ("game::Cupboard", SCHEMAS / "bazaar.idl"),
    "thicket": ("kitchen::Thicket", VECTORS / "kitchen.idl"),
    "game_profile.after": ("game::Profile", SCHEMAS / "profile.idl"),
}


def fill(to, value):
    """Sets all of a struct by changes in place, member by member and element by element."""
    for name in type(value).__match_args__:
        it = value[name]
        if isinstance(it, situ.Message):
            if to[name] is None:
                to[name] = {}
            fill(to[name], it)
        elif isinstance(it, collections.abc.Mapping):
            for key in reversed(list(it)):
                if isinstance(it[key], situ.Message):
                    fill(to[name].setdefault(key), it[key])
                else:
                    to[name][key] = it[key]
        elif isinstance(it, collections.abc.Sequence) and not isinstance(it, str) and isinstance(to[name], collections.abc.MutableSet):
            to[name].update(reversed(list(it)))
        elif isinstance(it, collections.abc.Sequence) and not isinstance(it, str):
            if to[name] is None:
                to[name] = []
            for index, element in enumerate(it):
                if index == len(to[name]):
                    to[name].resize(index + 1)
                if isinstance(element, situ.Message):
                    fill(to[name][index], element)
                else:
                    to[name][index] = element
        elif it is not None:
            to[name] = it


@pytest.mark.parametrize("case", CASES)
def test_edits_give_the_bytes_of_the_vectors(node, case):
    name, file = CASES[case]
    handle = situ.Schema(files=[file]).find(name)
    canonical = (VECTORS / "region" / f"{case}.canonical.bin").read_bytes()
    value = handle.view_region(canonical)
    publisher = node.publisher(case, type=handle, storage="region")
    out = publisher.loan()
    fill(out, value)
    if case == "bazaar":
        assert handle.to_region(out) != canonical
        out.textures[0].share("grain", out.texture)
    assert handle.to_region(out) == canonical
    handle.check_region(canonical)
    if case != "bazaar":
        assert handle.to_region(value) == handle.to_region(value.copy()) == canonical
    subscriber = node.subscriber(case, type=handle)
    out.publish()
    with subscriber.recv(5) as taken:
        assert taken == value


def test_threads_change_one_loan(topic):
    """The GIL orders changes: none is lost, and the image stays whole."""
    out = topic.loan()
    errors = []

    def work(number):
        try:
            for i in range(200):
                out.items.append({"name": f"{number}: {i}", "numbers": [i]})
                out.by_number[number * 1000 + i] = f"text {i}"
                if i % 3 == 0:
                    out.by_number.pop(number * 1000 + i)
                out.names.append(str(i))
                if i % 7 == 0:
                    out.names.clear()
                try:
                    out.items[0].name = "x"
                    [it.name for it in out.items[:2]]
                except (situ.ReleasedError, IndexError):
                    pass
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(out.items) == 800 and len(out.by_number) == 4 * 133
    check(out)
    out.publish()


def test_a_loan_grows_while_another_thread_waits_for_room(node, scene_type):
    """The thread that waits has the publisher, and the one that grows has the GIL."""
    subscriber = node.subscriber("full", type=scene_type, reliable=True, capacity=2)
    with node.publisher("full", type=scene_type, reliable=True, depth=1, block=30) as publisher:
        publisher.wait_for_subscribers(1, 30)
        out = publisher.loan()
        sent = []

        def send():
            for number in range(6):
                sent.append(publisher.publish(title=str(number)))

        thread = threading.Thread(target=send)
        thread.start()
        for i in range(40):
            out.list("ranges").extend(range(4096))
        assert len(sent) < 6 and len(out.ranges) == 40 * 4096
        titles = []
        while len(titles) < 6:
            with subscriber.recv(30) as scene:
                titles.append(scene.title)
        thread.join()
        assert titles == [str(number) for number in range(6)] and len(sent) == 6
        out.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_does_not_write_the_loan_of_its_parent(loan):
    loan.title = "the parent's"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            loan.title = "the child's"
        except situ.ForkedError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert loan.title == "the parent's"


def test_code_that_runs_meanwhile_may_use_the_loan(loan):
    """Iterators, `__eq__` and such run before the region is locked."""

    class Nasty:
        def __init__(self):
            self.name = "nasty"

        def __getattr__(self, name):
            if name == "numbers":
                loan.items.clear()
                loan.names.append("meanwhile")
                return [1]
            raise AttributeError(name)

        def __eq__(self, other):
            loan.items.clear()
            return False

    def numbers():
        for i in range(3):
            loan.items.append({"name": "from within"})
            loan.list("ranges").append(7)
            yield i

    loan.items.extend([{"name": "a"}, {"name": "b"}])
    loan.items.append(Nasty())
    assert [it.name for it in loan.items] == ["nasty"] and loan.names == ["meanwhile"]
    loan.list("ranges").extend(list(numbers()))
    loan.ranges = list(numbers())
    assert loan.ranges.tolist() == [0, 1, 2]
    assert Nasty() not in loan.names and len(loan.items) == 0
    check(loan)


def test_the_topic_or_the_type_decides_the_form(node, scene_type):
    subscriber = node.subscriber("first", type=scene_type)
    with node.publisher("first", type=scene_type) as publisher:
        assert publisher.encoding == "region"
        assert node.publisher("first").encoding == "region"
        publisher.publish(names=["a"])
    with subscriber.recv(5) as scene:
        assert scene.names == ["a"] and scene.info.encoding == "region"
    with node.publisher("others", type=scene_type, storage="cdr"):
        assert node.publisher("others", type=scene_type).encoding == "xcdr1"


def test_cdr_of_the_same_type_is_still_there(node, scene_type):
    with node.publisher("serialized", type=scene_type, storage="cdr") as publisher:
        subscriber = node.subscriber("serialized", type=scene_type)
        assert publisher.encoding == "xcdr1"
        with publisher.loan() as out:
            out.names = ["a"]
            with pytest.raises(situ.ConversionError, match="@region"):
                out.list("names")
        with subscriber.recv(5) as taken:
            assert taken.names == ["a"]
    with pytest.raises(situ.SchemaError):
        node.publisher("never", type=situ.Schema(text="struct A { map<wstring, long> m; };").find("A"), storage="region")
