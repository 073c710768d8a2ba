#!/usr/bin/env bash
# Fetches the interface files of ROS 2's common packages into build/ros/share, for the tests of the schema
# front ends and generators. Does nothing if they are there. Without a package index it prints so and
# succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  ros-action-msgs==2.3.0
  ros-builtin-interfaces==2.3.0
  ros-geometry-msgs==5.5.1
  ros-nav-msgs==5.5.1
  ros-sensor-msgs==5.5.1
  ros-service-msgs==2.3.0
  ros-std-msgs==5.5.1
  ros-test-msgs==2.3.0
  ros-unique-identifier-msgs==2.7.0
)
target=build/ros
wanted=$(printf '%s\n' "${packages[@]}")
if [ -f "$target/.ready" ] && [ "$(cat "$target/.ready")" = "$wanted" ]; then exit; fi

if [ -x build/venv/bin/pip ]; then pip=(build/venv/bin/pip); else pip=(python3 -m pip); fi
rm -rf "$target"
mkdir -p "$target/wheels"
# The messages are the same in every wheel, so the platform is fixed: any Python can fetch them.
if ! "${pip[@]}" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
  --implementation cp --python-version 311 --abi cp311 --platform manylinux_2_28_x86_64 \
  --dest "$target/wheels" "${packages[@]}" >&2; then
  echo "fetch-ros-interfaces: SKIPPED: cannot download ${packages[*]} (no pip, or no package index)" >&2
  rm -rf "$target"
  exit 0
fi
python3 - "$target" <<'PYTHON'
import pathlib, sys, zipfile

target = pathlib.Path(sys.argv[1])
for wheel in sorted(target.glob("wheels/*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            # <distribution>.data/data/share/<package>/<msg|srv|action>/<file>
            _, found, inner = name.partition(".data/data/share/")
            parts = inner.split("/")
            if found and len(parts) == 3 and parts[2] and parts[1] in ("msg", "srv", "action"):
                path = target / "share" / inner
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))
PYTHON
rm -rf "$target/wheels"
printf '%s\n' "${packages[@]}" >"$target/.ready"
# Makes crates that were built without them generate code for them.
touch tests/generated/build.rs
echo "fetch-ros-interfaces: $(find "$target/share" -name '*.idl' | wc -l) IDL files in $target/share" >&2
