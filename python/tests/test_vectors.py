"""The bytes of `spec/vectors`, which Rust and C++ read and write too. The values are those of `kitchen.py`."""

import runpy

import pytest
from conftest import REPOSITORY

import situ

VECTORS = REPOSITORY / "spec" / "vectors"
TEXTS = REPOSITORY / "crates" / "situ-schema" / "tests" / "dynamic"
CASES = {
    "primitives": "kitchen::Primitives",
    "containers": "kitchen::Containers",
    "optionals": "kitchen::Optionals",
    "unions": "kitchen::Unions",
    "derived": "kitchen::Derived",
    "growing": "kitchen::Growing",
    "changing": "kitchen::Changing",
    "heaped": "kitchen::Heaped",
    "thicket": "kitchen::Thicket",
}
FLAT = ["primitives", "containers", "optionals", "unions", "derived"]


@pytest.fixture(scope="module")
def kitchen():
    return situ.Schema(files=[VECTORS / "kitchen.idl"])


def bytes_of(path):
    return (VECTORS / path).read_bytes()


def expected(handle, case):
    return handle.from_text((TEXTS / f"{case}.yaml").read_text())


def rebuilt(message):
    """The same message, made member by member from objects of Python."""
    return type(message)(**{name: message[name] for name in type(message).__match_args__})


@pytest.mark.parametrize("case", CASES)
def test_cdr_is_read_and_written(kitchen, case):
    handle = kitchen.find(CASES[case])
    value = expected(handle, case)
    for version in (1, 2):
        for order in ("le", "be"):
            assert handle.from_cdr(bytes_of(f"cdr/{case}.xcdr{version}.{order}.bin")) == value
        written = bytes_of(f"cdr/{case}.xcdr{version}.le.bin")
        assert handle.to_cdr(value, version) == written
        assert handle.to_cdr(rebuilt(value), version) == written
        assert handle.to_cdr(value.copy(), version) == written


@pytest.mark.parametrize("case", FLAT)
def test_flat_messages_are_read_and_written(kitchen, case):
    handle = kitchen.find(CASES[case])
    head, mask = bytes_of(f"flat/{case}.head.bin"), bytes_of(f"flat/{case}.mask.bin")
    body = VECTORS / "flat" / f"{case}.body.bin"
    body = body.read_bytes() if body.exists() else b""
    message, value = handle.from_flat(head, body), expected(handle, case)
    assert message == value and message.to_dict() == value.to_dict()

    def check(written):
        assert bytes(a & m for a, m in zip(written[0], mask)) == bytes(a & m for a, m in zip(head, mask))
        assert written[1] == body

    check(handle.to_flat(value))
    # Read in place member by member, and written from these objects.
    check(handle.to_flat(rebuilt(message)))


@pytest.mark.parametrize("case", FLAT)
def test_loans_have_the_bytes_of_flat_messages(kitchen, node, case):
    handle = kitchen.find(CASES[case])
    value = expected(handle, case)
    publisher = node.publisher(case, type=handle, storage="flat")
    subscriber = node.subscriber(case)
    publisher.publish(**{name: value[name] for name in handle.cls.__match_args__})
    with subscriber.recv(5) as message:
        assert message.info.encoding == "flat" and message == value


@pytest.mark.parametrize("form", ["canonical", "live", "compacted"])
def test_regions_are_read(form):
    schema = situ.Schema(files=[VECTORS / "kitchen.idl"])
    values = runpy.run_path(str(VECTORS / "kitchen.py"))
    image = VECTORS / "region" / f"thicket.{form}.bin"
    if not image.exists():
        pytest.skip("this form does not exist")
    handle = schema.find("kitchen::Thicket")
    assert handle.from_region(image.read_bytes()) == expected(handle, "thicket")
    assert values["CASES"]
