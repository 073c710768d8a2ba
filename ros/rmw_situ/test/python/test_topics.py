"""Talkers and listeners in different processes, with each quality of service."""
import rmw_testing
from rmw_testing import QUIET, node, qos, require, role, spin_for, until


@role
def talker(parent, policies, first, count, wait_for=1):
    from std_msgs.msg import Int32
    with node(parent, 'talker') as here:
        publisher = here.create_publisher(Int32, 'numbers', qos(**policies))
        if wait_for:
            require(lambda: publisher.get_subscription_count() >= wait_for, 'subscriptions', here.run)
        parent.tell('matched')
        parent.wait('go')
        for number in range(first, first + count):
            publisher.publish(Int32(data=number))
        parent.tell('published')
        parent.end(here.run)


@role
def listener(parent, policies, enough, wait_before=False, wait_for=1):
    """Takes until it has so many; tells them all, and those that come later."""
    from std_msgs.msg import Int32
    with node(parent, 'listener') as here:
        taken = []
        subscription = here.create_subscription(Int32, 'numbers', lambda m: taken.append(m.data), qos(**policies))
        require(lambda: here.count_publishers('numbers') >= wait_for, 'publishers', here.run)
        parent.tell('ready')
        if wait_before:
            parent.wait('take')
        until(lambda: len(taken) >= enough, here.run, rmw_testing.TIME_LIMIT if enough else QUIET)
        spin_for(here.run, QUIET)
        parent.tell('taken', taken)
        parent.end(here.run)
        subscription.destroy()


@role
def many_in_one_process(parent):
    """Publisher and subscriptions of one node."""
    from std_msgs.msg import String
    with node(parent) as here:
        taken = [[], [], []]
        for of_one in taken:
            here.create_subscription(String, 'words', lambda m, of_one=of_one: of_one.append(m.data), 10)
        publisher = here.create_publisher(String, 'words', 10)
        require(lambda: publisher.get_subscription_count() == 3, 'three subscriptions', here.run)
        publisher.publish(String(data='h\u00e9llo \U0001F916'))
        publisher.publish(String(data=''))
        require(lambda: all(len(of_one) == 2 for of_one in taken), 'two messages each', here.run)
        assert taken == [['h\u00e9llo \U0001F916', '']] * 3, taken


@role
def sender_of_large(parent, sizes):
    from std_msgs.msg import UInt8MultiArray
    with node(parent, 'sender') as here:
        publisher = here.create_publisher(UInt8MultiArray, 'large', 10)
        require(lambda: publisher.get_subscription_count() == 1, 'the receiver', here.run)
        for size in sizes:
            data = bytes(range(256)) * (size // 256) + bytes(size % 256)
            publisher.publish(UInt8MultiArray(data=data))
            # One at a time: nothing here is about queues.
            parent.wait('next')
        parent.end(here.run)


@role
def receiver_of_large(parent, count):
    import hashlib

    from std_msgs.msg import UInt8MultiArray
    with node(parent, 'receiver') as here:
        taken = []

        def take(message):
            taken.append((len(message.data), hashlib.sha256(message.data.tobytes()).hexdigest()))
            parent.tell('took', taken[-1])

        here.create_subscription(UInt8MultiArray, 'large', take, 10)
        require(lambda: len(taken) == count, 'large messages', here.run)
        parent.end(here.run)


@role
def observer_of_infos(parent):
    """The information that comes with messages of two publishers."""
    import time

    from std_msgs.msg import Int32
    with node(parent) as here:
        infos = []
        here.create_subscription(Int32, 'numbers', lambda message, info: infos.append((message.data, info)), 100)
        publishers = [here.create_publisher(Int32, 'numbers', 100) for _ in range(2)]
        require(lambda: all(p.get_subscription_count() == 1 for p in publishers), 'the subscription', here.run)
        before = time.time_ns()
        for number in range(10):
            publishers[number % 2].publish(Int32(data=number))
        require(lambda: len(infos) == 10, 'ten messages', here.run)
        after = time.time_ns()
        assert sorted(number for number, _ in infos) == list(range(10))
        for number, info in infos:
            assert before <= info['source_timestamp'] <= after, (number, info)
            # Not all middleware tells when a message was received: 0 is unknown.
            received = info['received_timestamp']
            assert received == 0 or info['source_timestamp'] <= received <= after, (number, info)
        for parity in (0, 1):
            times = [info['source_timestamp'] for number, info in infos if number % 2 == parity]
            assert times == sorted(times), times


class Topics(rmw_testing.TestCase):
    def pass_numbers(self, policies_of_talker, policies_of_listener, count, enough, **listener_options):
        receiver = self.start(listener, policies=policies_of_listener, enough=enough, **listener_options)
        sender = self.start(talker, policies=policies_of_talker, first=0, count=count)
        sender.expect('matched')
        receiver.expect('ready')
        sender.tell('go')
        sender.expect('published')
        if listener_options.get('wait_before'):
            receiver.tell('take')
        taken = receiver.expect('taken')
        self.finish()
        return taken

    def test_reliable_arrives_in_order(self):
        policies = {'reliability': 'RELIABLE', 'depth': 100}
        self.assertEqual(self.pass_numbers(policies, policies, 100, 100), list(range(100)))

    def test_best_effort_arrives_in_order(self):
        policies = {'reliability': 'BEST_EFFORT', 'depth': 100}
        taken = self.pass_numbers(policies, policies, 100, 100)
        self.assertEqual(taken, sorted(set(taken)))
        self.assertGreater(len(taken), 0)

    def test_a_best_effort_listener_of_a_reliable_talker(self):
        taken = self.pass_numbers({'reliability': 'RELIABLE', 'depth': 100},
                                  {'reliability': 'BEST_EFFORT', 'depth': 100}, 10, 10)
        self.assertEqual(taken, list(range(10)))

    def test_keep_all_loses_nothing(self):
        policies = {'reliability': 'RELIABLE', 'history': 'KEEP_ALL'}
        self.assertEqual(self.pass_numbers(policies, policies, 2000, 2000, wait_before=True), list(range(2000)))

    def test_keep_last_keeps_the_last(self):
        taken = self.pass_numbers({'depth': 1000}, {'depth': 3}, 50, 3, wait_before=True)
        self.assertEqual(taken, [47, 48, 49])

    def test_keep_last_of_one_keeps_the_last(self):
        self.assertEqual(self.pass_numbers({'depth': 1}, {'depth': 1}, 50, 1, wait_before=True), [49])

    def test_a_late_listener_of_transient_local_gets_the_last(self):
        policies = {'reliability': 'RELIABLE', 'durability': 'TRANSIENT_LOCAL'}
        sender = self.start(talker, policies=dict(policies, depth=5), first=0, count=20, wait_for=0)
        sender.expect('matched')
        sender.tell('go')
        sender.expect('published')
        for depth, expected in ((10, [15, 16, 17, 18, 19]), (2, [18, 19])):
            late = self.start(listener, policies=dict(policies, depth=depth), enough=len(expected))
            late.expect('ready')
            self.assertEqual(late.expect('taken'), expected)
            late.finish()
        self.finish()

    def test_a_late_volatile_listener_gets_nothing_old(self):
        sender = self.start(talker, policies={'durability': 'TRANSIENT_LOCAL', 'depth': 5}, first=0, count=5,
                            wait_for=0)
        sender.expect('matched')
        sender.tell('go')
        sender.expect('published')
        late = self.start(listener, policies={'durability': 'VOLATILE'}, enough=0)
        late.expect('ready')
        self.assertEqual(late.expect('taken'), [])
        self.finish()

    def test_several_talkers_and_listeners(self):
        policies = {'depth': 100}
        receivers = [self.start(listener, policies=policies, enough=30, wait_for=3) for _ in range(3)]
        senders = [self.start(talker, policies=policies, first=100 * i, count=10, wait_for=3) for i in range(3)]
        for child in senders:
            child.expect('matched')
        for child in receivers:
            child.expect('ready')
        for child in senders:
            child.tell('go')
            child.expect('published')
        for child in receivers:
            taken = child.expect('taken')
            self.assertEqual(sorted(taken), [100 * i + n for i in range(3) for n in range(10)])
            for i in range(3):
                of_one = [n for n in taken if n // 100 == i]
                self.assertEqual(of_one, sorted(of_one))
        self.finish()

    def test_one_process(self):
        self.run_role(many_in_one_process)

    def test_large_messages(self):
        import hashlib
        sizes = [0, 1, 255, 65535, 65536, 1 << 20, (1 << 23) + 5]
        sender = self.start(sender_of_large, sizes=sizes)
        receiver = self.start(receiver_of_large, count=len(sizes))
        for size in sizes:
            data = bytes(range(256)) * (size // 256) + bytes(size % 256)
            self.assertEqual(receiver.expect('took'), [size, hashlib.sha256(data).hexdigest()])
            sender.tell('next')
        self.finish()

    def test_information_of_messages(self):
        self.run_role(observer_of_infos)


if __name__ == '__main__':
    rmw_testing.main()
