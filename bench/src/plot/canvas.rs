//! What all plots share: the systems' colours, and the errors of drawing as text.

use plotters::prelude::{DrawingAreaErrorKind, RGBColor};

use crate::systems::Kind;

/// An error of drawing as text.
pub fn text(error: DrawingAreaErrorKind<std::io::Error>) -> String {
    error.to_string()
}

/// A system's colour.
pub fn colour(system: Kind) -> RGBColor {
    match system {
        Kind::Floor => RGBColor(140, 140, 140),
        Kind::Situ => RGBColor(214, 69, 65),
        Kind::SituSerialized => RGBColor(240, 160, 120),
        Kind::SituEmulated => RGBColor(214, 69, 65),
        Kind::SituVulkan => RGBColor(200, 40, 120),
        Kind::SituCuda => RGBColor(120, 170, 0),
        Kind::SituHost => RGBColor(240, 160, 120),
        Kind::Iceoryx2 => RGBColor(44, 110, 180),
        Kind::Iceoryx => RGBColor(120, 180, 225),
        Kind::CycloneDds => RGBColor(60, 140, 80),
        Kind::CycloneDdsLoan => RGBColor(150, 200, 120),
        Kind::FastDds => RGBColor(130, 80, 160),
        Kind::FastDdsLoan => RGBColor(190, 150, 215),
        Kind::SituClang => RGBColor(235, 120, 110),
        Kind::SituCanonical => RGBColor(240, 160, 120),
        Kind::SituRust => RGBColor(170, 40, 60),
        Kind::SituPacked => RGBColor(205, 90, 40),
        Kind::Std => RGBColor(140, 140, 140),
        Kind::StdRust => RGBColor(110, 110, 110),
        Kind::Boost => RGBColor(170, 170, 170),
        Kind::XOffset => RGBColor(90, 150, 150),
        Kind::Cista => RGBColor(60, 140, 80),
        Kind::FlatBuffers => RGBColor(44, 110, 180),
        Kind::CapnProto => RGBColor(130, 80, 160),
        Kind::MessagePack => RGBColor(200, 160, 60),
        Kind::Protobuf => RGBColor(120, 100, 80),
        Kind::Rkyv => RGBColor(60, 140, 80),
        Kind::FlatBuffersRust => RGBColor(44, 110, 180),
        Kind::CapnProtoRust => RGBColor(130, 80, 160),
        Kind::Prost => RGBColor(120, 100, 80),
        Kind::Libprotobuf => RGBColor(44, 110, 180),
        Kind::LibprotobufReused => RGBColor(120, 180, 225),
        Kind::Mapbox => RGBColor(60, 140, 80),
        Kind::MapboxClang => RGBColor(150, 200, 120),
        Kind::ProtoZero => RGBColor(120, 70, 160),
        Kind::ProtoZeroClang => RGBColor(180, 140, 210),
        Kind::QuickProtobuf => RGBColor(190, 150, 215),
        Kind::Buffa => RGBColor(200, 170, 60),
        Kind::Elementwise => RGBColor(190, 150, 215),
        Kind::RosidlRuntimeRs => RGBColor(130, 80, 160),
        Kind::SituCopy => RGBColor(240, 160, 80),
        Kind::SituMove => RGBColor(214, 69, 65),
        Kind::SituLend => RGBColor(150, 40, 90),
        Kind::PerfettoSdk => RGBColor(190, 100, 90),
        Kind::SituRmw => RGBColor(240, 160, 80),
        Kind::SituWorker => RGBColor(214, 120, 65),
        Kind::RosidlRuntimeRsWorker => RGBColor(160, 110, 190),
        Kind::RosidlRuntimeRsRmw => RGBColor(100, 50, 130),
        Kind::Rclcpp => RGBColor(60, 130, 60),
        Kind::Rclpy => RGBColor(44, 110, 180),
        Kind::Zenoh => RGBColor(120, 90, 170),
    }
}
