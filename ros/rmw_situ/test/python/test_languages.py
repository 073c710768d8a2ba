"""Talkers and listeners, services and actions between rclpy, rclcpp and rclrs: each pair, in both directions.

rclpy's roles are in this file. ROS_RCLCPP_NODES and ROS_RCLRS_NODES name programs with the same roles
(rclcpp/nodes.cpp beside this folder, and tests/rclrs/src/nodes.rs of the repository). Pairs with an absent
program are skipped.
"""
import rmw_testing
from rmw_testing import node, qos, require, role, spin_until_done

# How many exchanges each pair makes, in all languages.
COUNT = 20
# The order of the goal that is cancelled.
ENDLESS = 100_000
# rclrs' action client can lose an answer: it sends a goal first and records it afterwards, and another thread
# drops an answer that comes in between. It then tells so, and the pair tries again.
ATTEMPTS = 3


def keep_all():
    return qos(history='KEEP_ALL', reliability='RELIABLE')


def finish(parent, here):
    parent.tell('done')
    parent.end(here.run)


@role
def talker(parent):
    from sensor_msgs.msg import Image
    from std_msgs.msg import String
    with node(parent, 'talker') as here:
        text = here.create_publisher(String, 'chatter', keep_all())
        images = here.create_publisher(Image, 'image', keep_all())
        parent.tell('ready')
        require(lambda: text.get_subscription_count() and images.get_subscription_count(), 'a listener', here.run)
        for number in range(COUNT):
            text.publish(String(data=f'number {number}'))
            # A listener sees a torn message.
            rows = number % 7 + 1
            images.publish(Image(height=rows, width=4096, data=bytes([number]) * (4096 * rows)))
        finish(parent, here)


@role
def listener(parent):
    from sensor_msgs.msg import Image
    from std_msgs.msg import String
    with node(parent, 'listener') as here:
        texts, images = [], []
        here.create_subscription(String, 'chatter', lambda message: texts.append(message.data), keep_all())
        here.create_subscription(Image, 'image', images.append, keep_all())
        parent.tell('ready')
        require(lambda: len(texts) >= COUNT and len(images) >= COUNT, 'all messages', here.run)
        assert texts == [f'number {number}' for number in range(COUNT)], texts
        for number, image in enumerate(images):
            assert (image.height, image.width) == (number % 7 + 1, 4096)
            assert bytes(image.data) == bytes([number]) * (image.height * image.width), number
        finish(parent, here)


@role
def server(parent):
    from test_msgs.srv import BasicTypes

    def double(request, response):
        response.int64_value = 2 * request.int64_value
        response.string_value = request.string_value
        return response

    with node(parent, 'server') as here:
        here.create_service(BasicTypes, 'double', double)
        parent.tell('ready')
        parent.end(here.run)


@role
def client(parent):
    from test_msgs.srv import BasicTypes
    with node(parent, 'client') as here:
        caller = here.create_client(BasicTypes, 'double')
        parent.tell('ready')
        require(caller.service_is_ready, 'the server', here.run)
        for number in range(COUNT):
            text = f'grüße {number}, a text that is not short'
            answer = spin_until_done(
                here.run, caller.call_async(BasicTypes.Request(int64_value=number, string_value=text)))
            assert (answer.int64_value, answer.string_value) == (2 * number, text), answer
        finish(parent, here)


@role
def action_server(parent):
    """Counts to the order of a goal, a number every 5 ms. Refuses negative orders."""
    from rclpy.action import ActionServer, CancelResponse, GoalResponse
    from rclpy.task import Future
    from test_msgs.action import Fibonacci
    with node(parent, 'action_server') as here:
        waiting = []

        def wake():
            for future in waiting:
                future.set_result(None)
            waiting.clear()

        async def count(goal):
            sequence = []
            while len(sequence) < goal.request.order and not goal.is_cancel_requested:
                sequence.append(len(sequence))
                goal.publish_feedback(Fibonacci.Feedback(sequence=sequence))
                waiting.append(Future())
                await waiting[-1]
            goal.canceled() if goal.is_cancel_requested else goal.succeed()
            return Fibonacci.Result(sequence=sequence)

        here.create_timer(0.005, wake)
        here.action = ActionServer(
            here, Fibonacci, 'count', count,
            goal_callback=lambda goal: GoalResponse.REJECT if goal.order < 0 else GoalResponse.ACCEPT,
            cancel_callback=lambda _: CancelResponse.ACCEPT)
        parent.tell('ready')
        parent.end(here.run)


@role
def action_client(parent):
    from action_msgs.msg import GoalStatus
    from rclpy.action import ActionClient
    from test_msgs.action import Fibonacci
    with node(parent, 'action_client') as here:
        here.action = ActionClient(here, Fibonacci, 'count')
        feedback = []

        def send(order):
            feedback.clear()
            return spin_until_done(here.run, here.action.send_goal_async(
                Fibonacci.Goal(order=order), feedback_callback=lambda it: feedback.append(list(it.feedback.sequence))))

        def result(handle):
            answer = spin_until_done(here.run, handle.get_result_async())
            assert all(sequence == list(range(len(sequence))) for sequence in feedback), feedback
            return answer.status, list(answer.result.sequence)

        parent.tell('ready')
        require(here.action.server_is_ready, 'the action server', here.run)
        for _ in range(COUNT):
            handle = send(3)
            assert handle.accepted
            assert result(handle) == (GoalStatus.STATUS_SUCCEEDED, [0, 1, 2])
            assert not send(-1).accepted
            handle = send(ENDLESS)
            assert handle.accepted
            require(lambda: len(feedback) >= 2, 'feedback', here.run)
            answer = spin_until_done(here.run, handle.cancel_goal_async())
            assert (answer.return_code, len(answer.goals_canceling)) == (answer.ERROR_NONE, 1), answer
            status, sequence = result(handle)
            assert (status, sequence) == (GoalStatus.STATUS_CANCELED, list(range(len(sequence)))), status
        finish(parent, here)


PROGRAMS = {language: rmw_testing.Program(language) for language in ('rclcpp', 'rclrs')}
# The roles of a pair, and which of the two tells that the exchanges are done.
PAIRS = {'talker and listener': (talker, listener, 'listener'), 'service': (server, client, 'client'),
         'action': (action_server, action_client, 'action_client')}


class Languages(rmw_testing.TestCase):
    def begin(self, language, function):
        if language == 'rclpy':
            return self.start(function)
        program, name = PROGRAMS[language], function.__name__
        return self.start_program(name, [program.path, name, '/' + self.token, name], program.variables)

    def check(self, first, second, functions):
        """Whether the pair made its exchanges; not if rclrs lost an answer."""
        children = {function.__name__: self.begin(language, function)
                    for language, function in zip((first, second), functions[:2])}
        for child in children.values():
            child.expect('ready', 2 * rmw_testing.TIME_LIMIT)
        words = ['done', 'lost'] if second == 'rclrs' else ['done']
        told, _ = children[functions[2]].expect_one_of(words, 3 * rmw_testing.TIME_LIMIT)
        for child in children.values():
            child.finish()
        return told == 'done'

    def pair(self, first, second, kind):
        functions = PAIRS[kind]
        if functions[0] is talker and not rmw_testing.is_situ():
            self.skipTest('with DDS a listener may find the talker later than the talker finds it')
        for language, function in zip((first, second), functions):
            if language != 'rclpy' and function.__name__ not in PROGRAMS[language].roles():
                self.skipTest(f'no {function.__name__} in {language}')
        for _ in range(ATTEMPTS):
            if self.check(first, second, functions):
                return
            self.token += 'x'
        self.fail(f'the {second} client lost an answer {ATTEMPTS} times')


def define(first, second, kind):
    def test(self):
        self.pair(first, second, kind)
    name = f'test_{kind}_{first}_{second}'.replace(' ', '_')
    setattr(Languages, name, test)


for kind in PAIRS:
    for first in ('rclpy', *PROGRAMS):
        for second in ('rclpy', *PROGRAMS):
            define(first, second, kind)


if __name__ == '__main__':
    rmw_testing.main()
