// Typed arguments of trace events, written by a function of the program.
//
//   // Of `situ gen --lang cpp` for a .proto file that extends perfetto.protos.TrackEvent.
//   SITU_TRACE_INSTANT(planner, "plan", situ::trace::typed<TrackEventWriter>([&](auto& event) {
//     PlanExtensionWriter(event).set_candidates(17);
//   }));
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "situ/protobuf/delegate.hpp"
#include "situ/protobuf/writer.hpp"
#include "situ/trace.hpp"

namespace situ::trace {

namespace detail {

/// Encoded fields with their memory. They may not move, because `fields` leads to the memory.
template <std::size_t Size>
class typed_fields : public fields {
 public:
  template <class Message, class Write>
  typed_fields(std::type_identity<Message>, Write&& write) : fields{} {
    protobuf::fixed_buffer buffer(memory_);
    protobuf::writer writer(buffer);
    {
      Message event(writer);
      std::forward<Write>(write)(event);
    }
    if (writer.finish() == protobuf::write_error::none) bytes = buffer.written();
  }
  typed_fields(const typed_fields&) = delete;
  typed_fields& operator=(const typed_fields&) = delete;

 private:
  std::array<std::uint8_t, Size> memory_;
};

}  // namespace detail

/// Fields of Perfetto's TrackEvent, which `write` sets in the event's writer: a `Message`, such as the writer
/// that `situ gen` makes for TrackEvent. It may set fields that Perfetto has, and extensions. Stands after
/// the name of an event, once; `write` is called only if the category is on. If the fields take more than
/// `Size` bytes, the event has none of them.
template <class Message = protobuf::message, std::size_t Size = 512, class Write>
[[nodiscard]] detail::typed_fields<Size> typed(Write&& write) {
  return detail::typed_fields<Size>(std::type_identity<Message>{}, std::forward<Write>(write));
}

}  // namespace situ::trace
