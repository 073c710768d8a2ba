// The names, schemas and hashes of types are those that `situ` computes from their interface files.
#include <gtest/gtest.h>
#include <rmw/error_handling.h>

#include <cstdio>
#include <set>
#include <string>

#include "support.hpp"
#include "types/service_type.hpp"

namespace rmw_situ::test {
namespace {

std::string hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
  return text;
}

TEST(Schema, HashesAreThoseOfSitu) {
  size_t plain = 0;
  for (const KnownType& known : known_types()) {
    for (Language language : {Language::kC, Language::kCpp}) {
      SCOPED_TRACE(case_name({known.name, language}));
      const auto* support = message_support(known.name, language);
      ASSERT_NE(support, nullptr);
      const MessageType* type = MessageType::find(support);
      ASSERT_NE(type, nullptr) << rmw_get_error_string().str;
      EXPECT_EQ(type->bus_type().name, known.name);
      EXPECT_EQ(hex(type->bus_type().schema_hash), known.schema_hash) << type->bus_type().schema;
      if (type->is_plain()) {
        plain++;
        EXPECT_EQ(hex(type->bus_type().layout_hash), known.layout_hash);
        EXPECT_EQ(type->bus_type().encoding, static_cast<uint32_t>(SITU_FLAT));
        EXPECT_EQ(type->bus_type().fixed_size, type->size());
      } else {
        EXPECT_EQ(type->bus_type().layout_hash, 0u);
        EXPECT_EQ(type->bus_type().encoding, static_cast<uint32_t>(SITU_XCDR1));
        EXPECT_EQ(type->bus_type().fixed_size, 0u);
      }
      ASSERT_NE(support->get_type_hash_func, nullptr);
      const rosidl_type_hash_t* hash = support->get_type_hash_func(support);
      EXPECT_EQ(type->hash().version, 1);
      EXPECT_TRUE(std::equal(std::begin(hash->value), std::end(hash->value), std::begin(type->hash().value)));
    }
  }
  EXPECT_GT(plain, 100u);
}

TEST(Schema, BothLanguagesHaveOneTypeEach) {
  const auto* c = MessageType::find(message_support("sensor_msgs::msg::Image", Language::kC));
  const auto* cpp = MessageType::find(message_support("sensor_msgs::msg::Image", Language::kCpp));
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c, MessageType::find(message_support("sensor_msgs::msg::Image", Language::kC)));
  EXPECT_NE(c, cpp);
  EXPECT_EQ(c->ros_name(), "sensor_msgs/msg/Image");
  EXPECT_EQ(std::string(c->bus_type().schema), cpp->bus_type().schema);
  EXPECT_EQ(c->bus_type().schema_hash, cpp->bus_type().schema_hash);
}

TEST(Schema, TheTextIsCanonical) {
  const auto* type = MessageType::find(message_support("test_msgs::msg::KeyedString", Language::kCpp));
  ASSERT_NE(type, nullptr);
  EXPECT_STREQ(type->bus_type().schema,
               "module test_msgs {\n"
               "module msg {\n"
               "@final struct KeyedString {\n"
               "  @key(TRUE) string key;\n"
               "  string value;\n"
               "};\n"
               "};\n"
               "};\n");
}

TEST(Schema, EveryServiceIsFound) {
  std::set<std::string> services;
  for (const KnownType& known : known_types()) {
    size_t at = known.name.find("_Request");
    if (at != std::string::npos) services.insert(known.name.substr(0, at));
  }
  ASSERT_GT(services.size(), 20u);
  for (const std::string& name : services) {
    for (Language language : {Language::kC, Language::kCpp}) {
      SCOPED_TRACE(case_name({name, language}));
      const auto* support = service_support(name, language);
      ASSERT_NE(support, nullptr);
      const ServiceType* type = ServiceType::find(support);
      ASSERT_NE(type, nullptr) << rmw_get_error_string().str;
      EXPECT_EQ(type, ServiceType::find(support));
      std::string ros_name = name;
      for (size_t colon; (colon = ros_name.find("::")) != std::string::npos;) ros_name.replace(colon, 2, "/");
      EXPECT_EQ(type->ros_name(), ros_name);
      EXPECT_EQ(type->request().ros_name(), ros_name + "_Request");
      EXPECT_EQ(type->response().ros_name(), ros_name + "_Response");
      EXPECT_EQ(&type->request(), MessageType::find(message_support(name + "_Request", language)));
      EXPECT_EQ(type->bus_type().request, &type->request().bus_type());
      EXPECT_EQ(type->bus_type().reply, &type->response().bus_type());
      EXPECT_EQ(type->hash().version, 1);
    }
  }
}

const rosidl_message_type_support_t* no_handle(const rosidl_message_type_support_t*, const char*) {
  return nullptr;
}

TEST(Schema, AHandleWithoutIntrospectionIsRefused) {
  EXPECT_EQ(MessageType::find(nullptr), nullptr);
  EXPECT_TRUE(rmw_error_is_set());
  rmw_reset_error();
  rosidl_message_type_support_t other{};
  other.typesupport_identifier = "other";
  other.func = no_handle;
  EXPECT_EQ(MessageType::find(&other), nullptr);
  EXPECT_TRUE(rmw_error_is_set());
  rmw_reset_error();
  EXPECT_EQ(ServiceType::find(nullptr), nullptr);
  EXPECT_TRUE(rmw_error_is_set());
  rmw_reset_error();
}

}  // namespace
}  // namespace rmw_situ::test
