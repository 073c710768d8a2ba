// Classic iceoryx (C++): untyped chunks, and a subscriber that polls.

#include <iceoryx_hoofs/log/logmanager.hpp>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>
#include <memory>
#include <optional>

#include "worker.hpp"

namespace {

constexpr std::uint64_t kDepth = 1;

iox::capro::IdString_t id(const std::string& text) {
  return iox::capro::IdString_t(iox::cxx::TruncateToCapacity, text);
}

class Iceoryx final : public bench::Endpoints {
 public:
  explicit Iceoryx(const bench::Arguments& arguments)
      : publishes_(arguments["--role"] == "publisher"), session_(arguments["--session"]) {
    iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kOff,
                                                             iox::log::LogLevelOutput::kHideLogLevel);
    const std::string name = "situ-bench-" + session_ + "-" + arguments["--role"];
    iox::runtime::PoshRuntime::initRuntime(iox::RuntimeName_t(iox::cxx::TruncateToCapacity, name));
  }

  void open(const std::string& topic, std::size_t size) override {
    size_ = size;
    const iox::capro::ServiceDescription service(id("situ-bench"), id(session_), id(topic));
    if (publishes_) {
      iox::popo::PublisherOptions options;
      options.historyCapacity = 0;
      publisher_ = std::make_unique<iox::popo::UntypedPublisher>(service, options);
      bench::until("a subscriber's connection", [&] { return publisher_->hasSubscribers(); });
    } else {
      iox::popo::SubscriberOptions options;
      options.queueCapacity = kDepth;
      options.historyRequest = 0;
      subscriber_ = std::make_unique<iox::popo::UntypedSubscriber>(service, options);
      bench::until("the subscription",
                   [&] { return subscriber_->getSubscriptionState() == iox::SubscribeState::SUBSCRIBED; });
    }
  }

  void publish(std::uint64_t sequence) override {
    const std::uint64_t time = bench::monotonic_ns();
    auto loan = publisher_->loan(static_cast<std::uint32_t>(size_), 64);
    if (loan.has_error()) bench::fail("loan failed: " + std::to_string(static_cast<int>(loan.get_error())));
    auto* bytes = static_cast<std::uint8_t*>(loan.value());
    const bench::Header header{sequence, time};
    std::memcpy(bytes, &header, sizeof header);
    std::memset(bytes + sizeof header, static_cast<std::uint8_t>(sequence), size_ - sizeof header);
    publisher_->publish(loan.value());
  }

  void receive(std::uint64_t count, const Sink& sink) override {
    while (count > 0) {
      auto taken = subscriber_->take();
      if (taken.has_error()) {
        if (taken.get_error() == iox::popo::ChunkReceiveResult::NO_CHUNK_AVAILABLE) continue;
        bench::fail("take failed: " + std::to_string(static_cast<int>(taken.get_error())));
      }
      const void* chunk = taken.value();
      const auto size = iox::mepoo::ChunkHeader::fromUserPayload(chunk)->userPayloadSize();
      bench::Header header{};
      std::memcpy(&header, chunk, sizeof header);
      sink(header, size, static_cast<const std::uint8_t*>(chunk)[size - 1]);
      subscriber_->release(chunk);
      --count;
    }
  }

  void close() override {
    publisher_.reset();
    subscriber_.reset();
  }

 private:
  bool publishes_;
  std::string session_;
  std::size_t size_ = 0;
  std::unique_ptr<iox::popo::UntypedPublisher> publisher_;
  std::unique_ptr<iox::popo::UntypedSubscriber> subscriber_;
};

}  // namespace

int main(int count, char** values) {
  return bench::run(count, values,
                    [](const bench::Arguments& arguments) { return std::make_unique<Iceoryx>(arguments); });
}
