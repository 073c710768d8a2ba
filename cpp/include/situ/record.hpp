// Recordings: reads and writes MCAP files, with generated message types or with bytes.
//
//   situ::record::reader file("drive.mcap");
//   for (const auto& message : file.messages({.topics = {"imu"}})) {
//     const auto imu = message.as<Imu>();
//     std::cout << message.log_time().time_since_epoch().count() << ": " << imu->angular_velocity.z << "\n";
//   }
//
//   situ::record::writer file("numbers.mcap");
//   const auto numbers = file.topic<Number>("numbers");
//   file.write(numbers, Number{7});
//   file.finish();
//
// The functions need a libsitu with the feature `record`, which it has by default. Each operation that can
// fail throws `situ::error`, and has a form that returns a `situ::result`.
#pragma once

#include "situ/record/reader.hpp"
#include "situ/record/writer.hpp"
