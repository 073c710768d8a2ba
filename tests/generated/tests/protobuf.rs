//! Generated protobuf code: the message of the vectors, written and read, and what proto2 asks for.

use std::fs;
use std::path::Path;

use situ::wire::protobuf::{Growing, ReadError, Writer};
use situ_generated::protobuf::situ::edition::{self, EditionReader, EditionWriter, Loose};
use situ_generated::protobuf::situ::kitchen::{Fruit, KitchenReader, KitchenWriter};
use situ_generated::protobuf::situ::legacy::legacy::Side;
use situ_generated::protobuf::situ::legacy::{LegacyReader, LegacyWriter, Mode, NothingReader};

fn vector() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/protobuf/kitchen.bin");
    fs::read(path).unwrap()
}

#[test]
fn the_kitchen_is_written_as_protoc_writes_it() {
    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    {
        let mut it = KitchenWriter(writer.message());
        it.set_int32(-1);
        it.set_int64(i64::MIN);
        it.set_uint32(u32::MAX);
        it.set_uint64(u64::MAX);
        it.set_sint32(-2);
        it.set_sint64(i64::MIN);
        it.set_fixed32(0x0102_0304);
        it.set_fixed64(0x0102_0304_0506_0708);
        it.set_sfixed32(-7);
        it.set_sfixed64(-8);
        it.set_float(1.5);
        it.set_double(-2.25);
        it.set_bool(true);
        it.set_string("Grüße, 🦀");
        it.set_bytes(&[0, 0xff, 0x80]);
        {
            let mut child = it.set_child();
            child.set_int32(150);
            child.set_string(&"n".repeat(130));
            child.set_child().set_bool(true);
        }
        drop(it.add_children());
        it.add_children().set_uint32(7);
        it.set_packed(&[3, 270, 86942, -1]);
        it.set_doubles(&[0.5, -1.5]);
        it.set_zigzags(&[-1, 1, 1 << 40]);
        it.set_bools(&[true, false, true]);
        it.add_strings("");
        it.add_strings("b");
        it.set_fruit(Fruit::ORANGE);
        it.set_text_in_pieces().push("one, two");
        it.set_fruits(&[Fruit::APPLE, Fruit::FRUIT_UNKNOWN]);
        it.add_unpacked(1);
        it.add_unpacked(300);
        it.add_scores("a", 1);
        let mut named = it.add_named();
        named.set_key(7);
        named.set_value().set_string("x");
    }
    writer.finish().unwrap();
    assert_eq!(buffer.written(), vector());
}

#[test]
fn the_kitchen_is_read() -> Result<(), ReadError> {
    let bytes = vector();
    let it = KitchenReader::new(&bytes)?;
    assert_eq!((it.int32(), it.int64(), it.uint32(), it.uint64()), (-1, i64::MIN, u32::MAX, u64::MAX));
    assert_eq!((it.sint32(), it.sint64(), it.sfixed32(), it.sfixed64()), (-2, i64::MIN, -7, -8));
    assert_eq!((it.fixed32(), it.fixed64()), (0x0102_0304, 0x0102_0304_0506_0708));
    assert_eq!((it.float(), it.double(), it.bool()), (1.5, -2.25, true));
    assert_eq!((it.string()?, it.bytes()), ("Grüße, 🦀", &[0, 0xff, 0x80][..]));
    let child = it.child()?.unwrap();
    assert_eq!((child.int32(), child.string()?.len()), (150, 130));
    assert!(child.child()?.unwrap().bool());
    assert!(!child.has_bool() && child.child()?.unwrap().child()?.is_none());
    assert_eq!(it.children().map(|it| it.unwrap().uint32()).collect::<Vec<_>>(), [0, 7]);
    assert_eq!(it.packed().collect::<Result<Vec<_>, _>>()?, [3, 270, 86942, -1]);
    assert_eq!(it.doubles().collect::<Result<Vec<_>, _>>()?, [0.5, -1.5]);
    assert_eq!(it.zigzags().collect::<Result<Vec<_>, _>>()?, [-1, 1, 1 << 40]);
    assert_eq!(it.bools().collect::<Result<Vec<_>, _>>()?, [true, false, true]);
    assert_eq!(it.strings().collect::<Result<Vec<_>, _>>()?, ["", "b"]);
    assert_eq!(it.fruit(), Fruit::ORANGE);
    assert_eq!((it.has_number(), it.text()?, it.has_message()), (false, "one, two", false));
    assert_eq!(it.fruits().collect::<Result<Vec<_>, _>>()?, [Fruit::APPLE, Fruit::FRUIT_UNKNOWN]);
    assert_eq!(it.unpacked().collect::<Result<Vec<_>, _>>()?, [1, 300]);
    for entry in it.scores() {
        let entry = entry?;
        assert_eq!((entry.key()?, entry.value()), ("a", 1));
    }
    let named = it.named().collect::<Result<Vec<_>, _>>()?;
    assert_eq!((named.len(), named[0].key()), (1, 7));
    assert_eq!(named[0].value()?.unwrap().string()?, "x");
    assert_eq!(it.unknown_fields().count(), 0);
    Ok(())
}

#[test]
fn proto2_has_defaults_and_closed_enums() -> Result<(), ReadError> {
    let it = LegacyReader::new(&[])?;
    assert_eq!((it.negative(), it.huge(), it.tenth(), it.on()), (-5, f32::INFINITY, 0.1, true));
    assert_eq!((it.greeting()?, it.raw()), ("hey \"you\"\n", &[1, 0xff, b'"', b'a'][..]));
    assert_eq!((it.mode(), it.has_mode(), it.self_(), it.new_()), (Mode::SLOW, false, 0, 0));

    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    {
        let mut it = LegacyWriter(writer.message());
        it.set_self(1);
        it.set_mode(Mode::FAST);
        it.set_mode(Mode(9));
        it.add_modes(Mode::FAST);
        it.add_modes(Mode(9));
        it.set_packed_modes(&[Mode(1), Mode::SLOW]);
        it.add_numbers(-3);
        it.set_time().set_seconds(5);
        it.set_yes(true);
        let mut no = it.set_no();
        no.add_match().set_type(4);
        no.set_outer().set_inner().set_side(Side::LEFT);
        drop(no);
        it.add_words(-1, "minus");
    }
    writer.finish().unwrap();
    let it = LegacyReader::new(buffer.written())?;
    assert_eq!(it.mode(), Mode::FAST);
    assert_eq!(it.modes().collect::<Result<Vec<_>, _>>()?, [Mode::FAST]);
    assert_eq!(it.packed_modes().collect::<Result<Vec<_>, _>>()?, [Mode::SLOW]);
    assert_eq!(it.numbers().collect::<Result<Vec<_>, _>>()?, [-3]);
    assert_eq!(it.time()?.unwrap().seconds(), 5);
    assert!(!it.has_yes());
    let no = it.no()?.unwrap();
    assert_eq!((no.side(), no.r#match().next().unwrap()?.r#type()), (Side::RIGHT, 4));
    assert_eq!(no.outer()?.unwrap().inner()?.unwrap().side(), Side::LEFT);
    let word = it.words().next().unwrap()?;
    assert_eq!((word.key(), word.value()?), (-1, "minus"));
    assert_eq!(NothingReader::new(buffer.written())?.unknown_fields().count(), 11);
    Ok(())
}

#[test]
fn an_edition_has_the_features_that_it_asks_for() -> Result<(), ReadError> {
    let empty = EditionReader::new(&[])?;
    assert_eq!((empty.plain(), empty.text()?), (7, "a\0b"));
    assert_eq!((empty.mode(), empty.loose()), (edition::Mode::SLOW, Loose::NONE));

    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    {
        let mut it = EditionWriter(writer.message());
        it.set_packed(&[1, 2]);
        it.add_expanded(3);
        it.add_expanded(4);
        it.set_mode(edition::Mode(9));
        it.set_loose(Loose(9));
        it.set_child().set_plain(5);
        it.add_modes("x", edition::Mode::FAST);
        it.set_other(6);
        it.set_one(edition::Mode(9));
        it.set_all(&[edition::Mode::FAST, edition::Mode(9), edition::Mode::SLOW]);
    }
    writer.finish().unwrap();
    // Packed, expanded, and each field's tag as the guide to the encoding has it.
    let expected = [
        &[0x1a, 2, 1, 2, 0x20, 3, 0x20, 4, 0x28, 9, 0x30, 9, 0x3a, 2, 0x08, 5][..],
        &[0x42, 5, 0x0a, 1, b'x', 0x10, 2, 0x50, 6, 0x48, 9, 0x5a, 3, 2, 9, 1],
    ];
    assert_eq!(buffer.written(), expected.concat());
    let it = EditionReader::new(buffer.written())?;
    // Closed enums do not take what they do not have, open ones do.
    assert_eq!((it.has_mode(), it.mode(), it.loose()), (false, edition::Mode::SLOW, Loose(9)));
    assert_eq!((it.has_one(), it.has_other(), it.other()), (false, true, 6));
    let all = it.all().collect::<Result<Vec<_>, _>>()?;
    assert_eq!(all, [edition::Mode::FAST, edition::Mode::SLOW]);
    assert_eq!(it.unknown_fields().map(|it| it.number).collect::<Vec<_>>(), [5, 9]);
    assert_eq!(it.child()?.unwrap().plain(), 5);
    Ok(())
}
