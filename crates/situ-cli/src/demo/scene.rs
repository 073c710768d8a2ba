//! A synthetic street, scanned by a spinning lidar. The demo plays it if no file is given.
//!
//! Boxes (houses, cars) and upright cylinders (trees, people) stand on a plane; some of them move. Every ray
//! is cast in closed form. Each column of the scan tests only the objects in its direction.

use std::f32::consts::{PI, TAU};

use super::input::Point;

/// Rays one above the other.
pub const BEAMS: usize = 64;
/// Steps of one turn.
pub const COLUMNS: usize = 900;
/// The sensor's height above the road.
const SENSOR_HEIGHT: f32 = 1.73;
/// The range of the sensor.
const RANGE: f32 = 80.0;
/// Lowest and highest beam.
const ELEVATION: (f32, f32) = (-24.8 * PI / 180.0, 2.0 * PI / 180.0);
/// The length of the street after which moving objects repeat.
const STREET: f32 = 120.0;

/// An axis-aligned object; `z` is measured from the road.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Centre, half extent in x and y, height.
    Box { center: [f32; 2], half: [f32; 2], height: f32 },
    /// Centre, radius, height.
    Cylinder { center: [f32; 2], radius: f32, height: f32 },
}

#[derive(Clone, Copy, Debug)]
struct Thing {
    shape: Shape,
    /// Metres a second along the street.
    speed: f32,
    reflectivity: f32,
}

/// The street.
#[derive(Debug)]
pub struct Scene {
    things: Vec<Thing>,
    directions: Vec<[f32; 3]>,
}

impl Scene {
    /// Builds the street. It is always the same.
    pub fn new() -> Self {
        let mut things = Vec::new();
        let mut add = |shape, speed, reflectivity| things.push(Thing { shape, speed, reflectivity });
        for i in 0..6 {
            let x = i as f32 * 20.0 - 50.0;
            for side in [-1.0_f32, 1.0] {
                let house = [x + side * 3.0, side * (16.0 + (i % 3) as f32)];
                add(Shape::Box { center: house, half: [7.5, 4.0], height: 7.0 + (i % 4) as f32 }, 0.0, 0.35);
                let tree = [x + 9.0, side * 8.5];
                add(Shape::Cylinder { center: tree, radius: 0.25, height: 5.0 }, 0.0, 0.2);
            }
        }
        for i in 0..5 {
            let x = i as f32 * 13.0 - 31.0;
            add(Shape::Box { center: [x, -6.2], half: [2.1, 0.9], height: 1.5 }, 0.0, 0.6);
        }
        for (i, speed) in [9.0, 11.0, 7.5].into_iter().enumerate() {
            let x = i as f32 * 41.0 - 50.0;
            add(Shape::Box { center: [x, 3.2], half: [2.2, 0.95], height: 1.6 }, -speed, 0.7);
            add(Shape::Box { center: [x + 17.0, -2.9], half: [2.2, 0.95], height: 1.6 }, speed, 0.7);
        }
        for (i, speed) in [1.3, -1.1, 1.5, -1.4].into_iter().enumerate() {
            let y = if i % 2 == 0 { 7.4 } else { -7.8 };
            add(
                Shape::Cylinder { center: [i as f32 * 15.0 - 22.0, y], radius: 0.3, height: 1.75 },
                speed,
                0.45,
            );
        }
        let directions = (0..COLUMNS)
            .flat_map(|column| {
                let (sin, cos) = azimuth(column).sin_cos();
                (0..BEAMS).map(move |beam| {
                    let (up, level) = elevation(beam).sin_cos();
                    [cos * level, sin * level, up]
                })
            })
            .collect();
        Self { things, directions }
    }

    /// Scans the street in its state after `seconds`. Passes the points to `point` column by column, in the
    /// order in which a sensor measures them. A ray without a hit gives a point that is not finite.
    pub fn scan(&self, seconds: f32, mut point: impl FnMut(Point)) {
        let things: Vec<Thing> = self.things.iter().map(|t| t.after(seconds)).collect();
        let mut nearby = Vec::with_capacity(things.len());
        for (column, rays) in self.directions.chunks(BEAMS).enumerate() {
            nearby.clear();
            nearby.extend(things.iter().filter(|t| t.lies_towards(azimuth(column))));
            for ray in rays {
                point(cast(ray, &nearby));
            }
        }
    }
}

fn azimuth(column: usize) -> f32 {
    column as f32 / COLUMNS as f32 * TAU - PI
}

fn elevation(beam: usize) -> f32 {
    let share = beam as f32 / (BEAMS - 1) as f32;
    ELEVATION.0 + share * (ELEVATION.1 - ELEVATION.0)
}

impl Thing {
    fn after(mut self, seconds: f32) -> Self {
        let (Shape::Box { center, .. } | Shape::Cylinder { center, .. }) = &mut self.shape;
        if self.speed != 0.0 {
            center[0] = (center[0] + self.speed * seconds + STREET / 2.0).rem_euclid(STREET) - STREET / 2.0;
        }
        self
    }

    /// Returns whether a ray in that direction may hit: tests the circle around the object.
    fn lies_towards(&self, azimuth: f32) -> bool {
        let (center, radius) = match self.shape {
            Shape::Box { center, half, .. } => (center, half[0].hypot(half[1])),
            Shape::Cylinder { center, radius, .. } => (center, radius),
        };
        let (sin, cos) = azimuth.sin_cos();
        let ahead = center[0] * cos + center[1] * sin;
        let beside = center[0] * sin - center[1] * cos;
        ahead > -radius && beside.abs() <= radius && ahead - radius < RANGE
    }

    /// Returns the distance along the ray to the first hit.
    fn hit(&self, ray: &[f32; 3]) -> Option<f32> {
        match self.shape {
            Shape::Box { center, half, height } => {
                let low = [center[0] - half[0], center[1] - half[1], -SENSOR_HEIGHT];
                let high = [center[0] + half[0], center[1] + half[1], height - SENSOR_HEIGHT];
                let (mut near, mut far) = (0.0_f32, RANGE);
                for axis in 0..3 {
                    let (a, b) = (low[axis] / ray[axis], high[axis] / ray[axis]);
                    near = near.max(a.min(b));
                    far = far.min(a.max(b));
                }
                (near <= far && near > 0.0).then_some(near)
            }
            Shape::Cylinder { center, radius, height } => {
                let a = ray[0] * ray[0] + ray[1] * ray[1];
                let b = ray[0] * center[0] + ray[1] * center[1];
                let c = center[0] * center[0] + center[1] * center[1] - radius * radius;
                let root = b * b - a * c;
                if root < 0.0 {
                    return None;
                }
                let distance = (b - root.sqrt()) / a;
                let z = ray[2] * distance + SENSOR_HEIGHT;
                (distance > 0.0 && (0.0..height).contains(&z)).then_some(distance)
            }
        }
    }
}

fn cast(ray: &[f32; 3], things: &[&Thing]) -> Point {
    let mut nearest = RANGE;
    let mut reflectivity = f32::NAN;
    if ray[2] < 0.0 {
        let road = -SENSOR_HEIGHT / ray[2];
        if road < nearest {
            nearest = road;
            reflectivity = 0.15;
        }
    }
    for thing in things {
        if let Some(distance) = thing.hit(ray).filter(|&d| d < nearest) {
            nearest = distance;
            reflectivity = thing.reflectivity;
        }
    }
    if reflectivity.is_nan() {
        return [f32::NAN; 4];
    }
    let fade = 1.0 - nearest / RANGE * 0.5;
    [ray[0] * nearest, ray[1] * nearest, ray[2] * nearest, reflectivity * fade]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(seconds: f32) -> Vec<Point> {
        let mut points = Vec::new();
        Scene::new().scan(seconds, |p| points.push(p));
        assert_eq!(points.len(), BEAMS * COLUMNS);
        points
    }

    #[test]
    fn points_lie_on_the_road_or_above_it_and_in_range() {
        let points = scan(0.0);
        let hits: Vec<_> = points.iter().filter(|p| p[0].is_finite()).collect();
        assert!(hits.len() > points.len() / 2, "{} of {} rays hit something", hits.len(), points.len());
        for p in hits {
            assert!(p[2] >= -SENSOR_HEIGHT - 1e-3, "{p:?} lies below the road");
            assert!(p[0].hypot(p[1]).hypot(p[2]) <= RANGE + 1e-3, "{p:?} lies out of range");
            assert!((0.0..=1.0).contains(&p[3]), "{p:?} has an intensity outside 0 to 1");
        }
    }

    #[test]
    fn the_road_is_hit_where_geometry_says() {
        // Straight ahead (azimuth 0 is column 450), the lowest beam points 24.8 degrees down.
        let point = scan(0.0)[450 * BEAMS];
        let expected = SENSOR_HEIGHT / 24.8_f32.to_radians().tan();
        assert!(
            (point[0] - expected).abs() < 1e-3 && point[1].abs() < 1e-3,
            "{point:?}, expected x = {expected}"
        );
        assert!((point[2] + SENSOR_HEIGHT).abs() < 1e-4);
    }

    #[test]
    fn a_box_and_a_cylinder_are_hit_on_their_near_side() {
        let thing = |shape| Thing { shape, speed: 0.0, reflectivity: 1.0 };
        let ahead = [1.0, 0.0, 0.0];
        let cube = thing(Shape::Box { center: [10.0, 0.0], half: [2.0, 1.0], height: 3.0 });
        assert_eq!(cube.hit(&ahead), Some(8.0));
        assert_eq!(cube.hit(&[-1.0, 0.0, 0.0]), None);
        let pole = thing(Shape::Cylinder { center: [5.0, 0.0], radius: 0.5, height: 3.0 });
        assert_eq!(pole.hit(&ahead), Some(4.5));
        let low = thing(Shape::Cylinder { center: [5.0, 0.0], radius: 0.5, height: 1.0 });
        assert_eq!(low.hit(&ahead), None);
    }

    #[test]
    fn traffic_moves_and_comes_back() {
        assert_ne!(scan(0.0), scan(0.5));
        let car = Thing {
            shape: Shape::Box { center: [-50.0, 3.2], half: [2.0, 1.0], height: 1.5 },
            speed: -10.0,
            reflectivity: 1.0,
        };
        let Shape::Box { center, .. } = car.after(2.0).shape else { panic!("a box stays a box") };
        assert_eq!(center, [50.0, 3.2]);
    }
}
