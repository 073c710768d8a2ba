"""Writes a recording of its own messages, and reads it: recording.py FILE."""

import sys

import situ

path = sys.argv[1]
# ANCHOR: write
Pose = situ.Schema(text="module robot { @flat struct Pose { double x; double y; }; };").find("robot::Pose").cls

with situ.RecordWriter(path, compression="zstd") as writer:
    writer.add_topic("robot/pose", Pose)
    writer.write("robot/pose", Pose(x=1.5, y=0.5))
# ANCHOR_END: write
# ANCHOR: read
with situ.open_record(path) as record:
    print(record.topics)
    for message in record.messages("robot/*"):
        print(message.log_time_ns, message.value.x)
# ANCHOR_END: read
