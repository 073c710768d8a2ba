//! Pictures as sixels, which xterm, foot, mlterm, Windows Terminal and others draw: bands of six rows, and in
//! each band a line for each of its colours.

use std::fmt::Write;

use super::picture::{Picture, Rgb};

/// The levels of red, green and blue in the palette.
const LEVELS: usize = 6;
/// The greys in the palette of a picture without colours.
const GREYS: usize = 64;
/// Thresholds that spread the errors of rounding over 4 x 4 pixels, in sixteenths.
const THRESHOLDS: [[usize; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];

/// The sequence that draws a picture at the cursor.
pub fn sequence(picture: &Picture) -> String {
    let is_grey = picture.pixels().iter().all(|[red, green, blue]| red == green && green == blue);
    let colours = if is_grey { GREYS } else { LEVELS.pow(3) };
    let mut text = format!("\x1bP0;1q\"1;1;{};{}", picture.width(), picture.height());
    for colour in 0..colours {
        let percent = |level: usize, levels: usize| level * 100 / (levels - 1);
        let [red, green, blue] = match is_grey {
            true => [percent(colour, GREYS); 3],
            false => [colour / (LEVELS * LEVELS), colour / LEVELS % LEVELS, colour % LEVELS]
                .map(|it| percent(it, LEVELS)),
        };
        // Writing to a string does not fail.
        let _ = write!(text, "#{colour};2;{red};{green};{blue}");
    }
    let rows: Vec<&[Rgb]> = picture.rows().collect();
    for (band, rows) in rows.chunks(6).enumerate() {
        put_band(&mut text, rows, band * 6, colours, is_grey);
    }
    text.push_str("\x1b\\");
    text
}

fn put_band(text: &mut String, rows: &[&[Rgb]], top: usize, colours: usize, is_grey: bool) {
    let width = rows[0].len();
    // For each colour that occurs, which of the six pixels of each column have it.
    let mut masks: Vec<Option<Vec<u8>>> = vec![None; colours];
    for (y, row) in rows.iter().enumerate() {
        for (x, pixel) in row.iter().enumerate() {
            let colour = index(*pixel, x, top + y, is_grey);
            masks[colour].get_or_insert_with(|| vec![0; width])[x] |= 1 << y;
        }
    }
    let mut is_first = true;
    for (colour, mask) in masks.iter().enumerate() {
        let Some(mask) = mask else { continue };
        if !is_first {
            // Back to the beginning of the band.
            text.push('$');
        }
        is_first = false;
        let _ = write!(text, "#{colour}");
        for run in mask.chunk_by(|a, b| a == b) {
            let sixel = char::from(b'?' + run[0]);
            if run.len() > 3 {
                let _ = write!(text, "!{}{sixel}", run.len());
            } else {
                (0..run.len()).for_each(|_| text.push(sixel));
            }
        }
    }
    text.push('-');
}

/// The place of a pixel's colour in the palette.
fn index(pixel: Rgb, x: usize, y: usize, is_grey: bool) -> usize {
    let threshold = THRESHOLDS[y % 4][x % 4];
    let level = |value: u8, levels: usize| {
        // The level below, or the one above if the rest is beyond the threshold.
        let scaled = usize::from(value) * (levels - 1);
        scaled / 255 + usize::from(scaled % 255 * 16 > threshold * 255 + 127)
    };
    if is_grey {
        return level(pixel[0], GREYS);
    }
    let [red, green, blue] = pixel.map(|it| level(it, LEVELS));
    (red * LEVELS + green) * LEVELS + blue
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws the sequence, as a terminal does: colours in percent.
    fn drawn(text: &str, width: usize, height: usize) -> Vec<Vec<[usize; 3]>> {
        let body = text.strip_prefix(&format!("\x1bP0;1q\"1;1;{width};{height}")).unwrap();
        let body = body.strip_suffix("\x1b\\").unwrap();
        let mut picture = vec![vec![[999; 3]; width]; height];
        let mut palette = std::collections::HashMap::new();
        let (mut x, mut y, mut colour, mut letters) = (0, 0, 0, body.chars().peekable());
        while let Some(letter) = letters.next() {
            let mut number = || {
                let mut number = 0;
                while let Some(digit) = letters.peek().and_then(|it| it.to_digit(10)) {
                    number = number * 10 + digit as usize;
                    letters.next();
                }
                number
            };
            match letter {
                '#' => {
                    colour = number();
                    if letters.peek() == Some(&';') {
                        let mut numbers = Vec::new();
                        while letters.next_if_eq(&';').is_some() {
                            let mut number = 0;
                            while let Some(digit) = letters.peek().and_then(|it| it.to_digit(10)) {
                                number = number * 10 + digit as usize;
                                letters.next();
                            }
                            numbers.push(number);
                        }
                        assert_eq!(numbers[0], 2);
                        palette.insert(colour, [numbers[1], numbers[2], numbers[3]]);
                    }
                }
                '$' => x = 0,
                '-' => (x, y) = (0, y + 6),
                _ => {
                    let count = if letter == '!' { number() } else { 1 };
                    let sixel = if letter == '!' { letters.next().unwrap() } else { letter };
                    let bits = u8::try_from(sixel).unwrap() - b'?';
                    for _ in 0..count {
                        for bit in (0..6).filter(|bit| bits & 1 << bit != 0) {
                            picture[y + bit][x] = palette[&colour];
                        }
                        x += 1;
                    }
                }
            }
        }
        picture
    }

    #[test]
    fn all_pixels_are_drawn_in_their_colours() {
        // Two bands; levels that the palette has.
        let mut picture = Picture::new(9, 7, [255, 0, 51]).unwrap();
        picture.set(8, 0, [0, 255, 0]);
        picture.set(0, 6, [102, 153, 204]);
        let drawn = drawn(&sequence(&picture), 9, 7);
        for (y, row) in drawn.iter().enumerate() {
            for (x, colour) in row.iter().enumerate() {
                let expected = match (x, y) {
                    (8, 0) => [0, 100, 0],
                    (0, 6) => [40, 60, 80],
                    _ => [100, 0, 20],
                };
                assert_eq!(*colour, expected, "{x} {y}");
            }
        }
        let text = sequence(&picture);
        // 8 columns of six bits, then one without the highest row.
        assert!(text.contains("#181!8~}-") && text.contains("$#181"), "{text}");
    }

    #[test]
    fn levels_between_those_of_the_palette_are_mixed() {
        // 128 lies between 102 and 153, half way.
        let picture = Picture::new(4, 4, [128, 0, 255]).unwrap();
        let drawn = drawn(&sequence(&picture), 4, 4);
        let count = |percent| drawn.iter().flatten().filter(|it| it[0] == percent).count();
        assert_eq!((count(40), count(60)), (8, 8));
        let grey = Picture::new(1, 1, [255; 3]).unwrap();
        assert_eq!(self::drawn(&sequence(&grey), 1, 1), [[[100; 3]]]);
    }
}
