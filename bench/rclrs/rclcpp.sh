#!/usr/bin/env bash
# Builds rclcpp, which is in no package registry, against ROS from PyPI (build/venv), and with it the peer of
# table `conversion-ros`: build/rclrs/rclcpp/peer. The first build takes some minutes. BENCH_RCLCPP and
# BENCH_LIBSTATISTICS_COLLECTOR name checkouts or git directories of github.com/ros2/rclcpp and
# github.com/ros-tooling/libstatistics_collector. Without them, the script fetches the releases. Gives the
# reason if it cannot build.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=$PWD/build/venv out=$PWD/build/rclrs/rclcpp peer=$PWD/bench/rclrs/peer.cpp
absent() { echo "conversion-ros: rclcpp is absent: $*" >&2; rm -f "$out/peer"; exit 0; }
[ -f "$venv/.ready" ] || absent "no ROS packages in build/venv"
for tool in g++ cmake ninja; do command -v $tool >/dev/null || absent "needs $tool (scripts/setup.sh cpp installs it)"; done
mkdir -p "$out"

# sources NAME RELEASE GIVEN FOLDER: copies the folder of a release, or of the given checkout, to $out/NAME.
sources() {
  local name=$1 release=$2 given=$3 folder=$4
  [ ! -f "$out/$name/CMakeLists.txt" ] || return 0
  rm -rf "$out/$name" "$out/part"
  mkdir -p "$out/part"
  if [ -z "$given" ]; then
    curl -fsL --max-time 60 "https://github.com/$release.tar.gz" | tar -xz -C "$out/part" --strip-components=1 2>/dev/null ||
      absent "cannot fetch https://github.com/$release.tar.gz; clone it and set BENCH_$(tr '[:lower:]' '[:upper:]' <<<"$name")"
    mv "$out/part${folder:+/$folder}" "$out/$name"
  elif [ -f "$given/${folder:-.}/CMakeLists.txt" ]; then
    cp -r "$given/${folder:-.}" "$out/$name"
  else
    git -C "$given" archive HEAD | tar -x -C "$out/part" || absent "$given is not a checkout of $name"
    mv "$out/part${folder:+/$folder}" "$out/$name"
  fi
}
sources rclcpp ros2/rclcpp/archive/refs/tags/29.3.0 "${BENCH_RCLCPP:-}" rclcpp
sources libstatistics_collector ros-tooling/libstatistics_collector/archive/refs/tags/1.8.0 "${BENCH_LIBSTATISTICS_COLLECTOR:-}" ""

export ROS_DISTRO=kilted AMENT_PREFIX_PATH=$venv PATH=$venv/bin:$PATH
python -c 'import em' 2>/dev/null || pip install -q empy==3.3.4 || absent "empy cannot be installed"

# The interfaces of statistics_msgs, which the packages lack. rclcpp names them, but the benchmark measures
# nothing with them.
if [ ! -f "$out/install/lib/libstatistics_msgs__rosidl_typesupport_cpp.so" ]; then
  mkdir -p "$out/statistics_msgs/msg"
  cd "$out/statistics_msgs"
  printf 'uint8 data_type\nfloat64 data\n' >msg/StatisticDataPoint.msg
  at=0
  for name in UNINITIALIZED AVERAGE MINIMUM MAXIMUM STDDEV SAMPLE_COUNT; do
    echo "uint8 STATISTICS_DATA_TYPE_$name = $at"
    at=$((at + 1))
  done >msg/StatisticDataType.msg
  printf '%s\n' 'string measurement_source_name' 'string metrics_source' 'string unit' 'builtin_interfaces/Time window_start' \
    'builtin_interfaces/Time window_stop' 'StatisticDataPoint[] statistics' >msg/MetricsMessage.msg
  cat >package.xml <<'XML'
<?xml version="1.0"?>
<package format="3">
  <name>statistics_msgs</name><version>2.3.0</version><description>Statistics</description>
  <maintainer email="situ@example.invalid">Situ</maintainer><license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend><buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>builtin_interfaces</depend><exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
XML
  {
    printf 'cmake_minimum_required(VERSION 3.20)\nproject(statistics_msgs)\n'
    printf 'find_package(%s REQUIRED)\n' ament_cmake rosidl_cmake rosidl_adapter rosidl_generator_c rosidl_generator_cpp \
      rosidl_typesupport_introspection_c rosidl_typesupport_introspection_cpp rosidl_typesupport_fastrtps_c \
      rosidl_typesupport_fastrtps_cpp rosidl_typesupport_c rosidl_typesupport_cpp builtin_interfaces
    echo 'rosidl_generate_interfaces(${PROJECT_NAME} msg/StatisticDataPoint.msg msg/StatisticDataType.msg msg/MetricsMessage.msg
      DEPENDENCIES builtin_interfaces)'
    echo 'ament_package()'
  } >CMakeLists.txt
  { cmake -S . -B "$out/build" -G Ninja -DCMAKE_INSTALL_PREFIX="$out/install" -DCMAKE_PREFIX_PATH="$venv" \
      -DPython3_EXECUTABLE="$venv/bin/python" && cmake --build "$out/build" --target install; } >"$out/statistics.log" 2>&1 ||
    { tail -n 20 "$out/statistics.log" >&2; absent "statistics_msgs cannot be built (log: $out/statistics.log)"; }
fi

# The files that rclcpp's CMake build makes of templates.
python - "$out/rclcpp" "$out/generated/rclcpp" <<'PYTHON'
import em, glob, os, sys
source, target = sys.argv[1:]
os.makedirs(target + "/node_interfaces", exist_ok=True)
wanted = [([], target + "/logging.hpp", "logging.hpp.em")]
for path in glob.glob(source + "/include/rclcpp/node_interfaces/node_*_interface.hpp"):
    name = os.path.basename(path)[:-4]
    define = ["-D", f"interface_name = '{name}'"]
    wanted.append((define, f"{target}/node_interfaces/{name}_traits.hpp", "interface_traits.hpp.em"))
    wanted.append((define, f"{target}/node_interfaces/get_{name}.hpp", "get_interface.hpp.em"))
for define, path, template in wanted:
    if not os.path.exists(path):
        em.invoke(define + ["-o", path, f"{source}/resource/{template}"])
PYTHON

flags=(-std=c++17 -O3 -DNDEBUG -w -fPIC -I "$out/generated" -I "$out/rclcpp/include" -I "$out/rclcpp/src"
  -I "$out/libstatistics_collector/include" -I "$out/install/include/statistics_msgs")
for folder in "$venv"/include/*/; do flags+=(-isystem "${folder%/}"); done
libraries=(-L"$out/install/lib" -L"$venv/lib" -lstatistics_msgs__rosidl_typesupport_cpp)
for name in rcl rmw rcutils rcpputils rcl_yaml_param_parser rcl_logging_interface rosidl_runtime_c rosidl_typesupport_cpp \
  rosidl_typesupport_c rosidl_dynamic_typesupport tracetools ament_index_cpp rcl_interfaces__rosidl_typesupport_cpp \
  builtin_interfaces__rosidl_typesupport_cpp rosgraph_msgs__rosidl_typesupport_cpp; do libraries+=("-l$name"); done

# Compiles one file, unless its object exists.
compile() {
  local object=$1/objects/${2//\//_}.o
  [ -f "$object" ] || { g++ "${@:3}" -c "$2" -o "$object.part" && mv "$object.part" "$object"; }
}
export -f compile
mkdir -p "$out/objects"
{
  sed -n '/set(${PROJECT_NAME}_SRCS/,/^)/p' "$out/rclcpp/CMakeLists.txt" | grep -o 'src/[^ )]*\.cpp' | sed "s#^#$out/rclcpp/#"
  ls "$out"/libstatistics_collector/src/libstatistics_collector/*/*.cpp
} | xargs -P "$(nproc)" -I{} bash -c 'compile "$@"' _ "$out" {} -DRCLCPP_BUILDING_LIBRARY \
  -DLIBSTATISTICS_COLLECTOR_BUILDING_LIBRARY "${flags[@]}" >"$out/rclcpp.log" 2>&1 ||
  { tail -n 20 "$out/rclcpp.log" >&2; absent "cannot build rclcpp (log: $out/rclcpp.log)"; }
# The packages' libraries need Python's symbols at load time, although no code here calls them.
nm -D --undefined-only "$venv"/lib/*__rosidl_generator_py.so | awk '$1 == "U" && $2 ~ /^_?Py/ { print "char " $2 "[64];" }' | sort -u >"$out/no_python.c"
cc -shared -fPIC -o "$out/libno_python.so" "$out/no_python.c"
g++ -shared -o "$out/librclcpp.so" "$out"/objects/*.o "${libraries[@]}" -lpthread -ldl
[ "$out/peer" -nt "$peer" ] || g++ "${flags[@]}" "$peer" -o "$out/peer" -L"$out" -Wl,--no-as-needed -lno_python -Wl,--as-needed -lrclcpp \
  -lstd_msgs__rosidl_typesupport_cpp "${libraries[@]}" -lrmw_fastrtps_cpp -Wl,--allow-shlib-undefined \
  -Wl,-rpath,"$out:$out/install/lib:$venv/lib" -lpthread || absent "cannot build its program (see above)"
