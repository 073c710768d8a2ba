//! `situ topic view`: images and point clouds in the terminal, and as files.
//!
//! ```text
//!   find       what of a message can be drawn
//!      │
//!      ├──▶ codec    JPEG and PNG, whose pixels are images
//!      ├──▶ image    pixels of the usual encodings
//!      └──▶ cloud    points, seen from above
//!              │
//!              ▼
//!   picture    pixels of red, green and blue; PNG
//!      │
//!      ▼
//!   display    draws pictures in place: by kitty's protocol, by `sixel`, or by `blocks` of characters
//!   terminal   what the terminal can do, and its size
//! ```

mod blocks;
mod cloud;
mod codec;
mod display;
mod find;
mod image;
mod kitty;
mod palette;
mod picture;
mod sixel;
mod terminal;

use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::inspect::TopicInfo;
use situ::bus::{History, RawSample, SubscriberQos};
use situ::layout::foreign::Foreign;
use situ_schema::dynamic::Value;

use crate::cli::ViewTopicArgs;
use crate::commands::Context;
use crate::commands::listen::{Event, Heard, Listener, offered_durability};
use crate::error::CliError;
use crate::message::field;
use cloud::{Cloud, Range};
use display::Display;
use find::{Drawable, find};
use picture::{Picture, PictureError};
use terminal::Terminal;

/// The time after which a wait is repeated.
const PERIOD: Duration = Duration::from_secs(1);
/// How wide the picture of a cloud is in a file, in pixels.
const CLOUD_WIDTH: usize = 800;

#[derive(Serialize)]
struct Viewed<'a> {
    topic: &'a str,
    sequence: u64,
    published_at_ns: u64,
    #[serde(flatten)]
    shown: &'a Shown,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
}

/// What a picture shows.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shown {
    Image { width: usize, height: usize, encoding: String, range: Option<[f32; 2]> },
    Cloud { points: usize, center: [f32; 2], reach: f32, by: String, range: [f32; 2] },
}

impl Shown {
    fn line(&self) -> String {
        match self {
            Self::Image { width, height, encoding, range: None } => {
                format!("{width} x {height} {}", Foreign(encoding))
            }
            Self::Image { width, height, encoding, range: Some([low, high]) } => {
                format!("{width} x {height} {}, black {low} to white {high}", Foreign(encoding))
            }
            Self::Cloud { points, center: [x, y], reach, by, range: [low, high] } => {
                let at = if (*x, *y) == (0.0, 0.0) { String::new() } else { format!(" around ({x}, {y})") };
                format!("{points} points, {reach} to each side{at}, {} {low:.4} to {high:.4}", Foreign(by))
            }
        }
    }
}

/// Draws messages, one after the other.
struct Drawer<'a> {
    arguments: &'a ViewTopicArgs,
    /// The part of the world that clouds show. It stays, so that live pictures do not jump.
    range: Option<Range>,
}

impl Drawer<'_> {
    /// Draws a message. `size` gives the picture's size for one that would like to be so large.
    fn draw(
        &mut self,
        topic: &str,
        message: &Value,
        size: impl Fn(Option<(usize, usize)>) -> (usize, usize),
    ) -> Result<(Picture, Shown), CliError> {
        let (path, by) = (self.arguments.field.as_deref(), self.arguments.by.as_deref());
        let value = match path {
            None => Cow::Borrowed(message),
            Some(path) => field(message, path).ok_or_else(|| {
                CliError::NotFound(format!("the messages of `{topic}` have no field `{path}`"))
            })?,
        };
        match find(&value, by).map_err(CliError::failed)? {
            Drawable::Image(image) => {
                let (width, height) = size(Some((image.width, image.height)));
                let picture = image.scaled(width, height).map_err(CliError::failed)?;
                let (width, height) = (image.width, image.height);
                let (encoding, range) = (image.encoding.to_string(), image.range());
                Ok((picture, Shown::Image { width, height, encoding, range }))
            }
            Drawable::Cloud(cloud) => {
                let range = self.range_of(&cloud);
                let (width, height) = size(None);
                let picture = cloud.draw(&range, width, height).map_err(CliError::failed)?;
                let shown = Shown::Cloud {
                    points: cloud.len(),
                    center: range.center,
                    reach: range.reach,
                    by: cloud.by_name.to_owned(),
                    range: range.values,
                };
                Ok((picture, shown))
            }
        }
    }

    fn range_of(&mut self, cloud: &Cloud) -> Range {
        let fixed = self.arguments.range;
        let range = match self.range.take() {
            Some(range) if fixed.is_some() || cloud.fits(&range) => range,
            _ => cloud.range(fixed),
        };
        self.range.insert(range).clone()
    }
}

/// The newest message, and those that the topic keeps.
fn qos(topic: &TopicInfo) -> SubscriberQos {
    SubscriberQos {
        history: History::KeepLast(1),
        durability: offered_durability(topic),
        ..SubscriberQos::default()
    }
}

/// `situ topic view`.
pub fn run(context: &Context, arguments: &ViewTopicArgs) -> Result<(), CliError> {
    let mut listener =
        Listener::join(context, std::slice::from_ref(&arguments.topic), arguments.timeout, &qos)?;
    let mut drawer = Drawer { arguments, range: None };
    if let Some(file) = &arguments.png {
        return match next(&mut listener)? {
            Some(sample) => to_file(context, &listener.heard()[0], &sample, &mut drawer, file),
            None => Err(CliError::Interrupted),
        };
    }
    let output = &context.output;
    let terminal = Terminal::detect(output, arguments.protocol);
    // Without a terminal, one picture is printed, as `situ top` prints one table.
    let once = arguments.once || (!terminal.is_live && !output.is_json());
    let mut display = Display::new(terminal, arguments.width.map(|it| it as usize), once);
    let period = Duration::from_secs_f64(1.0 / arguments.max_rate);
    loop {
        let due = Instant::now() + period;
        let Some(sample) = next(&mut listener)? else { break };
        let heard = &listener.heard()[0];
        let topic = heard.subscriber.topic();
        let message = heard.reader.read(&sample).map_err(CliError::failed)?;
        display.measure();
        let (picture, shown) = drawer.draw(topic, &message, |native| display.size(native))?;
        if output.is_json() {
            output.record(&viewed(topic, &sample, &shown, None))?;
        } else {
            let line = format!("{}  {}  message {}", Foreign(topic), shown.line(), sample.sequence());
            display.show(&picture, &line)?;
        }
        if once {
            return Ok(());
        }
        if !listener.rest(due) {
            break;
        }
    }
    Ok(())
}

/// The next message; none after Ctrl-C.
fn next(listener: &mut Listener) -> Result<Option<RawSample>, CliError> {
    loop {
        match listener.next(Instant::now() + PERIOD)? {
            Event::Message(0, sample) => return Ok(Some(sample)),
            // A pattern may match several topics: the first one is shown.
            Event::Message(..) | Event::Nothing => {}
            Event::Interrupted => return Ok(None),
        }
    }
}

fn viewed<'a>(topic: &'a str, sample: &RawSample, shown: &'a Shown, file: Option<&'a Path>) -> Viewed<'a> {
    Viewed { topic, sequence: sample.sequence(), published_at_ns: sample.published_at_ns(), shown, file }
}

/// Writes one picture to a file.
fn to_file(
    context: &Context,
    heard: &Heard,
    sample: &RawSample,
    drawer: &mut Drawer,
    file: &Path,
) -> Result<(), CliError> {
    let message = heard.reader.read(sample).map_err(CliError::failed)?;
    let topic = heard.subscriber.topic();
    let wanted = drawer.arguments.width.map(|it| it as usize);
    let (picture, shown) = drawer.draw(topic, &message, |native| match (native, wanted) {
        (None, width) => {
            let width = width.unwrap_or(CLOUD_WIDTH);
            (width, width)
        }
        (Some(native), None) => native,
        (Some((width, height)), Some(wanted)) => {
            (wanted, (height as f64 * wanted as f64 / width.max(1) as f64).round().max(1.0) as usize)
        }
    })?;
    let failed = |error: &dyn std::fmt::Display| {
        CliError::Failed(format!("cannot write {}: {error}", Foreign(&file.to_string_lossy())))
    };
    let png = picture.to_png().map_err(|error: PictureError| failed(&error))?;
    std::fs::write(file, png).map_err(|error| failed(&error))?;
    if context.output.is_json() {
        return Ok(context.output.record(&viewed(topic, sample, &shown, Some(file)))?);
    }
    let name = file.to_string_lossy();
    Ok(context.output.line(format!("{}: {}  {}", Foreign(&name), Foreign(topic), shown.line()))?)
}
