"""Every message of several packages, there and back between two processes, and as bytes."""
import rmw_testing
from rmw_testing import node, qos, require, role, spin_until_done

PACKAGES = ['test_msgs', 'std_msgs', 'geometry_msgs', 'sensor_msgs', 'nav_msgs']
SIZES = ['empty', 'large', 'random', 'random']


@role
def echo(parent, package):
    """Sends back what comes."""
    from message_values import messages_of
    with node(parent, 'echo') as here:
        types = messages_of(package)
        for name, kind in types.items():
            publisher = here.create_publisher(kind, f'{package}/back/{name}', qos(history='KEEP_ALL'))
            here.create_subscription(kind, f'{package}/there/{name}', publisher.publish, qos(history='KEEP_ALL'))
        parent.end(here.run)


@role
def asker(parent, package):
    """Sends messages of each type, and compares them with what comes back."""
    from message_values import Filler, messages_of
    with node(parent, 'asker') as here:
        types = messages_of(package)
        back = {name: [] for name in types}
        publishers = {}
        for name, kind in types.items():
            here.create_subscription(kind, f'{package}/back/{name}', back[name].append, qos(history='KEEP_ALL'))
            publishers[name] = here.create_publisher(kind, f'{package}/there/{name}', qos(history='KEEP_ALL'))
        require(lambda: all(p.get_subscription_count() == 1 for p in publishers.values()), 'the echo', here.run)
        require(lambda: all(here.count_publishers(f'{package}/back/{name}') == 1 for name in types), 'the way back', here.run)
        for number, (name, kind) in enumerate(types.items()):
            sent = [kind()] + [Filler(number * 100 + i, size).message(kind()) for i, size in enumerate(SIZES)]
            for message in sent:
                publishers[name].publish(message)
                require(lambda: back[name], f'a message {name} back', here.run)
                returned = back[name].pop()
                assert message == returned, f'{name}: sent {message}, and {returned} came back'
        parent.tell('compared', len(types))
        parent.end(here.run)


@role
def serialized(parent):
    """Bytes of messages are CDR, and are published and taken as they are."""
    import struct

    from rclpy.serialization import deserialize_message, serialize_message
    from std_msgs.msg import Int32, String
    from test_msgs.msg import BasicTypes
    assert serialize_message(Int32(data=-2)) == struct.pack('<BBHi', 0, 1, 0, -2)
    text = serialize_message(String(data='abc'))
    # A string has its length with the zero at its end; the end may be padded to four bytes.
    assert text[:12] == struct.pack('<BBxxI', 0, 1, 4) + b'abc\0', text
    assert deserialize_message(text, String) == String(data='abc')
    assert deserialize_message(struct.pack('>BBHi', 0, 0, 0, -2), Int32) == Int32(data=-2)
    for bad in (b'', b'\0\1\0\0', text[:-1][:9], struct.pack('<BBxxI', 0, 1, 0xFFFFFFFF) + b'abc\0'):
        try:
            deserialize_message(bad, String)
        except Exception:
            continue
        raise AssertionError(f'{bad} became a message')
    with node(parent) as here:
        raw, typed = [], []
        here.create_subscription(BasicTypes, 'values', raw.append, 10, raw=True)
        here.create_subscription(BasicTypes, 'values', typed.append, 10)
        publisher = here.create_publisher(BasicTypes, 'values', 10)
        require(lambda: publisher.get_subscription_count() == 2, 'two subscriptions', here.run)
        message = BasicTypes(int32_value=-7, float64_value=0.5, bool_value=True)
        publisher.publish(message)
        publisher.publish(serialize_message(message))
        require(lambda: len(raw) == 2 and len(typed) == 2, 'two messages each', here.run)
        assert typed == [message, message], typed
        for taken in raw:
            assert isinstance(taken, bytes) and deserialize_message(taken, BasicTypes) == message, taken


@role
def server_of_every_service(parent):
    from test_msgs import srv
    with node(parent, 'server') as here:
        def basic(request, response):
            for name in request.get_fields_and_field_types():
                setattr(response, name, getattr(request, name))
            return response

        here.create_service(srv.BasicTypes, 'basic', basic)
        here.create_service(srv.Arrays, 'arrays', basic)
        here.create_service(srv.Empty, 'empty', lambda request, response: response)
        parent.tell('ready')
        parent.end(here.run)


@role
def client_of_every_service(parent):
    from message_values import Filler
    from test_msgs import srv
    with node(parent, 'client') as here:
        for name, kind in (('basic', srv.BasicTypes), ('arrays', srv.Arrays), ('empty', srv.Empty)):
            client = here.create_client(kind, name)
            require(client.service_is_ready, 'the server of ' + name, here.run)
            for i, size in enumerate(SIZES):
                request = Filler(i, size).message(kind.Request())
                response = spin_until_done(here.run, client.call_async(request))
                for field in request.get_fields_and_field_types():
                    if hasattr(response, field):
                        assert list_of(getattr(request, field)) == list_of(getattr(response, field)), (name, field)


def list_of(value):
    """Arrays of numpy as lists, which compare to one boolean."""
    return value.tolist() if hasattr(value, 'tolist') else value


class Messages(rmw_testing.TestCase):
    def test_every_message_there_and_back(self):
        for package in PACKAGES:
            with self.subTest(package=package):
                back = self.start(echo, package=package)
                there = self.start(asker, package=package)
                # A hundred types on a loaded machine take their time.
                self.assertGreater(there.expect('compared', 5 * rmw_testing.TIME_LIMIT), 3)
                there.finish()
                back.finish()

    def test_bytes(self):
        self.run_role(serialized)

    def test_every_service(self):
        self.start(server_of_every_service).expect('ready')
        self.start(client_of_every_service)
        self.children[1].finish()
        self.finish()


if __name__ == '__main__':
    rmw_testing.main()
