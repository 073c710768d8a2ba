//! `situ proto print` and `situ proto parse`, beside Google's protobuf for Python.

mod common;

use std::path::Path;
use std::process::Command;

use common::Sandbox;

const ROBOT: &str = r#"
syntax = "proto2";
package robot;
enum Mode { OFF = 0; SLOW = 3; FAST = -7; }
message Pose {
  optional double x = 1;
  optional float y = 2;
  optional int32 a = 3;
  optional sint64 b = 4;
  optional fixed64 c = 5;
  optional bool d = 6;
  optional string name = 7;
  optional bytes raw = 8;
  optional Mode mode = 9;
  repeated int32 numbers = 10;
  repeated uint64 packed = 11 [packed = true];
  repeated Pose children = 12;
  map<string, Pose> by_name = 13;
  map<int32, double> by_number = 14;
  oneof choice { string text = 15; Pose pose = 16; }
  optional group Place = 17 { optional int32 row = 1; }
  repeated Mode modes = 18;
  extensions 100 to 199;
}
message Label { extend Pose { optional Label label = 101; } optional string words = 1; }
extend Pose { repeated int32 more = 100; }
"#;

/// Random messages of Google's implementation. It compares its own with what `situ` makes of them.
const PEER: &str = r#"
import random, subprocess, sys
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

situ, proto, descriptors = sys.argv[1:]
sources = [["--proto", proto], ["--descriptors", descriptors]]
files = descriptor_pb2.FileDescriptorSet()
files.ParseFromString(open(descriptors, "rb").read())
pool = descriptor_pool.DescriptorPool()
for file in files.file:
    pool.Add(file)
Pose = message_factory.GetMessageClass(pool.FindMessageTypeByName("robot.Pose"))
extensions = pool.FindAllExtensions(Pose.DESCRIPTOR)
chance = random.Random(7)

def value(field, depth):
    kind = field.type
    if kind in (field.TYPE_MESSAGE, field.TYPE_GROUP):
        whole = message_factory.GetMessageClass(field.message_type)()
        fill(whole, depth + 1)
        return whole
    if kind == field.TYPE_ENUM:
        return chance.choice(field.enum_type.values).number
    if kind == field.TYPE_BOOL:
        return chance.random() < 0.5
    if kind == field.TYPE_STRING:
        return "".join(chance.choice('ab"\'\\\n\tä€😀{}<>[]# \x01') for _ in range(chance.randrange(8)))
    if kind == field.TYPE_BYTES:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(8)))
    if kind == field.TYPE_DOUBLE:
        return chance.choice([0.0, -0.0, 1.5, -2e300, 5e-324, float("inf"), float("-inf"), chance.random()])
    if kind == field.TYPE_FLOAT:
        return chance.choice([0.0, 1.5, -2.0**100, float("inf"), 0.25])
    if kind == field.TYPE_INT32:
        return chance.choice([0, 1, -1, 2**31 - 1, -(2**31)])
    if kind == field.TYPE_SINT64:
        return chance.choice([0, 1, -1, 2**63 - 1, -(2**63)])
    return chance.choice([0, 1, 2**64 - 1])

def fill(message, depth):
    fields = list(message.DESCRIPTOR.fields)
    if message.DESCRIPTOR.full_name == "robot.Pose":
        fields += extensions
    for field in fields:
        if chance.random() < (0.6 if depth < 3 else 0.85):
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            key, item = field.message_type.fields
            of = getattr(message, field.name)
            for _ in range(2):
                name = value(key, depth)
                if item.message_type:
                    fill(of[name], depth + 1)
                else:
                    of[name] = value(item, depth)
        elif field.is_extension:
            place = message.Extensions[field]
            if field.is_repeated:
                place.extend([value(field, depth), value(field, depth)])
            else:
                place.CopyFrom(value(field, depth))
        elif field.is_repeated:
            getattr(message, field.name).extend([value(field, depth) for _ in range(2)])
        elif field.message_type:
            getattr(message, field.name).CopyFrom(value(field, depth))
        else:
            setattr(message, field.name, value(field, depth))

def run(command, given):
    # By turns with the .proto file and with the descriptors.
    sources.reverse()
    arguments = [situ, "proto", command, *sources[0], "--type", "robot.Pose"]
    return subprocess.run(arguments, input=given, stdout=subprocess.PIPE, check=True).stdout

for round in range(40):
    sources[:] = sources if round % 2 else sources[::-1]
    message = Pose()
    fill(message, 0)
    printed = run("print", message.SerializeToString()).decode()
    there = text_format.Parse(printed, Pose(), descriptor_pool=pool)
    assert there == message, f"{round}: print\n{printed}"
    text = text_format.MessageToString(message, descriptor_pool=pool)
    back = Pose.FromString(run("parse", text.encode()))
    assert back == message, f"{round}: parse\n{text}"
print("equal")
"#;

#[test]
fn google_s_protobuf_reads_and_writes_the_same() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/venv/bin/python");
    let has = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    if !has(Command::new(&python).args(["-c", "import google.protobuf"]))
        || !has(Command::new("protoc").arg("--version"))
    {
        println!("SKIPPED: there is no protoc, or no protobuf in build/venv");
        return;
    }
    let sandbox = Sandbox::new();
    let proto = sandbox.file("robot.proto", ROBOT);
    let (peer, descriptors) = (sandbox.file("peer.py", PEER), sandbox.path("robot.pb"));
    let made = Command::new("protoc")
        .args(["-o", &descriptors, "-I", Path::new(&proto).parent().unwrap().to_str().unwrap(), &proto])
        .status();
    assert!(made.unwrap().success());
    let output = Command::new(python)
        .args([&peer, env!("CARGO_BIN_EXE_situ"), &proto, &descriptors])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said == "equal\n",
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn mistakes_are_reported() {
    let sandbox = Sandbox::new();
    let proto = sandbox.file("robot.proto", ROBOT);
    let text = sandbox.file("pose.txt", "x: 1.5\n[robot.more]: 3\n");
    let run = |command, type_name, file: &str| {
        sandbox.run(&["proto", command, "--proto", &proto, "--type", type_name, file])
    };
    let parsed = run("parse", "robot.Pose", &text);
    // Field 1 as a double, and the extension 100.
    assert_eq!(parsed.stdout, [9, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0xa0, 6, 3]);
    let error = |command, type_name, file: &str| {
        let output = run(command, type_name, file);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(error("parse", "robot.Nothing", &text).contains("robot.Pose"));
    assert!(error("print", "robot.Pose", &text).contains("not a message"));
    assert!(error("print", "robot.Pose", "/no/such/file").contains("there is no file"));
    let wrong = sandbox.file("wrong.txt", "x: {}");
    assert!(error("parse", "robot.Pose", &wrong).contains("not a message of the type robot.Pose"));
    let output = sandbox.run(&["proto", "print", "--descriptors", &proto, "--type", "robot.Pose", &text]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("the descriptors cannot be used"));
    let edition = sandbox.file("edition.proto", "edition = \"2023\";\nmessage A {}\n");
    let output = sandbox.run(&["proto", "print", "--proto", &edition, "--type", "A", &text]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("has an edition"));
}
