"""Events of publishers and subscriptions (incompatible, matched, deadlines, liveliness); content filters."""
import rmw_testing
from rmw_testing import QUIET, node, qos, require, role, spin_for


class Log:
    """What events told, by their names."""

    def __init__(self):
        self.events = {}

    def keep(self, name):
        return lambda event: self.events.setdefault(name, []).append(event)

    def of(self, name):
        return self.events.get(name, [])

    def last(self, name, field):
        return getattr(self.events[name][-1], field) if name in self.events else None


def publisher_with_log(here, kind, topic, profile, names):
    from rclpy.event_handler import PublisherEventCallbacks
    log = Log()
    callbacks = PublisherEventCallbacks(**{name: log.keep(name) for name in names}, use_default_callbacks=False)
    return here.create_publisher(kind, topic, profile, event_callbacks=callbacks), log


def subscription_with_log(here, kind, topic, profile, names, callback=lambda message: None):
    from rclpy.event_handler import SubscriptionEventCallbacks
    log = Log()
    callbacks = SubscriptionEventCallbacks(**{name: log.keep(name) for name in names}, use_default_callbacks=False)
    return here.create_subscription(kind, topic, callback, profile, event_callbacks=callbacks), log


@role
def incompatible(parent):
    from rclpy.qos import QoSPolicyKind
    from std_msgs.msg import Empty
    cases = [
        ('RELIABILITY', {'reliability': 'BEST_EFFORT'}, {'reliability': 'RELIABLE'}),
        ('DURABILITY', {'durability': 'VOLATILE'}, {'durability': 'TRANSIENT_LOCAL'}),
        ('DEADLINE', {'deadline': 2.0}, {'deadline': 1.0}),
        ('LIVELINESS', {'liveliness': 'AUTOMATIC'}, {'liveliness': 'MANUAL_BY_TOPIC'}),
        ('LIVELINESS', {'liveliness_lease_duration': 2.0}, {'liveliness_lease_duration': 1.0}),
    ]
    with node(parent) as here:
        for number, (policy, offered, requested) in enumerate(cases):
            topic = f'case{number}'
            publisher, of_publisher = publisher_with_log(
                here, Empty, topic, qos(**offered), ['incompatible_qos', 'matched'])
            taken = []
            subscription, of_subscription = subscription_with_log(
                here, Empty, topic, qos(**requested), ['incompatible_qos', 'matched'], taken.append)
            require(lambda: of_publisher.of('incompatible_qos') and of_subscription.of('incompatible_qos'),
                    'both are told that they do not fit', here.run)
            for log in (of_publisher, of_subscription):
                event = log.of('incompatible_qos')[-1]
                assert (event.total_count, event.total_count_change) == (1, 1), event
                kind = event.last_policy_kind
                assert getattr(kind, 'value', kind) == getattr(QoSPolicyKind, policy).value, (policy, event)
                assert not log.of('matched'), log.of('matched')
            publisher.publish(Empty())
            spin_for(here.run, QUIET / 5)
            assert not taken and publisher.get_subscription_count() == 0
            here.destroy_subscription(subscription)
            here.destroy_publisher(publisher)


@role
def matched(parent):
    from std_msgs.msg import Empty
    with node(parent) as here:
        publisher, of_publisher = publisher_with_log(here, Empty, 'topic', 10, ['matched'])
        first, of_first = subscription_with_log(here, Empty, 'topic', 10, ['matched'])
        require(lambda: of_publisher.last('matched', 'current_count') == 1, 'the first', here.run)
        require(lambda: of_first.last('matched', 'current_count') == 1, 'the publisher', here.run)
        second = here.create_subscription(Empty, 'topic', lambda message: None, 10)
        require(lambda: of_publisher.last('matched', 'current_count') == 2, 'the second', here.run)
        here.destroy_subscription(second)
        require(lambda: of_publisher.last('matched', 'current_count') == 1, 'the second is gone', here.run)
        assert of_publisher.last('matched', 'total_count') == 2, of_publisher.events
        assert sum(event.current_count_change for event in of_publisher.of('matched')) == 1, of_publisher.events
        assert sum(event.total_count_change for event in of_publisher.of('matched')) == 2, of_publisher.events
        here.destroy_publisher(publisher)
        require(lambda: of_first.last('matched', 'current_count') == 0, 'the publisher is gone', here.run)
        assert of_first.last('matched', 'total_count') == 1, of_first.events


@role
def deadline(parent):
    from std_msgs.msg import Empty
    with node(parent) as here:
        profile = qos(deadline=0.2)
        publisher, of_publisher = publisher_with_log(here, Empty, 'topic', profile, ['deadline'])
        _, of_subscription = subscription_with_log(here, Empty, 'topic', profile, ['deadline'])
        require(lambda: publisher.get_subscription_count() == 1, 'the subscription', here.run)
        publisher.publish(Empty())
        # Nothing follows within 0.2 s, nor within the next 0.2 s.
        require(lambda: (of_publisher.last('deadline', 'total_count') or 0) >= 2, 'the offered deadline', here.run)
        require(lambda: (of_subscription.last('deadline', 'total_count') or 0) >= 2, 'the requested deadline', here.run)
        for log in (of_publisher, of_subscription):
            events = log.of('deadline')
            assert sum(event.total_count_change for event in events) == events[-1].total_count, events


@role
def manual_publisher(parent):
    from std_msgs.msg import Empty
    with node(parent, 'manual') as here:
        publisher, log = publisher_with_log(
            here, Empty, 'topic', qos(liveliness='MANUAL_BY_TOPIC', liveliness_lease_duration=1.0), ['liveliness'])
        require(lambda: publisher.get_subscription_count() == 1, 'the watcher', here.run)
        parent.wait('assert')
        publisher.assert_liveliness()
        # Now it says nothing for more than a second.
        require(lambda: (log.last('liveliness', 'total_count') or 0) >= 1, 'it is told that it was lost', here.run)
        parent.tell('lost')
        parent.wait('publish')
        publisher.publish(Empty())
        parent.tell('published')
        parent.end()


@role
def watcher_of_liveliness(parent):
    from std_msgs.msg import Empty
    with node(parent, 'watcher') as here:
        _, log = subscription_with_log(
            here, Empty, 'topic', qos(liveliness='MANUAL_BY_TOPIC', liveliness_lease_duration=1.0), ['liveliness'])

        def counts():
            return log.last('liveliness', 'alive_count'), log.last('liveliness', 'not_alive_count')

        parent.tell('ready')
        parent.wait('alive')
        require(lambda: any(event.alive_count == 1 for event in log.of('liveliness')), 'it lives', here.run)
        require(lambda: counts() == (0, 1), 'it is not alive', here.run)
        parent.tell('missed')
        parent.run_until('again', here.run)
        require(lambda: sum(event.alive_count_change > 0 for event in log.of('liveliness')) == 2, 'it lives again',
                here.run)
        parent.tell('alive')
        parent.run_until('killed', here.run)
        require(lambda: log.last('liveliness', 'alive_count') == 0, 'it is dead', here.run)
        parent.tell('dead')


@role
def filters(parent):
    from rclpy.subscription_content_filter_options import ContentFilterOptions
    from test_msgs.msg import BasicTypes, Strings
    with node(parent) as here:
        taken = []
        subscription = here.create_subscription(
            BasicTypes, 'numbers', lambda message: taken.append(message.int32_value), 100,
            content_filter_options=ContentFilterOptions('int32_value > %0 AND bool_value = TRUE', ['3']))
        everything = []
        here.create_subscription(BasicTypes, 'numbers', lambda message: everything.append(message.int32_value), 100)
        publisher = here.create_publisher(BasicTypes, 'numbers', 100)
        require(lambda: publisher.get_subscription_count() == 2, 'two subscriptions', here.run)
        assert subscription.is_cft_enabled

        def publish_and_take():
            del taken[:], everything[:]
            for number in range(10):
                publisher.publish(BasicTypes(int32_value=number, bool_value=number % 2 == 0))
            require(lambda: len(everything) == 10, 'all messages', here.run)
            spin_for(here.run, QUIET)
            return taken

        assert publish_and_take() == [4, 6, 8], taken
        subscription.set_content_filter('int32_value BETWEEN %0 AND %1', ['2', '4'])
        options = subscription.get_content_filter()
        assert options == ContentFilterOptions('int32_value BETWEEN %0 AND %1', ['2', '4']), options
        # The publisher may learn of a new filter later.
        require(lambda: publish_and_take() == [2, 3, 4], 'the new filter', here.run)
        subscription.set_content_filter('', [])
        require(lambda: publish_and_take() == list(range(10)), 'no filter', here.run)
        assert not subscription.is_cft_enabled

        words = []
        here.create_subscription(Strings, 'words', lambda message: words.append(message.string_value), 100,
                                 content_filter_options=ContentFilterOptions("string_value LIKE 'ca%'", []))
        publisher = here.create_publisher(Strings, 'words', 100)
        require(lambda: publisher.get_subscription_count() == 1, 'a subscription', here.run)
        for word in ('camera', 'lidar', 'cat', ''):
            publisher.publish(Strings(string_value=word))
        require(lambda: len(words) == 2, 'two words', here.run)
        assert words == ['camera', 'cat'], words


@role
def wrong_filters(parent):
    """An expression that is not valid makes no subscription that lets everything pass."""
    from rclpy.subscription_content_filter_options import ContentFilterOptions
    from test_msgs.msg import BasicTypes
    with node(parent) as here:
        for expression in ('nothing = 1', 'int32_value = ', 'int32_value = %0'):
            try:
                here.create_subscription(BasicTypes, 'numbers', lambda message: None, 10,
                                         content_filter_options=ContentFilterOptions(expression, []))
            except Exception:
                continue
            raise AssertionError(f'{expression} is a filter')


class Events(rmw_testing.TestCase):
    def test_incompatible(self):
        self.run_role(incompatible)

    def test_matched(self):
        self.run_role(matched)

    def test_deadline(self):
        self.run_role(deadline)

    def test_liveliness(self):
        watcher = self.start(watcher_of_liveliness)
        watcher.expect('ready')
        publisher = self.start(manual_publisher)
        publisher.tell('assert')
        watcher.tell('alive')
        publisher.expect('lost')
        watcher.expect('missed')
        publisher.tell('publish')
        publisher.expect('published')
        watcher.tell('again')
        watcher.expect('alive')
        publisher.kill()
        watcher.tell('killed')
        watcher.expect('dead', 2 * rmw_testing.TIME_LIMIT)
        watcher.finish()

    def test_filters(self):
        self.run_role(filters)

    def test_wrong_filters(self):
        self.run_role(wrong_filters)


if __name__ == '__main__':
    rmw_testing.main()
