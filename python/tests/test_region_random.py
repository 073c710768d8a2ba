"""Random changes of loans of regions, and the same changes of a model in plain Python."""

import pytest
from test_region_loans import check, scene_type, topic  # noqa: F401

import situ

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

NAMES = st.sampled_from(["", "a", "b", "eleven byte", "twelve bytes", "a text that needs a block " * 3, "\u00e9\u4e16"])
NUMBERS = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9)
TAGS = st.builds(lambda name, numbers: {"name": name, "numbers": numbers}, NAMES, NUMBERS)


class Model:
    """What a scene holds, in plain Python. Tags are kept by dicts, so a link may share one."""

    def __init__(self):
        self.title, self.names, self.items, self.ranges = "", [], [], []
        self.by_name, self.by_number, self.titles, self.ids, self.order = {}, {}, set(), set(), set()
        self.spot, self.main, self.links, self.shape = None, None, [], {"radius": 0.0}

    def plain(self):
        links = [{"name": "", "tag": tag} for tag in self.links]
        return {
            "title": self.title, "names": self.names, "items": self.items, "ranges": self.ranges,
            "by_name": self.by_name, "by_number": self.by_number, "titles": sorted(self.titles), "ids": sorted(self.ids),
            "order": sorted(self.order), "spot": self.spot, "main": self.main, "links": links, "shape": self.shape,
        }  # fmt: skip


def shown(loan):
    found = loan.to_dict()
    found["ids"] = sorted(found["ids"])
    return {name: found[name] for name in Model().plain()}


def step(data, loan, model):
    """One change of both, which must go the same way in both."""
    draw = data.draw
    kind = draw(st.integers(0, 22))
    if kind == 0:
        loan.title = model.title = draw(NAMES)
    elif kind == 1:
        name = draw(NAMES)
        loan.names.append(name)
        model.names.append(name)
    elif kind in (2, 3):
        (here, there), tag = (loan.items, model.items), draw(TAGS)
        at = draw(st.integers(-3, 6))
        here.insert(at, tag)
        there.insert(at, dict(tag))
    elif kind == 4:
        at = draw(st.integers(-4, 4))
        both(lambda: loan.items.pop(at).to_dict(), lambda: model.items.pop(at))
    elif kind == 5:
        part = slice(draw(st.none() | st.integers(-4, 4)), draw(st.none() | st.integers(-4, 4)), draw(st.sampled_from([None, 1, 2, -1])))
        del loan.items[part]
        del model.items[part]
    elif kind == 6:
        at, tag = draw(st.integers(-4, 4)), draw(TAGS)
        both(lambda: loan.items.__setitem__(at, tag), lambda: model.items.__setitem__(at, dict(tag)))
    elif kind == 7 and model.items:
        at, numbers = draw(st.integers(0, len(model.items) - 1)), draw(NUMBERS)
        loan.items[at].numbers = numbers
        model.items[at]["numbers"] = numbers
        loan.items[at].list("numbers").extend(numbers)
        model.items[at]["numbers"] = numbers + numbers
    elif kind == 8:
        loan.items.reverse()
        model.items.reverse()
    elif kind == 9:
        key, tag = draw(NAMES), draw(TAGS)
        loan.by_name[key] = tag
        model.by_name[key] = dict(tag)
    elif kind == 10:
        key, tag = draw(NAMES), draw(TAGS)
        found = loan.by_name.setdefault(key, tag)
        assert found.to_dict() == model.by_name.setdefault(key, dict(tag))
        found.name = model.by_name[key]["name"] = draw(NAMES)
    elif kind == 11:
        key = draw(NAMES)
        both(lambda: loan.by_name.pop(key).to_dict(), lambda: model.by_name.pop(key))
    elif kind == 12:
        more = draw(st.dictionaries(st.integers(-40, 40), NAMES, max_size=20))
        loan.by_number.update(more)
        model.by_number.update(more)
    elif kind == 13:
        key = draw(st.integers(-40, 40))
        both(lambda: loan.by_number.__delitem__(key), lambda: model.by_number.__delitem__(key))
    elif kind == 14:
        more = draw(st.sets(st.integers(0, 300), max_size=60))
        for here, there in ((loan.ids, model.ids), (loan.order, model.order)):
            here.update(more)
            there.update(more)
    elif kind == 15:
        less = draw(st.sets(st.integers(0, 300), max_size=60))
        for here, there in ((loan.ids, model.ids), (loan.order, model.order)):
            for number in less:
                here.discard(number)
                there.discard(number)
    elif kind == 16:
        titles = draw(st.sets(NAMES))
        loan.titles = titles
        model.titles = titles
    elif kind == 17:
        loan.spot = tag = draw(st.none() | TAGS)
        model.spot = tag and dict(tag)
    elif kind == 18:
        loan.main = tag = draw(st.none() | TAGS)
        model.main = tag and dict(tag)
    elif kind == 19:
        loan.links.append({})
        loan.links[-1].share("tag", loan, "main")
        model.links.append(model.main)
    elif kind == 20 and model.links:
        at, name = draw(st.integers(0, len(model.links) - 1)), draw(NAMES)
        if model.links[at] is None:
            assert loan.links[at].tag is None
        else:
            loan.links[at].tag.name = model.links[at]["name"] = name
        if draw(st.booleans()):
            del loan.links[at], model.links[at]
    elif kind == 21:
        case, value = draw(st.sampled_from([("radius", 2.5), ("label", "a label in a block"), ("tags", [{"name": "t", "numbers": [1]}])]))
        loan.shape = (case, value)
        model.shape = {case: value}
    elif kind == 22:
        numbers = draw(st.lists(st.integers(-100, 100), max_size=40))
        array = loan.ranges
        if len(numbers) != len(model.ranges) and len(model.ranges):
            before = list(model.ranges)
            with pytest.raises(situ.BorrowedError):
                loan.ranges = numbers
            assert array.tolist() == before
        del array
        loan.ranges = model.ranges = numbers


def both(here, there):
    """Both return the same, or both raise the same."""
    try:
        expected = there()
    except (IndexError, KeyError) as error:
        with pytest.raises(type(error)):
            here()
        return
    assert here() == expected


@settings(max_examples=50, deadline=None, derandomize=True, database=None, suppress_health_check=list(hypothesis.HealthCheck))
@given(data=st.data())
def test_random_changes_as_in_a_model(topic, scene_type, data):
    pytest.importorskip("numpy")
    with topic.loan(room=1 << 16) as loan:
        model = Model()
        for _ in range(data.draw(st.integers(1, 40))):
            step(data, loan, model)
        assert shown(loan) == model.plain()
        check(loan)
        # Nothing of what was removed stays.
        for name in ("names", "items", "links"):
            loan[name].clear()
        loan.by_name, loan.by_number, loan.titles, loan.ids, loan.order = {}, {}, [], [], []
        loan.title, loan.spot, loan.main, loan.shape, loan.ranges = "", None, None, ("radius", 0), []
        assert scene_type.to_region(loan) == scene_type.to_region(scene_type.cls())
        scene_type.check_region(loan._image())
        loan.title = "published"


@settings(max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(hypothesis.HealthCheck))
@given(data=st.data())
def test_random_changes_in_little_room(topic, scene_type, data):
    """A change that does not fit is an error, and the region stays whole."""
    loan, full = topic.loan(room=data.draw(st.integers(1500, 3000))), 0
    try:
        for _ in range(40):
            try:
                step(data, loan, Shadow(loan))
            except situ.RegionFullError:
                full += 1
            scene_type.check_region(loan._image())
        check(loan)
        hypothesis.event(f"{full > 0}")
    finally:
        loan.release()


class Shadow(Model):
    """A model of what a loan holds now."""

    def __init__(self, loan):
        super().__init__()
        self.__dict__.update(shown(loan))
        self.titles, self.ids, self.order = set(self.titles), set(self.ids), set(self.order)
        self.links = [link["tag"] for link in self.links]
