//! Small pictures of the viewer's frames: a cloud from above, an image by its edges.

use super::input::Point;
use crate::output::braille::Canvas;

/// The range of a cloud's picture ahead, behind and to each side, in metres.
const REACH: f32 = 40.0;

/// Draws a cloud seen from above, with the sensor in the middle and the driving direction to the right.
pub fn cloud(points: impl IntoIterator<Item = Point>, columns: usize, rows: usize) -> Vec<String> {
    let mut canvas = Canvas::new(columns, rows);
    // A dot is as wide as it is high, so a wider picture covers a wider range.
    let metres = 2.0 * REACH / canvas.width() as f32;
    for point in points {
        let x = point[0] / metres + canvas.width() as f32 / 2.0;
        let y = canvas.height() as f32 / 2.0 - point[1] / metres;
        if x >= 0.0 && y >= 0.0 {
            canvas.set(x as usize, y as usize);
        }
    }
    canvas.lines().collect()
}

/// Draws a grey image, scaled down: a dot where it is bright.
pub fn image(data: &[u8], width: usize, height: usize, columns: usize, rows: usize) -> Vec<String> {
    let mut canvas = Canvas::new(columns, rows);
    if width == 0 || height == 0 || data.len() < width * height {
        return canvas.lines().collect();
    }
    let (across, down) = (canvas.width(), canvas.height());
    // The brightest pixel of each dot's area: edges are thin and would disappear in an average.
    let brightest: Vec<u8> = (0..across * down)
        .map(|dot| {
            let (x, y) = (dot % across, dot / across);
            let columns = x * width / across..((x + 1) * width / across).max(x * width / across + 1);
            let rows = y * height / down..((y + 1) * height / down).max(y * height / down + 1);
            rows.flat_map(|row| &data[row * width..][columns.clone()]).copied().max().unwrap_or(0)
        })
        .collect();
    let mut sorted = brightest.clone();
    sorted.sort_unstable();
    // A quarter of the dots are set, regardless of the image's brightness.
    let threshold = sorted.get(sorted.len() * 3 / 4).copied().unwrap_or(255).max(1);
    for (dot, &value) in brightest.iter().enumerate() {
        if value >= threshold {
            canvas.set(dot % across, dot / across);
        }
    }
    canvas.lines().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sensor_is_in_the_middle_and_left_is_up() {
        // 4 x 4 characters are 8 x 16 dots of 10 m each; the origin is dot (4, 8).
        let lines = cloud([[0.0, 0.0, 0.0, 0.0]], 4, 4);
        assert_eq!(lines[2].chars().nth(2), Some('\u{2801}'));
        let lines = cloud([[0.0, 75.0, 0.0, 0.0]], 4, 4);
        assert_eq!(lines[0].chars().nth(2), Some('\u{2801}'), "75 m to the left is the top row");
        let nothing = cloud([[f32::NAN; 4], [-500.0, 0.0, 0.0, 0.0], [500.0, 0.0, 0.0, 0.0]], 4, 4);
        assert!(nothing.iter().all(|l| l.chars().all(|c| c == '\u{2800}')));
    }

    #[test]
    fn an_image_keeps_thin_bright_lines() {
        // One bright column in an image of 80 x 40: a vertical line of dots.
        let mut data = vec![0; 80 * 40];
        data.iter_mut().skip(40).step_by(80).for_each(|p| *p = 200);
        let lines = image(&data, 80, 40, 4, 2);
        for line in lines {
            assert_eq!(line, "\u{2800}\u{2800}\u{2847}\u{2800}");
        }
        assert_eq!(image(&[], 80, 40, 1, 1), ["\u{2800}"], "a truncated image shows no dots");
        image(&[255; 6], 3, 2, 10, 10);
    }
}
