"""The plots of the page of numbers, from rows of the bench: `docs/numbers.json`."""
import json
import math
import pathlib

from .canvas import Canvas, number

HERE = pathlib.Path(__file__).resolve().parent

SIZES = {"64 B": 64, "1 KiB": 1 << 10, "4 KiB": 4 << 10, "16 KiB": 16 << 10, "64 KiB": 64 << 10, "256 KiB": 256 << 10,
         "1 MiB": 1 << 20, "4 MiB": 4 << 20, "8 MiB": 8 << 20}
# The same system has the same colour in every plot.
COLOURS = {"situ": "s0", "iceoryx2": "s1", "cyclonedds-loan": "s2", "cyclonedds": "s2", "fastdds-loan": "s3",
           "fastdds": "s3", "floor": "s5", "flatbuffers": "s1", "libprotobuf": "s1", "rmw_situ": "s0",
           "rmw_situ-sleeping": "s0", "rmw_fastrtps_cpp": "s3", "rmw_fastrtps_cpp-tuned": "s3"}


def duration(ns):
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{number(ns / size)} {unit}"
    return f"{number(ns)} ns"


def signed(ns):
    return ("−" if ns < 0 else "") + duration(abs(ns)) if ns else "0"


def rate(per_second):
    return f"{number(per_second / 1e6)} M/s"


class Rows:
    """The rows of the bench."""

    def __init__(self, path):
        self.rows = [json.loads(line) for line in path.read_text().splitlines()]

    def value(self, table, case, system, metric):
        found = [row["value"] for row in self.rows
                 if (row["table"], row["case"], row["system"], row["metric"]) == (table, case, system, metric)]
        assert len(found) == 1, (table, case, system, metric, found)
        return found[0]

    def systems(self, table, case, metric):
        return [(row["system"], row["value"]) for row in self.rows
                if (row["table"], row["case"], row["metric"]) == (table, case, metric)]


def lines(title, subtitle, series, low, high, note):
    """Times over sizes, both axes logarithmic. `series`: (name, class, [(case, ns)])."""
    width, height, left, right, top, bottom = 720, 412, 76, 568, 74, 340
    description = "; ".join(f"{name}: " + ", ".join(f"{case} {duration(ns)}" for case, ns in points)
                            for name, _, points in series)
    c = Canvas(width, height, title, description)
    c.text(16, 28, title, "head")
    c.text(16, 48, subtitle, "small")
    cases = [case for case, _ in max((points for _, _, points in series), key=len)]
    first, last = (math.log(SIZES[case]) for case in (cases[0], cases[-1]))

    def x(case):
        return left + (math.log(SIZES[case]) - first) / (last - first) * (right - left)

    def y(ns):
        return bottom - (math.log10(ns) - math.log10(low)) / (math.log10(high) - math.log10(low)) * (bottom - top)

    power = low
    while power <= high:
        c.line(f"M{left} {number(y(power))} H{right}", "grid")
        c.text(left - 8, y(power) + 4, duration(power), "small", "end")
        power *= 10
    for case in cases:
        c.line(f"M{number(x(case))} {top} V{bottom}", "grid")
        c.text(x(case), bottom + 18, case, "small", "middle")
    c.text((left + right) / 2, bottom + 40, "size of the message (logarithmic)", "small", "middle")
    c.add(f'<text class="small" text-anchor="middle" transform="translate(20 {(top + bottom) // 2}) rotate(-90)">'
          "time (logarithmic)</text>")
    # Names at the ends of the lines, moved apart.
    ends = sorted((y(points[-1][1]), name, kind) for name, kind, points in series)
    placed = []
    for at, name, kind in ends:
        at = max(at, placed[-1][0] + 17 if placed else top + 4)
        placed.append((at, name, kind))
    while placed[-1][0] > bottom + 4:
        placed = [(at - 4, name, kind) for at, name, kind in placed]
    for at, name, kind in placed:
        c.add(f'<text class="{kind}" style="stroke:none" x="{right + 12}" y="{number(at + 4)}">{name}</text>')
    for name, kind, points in series:
        path = " L".join(f"{number(x(case))} {number(y(ns))}" for case, ns in points)
        c.add(f'<path class="{kind} line" style="fill:none" d="M{path}"/>')
        for case, ns in points:
            c.add(f'<circle class="{kind}" cx="{number(x(case))}" cy="{number(y(ns))}" r="3"/>')
    c.text(16, height - 6, note, "small")
    return c


def bars(title, subtitle, groups, show, note, logarithmic=True):
    """Horizontal bars. `groups`: (heading, [(name, value, class)])."""
    left, right = 190, 600
    values = [value for _, items in groups for _, value, _ in items]
    low, high = (min(values) / 2 if logarithmic else 0), max(values)
    height = 66 + sum((28 if heading else 4) + 24 * len(items) for heading, items in groups) + 28
    description = "; ".join(f"{heading}: " + ", ".join(f"{name} {show(value)}" for name, value, _ in items)
                            for heading, items in groups)
    c = Canvas(720, height, title, description)
    c.text(16, 28, title, "head")
    c.text(16, 48, subtitle, "small")
    y = 66
    for heading, items in groups:
        if heading:
            c.text(16, y + 14, heading)
            y += 24
        for name, value, kind in items:
            share = math.log(value / low) / math.log(high / low) if logarithmic else value / high
            c.text(left - 10, y + 14, name, "small", "end")
            c.add(f'<rect class="{kind}" x="{left}" y="{y + 2}" width="{number(share * (right - left))}" height="16" rx="2"/>')
            c.text(left + share * (right - left) + 8, y + 15, show(value), "small")
            y += 24
        y += 4
    c.text(16, height - 10, note, "small")
    return c


def differences(title, panels, note):
    """Sorted differences with whiskers, logarithmic on both sides of zero. `panels`: (heading, [(low, middle, high)]), all
    in nanoseconds. The picture is as narrow as the columns of a page on a telephone."""
    left, right, tall, gap, top = 66, 428, 178, 40, 70
    everything = [value for _, dots in panels for dot in dots for value in dot]
    medians = [sorted(middle for _, middle, _ in dots) for _, dots in panels]
    c = Canvas(440, top + len(panels) * (tall + gap) + 24, title, "; ".join(
        f"{heading}: {sum(middle < 0 for middle in those)} of {len(those)} below zero, median {signed(those[len(those) // 2])}, "
        f"from {signed(those[0])} to {signed(those[-1])}" for (heading, _), those in zip(panels, medians)))
    c.text(16, 28, title, "head")
    c.text(16, 48, "Each dot is a graph: the median of its rounds; line: p10 to p90", "small")

    def scale(ns):
        return math.copysign(math.log10(1 + abs(ns) / 1e4), ns)

    ticks = [sign * 10 ** power for sign in (-1, 1) for power in range(5, 10)] + [0]
    low, high = (bound(everything, key=scale) for bound in (min, max))
    for at, (heading, dots) in enumerate(panels):
        above = top + at * (tall + gap) + 16

        def y(ns):
            return above + tall - (scale(ns) - scale(low)) / (scale(high) - scale(low)) * tall

        c.text(left, above - 8, heading)
        for tick in ticks:
            if low <= tick <= high:
                c.line(f"M{left} {number(y(tick))} H{right}", "grid" if tick else "arrow")
                c.text(left - 8, y(tick) + 4, signed(tick), "small", "end")
        step = (right - left - 12) / len(dots)
        for place, (under, middle, over) in enumerate(sorted(dots, key=lambda dot: dot[1])):
            x = number(left + 6 + (place + 0.5) * step)
            c.add(f'<path class="s5" d="M{x} {number(y(under))} V{number(y(over))}"/>')
            c.add(f'<circle class="s0" cx="{x}" cy="{number(y(middle))}" r="1.6"/>')
    c.text(16, c.height - 10, note, "small")
    return c


def named(pairs):
    return [(name, value, COLOURS.get(name, "s0" if name.startswith("situ") else "s5")) for name, value in pairs]


def hop(rows):
    cases = ["64 B", "1 KiB", "64 KiB", "1 MiB", "4 MiB"]
    series = [(system, COLOURS[system], [(case, rows.value("hop", case, system, "p50_ns")) for case in cases])
              for system in ("situ", "iceoryx2", "floor")]
    return lines("The time of a hop hardly depends on the size of the message", "median from process to process, busy polling, header touched",
                 series, 100, 1000, "floor: one cache line from core to core")


def bounded(rows):
    cases = ["1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "8 MiB"]
    kinds = {"situ": "s0", "iceoryx2": "s1", "cyclonedds": "s2", "fastdds": "s3", "cyclonedds-loan": "s4",
             "fastdds-loan": "s6", "floor": "s5"}
    series = [(system, kind, [(case, rows.value("bounded", case, system, "p50_ns")) for case in cases])
              for system, kind in kinds.items()]
    return lines("Write, send and receive a message", "median, from before the payload is written until it is received",
                 series, 100, 1e7, "floor: memset and one cache line. From 64 KiB on, filling the message takes most of the time.")


def throughput(rows):
    return bars("Lossless messages in a second", "median, one process to another",
                [(case, named((system, rows.value("throughput", case, system, "msg_per_s"))
                              for system in ("situ", "iceoryx2", "floor"))) for case in ("64 B", "4 KiB")],
                rate, "floor: a bare ring with one cursor. Bars begin at zero.", logarithmic=False)


def fanout(rows):
    return bars("Publishing costs the same for any number of subscribers", "median of the publisher's call",
                [(case, named((system, rows.value("fanout", case, system, "p50_ns")) for system in ("situ", "iceoryx2")))
                 for case in ("1 subscriber", "8 subscribers", "64 subscribers")],
                duration, "Bars begin at zero.", logarithmic=False)


def region(rows):
    pairs = sorted((pair for pair in rows.systems("region", "character", "mutate_send_ns") if pair[0] not in (
        "std", "std-rust", "boost", "xoffset")), key=lambda pair: pair[1])
    return bars("Change a received message and send it on", "median; a character of 3 KiB; checks or decoding included",
                [("", named(pairs))], duration, "Logarithmic. Left out: containers that send nothing, and an approach without checks.")


def region_bytes(rows):
    pairs = sorted((pair for pair in rows.systems("region", "character", "bytes") if pair[0] != "xoffset"),
                   key=lambda pair: pair[1])
    return bars("Bytes of the same message", "a character", [("", named(pairs))], lambda value: f"{value:.0f}",
                "Bars begin at zero.", logarithmic=False)


def protobuf(rows):
    return bars("Encode a protobuf message", "median, until the bytes are complete",
                [(heading, named(sorted(rows.systems("protobuf", case, "p50_ns"), key=lambda pair: pair[1])))
                 for heading, case in (("58 bytes", "simple"), ("239 bytes, nested three levels", "nested"))],
                duration, "Logarithmic. floor: copying the values alone.")


def graphs(rows):
    cases = [(f"graph {number:02}", f"graph {number:02}, all on the CPU") for number in range(98)]
    metrics = [f"difference_p{share}_ns" for share in (10, 50, 90)]
    panels = [(heading, [tuple(rows.value("graphs", pair[at], "situ-emulated", metric) for metric in metrics) for pair in cases])
              for at, heading in enumerate(("half of the nodes on the device", "all nodes on the CPU"))]
    return differences("98 graphs: Situ minus copies by hand", panels, "Below zero, Situ is faster. Logarithmic. Emulated device.")


def rmw(rows):
    cases = [("64 B", "64 B"), ("1 MiB of fixed size, loans at both ends", "1 MiB, loans"),
             ("Image of 1 MiB, published by reference, taken as a loan", "Image 1 MiB, loaned take"),
             ("the same, taken by copy", "Image 1 MiB"), ("request and reply of 64 B", "service 64 B")]
    return bars("A message from node to node in ROS 2", "median over rcl, two processes; half of a round trip, the request's is whole",
                [(heading, named(rows.systems("rmw", case, "p50_ns"))) for heading, case in cases],
                duration, "Logarithmic. floor: the copies alone, and a word that is polled. sleeping: RMW_SITU_SPIN_US=0.")


def rmw_nodes(rows):
    cases = ["100 nodes, one process", "100 nodes, 100 processes"]
    return bars("Start-up of 100 nodes of ROS 2", "from the start of the first process until each has found its two neighbours in a ring",
                [(case, named(rows.systems("rmw", case, "start_ns"))) for case in cases],
                duration, "Logarithmic. In 100 processes, rmw_fastrtps_cpp did not finish within 2 minutes.")


def quantity(row):
    """The value as the bench prints it in its tables; the page of protobuf has bare nanoseconds."""
    value, metric = row["value"], row["metric"]
    if row["table"] == "protobuf":
        return f" {number(value)} "
    if value < 0:
        return f" -{quantity({**row, 'value': -value}).strip()}"
    if metric.endswith("_ns"):
        if value < 1e3:
            return f" {value:.1f} ns" if value < 100 and value % 1 else f" {value:.0f} ns"
        return f"{value / 1e3:.2f} us" if value < 1e4 else f"{value / 1e3:.1f} us" if value < 1e6 else f"{value / 1e6:.2f} ms"
    if metric.startswith("msg_per_s"):
        return f"{value / 1e6:.2f} M/s"
    return f" {value:.2f}" if value % 1 else f" {value:.0f} "


def check_values(rows):
    """Fails if a row's value is not a figure of the pages: the plots and the tables must not disagree."""
    source = HERE.parent / "src"
    pages = {"region": "region-comparison.md", "protobuf": "protobuf.md", "graphs": "numbers-graphs.md", "rmw": "numbers-ros.md"}
    texts = {name: (source / name).read_text().replace("\n", " \n") for name in ("numbers.md", *pages.values())}
    for row in rows.rows:
        assert quantity(row) in texts[pages.get(row["table"], "numbers.md")], f"no page has {quantity(row)!r} of {row}"


def draw(path):
    """Returns the plots: name of the file, text of the SVG."""
    rows = Rows(path)
    check_values(rows)
    made = {"hop": hop, "bounded": bounded, "throughput": throughput, "fanout": fanout, "region-change": region,
            "region-bytes": region_bytes, "protobuf": protobuf, "graphs": graphs, "rmw": rmw, "rmw-nodes": rmw_nodes}
    return {f"numbers-{name}.svg": make(rows).done() for name, make in made.items()}
