//! Generated message types, and the operations that a transport applies to them.

#[allow(dead_code)]
mod messages;

use std::mem::MaybeUninit;

use situ_layout::{AssignFrom, BulkRef, Flat, FlatMessage, Heap, InPlace, Message, SharedBytes, boxed};

use messages::{Choice, Color, Flags, Plain, Scan, ScanBulkLengths, Station, Tree};

#[test]
fn a_flat_message_is_built_read_and_validated_in_place() {
    let lengths = ScanBulkLengths { ranges: 5 };
    assert_eq!(Scan::<Flat>::body_size(&lengths), Some(20));
    let mut head = MaybeUninit::<Scan>::uninit();
    let mut body = [0u64; 8];
    // SAFETY: the bytes of eight u64.
    let body = unsafe { std::slice::from_raw_parts_mut(body.as_mut_ptr().cast::<u8>(), 20) };
    // SAFETY: the head is writable, the body's size was computed above.
    let scan = unsafe {
        Message::init_at(head.as_mut_ptr(), &lengths);
        head.assume_init_mut()
    };
    assert!(scan.dense);
    scan.frame.try_assign("lidar").unwrap();
    scan.ring.try_extend_from_slice(&[1, 2, 3]).unwrap();
    scan.ranges.slice_mut(body).unwrap()[4] = 1.5;
    assert_eq!(scan.ranges.slice(body).unwrap(), [0.0, 0.0, 0.0, 0.0, 1.5]);
    assert_eq!(scan.bulk_lengths(), lengths);
    // SAFETY: a valid message.
    assert_eq!(unsafe { Scan::<Flat>::validate(scan, 20) }, Ok(()));
    // SAFETY: a valid message, but a body that is too small.
    let error = unsafe { Scan::<Flat>::validate(scan, 19) }.unwrap_err();
    assert_eq!(error.to_string(), "ranges: bulk data at 0, 20 bytes, lies outside the body of 19 bytes");
    assert_eq!(
        format!("{scan:?}"),
        "Scan { frame: \"lidar\", dense: true, ring: [1, 2, 3], ranges: BulkRef { offset: 0, len: 5 } }"
    );
}

#[test]
fn hostile_bytes_are_named() {
    let mut words = [0u64; 6];
    let at = words.as_mut_ptr().cast::<u8>();
    let validate = |offset: usize, byte: u8| {
        // SAFETY: the words are as many initialized bytes as a Scan has, and aligned for it; the offset lies
        // within.
        unsafe {
            at.add(offset).write(byte);
            let result = Scan::<Flat>::validate(at.cast(), 0);
            at.add(offset).write(0);
            result.map_err(|error| error.to_string())
        }
    };
    assert_eq!(validate(4, 0), Ok(()));
    assert_eq!(validate(0, 8).unwrap_err(), "frame: length 8 exceeds its bound 7");
    assert_eq!(validate(4, b'x').unwrap_err(), "frame: the terminating zero after 0 characters is missing");
    assert_eq!(validate(12, 2).unwrap_err(), "dense: 2 is not a boolean; only 0 and 1 are");
    assert_eq!(validate(17, 1).unwrap_err(), "ring: length 256 exceeds its bound 4");
    assert_eq!(
        validate(40, 1).unwrap_err(),
        "ranges: bulk data at 0, 4 bytes, lies outside the body of 0 bytes"
    );
}

#[test]
fn a_heap_message_has_the_same_members() {
    let mut scan = Scan::<Heap>::default();
    scan.frame.try_assign("lidar").unwrap();
    assert_eq!(scan.frame.try_assign("much too long").unwrap_err().size, 13);
    scan.ranges.try_assign(&[1.0; 100]).unwrap();
    assert_eq!(scan.bulk_lengths().ranges, 100);
    assert_eq!(scan.clone(), scan);
    assert_eq!(Scan::<Heap>::LAYOUT_HASH, 0);
    assert_ne!(Scan::<Flat>::LAYOUT_HASH, 0);
    // SAFETY: a valid value.
    let error = unsafe { Scan::<Heap>::validate(&raw const scan, 0) }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "frame: a type with heap storage has no bytes to validate; use its flat form"
    );
}

#[test]
fn types_may_recurse_through_unbounded_sequences() {
    let leaf = Tree::<Heap> { weight: 2, branches: Vec::new() };
    let tree: Tree = Tree { weight: 1, branches: vec![leaf.clone(), leaf] };
    assert_eq!(tree.clone(), tree);
    assert_eq!(tree.branches[1].weight, 2);
}

#[test]
fn references_to_bulk_data_are_checked_against_the_body() {
    let words = [0u64; 4];
    // SAFETY: the bytes of four u64.
    let body = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), 32) };
    assert!(BulkRef::<u32>::new(0, 8).slice(body).is_ok());
    assert!(BulkRef::<u32>::new(4, 8).slice(body).is_err());
    assert!(BulkRef::<u32>::new(2, 1).slice(body).is_err());
    assert!(BulkRef::<u32>::new(u64::MAX, 1).slice(body).is_err());
    assert!(BulkRef::<u32>::new(0, u64::MAX).slice(body).is_err());
    assert_eq!(BulkRef::<u32, 3>::new(0, 8).slice(body).unwrap().len(), 3);
}

#[test]
fn bulk_elements_with_invalid_bits_are_refused_when_read_and_repaired_when_written() {
    let mut words = [0x0202_0202u32; 6];
    // SAFETY: the bytes of six words.
    let body = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), 24) };
    let plains = BulkRef::<Plain>::new(0, 2);
    assert_eq!(
        plains.slice(body).unwrap_err().to_string(),
        "bulk element 0 is not valid: 2 is not a boolean; only 0 and 1 are"
    );
    assert_eq!(plains.slice_mut(body).unwrap()[1], Plain::default());
    assert_eq!(plains.slice(body).unwrap(), [Plain::default(); 2]);
}

#[test]
fn defaults_are_those_of_the_schema() {
    let plain = Plain::default();
    assert_eq!(plain, Plain { color: Color::GREEN, x: [1, 2], flags: Flags::B, ok: false });
    assert_eq!(format!("{plain:?}"), "Plain { color: GREEN, x: [1, 2], flags: Flags(B), ok: false }");
    assert_eq!(format!("{:?} {:?}", Color(3), Flags::A | Flags(0x40)), "Color(3) Flags(A | 0x40)");
    assert!((Flags::A | Flags::B).contains(Flags::B) && !Flags::A.contains(Flags::B));
}

#[test]
fn a_union_holds_what_its_discriminator_says() {
    let mut choice = Choice::<Heap>::default();
    assert_eq!(choice.discriminator(), Color::RED);
    choice.text_mut().unwrap().try_assign("abc").unwrap();
    let copy = choice.clone();
    assert_eq!(copy, choice);
    assert_eq!(format!("{copy:?}"), "Choice { text: \"abc\" }");
    choice.select(Color(77));
    assert!(choice.text().is_none() && choice.plains().unwrap().is_empty());
    assert_ne!(copy, choice);
    choice.plains_mut().unwrap().try_push(Plain::default()).unwrap();
    choice.select(Color(78));
    assert_eq!(choice.plains().unwrap().len(), 1, "the same case keeps its value");
    choice.set_text("x".try_into().unwrap());
    assert_eq!((choice.discriminator(), &**choice.text().unwrap()), (Color::RED, "x"));
    choice.set_plains(Default::default());
    assert_eq!(choice.discriminator(), Color::GREEN);
}

#[test]
fn a_case_is_set_without_a_write_to_the_rest_of_the_union() {
    let mut memory = MaybeUninit::<Choice<Flat>>::uninit();
    let size = size_of::<Choice<Flat>>();
    // SAFETY: the memory has this size. A union of flat storage owns nothing, so it need not be dropped.
    let choice = unsafe {
        memory.as_mut_ptr().cast::<u8>().write_bytes(0xa5, size);
        Choice::<Flat>::default_at(memory.as_mut_ptr());
        memory.assume_init_mut()
    };
    choice.set_text("x".try_into().unwrap());
    choice.set_text("yz".try_into().unwrap());
    assert_eq!(&**choice.text().unwrap(), "yz");
    let end = (&raw const *choice.text().unwrap()).addr() + size_of_val(choice.text().unwrap());
    let used = end - (&raw const *choice).addr();
    assert!(used < size);
    for at in used..size {
        // SAFETY: the byte lies in the memory, and was written above.
        assert_eq!(unsafe { memory.as_ptr().cast::<u8>().add(at).read() }, 0xa5, "byte {at} of {size}");
    }
}

#[repr(align(64))]
struct Body([u8; 128]);

fn some_station() -> Station<Heap> {
    let mut station = Station::<Heap>::default();
    station.base.frame.try_assign("map").unwrap();
    station.base.ranges.try_assign(&[1.0, 2.0, 3.0]).unwrap();
    station.choices.try_push_default().unwrap().set_plains(vec![Plain::default()].try_into().unwrap());
    station.plains.try_insert("b".try_into().unwrap(), Plain { ok: true, ..Plain::default() }).unwrap();
    station.plains.try_insert("a".try_into().unwrap(), Plain::default()).unwrap();
    station.note = Some("hi".try_into().unwrap());
    station
}

#[test]
fn a_message_is_converted_between_storages_by_way_of_its_flat_form() {
    let station = some_station();
    let form = Station::<Heap>::FLAT_FORM.unwrap();
    assert_eq!((form.layout_hash, form.size, form.align), (Station::<Flat>::LAYOUT_HASH, 176, 8));
    assert_eq!(Station::<Heap>::body_size(&station.bulk_lengths()), Some(12));
    let mut head = boxed::<Station<Flat>>();
    let mut body = Body([0xcc; 128]);
    // SAFETY: the head is a whole Station<Flat>.
    unsafe { station.write_flat(&[], (&raw mut *head).cast(), &mut body.0[..12]) }.unwrap();
    assert_eq!(head.base.ranges.slice(&body.0).unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(
        head.plains.iter().map(|(key, value)| (&**key, value.ok)).collect::<Vec<_>>(),
        [("a", false), ("b", true)]
    );
    // SAFETY: a valid message.
    assert_eq!(unsafe { Station::<Flat>::validate(&raw const *head, 12) }, Ok(()));
    let mut back = Station::<Heap>::default();
    back.assign_parts(&*head, &mut situ_layout::Bodies::new(&body.0, &mut [])).unwrap();
    assert_eq!(back, station);
    let error = back.read_flat(&mut [], (&[0; 8]).into(), (&body.0).into()).unwrap_err();
    assert!(error.to_string().starts_with("a head of 8 bytes is not that of"), "{error}");
}

#[test]
fn what_does_not_fit_another_storage_is_named() {
    let station = some_station();
    let mut head = boxed::<Station<Flat>>();
    let mut body = Body([0; 128]);
    // SAFETY: the head is a whole Station<Flat>.
    let error = unsafe { station.write_flat(&[], (&raw mut *head).cast(), &mut body.0[..11]) }.unwrap_err();
    assert_eq!(error.to_string(), "base.ranges: bulk data needs a body of 12 bytes, but it has 11");
    let error =
        Tree::<Heap>::default().read_flat(&mut [], SharedBytes::EMPTY, SharedBytes::EMPTY).unwrap_err();
    assert_eq!(error.to_string(), "test::Tree has members without a bound, so it has no flat form");
    let plain = Plain { ok: true, ..Plain::default() };
    let mut other = Plain::default();
    other.assign_from(&plain).unwrap();
    assert_eq!(other, plain);
}

#[test]
fn flat_messages_are_flat() {
    fn check<T: FlatMessage>() {}
    check::<Scan>();
    check::<Station<Flat>>();
    check::<Plain>();
    assert_eq!((size_of::<Choice<Flat>>(), align_of::<Choice<Flat>>()), (32, 4));
}
