//! The systems under test behind one small interface: the same loop measures each of them.

pub mod cyclonedds;
pub mod floor;
pub mod iceoryx;
pub mod iceoryx2;
pub mod iceoryx2_service;
#[cfg(feature = "bridge")]
pub mod links;
pub mod situ;
pub mod situ_serialized;
pub mod situ_service;

use std::ops::Range;
use std::time::Duration;

use crate::failure::Failure;
use crate::payload::{Found, Touch};
use crate::session::Session;

/// The systems of all tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The limit of hardware and kernel: bare shared memory, a bare futex.
    Floor,
    /// Situ: a flat message, built in the memory in which it is read.
    Situ,
    /// Situ: a heap message, serialized into shared memory.
    SituSerialized,
    /// Situ: the nodes' messages in an emulated device's memory.
    SituEmulated,
    /// Situ: the nodes' messages in a Vulkan device's memory.
    SituVulkan,
    /// Situ: the nodes' messages in a CUDA device's memory.
    SituCuda,
    /// Situ: messages in host memory, copied to and from the device by the nodes.
    SituHost,
    /// iceoryx2, the Rust library.
    Iceoryx2,
    /// Classic iceoryx, the C++ library with its daemon RouDi.
    Iceoryx,
    /// Cyclone DDS: `sequence<octet, N>`, serialized, through shared memory.
    CycloneDds,
    /// Cyclone DDS: `octet[N]`, which it can loan without serializing.
    CycloneDdsLoan,
    /// Fast DDS: `sequence<octet, N>`, serialized, through its shared-memory transport.
    FastDds,
    /// Fast DDS: a plain type of fixed size, loaned, with data sharing.
    FastDdsLoan,
    /// Situ in C++, compiled by Clang.
    SituClang,
    /// Situ's regions, received and sent in their compact form.
    SituCanonical,
    /// Situ in Rust.
    SituRust,
    /// Situ's regions in their packed form, in Rust.
    SituPacked,
    /// Containers of the C++ standard library: no messages.
    Std,
    /// Containers of Rust's standard library: no messages.
    StdRust,
    /// Boost.Container: no messages.
    Boost,
    /// Boost.Interprocess's containers in a managed buffer.
    XOffset,
    /// cista, with offset pointers.
    Cista,
    /// FlatBuffers, C++.
    FlatBuffers,
    /// Cap'n Proto, C++.
    CapnProto,
    /// MessagePack, C++.
    MessagePack,
    /// Protobuf, C++.
    Protobuf,
    /// rkyv.
    Rkyv,
    /// FlatBuffers, Rust.
    FlatBuffersRust,
    /// Cap'n Proto, Rust.
    CapnProtoRust,
    /// Protobuf, Rust: prost.
    Prost,
    /// libprotobuf, a new message each time.
    Libprotobuf,
    /// libprotobuf, the same message cleared.
    LibprotobufReused,
    /// Mapbox's protozero.
    Mapbox,
    /// Mapbox's protozero, compiled by Clang.
    MapboxClang,
    /// Perfetto's ProtoZero.
    ProtoZero,
    /// Perfetto's ProtoZero, compiled by Clang.
    ProtoZeroClang,
    /// quick-protobuf.
    QuickProtobuf,
    /// buffa.
    Buffa,
    /// ROS's Rust runtime, with messages that are converted element by element.
    Elementwise,
    /// ROS's Rust runtime, with messages whose numbers are copied as one block.
    RosidlRuntimeRs,
    /// Situ: messages converted by reference.
    SituCopy,
    /// Situ: messages given away.
    SituMove,
    /// Situ: messages lent.
    SituLend,
    /// Perfetto's writer in Rust.
    PerfettoSdk,
    /// Situ: C structs, published and received without conversion.
    SituRmw,
    /// Situ: messages given to a worker of rclrs.
    SituWorker,
    /// ROS's Rust runtime, messages given to a worker of rclrs.
    RosidlRuntimeRsWorker,
    /// ROS's Rust runtime: C structs.
    RosidlRuntimeRsRmw,
    /// rclcpp.
    Rclcpp,
    /// rclpy.
    Rclpy,
    /// Plain Zenoh.
    Zenoh,
}

impl Kind {
    const ALL: &[Self] = &[
        Self::Floor,
        Self::Situ,
        Self::SituSerialized,
        Self::SituEmulated,
        Self::SituVulkan,
        Self::SituCuda,
        Self::SituHost,
        Self::Iceoryx2,
        Self::Iceoryx,
        Self::CycloneDds,
        Self::CycloneDdsLoan,
        Self::FastDds,
        Self::FastDdsLoan,
        Self::SituClang,
        Self::SituCanonical,
        Self::SituRust,
        Self::SituPacked,
        Self::Std,
        Self::StdRust,
        Self::Boost,
        Self::XOffset,
        Self::Cista,
        Self::FlatBuffers,
        Self::CapnProto,
        Self::MessagePack,
        Self::Protobuf,
        Self::Rkyv,
        Self::FlatBuffersRust,
        Self::CapnProtoRust,
        Self::Prost,
        Self::Libprotobuf,
        Self::LibprotobufReused,
        Self::Mapbox,
        Self::MapboxClang,
        Self::ProtoZero,
        Self::ProtoZeroClang,
        Self::QuickProtobuf,
        Self::Buffa,
        Self::Elementwise,
        Self::RosidlRuntimeRs,
        Self::SituCopy,
        Self::SituMove,
        Self::SituLend,
        Self::PerfettoSdk,
        Self::SituRmw,
        Self::SituWorker,
        Self::RosidlRuntimeRsWorker,
        Self::RosidlRuntimeRsRmw,
        Self::Rclcpp,
        Self::Rclpy,
        Self::Zenoh,
    ];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Situ => "situ",
            Self::SituSerialized => "situ-serialized",
            Self::SituEmulated => "situ-emulated",
            Self::SituVulkan => "situ-vulkan",
            Self::SituCuda => "situ-cuda",
            Self::SituHost => "situ-host",
            Self::Iceoryx2 => "iceoryx2",
            Self::Iceoryx => "iceoryx",
            Self::CycloneDds => "cyclonedds",
            Self::CycloneDdsLoan => "cyclonedds-loan",
            Self::FastDds => "fastdds",
            Self::FastDdsLoan => "fastdds-loan",
            Self::SituClang => "situ-clang",
            Self::SituCanonical => "situ-canonical",
            Self::SituRust => "situ-rust",
            Self::SituPacked => "situ-packed",
            Self::Std => "std",
            Self::StdRust => "std-rust",
            Self::Boost => "boost",
            Self::XOffset => "xoffset",
            Self::Cista => "cista",
            Self::FlatBuffers => "flatbuffers",
            Self::CapnProto => "capnp",
            Self::MessagePack => "msgpack",
            Self::Protobuf => "protobuf",
            Self::Rkyv => "rkyv",
            Self::FlatBuffersRust => "flatbuffers-rust",
            Self::CapnProtoRust => "capnp-rust",
            Self::Prost => "prost",
            Self::Libprotobuf => "libprotobuf",
            Self::LibprotobufReused => "libprotobuf-reused",
            Self::Mapbox => "mapbox",
            Self::MapboxClang => "mapbox-clang",
            Self::ProtoZero => "protozero",
            Self::ProtoZeroClang => "protozero-clang",
            Self::QuickProtobuf => "quick-protobuf",
            Self::Buffa => "buffa",
            Self::Elementwise => "elementwise",
            Self::RosidlRuntimeRs => "rosidl_runtime_rs",
            Self::SituCopy => "situ-copy",
            Self::SituMove => "situ-move",
            Self::SituLend => "situ-lend",
            Self::PerfettoSdk => "perfetto-sdk",
            Self::SituRmw => "situ-rmw",
            Self::SituWorker => "situ-worker",
            Self::RosidlRuntimeRsWorker => "rosidl_runtime_rs-worker",
            Self::RosidlRuntimeRsRmw => "rosidl_runtime_rs-rmw",
            Self::Rclcpp => "rclcpp",
            Self::Rclpy => "rclpy",
            Self::Zenoh => "zenoh",
        }
    }

    /// The system with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The program of a peer that is not Rust, for this table.
    pub fn peer_binary(self, table: &str) -> Option<&'static str> {
        match self {
            // The program loads it as a library.
            Self::CycloneDds if table != "bounded" => None,
            Self::Situ if table == "region" => Some("peer-region-situ"),
            Self::SituClang => Some("peer-region-situ-clang"),
            Self::SituCanonical => Some("peer-region-situ-canonical"),
            Self::Std => Some("peer-region-std"),
            Self::Boost => Some("peer-region-boost"),
            Self::XOffset => Some("peer-region-xoffset"),
            Self::Cista => Some("peer-region-cista"),
            Self::FlatBuffers => Some("peer-region-flatbuffers"),
            Self::CapnProto => Some("peer-region-capnp"),
            Self::MessagePack => Some("peer-region-msgpack"),
            Self::Protobuf => Some("peer-region-protobuf"),
            Self::Floor
            | Self::Situ
            | Self::SituSerialized
            | Self::SituEmulated
            | Self::SituVulkan
            | Self::SituCuda
            | Self::SituHost
            | Self::SituRust
            | Self::SituPacked
            | Self::StdRust
            | Self::Rkyv
            | Self::FlatBuffersRust
            | Self::CapnProtoRust
            | Self::Prost
            | Self::Libprotobuf
            | Self::LibprotobufReused
            | Self::Mapbox
            | Self::MapboxClang
            | Self::ProtoZero
            | Self::ProtoZeroClang
            | Self::QuickProtobuf
            | Self::Buffa
            | Self::Elementwise
            | Self::RosidlRuntimeRs
            | Self::SituCopy
            | Self::SituMove
            | Self::SituLend
            | Self::PerfettoSdk
            | Self::SituRmw
            | Self::SituWorker
            | Self::RosidlRuntimeRsWorker
            | Self::RosidlRuntimeRsRmw
            | Self::Rclcpp
            | Self::Rclpy
            | Self::Zenoh
            | Self::Iceoryx2 => None,
            Self::Iceoryx => Some("peer-iceoryx"),
            Self::CycloneDds => Some("peer-cyclonedds"),
            Self::CycloneDdsLoan => Some("peer-cyclonedds-loan"),
            Self::FastDds => Some("peer-fastdds"),
            Self::FastDdsLoan => Some("peer-fastdds-loan"),
        }
    }

    /// Whether it needs the daemon of classic iceoryx.
    pub fn needs_daemon(self) -> bool {
        matches!(self, Self::Iceoryx | Self::CycloneDds | Self::CycloneDdsLoan)
    }

    /// Whether it is a peer with which Situ is compared, and neither Situ itself nor the floor.
    pub fn is_peer(self) -> bool {
        matches!(
            self,
            Self::Iceoryx2
                | Self::Iceoryx
                | Self::CycloneDds
                | Self::CycloneDdsLoan
                | Self::FastDds
                | Self::FastDdsLoan
                | Self::XOffset
                | Self::Cista
                | Self::FlatBuffers
                | Self::CapnProto
                | Self::MessagePack
                | Self::Protobuf
                | Self::Rkyv
                | Self::FlatBuffersRust
                | Self::CapnProtoRust
                | Self::Prost
                | Self::Libprotobuf
                | Self::LibprotobufReused
                | Self::Mapbox
                | Self::MapboxClang
                | Self::ProtoZero
                | Self::ProtoZeroClang
                | Self::QuickProtobuf
                | Self::Buffa
                | Self::Elementwise
                | Self::RosidlRuntimeRs
                | Self::PerfettoSdk
                | Self::RosidlRuntimeRsWorker
                | Self::RosidlRuntimeRsRmw
                | Self::Rclcpp
                | Self::Rclpy
                | Self::Zenoh
        )
    }

    /// Whether it is a system of table `region` that is written in Rust. These are in a program of their own.
    pub fn is_rust_region(self) -> bool {
        matches!(
            self,
            Self::SituRust
                | Self::SituPacked
                | Self::StdRust
                | Self::Rkyv
                | Self::FlatBuffersRust
                | Self::CapnProtoRust
                | Self::Prost
        )
    }

    /// Whether its values stand in the ratio for Situ.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Situ | Self::SituEmulated | Self::SituVulkan | Self::SituCuda | Self::SituCopy)
    }
}

/// The type of a channel's messages, for systems with types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A header, and as many bytes as a message needs.
    Plain,
    /// A header and a `sequence<uint8, N>`.
    Bounded,
}

/// The properties of a channel between a sender and its receivers. Sender and receivers name the same.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The topic's name.
    pub name: String,
    /// The largest message.
    pub size: usize,
    /// The number of messages that the channel keeps.
    pub depth: usize,
    /// Whether a full channel makes the sender wait. Otherwise the oldest message is dropped.
    pub reliable: bool,
    /// The maximum of receivers.
    pub places: usize,
    /// The maximum of senders.
    pub publishers: usize,
    /// Whether receivers sleep. Otherwise they poll.
    pub blocking: bool,
    /// The type of the messages.
    pub shape: Shape,
}

impl Channel {
    /// A channel that keeps the newest few messages, for one receiver that polls.
    pub fn new(name: impl Into<String>, size: usize) -> Self {
        Self {
            name: name.into(),
            size,
            depth: 8,
            reliable: false,
            places: 1,
            publishers: 1,
            blocking: false,
            shape: Shape::Plain,
        }
    }
}

/// A system under test, in one process.
pub trait System: Sized {
    /// Its name.
    const NAME: &'static str;
    /// The number of copies of a message's bytes that the system makes: one for each message, and one for
    /// each take.
    const COPIES: (u64, u64) = (0, 0);
    /// The time after opening the channels during which messages may still be lost.
    const SETTLING: Duration = Duration::ZERO;
    /// The publisher.
    type Sender: Sender;
    /// The subscriber.
    type Receiver: Receiver;
    /// Creates the part that each process needs once: the node.
    fn create(session: &Session) -> Result<Self, Failure>;
    /// Opens or creates the channel and a publisher on it.
    fn sender(&self, channel: &Channel) -> Result<Self::Sender, Failure>;
    /// Opens or creates the channel and a subscriber on it.
    fn receiver(&self, channel: &Channel) -> Result<Self::Receiver, Failure>;
}

/// A publisher.
pub trait Sender {
    /// Memory for one message, in the place in which it is read.
    type Loan<'a>: Loan
    where
        Self: 'a;
    /// Waits until all of the channel's receivers are known, if the system needs time for that.
    fn connect(&self) -> Result<(), Failure> {
        Ok(())
    }
    /// Loans memory for a message.
    fn loan(&self, size: usize) -> Result<Self::Loan<'_>, Failure>;
    /// Publishes several messages, in one call if the system has one.
    fn publish_batch(&self, size: usize, sequences: Range<u64>) -> Result<(), Failure> {
        for sequence in sequences {
            let mut loan = self.loan(size)?;
            loan.write(sequence, 0, Touch::All)?;
            loan.publish()?;
        }
        Ok(())
    }
}

/// A message that is being written.
pub trait Loan {
    /// Writes the header, and the rest if it is to be touched.
    fn write(&mut self, sequence: u64, time: u64, touch: Touch) -> Result<(), Failure>;
    /// The bytes behind the header, for writing.
    fn data(&mut self) -> &mut [u8];
    /// Publishes the message, and wakes sleeping receivers.
    fn publish(self) -> Result<(), Failure>;
}

/// A received message. Its memory is held until it is dropped.
pub trait Message {
    /// Reads the header, and the rest if it is to be touched.
    fn read(&self, touch: Touch) -> Result<Found, Failure>;
    /// The bytes behind the header.
    fn data(&self) -> &[u8];
}

/// A subscriber.
pub trait Receiver {
    /// A received message.
    type Message<'a>: Message
    where
        Self: 'a;
    /// Waits until the sender is known, if the system needs time for that.
    fn connect(&self) -> Result<(), Failure> {
        Ok(())
    }
    /// The next message, if there is one.
    fn take(&self) -> Result<Option<Self::Message<'_>>, Failure>;
    /// Takes several messages if they are there, in one call if the system has one, and reads each of them
    /// entirely.
    fn take_batch(
        &self,
        most: usize,
        mut read: impl FnMut(Found) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for _ in 0..most {
            let Some(message) = self.take()? else { break };
            read(message.read(Touch::All)?)?;
        }
        Ok(())
    }
    /// Sleeps until there may be a message. May return early. Only for channels that are `blocking`.
    fn wait(&self) -> Result<(), Failure>;
}
