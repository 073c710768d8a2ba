"""A program with generated classes, for the checkers of types. `test_generated.py` runs it, too."""

from typing import List, Optional

import numpy as np

import situ
from generated.shop import MOST, Basket, Flags, Fruit, Place, Price_at, Price_cents, State
from generated.shop.till import Closed, ClosedError, Receipt, Till, Till_add, Till_pay, Till_pay_Result_result


def fruits(node: situ.Node) -> List[str]:
    with node.publisher("fruits", type=Fruit, depth=4) as publisher, node.subscriber("fruits", type=Fruit) as subscriber:
        with publisher.loan(pixels=3) as loan:
            loan.name = "plum"
            loan.state = State.RIPE
            loan.place.x = 1.5
            loan.sizes = [1, 2, 3]
            loan.pixels[:] = 7
            loan.label = None
            loan.from_ = 3
        publisher.publish(Fruit(name="pear", state="GREEN", price=Price_cents(30), tags=["a", "b"], counts={"x": 1}))
        publisher.publish({"name": "fig"})
        names: List[str] = []
        for _ in range(3):
            fruit = subscriber.recv(30)
            with fruit:
                mean: np.floating = fruit.sizes.mean()
                label: Optional[int] = fruit.label
                place: Place = fruit.place
                names.append(f"{fruit.name} {fruit.state.name} {float(mean):.1f} {place.x} {label} {fruit.from_}")
                names += [tag for tag in fruit.tags]
                price = fruit.price
                if isinstance(price, Price_cents):
                    names.append(f"{price.value + 1} cents")
                elif isinstance(price, Price_at):
                    names.append(f"at {price.value.x}")
        return names


def basket() -> Basket:
    made = Basket(x=1, owner="Eve", price=Price_cents(3), states={"plum": State.ROTTEN})
    made.fruits.append(Fruit(name="fig", flags=Flags.SWEET | Flags.ROUND))
    made.inner = [Basket(owner="Adam")]
    first: Fruit = made.fruits[0]
    assert first.flags & Flags.SWEET and len(made.inner) < MOST
    copied: Basket = made.copy()
    return copied


def add(node: situ.Node, a: int, b: int) -> int:
    client = node.client("add", type=Till_add)
    client.wait_for_server(30)
    return client.call(Till_add.Request(a=a, b=b), timeout=30).return_


def serve_add(server: "situ.Server[Till_add.Request, Till_add.Response]") -> None:
    def answer(request: Till_add.Request) -> Till_add.Response:
        return Till_add.Response(return_=request.a + request.b)

    server.serve(answer, count=1)


def pay(node: situ.Node, basket: Basket) -> str:
    reply = node.client("pay", type=Till_pay).call({"basket": basket}, timeout=30)
    result = reply.reply
    if isinstance(result, Till_pay_Result_result):
        return result.value.return_.basket.owner
    if isinstance(result.value, Closed):
        return result.value.reason
    return "?"


class Shop(Till):
    def add(self, a: int, b: int) -> int:
        return a + b

    async def pay(self, basket: Basket) -> Receipt:
        if basket.owner != "Eve":
            raise ClosedError(reason="it is late")
        return Receipt(basket=basket)


def serve(node: situ.Node) -> situ.InterfaceServer:
    return situ.InterfaceServer(node, "till", Shop())


def ask(node: situ.Node) -> str:
    client = Till.Client(node, "till")
    client.wait_for_servers(30)
    total: int = client.add(1, b=2, timeout=30)
    try:
        receipt: Receipt = client.pay({"owner": "Adam"}, timeout=30)
    except ClosedError as error:
        closed: Closed = error.message
        return f"{total} {error.reason} {closed.reason}"
    return receipt.basket.owner


async def ask_later(node: situ.Node) -> int:
    return await Till.AsyncClient(node, "till").add(1, 2, timeout=30)
