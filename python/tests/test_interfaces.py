"""Interfaces of IDL: clients, servers and exceptions, generated and made at run time."""

import asyncio
import pathlib
import pickle
import sys
import threading

import pytest

import situ

TYPED = pathlib.Path(__file__).resolve().parent / "typed"
sys.path.insert(0, str(TYPED))

import generated.shop as shop  # noqa: E402
import generated.shop.till as till  # noqa: E402

IDL = """
module calc {
  exception DivisionByZero { int64 numerator; };
  exception Exhausted {};
  /// Counts.
  @flat interface Counter { long count(); };
  /// Calculates.
  @flat interface Calculator : Counter {
    double add(in double a, in double b);
    void reset();
    int64 divide(in int64 a, in int64 b, out int64 remainder) raises (DivisionByZero, Exhausted);
    int64 from(in int64 timeout, inout int64 class) raises (Exhausted);
  };
};
"""


class Shop(till.Till):
    def add(self, a, b):
        if a < 0:
            raise ValueError("no debts")
        return a + b

    def pay(self, basket):
        if basket.owner != "Eve":
            raise till.ClosedError(reason=f"no {basket.owner}")
        return till.Receipt(basket=basket, prices=[shop.Price_cents(3)])


def served(node, implementation, name="till"):
    server = situ.InterfaceServer(node, name, implementation)
    thread = threading.Thread(target=server.serve)
    thread.start()
    return server, thread


def test_generated_clients_call_generated_servers(node):
    server, thread = served(node, Shop())
    try:
        with till.Till.Client(node, "till") as client:
            assert client.wait_for_servers(30)
            assert client.add(40, b=2, timeout=30) == 42
            receipt = client.pay(shop.Basket(owner="Eve"), timeout=30)
            assert type(receipt) is till.Receipt and receipt.prices == [shop.Price_cents(3)]
            assert client.pay(basket={"owner": "Eve"}, timeout=30).basket.owner == "Eve"
            with pytest.raises(till.ClosedError) as raised:
                client.pay({"owner": "Adam"}, timeout=30)
            assert raised.value.reason == "no Adam" and raised.value.message == till.Closed(reason="no Adam")
            assert pickle.loads(pickle.dumps(raised.value)).reason == "no Adam"
            assert "no Adam" in str(raised.value) and isinstance(raised.value, situ.RaisedError)
            with pytest.raises(situ.RefusedError, match="ValueError: no debts"):
                client.add(-1, 2, timeout=30)
            for wrong, text in [((1,), "needs b"), ((1, 2, 3), "takes 2"), (("x", 2), "`a`")]:
                with pytest.raises((TypeError, situ.ConversionError), match=text):
                    client.add(*wrong)
            with pytest.raises(TypeError, match="no parameter 'c'"):
                client.add(1, c=2)
            with pytest.raises(TypeError, match="'a' twice"):
                client.add(1, a=2)
        assert till.Till.Client.add.__doc__ == "The sum of two prices, in cents."
    finally:
        server.close()
        thread.join(30)
    assert not thread.is_alive()


def test_operations_without_a_method_are_refused(node):
    class Half(till.Till):
        def add(self, a, b):
            return a + b

    server, thread = served(node, Half())
    client = till.Till.Client(node, "till")
    with pytest.raises(situ.RefusedError, match="Half does not implement pay"):
        client.pay({}, timeout=30)
    assert client.add(1, 2, timeout=30) == 3
    server.close()
    thread.join(30)
    with pytest.raises(TypeError, match="no interface"):
        situ.InterfaceServer(node, "till", situ.Interface())


def test_coroutines_are_awaited_and_overlap(node):
    class Slow(till.Till):
        def __init__(self):
            self.both = asyncio.Event()
            self.count = 0

        async def add(self, a, b):
            # Both calls are under way before one of them ends.
            self.count += 1
            if self.count == 2:
                self.both.set()
            await asyncio.wait_for(self.both.wait(), 30)
            return a + b

        def pay(self, basket):
            raise till.ClosedError(till.Closed(reason="late"))

    async def main():
        server = situ.InterfaceServer(node, "till", Slow())
        serving = asyncio.ensure_future(server.aserve())
        client = till.Till.AsyncClient(node, "till")
        first = asyncio.ensure_future(client.add(1, 2, timeout=30))
        assert await client.add(3, 4, timeout=30) == 7 and await first == 3
        with pytest.raises(till.ClosedError, match="late"):
            await client.pay({}, timeout=30)
        server.close()
        await asyncio.wait_for(serving, 30)

    asyncio.run(main())


def test_the_typed_program(node):
    pytest.importorskip("numpy")
    import program

    async def main():
        server = program.serve(node)
        serving = asyncio.ensure_future(server.aserve())
        assert await asyncio.to_thread(program.ask, node) == "3 it is late it is late"
        assert await program.ask_later(node) == 3
        server.close()
        await asyncio.wait_for(serving, 30)

    asyncio.run(main())


def test_interfaces_are_made_at_run_time(node):
    schema = situ.Schema(text=IDL)
    with pytest.raises(situ.SchemaError, match="calc::Counter, calc::Calculator"):
        schema.interface("calc/Other")
    Calculator = schema.interface("calc/Calculator")
    assert (Calculator.__name__, Calculator.__doc__) == ("Calculator", "Calculates.")
    Zero, Exhausted = Calculator.errors["calc::DivisionByZero"], Calculator.errors["calc::Exhausted"]

    class Mine(Calculator):
        def add(self, a, b):
            return a + b

        def reset(self):
            pass

        def divide(self, a, b):
            if b == 0:
                raise Zero(numerator=a)
            return {"return_": a // b, "remainder": a % b}

        def from_(self, timeout, class_):
            if timeout < 0:
                raise Exhausted()
            if timeout == 0:
                raise Zero(numerator=1)  # Not one of this operation.
            return {"return_": timeout, "class": class_ + 1}

        def count(self):
            return 5

    server, thread = served(node, Mine(), "calculator")
    client = Calculator.Client(node, "calculator")
    try:
        assert client.add(a=1.5, b=2, timeout=30) == 3.5 and client.reset(timeout=30) is None
        both = client.divide(7, 2, timeout=30)
        assert (both.return_, both.remainder) == (3, 1)
        with pytest.raises(Zero) as raised:
            client.divide(7, 0, timeout=30)
        assert raised.value.numerator == 7
        given = client.from_(4, 2, timeout=30)
        assert (given["return_"], given["class"]) == (4, 3)
        with pytest.raises(Exhausted):
            client.from_(-1, 2, timeout=30)
        with pytest.raises(situ.RefusedError, match="DivisionByZeroError"):
            client.from_(timeout_=0, **{"class": 2}, timeout=30)
        # A client of the base calls the server of the derived interface.
        assert schema.interface("calc/Counter").Client(node, "calculator").count(timeout=30) == 5
    finally:
        server.close()
        thread.join(30)


def test_replies_of_hostile_servers_are_errors(node):
    schema = situ.Schema(text=IDL)
    client = schema.interface("calc/Calculator").Client(node, "calculator")
    with node.server("calculator/divide", type="calc/Calculator_divide", schema=schema) as server:

        def answer():
            request = server.recv(30)
            union = situ.Union(None, discriminator=77)
            request.answer(reply=union)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(situ.MalformedError, match="77"):
            client.divide(1, 2, timeout=30)
        thread.join()
