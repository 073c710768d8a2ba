"""A node of rclpy on a screen of Foxglove: its topics, services and parameters, in both directions.

SITU_COMMAND names the command `situ`. The screen is the client of the tests of `situ foxglove`.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

import rmw_testing
from rmw_testing import role

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / 'crates/situ-foxglove/tests'))


@role
def arm(parent):
    """A node with a topic each way, a service and a parameter of each kind."""
    from rcl_interfaces.msg import SetParametersResult
    from std_msgs.msg import String
    from test_msgs.srv import BasicTypes
    heard = []
    with rmw_testing.node(parent, 'arm', start_parameter_services=True) as node:
        node.declare_parameter('speed', 3)
        node.declare_parameter('gain', 0.5)
        node.declare_parameter('frames', ['base', 'tool'])
        node.add_on_set_parameters_callback(lambda parameters: SetParametersResult(
            successful=all(it.name != 'speed' or it.value <= 10 for it in parameters), reason='too fast'))
        node.create_subscription(String, 'said', lambda message: heard.append(message.data), 10)
        publisher = node.create_publisher(String, 'state', rmw_testing.qos(1, durability='TRANSIENT_LOCAL'))
        publisher.publish(String(data='ready'))

        def answer(request, response):
            response.uint8_value = request.uint8_value + 1
            response.string_value = request.string_value.upper()
            return response

        node.create_service(BasicTypes, 'ask', answer)
        parent.tell('ready')
        parent.run_until('changed', node.run)
        parent.tell('speed', node.get_parameter('speed').value)
        node.set_parameters([node.get_parameter('gain').__class__('gain', value=0.75)])
        rmw_testing.require(lambda: heard, 'what the screen says', node.run)
        parent.tell('heard', heard[0])
        parent.end(node.run)


@unittest.skipUnless(os.environ.get('SITU_COMMAND') and rmw_testing.is_situ(), 'SITU_COMMAND is the command `situ`')
class Foxglove(rmw_testing.TestCase):
    def setUp(self):
        super().setUp()
        self.role = self.start(arm)
        self.role.expect('ready')
        variables = dict(os.environ, SITU_ROOT=self.folder, SITU_DOMAIN=str(self.domain))
        variables.pop('LD_PRELOAD', None)
        self.server = subprocess.Popen(
            [os.environ['SITU_COMMAND'], 'foxglove', '--port', '0', '--publish', '--call', '--set-parameters'],
            env=variables, text=True, stdout=subprocess.PIPE)
        self.addCleanup(self.end)
        port = re.search(r'ws://127\.0\.0\.1:(\d+)', self.server.stdout.readline())
        from client import WebSocket
        self.screen = WebSocket(int(port[1]), 'foxglove.websocket.v1')
        self.addCleanup(self.screen.socket.close)
        self.offered = {'advertise': {}, 'advertiseServices': {}}

    def end(self):
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()

    def receive(self, kind):
        """The next message of a kind, or with content (bytes). Notes what is offered meanwhile."""
        while True:
            message = self.screen.receive()
            if isinstance(message, bytes):
                if kind is bytes:
                    return message
                continue
            if message['op'] == 'advertise':
                self.offered['advertise'].update({it['topic']: it for it in message['channels']})
            if message['op'] == 'advertiseServices':
                self.offered['advertiseServices'].update({it['name']: it for it in message['services']})
            if message['op'] == kind:
                return message

    def offer(self, kind, name):
        while name not in self.offered[kind]:
            self.receive(kind)
        return self.offered[kind][name]

    def values(self, **request):
        self.screen.say(**request)
        while (answer := self.receive('parameterValues')).get('id') != request.get('id'):
            pass
        return {it['name']: it['value'] for it in answer['parameters']}

    def test_topics_services_and_parameters(self):
        prefix = '/' + self.token
        # The last message of a topic, from before the screen came.
        state = self.offer('advertise', prefix + '/state')
        self.assertEqual((state['schemaName'], state['encoding']), ('std_msgs/msg/String', 'cdr'))
        self.screen.say(op='subscribe', subscriptions=[{'id': 1, 'channelId': state['id']}])
        content = self.receive(bytes)
        self.assertEqual(content[13:], b'\0\1\0\0' + struct.pack('<I', 6) + b'ready\0')
        self.screen.say(op='unsubscribe', subscriptionIds=[1])

        # A service of the node.
        service = self.offer('advertiseServices', prefix + '/ask')
        self.assertEqual(service['type'], 'test_msgs/srv/BasicTypes')
        request = json.dumps({'uint8_value': 6, 'string_value': 'grün'}).encode()
        self.screen.send(2, b'\2' + struct.pack('<III', service['id'], 9, 4) + b'json' + request)
        opcode, of, call, length = struct.unpack('<BIII', (reply := self.receive(bytes))[:13])
        self.assertEqual((opcode, of, call, reply[13:13 + length]), (3, service['id'], 9, b'json'))
        reply = json.loads(reply[13 + length:])
        self.assertEqual((reply['uint8_value'], reply['string_value']), (7, 'GRÜN'))

        # Its parameters: read, set, refused, and changed by the node.
        speed, gain, frames = (f'{prefix}/arm.{name}' for name in ('speed', 'gain', 'frames'))
        before = self.values(op='getParameters', parameterNames=[speed, gain, frames], id='before')
        self.assertEqual(before, {speed: 3, gain: 0.5, frames: ['base', 'tool']})
        everything = self.values(op='getParameters', parameterNames=[], id='all')
        self.assertEqual({name: everything[name] for name in before}, before)
        set_to = self.values(op='setParameters', parameters=[{'name': speed, 'value': 9}], id='set')
        self.assertEqual(set_to, {speed: 9})
        self.screen.say(op='setParameters', parameters=[{'name': speed, 'value': 11}], id='refused')
        status = self.receive('status')
        self.assertIn('too fast', status['message'])
        self.screen.say(op='subscribeParameterUpdates', parameterNames=[gain])
        # Asked after it is subscribed, so that the change cannot come first.
        self.values(op='getParameters', parameterNames=[gain], id='subscribed')
        self.role.tell('changed')
        self.assertEqual(self.role.expect('speed'), 9)
        while {it['name']: it['value'] for it in self.receive('parameterValues')['parameters']} != {gain: 0.75}:
            pass

        # What the screen says.
        self.screen.say(op='advertise', channels=[{
            'id': 5, 'topic': prefix + '/said', 'encoding': 'json', 'schemaName': 'std_msgs/msg/String'}])
        self.screen.send(2, b'\1' + struct.pack('<I', 5) + json.dumps({'data': 'hello'}).encode())
        self.assertEqual(self.role.expect('heard'), 'hello')
        self.finish()


if __name__ == '__main__':
    rmw_testing.main()
