//! Generated protobuf code: the message of the vectors, written and read, and the features of proto2.

use std::fs;
use std::path::Path;

use situ::wire::protobuf::{Growing, ReadError, Writer};
use situ_generated::protobuf::situ::edition::{self, EditionReader, EditionWriter, Loose};
use situ_generated::protobuf::situ::kitchen::{Fruit, KitchenReader, KitchenWriter};
use situ_generated::protobuf::situ::legacy::legacy::Side;
use situ_generated::protobuf::situ::legacy::*;
use situ_generated::protobuf::situ::newest::{
    FurtherDetailExtensionReader, FurtherDetailExtensionWriter, Kind, NewestReader, NewestWriter,
};

fn vector(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/protobuf").join(name);
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
    assert_eq!(buffer.written(), vector("kitchen.bin"));
}

#[test]
fn the_kitchen_is_read() -> Result<(), ReadError> {
    let bytes = vector("kitchen.bin");
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
fn an_edition_has_the_features_that_it_sets() -> Result<(), ReadError> {
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
        it.add_modes("x", edition::Pace::RUNNING);
        it.set_other(6);
        it.set_one(edition::Mode(9));
        it.set_all(&[edition::Mode::FAST, edition::Mode(9), edition::Mode::SLOW]);
    }
    writer.finish().unwrap();
    // Packed, expanded, and each field's tag, as in the guide to the encoding.
    let expected = [
        &[0x1a, 2, 1, 2, 0x20, 3, 0x20, 4, 0x28, 9, 0x30, 9, 0x3a, 2, 0x08, 5][..],
        &[0x42, 5, 0x0a, 1, b'x', 0x10, 2, 0x50, 6, 0x48, 9, 0x5a, 3, 2, 9, 1],
    ];
    assert_eq!(buffer.written(), expected.concat());
    let it = EditionReader::new(buffer.written())?;
    // Closed enums reject unknown numbers, open ones accept them.
    assert_eq!((it.has_mode(), it.mode(), it.loose()), (false, edition::Mode::SLOW, Loose(9)));
    assert_eq!((it.has_one(), it.has_other(), it.other()), (false, true, 6));
    let all = it.all().collect::<Result<Vec<_>, _>>()?;
    assert_eq!(all, [edition::Mode::FAST, edition::Mode::SLOW]);
    assert_eq!(it.unknown_fields().map(|it| it.number).collect::<Vec<_>>(), [5, 9]);
    assert_eq!(it.child()?.unwrap().plain(), 5);
    Ok(())
}

#[test]
fn groups_and_extensions_are_written_as_protoc_writes_them() {
    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    {
        let mut it = GroupedWriter(writer.message());
        let mut single = it.set_single();
        single.set_x(-1);
        single.set_inner().set_text("in");
        drop(single);
        it.add_many().set_x(1);
        drop(it.add_many());
        it.add_many().set_x(300);
        it.set_picked().set_yes(true);
        it.set_foo_bar(5);
        it.set_fooBar(6);
        PlainExtensionWriter::from(&mut it).set_plain(7);
        PackedNumbersExtensionWriter::from(&mut it).set_packed_numbers(&[-1, 2]);
        ExtraExtensionWriter::from(&mut it).set_extra().set_text("more");
        let mut inners = InnersExtensionWriter::from(&mut it);
        inners.add_inners().set_side(Side::LEFT);
        drop(inners.add_inners());
        drop(inners);
        ModeExtensionWriter::from(&mut it).set_mode(Mode::FAST);
        let mut notes = NotesExtensionWriter::from(&mut it);
        notes.add_notes("a");
        notes.add_notes_in_pieces().push("b");
        drop(notes);
        scope::RawExtensionWriter::from(&mut it).set_raw(&[0, 0xff]);
    }
    writer.finish().unwrap();
    assert_eq!(buffer.written(), vector("grouped.bin"));

    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    {
        let mut it = NewestWriter(writer.message());
        it.set_number(1);
        it.set_detail().set_text("a");
        it.set_older().set_plain(2);
        it.set_kind(Kind::KIND_KNOWN);
        FurtherDetailExtensionWriter::from(&mut it).set_further_detail().set_text("b");
    }
    writer.finish().unwrap();
    assert_eq!(buffer.written(), vector("newest.bin"));

    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    {
        let mut it = EditionWriter(writer.message());
        it.set_plain(1);
        it.set_child().set_plain(2);
        let mut delimited = it.set_delimited();
        delimited.set_plain(3);
        drop(delimited.set_delimited());
        drop(delimited);
        it.add_each().set_plain(4);
        it.add_each().set_text("x");
        let mut entry = it.add_never_delimited();
        entry.set_key(5);
        entry.set_value().set_plain(6);
        drop(entry);
        edition::FurtherExtensionWriter::from(&mut it).set_further(true);
    }
    writer.finish().unwrap();
    assert_eq!(buffer.written(), vector("delimited.bin"));
}

#[test]
fn groups_and_extensions_are_read() -> Result<(), ReadError> {
    let bytes = vector("grouped.bin");
    let it = GroupedReader::new(&bytes)?;
    let single = it.single()?.unwrap();
    assert_eq!((single.x(), single.inner()?.unwrap().text()?), (-1, "in"));
    assert_eq!(it.many().map(|it| it.unwrap().x()).collect::<Vec<_>>(), [1, 0, 300]);
    assert!(it.picked()?.unwrap().yes() && !it.has_other());
    assert_eq!((it.foo_bar(), it.fooBar()), (5, 6));
    assert_eq!(PlainExtensionReader::try_from(&it)?.plain(), 7);
    let numbers = PackedNumbersExtensionReader::try_from(&it)?;
    assert_eq!(numbers.packed_numbers().collect::<Result<Vec<_>, _>>()?, [-1, 2]);
    assert_eq!(ExtraExtensionReader::try_from(&it)?.extra()?.unwrap().text()?, "more");
    let inners = InnersExtensionReader::try_from(&it)?;
    assert_eq!(inners.inners().map(|it| it.unwrap().side()).collect::<Vec<_>>(), [Side::LEFT, Side::RIGHT]);
    assert_eq!(ModeExtensionReader::try_from(&it)?.mode(), Mode::FAST);
    let notes = NotesExtensionReader::try_from(&it)?;
    assert_eq!(notes.notes().collect::<Result<Vec<_>, _>>()?, ["a", "b"]);
    assert_eq!(scope::RawExtensionReader::try_from(&it)?.raw(), [0, 0xff]);
    assert_eq!(it.unknown_fields().count(), 9);
    // A missing extension has its default.
    let empty = GroupedReader::new(&[])?;
    let mode = ModeExtensionReader::try_from(&empty)?;
    assert_eq!((mode.has_mode(), mode.mode()), (false, Mode::SLOW));
    assert!(empty.single()?.is_none() && empty.many().next().is_none());
    // Repeated groups are merged. A message with a length is another field.
    let twice = [&bytes[..], &[0x0b, 0x08, 9, 0x0c, 0x0a, 0]].concat();
    let it = GroupedReader::new(&twice)?;
    let single = it.single()?.unwrap();
    assert_eq!((single.x(), single.inner()?.unwrap().text()?), (9, "in"));
    assert_eq!(it.unknown_fields().count(), 10);

    let bytes = vector("delimited.bin");
    let it = EditionReader::new(&bytes)?;
    let delimited = it.delimited()?.unwrap();
    assert_eq!((it.child()?.unwrap().plain(), delimited.plain()), (2, 3));
    assert!(delimited.delimited()?.is_some() && delimited.delimited()?.unwrap().delimited()?.is_none());
    let each = it.each().collect::<Result<Vec<_>, _>>()?;
    assert_eq!((each[0].plain(), each[1].text()?), (4, "x"));
    let entry = it.never_delimited().next().unwrap()?;
    assert_eq!((entry.key(), entry.value()?.unwrap().plain()), (5, 6));
    assert!(edition::FurtherExtensionReader::try_from(&it)?.further());
    let bytes = vector("newest.bin");
    let it = NewestReader::new(&bytes)?;
    assert_eq!((it.number(), it.detail()?.unwrap().text()?, it.kind()), (1, "a", Kind::KIND_KNOWN));
    assert_eq!(FurtherDetailExtensionReader::try_from(&it)?.further_detail()?.unwrap().text()?, "b");
    Ok(())
}
