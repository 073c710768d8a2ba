"""The demo with nodes of ROS: each run arrives, its copies are those that they must be, nothing stays.

scripts/rmw.sh builds its programs, and names their folder in ROS_DEMO.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import rmw_testing

DEMO = pathlib.Path(__file__).resolve().parents[4] / 'examples' / 'ros' / 'demo.py'
BUILD = os.environ.get('ROS_DEMO')
WIDTH, HEIGHT = 160, 120
IMAGE, EDGES = 3 * WIDTH * HEIGHT, WIDTH * HEIGHT


def start(frames):
    variables = {name: value for name, value in os.environ.items() if name not in ('LD_PRELOAD', 'RMW_IMPLEMENTATION')}
    return subprocess.Popen(
        [sys.executable, str(DEMO), '--build', BUILD, '--rmw', os.environ['RMW_LIBRARY'], '--frames', str(frames), '--rate', '50',
         '--size', f'{WIDTH}x{HEIGHT}', '--json'], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def folders():
    """Folders of demos of this user in shared memory."""
    return set(pathlib.Path('/dev/shm').glob(f'situ-demo-ros-{os.getuid()}-*'))


def children(pid):
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = path.read_text().rsplit(')', 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != 'Z':
            found.append(int(path.parent.name))
    return found


@unittest.skipUnless(BUILD and rmw_testing.is_situ(), 'the demo compares rmw_situ, and ROS_DEMO names its programs')
class Demo(unittest.TestCase):
    def test_each_run_arrives(self):
        demo = start(20)
        out, errors = demo.communicate(timeout=600)
        self.assertEqual(demo.returncode, 0, errors)
        result = json.loads(out)
        self.assertEqual(result['problems'], [])
        runs = result['runs']
        self.assertEqual([(run['middleware'], run['filter'], run['large_segment']) for run in runs], [
            ('rmw_situ', 'Situ', False), ('rmw_situ', 'rcl', False), ('rmw_fastrtps_cpp', 'rcl', False),
            ('rmw_fastrtps_cpp', 'rcl', True)])
        for run in runs:
            # A loaded machine may be late by more than the depth of the histories.
            self.assertLess(run['lost'], 20)
            self.assertLessEqual(run['p50_ns'], run['p99_ns'])
        if runs[0]['lost'] == 0:
            # rclpy copies an image into a message of C, and that is copied into shared memory. The edges are
            # copied into a message of C, which rclpy makes into one of Python by two more copies. The filter
            # copies nothing.
            self.assertAlmostEqual(runs[0]['bytes_copied_a_frame'], 2 * IMAGE + 3 * EDGES, delta=IMAGE / 10)
        if runs[0]['lost'] == runs[1]['lost'] == 0:
            # The filter on rcl has a message of its own.
            self.assertAlmostEqual(runs[1]['bytes_copied_a_frame'] - runs[0]['bytes_copied_a_frame'], EDGES, delta=EDGES / 10)
        self.assertGreater(runs[2]['bytes_copied_a_frame'], runs[1]['bytes_copied_a_frame'])
        self.assertFalse({folder for folder in folders() if folder.name.endswith(f'-{demo.pid}')})

    def test_a_killed_demo_leaves_no_process_and_the_next_one_cleans_up(self):
        demo = start(100_000)
        try:
            self.assertTrue(rmw_testing.until(lambda: len(children(demo.pid)) == 3), 'three processes')
            started = children(demo.pid)
        finally:
            demo.kill()
            demo.communicate()
        gone = rmw_testing.until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in started))
        self.assertTrue(gone, f'{started} still run')
        left = {folder for folder in folders() if folder.name.endswith(f'-{demo.pid}')}
        self.assertEqual(len(left), 1)
        demo = start(100_000)
        self.assertTrue(rmw_testing.until(lambda: not left & folders()), 'the folder of the killed one is removed')
        demo.send_signal(signal.SIGTERM)
        demo.communicate(timeout=rmw_testing.TIME_LIMIT)
        self.assertFalse({folder for folder in folders() if folder.name.endswith(f'-{demo.pid}')})


if __name__ == '__main__':
    rmw_testing.main()
