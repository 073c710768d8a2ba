// Cyclone DDS as a library for the tables `domains` and `graphs`: blocks of any size, serialized into shared
// memory. The benchmark program loads the library and does everything else. src/systems/cyclonedds.rs
// declares the same functions. A function that can fail returns a negative number or a null pointer, and
// `transport_error` returns the reason.

#include <dds/dds.h>
#include <dds/ddsc/dds_loan_api.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "bounded.h"
#include "configuration.hpp"

namespace {

thread_local std::string last_error;

dds_entity_t check(dds_entity_t result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": " + dds_strretcode(result));
  return result;
}

// Keeps the text of a failure. Every function uses it.
template <class Body, class Result>
Result guarded(Result failed, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    last_error = error.what();
    return failed;
  }
}

struct Endpoint {
  dds_entity_t topic = 0;
  dds_entity_t entity = 0;
  dds_entity_t waitset = 0;
  void* sample = nullptr;

  Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint() {
    give_back();
    for (const dds_entity_t one : {waitset, entity, topic}) {
      if (one != 0) dds_delete(one);
    }
  }

  void give_back() {
    if (sample != nullptr) dds_return_loan(entity, &sample, 1);
    sample = nullptr;
  }
};

}  // namespace

extern "C" {

const char* transport_error() { return last_error.c_str(); }

// A participant in a domain of its own.
std::int32_t transport_participant(std::uint32_t domain) {
  return guarded(-1, [&] {
    check(dds_create_domain(domain, bench::kConfiguration), "dds_create_domain");
    return check(dds_create_participant(domain, nullptr, nullptr), "dds_create_participant");
  });
}

void transport_leave(std::int32_t participant) { dds_delete(participant); }

// A writer or a reader on a topic: reliable, keep last 1, volatile.
Endpoint* transport_open(std::int32_t participant, const char* name, bool writes) {
  return guarded(static_cast<Endpoint*>(nullptr), [&] {
    auto endpoint = std::make_unique<Endpoint>();
    endpoint->topic =
        check(dds_create_topic(participant, &bench_Block_desc, name, nullptr, nullptr), "dds_create_topic");
    dds_qos_t* qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(5));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
    dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
    dds_qset_writer_data_lifecycle(qos, false);
    const dds_entity_t entity = writes ? dds_create_writer(participant, endpoint->topic, qos, nullptr)
                                       : dds_create_reader(participant, endpoint->topic, qos, nullptr);
    dds_delete_qos(qos);
    endpoint->entity = check(entity, writes ? "dds_create_writer" : "dds_create_reader");
    if (!dds_is_shared_memory_available(entity)) {
      throw std::runtime_error("shared memory is not used: is iox-roudi running?");
    }
    if (!writes) {
      endpoint->waitset = check(dds_create_waitset(participant), "dds_create_waitset");
      check(dds_set_status_mask(entity, DDS_DATA_AVAILABLE_STATUS), "dds_set_status_mask");
      check(dds_waitset_attach(endpoint->waitset, entity, 0), "dds_waitset_attach");
    }
    return endpoint.release();
  });
}

void transport_close(Endpoint* endpoint) { delete endpoint; }

// The number of matched readers of a writer, or matched writers of a reader.
std::int32_t transport_matched(Endpoint* endpoint) {
  return guarded(-1, [&] {
    if (endpoint->waitset == 0) {
      dds_publication_matched_status_t status{};
      check(dds_get_publication_matched_status(endpoint->entity, &status), "matched status");
      return static_cast<std::int32_t>(status.current_count);
    }
    dds_subscription_matched_status_t status{};
    check(dds_get_subscription_matched_status(endpoint->entity, &status), "matched status");
    return static_cast<std::int32_t>(status.current_count);
  });
}

std::int32_t transport_write(Endpoint* endpoint, std::uint64_t sequence, std::uint64_t time,
                             std::uint8_t* data, std::uint32_t length) {
  return guarded(-1, [&] {
    bench_Block block{};
    block.sequence_number = sequence;
    block.time = time;
    block.data._buffer = data;
    block.data._length = block.data._maximum = length;
    return check(dds_write(endpoint->entity, &block), "dds_write");
  });
}

// The next message. Returns 1 and its bytes, which are valid until `transport_return`, or 0 without a
// message.
std::int32_t transport_take(Endpoint* endpoint, std::uint64_t* sequence, std::uint64_t* time,
                            const std::uint8_t** data, std::uint32_t* length) {
  return guarded(-1, [&] {
    dds_sample_info_t info{};
    if (check(dds_take(endpoint->entity, &endpoint->sample, &info, 1, 1), "dds_take") == 0) return 0;
    if (!info.valid_data) {
      endpoint->give_back();
      return 0;
    }
    const auto* block = static_cast<const bench_Block*>(endpoint->sample);
    *sequence = block->sequence_number;
    *time = block->time;
    *data = block->data._buffer;
    *length = block->data._length;
    return 1;
  });
}

void transport_return(Endpoint* endpoint) { endpoint->give_back(); }

// Sleeps until there may be a message, for a second at most.
std::int32_t transport_wait(Endpoint* endpoint) {
  return guarded(-1, [&] {
    check(dds_waitset_wait(endpoint->waitset, nullptr, 0, DDS_SECS(1)), "dds_waitset_wait");
    return 0;
  });
}
}
