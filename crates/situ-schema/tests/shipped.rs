//! The message definitions that come with Situ.

use situ_schema::{Format, Loader, Schema};

fn shipped() -> Schema {
    let text = "#include <situ/sensor.idl>\n#include <situ/geometry.idl>\n";
    let loader = Loader::new().sealed().text("all.idl", text, Format::Idl);
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn all_structs_are_flat() {
    let schema = shipped();
    let structs: Vec<_> = schema.definitions().filter(|(_, it)| it.kind.as_struct().is_some()).collect();
    assert_eq!(structs.len(), 17);
    for (id, definition) in structs {
        assert!(schema.is_flat(id) && schema.is_flattable(id), "{}", definition.name);
        assert!(!definition.docs.is_empty(), "{} has no documentation", definition.name);
    }
}

/// Offsets worked out by hand with C's rules.
#[test]
fn the_layout_of_a_point_cloud() {
    let schema = shipped();
    let offsets = |name: &str| {
        let layout = schema.flat_layout(schema.find(name).unwrap()).unwrap();
        let members: Vec<_> = layout.members.iter().map(|it| (it.name.as_str(), it.offset)).collect();
        (layout.extent.size, layout.extent.align, members)
    };
    assert_eq!(offsets("situ::common::Time"), (8, 4, vec![("sec", 0), ("nanosec", 4)]));
    // string<63>: 4 bytes of length and 64 characters.
    assert_eq!(offsets("situ::common::Header"), (76, 4, vec![("stamp", 0), ("frame_id", 8)]));
    // string<31>: 4 + 32.
    let members = vec![("name", 0), ("offset", 36), ("datatype", 40), ("count", 44)];
    assert_eq!(offsets("situ::sensor::PointField"), (48, 4, members));
    // 16 fields of 48 bytes behind a length of 4: 772 bytes, to 856; is_bigendian at 856; point_step at 860.
    let members = vec![
        ("header", 0),
        ("height", 76),
        ("width", 80),
        ("fields", 84),
        ("is_bigendian", 856),
        ("point_step", 860),
        ("row_step", 864),
        ("data", 872),
        ("is_dense", 888),
    ];
    assert_eq!(offsets("situ::sensor::PointCloud2"), (896, 8, members));
    let bulk = schema.bulk_fields(schema.find("situ::sensor::PointCloud2").unwrap());
    assert_eq!(bulk.len(), 1);
    assert_eq!(
        (bulk[0].path.join("."), bulk[0].offset, bulk[0].element_extent.size),
        ("data".into(), 872, 1)
    );
}
