//! Point clouds in the Point Cloud Library's PCD format: `ascii`, `binary` and `binary_compressed`.

use super::{Point, lzf};

/// The longest header that is read.
const LONGEST_HEADER: usize = 64 << 10;
/// The maximum number of fields in a header.
const MAX_FIELDS: usize = 256;

/// The reason that bytes are not a PCD file that the demo can play.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PcdError {
    /// There is no `DATA` line.
    #[error("no DATA line in the first {searched} bytes; the file is truncated or not a PCD file")]
    NoData {
        /// The number of bytes searched.
        searched: usize,
    },
    /// A header line is missing.
    #[error("the header has no {keyword} line")]
    Missing {
        /// The line.
        keyword: &'static str,
    },
    /// A header line is invalid.
    #[error("header line `{line}`: {reason}")]
    Header {
        /// The line as it is in the file.
        line: String,
        /// The defect of the line.
        reason: &'static str,
    },
    /// The cloud has no coordinates.
    #[error("the cloud has no field `{name}`; its fields are: {fields}")]
    NoField {
        /// The missing field.
        name: &'static str,
        /// The fields of the cloud.
        fields: String,
    },
    /// A coordinate's type is not a float.
    #[error("field `{name}` is of type {kind}{size}; only F4 and F8 coordinates are supported")]
    FieldType {
        /// The field.
        name: &'static str,
        /// Its type letter.
        kind: char,
        /// Its size in bytes.
        size: usize,
    },
    /// There is less data than the header announces.
    #[error(
        "the header announces {points} points ({expected} bytes), the file holds {found} bytes of them: it is truncated"
    )]
    Short {
        /// Points announced.
        points: usize,
        /// The size that these points need.
        expected: usize,
        /// The number of bytes present.
        found: usize,
    },
    /// There are fewer lines than the header announces.
    #[error("the header announces {points} points, the file ends after {found}")]
    FewLines {
        /// Points announced.
        points: usize,
        /// The number of points present.
        found: usize,
    },
    /// A number in an ascii file cannot be read.
    #[error("point {index}: `{text}` is not a number for field `{name}`")]
    Number {
        /// The point.
        index: usize,
        /// The field.
        name: &'static str,
        /// The text in the file.
        text: String,
    },
    /// The compressed data cannot be expanded.
    #[error("binary_compressed data: {0}")]
    Compressed(#[from] lzf::LzfError),
    /// The compressed block's sizes contradict the header.
    #[error("binary_compressed data: {found} bytes announced, {expected} expected from the header")]
    CompressedSize {
        /// The size before the block.
        found: usize,
        /// The size that follows from points and fields.
        expected: usize,
    },
    /// No point is valid.
    #[error("the cloud has no point with finite coordinates")]
    Empty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Ascii,
    Binary,
    Compressed,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    size: usize,
    kind: char,
    count: usize,
    /// The number of bytes before it in a point.
    offset: usize,
    /// The number of words before it in a line.
    word: usize,
}

#[derive(Debug)]
struct Header {
    fields: Vec<Field>,
    stride: usize,
    points: usize,
    encoding: Encoding,
}

/// Whether the first bytes are those of a PCD file.
pub fn looks_like_pcd(bytes: &[u8]) -> bool {
    bytes.starts_with(b"# .PCD") || bytes.starts_with(b"VERSION ") || bytes.starts_with(b"FIELDS ")
}

/// Reads a cloud. Points whose coordinates are not finite (invalid returns) are left out. A cloud without an
/// `intensity` gets 0 for it.
pub fn decode(bytes: &[u8]) -> Result<Vec<Point>, PcdError> {
    let (header, body) = header(bytes)?;
    let x = coordinate(&header, "x")?;
    let y = coordinate(&header, "y")?;
    let z = coordinate(&header, "z")?;
    let intensity =
        header.fields.iter().find(|f| matches!(f.name.as_str(), "intensity" | "i") && is_float(f)).cloned();
    let wanted = [("x", Some(x)), ("y", Some(y)), ("z", Some(z)), ("intensity", intensity)];
    let mut cloud = match header.encoding {
        Encoding::Ascii => ascii(&header, body, &wanted)?,
        Encoding::Binary => {
            let stride = header.stride;
            binary(&header, body, |f, i| i * stride + f.offset, &wanted)?
        }
        Encoding::Compressed => {
            let expanded = expand(&header, body)?;
            // The fields are stored one after the other: all x, then all y, and so on.
            let points = header.points;
            binary(&header, &expanded, |f, i| f.offset * points + i * f.size * f.count, &wanted)?
        }
    };
    cloud.retain(|p| p[..3].iter().all(|v| v.is_finite()));
    if cloud.is_empty() { Err(PcdError::Empty) } else { Ok(cloud) }
}

fn header(bytes: &[u8]) -> Result<(Header, &[u8]), PcdError> {
    let mut fields: Option<Vec<String>> = None;
    let (mut sizes, mut kinds, mut counts) = (None, None, None);
    let (mut width, mut height, mut points) = (None, None, None);
    let mut at = 0;
    let searched = bytes.len().min(LONGEST_HEADER);
    while at < searched {
        let Some(length) = bytes[at..searched].iter().position(|&b| b == b'\n') else { break };
        let text = String::from_utf8_lossy(&bytes[at..at + length]);
        let line = text.trim();
        at += length + 1;
        let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let words = || rest.split_whitespace();
        let wrong = |reason| PcdError::Header { line: line.chars().take(80).collect(), reason };
        let numbers = || {
            words()
                .map(|w| w.parse::<usize>().map_err(|_| wrong("expected whole numbers")))
                .collect::<Result<Vec<_>, _>>()
        };
        let number = || rest.trim().parse::<usize>().map_err(|_| wrong("expected one whole number"));
        match keyword {
            "FIELDS" | "COLUMNS" => fields = Some(words().map(str::to_owned).collect()),
            "SIZE" => sizes = Some(numbers()?),
            "TYPE" => kinds = Some(words().filter_map(|w| w.chars().next()).collect::<Vec<char>>()),
            "COUNT" => counts = Some(numbers()?),
            "WIDTH" => width = Some(number()?),
            "HEIGHT" => height = Some(number()?),
            "POINTS" => points = Some(number()?),
            "DATA" => {
                let encoding = match rest.trim() {
                    "ascii" => Encoding::Ascii,
                    "binary" => Encoding::Binary,
                    "binary_compressed" => Encoding::Compressed,
                    _ => return Err(wrong("expected ascii, binary or binary_compressed")),
                };
                let names = fields.ok_or(PcdError::Missing { keyword: "FIELDS" })?;
                let sizes = sizes.ok_or(PcdError::Missing { keyword: "SIZE" })?;
                let kinds = kinds.ok_or(PcdError::Missing { keyword: "TYPE" })?;
                let counts = counts.unwrap_or_else(|| vec![1; names.len()]);
                if names.is_empty() || names.len() > MAX_FIELDS {
                    return Err(wrong("the header names no field, or more than 256"));
                }
                if sizes.len() != names.len() || kinds.len() != names.len() || counts.len() != names.len() {
                    return Err(wrong("FIELDS, SIZE, TYPE and COUNT name different numbers of fields"));
                }
                if sizes.iter().any(|s| ![1, 2, 4, 8].contains(s))
                    || counts.iter().any(|&c| c == 0 || c > 1 << 16)
                {
                    return Err(wrong("a field's SIZE is not 1, 2, 4 or 8, or its COUNT is not 1 to 65536"));
                }
                let points = match (points, width, height) {
                    (Some(points), ..) => points,
                    (None, Some(w), Some(h)) => {
                        w.checked_mul(h).ok_or_else(|| wrong("WIDTH times HEIGHT is too large"))?
                    }
                    _ => return Err(PcdError::Missing { keyword: "POINTS" }),
                };
                let (mut offset, mut word) = (0, 0);
                let fields = names
                    .into_iter()
                    .zip(sizes)
                    .zip(kinds)
                    .zip(counts)
                    .map(|(((name, size), kind), count)| {
                        let field = Field { name, size, kind, count, offset, word };
                        offset += size * count;
                        word += count;
                        field
                    })
                    .collect();
                return Ok((Header { fields, stride: offset, points, encoding }, &bytes[at..]));
            }
            _ => {}
        }
    }
    Err(PcdError::NoData { searched })
}

fn is_float(field: &Field) -> bool {
    field.kind == 'F' && matches!(field.size, 4 | 8)
}

fn coordinate(header: &Header, name: &'static str) -> Result<Field, PcdError> {
    let field = header.fields.iter().find(|f| f.name == name).ok_or_else(|| PcdError::NoField {
        name,
        fields: header.fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(" "),
    })?;
    if !is_float(field) {
        return Err(PcdError::FieldType { name, kind: field.kind, size: field.size });
    }
    Ok(field.clone())
}

type Wanted = [(&'static str, Option<Field>); 4];

fn ascii(header: &Header, body: &[u8], wanted: &Wanted) -> Result<Vec<Point>, PcdError> {
    let text = String::from_utf8_lossy(body);
    let lines = text.lines().filter(|l| !l.trim().is_empty()).take(header.points);
    let mut cloud = Vec::new();
    for (index, line) in lines.enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut point = [0.0; 4];
        for (value, (name, field)) in point.iter_mut().zip(wanted) {
            let Some(field) = field else { continue };
            let word = words.get(field.word).copied().unwrap_or("");
            *value = word.parse().map_err(|_| PcdError::Number {
                index,
                name,
                text: word.chars().take(40).collect(),
            })?;
        }
        cloud.push(point);
    }
    if cloud.len() < header.points {
        return Err(PcdError::FewLines { points: header.points, found: cloud.len() });
    }
    Ok(cloud)
}

fn binary(
    header: &Header,
    body: &[u8],
    position: impl Fn(&Field, usize) -> usize,
    wanted: &Wanted,
) -> Result<Vec<Point>, PcdError> {
    let points = header.points;
    let short = |expected| PcdError::Short { points, expected, found: body.len() };
    let expected = points.checked_mul(header.stride).ok_or_else(|| short(usize::MAX))?;
    if body.len() < expected {
        return Err(short(expected));
    }
    let mut cloud = Vec::with_capacity(points);
    for index in 0..points {
        let mut point = [0.0; 4];
        for (value, (_, field)) in point.iter_mut().zip(wanted) {
            let Some(field) = field else { continue };
            let at = position(field, index);
            *value = if field.size == 4 {
                body.get(at..).and_then(|b| b.first_chunk()).map(|b| f32::from_le_bytes(*b))
            } else {
                body.get(at..).and_then(|b| b.first_chunk()).map(|b| f64::from_le_bytes(*b) as f32)
            }
            .ok_or_else(|| short(expected))?;
        }
        cloud.push(point);
    }
    Ok(cloud)
}

fn expand(header: &Header, body: &[u8]) -> Result<Vec<u8>, PcdError> {
    let points = header.points;
    let size = |at: usize| {
        body.get(at..)
            .and_then(|b| b.first_chunk())
            .map(|b| u32::from_le_bytes(*b) as usize)
            .ok_or(PcdError::Short { points, expected: 8, found: body.len() })
    };
    let (packed, expanded) = (size(0)?, size(4)?);
    let expected = points.checked_mul(header.stride);
    if expected != Some(expanded) {
        return Err(PcdError::CompressedSize { found: expanded, expected: expected.unwrap_or(usize::MAX) });
    }
    let data =
        body.get(8..8 + packed).ok_or(PcdError::Short { points, expected: 8 + packed, found: body.len() })?;
    Ok(lzf::decompress(data, expanded)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [Point; 2] = [[1.0, 2.0, 3.0, 0.5], [-4.0, 5.5, 6.0, 0.25]];

    fn file(data: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = format!(
            "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z ring intensity\n\
             SIZE 4 4 4 2 4\nTYPE F F F U F\nCOUNT 1 1 1 1 1\nWIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\n\
             POINTS 2\nDATA {data}\n"
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }

    fn interleaved() -> Vec<u8> {
        let mut body = Vec::new();
        for p in POINTS {
            p[..3].iter().for_each(|v| body.extend(v.to_le_bytes()));
            body.extend(7_u16.to_le_bytes());
            body.extend(p[3].to_le_bytes());
        }
        body
    }

    fn compressed() -> Vec<u8> {
        let mut planes = Vec::new();
        for axis in 0..3 {
            POINTS.iter().for_each(|p| planes.extend(p[axis].to_le_bytes()));
        }
        planes.extend([7, 0, 7, 0]);
        POINTS.iter().for_each(|p| planes.extend(p[3].to_le_bytes()));
        let mut body = Vec::new();
        let mut packed = Vec::new();
        for run in planes.chunks(32) {
            packed.push(run.len() as u8 - 1);
            packed.extend_from_slice(run);
        }
        body.extend((packed.len() as u32).to_le_bytes());
        body.extend((planes.len() as u32).to_le_bytes());
        body.extend(packed);
        body
    }

    #[test]
    fn the_three_encodings_hold_the_same_points() {
        let text = file("ascii", b"1 2 3 7 0.5\n-4 5.5 6 7 0.25\n");
        assert_eq!(decode(&text).unwrap(), POINTS);
        assert_eq!(decode(&file("binary", &interleaved())).unwrap(), POINTS);
        assert_eq!(decode(&file("binary_compressed", &compressed())).unwrap(), POINTS);
    }

    #[test]
    fn invalid_returns_are_left_out() {
        let text = file("ascii", b"nan nan nan 7 0\n-4 5.5 6 7 0.25\n");
        assert_eq!(decode(&text).unwrap(), POINTS[1..]);
        assert_eq!(decode(&file("ascii", b"nan 1 1 7 0\nnan 1 1 7 0\n")), Err(PcdError::Empty));
    }

    #[test]
    fn damage_is_named() {
        let body = interleaved();
        assert_eq!(
            decode(&file("binary", &body[..30])),
            Err(PcdError::Short { points: 2, expected: 36, found: 30 })
        );
        assert_eq!(decode(&file("ascii", b"1 2 3 7 0.5\n")), Err(PcdError::FewLines { points: 2, found: 1 }));
        assert_eq!(
            decode(&file("ascii", b"1 two 3 7 0.5\n")),
            Err(PcdError::Number { index: 0, name: "y", text: "two".into() })
        );
        assert_eq!(decode(b"# .PCD v0.7\nVERSION 0.7\n"), Err(PcdError::NoData { searched: 24 }));
        assert_eq!(decode(b"FIELDS x\nDATA ascii\n"), Err(PcdError::Missing { keyword: "SIZE" }));
        let error = decode(b"FIELDS a b\nSIZE 4 4\nTYPE F F\nPOINTS 1\nDATA ascii\n1 2\n").unwrap_err();
        assert_eq!(error.to_string(), "the cloud has no field `x`; its fields are: a b");
    }

    #[test]
    fn a_huge_announcement_allocates_nothing() {
        let text = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nPOINTS 18446744073709551615\nDATA ";
        for data in ["binary\n0123456789ab", "ascii\n1 2 3\n", "binary_compressed\n0123456789ab"] {
            assert!(decode(format!("{text}{data}").as_bytes()).is_err());
        }
    }

    #[test]
    fn damaged_files_never_panic() {
        for (data, body) in [
            ("ascii", b"1 2 3 7 0.5\n-4 5.5 6 7 0.25\n".to_vec()),
            ("binary", interleaved()),
            ("binary_compressed", compressed()),
        ] {
            super::super::tests::damage(&file(data, &body), |bytes| {
                if let Ok(points) = decode(bytes) {
                    assert!(!points.is_empty());
                }
            });
        }
    }
}
