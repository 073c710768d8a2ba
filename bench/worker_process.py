"""A process of a system that is measured: it takes orders on its standard input, and answers each with a line."""

import os
import queue
import subprocess
import tempfile
import threading


class Absent(Exception):
    """A system cannot do a case."""


class WorkerProcess:
    """One process, bound to cores. It is killed at the end. `limit` is how long it may take for an answer."""

    def __init__(self, name, command, cores, variables, limit):
        self.name, self.limit = name, limit
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [str(it) for it in command],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def order(self, what):
        try:
            self.process.stdin.write(f"{what}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # It has ended, which `answer` tells.

    def answer(self):
        try:
            line = self.lines.get(timeout=self.limit)
        except queue.Empty:
            raise Absent(f"{self.name} did not answer within {self.limit:.0f} s") from None
        if line is None:
            self.process.wait()
            self.errors.seek(0)
            lines = self.errors.read().strip().splitlines() or [""]
            raise Absent(f"{self.name} ended with {self.process.returncode}: {lines[-1][:300]}")
        return line.strip()

    def close(self):
        self.process.kill()
        self.process.wait()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.errors.close()
