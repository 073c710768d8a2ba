//! The vectors of `spec/vectors/protobuf`: written in one piece and in chunks, and read again, also by protoc
//! if it exists.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use situ_wire::protobuf::kind::{Bool, Double, Int32, Sint64, Uint32, Uint64};
use situ_wire::protobuf::{Fields, Growing, Layout, Message, Scattered, Table, WireType, Writer};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/protobuf")
}

/// The message of `kitchen.txt`.
fn kitchen(it: &mut Message<'_>) {
    it.int32(1, -1);
    it.int64(2, i64::MIN);
    it.uint32(3, u32::MAX);
    it.uint64(4, u64::MAX);
    it.sint32(5, -2);
    it.sint64(6, i64::MIN);
    it.fixed32(7, 0x0102_0304);
    it.fixed64(8, 0x0102_0304_0506_0708);
    it.sfixed32(9, -7);
    it.sfixed64(10, -8);
    it.float(11, 1.5);
    it.double(12, -2.25);
    it.bool(13, true);
    it.string(14, "Grüße, 🦀");
    it.bytes(15, &[0, 0xff, 0x80]);
    {
        let mut child = it.message(16);
        child.int32(1, 150);
        child.string(14, &"n".repeat(130));
        child.message(16).bool(13, true);
    }
    drop(it.message(17));
    it.message(17).uint32(3, 7);
    it.packed_int32(18, &[3, 270, 86942, -1]);
    it.packed_fixed(19, &[0.5f64, -1.5]);
    it.packed_sint64(20, &[-1, 1, 1 << 40]);
    it.packed_bool(21, &[true, false, true]);
    it.string(22, "");
    it.string(22, "b");
    it.enumeration(23, 2);
    {
        let mut text = it.text_in_pieces(25);
        text.push("one, ");
        text.push("two");
    }
    it.packed_int32(27, &[1, 0]);
    it.uint64(2047, 1);
    it.uint64(2047, 300);
    {
        let mut entry = it.entry(2048);
        entry.string(1, "a");
        entry.int32(2, 1);
    }
    let mut entry = it.entry(536_870_911);
    entry.uint32(1, 7);
    entry.message(2).string(14, "x");
}

fn in_chunks(size: usize) -> Vec<u8> {
    let mut buffer = Scattered::new(size);
    let mut writer = Writer::new(&mut buffer);
    kitchen(&mut writer.message());
    writer.finish().unwrap();
    buffer.to_vec()
}

#[test]
fn in_one_piece_the_message_is_protoc_s() {
    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    kitchen(&mut writer.message());
    writer.finish().unwrap();
    assert_eq!(buffer.written(), fs::read(vectors().join("kitchen.bin")).unwrap());
}

#[test]
fn in_chunks_the_message_is_that_of_the_vectors() {
    for size in [5, 16, 64] {
        let path = vectors().join(format!("kitchen.chunks{size}.bin"));
        let bytes = in_chunks(size);
        if std::env::var_os("SITU_WRITE_VECTORS").is_some() {
            fs::write(&path, &bytes).unwrap();
        }
        assert_eq!(bytes, fs::read(&path).unwrap(), "{}", path.display());
    }
}

enum Kitchen {}

impl Layout<28> for Kitchen {
    // Number, text and message.
    const ONEOFS: [(u16, u16); 28] = {
        let mut oneofs = [(0, 0); 28];
        (oneofs[24], oneofs[25], oneofs[26]) = ((24, 27), (24, 27), (24, 27));
        oneofs
    };

    fn slot(number: u32, _: WireType) -> Option<usize> {
        if number < 28 { Some(number as usize) } else { None }
    }
}

#[test]
fn every_form_is_read() {
    for name in ["kitchen", "kitchen.chunks5", "kitchen.chunks16", "kitchen.chunks64"] {
        let bytes = fs::read(vectors().join(format!("{name}.bin"))).unwrap();
        let it: Table<'_, Kitchen, 28> = Table::new(&bytes).unwrap();
        assert_eq!((it.get::<Int32>(1), it.get::<Uint64>(4)), (Some(-1), Some(u64::MAX)));
        assert_eq!(it.get::<Sint64>(6), Some(i64::MIN));
        assert_eq!(it.get::<Double>(12), Some(-2.25));
        assert_eq!(it.string(14), Ok(Some("Grüße, 🦀")));
        let child: Table<'_, Kitchen, 28> = it.nested(16).unwrap().unwrap().table().unwrap();
        assert_eq!(child.bytes(14).unwrap(), [b'n'; 130]);
        let grandchild: Table<'_, Kitchen, 28> = child.nested(16).unwrap().unwrap().table().unwrap();
        assert_eq!(grandchild.get::<Bool>(13), Some(true));
        let children = it.all_nested(17).map(|child| {
            let child: Table<'_, Kitchen, 28> = child.unwrap().table().unwrap();
            child.get::<Uint32>(3)
        });
        assert_eq!(children.collect::<Vec<_>>(), [None, Some(7)]);
        assert_eq!(it.all::<Int32>(18).collect::<Result<Vec<_>, _>>().unwrap(), [3, 270, 86942, -1]);
        assert_eq!(it.all_strings(22).collect::<Result<Vec<_>, _>>().unwrap(), ["", "b"]);
        assert_eq!((it.has(24), it.string(25), it.has(26)), (false, Ok(Some("one, two")), false));
        let unknown: Vec<_> = it.unknown().map(|field| field.number).collect();
        assert_eq!(unknown, [2047, 2047, 2048, 536_870_911]);
        assert_eq!(Fields::new(&bytes).count(), 31);
    }
}

#[test]
fn protoc_reads_every_form() {
    let text = fs::read_to_string(vectors().join("kitchen.txt")).unwrap();
    for size in [5, 7, 16, 33, 64, 1000] {
        let input = std::env::temp_dir().join(format!("situ-kitchen-{}-{size}.bin", std::process::id()));
        fs::write(&input, in_chunks(size)).unwrap();
        let protoc = Command::new("protoc")
            .args(["--decode=situ.kitchen.Kitchen", "kitchen.proto"])
            .current_dir(vectors())
            .stdin(Stdio::from(fs::File::open(&input).unwrap()))
            .output();
        fs::remove_file(&input).unwrap();
        match protoc {
            Ok(output) => assert_eq!(String::from_utf8(output.stdout).unwrap(), text, "chunks of {size}"),
            Err(error) => {
                println!("SKIPPED: no protoc ({error}); run scripts/setup.sh cpp");
                return;
            }
        }
    }
}

/// Reads length-prefixed messages from standard input, and prints each as text. Arguments: a folder, and a
/// file in it.
const PYTHON: &str = r#"
import sys, tempfile
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from grpc_tools import protoc
with tempfile.NamedTemporaryFile() as file:
    protoc.main(["protoc", "-I" + sys.argv[1], "--descriptor_set_out=" + file.name, sys.argv[2]])
    files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
pool = descriptor_pool.DescriptorPool()
for each in files.file:
    pool.Add(each)
Kitchen = message_factory.GetMessageClass(pool.FindMessageTypeByName("situ.kitchen.Kitchen"))
while length := sys.stdin.buffer.read(4):
    message = Kitchen.FromString(sys.stdin.buffer.read(int.from_bytes(length, "little")))
    print(text_format.MessageToString(message, as_utf8=False), end="\0")
"#;

#[test]
fn python_reads_every_form() {
    let Some(python) = std::env::var_os("SITU_TEST_PYTHON") else {
        println!("SKIPPED: SITU_TEST_PYTHON is not set; run scripts/test.sh");
        return;
    };
    let mut child = Command::new(python)
        .args(["-c", PYTHON])
        .arg(vectors())
        .arg("kitchen.proto")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let sizes = [5, 7, 16, 33, 64, 1000];
    let mut input = child.stdin.take().unwrap();
    for size in sizes {
        let bytes = in_chunks(size);
        input.write_all(&(bytes.len() as u32).to_le_bytes()).unwrap();
        input.write_all(&bytes).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "grpcio-tools is in scripts/interop-requirements.txt");
    let text = fs::read_to_string(vectors().join("kitchen.txt")).unwrap();
    let read = String::from_utf8(output.stdout).unwrap();
    assert_eq!(read.split_terminator('\0').collect::<Vec<_>>(), vec![text; sizes.len()]);
}
