// ProtoZero: the calls that its generated code makes, and its buffer of a fixed size, in which nothing is
// copied. The root message is reset for each message, as Perfetto's trace writers do; a new one allocates.
#include "protozero.hpp"

#include "perfetto/base/logging.h"
#include "perfetto/protozero/message.h"
#include "perfetto/protozero/packed_repeated_fields.h"
#include "perfetto/protozero/root_message.h"
#include "perfetto/protozero/scattered_stream_writer.h"
#include "perfetto/protozero/static_buffer.h"

// What ProtoZero calls when a buffer is too small, of Perfetto's base library.
namespace perfetto::base {
void LogMessage(LogLev, const char*, int, const char*, ...) {}
void MaybeSerializeLastLogsForCrashReporting() {}
}  // namespace perfetto::base

namespace {

using protozero::Message;

void fill(Message& it, const Input& in, int levels) {
  it.AppendVarInt(1, in.a);
  it.AppendVarInt(2, in.b);
  it.AppendVarInt(3, in.c);
  it.AppendVarInt(4, in.d);
  it.AppendBytes(5, in.text, sizeof in.text);
  if (levels > 0) fill(*it.BeginNestedMessage<Message>(6), in, levels - 1);
}

template <class Fill>
std::size_t write(std::uint8_t* out, std::size_t size, Fill&& fill_message) {
  // NOLINTNEXTLINE: one message for each shape, as a program would keep it.
  static protozero::RootMessage<Message> message;
  protozero::StaticBufferDelegate delegate(out, size);
  protozero::ScatteredStreamWriter writer(&delegate);
  message.Reset(&writer);
  fill_message(message);
  message.Finalize();
  return static_cast<std::size_t>(writer.write_ptr() - out);
}

}  // namespace

std::size_t ProtoZero::simple(const Input& in, std::uint8_t* out, std::size_t size) {
  return write(out, size, [&](Message& it) { fill(it, in, 0); });
}

std::size_t ProtoZero::nested(const Input& in, std::uint8_t* out, std::size_t size) {
  return write(out, size, [&](Message& it) { fill(it, in, kLevels); });
}

std::size_t ProtoZero::packed(const Input& in, std::uint8_t* out, std::size_t size) {
  return write(out, size, [&](Message& it) { it.AppendBytes(7, in.numbers, sizeof in.numbers); });
}
