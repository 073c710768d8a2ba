// The bus for C++: nodes, publishers and subscribers whose messages are built where they will be read.
//
//   situ::node node("camera");
//   auto points = node.publisher<PointCloud2>("points", {.reliability = situ::reliability::reliable});
//   auto cloud = points.loan({.data = bytes});
//   cloud->width = 640;
//   fill(cloud.bulk(&PointCloud2::data));
//   cloud.publish();
//
//   auto images = node.subscriber<Image>("images");
//   while (auto image = images.receive(100ms)) show(image->width, image->height, image->bulk(&Image::data));
#pragma once

#include "situ/bus/device.hpp"
#include "situ/bus/error.hpp"
#include "situ/bus/inspect.hpp"
#include "situ/bus/interrupt.hpp"
#include "situ/bus/loan.hpp"
#include "situ/bus/node.hpp"
#include "situ/bus/publisher.hpp"
#include "situ/bus/qos.hpp"
#include "situ/bus/region.hpp"
#include "situ/bus/sample.hpp"
#include "situ/bus/subscriber.hpp"
#include "situ/bus/wait.hpp"
