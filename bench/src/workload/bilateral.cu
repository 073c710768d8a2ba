// The bilateral filter of bilateral.rs as a CUDA kernel.

__device__ static float3 colour(unsigned pixel) {
  return make_float3(pixel & 255u, (pixel >> 8) & 255u, (pixel >> 16) & 255u);
}

extern "C" __global__ void bilateral(const unsigned *from, unsigned *to, int width, int height, int radius, float spatial,
                                     float tonal) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const unsigned own = from[y * width + x];
  const float3 centre = colour(own);
  float3 sum = make_float3(0.0f, 0.0f, 0.0f);
  float total = 0.0f;
  for (int dy = -radius; dy <= radius; dy++) {
    const unsigned *row = from + min(max(y + dy, 0), height - 1) * width;
    for (int dx = -radius; dx <= radius; dx++) {
      const float3 other = colour(row[min(max(x + dx, 0), width - 1)]);
      const float3 away = make_float3(other.x - centre.x, other.y - centre.y, other.z - centre.z);
      const float square = away.x * away.x + away.y * away.y + away.z * away.z;
      const float weight = exp2f(tonal * square + spatial * (float)(dx * dx + dy * dy));
      sum.x += weight * other.x;
      sum.y += weight * other.y;
      sum.z += weight * other.z;
      total += weight;
    }
  }
  const unsigned red = (unsigned)(sum.x / total + 0.5f);
  const unsigned green = (unsigned)(sum.y / total + 0.5f);
  const unsigned blue = (unsigned)(sum.z / total + 0.5f);
  to[y * width + x] = (own & 0xFF000000u) | red | green << 8 | blue << 16;
}
