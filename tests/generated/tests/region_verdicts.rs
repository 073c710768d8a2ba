//! Compiled readers of regions and those by the schema alone agree on images of which a byte was spoilt.

use situ::region::{Region, Stored};
use situ_generated::bazaar::game::Cupboard;
use situ_generated::family::family::Tree;
use situ_generated::profile::game::Profile;
use situ_schema::Loader;
use situ_schema::dynamic::{RegionHeader, check_region, from_region};

/// Spoils each byte of the images of a vector. What the schema refuses, the compiled type refuses. If
/// `equal`, the verdicts are the same. They are not for types with hash tables or trees: the order in these is
/// checked by compiled types only, and so is the layout hash.
fn compare<T: Stored>(file: &str, name: &str, vector: &str, equal: bool) {
    let folder = env!("CARGO_MANIFEST_DIR");
    let schema = Loader::new().file(format!("{folder}/schema/{file}.idl")).load().unwrap();
    let id = schema.find(name).unwrap();
    for form in ["live", "canonical", "packed"] {
        let image = std::fs::read(format!("{folder}/../../spec/vectors/region/{vector}.{form}.bin")).unwrap();
        assert!(Region::<T>::adopt(&image).is_ok(), "{vector}, {form}");
        let mut refused = 0;
        for at in (0..image.len()).filter(|at| !(16..24).contains(at)) {
            for change in [0x01, 0x80, 0xff] {
                let mut spoilt = image.clone();
                spoilt[at] ^= change;
                let compiled = Region::<T>::adopt(&spoilt).map(drop);
                let is_packed = RegionHeader::of(&spoilt).is_ok_and(|header| header.is_packed);
                let by_schema = if is_packed {
                    from_region(&schema, id, &spoilt).map(drop).map_err(|error| error.to_string())
                } else {
                    check_region(&schema, id, &spoilt).map(drop).map_err(|error| error.to_string())
                };
                let which = format!("{vector}, {form}, byte {at} ^ {change:#x}: {compiled:?}, {by_schema:?}");
                assert!(by_schema.is_ok() || compiled.is_err(), "{which}");
                assert!(!equal || by_schema.is_err() || compiled.is_ok(), "{which}");
                refused += usize::from(by_schema.is_err());
            }
        }
        // Many bytes are parts of links, counts and the header.
        assert!(refused > image.len() / 2, "{vector}, {form}: {refused} of {}", image.len() * 3);
    }
}

#[test]
fn weak_and_shared_links() {
    compare::<Tree>("family", "family::Tree", "family_tree", true);
}

#[test]
fn keys_of_all_kinds() {
    compare::<Cupboard>("bazaar", "game::Cupboard", "cupboard", false);
}

#[test]
fn structs_that_can_be_appended_to() {
    compare::<Profile>("profile", "game::Profile", "game_profile.after", false);
}
