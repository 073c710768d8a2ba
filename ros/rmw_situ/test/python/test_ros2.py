"""The tools of `ros2`: what their verbs print about a robot, and that they do what they say.

Needs ros2cli, which PyPI does not have: an installation of ROS brings it, `ros2cli.sh` installs it from its
sources into build/rmw/ros2cli. Without it, the test prints so and is skipped.
"""
import importlib.util
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

import rmw_testing
from rmw_testing import TIME_LIMIT, qos, role

TOOLS = pathlib.Path(__file__).resolve().parents[4] / 'build' / 'rmw' / 'ros2cli' / 'site'
if TOOLS.is_dir():
    sys.path.append(str(TOOLS))

@role
def robot(parent):
    """A node with an endpoint of each kind and parameters, and a lifecycle node."""
    import rclpy
    from rcl_interfaces.msg import ParameterDescriptor
    from rclpy.action import ActionServer
    from rclpy.executors import MultiThreadedExecutor
    from rclpy.lifecycle import LifecycleNode
    from rclpy.service_introspection import ServiceIntrospectionState
    from sensor_msgs.msg import Imu
    from std_msgs.msg import String
    from test_msgs.action import Fibonacci
    from test_msgs.srv import BasicTypes
    rclpy.init()
    here = rclpy.create_node('robot', namespace='/' + parent.token)
    here.declare_parameter('speed', 1.5, ParameterDescriptor(description='how fast it drives'))
    here.declare_parameter('name', 'red')
    imu = here.create_publisher(Imu, 'imu', qos(depth=7, reliability='RELIABLE', durability='TRANSIENT_LOCAL',
                                                deadline=1.5, lifespan=3.0))

    def publish():
        message = Imu()
        message.header.stamp = here.get_clock().now().to_msg()
        message.header.frame_id = 'chassis'
        message.orientation.w = 1.0
        imu.publish(message)

    def add(request, response):
        response.int32_value = request.int32_value + 1
        response.string_value = request.string_value + '!'
        return response

    def count(goal):
        feedback, result = Fibonacci.Feedback(), Fibonacci.Result()
        feedback.sequence = [0, 1]
        while len(feedback.sequence) <= goal.request.order:
            feedback.sequence.append(feedback.sequence[-1] + feedback.sequence[-2])
            goal.publish_feedback(feedback)
        result.sequence = feedback.sequence
        goal.succeed()
        return result

    client = here.create_client(BasicTypes, 'add')
    here.create_timer(0.05, publish)
    here.create_timer(0.2, lambda: client.call_async(BasicTypes.Request(int32_value=7)))
    here.create_subscription(String, 'commands', lambda message: parent.tell('command', message.data),
                             qos(depth=3, reliability='BEST_EFFORT'))
    service = here.create_service(BasicTypes, 'add', add)
    # The events that `service echo` prints.
    service.configure_introspection(here.get_clock(), qos(depth=10), ServiceIntrospectionState.CONTENTS)
    ActionServer(here, Fibonacci, 'count', count)
    arm = LifecycleNode('arm', namespace='/' + parent.token)
    executor = MultiThreadedExecutor(2)
    executor.add_node(here)
    executor.add_node(arm)
    parent.tell('ready')
    parent.end(executor)


@role
def tools(parent):
    """Calls `ros2` with the arguments that the test tells, each in a fork of this process, because to start
    Python and to load rclpy takes most of the time. Verbs without an end are interrupted when they have
    printed what `until` says."""
    import rclpy  # noqa: F401
    import ros2cli.cli
    parent.tell('ready')
    for line in sys.stdin:
        if line.strip() == 'end':
            return
        arguments, until = json.loads(line)
        with tempfile.TemporaryFile('w+') as printed:
            child = os.fork()
            if child == 0:
                os.dup2(printed.fileno(), 1)
                os.dup2(printed.fileno(), 2)
                os.setpgid(0, 0)
                sys.argv = ['ros2', *arguments]
                sys.exit(ros2cli.cli.main())

            def text():
                return os.pread(printed.fileno(), 1 << 20, 0).decode()

            limit = time.monotonic() + TIME_LIMIT
            interrupted = False
            while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
                late = time.monotonic() > limit
                if late or (until and not interrupted and re.search(until, text())):
                    os.kill(child, signal.SIGKILL if late else signal.SIGINT)
                    interrupted = True
                time.sleep(0.01)
            parent.tell('done', [os.waitstatus_to_exitcode(ended[1]), text()])


class ToolsTest(rmw_testing.TestCase):
    def setUp(self):
        super().setUp()
        # The command-line tools are not in the environment of the tests.
        variables = {'PYTHONPATH': str(TOOLS)} if TOOLS.is_dir() else {}
        self.start(robot).expect('ready')
        self.tools = self.start(tools, variables)
        self.tools.expect('ready')

    def tearDown(self):
        if self.tools.process.poll() is None:
            self.ros2('daemon', 'stop')
        super().tearDown()

    def ros2(self, *arguments, until=None):
        """What `ros2` prints, without the names that each run has anew."""
        self.tools.tell(json.dumps([[each.replace('TEST', self.token) for each in arguments], until]))
        status, printed = self.tools.expect('done', 2 * TIME_LIMIT)
        # Control-C ends some verbs with an error status.
        self.assertIn(status, (0, 2) if until else (0,), printed)
        return printed.replace(self.token, 'TEST')

    def check(self, arguments, expected, until=None):
        """The lines must be in the output, in this order; each is compared without spaces around it."""
        printed = self.ros2(*arguments.split(' '), until=until)
        lines = iter(line.strip() for line in printed.splitlines())
        for line in expected.strip().splitlines():
            self.assertTrue(line.strip() in lines, f'ros2 {arguments}: no line {line.strip()!r} in\n{printed}')

    def await_robot(self, *options):
        """Discovery takes a time on a middleware with a network."""
        limit = time.monotonic() + TIME_LIMIT
        while True:
            printed = self.ros2('node', 'list', *options)
            if '/TEST/arm' in printed and '/TEST/robot' in printed:
                return
            self.assertLess(time.monotonic(), limit, printed)

    def test_verbs(self):
        self.ros2('daemon', 'start')
        self.check('daemon status', 'The daemon is running')
        self.await_robot()

        self.check('topic list -t', """
            /TEST/arm/transition_event [lifecycle_msgs/msg/TransitionEvent]
            /TEST/commands [std_msgs/msg/String]
            /TEST/imu [sensor_msgs/msg/Imu]""")
        self.check('topic list --include-hidden-topics', """
            /TEST/add/_service_event
            /TEST/count/_action/feedback
            /TEST/count/_action/status""")
        self.check('topic info -v /TEST/imu', """
            Type: sensor_msgs/msg/Imu
            Publisher count: 1
            Node name: robot
            Node namespace: /TEST
            Topic type hash: RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b
            Endpoint type: PUBLISHER
            Reliability: RELIABLE
            Durability: TRANSIENT_LOCAL
            Lifespan: 3000000000 nanoseconds
            Deadline: 1500000000 nanoseconds
            Subscription count: 0""")
        self.check('topic info -v /TEST/commands', """
            Publisher count: 0
            Subscription count: 1
            Endpoint type: SUBSCRIPTION
            Reliability: BEST_EFFORT
            Durability: VOLATILE
            Lifespan: Infinite""")
        self.check('topic type /TEST/imu', 'sensor_msgs/msg/Imu')
        self.check('topic find sensor_msgs/msg/Imu', '/TEST/imu')
        self.check('topic echo --once /TEST/imu', """
            header:
            frame_id: chassis
            orientation:
            w: 1.0
            orientation_covariance:""")
        self.assertIn("b'\\x00\\x01\\x00\\x00", self.ros2('topic', 'echo', '--raw', '--once', '/TEST/imu'))
        self.ros2('topic', 'hz', '--window', '20', '/TEST/imu', until='average rate: [0-9.]+\n.*window: 20')
        self.ros2('topic', 'bw', '/TEST/imu', until='B/s from [0-9]+ messages')
        self.ros2('topic', 'delay', '/TEST/imu', until='average delay: [-0-9.]+')
        self.ros2('topic', 'pub', '--once', '-w', '1', '/TEST/commands', 'std_msgs/msg/String', '{data: go}')
        self.assertEqual(self.children[0].expect('command'), 'go')

        self.check('node list', """
            /TEST/arm
            /TEST/robot""")
        self.check('node info --include-hidden /TEST/robot', """
            Subscribers:
            /TEST/commands: std_msgs/msg/String
            Publishers:
            /TEST/add/_service_event: test_msgs/srv/BasicTypes_Event
            /TEST/count/_action/feedback: test_msgs/action/Fibonacci_FeedbackMessage
            /TEST/count/_action/status: action_msgs/msg/GoalStatusArray
            /TEST/imu: sensor_msgs/msg/Imu
            Service Servers:
            /TEST/add: test_msgs/srv/BasicTypes
            /TEST/count/_action/send_goal: test_msgs/action/Fibonacci_SendGoal
            /TEST/robot/set_parameters: rcl_interfaces/srv/SetParameters
            Service Clients:
            /TEST/add: test_msgs/srv/BasicTypes
            Action Servers:
            /TEST/count: test_msgs/action/Fibonacci
            Action Clients:""")

        self.check('service list -t', """
            /TEST/add [test_msgs/srv/BasicTypes]
            /TEST/robot/get_parameters [rcl_interfaces/srv/GetParameters]""")
        self.check('service type /TEST/add', 'test_msgs/srv/BasicTypes')
        self.check('service find test_msgs/srv/BasicTypes', '/TEST/add')
        self.check('service info /TEST/add', """
            Clients count: 1
            Services count: 1""")
        called = self.ros2('service', 'call', '/TEST/add', 'test_msgs/srv/BasicTypes', '{int32_value: 41, string_value: hi}')
        self.assertRegex(called, "(?s)response:.*int32_value=42.*string_value='hi!'")
        self.ros2('service', 'echo', '/TEST/add', until='(?s)REQUEST_RECEIVED.*int32_value: 7.*RESPONSE_SENT.*int32_value: 8')

        self.check('action list -t', '/TEST/count [test_msgs/action/Fibonacci]')
        self.check('action info -t /TEST/count', """
            Action servers: 1
            /TEST/robot [test_msgs/action/Fibonacci]""")
        goal = self.ros2('action', 'send_goal', '--feedback', '/TEST/count', 'test_msgs/action/Fibonacci', '{order: 6}')
        self.assertRegex(goal, '(?s)Feedback:.*Result:\n *sequence:(\n- [0-9]+){5}\n- 5\n- 8\n.*SUCCEEDED')

        self.check('param list /TEST/robot --param-type', """
            name (type: string)
            speed (type: double)""")
        self.check('param set /TEST/robot speed 2.5', 'Set parameter successful')
        self.check('param get /TEST/robot speed', 'Double value is: 2.5')
        self.check('param describe /TEST/robot speed', """
            Type: double
            Description: how fast it drives""")
        dumped = self.ros2('param', 'dump', '/TEST/robot')
        self.assertIn('speed: 2.5', dumped)
        # With the name of the node, rclpy 9 finds nothing in the file.
        saved = pathlib.Path(self.folder) / 'robot.yaml'
        saved.write_text(dumped.replace('/TEST/robot', '/**').replace('name: red', 'name: blue'))
        self.assertIn('Set parameter name successful', self.ros2('param', 'load', '/TEST/robot', str(saved)))
        self.check('param get /TEST/robot name', 'String value is: blue')

        self.check('lifecycle nodes', '/TEST/arm')
        self.check('lifecycle get /TEST/arm', 'unconfigured [1]')
        self.check('lifecycle list /TEST/arm', """
            - configure [1]
            Start: unconfigured""")
        self.check('lifecycle set /TEST/arm configure', 'Transitioning successful')
        self.check('lifecycle get /TEST/arm', 'inactive [2]')

        middleware = 'rmw_situ' if rmw_testing.is_situ() else 'rmw_fastrtps_cpp'
        self.check('doctor --report', f"""
            middleware name    : {middleware}
            topic               : /TEST/imu
            publisher count     : 1""")

    def test_without_daemon(self):
        # A middleware with a network may need longer than the tools wait.
        if not rmw_testing.is_situ():
            self.skipTest('the first look at the graph is complete only on Situ')
        direct = '--no-daemon'
        for arguments, expected in {
                'node list': ('/TEST/arm', '/TEST/robot'),
                'topic list': ('/TEST/commands', '/TEST/imu'),
                'service list': ('/TEST/add',),
                'topic info /TEST/imu': ('Publisher count: 1',),
                'node info /TEST/robot': ('/TEST/count: test_msgs/action/Fibonacci',)}.items():
            printed = self.ros2(*arguments.split(' '), direct, '--spin-time', '0.05')
            for text in expected:
                self.assertIn(text, printed)


if __name__ == '__main__':
    if sys.argv[1:2] != ['--role'] and importlib.util.find_spec('ros2cli') is None:
        print('SKIPPED: there is no ros2cli here; the tools of ROS were not tested on this middleware (ros2cli.sh installs '
              'them from their sources)', file=sys.stderr)
        sys.exit(0)
    rmw_testing.main()
