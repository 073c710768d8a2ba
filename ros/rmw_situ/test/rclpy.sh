#!/usr/bin/env bash
# Runs rclpy's own tests on a middleware, each file in a process of its own. Compares with rmw_fastrtps_cpp.
#
# Usage: rclpy.sh CHECKOUT [LIBRARY [PATTERN]]
#
#   CHECKOUT  a work tree or git directory of github.com/ros2/rclpy; best the version that is installed
#   LIBRARY   the middleware: its path, or `fastrtps` (default: build/rmw/rmw_situ/librmw_situ.so)
#   PATTERN   only files whose name matches, such as test_node
#
# Prints one line for each file, the totals, and the tests whose result differs from that on rmw_fastrtps_cpp,
# which runs first where its results are not there yet. Everything goes to build/rmw/rclpy. The exit status
# is 0 if no test that passes on rmw_fastrtps_cpp fails.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '4,12p' "$0"; exit 2; }
checkout=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
venv=${ROS_ENVIRONMENT:-$PWD/build/venv} out=$PWD/build/rmw/rclpy
library=${2:-$PWD/build/rmw/rmw_situ/librmw_situ.so} pattern=${3:-.}
[ "$library" = fastrtps ] || library=$(realpath "$library")
mkdir -p "$out"

# The tests, and pytest beside the environment, which other tests use as it is.
rm -rf "$out/tests"
mkdir -p "$out/tests"
if [ -d "$checkout/rclpy/test" ]; then
  cp -r "$checkout/rclpy/test" "$out/tests/"
else
  git --git-dir="$checkout" archive HEAD rclpy/test | tar -x -C "$out/tests" --strip-components=1
fi
# It looks for a folder of the build.
rm -f "$out/tests/test/__init__.py"
if [ ! -d "$out/pytest/pytest" ]; then
  "$venv/bin/pip" install --quiet --disable-pip-version-check --target "$out/pytest" pytest
fi

libraries=$venv/lib
for folder in "$venv"/lib/python*/site-packages/*.libs; do libraries+=:$folder; done
export AMENT_PREFIX_PATH=$venv LD_LIBRARY_PATH=$libraries PYTHONPATH=$out/pytest ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
export PYTHONDONTWRITEBYTECODE=1 ROS_DOMAIN_ID=${ROS_DOMAIN_ID:-$((RANDOM % 100 + 1))}

# run NAME LIBRARY: runs the files; the results go to $out/NAME.
run() {
  local results=$out/$1 file name
  mkdir -p "$results"
  for file in "$out"/tests/test/test_*.py; do
    name=$(basename "$file" .py)
    [[ $name =~ $pattern ]] || continue
    # What rmw_fastrtps_cpp gives does not change.
    [ "$1" != rmw_fastrtps_cpp ] || [ "$library" = fastrtps ] || [ ! -f "$results/$name.xml" ] || continue
    rm -f "$results/$name.xml"
    local loading=()
    [ "$2" = fastrtps ] || loading=("LD_PRELOAD=$2" "RMW_IMPLEMENTATION=$1")
    (cd "$out/tests" && env "${loading[@]}" ROS_LOG_DIR="$results/log" timeout -k 5 300 "$venv/bin/python" -X faulthandler \
      -m pytest -q -p no:cacheprovider --junitxml="$results/$name.xml" "test/$name.py") >"$results/$name.log" 2>&1 ||
      echo "exit status $?" >>"$results/$name.log"
    printf '%-24s %-44s %s\n' "$1" "$name" "$(tail -n 3 "$results/$name.log" | grep -v '^$' | tr '\n' ' ' | cut -c1-110)"
  done
}

run rmw_fastrtps_cpp fastrtps
name=rmw_fastrtps_cpp
if [ "$library" != fastrtps ]; then
  name=$(basename "$library" .so)
  name=${name#lib}
  run "$name" "$library"
fi

"$venv/bin/python" - "$out" "$name" "$pattern" <<'P'
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

out, name, pattern = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def results(middleware):
    found = {}
    for test in sorted((out / 'tests' / 'test').glob('test_*.py')):
        if not re.search(pattern, test.stem):
            continue
        path = out / middleware / (test.stem + '.xml')
        if not path.exists():
            # The process died, or took too long.
            found[test.stem] = 'died'
            continue
        for case in xml.parse(path).iter('testcase'):
            kinds = {child.tag for child in case}
            result = 'failed' if kinds & {'failure', 'error'} else 'skipped' if 'skipped' in kinds else 'passed'
            found[f"{test.stem}: {case.get('classname', '').split('.')[-1]}.{case.get('name')}"] = result
    return found


reference, tested = results('rmw_fastrtps_cpp'), results(name)
for middleware, found in {'rmw_fastrtps_cpp': reference, name: tested}.items():
    counts = {kind: list(found.values()).count(kind) for kind in ('passed', 'failed', 'skipped', 'died')}
    print(middleware + ': ' + ', '.join(f'{count} {kind}' for kind, count in counts.items()))
died = {test for test, result in tested.items() if result == 'died'}
worse = 0
for test in sorted(reference.keys() | tested.keys()):
    before, now = reference.get(test, 'absent'), tested.get(test, 'absent')
    if before == now or (now == 'absent' and test.split(':')[0] in died):
        continue
    print(f'{test}: {before} on rmw_fastrtps_cpp, {now} on {name}')
    worse += before == 'passed' or now == 'died'
sys.exit(1 if worse else 0)
P
