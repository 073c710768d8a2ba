//! Point clouds, seen from above: x to the right, y up, coloured by a number of the points.

use super::palette;
use super::picture::{Picture, PictureError, Rgb};

/// The colour of places without points.
pub const BACKGROUND: Rgb = [13, 17, 23];
/// How many points decide which part of the world is shown.
const SAMPLES: usize = 20_000;
/// The share of points that a picture may leave out at each end.
const OUTLIERS: f64 = 0.01;

/// Why a cloud is not drawn.
#[derive(Debug, thiserror::Error)]
pub enum CloudError {
    /// It lacks a field.
    #[error("the points have no field `{name}`; they have: {fields}")]
    Missing {
        /// The field.
        name: String,
        /// The fields that are there.
        fields: String,
    },
    /// A field has a type that does not exist.
    #[error("the cloud is malformed: its field `{name}` has the type {datatype}; types are 1 to 8")]
    Datatype {
        /// The field.
        name: String,
        /// The number of its type.
        datatype: i128,
    },
    /// A field lies outside of the point.
    #[error(
        "the cloud is malformed: its field `{name}` at byte {offset} lies outside of a point of {step} bytes"
    )]
    Outside {
        /// The field.
        name: String,
        /// Where it lies.
        offset: usize,
        /// The bytes of a point.
        step: usize,
    },
    /// There are fewer bytes than the points need.
    #[error(
        "the cloud is malformed: {height} rows of {width} points of {step} bytes, each row of {row} bytes, do not fit \
         into its {bytes} bytes of data"
    )]
    Data {
        /// Rows.
        height: usize,
        /// Points in a row.
        width: usize,
        /// Bytes of a point.
        step: usize,
        /// Bytes of a row.
        row: usize,
        /// The bytes that are there.
        bytes: usize,
    },
}

/// A field of a point.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it begins.
    pub offset: usize,
    /// The number of its type.
    pub datatype: i128,
}

/// What a message says about its cloud.
#[derive(Debug)]
pub struct Description<'a> {
    /// Points in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes of a point.
    pub point_step: usize,
    /// Bytes of a row.
    pub row_step: usize,
    /// Whether numbers begin with the highest byte.
    pub big_endian: bool,
    /// The fields.
    pub fields: Vec<Field<'a>>,
}

/// A number in a point.
#[derive(Debug, Clone, Copy)]
struct Number {
    offset: usize,
    datatype: u8,
}

/// A cloud with numbers that fit its data.
#[derive(Debug)]
pub struct Cloud<'a> {
    /// The name of the field that gives the colours.
    pub by_name: &'a str,
    said: Description<'a>,
    data: &'a [u8],
    place: [Number; 3],
    by: Number,
}

/// The part of the world that a picture shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// The point in the middle.
    pub center: [f32; 2],
    /// The distance from there to the nearest edges.
    pub reach: f32,
    /// The numbers with the darkest and the brightest colour.
    pub values: [f32; 2],
}

impl Description<'_> {
    fn number(&self, name: &str) -> Result<Number, CloudError> {
        let Some(field) = self.fields.iter().find(|it| it.name == name) else {
            let fields = self.fields.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
            return Err(CloudError::Missing { name: name.to_owned(), fields });
        };
        let size = match field.datatype {
            1 | 2 => 1,
            3 | 4 => 2,
            5..=7 => 4,
            8 => 8,
            datatype => return Err(CloudError::Datatype { name: name.to_owned(), datatype }),
        };
        if field.offset.checked_add(size).is_none_or(|end| end > self.point_step) {
            let (name, offset) = (name.to_owned(), field.offset);
            return Err(CloudError::Outside { name, offset, step: self.point_step });
        }
        Ok(Number { offset: field.offset, datatype: field.datatype as u8 })
    }
}

impl<'a> Cloud<'a> {
    /// Checks the numbers of a message against its data. Points are coloured by the field `by`, or by height.
    pub fn new(mut said: Description<'a>, data: &'a [u8], by: Option<&str>) -> Result<Self, CloudError> {
        let (width, height, step) = (said.width, said.height, said.point_step);
        let row = width.checked_mul(step);
        if height <= 1 {
            // Some programs leave the length of the only row out.
            said.row_step = row.unwrap_or(usize::MAX);
        }
        let all = height.checked_mul(said.row_step);
        if row.is_none_or(|row| row > said.row_step) || all.is_none_or(|all| all > data.len()) {
            let (row, bytes) = (said.row_step, data.len());
            return Err(CloudError::Data { height, width, step, row, bytes });
        }
        let place = [said.number("x")?, said.number("y")?, said.number("z")?];
        let by_name = by.unwrap_or("z");
        let by = said.number(by_name)?;
        let by_name = said.fields.iter().map(|it| it.name).find(|it| *it == by_name).unwrap_or("z");
        Ok(Self { by_name, said, data, place, by })
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        // `number` has checked that a point has bytes, so there are at most as many as bytes of data.
        self.said.width * self.said.height
    }

    fn number(&self, point: &[u8], number: Number) -> f32 {
        macro_rules! read {
            ($kind:ty) => {{
                let mut bytes = [0; size_of::<$kind>()];
                bytes.copy_from_slice(&point[number.offset..][..size_of::<$kind>()]);
                (if self.said.big_endian {
                    <$kind>::from_be_bytes(bytes)
                } else {
                    <$kind>::from_le_bytes(bytes)
                }) as f32
            }};
        }
        match number.datatype {
            1 => read!(i8),
            2 => read!(u8),
            3 => read!(i16),
            4 => read!(u16),
            5 => read!(i32),
            6 => read!(u32),
            7 => read!(f32),
            _ => read!(f64),
        }
    }

    /// Every `stride`th point, as its place and its number; those that are not finite are left out.
    fn points(&self, stride: usize) -> impl Iterator<Item = ([f32; 3], f32)> {
        let width = self.said.width;
        (0..self.len()).step_by(stride).filter_map(move |index| {
            let at = index / width * self.said.row_step + index % width * self.said.point_step;
            let point = &self.data[at..][..self.said.point_step];
            let place = self.place.map(|number| self.number(point, number));
            place.iter().all(|it| it.is_finite()).then(|| (place, self.number(point, self.by)))
        })
    }

    fn sampled(&self) -> impl Iterator<Item = ([f32; 3], f32)> {
        self.points(self.len().div_ceil(SAMPLES).max(1))
    }

    /// The part of the world in which nearly all points lie; around the origin, if it is among them. `reach`
    /// fixes it around the origin.
    pub fn range(&self, reach: Option<f32>) -> Range {
        let mut numbers: [Vec<f32>; 3] = Default::default();
        for (place, by) in self.sampled() {
            numbers[0].push(place[0]);
            numbers[1].push(place[1]);
            if by.is_finite() {
                numbers[2].push(by);
            }
        }
        let [x, y, values] = numbers.map(bounds);
        if let Some(reach) = reach {
            return Range { center: [0.0; 2], reach, values };
        }
        let has_origin = [x, y].iter().all(|[low, high]| (*low..=*high).contains(&0.0));
        let middle = |[low, high]: [f32; 2]| if has_origin { 0.0 } else { low / 2.0 + high / 2.0 };
        let center = [middle(x), middle(y)];
        let far = |[low, high]: [f32; 2], center: f32| (center - low).max(high - center);
        Range { center, reach: round_up(far(x, center[0]).max(far(y, center[1]))), values }
    }

    /// Whether most points lie in a part of the world.
    pub fn fits(&self, range: &Range) -> bool {
        let (mut inside, mut all) = (0, 0);
        for (place, _) in self.sampled() {
            all += 1;
            let is_inside = (0..2).all(|axis| (place[axis] - range.center[axis]).abs() <= range.reach);
            inside += usize::from(is_inside);
        }
        inside * 10 >= all * 9
    }

    /// Draws the points. Where several lie above each other, the highest is seen.
    pub fn draw(&self, range: &Range, width: usize, height: usize) -> Result<Picture, PictureError> {
        let mut picture = Picture::new(width, height, BACKGROUND)?;
        let no_memory = |_| PictureError::NoMemory { width, height };
        let mut highest: Vec<f32> = Vec::new();
        highest.try_reserve_exact(picture.pixels().len()).map_err(no_memory)?;
        highest.resize(picture.pixels().len(), f32::NEG_INFINITY);
        let scale = width.min(height) as f32 / (2.0 * range.reach);
        let [low, high] = range.values;
        for ([x, y, z], by) in self.points(1) {
            let right = (x - range.center[0]) * scale + width as f32 / 2.0;
            let down = height as f32 / 2.0 - (y - range.center[1]) * scale;
            if right < 0.0 || down < 0.0 || right >= width as f32 || down >= height as f32 {
                continue;
            }
            let (right, down) = (right as usize, down as usize);
            let highest = &mut highest[down * width + right];
            if z > *highest {
                *highest = z;
                let share = if high > low { (by - low) / (high - low) } else { 0.5 };
                picture.set(right, down, palette::colour(share));
            }
        }
        Ok(picture)
    }
}

/// The numbers between which nearly all lie.
fn bounds(mut numbers: Vec<f32>) -> [f32; 2] {
    if numbers.is_empty() {
        return [0.0; 2];
    }
    let last = numbers.len() - 1;
    let out = (numbers.len() as f64 * OUTLIERS) as usize;
    let mut at = |index: usize| *numbers.select_nth_unstable_by(index, f32::total_cmp).1;
    [at(out), at(last - out)]
}

/// The next of 1, 2, 5, 10, 20, 50 and so on.
fn round_up(number: f32) -> f32 {
    if !number.is_finite() || number <= 0.0 {
        return 1.0;
    }
    let power = 10_f32.powi(number.log10().floor() as i32);
    let rounded = [1.0, 2.0, 5.0, 10.0].map(|it| it * power).into_iter().find(|it| *it >= number);
    rounded.filter(|it| it.is_normal()).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const XYZI: [(&str, usize, i128); 4] = [("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("intensity", 12, 2)];

    fn said(count: usize) -> Description<'static> {
        let fields = XYZI.map(|(name, offset, datatype)| Field { name, offset, datatype }).to_vec();
        Description { width: count, height: 1, point_step: 13, row_step: 0, big_endian: false, fields }
    }

    fn bytes(points: &[([f32; 3], u8)]) -> Vec<u8> {
        let point = |(place, by): &([f32; 3], u8)| {
            place.iter().flat_map(|it| it.to_le_bytes()).chain([*by]).collect::<Vec<_>>()
        };
        points.iter().flat_map(point).collect()
    }

    #[test]
    fn x_is_to_the_right_y_is_up_and_the_highest_is_seen() {
        let points = [
            ([1.5, 0.5, 1.0], 10),
            ([-1.5, 1.5, 3.0], 20),
            ([-1.5, 1.5, 2.0], 30),
            ([0.5, -0.5, 1.5], 20),
            ([f32::NAN, 0.0, 9.0], 0),
        ];
        let data = bytes(&points);
        let cloud = Cloud::new(said(5), &data, None).unwrap();
        let range = cloud.range(None);
        assert_eq!(range, Range { center: [0.0, 0.0], reach: 2.0, values: [1.0, 3.0] });
        let picture = cloud.draw(&range, 4, 4).unwrap();
        let (lowest, highest, none) = (palette::colour(0.0), palette::colour(1.0), BACKGROUND);
        let expected = [
            [highest, none, none, none],
            [none, none, none, lowest],
            [none, none, palette::colour(0.25), none],
            [none; 4],
        ];
        assert_eq!(picture, Picture::of(&expected));
        // By intensity: the highest point has 20 of 10 to 30.
        let cloud = Cloud::new(said(5), &data, Some("intensity")).unwrap();
        assert_eq!(cloud.range(None).values, [10.0, 30.0]);
        assert_eq!(cloud.draw(&range_by(10.0, 30.0), 4, 4).unwrap().pixels()[0], palette::colour(0.5));
        // A wide picture shows more to the sides, with the same scale.
        let wide = cloud.draw(&range_by(10.0, 30.0), 8, 4).unwrap();
        assert_eq!(wide.pixels()[8 + 5], palette::colour(0.0));
    }

    fn range_by(low: f32, high: f32) -> Range {
        Range { center: [0.0; 2], reach: 2.0, values: [low, high] }
    }

    #[test]
    fn the_range_is_around_the_points_and_stays_while_they_fit() {
        let far = bytes(&[([100.0, 50.0, 0.0], 0), ([103.0, 52.0, 0.0], 0)]);
        let cloud = Cloud::new(said(2), &far, None).unwrap();
        let range = cloud.range(None);
        assert_eq!((range.center, range.reach), ([101.5, 51.0], 2.0));
        assert!(cloud.fits(&range));
        assert_eq!(cloud.range(Some(30.0)).center, [0.0; 2]);
        let near = bytes(&[([0.0, 0.0, 0.0], 0)]);
        assert!(!Cloud::new(said(1), &near, None).unwrap().fits(&range));
        assert_eq!([0.3, 1.0, 1.1, 49.0, 51.0].map(round_up), [0.5, 1.0, 2.0, 50.0, 100.0]);
        assert_eq!([0.0, -1.0, f32::NAN, f32::INFINITY].map(round_up), [1.0; 4]);
        assert!(round_up(f32::MAX) >= f32::MAX && round_up(f32::MIN_POSITIVE / 8.0) > 0.0);
        assert_eq!(bounds(Vec::new()), [0.0; 2]);
        // One of a hundred may be far away.
        let numbers = (0..100).map(|it| if it == 99 { 1e9 } else { it as f32 }).collect();
        assert_eq!(bounds(numbers), [1.0, 98.0]);
    }

    #[test]
    fn all_types_of_numbers_are_read_in_both_orders() {
        for (datatype, little, expected) in [
            (1, vec![0xfe], -2.0),
            (2, vec![0xfe], 254.0),
            (3, vec![0xfe, 0xff], -2.0),
            (4, vec![0x01, 0x02], 513.0),
            (5, (-7_i32).to_le_bytes().to_vec(), -7.0),
            (6, 70_000_u32.to_le_bytes().to_vec(), 70_000.0),
            (7, 1.5_f32.to_le_bytes().to_vec(), 1.5),
            (8, 2.5_f64.to_le_bytes().to_vec(), 2.5),
        ] {
            for big_endian in [false, true] {
                let mut data = vec![0; 3];
                data.extend(&little);
                if big_endian {
                    data[3..].reverse();
                }
                let field = |name, offset, datatype| Field { name, offset, datatype };
                let fields =
                    vec![field("x", 0, 1), field("y", 1, 1), field("z", 2, 1), field("v", 3, datatype)];
                let point_step = data.len();
                let said = Description { width: 1, height: 1, point_step, row_step: 0, big_endian, fields };
                let cloud = Cloud::new(said, &data, Some("v")).unwrap();
                assert_eq!(cloud.points(1).next(), Some(([0.0; 3], expected)), "{datatype}");
            }
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_errors() {
        let data = vec![0; 26];
        let cloud = |change: &dyn Fn(&mut Description)| {
            let mut said = said(2);
            change(&mut said);
            Cloud::new(said, &data, None).map(|it| it.len())
        };
        assert_eq!(cloud(&|_| {}).unwrap(), 2);
        assert!(matches!(cloud(&|it| it.width = 3), Err(CloudError::Data { .. })));
        assert!(matches!(cloud(&|it| it.width = usize::MAX), Err(CloudError::Data { .. })));
        assert!(matches!(cloud(&|it| it.height = usize::MAX), Err(CloudError::Data { .. })));
        assert!(matches!(cloud(&|it| it.point_step = 0), Err(CloudError::Outside { .. })));
        assert!(matches!(cloud(&|it| it.fields[1].offset = usize::MAX), Err(CloudError::Outside { .. })));
        assert!(matches!(cloud(&|it| it.fields[2].offset = 10), Err(CloudError::Outside { .. })));
        assert!(matches!(cloud(&|it| it.fields[0].datatype = 9), Err(CloudError::Datatype { .. })));
        assert!(matches!(cloud(&|it| it.fields.truncate(2)), Err(CloudError::Missing { .. })));
        let none = Cloud::new(said(0), &[], None).unwrap();
        assert_eq!(none.range(None).reach, 1.0);
        assert_eq!(none.draw(&none.range(None), 1, 1).unwrap().pixels(), [BACKGROUND]);
    }
}
