"""Any schema, any bytes, any objects: errors of the package, and nothing else."""

import pytest

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import situ  # noqa: E402

settings.register_profile("quick", max_examples=60, deadline=None, derandomize=True, database=None)
settings.load_profile("quick")

NUMBERS = "boolean int8 uint8 int16 uint16 int32 uint32 int64 uint64 float double char wchar".split()
leaf = st.sampled_from(NUMBERS + ["string<5>", "wstring<3>", "E", "B", "P"])
types = leaf | st.builds("sequence<{}, 3>".format, leaf) | st.builds("map<{}, {}, 2>".format, st.sampled_from(["int32", "string<4>"]), leaf)
arrays = st.sampled_from(["", "[2]", "[1][3]"])
members = st.lists(st.tuples(types | leaf, arrays, st.booleans()), min_size=1, max_size=5)


def schema_of(parts, flat=True):
    lines = []
    for index, (ty, array, optional) in enumerate(parts):
        prefix = "@optional " if optional else ""
        lines.append(f"{prefix}{ty} m{index}{array};")
    text = "enum E { A, @value(5) C }; @bit_bound(8) bitmask B { X, @position(7) Y }; @flat struct P { int16 x; double y; };"
    bulk = "@bulk sequence<P> bulk;" if flat else "sequence<P> bulk;"
    return situ.Schema(text=f"{text} {'@flat ' if flat else ''}struct M {{ {' '.join(lines)} {bulk} }};").find("M")


def use(message):
    """Looks at all of a message, in each way."""
    for step in (
        lambda: [message[name] for name in type(message).__match_args__],
        lambda: [list(it) if hasattr(it, "__len__") else it for it in (message[n] for n in type(message).__match_args__)],
        lambda: repr(message), lambda: message.to_dict(), lambda: message.to_json(), lambda: message.copy() == message,
        lambda: message._repr_html_(),
    ):  # fmt: skip
        try:
            step()
        except situ.Error:
            pass


@given(members, st.data())
def test_any_bytes_of_flat_messages(parts, data):
    handle = schema_of(parts)
    head = bytearray(handle.to_flat({})[0])
    for _ in range(data.draw(st.integers(0, 12))):
        head[data.draw(st.integers(0, len(head) - 1))] = data.draw(st.integers(0, 255))
    use(handle.from_flat(bytes(head), data.draw(st.binary(max_size=64))))


@given(members, st.booleans(), st.binary(max_size=200))
def test_any_bytes_of_cdr_and_regions(parts, flat, data):
    handle = schema_of(parts, flat)
    for read in (handle.from_cdr, handle.from_region):
        for given_bytes in (data, b"\0\1\0\0" + data):
            try:
                use(read(given_bytes))
            except situ.MalformedError:
                pass


objects = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.binary(max_size=6) | st.just(object()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["x", "y", "a", 1]), inner, max_size=3),
    max_leaves=8,
)


@given(members, st.booleans(), st.data())
def test_any_objects(parts, flat, data):
    handle = schema_of(parts, flat)
    names = handle.cls.__match_args__
    given_members = {name: data.draw(objects) for name in names if data.draw(st.booleans())}
    try:
        message = handle.cls(**given_members)
    except situ.ConversionError:
        return
    use(message)
    assert handle.from_cdr(handle.to_cdr(message)) == message
    if flat:
        assert handle.from_flat(*handle.to_flat(message)) == message


@given(members, st.booleans())
def test_defaults_are_the_same_in_all_encodings(parts, flat):
    handle = schema_of(parts, flat)
    message = handle.cls()
    assert handle.from_cdr(handle.to_cdr(message)) == message == handle.from_cdr(handle.to_cdr(message, 2))
    assert handle.from_text(message.to_json()) == message
    if flat:
        assert handle.from_flat(*handle.to_flat({})).to_dict() == message.to_dict()


#: Names that mean something to Python, to enums or to messages, and what they may become. IDL takes the first
#: underscore away.
NAMES = "class class_ class__ mro mro_ name value real __x __x_ ___x ___init__ ___slots__ ___class__ None self copy info array __items".split()


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True))
def test_any_names(names):
    enum = ", ".join(names)
    members = " ".join(f"long {name};" for name in names)
    schema = situ.Schema(text=f"enum E {{ {enum} }}; bitmask B {{ {enum} }}; @flat struct M {{ {members} E e1; B b1; }};")
    handle, names = schema.find("M"), [name[1:] if name[0] == "_" else name for name in names]
    values = {name: index for index, name in enumerate(names)}
    message = handle.from_flat(*handle.to_flat({**values, "e1": len(names) - 1, "b1": 1}))
    assert {name: message[name] for name in names} == values
    assert (int(message["e1"]), int(message["b1"])) == (len(names) - 1, 1)
    assert message["e1"].name.strip("_") == names[-1].strip("_")
    assert situ.Message.to_dict(message) == {**values, "e1": len(names) - 1, "b1": 1}
    assert situ.Message.copy(message) == message and repr(message)


@given(st.text(max_size=80))
def test_any_schema(text):
    try:
        situ.Schema(text=text)
    except situ.SchemaError:
        pass
