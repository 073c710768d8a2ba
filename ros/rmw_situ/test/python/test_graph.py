"""The graph: names, types, endpoints with their qualities of service and hashes, counts, and what dies."""
import time

import rmw_testing
from rmw_testing import QUIET, node, qos, require, role, until

# rmw_fastrtps_cpp notices after 20 s that a process was killed.
KILL_LIMIT = 90.0


@role
def member(parent, name):
    """A node with one endpoint of each kind."""
    from std_msgs.msg import Int32
    from test_msgs.srv import Empty
    with node(parent, name) as here:
        here.create_publisher(Int32, 'numbers', qos(depth=7, reliability='RELIABLE', durability='TRANSIENT_LOCAL',
                                                    deadline=1.5, lifespan=3.0, liveliness='MANUAL_BY_TOPIC',
                                                    liveliness_lease_duration=2.5))
        here.create_subscription(Int32, 'commands', lambda message: None, qos(depth=3, reliability='BEST_EFFORT'))
        here.create_service(Empty, 'stop', lambda request, response: response)
        client = here.create_client(Empty, 'start')
        parent.tell('ready')
        parent.run_until('less', here.run)
        here.destroy_client(client)
        parent.tell('fewer')
        parent.end(here.run)


@role
def observer(parent):
    from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, ReliabilityPolicy
    from rclpy.topic_endpoint_info import TopicEndpointTypeEnum
    from std_msgs.msg import Int32
    space = '/' + parent.token
    with node(parent, 'observer') as here:
        def nodes():
            return sorted(pair for pair in here.get_node_names_and_namespaces() if pair[1] == space)

        def of_test(pairs):
            # Each node also has a service that describes its types.
            return {name: types for name, types in pairs
                    if name.startswith(space + '/') and not name.endswith('/get_type_description')}

        require(lambda: nodes() == [('member', space), ('observer', space)], 'the other node')
        require(lambda: here.count_publishers('numbers') == 1 and here.count_subscribers('commands') == 1
                and here.count_services('stop') == 1 and here.count_clients('start') == 1, 'four endpoints')
        assert here.count_publishers('commands') == 0 and here.count_subscribers('numbers') == 0
        assert here.count_services('start') == 0 and here.count_clients('stop') == 0
        assert here.wait_for_node(space + '/member', 1.0)

        int32 = ['std_msgs/msg/Int32']
        topics = of_test(here.get_topic_names_and_types())
        assert topics == {space + '/numbers': int32, space + '/commands': int32}, topics
        services = of_test(here.get_service_names_and_types())
        assert services == {space + '/stop': ['test_msgs/srv/Empty'], space + '/start': ['test_msgs/srv/Empty']}, \
            services
        for function, expected in (
                (here.get_publisher_names_and_types_by_node, {space + '/numbers': int32}),
                (here.get_subscriber_names_and_types_by_node, {space + '/commands': int32}),
                (here.get_service_names_and_types_by_node, {space + '/stop': ['test_msgs/srv/Empty']}),
                (here.get_client_names_and_types_by_node, {space + '/start': ['test_msgs/srv/Empty']})):
            found = of_test(function('member', space))
            assert found == expected, (function, found)

        [info] = here.get_publishers_info_by_topic('numbers')
        assert (info.node_name, info.node_namespace, info.topic_type) == ('member', space, int32[0]), info
        assert info.endpoint_type == TopicEndpointTypeEnum.PUBLISHER
        assert len(info.endpoint_gid) == 16 and any(info.endpoint_gid), info
        profile = info.qos_profile
        assert profile.reliability == ReliabilityPolicy.RELIABLE
        assert profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert profile.liveliness == LivelinessPolicy.MANUAL_BY_TOPIC
        assert profile.deadline.nanoseconds == 1500000000, profile.deadline
        assert profile.lifespan.nanoseconds == 3000000000, profile.lifespan
        assert profile.liveliness_lease_duration.nanoseconds == 2500000000, profile.liveliness_lease_duration
        # Not all middleware tells others its history.
        assert profile.history in (HistoryPolicy.UNKNOWN, HistoryPolicy.KEEP_LAST)
        assert profile.history == HistoryPolicy.UNKNOWN or profile.depth == 7
        [info] = here.get_subscriptions_info_by_topic('commands')
        assert info.endpoint_type == TopicEndpointTypeEnum.SUBSCRIPTION
        assert info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
        assert here.get_publishers_info_by_topic('commands') == []
        known = str(info.topic_type_hash)
        assert known.startswith('RIHS01_') and len(known) == 7 + 64, known
        assert known == 'RIHS01_' + hash_of(Int32), known

        parent.tell('seen')
        parent.wait('again')
        require(lambda: here.count_clients('start') == 0, 'the client is gone')
        assert here.count_services('stop') == 1
        parent.tell('fewer')
        parent.wait('gone')
        # The graph is right soon after a process has ended, however it ended.
        end = time.monotonic() + KILL_LIMIT
        while nodes() != [('observer', space)] or here.count_publishers('numbers') or here.count_subscribers('commands'):
            assert time.monotonic() < end, (nodes(), here.get_topic_names_and_types())
            time.sleep(0.05)
        require(lambda: here.count_services('stop') == 0, 'the service is gone')
        assert of_test(here.get_topic_names_and_types()) == {}
        assert here.get_publishers_info_by_topic('numbers') == []
        parent.tell('alone')


def hash_of(message_type):
    """The hash in the description that the package has installed."""
    import json
    import pathlib
    import sys
    package, _, name = message_type.__module__.split('.')[0], None, message_type.__name__
    path = pathlib.Path(sys.prefix) / 'share' / package / 'msg' / (name + '.json')
    hashes = {one['type_name']: one['hash_string'] for one in json.loads(path.read_text())['type_hashes']}
    return hashes[f'{package}/msg/{name}'].removeprefix('RIHS01_')


@role
def waiter_for_changes(parent):
    """An executor that sleeps is woken when the graph changes."""
    import rclpy
    from test_msgs.srv import Empty
    with node(parent, 'waiter') as here:
        client = here.create_client(Empty, 'stop')
        parent.tell('waiting')
        # wait_for_service looks often; what counts here is that it learns of the server in time.
        assert client.wait_for_service(timeout_sec=rmw_testing.TIME_LIMIT)
        assert rclpy.ok()
        parent.tell('woken')


@role
def lonely(parent):
    """A process of another domain."""
    from std_msgs.msg import Int32
    with node(parent, 'lonely') as here:
        taken = []
        here.create_subscription(Int32, 'numbers', taken.append, qos(durability='TRANSIENT_LOCAL'))
        publisher = here.create_publisher(Int32, 'commands', 10)
        parent.tell('ready')
        found = until(lambda: here.count_publishers('numbers') or publisher.get_subscription_count(), here.run,
                      4 * QUIET)
        assert not found and not taken
        assert here.get_node_names() == ['lonely'], here.get_node_names()


@role
def names_that_are_not(parent):
    """Queries for what does not exist."""
    from rclpy._rclpy_pybind11 import NodeNameNonExistentError
    with node(parent) as here:
        assert here.count_publishers('nothing') == 0
        assert here.get_publishers_info_by_topic('nothing') == []
        try:
            here.get_publisher_names_and_types_by_node('nobody', '/' + parent.token)
        except NodeNameNonExistentError:
            return
        raise AssertionError('a node that does not exist has topics')


class Graph(rmw_testing.TestCase):
    def see(self, end_member):
        other = self.start(member, name='member')
        other.expect('ready')
        watcher = self.start(observer)
        watcher.expect('seen')
        other.tell('less')
        other.expect('fewer')
        watcher.tell('again')
        watcher.expect('fewer')
        end_member(other)
        watcher.tell('gone')
        watcher.expect('alone', 2 * KILL_LIMIT)
        watcher.finish()

    def test_a_node_that_ends(self):
        self.see(lambda child: child.finish())

    def test_a_node_that_is_killed(self):
        self.see(lambda child: child.kill())

    def test_a_server_that_comes(self):
        waiter = self.start(waiter_for_changes)
        waiter.expect('waiting')
        self.start(member, name='member').expect('ready')
        waiter.expect('woken')
        self.children[1].tell('less')
        self.children[1].expect('fewer')
        self.finish()

    def test_domains_are_separate(self):
        other = self.start(member, name='member')
        other.expect('ready')
        alone = self.start(lonely, variables={'ROS_DOMAIN_ID': str(self.domain % 100 + 1)})
        alone.expect('ready')
        alone.finish()
        other.tell('less')
        other.expect('fewer')
        self.finish()

    def test_queries_for_nothing(self):
        self.run_role(names_that_are_not)


if __name__ == '__main__':
    rmw_testing.main()
