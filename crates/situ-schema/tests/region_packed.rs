//! Packed images of regions, read by their schemas: the vectors that `spec/vectors/packed.py` computed have
//! the values of the canonical ones, and nothing panics.

use std::path::PathBuf;

use situ_schema::dynamic::{RegionHeader, check_region, from_region};
use situ_schema::model::TypeId;
use situ_schema::{Loader, Schema};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn image(name: &str) -> Vec<u8> {
    std::fs::read(root().join(format!("spec/vectors/region/{name}.bin"))).unwrap()
}

/// The vectors of types that schemas declare.
const VECTORS: [(&str, &str, &str); 5] = [
    ("pantry", "tests/generated/schema/region.idl", "game::Pantry"),
    ("bazaar", "tests/generated/schema/bazaar.idl", "game::Bazaar"),
    ("thicket", "spec/vectors/kitchen.idl", "kitchen::Thicket"),
    ("game_profile.after", "tests/generated/schema/profile.idl", "game::Profile"),
    ("game_profile.before", "tests/generated/schema/profile_before.idl", "game::Profile"),
];

fn vectors() -> impl Iterator<Item = (&'static str, Schema, TypeId)> {
    VECTORS.into_iter().map(|(name, file, ty)| {
        let schema = Loader::new().file(root().join(file)).load();
        let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let id = schema.find(ty).unwrap();
        (name, schema, id)
    })
}

#[test]
fn packed_images_have_the_values_of_canonical_ones() {
    for (name, schema, id) in vectors() {
        let (packed, canonical) = (image(&format!("{name}.packed")), image(&format!("{name}.canonical")));
        let read = from_region(&schema, id, &packed).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read, from_region(&schema, id, &canonical).unwrap(), "{name}");
        let header = RegionHeader::of(&packed).unwrap();
        assert!(header.is_packed && !header.is_canonical && header.size as usize == packed.len());
        assert!(check_region(&schema, id, &packed).is_err(), "it has no blocks of 16 bytes");
    }
}

#[test]
fn older_and_newer_images_are_read_by_their_versions() {
    let of = |name: &str| vectors().find(|(each, ..)| *each == name).unwrap();
    let (_, newer, newer_id) = of("game_profile.after");
    let (_, older, older_id) = of("game_profile.before");
    for (schema, id, name) in [(newer, newer_id, "before"), (older, older_id, "after")] {
        let read =
            |form: &str| from_region(&schema, id, &image(&format!("game_profile.{name}.{form}"))).unwrap();
        assert_eq!(read("packed"), read("canonical"), "{name}");
    }
}

#[test]
fn spoilt_images_are_refused_or_read() {
    for (name, schema, id) in vectors() {
        let good = image(&format!("{name}.packed"));
        let (mut refused, mut tried) = (0, 0);
        for at in (0..good.len()).step_by(if good.len() > 3000 { 7 } else { 1 }) {
            for flip in [1, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                tried += 1;
                refused += usize::from(from_region(&schema, id, &bad).is_err());
            }
            assert!(from_region(&schema, id, &good[..at]).is_err(), "{name} {at}");
        }
        assert!(refused > tried / 4, "{name}: {refused} of {tried}");
    }
}
