#!/usr/bin/env bash
# Installs the tools of `ros2` from their sources into build/rmw/ros2cli, where test_ros2.py finds them: PyPI
# does not have them. An installation of ROS brings them along.
#
# Usage: ros2cli.sh ROS2CLI ROSIDL_RUNTIME_PY
#
#   work trees or git directories of github.com/ros2/ros2cli and github.com/ros2/rosidl_runtime_py
set -euo pipefail
[ $# = 2 ] || { sed -n '5,7p' "$0"; exit 2; }
cli=$(cd "$1" && pwd) runtime=$(cd "$2" && pwd)
cd "$(dirname "$0")/../../.."
venv=${ROS_ENVIRONMENT:-$PWD/build/venv} out=$PWD/build/rmw/ros2cli
rm -rf "$out"
mkdir -p "$out/site"

# unpack SOURCE FOLDER: from a git directory or a work tree.
unpack() {
  mkdir -p "$2"
  if [ -d "$1/objects" ]; then git --git-dir="$1" archive HEAD | tar -x -C "$2"; else cp -r "$1/." "$2"; fi
}
unpack "$cli" "$out/sources"
unpack "$runtime" "$out/sources/rosidl_runtime_py"

pip=("$venv/bin/pip" install --quiet --disable-pip-version-check --no-warn-script-location --upgrade --target "$out/site")
"${pip[@]}" argcomplete osrf_pycommon psutil rosdistro 'setuptools<80'
# The environment has these, in its own versions.
rm -rf "$out"/site/{yaml,_yaml,packaging,catkin_pkg,dateutil,pyparsing}*
for package in "$out"/sources/ros2{cli,action,component,doctor,interface,lifecycle,multicast,node,param,pkg,run,service,topic} \
  "$out/sources/rosidl_runtime_py"; do
  PYTHONPATH=$out/site "${pip[@]}" --no-deps --no-build-isolation "$package"
done
echo "ros2cli: $(ls "$out/site" | grep -c '^ros2.*dist-info') packages in $out/site"
