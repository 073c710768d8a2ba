"""One process of a case of table `python`: worker.py SYSTEM KIND first|second

It prints `ready`, and then answers orders on its standard input:

    ping N     sends N messages, each after the answer to the one before; prints half of the round trips in ns
    pong N     answers N messages
    send N     sends N messages, at most 64 more than the other side has reported
    count N    takes N messages, reports every 32, and prints the time from the first to the last in ns
    steady N   sends and takes N messages in turns; prints how memory and objects grew in the last nine tenths
    end
"""

import gc
import json
import sys
import time

from systems import SYSTEMS

LIMIT = 60.0
WINDOW, REPORT = 64, 32


def expect(system, number):
    """Takes until a message is there, which must have this number."""
    take, end, turns = system.take, time.monotonic() + LIMIT, 0
    while True:
        found = take()
        if found is not None:
            if found != number:
                raise RuntimeError(f"message {found} came in place of {number}")
            return
        turns += 1
        if turns % 4096 == 0 and time.monotonic() > end:
            raise RuntimeError(f"message {number} did not come within {LIMIT:.0f} s")


def ping(system, count):
    clock, samples = time.perf_counter_ns, []
    for number in range(count):
        begun = clock()
        system.send(number)
        expect(system, number)
        samples.append((clock() - begun) / 2)
    return samples


def pong(system, count):
    for number in range(count):
        expect(system, number)
        system.send(number)
    return None


def send(system, count):
    reported = 0
    for number in range(count):
        while number - reported * REPORT >= WINDOW:
            expect(system, reported)
            reported += 1
        system.send(number)
    while reported < count // REPORT:
        expect(system, reported)
        reported += 1
    return None


def count(system, count):
    expect(system, 0)
    begun = time.perf_counter_ns()
    for number in range(1, count):
        expect(system, number)
        if number % REPORT == REPORT - 1:
            system.send(number // REPORT)
    return time.perf_counter_ns() - begun


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def steady(system, count):
    first = max(1, count // 10)
    ping(system, 1)
    for number in range(1, first):
        system.send(number)
        expect(system, number)
    gc.collect()
    blocks, memory = sys.getallocatedblocks(), resident()
    for number in range(first, count):
        system.send(number)
        expect(system, number)
    gc.collect()
    return {"blocks": sys.getallocatedblocks() - blocks, "bytes": resident() - memory}


ORDERS = {"ping": ping, "pong": pong, "send": send, "count": count, "steady": steady}


def main():
    system = SYSTEMS[sys.argv[1]](sys.argv[2], sys.argv[3] == "first")
    print("ready", flush=True)
    for line in sys.stdin:
        order, _, number = line.strip().partition(" ")
        if order == "match":
            system.ready()
            print("null", flush=True)
        elif order == "end":
            break
        else:
            print(json.dumps(ORDERS[order](system, int(number))), flush=True)


main()
