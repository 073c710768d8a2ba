"""Regions are read in place: the images of `spec/vectors`, which Rust and C++ write."""

import collections.abc

import pytest
from conftest import REPOSITORY
from test_memory import growth

import situ

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

VECTORS = REPOSITORY / "spec" / "vectors"
SCHEMAS = REPOSITORY / "tests" / "generated" / "schema"
CASES = {
    "bazaar": ("game::Bazaar", SCHEMAS / "bazaar.idl"),
    "game_profile.before": ("game::Profile", SCHEMAS / "profile.idl"),
    "game_profile.after": ("game::Profile", SCHEMAS / "profile.idl"),
    "thicket": ("kitchen::Thicket", VECTORS / "kitchen.idl"),
    "pantry": ("game::Pantry", SCHEMAS / "region.idl"),
}


def handle_of(case):
    name, file = CASES[case]
    return situ.Schema(files=[file]).find(name)


def image_of(case, form="live"):
    return (VECTORS / "region" / f"{case}.{form}.bin").read_bytes()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", ["canonical", "live"])
def test_a_view_is_equal_to_what_is_decoded(case, form):
    handle, image = handle_of(case), image_of(case, form)
    view, decoded = handle.view_region(image), handle.from_region(image)
    assert view == decoded and view.to_dict() == decoded.to_dict() and repr(view) == repr(decoded)
    assert view.copy() == decoded and handle.to_cdr(view) == handle.to_cdr(decoded)
    # Member by member, from the views.
    assert type(decoded)(**{name: view[name] for name in type(view).__match_args__}) == decoded


def test_containers_have_the_protocols_of_python():
    bazaar = handle_of("bazaar").view_region(image_of("bazaar"))
    prices = bazaar.prices
    assert isinstance(prices, collections.abc.Mapping) and len(prices) == 100
    assert prices["price 7"].timestamp == 7 and "price 7" in prices and "price 100" not in prices and 7 not in prices
    assert prices.get("nothing") is None and prices.get("nothing", 3) == 3
    with pytest.raises(KeyError, match="nothing"):
        prices["nothing"]
    names = sorted(f"price {i}" for i in range(100))
    assert list(prices) == prices.keys() == names
    assert [it.id for it in prices.values()] == [int(name[6:]) for name in names]
    assert [(key, value.id) for key, value in prices.items()] == [(name, int(name[6:])) for name in names]
    assert bazaar.nothing == {} and dict(bazaar.nothing) == {}

    words = bazaar.words
    assert isinstance(words, collections.abc.Sequence) and len(words) == 40
    assert list(words) == sorted(f"word {i} of forty" for i in range(40)) and words[-1] == words[39]
    assert "word 3 of forty" in words and "word 40 of forty" not in words
    with pytest.raises(IndexError, match="`words` has 40 elements, and no element 40"):
        words[40]
    assert [(it.case, it.value) for it in bazaar.shapes][:2] == [("radius", 2.5), ("label", "short")]
    assert bazaar.choices[1].case is None and list(bazaar.choices[0].value.numbers) == [5]
    assert bazaar.sound.value.z == 3 and bazaar.by_number[3].value == "three"
    assert bazaar.blade.edge == 7 and bazaar.blade.level == 5 and bazaar.blade.uuid == 3
    assert bazaar.textures[1].grain is None and bazaar.textures[0].grain.text == "the grain that both have"


@pytest.mark.parametrize("form", ["canonical", "live"])
def test_weak_links_lead_to_their_values(form):
    handle = situ.Schema(files=[SCHEMAS / "family.idl"]).find("family::Tree")
    tree = handle.view_region(image_of("family_tree", form))
    ben = tree.selected.parent
    assert (tree.selected.name, ben.name, ben.parent.name) == ("Daniel of the hill", "Benjamin the elder", "Ann")
    assert ben.parent.parent is None and ben.parent.children[0].person.name == ben.name
    # A copy has none, because the value may contain the link.
    copy = tree.copy()
    assert copy.selected is None and copy.root.children[0].person.parent is None
    assert copy.root.children[0].person.children[0].person.name == "Daniel of the hill"
    assert copy == tree == handle.from_region(image_of("family_tree", "packed"))
    assert tree.to_dict()["selected"] is None and "Daniel" in repr(tree)
    with pytest.raises(situ.ConversionError, match="weak link, which only programs with compiled types write"):
        handle.to_region(copy)
    with pytest.raises(situ.ConversionError, match="`parent`: it is a weak link, which only programs with compiled"):
        copy.root.children[0].person.parent = copy.root
    with pytest.raises(situ.ConversionError, match="parent`: a weak link leads to a value, and only regions have"):
        handle.to_cdr(tree)
    assert handle.to_cdr(copy)


def test_numbers_are_arrays_of_the_image():
    numpy = pytest.importorskip("numpy")
    pantry = handle_of("pantry").view_region(image_of("pantry"))
    assert pantry.grid.shape == (2, 3) and pantry.grid.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert not pantry.grid.flags.writeable and not pantry.grid.flags.owndata
    with pytest.raises(ValueError):
        pantry.grid[0, 0] = 3
    assert isinstance(pantry.colours, numpy.ndarray) and pantry.array("grid").tolist() == pantry.grid.tolist()
    # The array keeps the memory, and views do not.
    grid, inner = pantry.grid, pantry.inners
    pantry.release()
    assert grid[1, 2] == 6
    for look in (lambda: pantry.grid, lambda: inner[0], lambda: list(inner), lambda: pantry.copy()):
        with pytest.raises(situ.ReleasedError):
            look()


def test_regions_are_read_only():
    pantry = handle_of("pantry").view_region(image_of("pantry"))
    with pytest.raises(situ.ConversionError, match="`maybe` lies in a region, which is read-only"):
        pantry.maybe = 3
    with pytest.raises(TypeError):
        pantry.inners[0] = {}
    changed = pantry.copy()
    changed.maybe = 3
    assert changed.maybe == 3 and pantry.maybe == 2.5


def test_members_of_later_versions_have_defaults():
    handle = handle_of("game_profile.after")
    before = handle.view_region(image_of("game_profile.before"))
    after = handle.view_region(image_of("game_profile.after"))
    assert (before.level, before.rival, list(before.tags)) == (3, None, [])
    assert (after.level, after.rival.score, list(after.tags)) == (7, 901, ["quick", "with a longer name"])
    assert (before.best.score, before.best.by, after.best.by) == (900, "", "somebody with a long name")


def test_only_what_is_asked_for_is_read():
    """A broken part of an image is an error when it is read, and not before."""
    handle = handle_of("pantry")
    image = bytearray(image_of("pantry"))
    text = b"the second one of them"
    at = image.index(text)
    image[at] = 0xFF
    pantry = handle.view_region(bytes(image))
    assert pantry.names[0] == "one" and pantry.maybe == 2.5
    with pytest.raises(situ.MalformedError, match=r"`names\[1\]` of a region is malformed.*UTF-8"):
        pantry.names[1]
    with pytest.raises(situ.MalformedError):
        handle.view_region(b"no region")


def use(value, depth=0):
    if depth > 4:
        return
    if isinstance(value, situ.Message):
        for name in type(value).__match_args__:
            try:
                use(value[name], depth + 1)
            except situ.MalformedError:
                pass
    elif isinstance(value, situ.Union):
        use(value.value, depth + 1)
    elif isinstance(value, collections.abc.Mapping):
        for key in list(value)[:10]:
            try:
                use(value[key], depth + 1)
            except (situ.MalformedError, KeyError):
                pass
    elif isinstance(value, collections.abc.Sequence) and not isinstance(value, str):
        for index in range(min(len(value), 10)):
            try:
                use(value[index], depth + 1)
            except situ.MalformedError:
                pass


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(["bazaar", "pantry", "thicket", "game_profile.after"]), st.data())
def test_any_bytes_are_errors_and_nothing_else(case, data):
    image = bytearray(image_of(case))
    for _ in range(data.draw(st.integers(1, 20))):
        image[data.draw(st.integers(28, len(image) - 1))] = data.draw(st.sampled_from([0, 1, 127, 128, 255]))
    try:
        view = HANDLES[case].view_region(bytes(image))
    except situ.MalformedError:
        return
    use(view)
    for look in (repr, lambda it: it.to_dict(), lambda it: it.copy()):
        try:
            look(view)
        except situ.MalformedError:
            pass


HANDLES = {case: handle_of(case) for case in CASES}


def test_views_leave_nothing_behind():
    bazaar = handle_of("bazaar").view_region(image_of("bazaar"))
    assert growth(lambda number: use(bazaar), 30)[0] < 30
