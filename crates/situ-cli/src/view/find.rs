//! What of a message can be drawn: an image, a point cloud, or an array that looks like an image.

use std::borrow::Cow;

use situ_schema::dynamic::{Numbers, Record, Value};

use super::cloud::{self, Cloud, CloudError};
use super::codec::{self, CodecError};
use super::image::{self, Image, ImageError};

/// How deep an image may lie in a message.
const MAX_DEPTH: usize = 4;

/// What can be drawn.
#[derive(Debug)]
pub enum Drawable<'a> {
    /// An image.
    Image(Image<'a>),
    /// A point cloud.
    Cloud(Cloud<'a>),
}

/// Why a message is not drawn.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nothing in it looks like an image or a cloud.
    #[error(
        "the message has nothing that can be drawn. That are: images (`height`, `width`, `data`, and if it is not \
         grey or RGB, `encoding`), JPEG and PNG (`format`, `data`), point clouds (`fields`, `point_step`, `data`), \
         and arrays of numbers [height][width], [height][width][3] or [height][width][4]; --field names one inside of the message"
    )]
    Nothing,
    /// A size in it is not a size.
    #[error("the message is malformed: `{member}` is {value}, which is not a size")]
    Size {
        /// The member.
        member: &'static str,
        /// Its value.
        value: i128,
    },
    /// The data does not have as many bytes as the pixels need.
    #[error(
        "an image of {width} x {height} pixels without an encoding has 1, 3 or 4 bytes for each; there are {bytes} bytes"
    )]
    Channels {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
        /// The bytes that are there.
        bytes: usize,
    },
    /// It is a compressed image that cannot be drawn.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// It is an image that cannot be drawn.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// It is a cloud that cannot be drawn.
    #[error(transparent)]
    Cloud(#[from] CloudError),
}

/// Finds what can be drawn: the value itself, or the first of its members. Points are coloured by the field
/// `by`.
pub fn find<'a>(value: &'a Value, by: Option<&str>) -> Result<Drawable<'a>, FindError> {
    look(value, by, 0)?.ok_or(FindError::Nothing)
}

fn look<'a>(value: &'a Value, by: Option<&str>, depth: usize) -> Result<Option<Drawable<'a>>, FindError> {
    match value {
        Value::Record(record) => {
            if let Some(found) = of_record(record, by)? {
                return Ok(Some(found));
            }
            if depth < MAX_DEPTH {
                for (_, member) in record.iter() {
                    if let Some(found) = look(member, by, depth + 1)? {
                        return Ok(Some(found));
                    }
                }
            }
            Ok(None)
        }
        Value::Optional(Some(inner)) => look(inner, by, depth),
        Value::List(rows) => Ok(of_rows(rows)?.map(Drawable::Image)),
        _ => Ok(None),
    }
}

fn size(record: &Record, member: &'static str) -> Result<Option<usize>, FindError> {
    let Some(value) = record.get(member).and_then(Value::as_integer) else { return Ok(None) };
    usize::try_from(value).map(Some).map_err(|_| FindError::Size { member, value })
}

fn data(record: &Record) -> Option<&[u8]> {
    match record.get("data")? {
        Value::Numbers(Numbers::U8(bytes)) => Some(bytes),
        _ => None,
    }
}

fn of_record<'a>(record: &'a Record, by: Option<&str>) -> Result<Option<Drawable<'a>>, FindError> {
    let Some(data) = data(record) else { return Ok(None) };
    let (Some(width), Some(height)) = (size(record, "width")?, size(record, "height")?) else {
        return match record.get("format") {
            Some(Value::Text(format)) => Ok(Some(Drawable::Image(codec::decode(format, data)?))),
            _ => Ok(None),
        };
    };
    let big_endian = record.get("is_bigendian").and_then(Value::as_integer).is_some_and(|it| it != 0);
    if let (Some(point_step), Some(Value::List(fields))) = (size(record, "point_step")?, record.get("fields"))
    {
        let row_step = size(record, "row_step")?.unwrap_or(0);
        let fields = fields.iter().filter_map(field).collect();
        let said = cloud::Description { width, height, point_step, row_step, big_endian, fields };
        return Ok(Some(Drawable::Cloud(Cloud::new(said, data, by)?)));
    }
    let step = size(record, "step")?.unwrap_or(0);
    let encoding = match record.get("encoding") {
        Some(Value::Text(encoding)) => encoding.as_str(),
        _ => {
            let row = if step == 0 { data.len().checked_div(height).unwrap_or(0) } else { step };
            match row.checked_div(width) {
                Some(1) => "mono8",
                Some(3) => "rgb8",
                Some(4) => "rgba8",
                _ => return Err(FindError::Channels { width, height, bytes: data.len() }),
            }
        }
    };
    let encoding = Cow::Borrowed(encoding);
    let said = image::Description { width, height, step, encoding, big_endian };
    Ok(Some(Drawable::Image(Image::new(said, Cow::Borrowed(data))?)))
}

fn field(value: &Value) -> Option<cloud::Field<'_>> {
    let Value::Record(record) = value else { return None };
    let Some(Value::Text(name)) = record.get("name") else { return None };
    let offset = usize::try_from(record.get("offset")?.as_integer()?).ok()?;
    Some(cloud::Field { name, offset, datatype: record.get("datatype")?.as_integer()? })
}

/// An array of numbers, one for each pixel, or three or four.
fn of_rows(rows: &[Value]) -> Result<Option<Image<'static>>, FindError> {
    let mut bytes = Vec::new();
    let (mut encoding, mut width) = (None, None);
    for row in rows {
        let (row_encoding, row_width) = match row {
            Value::Numbers(numbers) => {
                let encoding = match numbers {
                    Numbers::U8(_) => "mono8",
                    Numbers::U16(_) => "16UC1",
                    Numbers::F32(_) => "32FC1",
                    _ => return Ok(None),
                };
                bytes.extend(numbers.to_bytes());
                (encoding, numbers.len())
            }
            Value::List(pixels) => {
                let mut encoding = None;
                for pixel in pixels {
                    let Value::Numbers(Numbers::U8(pixel)) = pixel else { return Ok(None) };
                    let own = match pixel.len() {
                        3 => "rgb8",
                        4 => "rgba8",
                        _ => return Ok(None),
                    };
                    if *encoding.get_or_insert(own) != own {
                        return Ok(None);
                    }
                    bytes.extend(pixel);
                }
                let Some(encoding) = encoding else { return Ok(None) };
                (encoding, pixels.len())
            }
            _ => return Ok(None),
        };
        if *encoding.get_or_insert(row_encoding) != row_encoding
            || *width.get_or_insert(row_width) != row_width
        {
            return Ok(None);
        }
    }
    let (Some(encoding), Some(width)) = (encoding, width) else { return Ok(None) };
    let encoding = Cow::Borrowed(encoding);
    let said = image::Description { width, height: rows.len(), step: 0, encoding, big_endian: false };
    Ok(Some(Image::new(said, Cow::Owned(bytes))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_schema::Schema;
    use situ_schema::dynamic::from_text;

    fn message(members: &str, text: &str) -> Value {
        let point = "struct Field { string name; uint32 offset; uint8 datatype; };";
        let schema = Schema::from_idl(&format!(
            "{point} struct Inner {{ {members} }}; struct M {{ long n; Inner one; }};"
        ));
        let schema = schema.unwrap();
        from_text(&schema, schema.find("M").unwrap(), &format!("{{one: {text}}}")).unwrap()
    }

    fn image(members: &str, text: &str) -> (usize, usize, String, Vec<[u8; 3]>) {
        let message = message(members, text);
        let Drawable::Image(image) = find(&message, None).unwrap() else { panic!("it is an image") };
        let pixels = image.scaled(image.width, image.height).unwrap().pixels().to_vec();
        (image.width, image.height, image.encoding.to_string(), pixels)
    }

    #[test]
    fn images_are_found_inside_of_messages() {
        let members = "uint32 height; uint32 width; string encoding; uint32 step; sequence<uint8> data;";
        let text = "{height: 1, width: 2, encoding: bgr8, step: 6, data: [1, 2, 3, 4, 5, 6]}";
        assert_eq!(image(members, text), (2, 1, "bgr8".into(), vec![[3, 2, 1], [6, 5, 4]]));
        let members = "uint32 height; uint32 width; sequence<uint8> data;";
        let text = "{height: 2, width: 1, data: [1, 2, 3, 4, 5, 6]}";
        assert_eq!(image(members, text), (1, 2, "rgb8".into(), vec![[1, 2, 3], [4, 5, 6]]));
    }

    #[test]
    fn arrays_are_images() {
        let grey = image("uint8 p[2][3];", "{p: [[1, 2, 3], [4, 5, 6]]}");
        assert_eq!((grey.0, grey.1, grey.2.as_str(), grey.3[5]), (3, 2, "mono8", [6; 3]));
        let colour = image("octet p[1][2][4];", "{p: [[[1, 2, 3, 9], [4, 5, 6, 9]]]}");
        assert_eq!((colour.2.as_str(), colour.3), ("rgba8", vec![[1, 2, 3], [4, 5, 6]]));
        assert_eq!(image("float p[1][2];", "{p: [[1, 3]]}").3, [[0; 3], [255; 3]]);
    }

    #[test]
    fn clouds_are_found() {
        let members =
            "uint32 height; uint32 width; sequence<Field> fields; uint32 point_step; sequence<uint8> data;";
        let text = "{height: 1, width: 1, point_step: 3, data: [1, 2, 3], fields: [{name: x, offset: 0, datatype: 2},
            {name: y, offset: 1, datatype: 2}, {name: z, offset: 2, datatype: 2}]}";
        let message = message(members, text);
        let Drawable::Cloud(cloud) = find(&message, None).unwrap() else { panic!("it is a cloud") };
        assert_eq!(cloud.len(), 1);
    }

    #[test]
    fn other_messages_are_not_drawn() {
        let error = |members: &str, text: &str| find(&message(members, text), None).map(|_| ()).unwrap_err();
        assert!(matches!(error("long x;", "{}"), FindError::Nothing));
        assert!(matches!(error("sequence<uint8> data;", "{}"), FindError::Nothing));
        assert!(matches!(error("long p[2][3];", "{}"), FindError::Nothing));
        let codec = error("string format; sequence<uint8> data;", "{format: h264}");
        assert!(codec.to_string().starts_with("the image is compressed (h264)"), "{codec}");
        let sizes = "long height; long width; sequence<uint8> data;";
        assert!(matches!(error(sizes, "{height: -1}"), FindError::Size { member: "height", value: -1 }));
        assert!(matches!(error(sizes, "{height: 1, width: 1, data: [1, 2]}"), FindError::Channels { .. }));
        assert!(matches!(error(sizes, "{}"), FindError::Channels { .. }));
    }
}
