//! Checks of region images by their schemas, against the vectors that `spec/vectors/region_schema.py`
//! computed.

use std::path::PathBuf;

use situ_schema::dynamic::{ImageError, RegionBytes, check_region};
use situ_schema::model::TypeId;
use situ_schema::{Format, Loader, Schema};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn image(name: &str) -> Vec<u8> {
    std::fs::read(root().join(format!("spec/vectors/region/{name}.bin"))).unwrap()
}

fn schema(file: &str) -> Schema {
    let loader = Loader::new().file(root().join(file));
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The vectors of types that schemas declare.
const VECTORS: [(&str, &str, &str); 5] = [
    ("pantry", "tests/generated/schema/region.idl", "game::Pantry"),
    ("bazaar", "tests/generated/schema/bazaar.idl", "game::Bazaar"),
    ("thicket", "spec/vectors/kitchen.idl", "kitchen::Thicket"),
    ("game_profile.after", "tests/generated/schema/profile.idl", "game::Profile"),
    ("game_profile.before", "tests/generated/schema/profile_before.idl", "game::Profile"),
];

fn vectors() -> impl Iterator<Item = (String, Schema, TypeId, Vec<u8>)> {
    VECTORS.into_iter().flat_map(|(name, file, ty)| {
        ["canonical", "live"].map(|form| {
            let schema = schema(file);
            let id = schema.find(ty).unwrap();
            (format!("{name}.{form}"), schema, id, image(&format!("{name}.{form}")))
        })
    })
}

/// The bytes of all parts together.
fn sum(bytes: &RegionBytes) -> u64 {
    let members = bytes.members.iter().map(|it| it.used + it.room + it.rounding).sum::<u64>();
    64 + bytes.root + bytes.versions + members + bytes.free
}

#[test]
fn the_vectors_are_whole_and_every_byte_has_one_place() {
    for (name, schema, id, image) in vectors() {
        let bytes = check_region(&schema, id, &image).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(sum(&bytes), image.len() as u64, "{name}");
        assert_eq!(bytes.header.is_canonical, name.ends_with("canonical"));
        let room: u64 = bytes.members.iter().filter(|it| !it.kind.contains("hash")).map(|it| it.room).sum();
        assert_eq!(
            (bytes.free == 0, room == 0),
            (bytes.header.is_canonical, bytes.header.is_canonical),
            "{name}"
        );
    }
}

/// The text of an error, without the quotes around its path.
fn message(error: ImageError) -> String {
    error.to_string().replace('`', "")
}

/// Members, their blocks and their bytes, counted by hand.
#[test]
fn bytes_belong_to_the_members_that_hold_them() {
    let idl = "struct P { float x; string name; }; @region struct M { sequence<P> poses; string text; \
               map<string, sequence<octet>> raw; @optional @external P one; };";
    let schema = Loader::new().sealed().text("m.idl", idl, Format::Idl).load().unwrap();
    let id = schema.find("M").unwrap();
    // P has 20 bytes: a float and a string of 16. M: vector, string, map, link.
    let mut image = vec![0u8; 64 + 64];
    let put = |image: &mut Vec<u8>, at: usize, numbers: &[u32]| {
        for (index, number) in numbers.iter().enumerate() {
            image[at + 4 * index..at + 4 * index + 4].copy_from_slice(&number.to_le_bytes());
        }
    };
    let back = |at: usize| (at as u32).wrapping_neg();
    // poses: 2 elements, 40 bytes in 48, at 128. The first has a name of 12 letters in a block of 16 at 176.
    image.resize(128 + 48 + 16 + 16 + 32 + 16, 0);
    put(&mut image, 64, &[64, 2, 2, back(64)]);
    put(&mut image, 132, &[176 - 132, 12, 12, back(132)]);
    image[176..188].copy_from_slice(b"twelve chars");
    put(&mut image, 152, &[0, 0, 0, back(152)]);
    // text: 13 letters, at 192.
    put(&mut image, 80, &[192 - 80, 13, 13, back(80)]);
    image[192..205].copy_from_slice(b"a longer text");
    // raw: one entry of 32 bytes at 208, its key in place, its value of 3 bytes at 240.
    put(&mut image, 96, &[208 - 96, 1, 1, back(96)]);
    image[208..211].copy_from_slice(b"key");
    image[208 + 11] = 0x83;
    put(&mut image, 220, &[back(208)]);
    put(&mut image, 224, &[240 - 224, 3, 3, back(224)]);
    image[240..243].copy_from_slice(&[1, 2, 3]);
    // one: absent.
    put(&mut image, 116, &[back(112)]);
    let size = image.len() as u32;
    image[..8].copy_from_slice(&[0x53, 0x52, 0x47, 0x4e, 2, 0, 0, 0]);
    image[8..16].copy_from_slice(&schema.schema_hash(id).to_le_bytes());
    put(&mut image, 24, &[size, 64]);
    let bytes = check_region(&schema, id, &image).unwrap();
    let members: Vec<_> = bytes
        .members
        .iter()
        .map(|it| (it.path.as_str(), it.kind, it.blocks, it.used, it.room, it.rounding))
        .collect();
    let expected = [
        ("poses", "vector", 1, 40, 0, 8),
        ("poses[].name", "string", 1, 12, 0, 4),
        ("text", "string", 1, 13, 0, 3),
        ("raw", "sorted map", 1, 32, 0, 0),
        ("raw[].value", "vector", 1, 3, 0, 13),
    ];
    assert_eq!(members, expected);
    assert_eq!((bytes.root, bytes.versions, bytes.free, sum(&bytes)), (64, 0, 0, 256));

    // The same image with one mistake each: an offset, the bytes there, the error.
    let mistakes: [(usize, &[u8], &str); 16] = [
        (0, b"X", "the message: no region: the bytes do not begin with SRGN"),
        (4, &[1], "the image has version 1 of the format, and this program reads version 2"),
        (
            6,
            &[2],
            "the image has form 2; here it is 0 (canonical) or 1 (live), and packed images (2) have functions of their own",
        ),
        (8, &[1, 2, 3], "the image is not of M: its schema hash is"),
        (24, &[0, 2], "the header says 512 bytes, but there are 256"),
        (64, &[80], "poses: offset 144 is not the canonical one, 128 (at offset 64)"),
        (68, &[3], "poses: length 3 exceeds the capacity 2 (at offset 64)"),
        (72, &[3], "poses: capacity 3 is not the canonical one, 2 (at offset 64)"),
        (76, &[0], "poses: the link back to the header is -256 (at offset 64)"),
        (140, &[11], "poses[0].name: length 12 exceeds the capacity 11 (at offset 132)"),
        (180, &[0xff], "poses[0].name: the text is not UTF-8 from byte 4 on (at offset 132)"),
        (190, &[1], "poses[0].name: the byte at offset 190 belongs to nothing and is not zero"),
        (215, &[1], "raw[0].key: the byte at offset 215 belongs to nothing and is not zero"),
        (219, &[0x8c], "raw[0].key: length 12 exceeds the capacity 11"),
        (112, &[200], "one: offset 312 outside the image of 256 bytes (at offset 112)"),
        (250, &[7], "raw[0].value: the byte at offset 250 belongs to nothing and is not zero"),
    ];
    for (at, wrong, expected) in mistakes {
        let mut image = image.clone();
        image[at..at + wrong.len()].copy_from_slice(wrong);
        let error = message(check_region(&schema, id, &image).unwrap_err());
        assert!(error.contains(expected), "at {at}: {error}");
    }
    // As a live image: blocks anywhere, but not over each other.
    image[6] = 1;
    assert!(check_region(&schema, id, &image).is_ok());
    let error = |at: usize, wrong: u8| {
        let mut image = image.clone();
        image[at] = wrong;
        message(check_region(&schema, id, &image).unwrap_err())
    };
    assert!(
        error(64, 48).contains("poses: the block at offset 112 is part of another one"),
        "{}",
        error(64, 48)
    );
    assert!(error(80, 176 - 80).contains("text: the block at offset 176 is part of another one"));
    assert!(error(80, 190 - 80).contains("text: offset 190 is no multiple of 16"));
    assert!(error(83, 0x40).contains("outside the image of 256 bytes"));
}

/// A list of many links has one row, whatever its length is: the work and the memory do not grow with the
/// square of it.
#[test]
fn values_within_values_of_their_own_type_have_one_row() {
    const LENGTH: u32 = if cfg!(miri) { 200 } else { 200_000 };
    let idl = "@region struct N { sequence<N> next; };";
    let schema = Loader::new().sealed().text("n.idl", idl, Format::Idl).load().unwrap();
    let id = schema.find("N").unwrap();
    let size = 64 + 16 * (LENGTH + 1);
    let mut image = vec![0u8; size as usize];
    image[..8].copy_from_slice(&[0x53, 0x52, 0x47, 0x4e, 2, 0, 0, 0]);
    image[8..16].copy_from_slice(&schema.schema_hash(id).to_le_bytes());
    image[24..28].copy_from_slice(&size.to_le_bytes());
    image[28..32].copy_from_slice(&64_u32.to_le_bytes());
    for index in 0..=LENGTH {
        let at = 64 + 16 * index;
        let header = if index == LENGTH { [0_u32; 3] } else { [16, 1, 1] };
        let header = [header[0], header[1], header[2], at.wrapping_neg()].map(u32::to_le_bytes);
        image[at as usize..][..16].copy_from_slice(header.as_flattened());
    }
    let bytes = check_region(&schema, id, &image).unwrap();
    let [next] = &bytes.members[..] else { panic!("{:?}", bytes.members) };
    assert_eq!((next.path.as_str(), next.kind, next.blocks), ("next", "vector", u64::from(LENGTH)));
    assert_eq!(sum(&bytes), u64::from(size));
}

/// Whatever byte is damaged, a check ends with a result, and a value can be read or not.
#[test]
fn damaged_images_are_refused_or_read() {
    for (name, schema, id, image) in vectors() {
        let mut refused = 0;
        let step = (image.len() / 150).max(1);
        for at in (0..image.len()).step_by(step) {
            for wrong in [0, 1, 0x7f, 0x80, 0xff] {
                let mut image = image.clone();
                image[at] = wrong;
                let checked: Result<_, ImageError> = check_region(&schema, id, &image);
                match checked {
                    Ok(bytes) => assert_eq!(sum(&bytes), image.len() as u64, "{name} at {at}"),
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 40, "{name}: {refused}");
        for length in [0, 1, 63, 64, 65, image.len() - 1] {
            assert!(check_region(&schema, id, &image[..length]).is_err());
        }
    }
}
