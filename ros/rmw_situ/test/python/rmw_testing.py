"""What the tests share: roles, functions that run in processes of their own on the tested middleware.

A test starts roles and talks with them by lines of JSON. It does not import rclpy itself. The middleware is
the library that RMW_LIBRARY names; without it, it is the one that rclpy was built with.

    @role
    def talker(parent, topic):
        with rmw_testing.node(parent) as node: ...
        parent.tell('ready')

    class Test(rmw_testing.TestCase):
        def test(self):
            self.start(talker, topic='t').expect('ready')

Every name of a node or topic should contain `parent.token`: other programs may run on this machine.
"""
import contextlib
import json
import os
import pathlib
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

# For whatever should happen soon: the machine may be slow and loaded.
TIME_LIMIT = 60.0
# How long a test watches that something does not happen.
QUIET = 0.5

ROLES = {}


def role(function):
    ROLES[function.__name__] = function
    return function


def environment():
    """Variables for a process that uses the tested middleware."""
    variables = dict(os.environ)
    prefix = pathlib.Path(sys.prefix)
    folders = [str(prefix / 'lib')] + [str(path) for path in prefix.glob('lib/python*/site-packages/*.libs')]
    variables['LD_LIBRARY_PATH'] = ':'.join(folders + [variables.get('LD_LIBRARY_PATH', '')]).rstrip(':')
    variables['AMENT_PREFIX_PATH'] = ':'.join(
        part for part in (variables.get('AMENT_PREFIX_PATH'), str(prefix)) if part)
    variables['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    library = variables.get('RMW_LIBRARY')
    if library:
        variables['LD_PRELOAD'] = library
        variables['RMW_IMPLEMENTATION'] = pathlib.Path(library).name.removeprefix('lib').removesuffix('.so')
    return variables


def is_situ():
    return environment().get('RMW_IMPLEMENTATION') == 'rmw_situ'


class Child:
    """A role that runs in a process of its own."""

    def __init__(self, name, command, variables, folder=None):
        self.name = name
        self.errors = tempfile.TemporaryFile('w+')
        self.process = subprocess.Popen(
            command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            cwd=folder)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _fail(self, text):
        self.errors.seek(0)
        raise AssertionError(f'{self.name}: {text}\n{self.errors.read()[-4000:]}')

    def expect(self, word, limit=TIME_LIMIT):
        """Waits for the role to tell this word, and returns what it told with it."""
        return self.expect_one_of([word], limit)[1]

    def expect_one_of(self, words, limit=TIME_LIMIT):
        """Waits for the role to tell one of these words, and returns the word and what it told with it."""
        expected = ' or '.join(f'"{word}"' for word in words)
        try:
            line = self.lines.get(timeout=limit)
        except queue.Empty:
            self._fail(f'did not tell {expected} within {limit} s')
        if line is None:
            self._fail(f'ended with {self.process.wait()} instead of telling {expected}')
        try:
            told, values = json.loads(line)
        except ValueError:
            self._fail(f'printed {line!r} instead of telling {expected}')
        if told not in words:
            self._fail(f'told "{told}" {values} instead of {expected}')
        return told, values

    def tell(self, word):
        self.process.stdin.write(word + '\n')
        self.process.stdin.flush()

    def finish(self, limit=TIME_LIMIT):
        """Lets a role go on that waits for `end`, and waits until its process has ended well."""
        with contextlib.suppress(BrokenPipeError):
            self.tell('end')
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            # Makes Python print the stacks of its threads.
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            self._fail(f'did not end within {limit} s')
        if code != 0:
            self._fail(f'ended with {code}')

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        # A child that has ended did not read all.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.reader.join()
        self.process.stdout.close()
        self.errors.close()


class TestCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.children = []
        self.token = 't%08x' % random.getrandbits(32)
        self.domain = random.randint(1, 100)
        # Situ's topics of this test.
        self.folder = tempfile.mkdtemp(prefix='rmw-test-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def tearDown(self):
        for child in self.children:
            child.close()

    def start(self, function, variables=None, **arguments):
        script = sys.modules[function.__module__].__file__
        arguments = json.dumps(dict(arguments, token=self.token))
        return self.start_program(
            function.__name__, [sys.executable, '-X', 'faulthandler', script, '--role', function.__name__, arguments],
            variables, pathlib.Path(script).parent)

    def start_program(self, name, command, variables=None, folder=None):
        """Starts a role in another language, which tells and waits as those in Python do."""
        child_variables = environment()
        child_variables['ROS_DOMAIN_ID'] = str(self.domain)
        child_variables['SITU_ROOT'] = self.folder
        child_variables['ROS_LOG_DIR'] = self.folder
        child_variables.update(variables or {})
        child = Child(name, command, child_variables, folder)
        self.children.append(child)
        return child

    def run_role(self, function, **arguments):
        """Runs a role that needs no partner to its end."""
        self.start(function, **arguments).finish()

    def finish(self):
        for child in self.children:
            if child.process.poll() is None:
                child.finish()


class Program:
    """The program with the roles of another language: ROS_..._NODES names it, ROS_..._LIBRARIES the folders of its
    libraries, with the name of the language in between."""

    def __init__(self, language):
        self.path = os.environ.get(f'ROS_{language.upper()}_NODES')
        folders = [os.environ.get(f'ROS_{language.upper()}_LIBRARIES'), environment()['LD_LIBRARY_PATH']]
        self.variables = {'LD_LIBRARY_PATH': ':'.join(folder for folder in folders if folder)}

    def roles(self):
        if not self.path:
            return []
        return subprocess.run([self.path, '--roles'], env={**environment(), **self.variables}, stdout=subprocess.PIPE,
                              text=True, check=True).stdout.split()


class Parent:
    """The test, for a role."""

    def __init__(self, token):
        self.token = token

    def tell(self, word, values=None):
        sys.stdout.write(json.dumps([word, values]) + '\n')
        sys.stdout.flush()

    def wait(self, word):
        line = sys.stdin.readline().strip()
        assert line == word, f'expected "{word}" from the test, got "{line}"'

    def end(self, executor=None):
        """Waits for the end, and lets an executor run meanwhile."""
        self.run_until('end', executor)

    def run_until(self, word, executor):
        if executor is None:
            return self.wait(word)
        said = threading.Thread(target=self.wait, args=(word,), daemon=True)
        said.start()
        while said.is_alive():
            executor.spin_once(timeout_sec=0.05)


def until(condition, executor=None, limit=TIME_LIMIT):
    """Whether a condition becomes true within a time. An executor runs meanwhile."""
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            return False
        if executor is None:
            time.sleep(0.01)
        else:
            executor.spin_once(timeout_sec=0.05)
    return True


def require(condition, what, executor=None, limit=TIME_LIMIT):
    assert until(condition, executor, limit), f'not within {limit} s: {what}'


def spin_for(executor, seconds):
    until(lambda: False, executor, seconds)


def spin_until_done(executor, future, limit=TIME_LIMIT):
    require(future.done, 'an answer', executor, limit)
    return future.result()


@contextlib.contextmanager
def node(parent, name='node', **options):
    """A node in the namespace of this test, with an executor as its attribute `run`."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    rclpy.init()
    options.setdefault('start_parameter_services', False)
    options.setdefault('enable_rosout', False)
    made = rclpy.create_node(name, namespace='/' + parent.token, **options)
    made.run = SingleThreadedExecutor()
    made.run.add_node(made)
    try:
        yield made
    finally:
        made.run.shutdown()
        made.destroy_node()
        rclpy.shutdown()


def qos(depth=10, **policies):
    """A profile; the policies are the names of their values: reliability='BEST_EFFORT'."""
    from rclpy import qos as of_rclpy
    from rclpy.duration import Duration
    classes = {'reliability': of_rclpy.ReliabilityPolicy, 'durability': of_rclpy.DurabilityPolicy,
               'history': of_rclpy.HistoryPolicy, 'liveliness': of_rclpy.LivelinessPolicy}
    values = {}
    for policy, value in policies.items():
        if policy in classes:
            values[policy] = classes[policy][value]
        else:
            values[policy] = Duration(nanoseconds=int(value * 1e9))
    return of_rclpy.QoSProfile(depth=depth, **values)


def main():
    if sys.argv[1:2] == ['--role']:
        arguments = json.loads(sys.argv[3])
        ROLES[sys.argv[2]](Parent(arguments.pop('token')), **arguments)
        return
    unittest.main()
