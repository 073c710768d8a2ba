// Makes content filters, and reports what is wrong with an expression as rmw's error.
#include "content_filter.hpp"

#include <rmw/error_handling.h>

#include <exception>

#include "condition.hpp"
#include "filter_error.hpp"

namespace rmw_situ {

namespace {

class ParsedFilter : public ContentFilter {
 public:
  ParsedFilter(const filter::Introspection& type, const std::string& expression,
               const std::vector<std::string>& parameters)
      : expression_(expression),
        parameters_(parameters),
        conditions_(filter::parse(type, expression_, parameters_)) {}

  bool passes(const void* message) const override { return conditions_.passes(message); }

 private:
  // The literals of the conditions point into these.
  const std::string expression_;
  const std::vector<std::string> parameters_;
  const filter::Conditions conditions_;
};

}  // namespace

std::unique_ptr<ContentFilter> ContentFilter::make(const rosidl_message_type_support_t* support,
                                                   const std::string& expression,
                                                   const std::vector<std::string>& parameters) {
  try {
    const auto type = filter::Introspection::find(support);
    if (!type) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
          "content filter '%.200s': the type has no introspection, in which its fields are found; build its "
          "package "
          "with rosidl_typesupport_introspection_c or _cpp",
          expression.c_str());
      return nullptr;
    }
    return std::make_unique<ParsedFilter>(*type, expression, parameters);
  } catch (const filter::FilterError& error) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("content filter '%.200s', column %zu: %.400s", expression.c_str(),
                                         error.position + 1, error.message.c_str());
  } catch (const std::exception& error) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("content filter '%.200s': could not be made: %s", expression.c_str(),
                                         error.what());
  }
  return nullptr;
}

}  // namespace rmw_situ
