"""Kills processes with rclpy at random: talkers, listeners, servers, clients, action servers and action
clients; with rclcpp too, where ROS_RCLCPP_NODES names its program (rclcpp/nodes.cpp). After each kill no other
process may hang, and the list of nodes must be right; what is received is whole.

ROS_KILLS says how many are killed, SITU_CHAOS_SEED in which order. scripts/rmw.sh chaos kills more.
"""
import mmap
import os
import pathlib
import struct
import unittest

import rmw_testing
from rmw_testing import node, qos, role, spin_for, until

KILLS = int(os.environ.get('ROS_KILLS', '6'))
SEED = int(os.environ.get('SITU_CHAOS_SEED', '0')) or int.from_bytes(os.urandom(4), 'little') + 1
# How long a client waits for an answer that may never come.
PATIENCE = 2.0


class Beats:
    """A counter for each process, in a file."""

    def __init__(self, path, count):
        path.touch()
        os.truncate(path, 8 * count)
        with open(path, 'r+b') as file:
            self.memory = mmap.mmap(file.fileno(), 8 * count)

    def add(self, index):
        struct.pack_into('<Q', self.memory, 8 * index, self.read(index) + 1)

    def read(self, index):
        return struct.unpack_from('<Q', self.memory, 8 * index)[0]


def beats_of(path, count):
    return Beats(pathlib.Path(path), count)


def play(parent, name, beats, index, count, begin):
    """Runs what `begin(node)` returns, again and again, until the process is killed. Each round beats."""
    beats = beats_of(beats, count)
    with node(parent, name) as here:
        step = begin(here)
        parent.tell('ready')
        while True:
            step()
            beats.add(index)


@role
def talker(parent, **place):
    from sensor_msgs.msg import Image
    from std_msgs.msg import String

    def begin(here):
        text = here.create_publisher(String, 'chatter', 10)
        images = here.create_publisher(Image, 'image', qos(depth=3, reliability='BEST_EFFORT'))
        number = 0

        def step():
            nonlocal number
            number += 1
            text.publish(String(data=f'number {number}'))
            # A listener sees a torn message.
            rows = number % 7 + 1
            images.publish(Image(height=rows, width=4096, data=bytes([number % 256]) * (4096 * rows)))
            spin_for(here.run, 0.01)
        return step
    play(parent, begin=begin, **place)


@role
def listener(parent, **place):
    from sensor_msgs.msg import Image
    from std_msgs.msg import String

    def hear(message):
        assert message.data.startswith('number '), message

    def see(message):
        assert len(message.data) == message.height * message.width
        assert bytes(message.data) == bytes([message.data[0]]) * len(message.data)

    def begin(here):
        here.create_subscription(String, 'chatter', hear, 10)
        here.create_subscription(Image, 'image', see, qos(depth=3, reliability='BEST_EFFORT'))
        return lambda: here.run.spin_once(timeout_sec=0.05)
    play(parent, begin=begin, **place)


@role
def server(parent, **place):
    from test_msgs.srv import BasicTypes

    def double(request, response):
        response.int64_value = 2 * request.int64_value
        response.string_value = request.string_value
        return response

    def begin(here):
        here.create_service(BasicTypes, 'double', double)
        return lambda: here.run.spin_once(timeout_sec=0.05)
    play(parent, begin=begin, **place)


@role
def client(parent, **place):
    from test_msgs.srv import BasicTypes

    def begin(here):
        caller = here.create_client(BasicTypes, 'double')
        number = 0

        def step():
            nonlocal number
            if not caller.service_is_ready():
                return spin_for(here.run, 0.02)
            number += 1
            future = caller.call_async(BasicTypes.Request(int64_value=number))
            if until(future.done, here.run, PATIENCE):
                assert future.result().int64_value == 2 * number
            else:
                caller.remove_pending_request(future)
        return step
    play(parent, begin=begin, **place)


@role
def action_server(parent, **place):
    from rclpy.action import ActionServer
    from test_msgs.action import Fibonacci

    def execute(goal):
        for number in range(goal.request.order):
            goal.publish_feedback(Fibonacci.Feedback(sequence=list(range(number))))
        goal.succeed()
        return Fibonacci.Result(sequence=list(range(goal.request.order)))

    def begin(here):
        here.action = ActionServer(here, Fibonacci, 'count', execute)
        return lambda: here.run.spin_once(timeout_sec=0.05)
    play(parent, begin=begin, **place)


@role
def action_client(parent, **place):
    from rclpy.action import ActionClient
    from test_msgs.action import Fibonacci

    def begin(here):
        here.action = ActionClient(here, Fibonacci, 'count')

        def step():
            if not here.action.server_is_ready():
                return spin_for(here.run, 0.02)
            future = here.action.send_goal_async(Fibonacci.Goal(order=3))
            if not until(future.done, here.run, PATIENCE):
                return None
            # Another server than the one that accepted it does not know the goal.
            result = future.result().get_result_async()
            if until(result.done, here.run, PATIENCE) and result.result().result.sequence:
                assert list(result.result().result.sequence) == [0, 1, 2], result.result()
        return step
    play(parent, begin=begin, **place)


@role
def observer(parent):
    with node(parent, 'observer') as here:
        parent.tell('ready')
        while True:
            parent.wait('list')
            parent.tell('list', sorted(name for name in here.get_node_names() if not name.startswith('_')))


class Kills(rmw_testing.TestCase):
    @unittest.skipUnless(rmw_testing.is_situ(), 'DDS notices the death of a process after 20 seconds')
    def test_others_go_on(self):
        import random
        order = random.Random(SEED)
        rclcpp = rmw_testing.Program('rclcpp')
        # Functions of this file, and names of the roles in rclcpp.
        roles = [talker, listener, server, client, action_server, action_client, *rclcpp.roles()]
        killed = dict.fromkeys(('rclpy', 'rclcpp'), 0)
        print(f'{KILLS} kills, seed {SEED}, {len(roles)} processes')
        path = str(pathlib.Path(self.folder) / 'beats')
        beats = beats_of(path, len(roles))
        observing = self.start(observer)
        observing.expect('ready')
        names = [''] * len(roles)
        started = 0

        def start(index):
            nonlocal started
            started += 1
            role = roles[index]
            if isinstance(role, str):
                names[index] = f'{role}_rclcpp{started}'
                command = [rclcpp.path, role, '/' + self.token, names[index], path, str(index)]
                return self.start_program(names[index], command, rclcpp.variables)
            names[index] = f'{role.__name__}{started}'
            return self.start(role, name=names[index], beats=path, index=index, count=len(roles))

        def listed():
            observing.tell('list')
            return observing.expect('list')

        def expect_all():
            rmw_testing.require(lambda: listed() == sorted(names + ['observer']), f'{names} in the list of nodes')
            before = [beats.read(index) for index in range(len(roles))]
            for index, name in enumerate(names):
                rmw_testing.require(lambda: beats.read(index) != before[index], f'{name} goes on')

        children = [start(index) for index in range(len(roles))]
        for child in children:
            child.expect('ready', 3 * rmw_testing.TIME_LIMIT)
        expect_all()
        for _ in range(KILLS):
            index = order.randrange(len(roles))
            # While it does something.
            rmw_testing.until(lambda: False, limit=order.random() / 50)
            self.assertIsNone(children[index].process.poll(), names[index])
            children[index].kill()
            children[index].close()
            self.children.remove(children[index])
            killed['rclcpp' if isinstance(roles[index], str) else 'rclpy'] += 1
            gone = names[index]
            rmw_testing.require(lambda: gone not in listed(), f'{gone} leaves the list of nodes')
            children[index] = start(index)
            children[index].expect('ready', 3 * rmw_testing.TIME_LIMIT)
            expect_all()
        for child in children:
            self.assertIsNone(child.process.poll())
            child.kill()
        rmw_testing.require(lambda: listed() == ['observer'], 'all leave the list of nodes')
        observing.kill()
        print('killed: ' + ', '.join(f'{count} with {language}' for language, count in killed.items()))


if __name__ == '__main__':
    rmw_testing.main()
