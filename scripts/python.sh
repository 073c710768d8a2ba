#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it in an environment of its own and runs the tests there.
# The wheel is built with the profile `dev`, so that it shares what `cargo test` has built. Everything else
# goes to build/python. Without a Python of version 3.9 or a package index, the script prints so and
# succeeds.
#
# Usage: scripts/python.sh [INTERPRETER...] (without one: python3). The one wheel is tried with each.
set -euo pipefail
cd "$(dirname "$0")/.."

[ ! -f "$HOME/.cargo/env" ] || . "$HOME/.cargo/env"
out=$PWD/build/python
skip() { echo "SKIPPED: $*; the Python package was not tested" >&2; exit 0; }
pythons=("${@:-python3}")
for python in "${pythons[@]}"; do
  "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    skip "$python is not Python 3.9 or later with venv"
done

mkdir -p "$out"
# environment FOLDER PYTHON PACKAGE...: makes an environment, and installs what is missing.
environment() {
  [ -f "$1/.ready" ] || { rm -rf "$1" && "$2" -m venv "$1"; }
  "$1/bin/pip" install --quiet --disable-pip-version-check "${@:3}" && touch "$1/.ready"
}
environment "$out/tools" "${pythons[0]}" 'maturin>=1.7,<2' mypy numpy || skip "maturin, mypy and numpy cannot be installed (no package index?)"

rm -rf "$out/wheels"
"$out/tools/bin/maturin" build --quiet --manifest-path python/Cargo.toml --profile dev --compatibility linux \
  --interpreter "${pythons[0]}" --out "$out/wheels"
(cd python && "$out/tools/bin/mypy" --no-error-summary --cache-dir "$out/mypy" situ)

for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print(f"{sys.version_info[0]}.{sys.version_info[1]}")')
  environment "$out/try-$version" "$python" numpy pytest hypothesis anyio trio uvloop ||
    skip "numpy, pytest and the event loops cannot be installed"
  "$out/try-$version/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$out"/wheels/*.whl
  # From another folder, so that the installed package is tried, not the sources.
  (cd "$out" && "try-$version/bin/python" -m pytest -q -p no:cacheprovider -c ../../python/pyproject.toml \
    --rootdir ../../python ../../python/tests ../../python/examples)
done
