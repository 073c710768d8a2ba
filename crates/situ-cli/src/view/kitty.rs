//! Pictures by the graphics protocol of the terminal kitty, which also WezTerm, Ghostty and Konsole speak.

use std::fmt::Write;

use data_encoding::BASE64;

use super::picture::{Picture, PictureError};

/// The most characters of one piece of a picture.
const PIECE: usize = 4096;
/// The number of the picture, so that the next one replaces it.
const NUMBER: u32 = 0x5174;

/// The sequences that draw a picture at the cursor, in a grid of characters. The cursor stays.
pub fn sequence(picture: &Picture, columns: usize, rows: usize) -> Result<String, PictureError> {
    let data = BASE64.encode(&picture.to_png()?);
    let pieces: Vec<&str> =
        (0..data.len()).step_by(PIECE).map(|at| &data[at..data.len().min(at + PIECE)]).collect();
    let mut text = String::with_capacity(data.len() + pieces.len() * 16 + 64);
    for (index, piece) in pieces.iter().enumerate() {
        let more = u8::from(index + 1 < pieces.len());
        // Writing to a string does not fail.
        let _ = match index {
            // Transmit and show (T) a PNG (100) over a grid of cells, without moving the cursor (C) and
            // without an answer (q).
            0 => write!(text, "\x1b_Ga=T,f=100,i={NUMBER},p=1,c={columns},r={rows},C=1,q=2,m={more};"),
            _ => write!(text, "\x1b_Gm={more},q=2;"),
        };
        text.push_str(piece);
        text.push_str("\x1b\\");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_together_are_the_file() {
        let mut picture = Picture::new(100, 60, [0; 3]).unwrap();
        // Pixels that do not compress, so that there are several pieces.
        let mut number = 1_u32;
        for pixel in picture.rows_mut().flatten() {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *pixel = [(number >> 24) as u8, (number >> 16) as u8, (number >> 8) as u8];
        }
        let text = sequence(&picture, 10, 3).unwrap();
        let pieces: Vec<(&str, &str)> = text
            .split_terminator("\x1b\\")
            .map(|it| it.strip_prefix("\x1b_G").and_then(|it| it.split_once(';')).unwrap())
            .collect();
        assert!(pieces.len() > 2 && pieces.iter().all(|(_, data)| data.len() <= PIECE));
        assert_eq!(pieces[0].0, "a=T,f=100,i=20852,p=1,c=10,r=3,C=1,q=2,m=1");
        assert_eq!(pieces[1].0, "m=1,q=2");
        assert_eq!(pieces.last().unwrap().0, "m=0,q=2");
        let data: String = pieces.iter().map(|(_, data)| *data).collect();
        assert_eq!(BASE64.decode(data.as_bytes()).unwrap(), picture.to_png().unwrap());
    }
}
