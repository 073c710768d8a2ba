"""Classes that `situ gen --lang python` wrote."""

import copy
import pathlib
import pickle
import subprocess
import sys
import threading

import pytest

import situ

TYPED = pathlib.Path(__file__).resolve().parent / "typed"
sys.path.insert(0, str(TYPED))

import generated.shop as shop  # noqa: E402
import generated.shop.till as till  # noqa: E402


def test_classes_are_described():
    assert shop.Fruit.__doc__ == "A fruit." and shop.State.__doc__ == "How fresh a fruit is."
    assert shop.Fruit.__match_args__[:2] == ("name", "state") and shop.Fruit.__match_args__[9:] == ("from_", "pixels")
    assert "Its name, in English." in shop.Fruit.name.__doc__ and "[m]" in shop.Place.x.__doc__
    assert (shop.MOST, shop.GREETING) == (12, 'good "morning"')
    assert shop.Fruit.__situ__.name == "shop::Fruit" and shop.Fruit.__situ__.is_flat
    assert [(it.name, it.value) for it in shop.State] == [("GREEN", 0), ("RIPE", 1), ("ROTTEN", 7)]
    # The same type as that of the file.
    schema = situ.Schema(files=[TYPED / "shop.idl"])
    for cls in (shop.Fruit, shop.Basket, till.Receipt, till.Till_pay.Response):
        assert schema.find(cls.__situ__.name) == cls.__situ__


def test_messages_are_constructed_compared_and_shown():
    place = shop.Place(x=1.5)
    assert place == shop.Place(x=1.5, y=0) and place != shop.Place(x=2) and repr(place) == "Place(x=1.5, y=0.0)"
    with pytest.raises(situ.ConversionError, match="z"):
        shop.Place(z=1)
    fruit = shop.Fruit(name="fig", state="ROTTEN", place=place, price=shop.Price_at({"x": 4}), from_=3, sizes=[1, 2, 3])
    assert fruit.state is shop.State.ROTTEN and isinstance(fruit.state, int)
    assert isinstance(fruit.place, shop.Place) and fruit.place.x == 1.5
    assert fruit.from_ == fruit["from"] == 3 and fruit.label is None
    assert isinstance(fruit.price, shop.Price_at) and isinstance(fruit.price, shop.Price)
    assert (fruit.price.case, fruit.price.value.x) == ("at", 4.0)
    assert shop.Fruit(price=("cents", 3)).price == shop.Price_cents(3)
    assert repr(shop.Price_cents(3)) == "Price_cents(3)"
    assert shop.Fruit(flags=shop.Flags.SWEET | shop.Flags.ROUND).flags == 9


def test_dicts_are_made_and_read():
    fruit = shop.Fruit(name="fig", label=4, flags=1, price=shop.Price_cents(30), from_=3, tags=["a"], counts={"b": 2})
    plain = fruit.to_dict()
    assert (plain["from"], plain["price"], plain["flags"], plain["tags"]) == (3, {"cents": 30}, 1, ["a"])
    again = shop.Fruit.from_dict(plain)
    assert type(again) is shop.Fruit and again == fruit and again.from_ == 3
    basket = shop.Basket(owner="Eve", fruits=[fruit], states={"fig": 7}, inner=[{"owner": "Adam"}])
    assert shop.Basket.from_dict(basket.to_dict()) == basket and basket.states == {"fig": shop.State.ROTTEN}
    assert type(basket.inner[0]) is shop.Basket and isinstance(basket, shop.Place)


def test_copies_and_pickles_keep_the_class():
    basket = shop.Basket(owner="Eve", fruits=[shop.Fruit(name="fig")], price=shop.Price_cents(3))
    for other in (pickle.loads(pickle.dumps(basket)), copy.copy(basket), copy.deepcopy(basket)):
        assert type(other) is shop.Basket and other == basket and type(other.fruits[0]) is shop.Fruit
        assert type(other.price) is shop.Price_cents
    assert pickle.loads(pickle.dumps(shop.Price_cents(3))) == shop.Price_cents(3)
    assert pickle.loads(pickle.dumps(shop.Fruit.__situ__)) == shop.Fruit.__situ__


def test_unknown_enumerators_are_of_the_class():
    handle = shop.Fruit.__situ__
    head, body = handle.to_flat(shop.Fruit(state=5))
    state = handle.from_flat(head, body).state
    assert type(state) is shop.State and state == 5 and state.name == "5"
    assert pickle.loads(pickle.dumps(state)) == 5
    with pytest.raises(ValueError):
        shop.State(5)
    # A discriminator that selects no case.
    price = handle.from_flat(*handle.to_flat(shop.Fruit(price=shop.Price(discriminator=9)))).price
    assert type(price) is shop.Price and (price.case, price.discriminator) == (None, 9)


def test_modules_import_one_another_when_a_class_is_needed():
    code = "import generated.shop.till as it; r = it.Receipt(basket={'owner': 'Eve'}, prices=[('cents', 1)]); "
    code += "print(type(r.basket).__module__, type(r.prices[0]).__name__)"
    shown = subprocess.run([sys.executable, "-c", code], cwd=TYPED, capture_output=True, text=True, check=True)
    assert shown.stdout == "generated.shop Price_cents\n"


def test_a_typed_program(node):
    pytest.importorskip("numpy")
    import program

    assert program.fruits(node) == [
        "plum RIPE 2.0 1.5 None 3",
        "1 cents",
        "pear GREEN 0.0 0.0 None 0",
        "a",
        "b",
        "31 cents",
        "fig GREEN 0.0 0.0 None 0",
        "1 cents",
    ]
    assert program.basket().price == shop.Price_cents(3)

    with node.server("add", type=till.Till_add) as server:
        thread = threading.Thread(target=program.serve_add, args=(server,))
        thread.start()
        assert program.add(node, 40, 2) == 42
        thread.join()

    with node.server("pay", type=till.Till_pay) as server:

        def answer(request):
            assert type(request) is till.Till_pay_In
            if request.basket.owner == "Eve":
                return {"reply": {"result": {"return_": {"basket": request.basket}}}}
            return till.Till_pay.Response(reply=till.Till_pay_Result_closed({"reason": "it is late"}))

        thread = threading.Thread(target=server.serve, args=(answer,), kwargs={"count": 2})
        thread.start()
        assert node.client("pay", type=till.Till_pay).wait_for_server(30)
        assert program.pay(node, program.basket()) == "Eve"
        assert program.pay(node, shop.Basket(owner="Adam")) == "it is late"
        thread.join()


def test_topics_with_another_definition_are_refused(node):
    schema = situ.Schema(text="module shop { @flat struct Place { double x; double z; }; };")
    with node.publisher("places", type="shop::Place", schema=schema):
        with pytest.raises(situ.RegisterError):
            node.subscriber("places", type=shop.Place)
