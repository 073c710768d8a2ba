// The type of a message as the middleware sees it: its layout in memory, its name and schema on the bus, and
// its serialized form.
#pragma once

#include <rosidl_runtime_c/message_type_support_struct.h>
#include <situ.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace rmw_situ {

class Blank;
class DeviceBytes;
class Shadow;

// Immutable, and lives as long as the process: one object for each type and each of the languages C and C++.
class MessageType {
 public:
  virtual ~MessageType() = default;

  // The type of a handle, which may be one of C, of C++, or a dispatcher to introspection. NULL, with rmw's
  // error state set, if no introspection of the type can be loaded or the type is malformed.
  static const MessageType* find(const rosidl_message_type_support_t* support);

  // "sensor_msgs/msg/Image".
  virtual const std::string& ros_name() const = 0;
  // The type on the bus. Plain types are flat, all others XCDR1.
  virtual const situ_type& bus_type() const = 0;
  // Whether a message is its own flat form: numbers, arrays and structs of them.
  virtual bool is_plain() const = 0;
  // The struct in memory.
  virtual size_t size() const = 0;
  virtual size_t alignment() const = 0;
  // RIHS01 as rosidl has it; version 0 if it is not known.
  virtual const rosidl_type_hash_t& hash() const = 0;

  // Constructs a message with its defaults. False, with rmw's error state set, if there is no memory; then
  // there is nothing to destroy.
  virtual bool init(void* message) const = 0;
  // Destroys a message.
  virtual void fini(void* message) const = 0;

  // Whether bytes that another process wrote are a plain message: their number is that of the struct, and all
  // bools are 0 or 1, as a program that reads one may assume. False with rmw's error state set. To be called
  // with a plain type: with the copy of a message, or with the message itself before it is lent.
  virtual bool check_plain(std::span<const std::byte> head) const = 0;

  // Makes each bool of a plain message 0 or 1, before it is published.
  virtual void normalize_plain(void* message) const = 0;

  // The number of bytes of a message in CDR, with the four bytes of its encapsulation.
  virtual size_t cdr_size(const void* message) const = 0;
  // Writes `cdr_size` bytes: little-endian XCDR1. False, with rmw's error state set, if the message is not
  // valid: a bound is exceeded, or a string of C has no memory.
  virtual bool write_cdr(const void* message, std::span<std::byte> to) const = 0;
  // As in types/in_place.hpp.
  virtual size_t place_of_array(const void* message, size_t size, size_t alignment) const = 0;
  virtual size_t place_of_elements(const void* message, const void* elements) const = 0;
  virtual void forget_elements(void* message, const std::function<bool(const void*)>& is_wanted) const = 0;
  // Reads a message of any byte order into an initialized one. False, with rmw's error state set, if the
  // bytes are no message of this type. Anything in `from` may be wrong, and another process may write to it
  // meanwhile: what is read is a valid message nevertheless.
  virtual bool read_cdr(std::span<const std::byte> from, void* message) const = 0;

  // What a lent message holds at first. To be called with a plain type. Throws std::bad_alloc.
  virtual std::unique_ptr<Blank> make_blank() const = 0;

  // A message whose strings and sequences point into CDR bytes. NULL, without an error, if this type has
  // none: the layout of vectors and strings is not what it should be, or nothing in it would be gained.
  virtual std::unique_ptr<Shadow> make_shadow() const = 0;
};

// A message that owns none of the strings and sequences that it shows: no destructor or `fini` may run on it.
// Readers may do with it what they may do with a const message. It is not for several threads at once.
class Shadow {
 public:
  virtual ~Shadow() = default;
  // Makes the message show what the bytes hold, which must stay where they are until `clear`. All offsets and
  // lengths are checked first, and bools and the zeroes of strings. A process that can still write to the
  // bytes can change those two later, as everything else that is shown. False as for read_cdr; the message is
  // then empty.
  virtual bool show(std::span<const std::byte> from) = 0;
  // The same of bytes on a device. Sequences of numbers from 4 KiB on point there; all else is copied to the
  // host, before it is checked.
  virtual bool show(DeviceBytes& from) = 0;
  // The message, valid after `show`.
  virtual void* message() = 0;
  // Ends the view of the bytes: all strings and sequences are empty.
  virtual void clear() = 0;
};

}  // namespace rmw_situ
