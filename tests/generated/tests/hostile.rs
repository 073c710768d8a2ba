//! Names that mean something in Rust, in C++ or in generated code, in every place where a schema may have
//! names (`schema/hostile`). The test is that the code compiles, and that each changed name follows the rule:
//! it gets as many underscores as it needs.

use situ::layout::{Heap, Message};
use situ::wire::protobuf::{Growing, Nested, Writer};
use situ::wire::{Encoding, decode, encode_to_vec};

/// `schema/hostile/names.idl`.
#[allow(dead_code, missing_docs, nonstandard_style, clippy::all)]
mod idl {
    include!(concat!(env!("OUT_DIR"), "/hostile_idl.rs"));
}

/// The packages in `schema/hostile/share`.
#[allow(dead_code, missing_docs, nonstandard_style, clippy::all)]
mod ros {
    include!(concat!(env!("OUT_DIR"), "/hostile_ros.rs"));
}

/// `schema/hostile/names.proto`.
#[allow(dead_code, missing_docs, nonstandard_style, clippy::all)]
mod proto {
    include!(concat!(env!("OUT_DIR"), "/hostile_proto.rs"));
}

#[test]
fn names_change_by_the_rule() {
    let mut members = idl::places0::Members::<Heap> { self__: Default::default(), ..Default::default() };
    members.push_self(3).unwrap();
    members.push_self_(4).unwrap();
    assert_eq!((&members.self__[..], &members.self_[..]), (&[3][..], &[4][..]));
    let mut cases: idl::places0::PlainCases = Default::default();
    cases.set_x_(5);
    assert_eq!((cases.x(), cases.set_x()), (Some(&5), None));
    assert_eq!(cases.x_mut_(), Some(&mut 5));
    assert_eq!(idl::places0::enumerators::Words::r#type.0, idl::places0::constants::r#type);
    assert_eq!(<idl::std::Point>::NAME, "std::Point");
    assert_eq!(ros::std::msg::Everything::S, ros::names::msg::Everything::S);
}

/// Messages of these names work like any others.
#[test]
fn messages_come_back() {
    let point = idl::std::Point { x: 1.0, name: "std".into(), more: vec![idl::std::Point::new()] };
    let mut members = ros::names::msg::Everything::<Heap>::default();
    members.set_self("a").unwrap();
    members.set_class("b").unwrap();
    members.set_value("c").unwrap();
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        let (mut read, mut back) = (idl::std::Point::new(), ros::names::msg::Everything::<Heap>::default());
        decode(&mut read, &encode_to_vec(&point, encoding).unwrap()).unwrap();
        decode(&mut back, &encode_to_vec(&members, encoding).unwrap()).unwrap();
        assert_eq!((&read, &back), (&point, &members));
    }
}

/// A message that renamed methods wrote is read by renamed methods. Its bytes have the numbers of the fields.
#[test]
fn protobuf_messages_come_back() {
    use proto::std::template::self_::situ::*;
    let mut memory = Growing::default();
    let mut writer = Writer::new(&mut memory);
    {
        let mut message = AccessorsWriter(writer.message());
        message.set_x("x");
        message.set_has_x(2);
        message.set_s_in_pieces_().push("s");
        message.set_s_in_pieces("p");
        message.set_set_s_in_pieces(5);
        message.set_table_(6);
        message.set_error(7);
        message.set_new(8);
        message.set_self(9);
        message.set_self_(10);
        message.set_typeid(11);
        message.set_d().set_x(13);
        message.set_c_d().set_x(c::E::C1);
        message.set_try_from(16);
        extensions::SelfExtensionWriter::from(&mut message).set_self("e");
    }
    writer.finish().unwrap();
    let bytes = memory.written();
    let expected = b"\x0a\x01x\x10\x02\x1a\x01s\x22\x01p\x28\x05\x30\x06\x38\x07\x40\x08\x48\x09\x50\x0a\x58\x0b\x6a\x02\x08\x0d\x72\x02\x08\x00\
        \x80\x01\x10\xb2\x06\x01e";
    assert_eq!(bytes, expected);
    let read = AccessorsReader::new(bytes).unwrap();
    assert_eq!((read.x().unwrap(), read.has_x_(), read.has_x(), read.has_has_x()), ("x", true, 2, true));
    assert_eq!((read.s().unwrap(), read.s_in_pieces().unwrap(), read.set_s_in_pieces()), ("s", "p", 5));
    assert_eq!((read.table_(), read.error(), read.new_(), read.self__(), read.self_()), (6, 7, 8, 9, 10));
    assert_eq!((read.typeid(), read.has_NAN(), read.try_from_()), (11, false, 16));
    assert_eq!(read.d().unwrap().unwrap().x(), 13);
    assert_eq!(read.c_d().unwrap().unwrap().x(), c::E::C1);
    assert_eq!(read.choice(), enumerators::Words::r#abstract);
    let extension = extensions::SelfExtensionReader::try_from(&read).unwrap();
    assert_eq!(extension.self_().unwrap(), "e");
}

/// Types with equal names stay apart: a name of the schema stays, and others change.
#[test]
fn protobuf_types_stay_apart() {
    use proto::std::template::self_::situ::*;
    assert_eq!((shelf::BOOK.0, C_E::C2.0, C_DReader::C3.0), (0, 0, 0));
    let _: (outer::eq, outer_::eq, self__::eq) = Default::default();
    fn is_reader<'a, T: TryFrom<Nested<'a>>>() {}
    is_reader::<shelf_::MReader>();
    is_reader::<c::DReader>();
    is_reader::<C_D_Reader>();
}
