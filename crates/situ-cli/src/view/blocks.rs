//! Pictures as characters: two pixels in each, one above the other.

use std::fmt::Write;

use super::picture::{Picture, Rgb};

/// The colours of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// All.
    All,
    /// 256: a cube of six levels for each of red, green and blue, and 24 greys.
    Palette,
    /// None.
    None,
}

/// Characters that are more and more filled.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// The lines of a picture.
pub fn lines(picture: &Picture, colours: Colours) -> Vec<String> {
    let rows: Vec<&[Rgb]> = picture.rows().collect();
    let line = |pair: &[&[Rgb]]| {
        let mut line = String::new();
        let mut last = None;
        for (x, upper) in pair[0].iter().enumerate() {
            let lower = pair.get(1).map(|row| row[x]);
            if colours == Colours::None {
                let grey = (brightness(*upper) + lower.map_or(0, brightness)) / 2;
                line.push(SHADES[(grey * SHADES.len() / 256).min(SHADES.len() - 1)]);
                continue;
            }
            if last != Some((*upper, lower)) {
                put_colour(&mut line, 38, *upper, colours);
                match lower {
                    Some(lower) => put_colour(&mut line, 48, lower, colours),
                    None => line.push_str("\x1b[49m"),
                }
                last = Some((*upper, lower));
            }
            line.push('▀');
        }
        if colours != Colours::None {
            line.push_str("\x1b[0m");
        }
        line
    };
    rows.chunks(2).map(line).collect()
}

fn brightness([red, green, blue]: Rgb) -> usize {
    (usize::from(red) * 3 + usize::from(green) * 6 + usize::from(blue)) / 10
}

/// Appends the sequence that sets the colour of characters (38) or of what is behind them (48).
fn put_colour(line: &mut String, of: u8, colour: Rgb, colours: Colours) {
    // Writing to a string does not fail.
    let _ = match colours {
        Colours::All => write!(line, "\x1b[{of};2;{};{};{}m", colour[0], colour[1], colour[2]),
        Colours::Palette | Colours::None => write!(line, "\x1b[{of};5;{}m", palette(colour)),
    };
}

/// The number of the nearest of the 256 colours that all terminals have.
fn palette(colour: Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance =
        |other: Rgb| -> u32 { (0..3).map(|it| u32::from(colour[it].abs_diff(other[it])).pow(2)).sum() };
    let nearest = |value: u8| (0..6).min_by_key(|it| LEVELS[*it].abs_diff(value)).unwrap_or(0);
    let cube = colour.map(nearest);
    // The greys are 8, 18 and so on to 238.
    let mean = colour.iter().map(|it| u32::from(*it)).sum::<u32>() / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    if distance([8 + 10 * grey; 3]) < distance(cube.map(|it| LEVELS[it])) {
        return 232 + grey;
    }
    (16 + 36 * cube[0] + 6 * cube[1] + cube[2]) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_has_two_pixels() {
        let picture =
            Picture::of(&[[[255, 0, 0], [1, 2, 3]], [[0, 0, 255], [4, 5, 6]], [[9, 9, 9], [9, 9, 9]]]);
        let expected = [
            "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀\x1b[38;2;1;2;3m\x1b[48;2;4;5;6m▀\x1b[0m",
            "\x1b[38;2;9;9;9m\x1b[49m▀▀\x1b[0m",
        ];
        assert_eq!(lines(&picture, Colours::All), expected);
        let palette = lines(&picture, Colours::Palette);
        assert!(palette[0].starts_with("\x1b[38;5;196m\x1b[48;5;21m▀"), "{palette:?}");
    }

    #[test]
    fn colours_of_the_palette_are_the_nearest() {
        assert_eq!(palette([0; 3]), 16);
        assert_eq!(palette([255; 3]), 231);
        assert_eq!(palette([255, 0, 0]), 196);
        assert_eq!(palette([95, 135, 175]), 16 + 36 + 12 + 3);
        assert_eq!(palette([8; 3]), 232);
        assert_eq!(palette([238; 3]), 255);
        assert_eq!(palette([120, 121, 119]), 243);
    }

    #[test]
    fn without_colours_characters_are_filled() {
        let picture =
            Picture::of(&[[[0; 3], [255; 3], [255; 3], [60; 3]], [[0; 3], [255; 3], [0; 3], [60; 3]]]);
        assert_eq!(lines(&picture, Colours::None), [" █▒░"]);
    }
}
