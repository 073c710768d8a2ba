// Cyclone DDS with its iceoryx shared memory: bounded sequences (serialized into shared memory), or, when
// built with BENCH_LOAN, arrays of fixed size (loaned, not serialized).

#include <dds/dds.h>
#include <dds/ddsc/dds_loan_api.h>
#include <dds/ddsi/ddsi_serdata.h>

#include <memory>

#include "bounded.h"
#include "configuration.hpp"
#include "worker.hpp"

namespace {

constexpr std::int32_t kDepth = 1;

dds_entity_t check(dds_entity_t result, const char* what) {
  if (result < 0) bench::fail(std::string(what) + ": " + dds_strretcode(result));
  return result;
}

#ifdef BENCH_LOAN
const dds_topic_descriptor_t* descriptor(std::size_t size) {
  const dds_topic_descriptor_t* const all[] = {
      &bench_Plain1K_desc,   &bench_Plain4K_desc, &bench_Plain16K_desc, &bench_Plain64K_desc,
      &bench_Plain256K_desc, &bench_Plain1M_desc, &bench_Plain4M_desc,  &bench_Plain8M_desc,
  };
  for (const dds_topic_descriptor_t* one : all) {
    if (one->m_size == size) return one;
  }
  bench::fail("no array type of " + std::to_string(size) + " bytes was generated");
}
#else
const dds_topic_descriptor_t* descriptor(std::size_t) { return &bench_Bounded_desc; }
#endif

class Cyclone final : public bench::Endpoints {
 public:
  explicit Cyclone(const bench::Arguments& arguments) : publishes_(arguments["--role"] == "publisher") {
    const auto domain = static_cast<dds_domainid_t>(std::stoul(arguments["--domain"]));
    check(dds_create_domain(domain, bench::kConfiguration), "dds_create_domain");
    participant_ = check(dds_create_participant(domain, nullptr, nullptr), "dds_create_participant");
  }
  Cyclone(const Cyclone&) = delete;
  Cyclone& operator=(const Cyclone&) = delete;
  ~Cyclone() override { dds_delete(participant_); }

  void open(const std::string& name, std::size_t size) override {
    size_ = size;
    topic_ = check(dds_create_topic(participant_, descriptor(size), name.c_str(), nullptr, nullptr),
                   "dds_create_topic");
    dds_qos_t* qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(5));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, kDepth);
    dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
    dds_qset_writer_data_lifecycle(qos, false);
    endpoint_ = publishes_ ? dds_create_writer(participant_, topic_, qos, nullptr)
                           : dds_create_reader(participant_, topic_, qos, nullptr);
    dds_delete_qos(qos);
    check(endpoint_, publishes_ ? "dds_create_writer" : "dds_create_reader");
    if (!dds_is_shared_memory_available(endpoint_)) {
      bench::fail("shared memory is not used: is iox-roudi running, with pools for this size?");
    }
    if (publishes_) {
      bench::until("a reader's match", [&] {
        dds_publication_matched_status_t status{};
        check(dds_get_publication_matched_status(endpoint_, &status), "matched status");
        return status.current_count > 0;
      });
#ifdef BENCH_LOAN
      if (!dds_is_loan_available(endpoint_)) bench::fail("Cyclone DDS cannot loan this type");
#else
      data_.resize(size - sizeof(bench::Header));
#endif
    } else {
      waitset_ = check(dds_create_waitset(participant_), "dds_create_waitset");
      check(dds_set_status_mask(endpoint_, DDS_DATA_AVAILABLE_STATUS), "status mask");
      check(dds_waitset_attach(waitset_, endpoint_, 0), "dds_waitset_attach");
      bench::until("a writer's match", [&] {
        dds_subscription_matched_status_t status{};
        check(dds_get_subscription_matched_status(endpoint_, &status), "matched status");
        return status.current_count > 0;
      });
    }
    // The shared-memory connection comes after the match: iceoryx's daemon connects within its cycle of 100
    // ms.
    usleep(300'000);
  }

  void publish(std::uint64_t sequence) override {
    const std::uint64_t time = bench::monotonic_ns();
#ifdef BENCH_LOAN
    void* loan = nullptr;
    check(dds_loan_sample(endpoint_, &loan), "dds_loan_sample");
    const bench::Header header{sequence, time};
    std::memcpy(loan, &header, sizeof header);
    std::memset(static_cast<std::uint8_t*>(loan) + sizeof header, static_cast<std::uint8_t>(sequence),
                size_ - sizeof header);
    check(dds_write(endpoint_, loan), "dds_write");
#else
    std::memset(data_.data(), static_cast<std::uint8_t>(sequence), data_.size());
    bench_Bounded message{};
    message.sequence_number = sequence;
    message.time = time;
    message.data._length = message.data._maximum = static_cast<std::uint32_t>(data_.size());
    message.data._buffer = data_.data();
    check(dds_write(endpoint_, &message), "dds_write");
#endif
  }

  void receive(std::uint64_t count, const Sink& sink) override {
    while (count > 0) {
      check(dds_waitset_wait(waitset_, nullptr, 0, DDS_INFINITY), "dds_waitset_wait");
      dds_sample_info_t info{};
#ifdef BENCH_LOAN
      // `dds_take` would copy the sample out of the shared chunk. Cyclone's C++ binding avoids the copy in
      // the same way.
      ddsi_serdata* taken = nullptr;
      if (check(dds_takecdr(endpoint_, &taken, 1, &info, DDS_ANY_STATE), "dds_takecdr") == 0) continue;
      if (info.valid_data) {
        const auto* bytes = static_cast<const std::uint8_t*>(taken->iox_chunk);
        if (bytes == nullptr) bench::fail("the message did not arrive through shared memory");
        bench::Header header{};
        std::memcpy(&header, bytes, sizeof header);
        sink(header, size_, bytes[size_ - 1]);
        --count;
      }
      ddsi_serdata_unref(taken);
#else
      void* sample = nullptr;
      const dds_return_t taken = check(dds_take(endpoint_, &sample, &info, 1, 1), "dds_take");
      if (taken == 0) continue;
      if (info.valid_data) {
        const auto* message = static_cast<const bench_Bounded*>(sample);
        const std::uint32_t length = message->data._length;
        sink({message->sequence_number, message->time}, length + sizeof(bench::Header),
             length == 0 ? std::uint8_t{0} : message->data._buffer[length - 1]);
        --count;
      }
      check(dds_return_loan(endpoint_, &sample, taken), "dds_return_loan");
#endif
    }
  }

  void close() override {
    for (dds_entity_t* entity : {&waitset_, &endpoint_, &topic_}) {
      if (*entity != 0) dds_delete(*entity);
      *entity = 0;
    }
  }

 private:
  bool publishes_;
  std::size_t size_ = 0;
  dds_entity_t participant_ = 0;
  dds_entity_t topic_ = 0;
  dds_entity_t endpoint_ = 0;
  dds_entity_t waitset_ = 0;
  std::vector<std::uint8_t> data_;
};

}  // namespace

int main(int count, char** values) {
  return bench::run(count, values,
                    [](const bench::Arguments& arguments) { return std::make_unique<Cyclone>(arguments); });
}
