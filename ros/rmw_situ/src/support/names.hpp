// Names of ROS and their names on the bus.
#pragma once

#include <string>
#include <string_view>

namespace rmw_situ {

// "/camera/image" is "camera/image" on the bus.
std::string bus_name(std::string_view ros_name);
// And back.
std::string ros_name(std::string_view bus_name);

// "sensor_msgs::msg::Image" is "sensor_msgs/msg/Image" in ROS.
std::string ros_type(std::string_view bus_type);
// "std_srvs::srv::Empty_Request -> std_srvs::srv::Empty_Response" is "std_srvs/srv/Empty".
std::string ros_service_type(std::string_view bus_types);

}  // namespace rmw_situ
