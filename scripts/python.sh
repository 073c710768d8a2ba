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

# Types: the package, and programs with generated classes. Of `mistakes.py`, each line with `wrong` must be an
# error, and no other. pyright runs as basedpyright, whose package has all that it needs; without it, mypy checks.
(cd python && "$out/tools/bin/mypy" --no-error-summary --cache-dir "$out/mypy" situ)
typed=(--strict --no-error-summary --cache-dir "$out/mypy-typed")
(cd python/tests/typed && MYPYPATH=../.. "$out/tools/bin/mypy" "${typed[@]}" program.py generated)
marked() { grep -n 'wrong$' python/tests/typed/mistakes.py | cut -d: -f1 | tr '\n' ' '; }
# found CHECKER OUTPUT: fails unless the lines with errors are the marked ones.
found() {
  local lines
  lines=$(grep -oE 'mistakes\.py:[0-9]+.*error' <<<"$2" | cut -d: -f2 | sort -nu | tr '\n' ' ')
  [ "$lines" = "$(marked)" ] || { echo "python: $1 finds mistakes in lines $lines of mistakes.py, not $(marked)" >&2; exit 1; }
}
found mypy "$(cd python/tests/typed && MYPYPATH=../.. "$out/tools/bin/mypy" "${typed[@]}" mistakes.py || true)"
if "$out/tools/bin/pip" install --quiet --disable-pip-version-check basedpyright 2>/dev/null &&
  "$out/tools/bin/basedpyright" --version >/dev/null 2>&1; then
  pyright() { (cd python/tests/typed && "$out/tools/bin/basedpyright" -p pyrightconfig.json --pythonpath "$out/tools/bin/python" "$@"); }
  pyright program.py generated || exit 1
  found pyright "$(pyright mistakes.py || true)"
else
  echo "python: basedpyright cannot be installed; types were checked by mypy only" >&2
fi

for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print(f"{sys.version_info[0]}.{sys.version_info[1]}")')
  environment "$out/try-$version" "$python" numpy pytest hypothesis anyio trio uvloop ||
    skip "numpy, pytest and the event loops cannot be installed"
  "$out/try-$version/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$out"/wheels/*.whl
  # The project that `situ new` writes is tried if the command is built.
  [ ! -x target/debug/situ ] || export SITU_COMMAND=$PWD/target/debug/situ
  # From another folder, so that the installed package is tried, not the sources.
  (cd "$out" && "try-$version/bin/python" -m pytest -q -p no:cacheprovider -c ../../python/pyproject.toml \
    --rootdir ../../python ../../python/tests ../../python/examples)
done
