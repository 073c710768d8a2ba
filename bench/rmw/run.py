#!/usr/bin/env python3
"""Table `rmw`: ROS 2's middleware side by side, over rcl and rclcpp, in processes bound to two cores.

    run.py [--json] [--full] [--cpus 2,3] [--only WORD] [--systems NAME,NAME]

All processes of a case start first, and its systems take turns, A B C A B C. A system that fails is absent
from the case, and standard error has the reason. The middleware of Situ is build/rmw/rmw_situ/librmw_situ.so,
or what RMW_SITU names; without it, its rows are absent. So are those of rclcpp without BENCH_RCLCPP, a built
rclcpp. Beside them runs Situ's own executor, where `make demo -- --ros` has installed Situ.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from worker_process import Absent, WorkerProcess  # noqa: E402

BUILD = FOLDER.parent.parent / 'build'
VENV = BUILD / 'venv'
PEER = BUILD / 'rmw-bench' / 'peer'
FLOOR = BUILD / 'rmw-bench' / 'floor'
RCLCPP = pathlib.Path(os.environ['BENCH_RCLCPP']).resolve() if os.environ.get('BENCH_RCLCPP') else None
RCLCPP_PEER = BUILD / 'rmw-bench' / 'rclcpp_peer'
SITU_PEER = BUILD / 'rmw-bench' / 'situ_peer' / 'situ_peer'
SITU = pathlib.Path(os.environ.get('RMW_SITU', BUILD / 'rmw' / 'rmw_situ' / 'librmw_situ.so'))
TIME_LIMIT = 120.0
SYSTEMS = ['floor', 'situ', 'situ-sleeping', 'rmw_situ', 'rmw_situ-sleeping', 'rmw_fastrtps_cpp', 'rmw_fastrtps_cpp-tuned']
# Situ's own executor.
OWN = ('situ', 'situ-sleeping')
OWN_NETWORK = 'SITU_BENCH_RMW_NETWORK'
MEMBERS = 50
CROWD = 100

# What a case measures: how, the message, and messages in a round.
PINGS = [
    ('64 B', 'plain:64', 2000),
    ('64 B, loans', 'loan:64', 2000),
    ('64 KiB, loans', 'loan:65536', 500),
    ('1 MiB, loans', 'loan:1048576', 200),
    ('16 MiB, loans', 'loan:16777216', 20),
    ('64 MiB, loans', 'loan:67108864', 5),
    ('Image 1 MiB', 'image:1048576', 100),
    ('Image 1 MiB, loaned take', 'image-loan:1048576', 100),
    ('Image 16 MiB, loaned take', 'image-loan:16777216', 10),
    ('Image 64 MiB, loaned take', 'image-loan:67108864', 4),
]
# The same through rclcpp's executor, and beside it through Situ's own.
RCLCPP_PINGS = [
    ('rclcpp 64 B', 'plain:64', 1000),
    ('rclcpp 64 KiB', 'plain:65536', 500),
    ('rclcpp 64 KiB, loans', 'plain-loan:65536', 500),
    ('rclcpp Image 1 MiB', 'image:1048576', 100),
    ('rclcpp Image 1 MiB, loaned take', 'image-take:1048576', 100),
    ('rclcpp Image 1 MiB, loans', 'image-loan:1048576', 100),
]
SINKS = [1, 2, 4, 8]


class Process(WorkerProcess):
    """One peer."""

    def __init__(self, system, core, arguments, variables):
        program = FLOOR if system == 'floor' else PEER
        name = f'{system} {" ".join(arguments[:2])}'
        if arguments[0].startswith('rclcpp-'):
            program = SITU_PEER if system in OWN else RCLCPP_PEER
            arguments = [arguments[0].removeprefix('rclcpp-'), *arguments[1:]]
        super().__init__(name, [program, *arguments], core, variables, TIME_LIMIT)

    def cpu(self):
        """Seconds on the CPU, of all threads."""
        fields = pathlib.Path(f'/proc/{self.process.pid}/stat').read_text().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def memory(self):
        """Bytes of memory that is not shared memory; pages that processes share count as their part of it."""
        lines = pathlib.Path(f'/proc/{self.process.pid}/smaps_rollup').read_text().splitlines()
        values = {line.split(':')[0]: int(line.split()[1]) for line in lines[1:]}
        return 1024 * (values['Pss_Anon'] + values['Pss_File'])


class Team:
    """The processes of one system in one case. The first has the first core, the others share the second.
    If they are spread, all have both."""

    def __init__(self, system, cores, members, is_spread=False):
        self.folder = tempfile.mkdtemp(prefix='situ-bench-rmw-', dir='/dev/shm')
        variables = environment(system, self.folder)
        self.members = []
        try:
            for number, arguments in enumerate(members):
                core = cores[:2] if is_spread else cores[:1] if number == 0 else cores[1:2]
                self.members.append(Process(system, core, arguments, variables))
            for member in self.members:
                if member.answer() != 'ready':
                    raise Absent(f'{member.name} is not ready')
        except Absent:
            self.close()
            raise

    def round(self, count):
        self.members[0].order(count)
        return [float(number) for number in self.members[0].answer().split()]

    def cpu(self):
        return sum(member.cpu() for member in self.members)

    def close(self):
        for member in self.members:
            member.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def environment(system, folder):
    variables = {name: value for name, value in os.environ.items() if not name.startswith(('FASTDDS', 'FASTRTPS'))}
    libraries = [BUILD / 'rmw-bench' / 'install' / 'lib', VENV / 'lib', *VENV.glob('lib/python*/site-packages/*.libs')]
    if RCLCPP:
        libraries += [RCLCPP, RCLCPP / 'install' / 'lib']
    variables.update(
        LD_LIBRARY_PATH=':'.join(map(str, libraries)), AMENT_PREFIX_PATH=f'{BUILD / "rmw-bench" / "install"}:{VENV}',
        ROS_DOMAIN_ID=str(random.randint(1, 100)), SITU_ROOT=folder,
        ROS_AUTOMATIC_DISCOVERY_RANGE='SUBNET' if OWN_NETWORK in os.environ else 'LOCALHOST',
        ROS_LOG_DIR=folder, ROS_DISABLE_LOANED_MESSAGES='0')
    if system == 'situ':
        variables['BUSY_WAIT_US'] = '50'  # as long as rmw_situ
    if system == 'rmw_situ-sleeping':
        variables['RMW_SITU_SPIN_US'] = '0'
    if system.startswith('rmw_situ'):
        variables.update(LD_PRELOAD=str(SITU), RMW_IMPLEMENTATION='rmw_situ')
    else:
        # The program is linked with rcl, and rcl with no middleware: this one comes with the packages.
        variables.update(RMW_IMPLEMENTATION='rmw_fastrtps_cpp')
    if system == 'rmw_fastrtps_cpp-udp':
        variables['FASTDDS_BUILTIN_TRANSPORTS'] = 'UDPv4'
    if system == 'rmw_fastrtps_cpp-tuned':
        profiles = str(FOLDER / 'tuned.xml')
        variables.update(FASTDDS_DEFAULT_PROFILES_FILE=profiles, FASTRTPS_DEFAULT_PROFILES_FILE=profiles,
                         RMW_FASTRTPS_USE_QOS_FROM_XML='1')
    return variables


def percentile(numbers, share):
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Table:
    def __init__(self, options, cores, systems):
        self.options, self.cores, self.systems = options, cores, systems
        self.rows = []
        self.rounds = 15 if options.full else 5

    def add(self, case, system, metric, value):
        self.rows.append((case, system, metric, value))
        if self.options.json:
            print(json.dumps({'table': 'rmw', 'case': case, 'system': system, 'metric': metric,
                              'value': round(value, 3)}, separators=(',', ':')), flush=True)

    def case(self, name, members, count, rounds=None):
        """Runs rounds in turns. Returns the answers of each system. The floor has the ping-pongs alone, and
        Situ's own executor those through rclcpp's."""
        if self.options.only and self.options.only not in name:
            return {}
        print(f'rmw: {name}', file=sys.stderr)
        teams, answers = {}, {}
        try:
            for system in self.systems:
                topic = f'/bench{random.getrandbits(32):08x}'
                first = 'ping' if system == 'floor' else 'rclcpp-ping' if system in OWN else None
                if first and members(topic)[0][0] != first:
                    continue
                try:
                    teams[system] = Team(system, self.cores, members(topic))
                    # Warms up.
                    teams[system].round(max(1, count // 5) if rounds is None else count)
                except Absent as reason:
                    print(f'rmw: {name}: {reason}', file=sys.stderr)
                    if system in teams:
                        teams.pop(system).close()
            for _ in range(self.rounds if rounds is None else rounds):
                for system in list(teams):
                    before = teams[system].cpu(), time.monotonic()
                    try:
                        answer = teams[system].round(count)
                    except Absent as reason:
                        print(f'rmw: {name}: {reason}', file=sys.stderr)
                        teams.pop(system).close()
                        answers.pop(system, None)
                        continue
                    cpu = (teams[system].cpu() - before[0]) / (time.monotonic() - before[1])
                    answers.setdefault(system, []).append((answer, cpu))
        finally:
            for team in teams.values():
                team.close()
        return answers

    def latencies(self, name, members, count):
        for system, rounds in self.case(name, members, count).items():
            numbers = [number for answer, _ in rounds for number in answer]
            self.add(name, system, 'p50_ns', percentile(numbers, 0.5))
            self.add(name, system, 'p99_ns', percentile(numbers, 0.99))

    def run(self):
        for name, kind, count in PINGS:
            self.latencies(name, lambda topic, kind=kind: [['ping', kind, topic], ['pong', kind, topic]], count)
        self.latencies('service 64 B', lambda topic: [['client', 'service', topic], ['server', 'service', topic]], 1000)
        if RCLCPP and RCLCPP_PEER.exists():
            for name, kind, count in RCLCPP_PINGS:
                self.latencies(name, lambda topic, kind=kind: [['rclcpp-ping', kind, topic],
                                                               ['rclcpp-pong', kind, topic]], count)
        for sinks in SINKS:
            name = f'64 KiB to {sinks}'

            def members(topic, sinks=sinks):
                return [['source', 'plain:65536', topic, str(sinks)],
                        *(['sink', 'plain:65536', topic, str(number)] for number in range(sinks))]

            for system, rounds in self.case(name, members, 1600).items():
                self.add(name, system, 'msg_per_s', percentile([1600e9 / answer[0] for answer, _ in rounds], 0.5))
        # 1080p, three bytes a pixel.
        image = f'image-loan:{1920 * 1080 * 3}'
        name, count = 'camera 1080p to 4', 90
        for system, rounds in self.case(name, lambda topic: [['camera', image, topic, '4'], *[['viewer', image, topic]] * 4],
                                        count, 1 if not self.options.full else 3).items():
            self.add(name, system, 'cpu_cores', percentile([cpu for _, cpu in rounds], 0.5))
            self.add(name, system, 'arrived_share', percentile([answer[0] / (4 * count) for answer, _ in rounds], 0.5))
        self.discovery()
        if self.options.full:
            self.crowd()

    def discovery(self):
        name = f'discovery of {MEMBERS} nodes'
        if self.options.only and self.options.only not in name:
            return
        print(f'rmw: {name}', file=sys.stderr)
        for system in self.systems:
            # As tuned, each process of Fast DDS has 512 MiB of shared memory.
            if system in ('floor', *OWN) or system.endswith('-tuned'):
                continue
            topic = f'/bench{random.getrandbits(32):08x}'
            team = None
            try:
                members = [['member', 'discovery', topic, str(MEMBERS)]] * MEMBERS
                team = Team(system, self.cores, members, is_spread=True)
                begin = time.monotonic_ns()
                for member in team.members:
                    member.order('go')
                end = max(int(member.answer()) for member in team.members)
                self.add(name, system, 'p50_ns', end - begin)
            except Absent as reason:
                print(f'rmw: {name}: {reason}', file=sys.stderr)
            finally:
                if team is not None:
                    team.close()

    def crowd(self):
        """A ring of nodes, in one process and in as many: the time until all have matched, and the memory."""
        for processes in (1, CROWD):
            name = f'{CROWD} nodes, {"one process" if processes == 1 else f"{processes} processes"}'
            if self.options.only and self.options.only not in name:
                continue
            print(f'rmw: {name}', file=sys.stderr)
            for system in self.systems:
                # As tuned, each process of Fast DDS has 512 MiB of shared memory.
                if system in ('floor', *OWN, 'rmw_situ-sleeping') or (processes > 1 and system.endswith('-tuned')):
                    continue
                topic, share = f'/bench{random.getrandbits(32):08x}', CROWD // processes
                before, team = shared_files(), None
                try:
                    begin = time.monotonic_ns()
                    members = [['crowd', str(share), topic, str(CROWD), str(number * share)]
                               for number in range(processes)]
                    team = Team(system, self.cores, members, is_spread=True)
                    for member in team.members:
                        member.order('go')
                    end = max(int(member.answer()) for member in team.members)
                    private = sum(member.memory() for member in team.members)
                    shared = sum(occupied(path) for path in [pathlib.Path(team.folder), *(shared_files() - before)])
                    self.add(name, system, 'start_ns', end - begin)
                    self.add(name, system, 'private_bytes', private / CROWD)
                    self.add(name, system, 'shared_bytes', shared / CROWD)
                except Absent as reason:
                    print(f'rmw: {name}: {reason}', file=sys.stderr)
                finally:
                    if team is not None:
                        team.close()

    def show(self):
        """The table for people."""
        names = [system for system in self.systems if any(row[1] == system for row in self.rows)]
        print(f'{"case":<28}{"metric":<14}' + ''.join(f'{name:>24}' for name in names))
        for case, metric in dict.fromkeys((row[0], row[2]) for row in self.rows):
            values = {row[1]: row[3] for row in self.rows if (row[0], row[2]) == (case, metric)}
            cells = [f'{values[name]:>24,.2f}' if name in values else f'{"-":>24}' for name in names]
            print(f'{case:<28}{metric:<14}' + ''.join(cells))


def enter_network():
    """Starts this program again in a network namespace with nothing but a loopback interface.

    There, ROS's usual range of discovery is this machine. Its range LOCALHOST is not enough for the rows with
    many processes: Fast DDS then looks for some only.
    """
    if OWN_NETWORK in os.environ:
        return
    unshare = ['unshare', '--net', *([] if os.geteuid() == 0 else ['--user', '--map-root-user'])]
    try:
        subprocess.run([*unshare, 'ip', 'link', 'set', 'lo', 'up'], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as reason:
        print(f'rmw: no network namespace ({reason}): of many processes, rmw_fastrtps_cpp finds some', file=sys.stderr)
        return
    start = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh', sys.executable, *sys.argv]
    os.execvpe('unshare', [*unshare, *start], {**os.environ, OWN_NETWORK: '1'})


def occupied(path):
    """The memory of a file in shared memory, or of all files of a folder."""
    files = [path, *path.rglob('*')] if path.is_dir() else [path]
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file())


def shared_files():
    """Fast DDS's files in shared memory."""
    return {path for pattern in ('fastdds_*', 'fastrtps_*', 'fast_datasharing_*', 'sem.fastdds*')
            for path in pathlib.Path('/dev/shm').glob(pattern)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--cpus', type=lambda text: [int(number) for number in text.split(',')])
    parser.add_argument('--only', metavar='WORD', help='only cases with this in their name')
    parser.add_argument('--systems', type=lambda text: text.split(','), default=SYSTEMS)
    options = parser.parse_args()
    if not PEER.exists():
        print('rmw: its programs are not built (bench/rmw/build.sh gives the reason)', file=sys.stderr)
        return
    enter_network()
    cores = options.cpus or sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit('rmw: two cores are needed')
    systems = [system for system in options.systems
               if (not system.startswith('rmw_situ') or SITU.exists()) and (system not in OWN or SITU_PEER.exists())]
    if 'rmw_situ' in options.systems and 'rmw_situ' not in systems:
        print(f'rmw: rmw_situ is absent: there is no {SITU} (scripts/rmw.sh builds it)', file=sys.stderr)
    # Keeps idle cores awake, as the other tables do.
    awake = None
    try:
        awake = os.open('/dev/cpu_dma_latency', os.O_WRONLY)
        os.write(awake, bytes(4))
    except OSError:
        print('rmw: the kernel does not keep the cores awake for this program', file=sys.stderr)
    before = shared_files()
    table = Table(options, cores, systems)
    try:
        table.run()
    finally:
        # Peers are killed at the end of a case. Fast DDS then leaves segments of hundreds of megabytes.
        for path in shared_files() - before:
            path.unlink(missing_ok=True)
    if not options.json:
        table.show()
    if awake is not None:
        os.close(awake)


main()
