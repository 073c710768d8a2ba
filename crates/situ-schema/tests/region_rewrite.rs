//! Images of regions that are written in another form by their schema, against the vectors that the scripts
//! of `spec/vectors` computed and that compiled types write too.

use std::path::PathBuf;

use situ_region::dynamic::{DynamicRegion, Form, Step};
use situ_schema::dynamic::{
    RegionHeader, RegionTypes, RewriteError, check_region, from_region, rewrite_region, to_packed, to_region,
};
use situ_schema::model::TypeId;
use situ_schema::{Format, Loader, Schema};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn image(name: &str) -> Vec<u8> {
    std::fs::read(root().join(format!("spec/vectors/region/{name}.bin"))).unwrap()
}

fn load(file: &str, ty: &str) -> (Schema, TypeId) {
    let schema = Loader::new().file(root().join(file)).load();
    let schema = schema.unwrap_or_else(|error| panic!("{}", error.render(false)));
    let id = schema.find(ty).unwrap();
    (schema, id)
}

/// Vectors of types that schemas declare, and whether links of the value share another.
const VECTORS: [(&str, &str, &str, bool); 6] = [
    ("bazaar", "tests/generated/schema/bazaar.idl", "game::Bazaar", true),
    ("cupboard", "tests/generated/schema/bazaar.idl", "game::Cupboard", false),
    ("pantry", "tests/generated/schema/region.idl", "game::Pantry", false),
    ("thicket", "spec/vectors/kitchen.idl", "kitchen::Thicket", false),
    ("game_profile.after", "tests/generated/schema/profile.idl", "game::Profile", false),
    ("game_profile.before", "tests/generated/schema/profile_before.idl", "game::Profile", false),
];

#[test]
fn images_have_the_bytes_of_the_vectors() {
    for (name, file, ty, shares) in VECTORS {
        let (schema, id) = load(file, ty);
        for to in ["canonical", "packed"] {
            let form = if to == "packed" { Form::Packed } else { Form::Canonical };
            for from in ["live", "canonical", "packed"] {
                let written = rewrite_region(&schema, id, &image(&format!("{name}.{from}")), form);
                if from == "packed" && shares {
                    assert_eq!(written, Err(RewriteError::Shared), "{name}");
                    continue;
                }
                let written = written.unwrap_or_else(|error| panic!("{name}.{from} to {to}: {error}"));
                assert!(written == image(&format!("{name}.{to}")), "{name}.{from} to {to}");
            }
        }
    }
}

#[test]
fn values_are_packed_without_an_image() {
    for (name, file, ty, shares) in VECTORS {
        let (schema, id) = load(file, ty);
        let value = from_region(&schema, id, &image(&format!("{name}.canonical"))).unwrap();
        let packed = to_packed(&schema, id, &value).unwrap();
        assert_eq!(packed == image(&format!("{name}.packed")), !shares, "{name}");
        // The keys of a hash set lie in another order there.
        let again = from_region(&schema, id, &packed).unwrap();
        let canonical = |value| to_region(&schema, id, value).unwrap();
        assert!(canonical(&again) == canonical(&value), "{name}");
    }
}

#[test]
fn an_image_of_another_version_gets_the_members_of_the_schema() {
    let (newer, newer_id) = load("tests/generated/schema/profile.idl", "game::Profile");
    let (older, older_id) = load("tests/generated/schema/profile_before.idl", "game::Profile");
    for (schema, id, name) in [(newer, newer_id, "before"), (older, older_id, "after")] {
        let (live, packed) = (format!("game_profile.{name}.live"), format!("game_profile.{name}.packed"));
        let value = from_region(&schema, id, &image(&live)).unwrap();
        for from in [live, packed] {
            for form in [Form::Canonical, Form::Packed] {
                let written = rewrite_region(&schema, id, &image(&from), form).unwrap();
                assert_eq!(from_region(&schema, id, &written).unwrap(), value, "{from} {form:?}");
                assert_eq!(RegionHeader::of(&written).unwrap().is_packed, form == Form::Packed);
            }
        }
    }
}

#[test]
fn chains_of_any_length_are_packed() {
    let schema = Schema::from_idl("@region struct Link { sequence<Link> next; long id; };").unwrap();
    let id = schema.find("Link").unwrap();
    let mut region = DynamicRegion::new(RegionTypes::of(&schema, id).unwrap().types().clone());
    let mut steps = Vec::new();
    for _ in 0..300 {
        steps.push(Step::Member(0));
        region.edit(&steps).unwrap().insert(0).unwrap();
        steps.push(Step::Element(0));
    }
    check_region(&schema, id, region.bytes()).unwrap();
    let packed = rewrite_region(&schema, id, region.bytes(), Form::Packed).unwrap();
    // The header, a number and a link, and 300 times a length with padding, a number and a link.
    assert_eq!(packed.len(), 32 + 8 + 300 * 12);
    assert!(from_region(&schema, id, &packed).unwrap_err().to_string().contains("more than 128 deep"));
}

/// A check by the schema alone does not find cycles of more than 64 shared links.
#[test]
fn a_long_cycle_of_shared_links_is_refused_or_converted() {
    let text = "struct Graph; struct Link { @optional @shared Graph to; };
        @region struct Graph { sequence<Link> links; };";
    let schema = Loader::new().text("graph.idl", text, Format::Idl).load().unwrap();
    let id = schema.find("Graph").unwrap();
    let types = RegionTypes::of(&schema, id).unwrap();
    // The header of a live image: size and root are set below.
    let mut image = DynamicRegion::new(types.types().clone()).canonical()[..64].to_vec();
    image[6] = 1;
    let (root, count) = (64_u32, 300_u32);
    let node = |i: u32| 96 + 48 * i;
    let mut put = |words: &[u32]| words.iter().for_each(|word| image.extend(word.to_le_bytes()));
    // A sequence with one link, which leads to a node. A node has two counts and a sequence, and the block of
    // its sequence follows. The last node leads back to the second one.
    put(&[16, 1, 1, root.wrapping_neg()]);
    put(&[node(0) - 80, 80_u32.wrapping_neg(), 0, 0]);
    for i in 0..count {
        let (at, links) = (node(i), if i == 1 { 2 } else { 1 });
        let next = if i + 1 == count { node(1) } else { node(i + 1) };
        put(&[links, 0, 24, 1, 1, (at + 8).wrapping_neg(), 0, 0]);
        put(&[next.wrapping_sub(at + 32), (at + 32).wrapping_neg(), 0, 0]);
    }
    let size = image.len() as u32;
    image[24..28].copy_from_slice(&size.to_le_bytes());
    check_region(&schema, id, &image).unwrap();
    for form in [Form::Canonical, Form::Packed] {
        let written = rewrite_region(&schema, id, &image, form);
        assert!(written.is_err() || written.is_ok_and(|written| written.len() <= image.len()));
    }
}

#[test]
fn spoilt_images_are_refused_or_converted() {
    for (name, file, ty, _) in VECTORS {
        let (schema, id) = load(file, ty);
        for from in ["live", "canonical", "packed"] {
            let good = image(&format!("{name}.{from}"));
            let (mut refused, mut tried) = (0, 0);
            for at in (0..good.len()).step_by(101) {
                for flip in [1, 0xff] {
                    let mut bad = good.clone();
                    bad[at] ^= flip;
                    tried += 1;
                    for form in [Form::Canonical, Form::Packed] {
                        match rewrite_region(&schema, id, &bad, form) {
                            Err(_) => refused += 1,
                            Ok(written) => {
                                let read = from_region(&schema, id, &written);
                                read.unwrap_or_else(|error| panic!("{name}.{from} {at}: {error}"));
                            }
                        }
                    }
                }
            }
            assert!(refused > tried / 3, "{name}.{from}: {refused} of {tried}");
        }
        let mut other = image(&format!("{name}.canonical"));
        other[16] ^= 1;
        let error = rewrite_region(&schema, id, &other, Form::Packed).unwrap_err();
        assert!(error.to_string().contains("layout hash"), "{error}");
    }
}
