#!/usr/bin/env python3
"""Works out spec/vectors/synchronizer/*.txt from the rules in spec/vectors/synchronizer/README.md.

Shares no code with Situ. Where Situ searches step by step, this script tries every combination of messages, and every
continuation that the rules allow, with exact arithmetic. Run it from anywhere; it writes the files.
"""

import itertools
import random
from fractions import Fraction
from pathlib import Path

OUT = Path(__file__).parent / "synchronizer"


class Model:
    """The queues: for each topic a list of (number, stamp). The numbers of a topic count its messages from 0."""

    def __init__(self, topics, queue):
        self.topics, self.queue = topics, queue
        self.queues = [[] for _ in range(topics)]
        self.arrived = [0] * topics
        self.last = [None] * topics
        self.sets, self.unmatched, self.overflowed, self.jumps = [], 0, 0, 0

    def arrive(self, topic, stamp):
        """Returns the sets that this message completes."""
        done = len(self.sets)
        if self.last[topic] is not None and stamp < self.last[topic]:
            self.jumps += 1
            self.unmatched += sum(map(len, self.queues))
            self.queues = [[] for _ in range(self.topics)]
            self.last = [None] * self.topics
            self.forget()
        self.last[topic] = stamp
        self.queues[topic].append((self.arrived[topic], stamp))
        self.arrived[topic] += 1
        self.settle()
        if len(self.queues[topic]) > self.queue:
            self.queues[topic].pop(0)
            self.overflowed += 1
            self.lost(topic)
            self.settle()
        return self.sets[done:]

    def emit(self, messages):
        """A set leaves the queues, and all that is before it in its topics."""
        for queue, message in zip(self.queues, messages):
            self.unmatched += queue.index(message)
            del queue[: queue.index(message) + 1]
        self.sets.append([number for number, _ in messages])

    def forget(self):
        pass

    def lost(self, topic):
        pass


class Exact(Model):
    def settle(self):
        while True:
            # A stamp that another topic has passed without having it cannot become a set.
            for queue in self.queues:
                if queue and self.is_hopeless(queue[0][1], queue):
                    queue.pop(0)
                    self.unmatched += 1
                    break
            else:
                stamps = set.intersection(*({stamp for _, stamp in queue} for queue in self.queues))
                if not stamps:
                    return
                self.emit([next(m for m in queue if m[1] == min(stamps)) for queue in self.queues])

    def is_hopeless(self, stamp, own):
        return any(
            queue is not own and last is not None and last > stamp and all(s != stamp for _, s in queue)
            for queue, last in zip(self.queues, self.last)
        )


class Approximate(Model):
    def __init__(self, topics, queue, penalty, interval, bounds):
        super().__init__(topics, queue)
        self.penalty, self.interval, self.bounds = Fraction(penalty), interval, bounds
        self.forget()

    def forget(self):
        self.pivot = None
        self.lossy = [False] * self.topics

    def lost(self, topic):
        self.lossy[topic] = True
        self.pivot = None

    def cost(self, messages):
        stamps = [stamp for _, stamp in messages]
        return max(stamps) * (1 + self.penalty) - min(stamps)

    def best(self, queues):
        """The cheapest set with the pivot; of equal ones the earliest."""
        topic, message = self.pivot
        choices = [[message] if index == topic else queue for index, queue in enumerate(queues)]
        order = lambda one: (self.cost(one), min(s for _, s in one), [n for n, _ in one])
        return min(itertools.product(*choices), key=order)

    def settle(self):
        while all(self.queues):
            if self.pivot is None and not self.choose_pivot():
                continue
            best = self.best(self.queues)
            for queue, message in zip(self.queues, best):
                self.unmatched += queue.index(message)
                del queue[: queue.index(message)]
            # The best that may still come: one more message on each topic, as near to the pivot as it can be.
            time = self.pivot[1][1]
            future = [
                queue + [(float("inf"), max(queue[-1][1] + bound, time))]
                for queue, bound in zip(self.queues, self.bounds)
            ]
            if self.cost(self.best(future)) < self.cost(best):
                return
            self.emit(best)
            self.pivot = None

    def choose_pivot(self):
        firsts = [queue[0] for queue in self.queues]
        stamps = [stamp for _, stamp in firsts]
        latest = max(range(self.topics), key=lambda topic: (stamps[topic], topic))
        self.lossy = [lossy and topic == latest for topic, lossy in enumerate(self.lossy)]
        too_long = self.interval is not None and max(stamps) - min(stamps) > self.interval
        if too_long or self.lossy[latest]:
            self.queues[stamps.index(min(stamps))].pop(0)
            self.unmatched += 1
            return False
        self.pivot = (latest, firsts[latest])
        return True


def write_case(out, name, policy, arrivals, expected=None):
    kind, *settings = policy
    model = {"exact": Exact, "approximate": Approximate}[kind](*settings)
    bounds = settings.pop() if kind == "approximate" else []
    words = [kind, *("none" if setting is None else setting for setting in settings), *bounds]
    print(f"case {name}", " ".join(map(str, words)), sep="\n", file=out)
    for topic, stamp in arrivals:
        print("message", topic, stamp, file=out)
        for numbers in model.arrive(topic, stamp):
            print("set", *numbers, file=out)
    print("end", *map(len, model.queues), model.unmatched, model.overflowed, model.jumps, "\n", file=out)
    assert expected is None or model.sets == expected, (name, model.sets)


def together(*topics):
    """Messages in the order of their stamps."""
    return sorted(((index, stamp) for index, stamps in enumerate(topics) for stamp in stamps), key=lambda m: m[1])


def exact(topics, queue):
    return ("exact", topics, queue)


def approximate(topics, queue=10, penalty="0", interval=None, bounds=None):
    return ("approximate", topics, queue, penalty, interval, bounds or [0] * topics)


# Name, policy, messages, and the sets, worked out by hand.
EXACT = [
    ("equal stamps", exact(2, 5), together([10, 20, 30], [10, 20, 30]), [[0, 0], [1, 1], [2, 2]]),
    ("one topic behind", exact(2, 5), [(0, 10), (0, 20), (0, 30), (1, 10), (1, 30)], [[0, 0], [2, 1]]),
    ("three topics, each drops one", exact(3, 5), together([10, 30, 40], [20, 30, 40], [10, 20, 40]), [[2, 2, 2]]),
    ("a silent topic", exact(2, 3), [(0, 10), (0, 20), (0, 30), (0, 40), (0, 50)], []),
    ("a silent topic wakes", exact(2, 2), [(0, 10), (0, 20), (0, 30), (1, 10), (1, 20), (1, 30)], [[1, 1], [2, 2]]),
    ("equal stamps on one topic", exact(2, 5), [(0, 10), (0, 10), (1, 10), (0, 20), (1, 10), (1, 20)],
     [[0, 0], [1, 1], [2, 2]]),
    ("the clock is set back", exact(2, 5), [(0, 100), (0, 110), (1, 100), (0, 10), (1, 10), (0, 20), (1, 20)],
     [[0, 0], [2, 1], [3, 2]]),
    ("one nanosecond apart", exact(2, 5), together([10, 20], [11, 21]), []),
    ("the largest stamps", exact(2, 5), [(0, -2**63), (1, 2**63 - 1), (0, 2**63 - 1)], [[1, 0]]),
]  # fmt: skip
APPROXIMATE = [
    ("two topics, a little apart", approximate(2), together([0, 100, 200], [3, 103, 203]), [[0, 0], [1, 1]]),
    ("equal stamps", approximate(2), together([0, 100], [0, 100]), [[0, 0], [1, 1]]),
    ("equal stamps on one topic", approximate(2), [(0, 0), (0, 0), (1, 0), (1, 0)], [[0, 0], [1, 1]]),
    # 40 is nearer to 50 than 0 is; 90 comes too late to be better.
    ("the second is nearer", approximate(2), [(0, 0), (1, 50), (0, 40), (0, 90)], [[1, 0]]),
    ("the first of two that are as near", approximate(2), [(0, 0), (1, 5), (0, 10)], [[0, 0]]),
    ("without a penalty the later is better", approximate(2), [(0, 0), (1, 10), (0, 19), (1, 30)], [[1, 0]]),
    ("with a penalty of 1/2 it is not", approximate(2, penalty="0.5"), [(0, 0), (1, 10), (0, 19)], [[0, 0]]),
    ("a bound proves it at once", approximate(2, bounds=[20, 20]), [(0, 0), (1, 10)], [[0, 0]]),
    ("a bound that is too small does not", approximate(2, bounds=[19, 19]), [(0, 0), (1, 10)], []),
    ("a set that is too long", approximate(2, interval=5), [(0, 0), (1, 6), (0, 10), (1, 11), (0, 20), (1, 30)],
     [[1, 1]]),
    ("as long as is allowed", approximate(2, interval=6), [(0, 0), (1, 6), (0, 20)], [[0, 0]]),
    ("a silent topic", approximate(2, queue=3), [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)], []),
    # Topic 1 might have been nearer to the dropped 0; topic 0, which lost messages, must not be the pivot.
    ("a full queue", approximate(2, queue=2), [(0, 0), (0, 10), (0, 20), (1, 5), (1, 15), (1, 21), (0, 30), (1, 40)],
     [[1, 1], [2, 2]]),
    ("the clock is set back", approximate(2), [(0, 100), (1, 101), (0, 0), (1, 102), (1, 1), (0, 50), (1, 51), (0, 99)],
     [[2, 3]]),
    ("late, but complete", approximate(3), [(0, 0), (0, 100), (0, 200), (1, 1), (1, 101), (2, 2), (2, 102), (1, 201)],
     [[0, 0, 0], [1, 1, 1]]),
    ("the largest stamps", approximate(2), [(0, -2**63), (1, 2**63 - 1), (0, 2**63 - 1)], [[1, 0]]),
]  # fmt: skip


def random_arrivals(rng, topics):
    """Periodic topics with jitter, losses and delays; in each topic in order. Some are set back once."""
    arrivals = []
    for topic in range(topics):
        stamp, period, delay = rng.randrange(20), rng.choice([3, 10, 10, 10, 20, 40]), rng.randrange(30)
        at = 0
        for _ in range(rng.randrange(0 if rng.random() < 0.1 else 2, 9)):
            at = max(at, stamp + delay + rng.randrange(10))
            arrivals.append((at, topic, stamp))
            stamp += max(0, period + rng.randrange(-period // 2, period // 2 + 1))
            stamp += period * rng.choice([0, 0, 0, 0, 1, 2])
    arrivals = [(topic, stamp) for _, topic, stamp in sorted(arrivals, key=lambda arrival: arrival[0])]
    if rng.random() < 0.15:
        arrivals += [(topic, stamp // 2) for topic, stamp in arrivals]
    return arrivals


def main():
    rng = random.Random(20)
    with open(OUT / "exact.txt", "w") as out:
        for name, policy, arrivals, sets in EXACT:
            write_case(out, name, policy, arrivals, sets)
        for number in range(60):
            topics = rng.choice([2, 2, 3, 4])
            arrivals = [(topic, stamp // 10) for topic, stamp in random_arrivals(rng, topics)]
            write_case(out, f"random {number}", exact(topics, rng.choice([1, 2, 4, 8])), arrivals)
    with open(OUT / "approximate.txt", "w") as out:
        for name, policy, arrivals, sets in APPROXIMATE:
            write_case(out, name, policy, arrivals, sets)
        for number in range(200):
            topics = rng.choice([2, 2, 2, 3, 3, 4])
            arrivals = random_arrivals(rng, topics)
            bounds = [rng.choice([0, gap_of(arrivals, topic)]) for topic in range(topics)]
            policy = approximate(
                topics,
                rng.choice([1, 2, 3, 5, 10]),
                rng.choice(["0", "0.1", "0.5", "1"]),
                rng.choice([None, None, 5, 12]),
                bounds if number % 2 else None,
            )
            write_case(out, f"random {number}", policy, arrivals)


def gap_of(arrivals, topic):
    """The least distance of two messages of a topic, which is a bound that holds."""
    stamps = [stamp for other, stamp in arrivals if other == topic]
    return max(0, min((b - a for a, b in itertools.pairwise(stamps) if b >= a), default=0))


if __name__ == "__main__":
    main()
