//! The arguments of `situ topic create` and `situ topic remove`.

use std::path::PathBuf;

use clap::Args;

/// `situ topic create`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  situ topic create camera/image sensor_msgs/msg/Image -I /opt/ros/kilted --publishers drivers --subscribers apps
  situ topic create pose demo::Pose --schema pose.idl --publishers motion --subscribers apps --depth 100

The members of one group may publish, and those of the other may subscribe; the kernel refuses anything else.
All of them belong to the group of the root (SITU_GROUP), whose members may all read. You must be a member of
both groups, or the superuser. The topic stays until `situ topic remove`.")]
pub struct CreateArgs {
    /// The topic
    pub topic: String,
    /// The type, for instance `sensor_msgs::msg::Image` or `sensor_msgs/msg/Image`
    #[arg(value_name = "TYPE")]
    pub type_name: String,
    /// The group whose members may publish: a name or a number
    #[arg(long, value_name = "GROUP")]
    pub publishers: String,
    /// The group whose members may subscribe: a name or a number
    #[arg(long, value_name = "GROUP")]
    pub subscribers: String,
    /// How many messages a member keeps at most; subscribers cannot enlarge the topic
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub depth: u32,
    /// A file that defines the type: .idl, .msg
    #[arg(long = "schema", value_name = "FILE")]
    pub schemas: Vec<PathBuf>,
    /// Directory to search for includes and ROS packages: a ROS prefix or a Python environment;
    /// AMENT_PREFIX_PATH is searched too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,
}
