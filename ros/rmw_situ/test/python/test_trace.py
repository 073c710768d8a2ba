"""A trace of nodes of ROS: processes with their nodes' names, each message from publisher to subscriber.

SITU_COMMAND names the command `situ`.
"""
import json
import os
import pathlib
import subprocess
import time
import unittest

import rmw_testing
from rmw_testing import role

MESSAGES = 10


class Probing:
    """Publishes in place of an executor, so that a trace contains the topic as soon as it records."""

    def __init__(self, publisher):
        self.publisher = publisher

    def spin_once(self, timeout_sec):
        from std_msgs.msg import Empty
        self.publisher.publish(Empty())
        time.sleep(timeout_sec)


@role
def camera(parent):
    """A process with two nodes; the second one publishes."""
    import rclpy
    from sensor_msgs.msg import Image
    from std_msgs.msg import Empty
    from test_msgs.srv import BasicTypes
    with rmw_testing.node(parent, 'driver') as driver:
        node = rclpy.create_node('camera', namespace='/' + parent.token, start_parameter_services=False, enable_rosout=False)
        publisher = node.create_publisher(Image, 'image', 10)
        probe = node.create_publisher(Empty, 'probe', 10)
        client = driver.create_client(BasicTypes, 'check')
        rmw_testing.require(lambda: publisher.get_subscription_count() == probe.get_subscription_count() == 1, 'the viewer')
        rmw_testing.require(client.service_is_ready, 'the service')
        parent.tell('matched')
        parent.run_until('go', Probing(probe))
        image = Image(height=10, width=20, step=20, encoding='mono8', data=bytes(200))
        for _ in range(MESSAGES):
            publisher.publish(image)
        rmw_testing.spin_until_done(driver.run, client.call_async(BasicTypes.Request()))
        parent.tell('published')
        parent.end()
        node.destroy_node()


@role
def viewer(parent):
    from sensor_msgs.msg import Image
    from std_msgs.msg import Empty
    from test_msgs.srv import BasicTypes
    seen = []
    with rmw_testing.node(parent, 'viewer') as node:
        node.create_subscription(Image, 'image', seen.append, 100)
        node.create_subscription(Empty, 'probe', lambda message: None, 10)
        node.create_service(BasicTypes, 'check', lambda request, response: response)
        rmw_testing.require(lambda: len(seen) == MESSAGES, 'the images', node.run)
        parent.tell('seen')
        parent.end(node.run)


@unittest.skipUnless(os.environ.get('SITU_COMMAND') and rmw_testing.is_situ(), 'SITU_COMMAND is the command `situ`')
class Trace(rmw_testing.TestCase):
    def situ(self, *arguments, **options):
        variables = dict(os.environ, SITU_ROOT=self.folder, SITU_DOMAIN=str(self.domain))
        variables.pop('LD_PRELOAD', None)
        return subprocess.Popen([os.environ['SITU_COMMAND'], *arguments], env=variables, text=True, **options)

    def recorded(self, text):
        """How many processes have recorded a text."""
        return sum(text in ring.read_bytes() for ring in pathlib.Path(self.folder).rglob('*.ring'))

    def test_nodes_and_messages(self):
        viewing, publishing = self.start(viewer), self.start(camera)
        publishing.expect('matched')
        file = pathlib.Path(self.folder) / 'run.pftrace'
        recording = self.situ('trace', 'record', '-o', str(file), stdout=subprocess.PIPE)
        try:
            # It says so when it records. A program takes part some moments later, and then its trace memory
            # contains the name of the topic of the probes.
            recording.stdout.readline()
            self.assertTrue(rmw_testing.until(lambda: self.recorded(b'/probe') == 2), 'both record')
            publishing.tell('go')
            publishing.expect('published')
            viewing.expect('seen')
        finally:
            self.assertEqual(self.situ('trace', 'stop', stdout=subprocess.DEVNULL).wait(rmw_testing.TIME_LIMIT), 0)
            recording.communicate(timeout=rmw_testing.TIME_LIMIT)
        self.finish()
        picture = file.with_suffix('.svg')
        viewed = self.situ('trace', 'view', str(file), '--json', '--svg', str(picture), '--from', '0s', '--for', '120s',
                           stdout=subprocess.PIPE)
        shown = json.loads(viewed.communicate(timeout=rmw_testing.TIME_LIMIT)[0])
        self.assertEqual(sorted(process['name'] for process in shown['processes']), ['driver, camera', 'viewer'])
        topics = {topic['topic']: topic for topic in shown['topics']}
        image = topics[f'{self.token}/image']
        self.assertEqual((image['published'], image['taken'], image['lost']), (MESSAGES, MESSAGES, 0))
        names = {slice['name'] for slice in shown['slices']}
        for name in (f'publish {self.token}/image', f'take {self.token}/image', f'call {self.token}/check', f'handle {self.token}/check'):
            self.assertIn(name, names)
        # An arrow for each image, and for the request and the reply.
        self.assertGreaterEqual(picture.read_text().count('marker-end="url(#tip)"'), MESSAGES)


if __name__ == '__main__':
    rmw_testing.main()
