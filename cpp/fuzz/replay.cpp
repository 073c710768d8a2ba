// Runs a fuzz target on stored inputs, each once, without the fuzzer: replay_<target> FOLDER...
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::string current;

/// A target that finds a fault aborts. This prints the input last.
void say_which(int /*signal*/) {
  constexpr char text[] = "replay: it was ";
  static_cast<void>(!write(STDERR_FILENO, text, sizeof(text) - 1));
  static_cast<void>(!write(STDERR_FILENO, current.data(), current.size()));
  static_cast<void>(!write(STDERR_FILENO, "\n", 1));
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) files.push_back(entry.path());
  }
  if (files.empty()) {
    std::fprintf(stderr, "replay: no files\n");
    return 1;
  }
  std::signal(SIGABRT, say_which);
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    current = file.filename().string();
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("replay: %zu inputs\n", files.size());
  return 0;
}
