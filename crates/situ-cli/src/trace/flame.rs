//! `situ trace flame`: draws a flame graph of a trace's slices.

use std::time::Duration;

use serde::Serialize;
use situ::layout::foreign::Foreign;
#[cfg(test)]
use situ::trace::reader::FoldedStack;
use situ::trace::reader::{FoldedStacks, ReadTrace};

use super::file::read;
use super::svg::{LETTER, colour, escape, fit};
use crate::cli::FlameArgs;
use crate::commands::Context;
use crate::error::CliError;
use crate::output::Style;
use crate::output::units::duration;

#[derive(Serialize)]
struct Report<'a> {
    file: String,
    svg: Option<String>,
    total_ns: u64,
    left_out: usize,
    stacks: Vec<Stack<'a>>,
}

#[derive(Serialize)]
struct Stack<'a> {
    frames: &'a [String],
    self_ns: u64,
}

/// `situ trace flame`.
pub fn run(context: &Context, arguments: &FlameArgs) -> Result<(), CliError> {
    let file = arguments.file.display();
    let trace = read(&arguments.file)?;
    let (from, to) = window(&trace, arguments);
    let folded = trace.fold(from, to, arguments.merge);
    if folded.stacks.is_empty() {
        return Err(CliError::Failed(format!(
            "{file} has no slices in this part of {}",
            duration(to - from)
        )));
    }
    let total_ns = folded.stacks.iter().fold(0, |sum: u64, stack| sum.saturating_add(stack.self_ns));
    let svg = (!arguments.folded).then_some(&arguments.output);
    if let Some(path) = svg {
        let title = format!("Slices of {file}, {}", duration(to - from));
        let picture = draw(&folded, &title);
        std::fs::write(path, picture)
            .map_err(|error| CliError::Failed(format!("cannot write {}: {error}", path.display())))?;
    }
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Report {
            file: file.to_string(),
            svg: svg.map(|path| path.display().to_string()),
            total_ns,
            left_out: folded.left_out,
            stacks: folded
                .stacks
                .iter()
                .map(|stack| Stack { frames: &stack.frames, self_ns: stack.self_ns })
                .collect(),
        })?);
    }
    match svg {
        Some(path) => {
            let stacks = folded.stacks.len();
            output.line(format!(
                "{}: {} in {stacks} stacks of slices",
                path.display(),
                duration(total_ns)
            ))?;
        }
        None => output.text(lines(&folded))?,
    }
    if folded.left_out > 0 {
        let note = format!("{} stacks with less time are left out", folded.left_out);
        eprintln!("{}", output.paint(Style::Warn, note));
    }
    Ok(())
}

/// Returns the part of the trace to count, in nanoseconds.
fn window(trace: &ReadTrace, arguments: &FlameArgs) -> (u64, u64) {
    let (zero, last) = trace.span();
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let from = zero.saturating_add(arguments.from.map_or(0, nanoseconds));
    let to = arguments.span.map_or(last, |span| from.saturating_add(nanoseconds(span)).min(last));
    (from, to.max(from))
}

/// Returns a line for each stack, in the form that tools for flame graphs read.
fn lines(folded: &FoldedStacks) -> String {
    let line = |frames: &[String], time: u64| format!("{} {time}\n", Foreign(&frames.join(";")));
    folded.stacks.iter().map(|stack| line(&stack.frames, stack.self_ns)).collect()
}

/// A stack of slices in the picture.
struct Frame<'a> {
    name: &'a str,
    /// The frames around it.
    depth: usize,
    /// The time in it, with the frames within it.
    begin_ns: u64,
    end_ns: u64,
}

/// Returns the frames of stacks, which are in the order of their names: each before those within it.
fn frames(folded: &FoldedStacks) -> Vec<Frame<'_>> {
    let mut frames: Vec<Frame<'_>> = Vec::new();
    // The frames around the current time, as indices.
    let mut open: Vec<usize> = Vec::new();
    let mut now = 0u64;
    for stack in &folded.stacks {
        let same = open.iter().zip(&stack.frames).take_while(|(at, name)| frames[**at].name == **name);
        let same = same.count();
        open.truncate(same);
        for (depth, name) in stack.frames.iter().enumerate().skip(same) {
            open.push(frames.len());
            frames.push(Frame { name, depth, begin_ns: now, end_ns: now });
        }
        now = now.saturating_add(stack.self_ns);
        for at in &open {
            frames[*at].end_ns = now;
        }
    }
    frames
}

/// The size of the picture, and of the frames in it, in pixels.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const TITLE: f64 = 36.0;
const LEVEL: f64 = 18.0;
/// Narrower frames are not drawn.
const NARROWEST: f64 = 0.2;

/// Makes a frame that is clicked as wide as the picture, and a click elsewhere shows all again. `x` and `w`
/// are shares of the whole. Labels are cut as the program cuts them.
const SCRIPT: &str = r#"
const all = document.querySelectorAll("g[data-w]"), width = 1180, letter = 5.9;
function zoom(x, w) {
  for (const g of all) {
    const left = (g.dataset.x - x) / w * width, right = left + g.dataset.w / w * width;
    const from = Math.max(left, 0), to = Math.min(right, width), wide = to - from;
    g.style.display = wide < 0.2 ? "none" : "";
    const rect = g.querySelector("rect"), text = g.querySelector("text");
    rect.setAttribute("x", from + 10); rect.setAttribute("width", Math.max(wide, 0));
    text.setAttribute("x", from + 13);
    const most = Math.floor((wide - 6) / letter), name = g.dataset.name;
    text.textContent = name.length <= most ? name : most < 3 ? "" : name.slice(0, most - 1) + "…";
  }
}
document.documentElement.addEventListener("click", (event) => {
  const g = event.target.closest("g[data-w]");
  g ? zoom(+g.dataset.x, +g.dataset.w) : zoom(0, 1);
});
"#;

/// Draws the stacks, the outermost slices at the top.
fn draw(folded: &FoldedStacks, title: &str) -> String {
    let frames = frames(folded);
    let whole = frames.iter().map(|frame| frame.end_ns).max().unwrap_or_default().max(1) as f64;
    let deepest = frames.iter().map(|frame| frame.depth).max().unwrap_or_default();
    let height = TITLE + LEVEL * (deepest + 1) as f64 + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#1d2329\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"20\" font-weight=\"bold\">{}</text>\n",
        escape(title)
    );
    for Frame { name, depth, begin_ns, end_ns } in frames {
        let (share, begin) = ((end_ns - begin_ns) as f64 / whole, begin_ns as f64 / whole);
        let (x, width) = (MARGIN + begin * (WIDTH - 2.0 * MARGIN), share * (WIDTH - 2.0 * MARGIN));
        if width < NARROWEST {
            continue;
        }
        let (y, shown) = (TITLE + LEVEL * depth as f64, escape(name));
        svg.push_str(&format!(
            "<g data-x=\"{begin:.9}\" data-w=\"{share:.9}\" data-name=\"{shown}\"><title>{shown}: {}, {:.2} %</title>\
             <rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" rx=\"1.5\" fill=\"{}\" \
             stroke=\"#ffffff\" stroke-width=\"0.5\"/><text x=\"{:.2}\" y=\"{:.1}\">{}</text></g>\n",
            duration(end_ns - begin_ns),
            100.0 * share,
            LEVEL - 1.0,
            colour(name),
            x + 3.0,
            y + 12.5,
            fit(name, width - 6.0, LETTER),
        ));
    }
    svg.push_str(&format!("<script><![CDATA[{SCRIPT}]]></script>\n</svg>\n"));
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[&str], self_ns: u64) -> FoldedStack {
        FoldedStack { frames: frames.iter().map(|frame| (*frame).to_owned()).collect(), self_ns }
    }

    #[test]
    fn a_box_has_the_time_of_its_slice_with_those_within() {
        let stacks = vec![
            stack(&["filter (7)", "plan a<b"], 100),
            stack(&["filter (7)", "plan a<b", "wait"], 300),
            stack(&["viewer (8)", "draw"], 1600),
        ];
        let folded = FoldedStacks { stacks, left_out: 0 };
        let places: Vec<_> =
            frames(&folded).iter().map(|it| (it.name, it.depth, it.begin_ns, it.end_ns)).collect();
        let expected = [
            ("filter (7)", 0, 0, 400),
            ("plan a<b", 1, 0, 400),
            ("wait", 2, 100, 400),
            ("viewer (8)", 0, 400, 2000),
            ("draw", 1, 400, 2000),
        ];
        assert_eq!(places, expected);
        let svg = draw(&folded, "R&D");
        for expected in [
            "R&amp;D",
            "data-x=\"0.000000000\" data-w=\"0.200000000\" data-name=\"plan a&lt;b\"",
            "<title>plan a&lt;b: 400 ns, 20.00 %</title><rect x=\"10.00\" y=\"54.0\" width=\"236.00\"",
            "<title>wait: 300 ns, 15.00 %</title><rect x=\"69.00\" y=\"72.0\" width=\"177.00\"",
            "<title>draw: 1.60 µs, 80.00 %</title>",
        ] {
            assert!(svg.contains(expected), "{expected} in {svg}");
        }
    }

    #[test]
    fn a_frame_without_time_of_its_own_is_there_for_those_within() {
        let stacks = vec![stack(&["a", "b"], 5), stack(&["a", "c"], 7), stack(&["b"], 1)];
        let folded = FoldedStacks { stacks, left_out: 0 };
        let names: Vec<_> = frames(&folded).iter().map(|it| (it.name, it.end_ns - it.begin_ns)).collect();
        assert_eq!(names, [("a", 12), ("b", 5), ("c", 7), ("b", 1)]);
    }

    #[test]
    fn lines_are_those_of_other_tools() {
        let stacks = vec![stack(&["a", "b 2"], 5), stack(&["c\u{1b}[m"], 1)];
        assert_eq!(lines(&FoldedStacks { stacks, left_out: 0 }), "a;b 2 5\nc\\u{1b}[m 1\n");
    }
}
