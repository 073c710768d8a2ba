"""Services, actions and parameters between processes."""
import rmw_testing
from rmw_testing import QUIET, node, qos, require, role, spin_for, spin_until_done


@role
def adder(parent, name='double'):
    """Doubles a number, and tells which ones it was asked for."""
    from test_msgs.srv import BasicTypes
    with node(parent, 'adder') as here:
        def double(request, response):
            response.int64_value = 2 * request.int64_value
            return response

        here.create_service(BasicTypes, name, double, qos_profile=qos(history='KEEP_ALL'))
        parent.tell('ready')
        parent.end(here.run)


@role
def caller(parent, first, count, at_once):
    """Calls with so many requests under way. All are kept: other clients could fill a queue of ten."""
    from test_msgs.srv import BasicTypes
    with node(parent, 'caller') as here:
        client = here.create_client(BasicTypes, 'double', qos_profile=qos(history='KEEP_ALL'))
        require(client.service_is_ready, 'the server', here.run)
        parent.tell('found')
        parent.wait('go')
        for begin in range(first, first + count, at_once):
            numbers = range(begin, begin + at_once)
            futures = [client.call_async(BasicTypes.Request(int64_value=number)) for number in numbers]
            for number, future in zip(numbers, futures):
                assert spin_until_done(here.run, future).int64_value == 2 * number
        parent.tell('answered')


@role
def caller_of_nobody(parent):
    from test_msgs.srv import Empty
    with node(parent) as here:
        client = here.create_client(Empty, 'nobody')
        assert not client.service_is_ready()
        assert not client.wait_for_service(timeout_sec=QUIET)
        future = client.call_async(Empty.Request())
        spin_for(here.run, QUIET)
        assert not future.done()
        client.remove_pending_request(future)


@role
def survivor(parent):
    """A client whose server is killed: it learns so, is not stuck, and is served by the next server."""
    from test_msgs.srv import BasicTypes
    with node(parent, 'survivor') as here:
        client = here.create_client(BasicTypes, 'double')
        require(client.service_is_ready, 'the server', here.run)
        answer = spin_until_done(here.run, client.call_async(BasicTypes.Request(int64_value=1)))
        assert answer.int64_value == 2
        parent.tell('served')
        parent.wait('killed')
        # Not to be waited for: there may never be an answer. It must not be in the way.
        lost = client.call_async(BasicTypes.Request(int64_value=2))
        require(lambda: not client.service_is_ready(), 'the server is gone', here.run)
        assert not client.wait_for_service(timeout_sec=QUIET)
        parent.tell('noticed')
        parent.wait('restarted')
        require(client.service_is_ready, 'the next server', here.run)
        answer = spin_until_done(here.run, client.call_async(BasicTypes.Request(int64_value=3)))
        assert answer.int64_value == 6
        assert not lost.done() or lost.result().int64_value == 4
        parent.tell('served')


@role
def busy_server(parent):
    """A server that keeps two requests, and is busy when five come."""
    from test_msgs.srv import BasicTypes
    with node(parent, 'busy') as here:
        seen = []

        def serve(request, response):
            seen.append(request.int64_value)
            response.int64_value = 2 * request.int64_value
            return response

        here.create_service(BasicTypes, 'double', serve, qos_profile=qos(depth=2))
        parent.tell('ready')
        # It must not take anything before all requests are there.
        parent.wait('sent')
        require(lambda: len(seen) >= 2, 'requests', here.run)
        spin_for(here.run, QUIET)
        assert seen == [4, 5], seen
        parent.tell('served')
        parent.end(here.run)


@role
def hasty_client(parent):
    from test_msgs.srv import BasicTypes
    with node(parent, 'hasty') as here:
        client = here.create_client(BasicTypes, 'double', qos_profile=qos(depth=10))
        require(client.service_is_ready, 'the server', here.run)
        futures = [client.call_async(BasicTypes.Request(int64_value=number)) for number in range(1, 6)]
        # A middleware with a network needs time to bring them over.
        spin_for(here.run, QUIET)
        parent.tell('sent')
        answers = [spin_until_done(here.run, future).int64_value for future in futures[3:]]
        assert answers == [8, 10], answers
        spin_for(here.run, QUIET)
        assert [future.done() for future in futures] == [False, False, False, True, True]


@role
def action_server(parent):
    """Counts up to the order: accepts orders of zero and more, and stops when it is asked to."""
    import time

    from rclpy.action import ActionServer, CancelResponse, GoalResponse
    from rclpy.callback_groups import ReentrantCallbackGroup
    from rclpy.executors import MultiThreadedExecutor
    from test_msgs.action import Fibonacci
    with node(parent, 'counter') as here:
        def execute(goal):
            sequence = []
            for number in range(goal.request.order):
                if goal.is_cancel_requested:
                    goal.canceled()
                    return Fibonacci.Result(sequence=sequence)
                sequence.append(number)
                goal.publish_feedback(Fibonacci.Feedback(sequence=sequence))
                time.sleep(0.02)
            goal.succeed()
            return Fibonacci.Result(sequence=sequence)

        server = ActionServer(
            here, Fibonacci, 'count', execute, callback_group=ReentrantCallbackGroup(),
            goal_callback=lambda goal: GoalResponse.ACCEPT if goal.order >= 0 else GoalResponse.REJECT,
            cancel_callback=lambda goal: CancelResponse.ACCEPT)
        here.run.remove_node(here)
        run = MultiThreadedExecutor(num_threads=4)
        run.add_node(here)
        parent.tell('ready')
        parent.end(run)
        run.shutdown()
        server.destroy()


@role
def action_client(parent):
    from action_msgs.msg import GoalStatus
    from rclpy.action import ActionClient
    from test_msgs.action import Fibonacci
    with node(parent, 'commander') as here:
        client = ActionClient(here, Fibonacci, 'count')
        require(client.server_is_ready, 'the action server', here.run)

        feedback = []
        goal = spin_until_done(here.run, client.send_goal_async(
            Fibonacci.Goal(order=5), feedback_callback=lambda m: feedback.append(list(m.feedback.sequence))))
        assert goal.accepted
        result = spin_until_done(here.run, goal.get_result_async())
        assert result.status == GoalStatus.STATUS_SUCCEEDED, result
        assert list(result.result.sequence) == [0, 1, 2, 3, 4], result
        require(lambda: feedback and feedback[-1] == [0, 1, 2, 3, 4], 'the last feedback', here.run)
        assert all(one == list(range(len(one))) for one in feedback), feedback

        refused = spin_until_done(here.run, client.send_goal_async(Fibonacci.Goal(order=-1)))
        assert not refused.accepted

        # So many that it cannot be done before it is cancelled.
        goal = spin_until_done(here.run, client.send_goal_async(Fibonacci.Goal(order=100000)))
        assert goal.accepted
        answer = spin_until_done(here.run, goal.cancel_goal_async())
        assert len(answer.goals_canceling) == 1, answer
        result = spin_until_done(here.run, goal.get_result_async())
        assert result.status == GoalStatus.STATUS_CANCELED, result
        client.destroy()


@role
def node_with_parameters(parent):
    from rcl_interfaces.msg import SetParametersResult
    with node(parent, 'owner', start_parameter_services=True) as here:
        here.declare_parameter('speed', 1.5)
        here.declare_parameter('name', 'robot')
        here.declare_parameter('arm.joints', ['a', 'b'])
        here.add_on_set_parameters_callback(
            lambda parameters: SetParametersResult(
                successful=all(p.name != 'speed' or p.value <= 10 for p in parameters), reason='too fast'))
        parent.tell('ready')
        parent.end(here.run)


@role
def client_of_parameters(parent):
    from rcl_interfaces.msg import ParameterEvent
    from rclpy.parameter import Parameter, parameter_value_to_python
    from rclpy.parameter_client import AsyncParameterClient
    from rclpy.qos import qos_profile_parameter_events
    with node(parent, 'other') as here:
        events = []
        here.create_subscription(ParameterEvent, '/parameter_events', events.append, qos_profile_parameter_events)
        client = AsyncParameterClient(here, f'/{parent.token}/owner')
        require(client.services_are_ready, 'the services of parameters', here.run)
        require(lambda: here.count_publishers('/parameter_events') >= 1, 'the events', here.run)

        listed = spin_until_done(here.run, client.list_parameters(['arm'], 2)).result
        assert list(listed.names) == ['arm.joints'] and list(listed.prefixes) == ['arm'], listed
        values = spin_until_done(here.run, client.get_parameters(['speed', 'name', 'arm.joints'])).values
        assert [parameter_value_to_python(value) for value in values] == [1.5, 'robot', ['a', 'b']], values

        results = spin_until_done(here.run, client.set_parameters(
            [Parameter('speed', value=2.5), Parameter('speed', value=99.0), Parameter('absent', value=1)])).results
        assert [result.successful for result in results] == [True, False, False], results
        assert results[1].reason == 'too fast', results
        values = spin_until_done(here.run, client.get_parameters(['speed'])).values
        assert values[0].double_value == 2.5, values
        described = spin_until_done(here.run, client.describe_parameters(['name'])).descriptors
        assert described[0].name == 'name', described
        mine = f'/{parent.token}/owner'
        require(lambda: any(e.node == mine and [p.name for p in e.changed_parameters] == ['speed'] for e in events),
                'the event of a change', here.run)


class Services(rmw_testing.TestCase):
    def test_one_client(self):
        self.start(adder).expect('ready')
        client = self.start(caller, first=5, count=50, at_once=1)
        client.expect('found')
        client.tell('go')
        client.expect('answered')
        self.finish()

    def test_two_clients_get_their_own_answers(self):
        self.start(adder).expect('ready')
        clients = [self.start(caller, first=1000 * i, count=100, at_once=4) for i in range(2)]
        for client in clients:
            client.expect('found')
        for client in clients:
            client.tell('go')
        for client in clients:
            client.expect('answered')
        self.finish()

    def test_no_server(self):
        self.run_role(caller_of_nobody)

    def test_a_killed_server(self):
        server = self.start(adder)
        server.expect('ready')
        client = self.start(survivor)
        client.expect('served')
        server.kill()
        client.tell('killed')
        client.expect('noticed', 2 * rmw_testing.TIME_LIMIT)
        self.start(adder).expect('ready')
        client.tell('restarted')
        client.expect('served')
        self.finish()

    def test_a_busy_server_keeps_the_last_requests(self):
        server = self.start(busy_server)
        server.expect('ready')
        client = self.start(hasty_client)
        client.expect('sent')
        server.tell('sent')
        server.expect('served')
        client.finish()
        self.finish()

    def test_actions(self):
        self.start(action_server).expect('ready')
        self.start(action_client).finish(2 * rmw_testing.TIME_LIMIT)
        self.finish()

    def test_parameters(self):
        self.start(node_with_parameters).expect('ready')
        self.start(client_of_parameters).finish(2 * rmw_testing.TIME_LIMIT)
        self.finish()


if __name__ == '__main__':
    rmw_testing.main()
