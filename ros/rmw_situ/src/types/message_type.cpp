// The types of messages of this process, each found once by the handle of its introspection.
#include "types/message_type.hpp"

#include <dlfcn.h>
#include <rmw/error_handling.h>

#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "types/blank.hpp"
#include "types/cdr_read.hpp"
#include "types/cdr_source.hpp"
#include "types/cdr_write.hpp"
#include "types/description.hpp"
#include "types/in_place.hpp"
#include "types/plan.hpp"
#include "types/schema.hpp"
#include "types/shadow.hpp"

namespace rmw_situ {
namespace {

// "a::b::C" as "a/b/C".
std::string with_slashes(const std::string& name) {
  std::string result;
  for (size_t i = 0; i < name.size(); i++) {
    if (name.compare(i, 2, "::") == 0) {
      result += '/';
      i++;
    } else {
      result += name[i];
    }
  }
  return result;
}

class IntrospectedType final : public MessageType {
 public:
  explicit IntrospectedType(const rosidl_message_type_support_t& introspection)
      : description_(describe(introspection)),
        plan_(compile(description_.root())),
        ros_name_(with_slashes(root().name)),
        schema_(schema_text(description_)) {
    bus_type_.name = root().name.c_str();
    bus_type_.schema = schema_.c_str();
    bus_type_.schema_hash = schema_hash(description_, schema_);
    bus_type_.encoding = SITU_XCDR1;
    if (root().is_plain) {
      bus_type_.layout_hash = layout_hash(description_);
      bus_type_.encoding = SITU_FLAT;
      bus_type_.fixed_size = static_cast<uint32_t>(root().size);
    }
    const rosidl_type_hash_t* hash = introspection.get_type_hash_func == nullptr
                                         ? nullptr
                                         : introspection.get_type_hash_func(&introspection);
    hash_ = hash == nullptr ? rosidl_get_zero_initialized_type_hash() : *hash;
  }

  const std::string& ros_name() const override { return ros_name_; }
  const situ_type& bus_type() const override { return bus_type_; }
  bool is_plain() const override { return root().is_plain; }
  size_t size() const override { return root().size; }
  size_t alignment() const override { return root().alignment; }
  const rosidl_type_hash_t& hash() const override { return hash_; }

  bool init(void* message) const override try {
    // The functions of C leave numbers without a default as they are.
    std::memset(message, 0, root().size);
    if (root().language == Language::kC) {
      root().init_c(message, ROSIDL_RUNTIME_C_MSG_INIT_ALL);
    } else {
      root().init_cpp(message, rosidl_runtime_cpp::MessageInitialization::ALL);
    }
    return true;
  } catch (const std::exception& error) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("a message of '%s' cannot be made: %s", ros_name_.c_str(),
                                         error.what());
    return false;
  }

  void fini(void* message) const override { root().fini(message); }

  bool check_plain(std::span<const std::byte> head) const override {
    if (head.size() != root().size) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
          "a message of '%s' cannot be read: it has %zu bytes instead of %zu", ros_name_.c_str(), head.size(),
          root().size);
      return false;
    }
    if (!plan_.has_bools) return true;
    for (const Op& op : plan_.ops) {
      if (!are_bools_valid(op, head.data())) {
        RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
            "a message of '%s' cannot be read: a bool in or behind '%s' is neither 0 nor 1",
            ros_name_.c_str(), op.path.c_str());
        return false;
      }
    }
    return true;
  }

  void normalize_plain(void* message) const override {
    if (!plan_.has_bools) return;
    for (const Op& op : plan_.ops) normalize_bools(op, static_cast<std::byte*>(message));
  }

  size_t cdr_size(const void* message) const override { return measure_cdr(plan_, message); }

  bool write_cdr(const void* message, std::span<std::byte> to) const override {
    return rmw_situ::write_cdr(plan_, ros_name_, message, to);
  }

  size_t place_of_array(const void* message, size_t size, size_t alignment) const override {
    return rmw_situ::place_of_array(plan_, message, size, alignment);
  }
  size_t place_of_elements(const void* message, const void* elements) const override {
    return rmw_situ::place_of_elements(plan_, message, elements);
  }
  void forget_elements(void* message, const std::function<bool(const void*)>& is_wanted) const override {
    rmw_situ::forget_elements(plan_, message, is_wanted);
  }

  bool read_cdr(std::span<const std::byte> from, void* message) const override try {
    CdrSource source(from, ros_name_);
    return source.open() && rmw_situ::read_cdr(plan_, source, message);
  } catch (const std::exception& error) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("a message of '%s' with %zu bytes cannot be read: %s",
                                         ros_name_.c_str(), from.size(), error.what());
    return false;
  }

  std::unique_ptr<Blank> make_blank() const override {
    std::vector<std::max_align_t> memory(root().size / sizeof(std::max_align_t) + 1);
    if (!init(memory.data())) throw std::bad_alloc();
    return std::make_unique<Blank>(root(), std::as_bytes(std::span(memory)).first(root().size));
  }

  std::unique_ptr<Shadow> make_shadow() const override try {
    // Reading a flat message in place needs no shadow.
    if (is_plain() || !plan_.is_direct || !plan_.has_pointers) return nullptr;
    return rmw_situ::make_shadow(plan_, root(), ros_name_);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }

 private:
  const Struct& root() const { return description_.root(); }

  // Of a plain struct.
  static bool are_bools_valid(const Op& op, const std::byte* message) {
    if (op.element == Element::kStruct) {
      for (size_t i = 0; i < op.length; i++) {
        for (const Op& inner : op.nested->ops) {
          if (!are_bools_valid(inner, message + op.offset + i * op.stride)) return false;
        }
      }
      return true;
    }
    size_t count = op.container == Container::kArray ? op.length : 1;
    return rmw_situ::are_bools_valid(op.block, message + op.offset, count);
  }

  // In a plain struct.
  static void normalize_bools(const Op& op, std::byte* message) {
    if (op.element == Element::kStruct) {
      for (size_t i = 0; i < op.length; i++) {
        for (const Op& inner : op.nested->ops) normalize_bools(inner, message + op.offset + i * op.stride);
      }
      return;
    }
    size_t count = op.container == Container::kArray ? op.length : 1;
    rmw_situ::normalize_bools(op.block, message + op.offset, count);
  }

  Description description_;
  Plan plan_;
  std::string ros_name_;
  std::string schema_;
  situ_type bus_type_{};
  rosidl_type_hash_t hash_{};
};

// Types refer to the introspection, so the library that has it may not be unloaded.
void keep_library_loaded(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace

const MessageType* MessageType::find(const rosidl_message_type_support_t* support) try {
  // Never destroyed: threads may use types while the process exits.
  static auto& types = *new std::map<const void*, std::unique_ptr<IntrospectedType>>();
  static std::mutex mutex;

  const rosidl_message_type_support_t* introspection = find_introspection(support);
  if (introspection == nullptr) {
    RMW_SET_ERROR_MSG(
        "there is no introspection of the message type: build its package with "
        "rosidl_typesupport_introspection_c "
        "and rosidl_typesupport_introspection_cpp, and make their libraries findable");
    return nullptr;
  }
  std::lock_guard lock(mutex);
  std::unique_ptr<IntrospectedType>& type = types[introspection->data];
  if (!type) {
    type = std::make_unique<IntrospectedType>(*introspection);
    keep_library_loaded(introspection->data);
  }
  return type.get();
} catch (const std::exception& error) {
  RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("the message type cannot be used: %s", error.what());
  return nullptr;
}

}  // namespace rmw_situ
