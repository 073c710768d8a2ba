# Makes the ROS of build/venv usable for programs without Python, and sets the environment in which they are
# built and run. Source it from the root of the checkout, with AMENT_PREFIX_PATH set.

# The packages lack the library that chooses a middleware; the only middleware takes its place. They were also
# built to run within Python: some libraries need its symbols at load time, although no code here calls them.
export SITU_STAND_INS=$PWD/build/rclrs/lib
mkdir -p "$SITU_STAND_INS"
ln -sf "$PWD/build/venv/lib/librmw_fastrtps_cpp.so" "$SITU_STAND_INS/librmw_implementation.so"
nm -D --undefined-only build/venv/lib/*__rosidl_generator_py.so | awk '$1 == "U" && $2 ~ /^_?Py/ { print "char " $2 "[64];" }' |
  sort -u >build/rclrs/no_python.c
cc -shared -fPIC -o "$SITU_STAND_INS/libno_python.so" build/rclrs/no_python.c
export ROS_DISTRO=kilted RMW_IMPLEMENTATION=rmw_fastrtps_cpp CARGO_TARGET_DIR=$PWD/build/rclrs/target
# A domain of its own on this machine keeps out messages of other programs.
export ROS_DOMAIN_ID=$((RANDOM % 100 + 1)) ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
libraries=$(tr ':' '\n' <<<"$AMENT_PREFIX_PATH" | sed 's|$|/lib|' | paste -sd:)
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
