//! The messages that rclrs itself uses. It has them from the crate ros-env, which finds them where all of ROS was built from source,
//! and else has stubs that panic. Here they are Situ's, except those of parameters.

pub mod rcl_interfaces;

pub use builtin_interfaces;
pub use rosgraph_msgs;
pub use unique_identifier_msgs;

/// What cancels goals.
pub mod action_msgs {
    pub use action_msgs::msg;

    /// Under the names that rclrs calls functions of, which leave no storage open.
    pub mod srv {
        pub use action_msgs::srv::CancelGoal;
        /// How it went.
        #[allow(non_camel_case_types)]
        pub type CancelGoal_Response = action_msgs::srv::CancelGoal_Response<situ_layout::Heap>;
    }
}
