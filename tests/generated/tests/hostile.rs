//! Names that mean something in Rust, in C++ or in what is generated, wherever a schema may have names (`schema/hostile`). That the
//! code compiles is the test; and each name that had to change did so by the rule: underscores, as many as it takes.

use situ::layout::{Heap, Message};
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

/// Messages of these names work as any others.
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
