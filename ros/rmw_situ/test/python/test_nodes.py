"""Nodes, contexts, executors: timers, guard conditions, logs, life cycles, threads, shutdown, new starts."""
import rmw_testing
from rmw_testing import node, require, role, spin_for, spin_until_done


@role
def timers(parent):
    with node(parent) as here:
        fired = []
        timer = here.create_timer(0.02, lambda: fired.append(1))
        require(lambda: len(fired) >= 5, 'five times', here.run)
        timer.cancel()
        count = len(fired)
        spin_for(here.run, 0.2)
        assert len(fired) == count
        timer.reset()
        require(lambda: len(fired) > count, 'again', here.run)


@role
def guard_conditions(parent):
    """An executor that sleeps without a limit is woken by another thread."""
    import threading
    import time
    with node(parent) as here:
        fired = []
        condition = here.create_guard_condition(lambda: fired.append(1))
        here.run.spin_once(timeout_sec=0)
        assert not fired

        def trigger():
            time.sleep(0.1)
            condition.trigger()

        thread = threading.Thread(target=trigger)
        thread.start()
        # Other things may wake it first.
        while not fired:
            here.run.spin_once(timeout_sec=rmw_testing.TIME_LIMIT)
        thread.join()
        assert fired == [1]
        condition.trigger()
        condition.trigger()
        require(lambda: len(fired) == 2, 'both at once', here.run)


@role
def writer_of_logs(parent):
    with node(parent, 'writer', enable_rosout=True) as here:
        require(lambda: here.count_subscribers('/rosout') >= 1, 'the reader of logs', here.run)
        here.get_logger().warning('battery of ' + parent.token)
        parent.end(here.run)


@role
def reader_of_logs(parent):
    from rcl_interfaces.msg import Log
    from rclpy.qos import qos_profile_rosout_default
    with node(parent, 'reader') as here:
        lines = []
        here.create_subscription(Log, '/rosout', lines.append, qos_profile_rosout_default)
        require(lambda: any(line.msg == 'battery of ' + parent.token for line in lines), 'the line', here.run)
        [line] = [line for line in lines if line.msg == 'battery of ' + parent.token]
        assert line.name == parent.token + '.writer', line
        assert line.level == int.from_bytes(Log.WARN, 'little') if isinstance(Log.WARN, bytes) else Log.WARN, line


@role
def machine(parent):
    """A node with a life cycle, which publishes only while it is active."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
    from std_msgs.msg import Int32

    class Machine(LifecycleNode):
        def on_configure(self, state):
            self.publisher = self.create_lifecycle_publisher(Int32, 'numbers', 10)
            self.timer = self.create_timer(0.02, lambda: self.publisher.publish(Int32(data=1)))
            return TransitionCallbackReturn.SUCCESS

        def on_cleanup(self, state):
            self.destroy_timer(self.timer)
            self.destroy_publisher(self.publisher)
            return TransitionCallbackReturn.SUCCESS

    rclpy.init()
    here = Machine('machine', namespace='/' + parent.token)
    run = SingleThreadedExecutor()
    run.add_node(here)
    parent.tell('ready')
    parent.end(run)
    here.destroy_node()
    rclpy.shutdown()


@role
def operator(parent):
    from lifecycle_msgs.msg import State, Transition, TransitionEvent
    from lifecycle_msgs.srv import ChangeState, GetState
    from std_msgs.msg import Int32
    with node(parent, 'operator') as here:
        change = here.create_client(ChangeState, 'machine/change_state')
        get = here.create_client(GetState, 'machine/get_state')
        events, numbers = [], []
        here.create_subscription(TransitionEvent, 'machine/transition_event',
                                 lambda event: events.append(event.goal_state.id), 10)
        here.create_subscription(Int32, 'numbers', numbers.append, 10)
        require(lambda: change.service_is_ready() and get.service_is_ready(), 'the machine', here.run)
        require(lambda: here.count_publishers('machine/transition_event') == 1, 'its events', here.run)

        def move(transition, state):
            request = ChangeState.Request(transition=Transition(id=transition))
            assert spin_until_done(here.run, change.call_async(request)).success
            now = spin_until_done(here.run, get.call_async(GetState.Request())).current_state
            assert now.id == state, now

        move(Transition.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE)
        spin_for(here.run, 0.2)
        assert not numbers
        move(Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE)
        require(lambda: numbers, 'a number', here.run)
        move(Transition.TRANSITION_DEACTIVATE, State.PRIMARY_STATE_INACTIVE)
        move(Transition.TRANSITION_CLEANUP, State.PRIMARY_STATE_UNCONFIGURED)
        move(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN, State.PRIMARY_STATE_FINALIZED)
        require(lambda: events and events[-1] == State.PRIMARY_STATE_FINALIZED, 'the last event', here.run)


@role
def beginnings(parent):
    """Shutdown and a new beginning, several times, with messages each time."""
    from std_msgs.msg import Int32
    for round_ in range(4):
        with node(parent, f'round{round_}') as here:
            taken = []
            here.create_subscription(Int32, 'numbers', lambda m: taken.append(m.data), 10)
            publisher = here.create_publisher(Int32, 'numbers', 10)
            require(lambda: publisher.get_subscription_count() == 1, 'the subscription', here.run)
            publisher.publish(Int32(data=round_))
            require(lambda: taken == [round_], 'the number', here.run)


@role
def contexts(parent):
    """Two contexts at once: what is shut down in one does not end the other."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from std_msgs.msg import Int32
    made = []
    for name in ('one', 'two'):
        context = Context()
        rclpy.init(context=context)
        here = rclpy.create_node(name, context=context, namespace='/' + parent.token)
        run = SingleThreadedExecutor(context=context)
        run.add_node(here)
        made.append((context, here, run))
    (context, here, run), (other_context, other, other_run) = made
    taken = []
    here.create_subscription(Int32, 'numbers', lambda m: taken.append(m.data), 10)
    publisher = other.create_publisher(Int32, 'numbers', 10)
    require(lambda: publisher.get_subscription_count() == 1, 'the subscription', run)
    publisher.publish(Int32(data=5))
    require(lambda: taken == [5], 'the number', run)
    other.destroy_node()
    other_run.shutdown()
    rclpy.shutdown(context=other_context)
    assert context.ok() and not other_context.ok()
    own = here.create_publisher(Int32, 'numbers', 10)
    require(lambda: own.get_subscription_count() == 1, 'the own subscription', run)
    own.publish(Int32(data=6))
    require(lambda: taken == [5, 6], 'the next number', run)
    run.shutdown()
    here.destroy_node()
    rclpy.shutdown(context=context)


@role
def sleeper(parent):
    """Shutdown of the context ends an executor that sleeps."""
    import threading

    import rclpy
    from rclpy.executors import ExternalShutdownException
    with node(parent) as here:
        ended = threading.Event()

        def spin():
            try:
                here.run.spin()
            except ExternalShutdownException:
                pass
            ended.set()

        thread = threading.Thread(target=spin)
        thread.start()
        assert not ended.wait(0.3)
        rclpy.try_shutdown()
        assert ended.wait(rmw_testing.TIME_LIMIT)
        thread.join()
        rclpy.init()


@role
def threads(parent):
    """Callbacks of a reentrant group run at once, and a service may be called from a callback."""
    import threading

    from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
    from rclpy.executors import MultiThreadedExecutor
    from std_msgs.msg import Int32
    from test_msgs.srv import BasicTypes
    with node(parent) as here:
        here.run.remove_node(here)
        # More than there are callbacks that wait.
        run = MultiThreadedExecutor(num_threads=8)
        run.add_node(here)

        def double(request, response):
            response.int64_value = 2 * request.int64_value
            return response

        here.create_service(BasicTypes, 'double', double, callback_group=MutuallyExclusiveCallbackGroup())
        client = here.create_client(BasicTypes, 'double', callback_group=MutuallyExclusiveCallbackGroup())
        together, answers = threading.Barrier(4), []

        def take(message):
            # Four of them are here at once, or this fails.
            together.wait(rmw_testing.TIME_LIMIT)
            answers.append(client.call(BasicTypes.Request(int64_value=message.data)).int64_value)

        here.create_subscription(Int32, 'numbers', take, 100, callback_group=ReentrantCallbackGroup())
        publisher = here.create_publisher(Int32, 'numbers', 100)
        thread = threading.Thread(target=run.spin, daemon=True)
        thread.start()
        assert client.wait_for_service(timeout_sec=rmw_testing.TIME_LIMIT)
        require(lambda: publisher.get_subscription_count() == 1, 'the subscription')
        for number in range(4):
            publisher.publish(Int32(data=number))
        require(lambda: len(answers) == 4, 'all answers')
        assert sorted(answers) == [0, 2, 4, 6], answers
        run.shutdown()
        thread.join(rmw_testing.TIME_LIMIT)


@role
def many_endpoints(parent):
    """Endpoints that come and go, in a hurry."""
    from std_msgs.msg import Int32
    with node(parent) as here:
        for round_ in range(30):
            publishers = [here.create_publisher(Int32, f'topic{i}', 10) for i in range(5)]
            subscriptions = [here.create_subscription(Int32, f'topic{i}', lambda m: None, 10) for i in range(5)]
            here.run.spin_once(timeout_sec=0)
            for one in publishers:
                one.publish(Int32(data=round_))
                here.destroy_publisher(one)
            for one in subscriptions:
                here.destroy_subscription(one)
        require(lambda: all(here.count_publishers(f'topic{i}') == 0 for i in range(5)), 'all are gone', here.run)


@role
def quick_talker(parent, count):
    """Publishes and ends at once."""
    from std_msgs.msg import Int32
    with node(parent, 'quick') as here:
        publisher = here.create_publisher(Int32, 'numbers', count)
        require(lambda: publisher.get_subscription_count() == 1, 'the listener')
        for number in range(count):
            publisher.publish(Int32(data=number))
        parent.tell('published')
        parent.wait('end')


@role
def waiter_for_one(parent):
    from rclpy.wait_for_message import wait_for_message
    from std_msgs.msg import Int32
    with node(parent, 'waiter') as here:
        here.run.remove_node(here)
        found, message = wait_for_message(Int32, here, 'numbers', time_to_wait=rmw_testing.TIME_LIMIT)
        # The subscription keeps one message, the last.
        assert found and message.data in range(3), (found, message)


@role
def ponger(parent):
    """Sends back what comes. Its waits, as those of the other side, are short, so they look for messages."""
    from std_msgs.msg import Int32
    with node(parent, 'ponger') as here:
        publisher = here.create_publisher(Int32, 'pong', 10)
        here.create_subscription(Int32, 'ping', publisher.publish, 10)
        parent.tell('ready')
        parent.end(here.run)


@role
def pinger(parent, count):
    from std_msgs.msg import Int32
    with node(parent, 'pinger') as here:
        came = []
        publisher = here.create_publisher(Int32, 'ping', 10)
        here.create_subscription(Int32, 'pong', lambda message: came.append(message.data), 10)
        require(lambda: publisher.get_subscription_count() == 1, 'the other side', here.run)
        require(lambda: here.count_publishers('pong') == 1, 'the other side', here.run)
        for number in range(count):
            publisher.publish(Int32(data=number))
            require(lambda: len(came) > number, f'message {number}', here.run)
        assert came == list(range(count)), came
        # It still sleeps when nothing comes.
        spin_for(here.run, 0.2)


@role
def beginner(parent):
    import rclpy
    try:
        rclpy.init()
    except Exception as error:
        assert 'RMW_SITU_SPIN_US' in str(error), error
        return
    raise AssertionError('the context began')


class Nodes(rmw_testing.TestCase):
    def test_waits_that_look_before_they_sleep(self):
        # A second, so that all waits count as short.
        looks = {'RMW_SITU_SPIN_US': '1000000'}
        self.start(ponger, looks).expect('ready')
        self.start(pinger, looks, count=200).finish()
        self.finish()

    def test_impossible_limits(self):
        if not rmw_testing.is_situ():
            self.skipTest('a variable of rmw_situ')
        for limit in ('1000001', '50us'):
            self.start(beginner, {'RMW_SITU_SPIN_US': limit})
        self.finish()

    def test_timers(self):
        self.run_role(timers)

    def test_guard_conditions(self):
        self.run_role(guard_conditions)

    def test_logs(self):
        reader = self.start(reader_of_logs)
        writer = self.start(writer_of_logs)
        reader.finish()
        writer.finish()

    def test_life_cycle(self):
        self.start(machine).expect('ready')
        self.start(operator).finish(2 * rmw_testing.TIME_LIMIT)
        self.finish()

    def test_beginnings(self):
        self.run_role(beginnings)

    def test_contexts(self):
        self.run_role(contexts)

    def test_shutdown_wakes(self):
        self.run_role(sleeper)

    def test_threads(self):
        self.run_role(threads)

    def test_endpoints_come_and_go(self):
        self.run_role(many_endpoints)

    def test_wait_for_one_message(self):
        waiter = self.start(waiter_for_one)
        talker = self.start(quick_talker, count=3)
        talker.expect('published')
        waiter.finish()
        talker.finish()


if __name__ == '__main__':
    rmw_testing.main()
