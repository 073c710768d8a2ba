// The configuration of Cyclone DDS for the benchmark.

#pragma once

namespace bench {

// Uses shared memory, and the loop-back interface with large buffers and packets for everything else.
inline constexpr const char* kConfiguration = R"(<CycloneDDS><Domain>
  <General>
    <Interfaces><NetworkInterface name="lo" multicast="true"/></Interfaces>
    <MaxMessageSize>65500B</MaxMessageSize>
    <FragmentSize>65000B</FragmentSize>
  </General>
  <Internal>
    <SocketReceiveBufferSize min="default" max="16MB"/>
    <Watermarks><WhcHigh>16MB</WhcHigh></Watermarks>
  </Internal>
  <SharedMemory><Enable>true</Enable><LogLevel>error</LogLevel></SharedMemory>
</Domain></CycloneDDS>)";

}  // namespace bench
