// The demo's filter on a Vulkan device: the edges of an image, by the operator of Sobel, four pixels a
// thread. The arithmetic is the same as that of `edges` in mod.rs, to the bit.

struct Shape {
    width: u32,
    height: u32,
    channels: u32,
}

var<push_constant> shape: Shape;
@group(0) @binding(0) var<storage, read> image: array<u32>;
@group(0) @binding(1) var<storage, read_write> edges: array<u32>;

fn byte(at: u32) -> i32 {
    return i32((image[at / 4u] >> (8u * (at % 4u))) & 0xffu);
}

fn grey(x: i32, y: i32) -> i32 {
    let column = u32(clamp(x, 0, i32(shape.width) - 1));
    let row = u32(clamp(y, 0, i32(shape.height) - 1));
    let at = (row * shape.width + column) * shape.channels;
    if shape.channels < 3u {
        return byte(at);
    }
    return (byte(at) + byte(at + 1u) + byte(at + 2u)) / 3;
}

fn edge(pixel: u32) -> u32 {
    if pixel >= shape.width * shape.height {
        return 0u;
    }
    let x = i32(pixel % shape.width);
    let y = i32(pixel / shape.width);
    let across = grey(x + 1, y - 1) + 2 * grey(x + 1, y) + grey(x + 1, y + 1)
        - grey(x - 1, y - 1) - 2 * grey(x - 1, y) - grey(x - 1, y + 1);
    let down = grey(x - 1, y + 1) + 2 * grey(x, y + 1) + grey(x + 1, y + 1)
        - grey(x - 1, y - 1) - 2 * grey(x, y - 1) - grey(x + 1, y - 1);
    return u32(min(abs(across) + abs(down), 255));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x * 4u;
    if first < shape.width * shape.height {
        edges[id.x] = edge(first) | edge(first + 1u) << 8u | edge(first + 2u) << 16u | edge(first + 3u) << 24u;
    }
}
