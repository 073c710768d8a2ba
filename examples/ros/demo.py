"""A camera and a viewer in rclpy with a filter in C++ between them, on Situ and on ROS's default middleware.

    demo.py --build FOLDER --rmw LIBRARY [--frames N] [--rate HZ] [--size WIDTHxHEIGHT] [--json]

Runs the three processes once for each row of the table. FOLDER has what CMakeLists.txt built; LIBRARY is
librmw_situ.so. scripts/demo-ros.sh builds both and starts this.
"""
import argparse
import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import queue
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

FOLDER = pathlib.Path(__file__).resolve().parent
SHM = pathlib.Path('/dev/shm')
# For whatever should happen soon: the machine may be slow and loaded.
TIME_LIMIT = 60.0
WARM_UP = 10
# After this time without an image, the missing ones are lost.
QUIET = 5.0
PR_SET_PDEATHSIG = 1
# The middleware, the filter, and whether Fast DDS has the segment of shared memory that the images need.
RUNS = [('rmw_situ', 'Situ', False), ('rmw_situ', 'rcl', False), ('rmw_fastrtps_cpp', 'rcl', False),
        ('rmw_fastrtps_cpp', 'rcl', True)]


class Failed(Exception):
    """A run has no result; the text says why."""


class Process:
    """A process of the demo. It dies with this one."""

    def __init__(self, name, command, variables, folder):
        self.name = name
        self.copies_file = folder / f'{name}.copies'
        self.copies_file.write_bytes(bytes(8))
        self.errors_file = folder / f'{name}.errors'
        variables = dict(variables, SITU_DEMO_COPIES=str(self.copies_file))
        parent = os.getpid()
        prctl = ctypes.CDLL(None).prctl

        def die_with_parent():
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        with open(self.errors_file, 'w') as errors:
            self.process = subprocess.Popen([str(part) for part in command], env=variables, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
                                            preexec_fn=die_with_parent)
        with open(self.copies_file, 'rb') as file:
            self.copies = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def line(self, limit=TIME_LIMIT):
        """Its next line; None if none comes within the limit."""
        try:
            line = self.lines.get(timeout=limit)
        except queue.Empty:
            return None
        if line is None:
            raise Failed(f'the {self.name} ended with {self.process.wait()}: {self.errors()}')
        return line

    def expect(self, word, limit=TIME_LIMIT):
        line = self.line(limit)
        if line != word:
            raise Failed(f'the {self.name} did not say "{word}" within {limit:.0f} s: {self.errors()}')

    def errors(self):
        return self.errors_file.read_text()[-2000:].strip() or 'no message'

    def tell(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()

    def used(self):
        """Seconds on the CPU of all its threads, and bytes copied."""
        fields = pathlib.Path(f'/proc/{self.process.pid}/stat').read_text().rsplit(')', 1)[1].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
        return cpu, int.from_bytes(self.copies[:8], sys.byteorder)

    def close(self):
        """Lets it end by itself for a moment, and kills it if it does not."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.copies.close()


def segments():
    """Fast DDS's files in shared memory."""
    return {path for pattern in ('fastdds_*', 'fastrtps_*', 'fast_datasharing_*', 'sem.fastdds*') for path in SHM.glob(pattern)}


def remove_segments(before):
    """Removes files of Fast DDS that are new and that no process has mapped: killed processes leave them."""
    mapped = set()
    for path in pathlib.Path('/proc').glob('[0-9]*/maps'):
        with contextlib.suppress(OSError):
            mapped.update(line.split(None, 5)[5] for line in path.read_text().splitlines() if '/dev/shm/' in line)
    for path in segments() - before:
        if str(path) not in mapped:
            path.unlink(missing_ok=True)


def make_folder():
    """A folder for one run of the demo, in shared memory. Removes those of demos that were killed."""
    prefix = f'situ-demo-ros-{os.getuid()}-'
    place = SHM if SHM.is_dir() else pathlib.Path('/tmp')
    for old in place.glob(prefix + '*'):
        number = old.name.removeprefix(prefix)
        if number.isdigit() and not os.path.exists(f'/proc/{number}'):
            shutil.rmtree(old, ignore_errors=True)
    folder = place / f'{prefix}{os.getpid()}'
    folder.mkdir(mode=0o700)
    return folder


def profile(folder, size):
    """Fast DDS with a segment for some images, in place of 512 KB, and larger messages than 64 KB."""
    path = folder / 'segment.xml'
    path.write_text(f'''<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com"><profiles>
  <transport_descriptors><transport_descriptor>
    <transport_id>shm</transport_id><type>SHM</type>
    <segment_size>{16 * size}</segment_size><maxMessageSize>{2 * size}</maxMessageSize>
  </transport_descriptor></transport_descriptors>
  <participant profile_name="shm" is_default_profile="true"><rtps>
    <userTransports><transport_id>shm</transport_id></userTransports>
    <useBuiltinTransports>false</useBuiltinTransports>
  </rtps></participant>
</profiles></dds>
''')
    return path


def environment(options, middleware, large, folder, size):
    prefix = pathlib.Path(sys.prefix)
    libraries = [prefix / 'lib', *prefix.glob('lib/python*/site-packages/*.libs')]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(('FASTDDS', 'FASTRTPS', 'RMW_'))}
    domain = str(random.randint(1, 100))
    preload = [options.build / 'libcopies.so'] + ([options.rmw] if middleware == 'rmw_situ' else [])
    variables.update(
        LD_LIBRARY_PATH=':'.join(map(str, libraries)), AMENT_PREFIX_PATH=str(prefix), LD_PRELOAD=':'.join(map(str, preload)),
        RMW_IMPLEMENTATION=middleware, ROS_DOMAIN_ID=domain, SITU_DOMAIN=domain, SITU_ROOT=str(folder / 'situ'),
        ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST', ROS_LOG_DIR=str(folder), ROS_DISABLE_LOANED_MESSAGES='0',
        PYTHONDONTWRITEBYTECODE='1')
    if large:
        path = str(profile(folder, size))
        variables.update(FASTDDS_DEFAULT_PROFILES_FILE=path, FASTRTPS_DEFAULT_PROFILES_FILE=path)
    return variables


def run(options, middleware, filter_kind, large, folder):
    """One row of the table."""
    width, height = options.size
    size = 3 * width * height
    variables = environment(options, middleware, large, folder, size)
    token = f'demo{random.getrandbits(32):08x}'
    image, edges = f'{token}/image', f'{token}/edges'
    (folder / 'situ').mkdir(mode=0o700, exist_ok=True)
    load = 'import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).run(*[name.encode() for name in sys.argv[2:]]))'
    commands = {
        'viewer': [sys.executable, FOLDER / 'viewer.py', '/' + edges, width * height],
        'filter': ([options.build / 'filter', image, edges] if filter_kind == 'Situ' else
                   [sys.executable, '-c', load, options.build / 'libfilter_rcl.so', '/' + image, '/' + edges]),
        'camera': [sys.executable, FOLDER / 'camera.py', '/' + image, width, height, options.rate],
    }
    processes = {}
    try:
        for name, command in commands.items():
            processes[name] = Process(name, command, variables, folder)
        for process in processes.values():
            process.expect('ready')
        camera, viewer = processes['camera'], processes['viewer']
        first = WARM_UP

        def publish(count, last):
            """Has the camera publish. Returns what the viewer saw until the last one, or until none comes."""
            late = {}
            camera.tell(str(count))
            camera.expect('published', TIME_LIMIT + count / options.rate)
            while last not in late:
                line = viewer.line(QUIET)
                if line is None:
                    break
                number, nanoseconds = line.split()
                late[int(number)] = int(nanoseconds)
            return late

        publish(WARM_UP, WARM_UP - 1)
        before = [process.used() for process in processes.values()]
        late = publish(options.frames, first + options.frames - 1)
        after = [process.used() for process in processes.values()]
    finally:
        for process in processes.values():
            process.close()
    late = sorted(value for number, value in late.items() if number >= first)
    if not late:
        raise Failed('no image arrived at the viewer')
    cpu = sum(end[0] - begin[0] for begin, end in zip(before, after))
    copied = sum(end[1] - begin[1] for begin, end in zip(before, after)) / options.frames
    return {'middleware': middleware, 'filter': filter_kind, 'large_segment': large, 'frames': options.frames,
            'lost': options.frames - len(late), 'p50_ns': late[len(late) // 2], 'p99_ns': late[int(0.99 * len(late))],
            'bytes_copied_a_frame': round(copied), 'copies': round(copied / (size + width * height), 2),
            'cpu_ns_a_frame': round(1e9 * cpu / options.frames)}


def shown(nanoseconds):
    return f'{nanoseconds / 1e6:.3g} ms' if nanoseconds < 1e9 else f'{nanoseconds / 1e9:.3g} s'


def parse():
    parser = argparse.ArgumentParser(prog='make demo -- --ros', description=__doc__.split('\n')[0])

    def size(text):
        width, height = (int(number) for number in text.split('x'))
        if not (3 <= width <= 8192 and 3 <= height <= 8192):
            raise ValueError
        return width, height

    def positive(text, of=int):
        number = of(text)
        if not 0 < number < 1e6:
            raise ValueError
        return number

    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument('--rmw', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument('--frames', type=positive, default=100, help='images that are measured (100)')
    parser.add_argument('--rate', type=lambda text: positive(text, float), default=30.0, help='images a second (30)')
    parser.add_argument('--size', type=size, default=(640, 480), metavar='WIDTHxHEIGHT', help='pixels of an image (640x480)')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    return parser.parse_args()


def main():
    options = parse()
    # So that `finally` runs.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    width, height = options.size
    print(f'demo: camera (rclpy) -> filter (C++) -> viewer (rclpy), {options.frames} images of {width} x {height} at '
          f'{options.rate:g} Hz', file=sys.stderr)
    before = segments()
    folder = make_folder()
    rows, problems = [], []
    try:
        for middleware, filter_kind, large in RUNS:
            name = f'{middleware}, filter on {filter_kind}{", large segment" if large else ""}'
            print(f'demo: {name}', file=sys.stderr)
            try:
                rows.append(run(options, middleware, filter_kind, large, folder))
            except (Failed, OSError) as problem:
                problems.append(f'{name}: {problem}')
    finally:
        remove_segments(before)
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps({'width': width, 'height': height, 'rate_hz': options.rate, 'runs': rows, 'problems': problems}))
    elif rows:
        print(f'\n{"MIDDLEWARE":<19}{"FILTER":<8}{"LOST":>5}{"P50":>10}{"P99":>10}{"COPIES":>8}{"COPIED":>10}{"CPU":>9}')
        for row in rows:
            middleware = row['middleware'] + (' *' if row['large_segment'] else '')
            print(f'{middleware:<19}{"on " + row["filter"]:<8}{row["lost"]:>5}{shown(row["p50_ns"]):>10}{shown(row["p99_ns"]):>10}'
                  f'{row["copies"]:>8.1f}{row["bytes_copied_a_frame"] / 1e6:>7.2f} MB{shown(row["cpu_ns_a_frame"]):>9}')
        print('\nP50, P99: from the camera\'s stamp to the viewer\'s callback. COPIES: how often each byte\n'
              'of both images was copied by memcpy in the three processes; COPIED, CPU: their sum for\n'
              'a frame. *: with a segment of shared memory that holds the images, which Fast DDS does\n'
              'not have by default.')
    for problem in problems:
        print(f'demo: {problem}', file=sys.stderr)
    return 1 if problems else 0


sys.exit(main())
