// Recordings in C++: a file that a program writes, read again, with types and as bytes; what goes wrong.
#include "situ/record.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <messages.hpp>
#include <string>
#include <vector>

#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;
using situ::record::time;
using situ::record::times;

time at(std::int64_t nanoseconds) { return time(std::chrono::nanoseconds(nanoseconds)); }

class Recording : public ::testing::Test {
 protected:
  Recording() : folder_("/dev/shm/situ-test-record-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Recording() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

TEST_F(Recording, MessagesOfAllStoragesComeBack) {
  {
    situ::record::writer file(path("all.mcap"));
    const auto poses = file.topic<examples::Pose>("poses");
    const auto notes = file.topic<examples::Note>("notes");
    const auto characters = file.topic<examples::Character>("characters");
    const auto clouds = file.topic<situ::rebind<examples::Cloud, situ::heap>>("clouds");
    file.write(poses, {1.5, -2.0, 0.25}, {.log = at(1000), .publish = at(900)});
    examples::Note note;
    note.author = "Ada";
    note.tags = {"a", "b"};
    file.write(notes, note, {.log = at(2000)});
    situ::region<examples::Character> hero;
    hero->name = "Conan";
    hero->level = 12;
    file.write(characters, hero, {.log = at(3000)});
    situ::rebind<examples::Cloud, situ::heap> cloud;
    cloud.frame_id = "lidar";
    cloud.points.resize(2);
    cloud.points[1].y = 7.0F;
    file.write(clouds, cloud, {.log = at(4000)});
    file.write(poses, {3.0, 0.0, 0.0}, {.log = at(5000)});
    const auto written = file.finish();
    EXPECT_EQ(written.messages, 5U);
    EXPECT_EQ(written.size, std::filesystem::file_size(path("all.mcap")));
  }
  const situ::record::reader file(path("all.mcap"));
  EXPECT_TRUE(file.is_complete());
  EXPECT_EQ(file.profile(), "ros2");
  EXPECT_EQ(file.message_count(), 5U);
  EXPECT_EQ(file.start_time(), at(1000));
  EXPECT_EQ(file.end_time(), at(5000));
  EXPECT_TRUE(file.problems().empty());
  ASSERT_EQ(file.channels().size(), 4U);
  EXPECT_EQ(file.channels()[0].topic, "poses");
  EXPECT_EQ(file.channels()[0].type_name, "examples::Pose");
  EXPECT_EQ(file.channels()[0].messages, 2U);
  EXPECT_EQ(file.channels()[0].encoding, static_cast<std::uint32_t>(SITU_FLAT));
  EXPECT_EQ(file.channels()[1].schema_hash, examples::Note::schema_hash);
  EXPECT_EQ(file.channels()[2].message_encoding, "situ-region");

  auto messages = file.messages();
  auto next = messages.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->topic(), "poses");
  EXPECT_EQ(next->sequence(), 0U);
  EXPECT_EQ(next->log_time(), at(1000));
  EXPECT_EQ(next->publish_time(), at(900));
  // CDR, written by hand: the header, and three doubles.
  std::vector<std::byte> expected{std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}};
  for (const double number : {1.5, -2.0, 0.25}) {
    const auto bytes = std::bit_cast<std::array<std::byte, 8>>(number);
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  }
  EXPECT_EQ(std::vector<std::byte>(next->data().begin(), next->data().end()), expected);
  EXPECT_EQ(next->as<examples::Pose>()->y, -2.0);

  next = messages.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->publish_time(), at(2000));
  const auto note = next->as<examples::Note>();
  EXPECT_EQ(note->author, "Ada");
  ASSERT_EQ(note->tags.size(), 2U);
  EXPECT_EQ(note->tags[1], "b");

  next = messages.next();
  ASSERT_TRUE(next);
  const auto hero = next->as_region<examples::Character>();
  EXPECT_EQ(hero->name, "Conan");
  EXPECT_EQ(hero->level, 12U);
  const auto plain = next->as<situ::rebind<examples::Character, situ::heap>>();
  EXPECT_EQ(plain->name, "Conan");

  next = messages.next();
  ASSERT_TRUE(next);
  const auto cloud = next->as<examples::Cloud>();
  EXPECT_EQ(cloud->frame_id, "lidar");
  ASSERT_EQ(cloud.bulk(&examples::Cloud::points).size(), 2U);
  EXPECT_EQ(cloud.bulk(&examples::Cloud::points)[1].y, 7.0F);

  next = messages.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->sequence(), 1U);
  EXPECT_FALSE(messages.next());
}

TEST_F(Recording, TimesBefore1970) {
  {
    situ::record::writer file(path("early.mcap"));
    const auto poses = file.topic<examples::Pose>("poses");
    for (const times& early : {times{.log = at(-1)}, times{.log = at(5), .publish = at(-2)}}) {
      const auto written = file.try_write(poses, {}, early);
      ASSERT_FALSE(written);
      EXPECT_EQ(written.error().code(), situ::errc::invalid_argument);
    }
    file.write(poses, {}, {.log = at(0)});
    file.write(poses, {}, {.log = at(10)});
    EXPECT_EQ(file.finish().messages, 2U);
  }
  const situ::record::reader file(path("early.mcap"));
  const auto count = [&](const situ::record::filter& wanted) {
    int found = 0;
    for ([[maybe_unused]] const auto& message : file.messages(wanted)) ++found;
    return found;
  };
  EXPECT_EQ(count({.start = at(-1'000'000'000)}), 2);
  EXPECT_EQ(count({.start = at(1)}), 1);
  EXPECT_EQ(count({.end = at(1)}), 1);
  EXPECT_EQ(count({.end = at(0)}), 0);
  EXPECT_EQ(count({.end = at(-1)}), 0);
}

TEST_F(Recording, AFilterSelectsTopicsAndTimes) {
  {
    situ::record::writer file(path("two.mcap"), {.compression = situ::record::compression::zstd});
    const auto one = file.topic<examples::Pose>("one");
    const auto two = file.topic<examples::Pose>("two");
    for (std::int64_t number = 0; number < 10; ++number) {
      file.write(one, {static_cast<double>(number), 0, 0}, {.log = at(100 + number)});
      file.write(two, {static_cast<double>(-number), 0, 0}, {.log = at(100 + number)});
    }
    file.finish();
  }
  const situ::record::reader file(path("two.mcap"));
  std::vector<double> found;
  for (const auto& message : file.messages({.topics = {"two"}, .start = at(103), .end = at(106)})) {
    found.push_back(message.as<examples::Pose>()->x);
  }
  EXPECT_EQ(found, (std::vector<double>{-3, -4, -5}));
}

TEST_F(Recording, MistakesAreReported) {
  const auto missing = situ::record::reader::try_open(path("missing.mcap"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), situ::errc::system);
  std::ofstream(path("text.mcap")) << "no recording";
  EXPECT_EQ(error_of([&] { situ::record::reader{path("text.mcap")}; }).code(), situ::errc::malformed);
  EXPECT_EQ(error_of([&] { situ::record::writer{path("text.mcap")}; }).code(), situ::errc::invalid_argument);

  situ::record::writer file(path("text.mcap"), {.overwrite = true});
  const auto poses = file.topic<examples::Pose>("poses");
  EXPECT_EQ(error_of([&] { (void)file.topic<examples::Pose>("poses"); }).code(),
            situ::errc::invalid_argument);
  EXPECT_EQ(error_of([&] { file.write(7, {}); }).code(), situ::errc::invalid_argument);
  // Shorter than the header of CDR.
  EXPECT_EQ(error_of([&] { file.write(0, {}); }).code(), situ::errc::invalid_argument);
  file.write(poses, {1, 2, 3});
  file.finish();
  EXPECT_EQ(error_of([&] { file.write(poses, {1, 2, 3}); }).code(), situ::errc::invalid_argument);

  const situ::record::reader read(path("text.mcap"));
  auto messages = read.messages();
  const auto first = messages.next();
  ASSERT_TRUE(first);
  const auto other = first->try_as<examples::Note>();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), situ::errc::type);
  EXPECT_NE(other.error().message().find("examples::Pose"), std::string::npos) << other.error().message();
  EXPECT_FALSE(first->try_as_region<examples::Character>());
}

TEST_F(Recording, AFileThatWasNotFinishedIsReadAsFarAsItGoes) {
  {
    situ::record::writer file(path("whole.mcap"));
    const auto poses = file.topic<examples::Pose>("poses");
    file.write(poses, {1, 0, 0}, {.log = at(1)});
    file.flush();
    file.write(poses, {2, 0, 0}, {.log = at(2)});
    file.flush();
    std::filesystem::copy_file(path("whole.mcap"), path("cut.mcap"));
    // Without finish: the destructor ends the file.
  }
  const situ::record::reader cut(path("cut.mcap"));
  EXPECT_FALSE(cut.is_complete());
  EXPECT_EQ(cut.message_count(), 2U);
  const situ::record::reader whole(path("whole.mcap"));
  EXPECT_TRUE(whole.is_complete());
  EXPECT_EQ(whole.message_count(), 2U);
}

TEST_F(Recording, AFullDiskIsAnErrorThatCountsWhatIsMissing) {
  // Every write to this device fails with ENOSPC.
  situ::record::writer_options options{.overwrite = true};
  const auto made = situ::record::writer::try_create("/dev/full", options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), situ::errc::system);
}

// What the page on recordings shows.
using examples::Pose;

void write_and_read(const std::string& folder) {
  const std::string path = folder + "/drive.mcap";
  // ANCHOR: write
  situ::record::writer file(path);
  const auto poses = file.topic<Pose>("robot/pose");
  file.write(poses, {.x = 1.5, .y = 0.5, .heading = 0.1});
  file.finish();
  // ANCHOR_END: write
  // ANCHOR: read
  const situ::record::reader drive(path);
  for (const auto& channel : drive.channels()) {
    std::cout << channel.topic << ": " << channel.messages << " messages of " << channel.type_name << "\n";
  }
  for (const auto& message : drive.messages({.topics = {"robot/pose"}})) {
    const auto pose = message.as<Pose>();
    std::cout << message.log_time().time_since_epoch() / 1s << " s: " << pose->x << "\n";
  }
  // ANCHOR_END: read
}

TEST_F(Recording, TheBooksCodeRuns) {
  ::testing::internal::CaptureStdout();
  write_and_read(path("."));
  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("robot/pose: 1 messages of examples::Pose"), std::string::npos) << printed;
  EXPECT_NE(printed.find(" s: 1.5"), std::string::npos) << printed;
}

}  // namespace
}  // namespace bus_test
