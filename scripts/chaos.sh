#!/usr/bin/env bash
# Kills processes at random moments and at chosen steps, $1 times, and checks the remains
# (crates/situ-bus/tests/{kill.rs, kill_domains.rs, kill_services.rs, kill_crowd.rs, reclaim.rs, crash.rs,
# grow.rs}; crates/situ-trace/tests/kill.rs; crates/situ-record/tests/record.rs). Flips bits in memory that
# other processes use (hostile.rs). Kills processes of ROS on rmw_situ, a tenth as often
# (ros/rmw_situ/test/rmw/chaos.cpp). Prints the seeds: SITU_CHAOS_SEED=... kills in the same order again.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh rust vulkan
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
export SITU_CHAOS_KILLS=${1:-10000}
cargo test --package situ-trace --test kill --test hostile -- --nocapture --test-threads=1
cargo test --package situ-record --test record what_was_written_survives_kills -- --nocapture
cargo test --package situ-bus --test kill --test kill_domains --test kill_services --test kill_crowd --test reclaim --test crash --test grow --test hostile -- --nocapture --test-threads=1
ROS_KILLS=$((SITU_CHAOS_KILLS / 10 > 0 ? SITU_CHAOS_KILLS / 10 : 1)) scripts/rmw.sh chaos
echo "chaos: $SITU_CHAOS_KILLS kills at random, and more at chosen steps; nothing hung, leaked or was torn"
