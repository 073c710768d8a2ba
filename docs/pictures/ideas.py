"""The pictures of the pages about ideas."""
from .canvas import Canvas


def overview():
    c = Canvas(720, 220, "Situ in one picture",
               "A publisher builds a message in shared memory. A reference of eight bytes goes into the ring of the "
               "topic. Subscribers read the message where it was built.")
    c.area(16, 20, 150, 180, "process", "publisher")
    c.area(214, 20, 290, 180, "zone", "shared memory")
    c.area(552, 20, 152, 80, "process", "subscriber")
    c.area(552, 120, 152, 80, "process", "subscriber")
    c.text(32, 86, "loan(), write", "code")
    c.text(32, 166, "publish()", "code")
    c.box(234, 58, 250, 48, "body", "the message", "built here, read here")
    c.text(234, 140, "topic: references", "small")
    c.cells(234, 148, 30, [(62, "part", "…"), (62, "part", "41"), (62, "body", "42"), (64, "part", "")])
    c.arrow("M140 82 H230")
    c.arrow("M108 162 H190 V190 H389 V181")
    c.text(110, 184, "8 bytes", "small")
    c.arrow("M389 148 V109")
    c.text(568, 80, "take()", "code")
    c.text(568, 180, "take()", "code")
    c.arrow("M564 76 H487")
    c.arrow("M564 176 H528 V92 H487")
    return c


def why():
    c = Canvas(720, 430, "One camera image and three readers, with and without copies",
               "With serialization an image is written five times: as a message, as bytes, and once for each of three "
               "readers. With Situ it is written once, in shared memory, and all readers map it.")
    c.text(16, 28, "With serialization: 5 times 6 MB for each image", "head")
    c.box(16, 44, 120, 150, "process")
    c.text(28, 66, "camera", "head")
    c.box(28, 82, 96, 34, "copy", "message")
    c.box(200, 82, 120, 34, "copy", "bytes")
    c.text(200, 74, "transport", "small")
    c.arrow("M124 99 H196", True)
    c.text(160, 92, "encode", "small", "middle")
    for at, name in enumerate(("filter", "recorder", "viewer")):
        y = 44 + at * 52
        c.box(480, y, 224, 44, "process")
        c.text(610, y + 27, name)
        c.box(492, y + 6, 106, 32, "copy", "message")
        c.arrow(f"M320 99 C400 99 400 {y + 22} 488 {y + 22}", True)
    c.text(200, 166, "copied and decoded", "small")
    c.text(200, 182, "once for each reader", "small")
    c.line("M16 216 H704", "grid")
    c.text(16, 246, "With Situ: 6 MB for each image", "head")
    c.box(16, 262, 120, 150, "process")
    c.text(28, 284, "camera", "head")
    c.text(28, 322, "writes")
    c.area(200, 262, 200, 150, "zone", "shared memory")
    c.box(216, 300, 168, 34, "body", "message")
    c.arrow("M76 317 H212", True)
    for at, name in enumerate(("filter", "recorder", "viewer")):
        y = 262 + at * 52
        c.box(480, y, 224, 44, "process")
        c.text(610, y + 27, name)
        c.text(492, y + 27, "reads in place", "small")
        c.arrow(f"M476 {y + 22} C430 {y + 22} 430 317 388 317")
    c.text(216, 366, "Orange arrow: the bytes", "small")
    c.text(216, 384, "are written once.", "small")
    return c


def storage():
    c = Canvas(720, 440, "One schema, three storages",
               "The same struct Scan as flat storage, one block with its parts inline; as heap storage, with vectors and "
               "strings elsewhere; and as ROS storage, the C struct of ROS with pointers into C's heap.")
    c.box(16, 20, 688, 44, "zone")
    c.text(360, 47, "struct Scan: stamp, frame_id, ranges, and picture, which is @bulk", "code", "middle")
    c.text(16, 100, "Scan<Flat>: one block of plain memory, read in place by Rust and C++", "head")
    c.cells(16, 112, 46, [(84, "part", "stamp"), (150, "body", "frame_id", "length, char[32]"),
                          (230, "body", "ranges", "length, float[64]"), (120, "part", "picture", "offset, count")])
    c.box(616, 112, 88, 46, "body", "body", "the bytes")
    c.arrow("M542 158 V176 H660 V161")
    c.text(16, 216, "Scan<Heap>: vectors and strings; travels as CDR", "head")
    c.cells(16, 228, 40, [(84, "part", "stamp"), (110, "part", "frame_id"), (110, "part", "ranges"), (110, "part", "picture")])
    for x, width, text in ((155, 90, '"front"'), (265, 150, "[1.0, 2.5, …]"), (435, 150, "[…]")):
        c.box(x - 24, 296, width, 28, "body", text)
    c.arrow("M155 268 V293")
    c.arrow("M265 268 V293")
    c.arrow("M375 268 C375 290 470 268 470 293")
    c.text(600, 315, "heap", "small")
    c.text(16, 360, "Scan<Ros>: the C struct of ROS 2, pointers into C's heap", "head")
    c.cells(16, 372, 46, [(84, "part", "stamp"), (200, "part", "frame_id", "pointer, size, capacity"),
                          (200, "part", "ranges", "pointer, size, capacity"), (204, "part", "picture", "pointer, size, capacity")])
    return c


def head_and_body():
    c = Canvas(720, 250, "Head and body of a message",
               "A slot holds a descriptor of 64 bytes, the head, and the body. In the head, a bulk field is an offset and a "
               "count. The body has exactly the size of this message, and may lie on a device.")
    c.text(16, 30, "a slot in the publisher's pool", "small")
    c.cells(16, 40, 60, [(120, "part", "descriptor", "sizes, time; 64 B"), (120, "part", "stamp", "head"),
                         (120, "part", "frame_id", "head"), (130, "body", "data", "offset 0, count n"),
                         (198, "body", "n elements", "body, aligned to 64")])
    c.arrow("M441 100 V124 H510 V103")
    c.line("M136 140 H506")
    c.line("M136 134 V146 M506 134 V146")
    c.text(321, 162, "head: the struct; always in host memory", "", "middle")
    c.line("M512 140 H704")
    c.line("M512 134 V146 M704 134 V146")
    c.text(608, 162, "body: bulk fields", "", "middle")
    c.box(120, 188, 240, 40, "process", "host memory")
    c.box(432, 188, 272, 40, "device", "host memory or a device")
    c.arrow("M240 170 V185")
    c.arrow("M608 170 V185")
    return c


def regions():
    c = Canvas(720, 270, "A region: growable data in one piece of memory",
               "A region begins with a header and the root struct. Containers in the root refer to their blocks by "
               "distances, which are the same at any address. Free space lies at the end, where the region grows.")
    c.text(16, 30, "region<Character>, at any address", "small")
    c.cells(16, 40, 54, [(70, "part", "header"), (50, "body", "id"), (80, "body", "name", '"Hero"'), (80, "body", "items"),
                         (80, "body", "skills"), (130, "part", "10 20 30 …", "block of items"),
                         (110, "part", "1054:3", "block of skills"), (88, "free", "free", "grows →")])
    c.arrow("M256 94 V126 H430 V97")
    c.text(300, 142, "+ 120 bytes", "small")
    c.arrow("M336 94 V112 H546 V97")
    c.text(470, 128, "+ 170 bytes", "small")
    c.box(16, 176, 210, 66, "process", "C++ edits it", "push_back, insert, erase")
    c.box(255, 176, 210, 66, "zone", "the bytes are the message", "sent as they are")
    c.box(494, 176, 210, 66, "process", "Rust edits it again", "after one check")
    c.arrow("M226 209 H251")
    c.arrow("M465 209 H490")
    return c


def ring():
    c = Canvas(720, 360, "A topic is a ring of references",
               "Each row holds lap, pool, slot and generation. Rows refer to slots in the pools of two publishers. Each "
               "subscriber has a cursor of its own. A publisher swaps its reference into the next row.")
    c.text(16, 30, "a topic's rows: lap · pool · slot · generation", "small")
    rows = ["lap 7", "lap 7", "lap 6", "lap 6", "lap 6", "lap 6", "lap 6", "lap 6"]
    xs = c.cells(16, 92, 42, [(86, "body" if r == "lap 7" else "part", r) for r in rows])
    c.text(xs[2] + 43, 56, "head: the next publish swaps here", "", "middle")
    c.arrow(f"M{xs[2] + 43} 62 V89")
    c.box(16, 208, 330, 54, "process")
    c.text(28, 231, "publisher 1:", "small")
    c.text(28, 248, "its pool", "small")
    c.cells(140, 216, 38, [(64, "body", "slot 0"), (64, "part", "slot 1"), (64, "body", "slot 2")])
    c.box(374, 208, 330, 54, "process")
    c.text(386, 231, "publisher 2:", "small")
    c.text(386, 248, "its pool", "small")
    c.cells(498, 216, 38, [(64, "part", "slot 0"), (64, "body", "slot 1"), (64, "part", "slot 2")])
    c.arrow(f"M{xs[0] + 43} 134 C{xs[0] + 43} 190 172 160 172 213")
    c.arrow(f"M{xs[1] + 43} 134 C{xs[1] + 43} 190 594 150 594 213")
    c.arrow(f"M{xs[5] + 43} 134 C{xs[5] + 43} 180 300 160 300 213")
    c.text(704, 180, "messages never move", "small", "end")
    c.box(100, 296, 230, 50, "zone", "subscriber A", "its cursor is at the head")
    c.box(410, 296, 230, 50, "zone", "subscriber B", "its cursor is 4 rows behind")
    c.arrow(f"M130 296 V280 H8 V76 H{xs[2] + 20} V89")
    c.arrow(f"M630 296 V280 H712 V146 H{xs[6] + 43} V137")
    return c


def holders():
    c = Canvas(720, 330, "How reader and owner of a slot exclude each other",
               "The reader writes the name of the slot into its ledger and then reads the generation. The owner raises the "
               "generation and then reads all ledgers. At least one of them sees the write of the other.")
    c.area(16, 16, 210, 150, "process", "reader")
    c.text(32, 66, "1  name the slot", "code")
    c.text(32, 126, "2  read the generation", "code")
    c.area(494, 16, 210, 150, "process", "owner")
    c.text(510, 66, "1  raise the generation", "code")
    c.text(510, 126, "2  read all ledgers", "code")
    c.area(264, 16, 192, 66, "zone", "control of a slot")
    c.box(280, 44, 160, 30, "part", "generation 8")
    c.area(264, 92, 192, 74, "zone", "ledger of the reader")
    c.cells(280, 122, 32, [(80, "body", "slot 3"), (40, "part", "0"), (40, "part", "0")])
    c.arrow("M180 62 H250 V138 H276")
    c.arrow("M224 122 H238 V52 H276")
    c.arrow("M504 62 H444")
    c.arrow("M504 122 H474 V138 H444")
    c.arrow("M121 166 V196")
    c.arrow("M599 166 V196")
    c.box(16, 200, 330, 50, "body", "generation as expected", "read the message")
    c.box(16, 262, 330, 50, "zone", "otherwise", "clear the name; the message is lost")
    c.box(374, 200, 330, 50, "body", "no ledger names it", "write the next message into the slot")
    c.box(374, 262, 330, 50, "zone", "otherwise", "take another slot; look again later")
    return c


def death():
    c = Canvas(720, 300, "What happens when a process dies",
               "A process is killed. The kernel closes its files, and its lock is gone. The first participant that detects "
               "it repairs: a waiting publisher, a node that starts, or a subscriber that finds no message.")
    c.box(16, 100, 150, 90, "dead", "killed process", "SIGKILL, anywhere")
    c.box(206, 100, 150, 90, "zone", "kernel", "drops its file lock")
    c.arrow("M166 145 H202")
    for at, (text, below) in enumerate((("a publisher that it blocks", "checks while it waits"),
                                        ("a subscriber without messages", "checks once a second"),
                                        ("a node that starts", "or the command situ clean"))):
        y = 20 + at * 90
        c.box(400, y, 230, 66, "process", text, below)
        c.arrow(f"M356 145 C380 145 376 {y + 33} 396 {y + 33}")
        c.arrow(f"M630 {y + 33} H668")
    c.box(672, 20, 32, 246, "body")
    c.add('<text transform="translate(683 143) rotate(90)" text-anchor="middle">repairs</text>')
    c.text(16, 226, "Repair: free its place and ledger,", "small")
    c.text(16, 244, "remove its files.", "small")
    c.text(16, 262, "The first that detects it does this.", "small")
    return c


def domains():
    c = Canvas(720, 330, "One copy for each further memory domain",
               "A camera publishes in host memory. Viewer and recorder read in place. The first subscriber on cuda:0 makes "
               "one copy of the body, which filter and detector share. On cuda:1 there is no subscriber and no copy.")
    c.area(16, 16, 300, 298, "process", "host")
    c.area(350, 16, 210, 298, "device", "cuda:0")
    c.area(594, 16, 110, 298, "zone", "cuda:1")
    c.cells(32, 108, 48, [(84, "part", "descriptor"), (60, "part", "head"), (124, "body", "body")])
    c.text(32, 62, "camera: loan, publish", "code")
    c.arrow("M100 70 V105")
    c.box(380, 108, 150, 48, "copy", "copy of the body")
    c.arrow("M300 132 H376", True)
    c.text(333, 120, "once", "small", "middle")
    for x, name in ((32, "viewer"), (174, "recorder")):
        c.box(x, 210, 126, 40, "part", name)
        c.arrow(f"M{x + 63} 210 V159")
    c.text(32, 276, "read in place: no copy", "small")
    for x, name in ((366, "filter"), (462, "detector")):
        c.box(x, 210, 84, 40, "part", name)
        c.arrow(f"M{x + 42} 210 V159")
    c.text(366, 276, "share the copy", "small")
    c.text(606, 130, "no subscriber,", "small")
    c.text(606, 148, "no copy", "small")
    return c


def ros():
    c = Canvas(720, 372, "An image on its way through rmw_situ",
               "The camera publishes an ordinary message: its pixels are copied once, into shared memory, behind the other "
               "members in CDR. A subscription that takes a loan gets a message whose vector points to these pixels. One that "
               "takes into a message of its own copies once more. A program of Situ and the tools read the same bytes.")
    c.text(16, 28, "An image on its way: one copy, or two", "head")
    c.area(16, 44, 168, 220, "process", "camera", "rclcpp, publish(image)")
    c.box(28, 100, 144, 34, "part", "Image")
    c.box(28, 134, 144, 34, "part", "header, width ...")
    c.box(28, 196, 144, 44, "copy", "pixels", "heap")
    c.arrow("M100 168 V192")
    c.area(244, 44, 212, 220, "zone", "shared memory", "topic camera/image, CDR")
    c.box(260, 100, 180, 34, "body", "header, width ...")
    c.box(260, 134, 180, 106, "body", "pixels", "each byte once")
    c.arrow("M172 218 C214 218 214 190 256 190", True)
    c.text(214, 252, "one copy", "small", "middle")
    c.area(516, 44, 188, 96, "process", "viewer", "takes a loan: no copy")
    c.box(528, 96, 164, 32, "part", "Image, vector")
    c.arrow("M528 112 C486 112 486 170 444 170")
    c.area(516, 152, 188, 96, "process", "recorder", "takes: one copy")
    c.box(528, 204, 164, 32, "copy", "Image, pixels")
    c.arrow("M440 200 C482 200 482 220 524 220", True)
    c.area(516, 260, 188, 62, "process", "situ topic echo", "reads in place")
    c.arrow("M516 292 C470 292 470 230 444 230")
    c.text(16, 300, "Orange arrows copy the pixels. Thin arrows point to them.", "small")
    c.text(16, 320, "Messages of fixed size lie in shared memory as they are:", "small")
    c.text(16, 338, "with loans at both ends, nothing is copied.", "small")
    return c


def draw():
    """Returns the pictures: name of the file, text of the SVG."""
    made = {"overview": overview, "why": why, "storage": storage, "head-and-body": head_and_body, "regions": regions,
            "ring": ring, "holders": holders, "death": death, "domains": domains, "ros": ros}
    return {f"{name}.svg": make().done() for name, make in made.items()}
