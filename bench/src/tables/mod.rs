//! The tables, one file each: the driver's side, and the workers'.

pub mod bounded;
#[cfg(feature = "bridge")]
pub mod bridge;
pub mod conversion;
pub mod conversion_ros;
pub mod domains;
pub mod executor;
pub mod fanout;
pub mod graphs;
pub mod hop;
pub mod inprocess;
pub mod protobuf;
pub mod region;
pub mod scale;
pub mod service;
pub mod setup;
pub mod throughput;
pub mod wake;

use crate::bench::Bench;
use crate::failure::Failure;
use crate::view::View;

/// A table.
#[derive(Clone, Copy, Debug)]
pub enum Table {
    /// See [`hop`].
    Hop,
    /// See [`inprocess`].
    Inprocess,
    /// See [`fanout`].
    Fanout,
    /// See [`scale`].
    Scale,
    /// See [`wake`].
    Wake,
    /// See [`executor`].
    Executor,
    /// See [`service`].
    Service,
    /// See [`bridge`].
    #[cfg(feature = "bridge")]
    Bridge,
    /// See [`throughput`].
    Throughput,
    /// See [`setup`].
    Setup,
    /// See [`bounded`].
    Bounded,
    /// See [`domains`].
    Domains,
    /// See [`graphs`].
    Graphs,
    /// See [`region`].
    Region,
    /// See [`protobuf`].
    Protobuf,
    /// See [`conversion`].
    Conversion,
    /// See [`conversion_ros`].
    ConversionRos,
}

impl Table {
    /// All of them, in the order of printing.
    pub const ALL: &[Self] = &[
        Self::Hop,
        Self::Inprocess,
        Self::Fanout,
        Self::Scale,
        Self::Wake,
        Self::Executor,
        Self::Service,
        #[cfg(feature = "bridge")]
        Self::Bridge,
        Self::Throughput,
        Self::Setup,
        Self::Bounded,
        Self::Domains,
        Self::Graphs,
        Self::Region,
        Self::Protobuf,
        Self::Conversion,
        Self::ConversionRos,
    ];

    /// Its name and its title.
    pub fn title(self) -> (&'static str, &'static str) {
        match self {
            Self::Hop => ("hop", "one-way latency between two processes on two cores, busy poll"),
            Self::Inprocess => ("inprocess", "loan, write, publish, take, read and drop in one thread"),
            Self::Fanout => ("fanout", "the publisher's call: loan, write 16 bytes, publish"),
            Self::Scale => ("scale", "thousands of participants: publishing, joining, memory, who is there"),
            Self::Wake => ("wake", "64 B to a sleeping process, one way"),
            Self::Executor => ("executor", "64 B to a callback of an executor in another process, one way"),
            Self::Service => ("service", "a request to another process and its reply, 64 B each"),
            #[cfg(feature = "bridge")]
            Self::Bridge => ("bridge", "from a program on one machine to one on another, over loopback"),
            Self::Throughput => ("throughput", "lossless messages from one process to another"),
            Self::Setup => ("setup", "creating node, topic and ports in a fresh process"),
            Self::Bounded => {
                ("bounded", "sequence<uint8, N>, from before its payload is written until it is received")
            }
            Self::Domains => {
                ("domains", "an image through two bilateral filters on the device, in two processes")
            }
            Self::Graphs => {
                ("graphs", "98 random graphs of processes, half of them on the device, and all on the CPU")
            }
            Self::Region => {
                ("region", "data that grows and is itself the message, beside systems that serialize")
            }
            Self::Protobuf => ("protobuf", "encoding messages into existing memory"),
            Self::Conversion => ("conversion", "messages of ROS 2 between their C form and idiomatic Rust"),
            Self::ConversionRos => {
                ("conversion-ros", "UInt8MultiArray of 64 KiB through rclrs, rclcpp and rclpy")
            }
        }
    }

    /// Measures the table. Returns how to show it.
    pub fn run(self, bench: &mut Bench) -> Result<View, Failure> {
        match self {
            Self::Hop => hop::run(bench),
            Self::Inprocess => inprocess::run(bench),
            Self::Fanout => fanout::run(bench),
            Self::Scale => scale::run(bench),
            Self::Wake => wake::run(bench),
            Self::Executor => executor::run(bench),
            Self::Service => service::run(bench),
            #[cfg(feature = "bridge")]
            Self::Bridge => bridge::run(bench),
            Self::Throughput => throughput::run(bench),
            Self::Setup => setup::run(bench),
            Self::Bounded => bounded::run(bench),
            Self::Domains => domains::run(bench),
            Self::Graphs => graphs::run(bench),
            Self::Region => region::run(bench),
            Self::Protobuf => protobuf::run(bench),
            Self::Conversion => conversion::run(bench),
            Self::ConversionRos => conversion_ros::run(bench),
        }
    }
}
