// Fast DDS. Sends bounded sequences through its serializer, or, if built with BENCH_LOAN, loaned plain
// samples. Uses the shared-memory transport with enlarged segments, and data sharing where it is faster.

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>

#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/log/Log.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <memory>

#include "worker.hpp"

namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;
using eprosima::fastrtps::types::ReturnCode_t;

constexpr std::int32_t kDepth = 1;
constexpr std::uint32_t kSegment = 64U << 20U;
constexpr std::uint32_t kMessage = (8U << 20U) + 4096U;
constexpr std::uint32_t kEncapsulation = 4;

// The application's form of a message: `sequence<octet, N>` behind the header.
struct Bounded {
  bench::Header header{};
  std::vector<std::uint8_t> data;
};

#ifdef BENCH_LOAN
// A sample is `size` plain bytes, the header first, like a generated struct with `octet data[N]`.
using Sample = bench::Header;

class Type final : public dds::TopicDataType {
 public:
  explicit Type(std::size_t size) : size_(size) {
    setName(("Plain" + std::to_string(size)).c_str());
    m_typeSize = static_cast<std::uint32_t>(size) + kEncapsulation;
    m_isGetKeyDefined = false;
  }
  bool serialize(void* data, rtps::SerializedPayload_t* payload) override {
    payload->encapsulation = CDR_LE;
    payload->data[0] = 0;
    payload->data[1] = CDR_LE;
    std::memcpy(payload->data + kEncapsulation, data, size_);
    payload->length = m_typeSize;
    return true;
  }
  bool deserialize(rtps::SerializedPayload_t* payload, void* data) override {
    if (payload->length < m_typeSize) return false;
    std::memcpy(data, payload->data + kEncapsulation, size_);
    return true;
  }
  std::function<std::uint32_t()> getSerializedSizeProvider(void*) override {
    return [size = m_typeSize] { return size; };
  }
  void* createData() override { return ::operator new(size_, std::align_val_t(8)); }
  void deleteData(void* data) override { ::operator delete(data, std::align_val_t(8)); }
  bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }
  bool is_bounded() const override { return true; }
  bool is_plain() const override { return true; }
  // The publisher writes the payload into the loan.
  bool construct_sample(void*) const override { return true; }

 private:
  std::size_t size_;
};
#else
using Sample = Bounded;

class Type final : public dds::TopicDataType {
 public:
  explicit Type(std::size_t size) {
    setName(("Bounded" + std::to_string(size)).c_str());
    // Header, length and data.
    m_typeSize = kEncapsulation + static_cast<std::uint32_t>(size) + 4;
    m_isGetKeyDefined = false;
  }
  bool serialize(void* data, rtps::SerializedPayload_t* payload) override {
    const auto& message = *static_cast<const Bounded*>(data);
    eprosima::fastcdr::FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->max_size);
    eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::DEFAULT_ENDIAN,
                               eprosima::fastcdr::Cdr::DDS_CDR);
    payload->encapsulation = CDR_LE;
    cdr.serialize_encapsulation();
    cdr << message.header.sequence << message.header.time << message.data;
    payload->length = static_cast<std::uint32_t>(cdr.getSerializedDataLength());
    return true;
  }
  bool deserialize(rtps::SerializedPayload_t* payload, void* data) override {
    auto& message = *static_cast<Bounded*>(data);
    eprosima::fastcdr::FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->length);
    eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::DEFAULT_ENDIAN,
                               eprosima::fastcdr::Cdr::DDS_CDR);
    cdr.read_encapsulation();
    payload->encapsulation = cdr.endianness() == eprosima::fastcdr::Cdr::BIG_ENDIANNESS ? CDR_BE : CDR_LE;
    cdr >> message.header.sequence >> message.header.time >> message.data;
    return true;
  }
  std::function<std::uint32_t()> getSerializedSizeProvider(void* data) override {
    const auto& message = *static_cast<const Bounded*>(data);
    const auto size = kEncapsulation + sizeof(bench::Header) + 4 + message.data.size();
    return [size] { return static_cast<std::uint32_t>(size); };
  }
  void* createData() override { return new Bounded; }
  void deleteData(void* data) override { delete static_cast<Bounded*>(data); }
  bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }
  bool is_bounded() const override { return true; }
};
#endif

template <class T>
T* created(T* entity, const char* what) {
  if (entity == nullptr) bench::fail(std::string(what) + " failed");
  return entity;
}

void check(ReturnCode_t code, const char* what) {
  if (code != ReturnCode_t::RETCODE_OK) bench::fail(std::string(what) + " failed: " + std::to_string(code()));
}

class FastDds final : public bench::Endpoints {
 public:
  explicit FastDds(const bench::Arguments& arguments) : publishes_(arguments["--role"] == "publisher") {
    dds::Log::SetVerbosity(dds::Log::Error);
    dds::DomainParticipantQos qos;
    qos.transport().use_builtin_transports = false;
    const auto transport = std::make_shared<eprosima::fastdds::rtps::SharedMemTransportDescriptor>();
    transport->segment_size(kSegment);
    transport->max_message_size(kMessage);
    transport->maxMessageSize = kMessage;
    qos.transport().user_transports.push_back(transport);
    participant_ = created(dds::DomainParticipantFactory::get_instance()->create_participant(
                               static_cast<std::uint32_t>(std::stoul(arguments["--domain"])), qos),
                           "create_participant");
    publisher_ = created(participant_->create_publisher(dds::PUBLISHER_QOS_DEFAULT), "create_publisher");
    subscriber_ = created(participant_->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT), "create_subscriber");
  }
  FastDds(const FastDds&) = delete;
  FastDds& operator=(const FastDds&) = delete;
  ~FastDds() override {
    participant_->delete_contained_entities();
    dds::DomainParticipantFactory::get_instance()->delete_participant(participant_);
  }

  void open(const std::string& name, std::size_t size) override {
    size_ = size;
    type_ = dds::TypeSupport(new Type(size));
    check(type_.register_type(participant_), "register_type");
    topic_ = created(participant_->create_topic(name, type_.get_type_name(), dds::TOPIC_QOS_DEFAULT),
                     "create_topic");
    if (publishes_) {
      dds::DataWriterQos qos;
      qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
      tune(qos);
      qos.publish_mode().kind = dds::SYNCHRONOUS_PUBLISH_MODE;
      writer_ = created(publisher_->create_datawriter(topic_, qos), "create_datawriter");
      message_.data.resize(size - sizeof(bench::Header));
      bench::until("a reader's match", [&] {
        dds::PublicationMatchedStatus status;
        writer_->get_publication_matched_status(status);
        return status.current_count > 0;
      });
    } else {
      dds::DataReaderQos qos;
      qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
      tune(qos);
      reader_ = created(subscriber_->create_datareader(topic_, qos), "create_datareader");
      reader_->get_statuscondition().set_enabled_statuses(dds::StatusMask::data_available());
      waitset_.attach_condition(reader_->get_statuscondition());
      bench::until("a writer's match", [&] {
        dds::SubscriptionMatchedStatus status;
        reader_->get_subscription_matched_status(status);
        return status.current_count > 0;
      });
    }
  }

  void publish(std::uint64_t sequence) override {
    const std::uint64_t time = bench::monotonic_ns();
#ifdef BENCH_LOAN
    void* loan = nullptr;
    check(writer_->loan_sample(loan, dds::DataWriter::LoanInitializationKind::NO_LOAN_INITIALIZATION),
          "loan_sample");
    const bench::Header header{sequence, time};
    std::memcpy(loan, &header, sizeof header);
    std::memset(static_cast<std::uint8_t*>(loan) + sizeof header, static_cast<std::uint8_t>(sequence),
                size_ - sizeof header);
    void* sample = loan;
#else
    std::memset(message_.data.data(), static_cast<std::uint8_t>(sequence), message_.data.size());
    message_.header = {sequence, time};
    void* sample = &message_;
#endif
    if (!writer_->write(sample)) bench::fail("write failed");
  }

  void receive(std::uint64_t count, const Sink& sink) override {
    dds::ConditionSeq active;
    while (count > 0) {
      waitset_.wait(active, eprosima::fastrtps::c_TimeInfinite);
#ifdef BENCH_LOAN
      dds::LoanableSequence<Sample> samples;
      dds::SampleInfoSeq infos;
      const ReturnCode_t code = reader_->take(samples, infos, 1);
      if (code == ReturnCode_t::RETCODE_NO_DATA) continue;
      check(code, "take");
      if (infos[0].valid_data) {
        const Sample& sample = samples[0];
        sink(sample, size_, reinterpret_cast<const std::uint8_t*>(&sample)[size_ - 1]);
        --count;
      }
      check(reader_->return_loan(samples, infos), "return_loan");
#else
      dds::SampleInfo info;
      const ReturnCode_t code = reader_->take_next_sample(&message_, &info);
      if (code == ReturnCode_t::RETCODE_NO_DATA) continue;
      check(code, "take_next_sample");
      if (info.valid_data) {
        sink(message_.header, message_.data.size() + sizeof(bench::Header),
             message_.data.empty() ? std::uint8_t{0} : message_.data.back());
        --count;
      }
#endif
    }
  }

  void close() override {
    if (reader_ != nullptr) {
      waitset_.detach_condition(reader_->get_statuscondition());
      subscriber_->delete_datareader(reader_);
    }
    if (writer_ != nullptr) publisher_->delete_datawriter(writer_);
    if (topic_ != nullptr) {
      participant_->delete_topic(topic_);
      participant_->unregister_type(type_.get_type_name());
    }
    reader_ = nullptr;
    writer_ = nullptr;
    topic_ = nullptr;
  }

 private:
  template <class Qos>
  static void tune(Qos& qos) {
    qos.history().kind = dds::KEEP_LAST_HISTORY_QOS;
    qos.history().depth = kDepth;
    qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
    qos.resource_limits().max_samples = kDepth;
    qos.resource_limits().max_instances = 1;
    qos.resource_limits().max_samples_per_instance = kDepth;
    qos.resource_limits().allocated_samples = kDepth;
    qos.endpoint().history_memory_policy = rtps::PREALLOCATED_MEMORY_MODE;
    qos.data_sharing().on("/dev/shm");
  }

  bool publishes_;
  std::size_t size_ = 0;
  Bounded message_;
  dds::TypeSupport type_;
  dds::DomainParticipant* participant_ = nullptr;
  dds::Publisher* publisher_ = nullptr;
  dds::Subscriber* subscriber_ = nullptr;
  dds::Topic* topic_ = nullptr;
  dds::DataWriter* writer_ = nullptr;
  dds::DataReader* reader_ = nullptr;
  dds::WaitSet waitset_;
};

}  // namespace

int main(int count, char** values) {
  return bench::run(count, values,
                    [](const bench::Arguments& arguments) { return std::make_unique<FastDds>(arguments); });
}
