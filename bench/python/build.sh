#!/bin/sh
# Builds Situ's package for release, and installs it beside its peers in build/python/peers. A peer that cannot
# be installed is absent from the table. rclpy is that of build/venv, which `make test` makes.
set -eu
cd "$(dirname "$0")/../.."

environment=build/python/peers
[ -x "$environment/bin/pip" ] || python3 -m venv "$environment"
pip() { "$environment/bin/pip" install --quiet --disable-pip-version-check "$@"; }
pip numpy 'maturin>=1.7,<2'
for peer in iceoryx2 eclipse-zenoh cyclonedds; do
  pip "$peer" || echo "python: $peer cannot be installed"
done
"$environment/bin/maturin" build --quiet --release --manifest-path python/Cargo.toml --compatibility linux \
  --interpreter "$environment/bin/python" --out build/python/release
pip --force-reinstall --no-deps build/python/release/*.whl
