#!/usr/bin/env bash
# Builds Situ for arm64, in build/arm64, and runs its tests under an emulator of that processor.
#
#   scripts/arm64.sh [rust] [cpp] [topics]     without a part: all
#
#   rust     the tests of layout, regions, wire, memory and bus, and the vectors of the byte formats
#   cpp      the tests of containers, flat messages, CDR, protobuf and versions of regions in C++
#   topics   topics whose publishers and subscribers are of different architectures, in Rust, C++ and C
#
# qemu-aarch64 runs single programs: it emulates the processor, and passes system calls on to the kernel of
# this machine. Some of them it does not pass on. The list below, made with qemu 7.2, names the tests that
# need those.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'arm64: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
target=aarch64-unknown-linux-gnu
out=$PWD/build/arm64
# The programs name their loader and libraries by the paths of Debian's cross packages. With the folder of
# these packages after `-L` instead, qemu would open that folder when a program opens `/`.
system=/usr/aarch64-linux-gnu/lib
emulator='qemu-aarch64 -L /'
linker_options=("-Wl,--dynamic-linker=$system/ld-linux-aarch64.so.1" "-Wl,-rpath,$system")
# In KiB. qemu has a table of all pages that a program reserves, and fills all memory of the machine for the
# address windows of Situ, which have up to 16 TiB. Where these are refused, Situ reserves smaller ones.
addresses=64000000
# The longest time of a test program, in seconds.
limit=600

# Tests that are not run: package/program, a part of the tests' names or `all`, reason.
left_out() {
  cat <<'LIST'
situ-bus/crash all ptrace
situ-bus/count all filter
situ-bus/grow may_die_at_any_step ptrace
situ-bus/copies a_copy_is_ready_before_it_is_enqueued populate
situ-bus/copies a_copy_that_timed_out_is_repeated_at_once populate
situ-bus/copies a_held_copy_outlives_its_copier populate
situ-bus/copies a_takers_stream_makes_the_copy populate
situ-bus/copies eager_copies_into_a_device_are_made_while_the_publisher_goes_on populate
situ-bus/copies taking_in_stream_order_copies_no_more_than_taking populate
situ-bus/copies a_failed_copy_fails_no_other populate
situ-bus/count_waiting all filter
situ-bus/devices a_message_that_is_released_on_a_stream_is_held populate
situ-bus/devices messages_outlive_a_publisher_that_is_killed populate
situ-bus/devices waits_for_work_of_a_dead_publisher_end populate
situ-bus/devices everything_again_on_an_emulated_cuda_driver driver
situ-bus/cuda everything_again_on_an_emulated_driver driver
situ-memory/cuda everything_again_on_a_driver_of_ours driver
situ-bus/domains a_failed_stream_poisons_its_message_alone populate
situ-bus/domains a_stream_outlives_its_publisher_and_its_node populate
situ-bus/domains messages_are_published_in_stream_order populate
situ-bus/holes a_body_that_was_never_written_is_taken populate
situ-bus/kill_domains a_device_that_waits_goes_on_when_topic_and_publisher_are_gone populate
situ-bus/kill_domains a_wait_for_a_dropped_publisher_gets_an_error populate
situ-bus/kill_domains a_wait_for_a_process_that_is_still_ending_gets_an_error populate
situ-bus/kill_domains an_enqueued_copy_of_a_dead_process_is_replaced populate
situ-bus/kill_domains processes_are_killed_at_random populate
situ-bus/kill_domains readers_outlive_the_owner_of_a_body populate
situ-bus/readiness all populate
situ-bus/reclaim memory_comes_back_to_a_publisher populate
situ-bus/reserve all filter
situ-bus/kill a_stopped_subscriber_does_not_delay_best_effort_publishers sleeps
situ-bus/many_topics a_process_without_mappings_is_told_the_limit addresses
situ-bus/service_forms typed_requests_and_replies_may_lie_on_a_device populate
situ-bus/service_typed a_task_that_waits_sleeps sleep
situ-bus/service_typed requests_and_replies_are_built_and_read_in_place populate
situ-bus/shortened a_subscriber_survives_a_shortened_pool populate
situ-bus/events messages_wake_no_thread_of_events sleep
situ-bus/executor callbacks_of_every_kind_run_on_one_thread sleep
situ-bus/fork a_forked_childs_copies_of_handles_do_nothing fork
situ-bus/identity user_headers_go_with_bodies_in_other_domains_and_with_growing_ones populate
situ-bus/interrupt a_wait_for_more_topics_than_the_kernel_supports_sleeps sleep
situ-bus/system other_users_are_refused program
situ-bus/system members_of_the_group_take_part program
situ-bus/wait_set a_kernel_without_futex_waitv_is_no_reason_to_poll filter
situ-bus/wait_set a_topic_is_reported_until_its_messages_are_taken sleep
situ-memory/locked regions_take_what_they_use_where_memory_is_locked_from_the_start locked
situ-memory/strategies reserved_slots_are_written_without_page_faults populate
situ-memory/strategies slots_that_grow_can_be_reserved populate
situ-memory/strategies wished_pages_have_an_outcome_and_ordinary_ones_work_too advice
situ-memory/pool patched_pools_take_a_limited_part_of_a_readers_addresses addresses
LIST
}

# why REASON: the sentence for it.
why() {
  case $1 in
    ptrace) echo 'qemu has no ptrace, by which the test stops a process at each step' ;;
    filter) echo 'qemu has no filters of system calls, and no ptrace, by which the test counts them' ;;
    populate) echo 'qemu does nothing for MADV_POPULATE_WRITE and reports success, so memory that was not written is a hole' ;;
    advice) echo 'qemu passes no advice about pages on, and reports success' ;;
    driver) echo 'the C compiler of this machine builds the CUDA driver of the test' ;;
    fork) echo 'qemu itself fails in the child of a program with threads' ;;
    sleep) echo 'qemu has no futex_waitv, and without it threads watch the topics, or a wait checks them at intervals' ;;
    sleeps) echo 'the test counts how often a thread sleeps, and qemu sleeps on locks of its own' ;;
    program) echo 'the test deletes its program, which the emulator has not read yet' ;;
    locked) echo 'the test measures the memory of the process, which includes the tables of qemu' ;;
    addresses) echo 'the test maps more addresses than the limit allows' ;;
  esac
}

# run PROGRAM ARGUMENT...: runs a test program, without the tests on the list. Cargo calls it by --run.
run() {
  local name skip=() reason program test
  name=$CARGO_PKG_NAME/$(basename "$1" | sed 's/-[0-9a-f]\{16\}$//')
  while read -r program test reason; do
    [ "$program" = "$name" ] || continue
    echo "LEFT OUT: $name, $test: $(why "$reason")"
    [ "$test" != all ] || return 0
    skip+=(--skip "$test")
  done < <(left_out)
  ulimit -v $addresses
  # shellcheck disable=SC2086 # The emulator is several words.
  exec timeout --kill-after=5 $limit $emulator "$@" "${skip[@]}"
}
if [ "${1:-}" = --run ]; then
  run "${@:2}"
  exit
fi

[ "$(uname -m)" != aarch64 ] || die "this machine is an arm64 machine: make test runs all tests on it"
scripts/setup.sh rust cpp arm64
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
mkdir -p "$out"
native=${CARGO_TARGET_DIR:-$PWD/target}/debug
built=$out/$target/debug

# cross_cargo ARGUMENT...: cargo for arm64. Optimized a little, because emulation is slow.
cross_cargo() {
  local command=$1
  shift
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="${linker_options[*]/#/-C link-arg=}" \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$PWD/scripts/arm64.sh --run" \
    CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=0 SITU_TEST_RUNNER=$emulator SITU_TEST_REQUIRE=host,emulated \
    cargo "$command" --locked --target $target --target-dir "$out" "$@"
}

test_rust() {
  local failed=()
  cross_cargo test --no-fail-fast -p situ-layout -p situ-region -p situ-wire -p situ-memory -p situ-bus \
    -p situ-testkit --lib --tests || failed+=(crates)
  cross_cargo test --no-fail-fast -p situ-generated --test vectors --test region --test region_bazaar --test protobuf || failed+=(vectors)
  [ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
}

# libsitu for arm64, and the command of this machine, which generates code.
build_libraries() {
  cargo build --quiet --locked -p situ-cli --bin situ
  cross_cargo build --quiet -p situ-c --lib
}

# Configures the C++ side for arm64. GoogleTest is built from the sources that Debian installs. Without new
# tags, the folder of libraries is also that of the libraries that libraries need.
configure_cpp() {
  local cross=(-G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_BUILD_TYPE=
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_CXX_FLAGS=-O1
    -DCMAKE_EXE_LINKER_FLAGS="${linker_options[*]} -Wl,--disable-new-dtags" -DCMAKE_CROSSCOMPILING_EMULATOR="${emulator// /;}")
  if [ ! -e "$out/gtest/installed" ]; then
    cmake -S /usr/src/googletest -B "$out/gtest/build" "${cross[@]}" -DBUILD_GMOCK=OFF \
      -DCMAKE_INSTALL_PREFIX="$out/gtest" >/dev/null
    cmake --build "$out/gtest/build" --target install >/dev/null
    touch "$out/gtest/installed"
  fi
  cmake -S cpp -B "$out/cpp" "${cross[@]}" -DCMAKE_PREFIX_PATH="$out/gtest" -DSITU_LIBRARY_DIR="$built" \
    -DSITU_COMMAND="$native/situ" -DSITU_CLANG= >/dev/null
}

# The long tests of regions are not among them: they take longer to build than all others together. The topics
# use regions, too.
cpp_tests=(test_containers test_vectors test_message test_validate test_cdr test_protobuf test_protobuf_reader
  test_protobuf_generated test_protobuf_generated_reader test_synchronizer test_region_profile
  test_region_profile_before)
test_cpp() {
  local program failed=()
  build_libraries
  configure_cpp
  cmake --build "$out/cpp" --target "${cpp_tests[@]}"
  for program in "${cpp_tests[@]}"; do
    echo "==> $program"
    # shellcheck disable=SC2086 # The emulator is several words.
    (ulimit -v $addresses && timeout --kill-after=5 $limit $emulator "$(find "$out/cpp" -name "$program" -type f)" --gtest_brief=1) ||
      failed+=("$program")
  done
  [ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
}

# The test of the examples runs each pair of them. Its two folders of programs are given another architecture
# each, one after the other for both languages.
test_topics() {
  local programs=(hello-publisher hello-subscriber pointcloud-publisher pointcloud-subscriber serialized-publisher
    serialized-subscriber region relay) in_c=(hello-publisher-c hello-subscriber-c) language program path pair
  build_libraries
  cross_cargo build --quiet -p situ-examples --bins
  cargo build --quiet --locked -p situ-examples --bins
  configure_cpp
  cmake --build "$out/cpp" --target "${programs[@]}" "${in_c[@]}"
  cmake -S cpp -B build/cpp -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSITU_CARGO_PROFILE=dev \
    -DSITU_COMMAND="$native/situ" >/dev/null
  cmake --build build/cpp --target "${programs[@]}" "${in_c[@]}"

  # Scripts that start the programs for arm64.
  rm -rf "$out/run"
  mkdir -p "$out/run/rust" "$out/run/cpp"
  for language in rust cpp; do
    for program in "${programs[@]}" "${in_c[@]}"; do
      path=$built/$program
      [ $language = rust ] || path=$out/cpp/examples/$program
      [ -f "$path" ] || continue
      [ "$(od -An -tu2 -j18 -N2 "$path" | tr -d ' ')" = 183 ] || die "$path is not a program for arm64"
      printf '#!/bin/sh\nulimit -v %s\nexec %s %s "$@"\n' $addresses "$emulator" "$path" >"$out/run/$language/$program"
      chmod +x "$out/run/$language/$program"
    done
  done
  for pair in "$native $out/run/rust" "$native $out/run/cpp" "$PWD/build/cpp/examples $out/run/cpp" "$out/run/rust $PWD/build/cpp/examples"; do
    echo "==> ${pair/ / with }"
    SITU_RUST_EXAMPLES=${pair% *} SITU_CPP_EXAMPLES=${pair#* } cargo test --locked -p situ-examples --test crosswise -- \
      --exact hello pointcloud serialized region relay
  done
}

# Several parts are processes of their own, so that each ends at its first error.
if [ $# = 1 ]; then
  case $1 in
    rust | cpp | topics) "test_$1" ;;
    *) die "unknown part '$1'; there are: rust cpp topics" ;;
  esac
  exit
fi
[ $# != 0 ] || set -- rust cpp topics
failures=()
for part; do scripts/arm64.sh "$part" || failures+=("$part"); done
[ ${#failures[@]} = 0 ] || die "failed: ${failures[*]}"
