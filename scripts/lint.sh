#!/usr/bin/env bash
# Checks formatting and warnings of Rust and C++, and that the bench and the packages of the crates build. With
# --fix it formats instead.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh lint
[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
clang_format=$(command -v clang-format || command -v clang-format-14)
sources() { git ls-files -co --exclude-standard '*.hpp' '*.cpp' '*.h' '*.c'; }

if [ "${1:-}" = --fix ]; then
  cargo fmt --all
  sources | xargs -r "$clang_format" -i
  exit
fi

echo '==> cargo fmt'
cargo fmt --all --check
echo '==> clang-format'
sources | xargs -r "$clang_format" --dry-run --Werror
echo '==> circles of imports'
scripts/check-imports.py
if command -v actionlint >/dev/null; then
  echo '==> workflows'
  actionlint
else
  echo 'SKIPPED: workflows (there is no actionlint: go install github.com/rhysd/actionlint/cmd/actionlint@latest)'
fi
echo '==> clippy'
cargo clippy --workspace --all-targets -- -D warnings
echo '==> features, one by one'
for features in '' situ/cuda situ/vulkan situ/collector situ-schema/dynamic situ-schema/proto situ-trace/tracing; do
  cargo clippy --quiet -p situ-memory -p situ-bus -p situ-trace -p situ -p situ-schema \
    --features "$features" -- -D warnings
done
echo '==> documentation'
RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet
echo '==> bench'
cargo check --quiet --workspace --manifest-path bench/Cargo.toml
echo '==> packages'
cargo package --quiet --allow-dirty --workspace --exclude situ-examples --exclude situ-generated --exclude situ-testkit
echo 'lint: all clean'
