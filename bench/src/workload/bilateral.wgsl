// The bilateral filter of bilateral.rs as a compute shader. The program writes the constants RADIUS, WIDTH,
// HEIGHT, SPATIAL and TONAL in front of it.

@group(0) @binding(0) var<storage, read> image_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> image_out: array<u32>;

fn colour(pixel: u32) -> vec3<f32> {
    return vec3<f32>(f32(pixel & 255u), f32((pixel >> 8u) & 255u), f32((pixel >> 16u) & 255u));
}

@compute @workgroup_size(32, 4)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let x = i32(id.x);
    let y = i32(id.y);
    if x >= WIDTH || y >= HEIGHT {
        return;
    }
    let own = image_in[y * WIDTH + x];
    let centre = colour(own);
    var sum = vec3<f32>(0.0);
    var total = 0.0;
    for (var dy = -RADIUS; dy <= RADIUS; dy++) {
        let row = clamp(y + dy, 0, HEIGHT - 1) * WIDTH;
        for (var dx = -RADIUS; dx <= RADIUS; dx++) {
            let other = colour(image_in[row + clamp(x + dx, 0, WIDTH - 1)]);
            let away = other - centre;
            let weight = exp2(TONAL * dot(away, away) + SPATIAL * f32(dx * dx + dy * dy));
            sum += weight * other;
            total += weight;
        }
    }
    let mean = vec3<u32>(sum / total + vec3<f32>(0.5));
    image_out[y * WIDTH + x] = (own & 0xFF000000u) | mean.x | (mean.y << 8u) | (mean.z << 16u);
}
