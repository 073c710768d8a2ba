"""Messages in the memory of devices: CUDA by a driver that emulates devices in host memory, and `emulated`."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import situ
from conftest import REPOSITORY

DRIVER = REPOSITORY / "crates/situ-memory/tests/cuda/driver.c"

#: What the programs below begin with: the driver, streams of their own, and a consumer of DLPack.
HEAD = """
import ctypes, gc, os, threading, time
import situ

cuda = ctypes.CDLL("libcuda.so")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxPushCurrent_v2(context) == 0

def new_stream():
    stream = ctypes.c_void_p()
    assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
    return stream.value

def pinned(size):
    memory = ctypes.c_void_p()
    assert cuda.cuMemHostAlloc(ctypes.byref(memory), ctypes.c_size_t(size), 0) == 0
    return (ctypes.c_ubyte * size).from_address(memory.value)

Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
kept = []

def block(stream):
    "Blocks a stream until the result is set."
    gate = threading.Event()
    call = Call(lambda _: gate.wait(60))
    kept.append(call)
    assert cuda.cuLaunchHostFunc(ctypes.c_void_p(stream), call, None) == 0
    return gate

def write(tensor, byte, stream):
    source = pinned(tensor.size)
    ctypes.memset(source, byte, tensor.size)
    at = ctypes.c_ulonglong(tensor.address)
    assert cuda.cuMemcpyHtoDAsync_v2(at, source, ctypes.c_size_t(tensor.size), ctypes.c_void_p(stream)) == 0

def read(tensor, stream):
    target = pinned(tensor.size)
    at = ctypes.c_ulonglong(tensor.address)
    assert cuda.cuMemcpyDtoHAsync_v2(target, at, ctypes.c_size_t(tensor.size), ctypes.c_void_p(stream)) == 0
    return target

def is_done(stream):
    return cuda.cuStreamQuery(ctypes.c_void_p(stream)) == 0

def finish(stream):
    begun = time.monotonic()
    while not is_done(stream):
        assert time.monotonic() - begun < 60
        time.sleep(0.001)

class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]

class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", DLTensor)]

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

class Tensor:
    "What a library makes of an array. It keeps the memory as long as it lives."

    def __init__(self, array, stream=None):
        self.capsule = array.__dlpack__(stream=stream, max_version=(1, 0))
        it = Versioned.from_address(pointer_of(self.capsule, b"dltensor_versioned"))
        assert (it.tensor.kind, it.tensor.id) == array.__dlpack_device__()
        self.address, self.readonly = it.tensor.data, bool(it.flags & 1)
        self.shape = [it.tensor.shape[n] for n in range(it.tensor.ndim)]
        self.type = (it.tensor.code, it.tensor.bits)
        self.size = it.tensor.bits // 8
        for length in self.shape:
            self.size *= length

type = situ.Schema(text="@flat struct Image { uint32 width; @bulk sequence<octet> pixels; };").find("Image")
node = situ.Node("gpu")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The folder of the emulating driver."""
    compiler = shutil.which("cc")
    if compiler is None or not DRIVER.is_file():
        pytest.skip("SKIPPED: no C compiler, or not the sources of Situ: the emulating driver of CUDA cannot be built")
    folder = tmp_path_factory.mktemp("cuda")
    made = [compiler, "-std=gnu11", "-O1", "-shared", "-fPIC", "-pthread", "-o", str(folder / "libcuda.so"), str(DRIVER)]
    subprocess.run(made, check=True)
    return folder


@pytest.fixture
def run(library, root):
    """Runs a program with the emulating driver."""

    def run(text, **environment):
        path = str(pathlib.Path(situ.__file__).parents[1])
        environment = dict(os.environ, PYTHONPATH=path, LD_LIBRARY_PATH=str(library), **environment)
        program = [sys.executable, "-X", "faulthandler", "-c", HEAD + textwrap.dedent(text)]
        ran = subprocess.run(program, capture_output=True, text=True, timeout=100, env=environment)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    return run


CHAIN = """
publisher = node.publisher("frames", type=type, domain="cuda:0", depth=4)
subscriber = node.subscriber("frames", type=type, domain="cuda:0")
writer, reader = new_stream(), new_stream()
gate = block(writer)
with publisher.loan(pixels=5000) as out:
    out.width = 100
    tensor = Tensor(out.pixels, writer)
    assert not tensor.readonly and tensor.shape == [5000] and tensor.type == (1, 8)
    write(tensor, 7, writer)
    del tensor
# The message is published, and its kernel has not run.
message = subscriber.recv(60)
assert message.width == 100
array = message.pixels
assert repr(array) == "<situ.DeviceArray of 5000 |u1 on cuda:0>", repr(array)
assert array.__dlpack_device__() == (2, 0) and array.domain == "cuda:0" and array.readonly
tensor = Tensor(array, READER)
assert tensor.readonly
target = read(tensor, READER)
HERE
gate.set()
finish(READER)
assert set(target) == {7}
assert set(array.to_host().tolist()) == {7} and len(array) == 5000
print("ok")
"""


def test_kernels_run_in_the_order_of_streams(run):
    chain = CHAIN.replace("READER", "reader")
    assert run(chain.replace("HERE", "time.sleep(0.1)\nassert not is_done(reader) and not is_done(writer)")) == "ok"


@pytest.mark.parametrize("stream", ["1", "2"])
def test_default_streams_wait_as_well(run, stream):
    text = CHAIN.replace("READER", stream).replace("HERE", f"time.sleep(0.1)\nassert not is_done({stream})")
    assert run(text) == "ok"


def test_a_device_without_words_waits_on_the_host(run):
    # Asking for the tensor waits, without the GIL, so that another thread can open the gate.
    text = CHAIN.replace("READER", "reader").replace("HERE", "assert gate.is_set()")
    text = text.replace("tensor = Tensor(array, reader)", "threading.Timer(0.2, gate.set).start()\ntensor = Tensor(array, reader)")
    assert run(text, FAKE_CUDA_NO_WORDS="1") == "ok"


def test_what_a_consumer_may_ask_for(run):
    text = """
    publisher = node.publisher("frames", type=type, domain="cuda:0", depth=4)
    subscriber = node.subscriber("frames", type=type, domain="cuda:0")
    writer = new_stream()
    gate = block(writer)
    with publisher.loan(pixels=3) as out:
        write(Tensor(out.pixels, writer), 1, writer)
    message = subscriber.recv(60)
    array = message.pixels

    def error(ask):
        try:
            ask()
        except Exception as error:
            return f"{__builtins__.type(error).__name__}: {error}"

    assert "ambiguous" in error(lambda: Tensor(array, 0))
    assert error(lambda: Tensor(array, -2)) == "ValueError: -2 is no handle of a stream"
    assert "is no stream" in error(lambda: Tensor(array, "a"))
    assert "read-only" in error(lambda: array.__dlpack__(stream=1))
    assert "not copied" in error(lambda: array.__dlpack__(stream=1, max_version=(1, 0), copy=True))
    assert "not copied" in error(lambda: array.__dlpack__(stream=1, max_version=(1, 0), dl_device=(2, 1)))
    # Without order, nothing waits.
    Tensor(array, -1)

    class Own:
        def __cuda_stream__(self):
            return 0, writer

    class Torch:
        cuda_stream = writer

    for stream in (Own(), Torch()):
        Tensor(array, stream)
    gate.set()
    # On the host: an error, or a copy that was asked for.
    import numpy as np
    assert "to_host" in error(lambda: np.asarray(array))
    assert error(lambda: np.from_dlpack(array)) is not None
    capsule = array.__dlpack__(dl_device=(1, 0))
    assert array.to_host().tolist() == [1, 1, 1] and isinstance(array.to_host(), np.ndarray)
    message.release()
    assert "released" in error(lambda: message.pixels)
    print("ok")
    """
    assert run(text) == "ok"


def test_a_message_is_held_until_the_streams_have_passed(run):
    text = """
    publisher = node.publisher("frames", type=type, domain="cuda:0", depth=4)
    subscriber = node.subscriber("frames", type=type, domain="cuda:0", max_held=1)
    for byte in (1, 2):
        with publisher.loan(pixels=100) as out:
            stream = new_stream()
            write(Tensor(out.pixels, stream), byte, stream)
    reader = new_stream()
    message = subscriber.recv(60)
    gate = block(reader)
    with message:
        target = read(Tensor(message.pixels, reader), reader)
    del message
    gc.collect()
    try:
        subscriber.take()
        print("not held")
    except situ.HeldError:
        pass
    gate.set()
    finish(reader)
    assert set(target) == {1}
    assert set(subscriber.take().pixels.to_host()) == {2}
    print("ok")
    """
    assert run(text) == "ok"


def test_a_loan_that_is_dropped_is_returned_after_its_kernels(run):
    text = """
    publisher = node.publisher("frames", type=type, domain="cuda:0", depth=4)
    stream, other = new_stream(), new_stream()
    gate = block(stream)
    loan = publisher.loan(pixels=100)
    tensor = Tensor(loan.pixels, stream)
    first = tensor.address
    del tensor
    loan.release()
    second = Tensor(publisher.loan(pixels=100).pixels, other).address
    assert second != first, "its memory is written yet"
    gate.set()
    finish(stream)
    loan = publisher.loan(pixels=100)
    Tensor(loan.pixels, stream), Tensor(loan.pixels, other)
    try:
        loan.publish()
    except situ.PublishError as error:
        assert "2 streams" in str(error)
    loan.publish(stream)
    print("ok")
    """
    assert run(text) == "ok"


def test_a_take_in_the_order_of_a_stream_copies_without_a_wait(run):
    text = """
    subscriber = node.subscriber("frames", type=type, domain="cuda:1")
    publisher = node.publisher("frames", type=type, domain="cuda:0", depth=4)
    writer = new_stream()
    gate = block(writer)
    with publisher.loan(pixels=3) as out:
        write(Tensor(out.pixels, writer), 9, writer)
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1) == 0 and cuda.cuCtxPushCurrent_v2(context) == 0
    reader = new_stream()
    message = subscriber.take_on(reader)
    tensor = Tensor(message.pixels, reader)
    assert message.pixels.__dlpack_device__() == (2, 1)
    target = read(tensor, reader)
    time.sleep(0.1)
    assert not is_done(reader)
    gate.set()
    finish(reader)
    assert list(target) == [9, 9, 9]
    assert subscriber.take_on(reader) is None
    print("ok")
    """
    assert run(text) == "ok"


def test_devices_without_a_number_in_dlpack_are_copied(node, schema):
    publisher = node.publisher("p", type="t::Image", schema=schema)
    subscriber = node.subscriber("p", domain="emulated:0")
    publisher.publish(width=3, pixels=b"abc")
    message = subscriber.recv(60)
    array = message.pixels
    assert isinstance(array, situ.DeviceArray) and array.domain == "emulated:0"
    assert array.to_host().tobytes() == b"abc" and array.shape == (3,) and array.nbytes == 3
    assert isinstance(message.array("pixels"), situ.DeviceArray)
    with pytest.raises(BufferError, match="to_host"):
        array.__dlpack_device__()
    with pytest.raises(TypeError, match="to_host"):
        np.asarray(array)
    with pytest.raises(situ.ConversionError, match="those of CUDA"):
        subscriber.take_on(1)


def test_messages_on_a_device_are_copied_and_sent_on_with_one_copy(node, schema):
    publisher = node.publisher("p", type="t::Image", schema=schema)
    subscriber = node.subscriber("p", domain="emulated:0")
    other = node.publisher("q", type="t::Image", schema=schema)
    host = node.subscriber("q")
    publisher.publish(width=3, pixels=b"abc")
    message = subscriber.recv(60)
    assert message.copy().pixels.tobytes() == b"abc"
    assert message.to_dict()["pixels"] == list(b"abc")
    other.publish(message)
    assert host.recv(60).pixels.tobytes() == b"abc"
