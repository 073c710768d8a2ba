//! The arguments of `situ topic create` and `situ service create`.

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

/// `situ service create`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  situ service create add demo::srv::AddTwoInts --schema demo/srv/AddTwoInts.srv --callers apps --servers motion
  situ service create calculator/add Calculator_add --schema calculator.idl --callers apps --servers motion

The members of one group may send requests, and those of the other may take them; the kernel refuses anything
else. All of them belong to the group of the root (SITU_GROUP), whose members may all read requests and
replies, and may all send replies. You must be a member of both groups, or the superuser. The service stays
until `situ service remove`.")]
pub struct ServiceCreateArgs {
    /// The service
    pub service: String,
    /// The service type, for instance `example_interfaces::srv::AddTwoInts`, or of an operation
    /// `Calculator_add`
    #[arg(value_name = "TYPE")]
    pub type_name: String,
    /// The group whose members may send requests: a name or a number
    #[arg(long, value_name = "GROUP")]
    pub callers: String,
    /// The group whose members may take requests: a name or a number
    #[arg(long, value_name = "GROUP")]
    pub servers: String,
    /// How many requests a member keeps at most; servers cannot enlarge the service
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub depth: u32,
    /// A file that defines the type: .idl, .srv
    #[arg(long = "schema", value_name = "FILE")]
    pub schemas: Vec<PathBuf>,
    /// Directory to search for includes and ROS packages: a ROS prefix or a Python environment;
    /// AMENT_PREFIX_PATH is searched too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,
}
