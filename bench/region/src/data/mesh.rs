//! `mesh`: triangles.

use rkyv::{Archive, Serialize};

use super::SEED;
use crate::random::Random;

/// A point or direction.
#[derive(Archive, Serialize, Clone, Copy, Debug)]
pub struct Vector3 {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

/// A triangle.
#[derive(Archive, Serialize, Clone, Copy, Debug)]
pub struct Triangle {
    pub v0: Vector3,
    pub v1: Vector3,
    pub v2: Vector3,
    pub normal: Vector3,
}

/// All triangles.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Mesh {
    pub triangles: Vec<Triangle>,
}

fn vector(random: &mut Random) -> Vector3 {
    Vector3 { x: random.unit() as f32, y: random.unit() as f32, z: random.unit() as f32 }
}

/// 125,000 triangles.
pub fn make() -> Mesh {
    let mut random = Random::new(SEED);
    let random = &mut random;
    let triangles = (0..125_000)
        .map(|_| Triangle {
            v0: vector(random),
            v1: vector(random),
            v2: vector(random),
            normal: vector(random),
        })
        .collect();
    Mesh { triangles }
}

/// The sum that reading must return: the normals.
pub fn sum(data: &Mesh) -> u64 {
    data.triangles.iter().map(|t| part(t.normal.x, t.normal.y, t.normal.z)).sum()
}

/// One triangle's part of the sum.
#[inline(always)]
pub fn part(x: f32, y: f32, z: f32) -> u64 {
    u64::from(x.to_bits()) + u64::from(y.to_bits()) + u64::from(z.to_bits())
}
