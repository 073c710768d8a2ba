"""Fixtures: each test has a root of its own."""

import pathlib
import shutil
import signal
import tempfile

import pytest

import situ

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

IDL = """
module t {
  enum Color { RED, GREEN, @value(7) BLUE };
  @bit_bound(8) bitmask Flags { @position(0) A, @position(3) B };
  @flat struct Point { double x; double y; };
  @flat struct Small { int64 number; octet data[56]; };
  @flat union Choice switch (long) { case 1: long whole; case 2: double real; case 3: Point point; };
  @flat struct Kitchen {
    boolean yes; int8 i8; uint8 u8; int16 i16; uint16 u16; int32 i32; uint32 u32; int64 i64; uint64 u64;
    float f32; double f64; char c; wchar w;
    string<15> text; wstring<7> wide;
    Color color; Flags flags;
    Point point; Point corners[2];
    long grid[2][3];
    sequence<float, 8> few;
    sequence<Point, 4> points;
    sequence<string<7>, 3> names;
    map<string<7>, long, 4> ages;
    @optional long maybe;
    @optional Point spot;
    Choice choice;
    @bulk sequence<octet> raw;
    @bulk sequence<Point> cloud;
  };
  @flat struct Image { uint32 height; uint32 width; @bulk sequence<octet> pixels; };
  struct Tree { string name; sequence<Tree> children; };
  struct Heap {
    boolean yes; int64 i64; double f64; string text; wstring wide; Color color; Flags flags;
    sequence<float> few; sequence<Point> points; sequence<string> names; map<string, long> ages;
    long grid[2][3]; sequence<boolean> bits; sequence<Color> colors;
    @optional long maybe; Choice choice; sequence<Tree> trees;
  };
};
"""


@pytest.fixture(autouse=True, scope="session")
def interruptible():
    """A shell starts the tests with this signal ignored when they run in its background, and so their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def schema():
    return situ.Schema(text=IDL)


@pytest.fixture
def root(monkeypatch):
    """A folder in shared memory."""
    parent = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
    path = tempfile.mkdtemp(prefix="situ-python-", dir=parent)
    monkeypatch.setenv("SITU_ROOT", path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def node(root):
    with situ.Node("test") as node:
        yield node
