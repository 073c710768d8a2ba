#!/usr/bin/env python3
"""Table `python`: Situ's package beside others, between two processes that are bound to two cores.

    run.py [--json] [--full] [--cpus 2,3] [--systems NAME,NAME] [--steady N]

`build.sh` makes the environments. The systems take turns, A B C A B C, with new processes each time. A system
that is not installed or fails is absent from the case, and standard error has the reason. `--steady` measures
instead how the memory of two processes grows with that many messages of Situ.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from worker_process import Absent, WorkerProcess  # noqa: E402

BUILD = FOLDER.parent.parent / "build"
PEERS = BUILD / "python" / "peers" / "bin" / "python"
ROS = BUILD / "venv" / "bin" / "python"
LIMIT = 150.0
SYSTEMS = {"situ": PEERS, "iceoryx2": PEERS, "zenoh": PEERS, "cyclonedds": PEERS, "rclpy": ROS}
# What is imported without numpy, whose import is not the package's.
IMPORTS = {"situ": "situ", "iceoryx2": "iceoryx2", "zenoh": "zenoh", "cyclonedds": "cyclonedds.domain, cyclonedds.pub, cyclonedds.sub, cyclonedds.idl", "rclpy": "rclpy"}


class Pair:
    """Two workers of a system, on two cores."""

    runs = 0

    def __init__(self, system, kind, cores):
        Pair.runs += 1
        self.folder = tempfile.mkdtemp(prefix="situ-bench-python-", dir="/dev/shm")
        run = f"{os.getpid()}x{Pair.runs}"
        variables = dict(os.environ, SITU_ROOT=self.folder, BENCH_RUN=run, ROS_DOMAIN_ID="91", RUST_LOG="off")
        self.workers, self.run = [], run
        try:
            for which, core in (("first", cores[:1]), ("second", cores[1:2])):
                command = [SYSTEMS[system], FOLDER / "worker.py", system, kind, which]
                self.workers.append(WorkerProcess(f"{system} ({which} process)", command, core, variables, LIMIT))
                answer = self.workers[-1].answer()
                if answer != "ready":
                    raise Absent(f"{system} is not ready, but says {answer!r}")
            self.both("match 0", "match 0")
        except Absent:
            self.close()
            raise

    def both(self, first, second):
        self.workers[1].order(second)
        self.workers[0].order(first)
        return [json.loads(worker.answer()) for worker in self.workers]

    def close(self):
        for worker in self.workers:
            worker.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in pathlib.Path("/dev/shm").glob(f"bench-python-{self.run}-*"):
            path.unlink(missing_ok=True)


def percentile(samples, share):
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def hop(kind, count):
    def measure(system, cores):
        pair = Pair(system, kind, cores)
        try:
            pair.both(f"ping {max(10, count // 10)}", f"pong {max(10, count // 10)}")
            return pair.both(f"ping {count}", f"pong {count}")[0]
        finally:
            pair.close()

    return measure


def throughput(count):
    def measure(system, cores):
        pair = Pair(system, "small", cores)
        try:
            took = pair.both(f"send {count}", f"count {count}")[1]
            return [(count - 1) / (took / 1e9)]
        finally:
            pair.close()

    return measure


def importing(count):
    """Of fresh processes: the time of the import statement alone, by the interpreter's clock."""

    def measure(system, cores):
        code = f"import time; t = time.perf_counter_ns(); import {IMPORTS[system]}; print(time.perf_counter_ns() - t)"
        samples = []
        for _ in range(count):
            done = subprocess.run([str(SYSTEMS[system]), "-c", code], capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cores[:1]))
            if done.returncode != 0:
                raise Absent((done.stderr.strip().splitlines() or ["?"])[-1])
            samples.append(int(done.stdout))
        return samples

    return measure


def summary(metric, samples):
    if metric == "msg_per_s":
        return {"msg_per_s": statistics.median(samples), "msg_per_s_min": min(samples)}
    return {"p50_ns": percentile(samples, 0.5), "p99_ns": percentile(samples, 0.99)}


def shown(values):
    if "msg_per_s" in values:
        return f"{values['msg_per_s'] / 1e3:8.1f} k/s"
    return f"{values['p50_ns'] / 1e3:8.1f} us (p99 {values['p99_ns'] / 1e3:.1f})"


def arguments():
    parser = argparse.ArgumentParser(description="Table `python`.")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--full", action="store_true", help="measure longer")
    parser.add_argument("--cpus", help="two cores")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--steady", type=int, metavar="N", help="how memory grows with N messages of Situ")
    return parser.parse_args()


def main():
    options = arguments()
    cores = [int(it) for it in options.cpus.split(",")] if options.cpus else sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("python: the table needs two cores")
    if options.steady:
        pair = Pair("situ", "small", cores)
        try:
            grown = pair.both(f"steady {options.steady}", f"pong {options.steady}")[0]
        finally:
            pair.close()
        print(json.dumps({"table": "python", "case": "steady", "messages": options.steady, **grown}))
        return
    factor, rounds = (4, 8) if options.full else (1, 4)
    cases = [
        ("64 B", "ns", hop("small", 5000 * factor)),
        ("image 1080p", "ns", hop("image", 50 * factor)),
        ("messages/s", "msg_per_s", throughput(20000 * factor)),
        ("import", "ns", importing(5 * factor)),
    ]
    for case, metric, measure in cases:
        samples = {system: [] for system in options.systems.split(",")}
        for _ in range(rounds):
            for system in list(samples):
                try:
                    if not SYSTEMS[system].exists():
                        raise Absent(f"{SYSTEMS[system]} does not exist: bench/python/build.sh and `make test` make it")
                    samples[system] += measure(system, cores)
                except Absent as reason:
                    print(f"python: {system} is absent from `{case}`: {reason}", file=sys.stderr)
                    del samples[system]
        results = {system: summary(metric, them) for system, them in samples.items() if them}
        peers = [values for system, values in results.items() if system != "situ"]
        key = "msg_per_s" if metric == "msg_per_s" else "p50_ns"
        best = (max if metric == "msg_per_s" else min)((it[key] for it in peers), default=None)
        for system, values in results.items():
            if options.json:
                print(json.dumps({"table": "python", "case": case, "system": system, **{k: round(v) for k, v in values.items()}}), flush=True)
            else:
                ratio = f"   x{values[key] / best:.2f} of the best peer" if system == "situ" and best else ""
                print(f"{case:<12} {system:<11} {shown(values)}{ratio}", flush=True)


main()
