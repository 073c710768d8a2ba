"""Each line with `wrong` is a mistake that checkers of types find; the others are right."""

import situ
from generated.shop import Fruit, Place, State
from generated.shop.till import ClosedError, Till, Till_add


def mistakes(node: situ.Node) -> None:
    fruit = Fruit(name="fig")
    fruit.name = 3  # wrong
    fruit.nmae = "fig"  # wrong
    fruit.state = State.RIPE
    fruit.state = [1]  # wrong
    Fruit(colour="red")  # wrong
    Place(x="1")  # wrong
    publisher = node.publisher("p", type=Place)
    publisher.publish(fruit)  # wrong
    publisher.publish(Place(x=1))
    taken = node.subscriber("p", type=Place).take()
    taken.x  # wrong
    node.client("c", type=Till_add).call(Place())  # wrong
    node.client("c", type=Till_add).call(Till_add.Request(a=1)).retrun  # wrong
    till = Till.Client(node, "till")
    till.add(1, 2, timeout=1)
    till.add("1", 2)  # wrong
    till.add(1)  # wrong
    till.pay({}).owner  # wrong
    ClosedError(raeson="late")  # wrong


class Shop(Till):
    def add(self, a: str, b: int) -> int:  # wrong
        return b
