// A publisher.
#pragma once

#include <rmw/types.h>
#include <situ.h>

#include <memory>
#include <mutex>
#include <vector>

#include "context.hpp"
#include "support/check.hpp"
#include "support/placement.hpp"
#include "topic/event.hpp"
#include "topic/message_loans.hpp"
#include "types/blank.hpp"
#include "types/message_type.hpp"

namespace rmw_situ {

struct Publisher {
  Publisher(rmw_context_impl_s& context_, const MessageType& type_, PublisherHandle handle_,
            rmw_qos_profile_t qos_)
      : context(context_),
        type(type_),
        qos(qos_),
        handle(std::move(handle_)),
        events([this](uint32_t kind, situ_event** event,
                      situ_error* error) { return situ_publisher_event(handle.get(), kind, event, error); },
               true, context),
        loans_(type, slot_lender()) {}
  ~Publisher();

  // Publishes a message, which the caller still owns.
  rmw_ret_t publish(const void* message);
  // Publishes the bytes of a message in CDR, with their encapsulation.
  rmw_ret_t publish_cdr(std::span<const std::byte> bytes);

  // Lends a message that has its defaults, but for large arrays of a plain one.
  rmw_ret_t borrow(void** message);
  // Publishes a message that was lent, or gives it back.
  rmw_ret_t publish_borrowed(void* message);
  rmw_ret_t give_back(void* message);

  rmw_context_impl_s& context;
  const MessageType& type;
  const rmw_qos_profile_t qos;
  // Protects the handle while memory is lent and published, and the loans. It is not held while a message is
  // written.
  const std::shared_ptr<std::mutex> shared_mutex = std::make_shared<std::mutex>();
  std::mutex& mutex = *shared_mutex;
  PublisherHandle handle;
  Events events;
  // What lent messages hold, if the type is plain. Does not change.
  std::unique_ptr<Blank> blank;
  // Copies messages into their memory domain, if that is not the host.
  StreamHandle stream;

 private:
  rmw_ret_t lend(size_t head, size_t body, situ_loan* loan);
  // Copies the bytes of a message into a loan.
  rmw_ret_t copy_to(situ_loan* loan, std::span<const std::byte> bytes);
  rmw_ret_t publish_to_device(const void* message);
  rmw_ret_t send(situ_loan* loan);
  bool find_borrowed(void* message, situ_loan* loan);
  SlotLender slot_lender();

  // The loans of plain messages that the user has.
  std::vector<situ_loan> borrowed_;
  // All other messages that the user has.
  MessageLoans loans_;
};

}  // namespace rmw_situ
