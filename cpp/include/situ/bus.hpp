// The bus for C++: nodes, publishers and subscribers of typed messages, over the C interface in situ.h.
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
//
// The folders of bus/, from the bottom up:
//
//   c_abi/   values that cross into C: errors, quality of service, type descriptions, owned handles
//   raii/    untyped objects over C handles: node, device, interrupter, raw loan, any publisher and more
//   typed/   publisher, loan, subscriber and sample of a generated message type; blackboards
//   region/  the same four for messages with storage in regions
//   service/ clients and servers, requests and replies
#pragma once

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/any_publisher.hpp"
#include "situ/bus/raii/any_subscriber.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/raii/event.hpp"
#include "situ/bus/raii/executor.hpp"
#include "situ/bus/raii/graph.hpp"
#include "situ/bus/raii/guard.hpp"
#include "situ/bus/raii/inspect.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/raii/timer.hpp"
#include "situ/bus/raii/wait.hpp"
#include "situ/bus/raii/wait_set.hpp"
#include "situ/bus/region/loan.hpp"
#include "situ/bus/region/open.hpp"
#include "situ/bus/region/publisher.hpp"
#include "situ/bus/region/region_loan.hpp"
#include "situ/bus/region/sample.hpp"
#include "situ/bus/region/subscriber.hpp"
#include "situ/bus/service/any_client.hpp"
#include "situ/bus/service/any_server.hpp"
#include "situ/bus/service/client.hpp"
#include "situ/bus/service/form.hpp"
#include "situ/bus/service/options.hpp"
#include "situ/bus/service/pending_call.hpp"
#include "situ/bus/service/reply_loan.hpp"
#include "situ/bus/service/request.hpp"
#include "situ/bus/service/server.hpp"
#include "situ/bus/service/task.hpp"
#include "situ/bus/typed/blackboard.hpp"
#include "situ/bus/typed/loan.hpp"
#include "situ/bus/typed/publisher.hpp"
#include "situ/bus/typed/sample.hpp"
#include "situ/bus/typed/subscriber.hpp"
