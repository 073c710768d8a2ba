//! The screen of `situ top`: a summary line, the topics, the chosen topic, and the keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table};

use situ::layout::foreign::Foreign;
use unicode_width::UnicodeWidthStr;

use super::app::{App, Sort};
use super::snapshot::{Participant, TopicFigures};
use crate::output::table::{Demand, fit, shorten};
use crate::output::units;

/// The maximum number of lines for the chosen topic.
const DETAILS: u16 = 12;
/// With fewer lines than this, only the topics are shown.
const SMALL: u16 = 20;
/// The maximum number of lines for memory domains, one each.
const MAX_DOMAINS: usize = 4;
/// The headings of the columns, the sort order of the sortable ones, and their ranks: in a narrow terminal,
/// the column with the highest rank is left out first.
const COLUMNS: [(&str, Option<Sort>, u8); 11] = [
    ("TOPIC", Some(Sort::Name), 0),
    ("RATE", Some(Sort::Rate), 0),
    ("BANDWIDTH", Some(Sort::Bandwidth), 5),
    ("P50", None, 8),
    ("P99", Some(Sort::Latency), 3),
    ("PUB", None, 7),
    ("SUB", Some(Sort::Subscribers), 4),
    ("LOST", Some(Sort::Lost), 1),
    ("BEHIND", None, 2),
    ("DOMAINS", None, 9),
    ("MEMORY", Some(Sort::Memory), 6),
];

/// Draws everything.
pub fn draw(app: &mut App, frame: &mut Frame<'_>) {
    let small = frame.area().height < SMALL;
    let details = if small { 0 } else { DETAILS };
    let domains = if small { 1 } else { app.snapshot.domains.len().clamp(1, MAX_DOMAINS) };
    let [head, body, foot, keys] = Layout::vertical([
        Constraint::Length(1 + domains as u16),
        Constraint::Min(3),
        Constraint::Length(details),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(summary(app, head.width.into()), head);
    topics(app, frame, body);
    if details > 0 {
        chosen(app, frame, foot);
    }
    frame.render_widget(hints(app), keys);
}

fn summary(app: &App, width: usize) -> Paragraph<'_> {
    let snapshot = &app.snapshot;
    let rate: f64 = snapshot.topics.iter().map(|topic| topic.rate_hz).sum();
    let bytes: f64 = snapshot.topics.iter().map(|topic| topic.bytes_per_second).sum();
    let memory: u64 = snapshot.topics.iter().map(|topic| topic.memory_bytes).sum();
    let number = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let dead = match snapshot.dead_nodes {
        0 => String::new(),
        dead => number(dead, "dead node"),
    };
    // The parts, and their ranks: in a narrow terminal, the part with the highest rank is left out first.
    let parts = [
        (app.root.clone(), 5),
        (number(snapshot.nodes, "node"), 2),
        (number(snapshot.topics.len(), "topic"), 1),
        (units::hertz(rate), 0),
        (units::bandwidth(bytes), 3),
        (units::bytes(memory), 4),
        (dead, 1),
    ];
    let parts = parts.into_iter().filter(|(text, _)| !text.is_empty()).collect::<Vec<_>>();
    let demands: Vec<Demand> = parts
        .iter()
        .map(|(text, rank)| Demand { width: text.width(), flexible: false, rank: *rank })
        .collect();
    let shown = fit(&demands, 3, width.saturating_sub(10));
    let mut first = vec!["situ top".bold()];
    for (index, ((text, _), _)) in parts.into_iter().zip(shown).filter(|it| it.1.is_some()).enumerate() {
        first.push(if index == 0 { "  " } else { "   " }.into());
        let is_dead = text.contains("dead");
        first.push(if is_dead { text.fg(Color::Yellow) } else { text.into() });
    }
    let mut lines = vec![Line::from(first)];
    for (index, domain) in snapshot.domains.iter().enumerate() {
        let mut text = format!("{} {}", domain.domain, units::bytes(domain.memory_bytes));
        let mut parts = vec![format!(" ({} pub, {} sub)", domain.publishers, domain.subscribers)];
        if domain.copies > 0 {
            let copied = units::bytes(domain.bytes_copied);
            parts.push(format!(", {} copies into it, {copied}", domain.copies));
        }
        for part in parts {
            if 9 + text.width() + part.width() <= width {
                text.push_str(&part);
            }
        }
        lines.push(Line::from(vec![if index == 0 { "domains  " } else { "         " }.dim(), text.into()]));
    }
    Paragraph::new(lines)
}

fn topics(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let headings = COLUMNS.map(|(name, sort, _)| match (sort == Some(app.sort), app.reversed) {
        (false, _) => name.to_owned(),
        (true, false) => format!("{name}▾"),
        (true, true) => format!("{name}▴"),
    });
    let shown = app.shown();
    let texts: Vec<[String; COLUMNS.len()]> = shown.iter().map(|topic| texts(topic)).collect();
    // Room for the mark of the sorted column, so that no column moves when the order changes.
    let demands: Vec<Demand> = (0..COLUMNS.len())
        .map(|at| Demand {
            width: texts.iter().map(|it| it[at].width()).fold(COLUMNS[at].0.len() + 1, usize::max),
            flexible: at == 0,
            rank: COLUMNS[at].2,
        })
        .collect();
    let mut widths = fit(&demands, 1, area.width.into());
    let used: usize = widths.iter().flatten().map(|width| width + 1).sum();
    widths[0] = widths[0].map(|width| width + (usize::from(area.width) + 1).saturating_sub(used));
    let visible = |cells: Vec<Cell<'static>>| {
        Row::new(cells.into_iter().zip(&widths).filter(|(_, width)| width.is_some()).map(|(cell, _)| cell))
    };
    let header = visible(
        headings
            .into_iter()
            .map(|text| {
                let is_plain = COLUMNS.iter().any(|it| it.0 == text);
                let style = if is_plain { Style::new().dim() } else { Style::new().bold() };
                let left = text.starts_with("TOPIC") || text == "DOMAINS";
                if left { Cell::new(text) } else { Cell::new(Line::from(text).right_aligned()) }.style(style)
            })
            .collect(),
    );
    let name_width = widths[0].unwrap_or(0);
    let rows: Vec<Row<'static>> =
        shown.iter().zip(texts).map(|(topic, texts)| visible(cells(topic, texts, name_width))).collect();
    let widths: Vec<Constraint> =
        widths.iter().flatten().map(|width| Constraint::Length(*width as u16)).collect();
    let empty = rows.is_empty();
    let table = Table::new(rows, widths)
        .header(header)
        .column_spacing(1)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(table, area, &mut app.table);
    if empty {
        let [_, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let text =
            if app.filter.is_empty() { "No topics yet." } else { "No topic has this in its name or type." };
        frame.render_widget(Paragraph::new(text.dim()), below);
    }
}

/// The texts of a topic's row.
fn texts(topic: &TopicFigures) -> [String; COLUMNS.len()] {
    let age = |ns: Option<u64>| ns.map_or_else(|| "-".into(), units::duration);
    [
        Foreign(&topic.name).to_string(),
        units::hertz(topic.rate_hz),
        units::bandwidth(topic.bytes_per_second),
        age(topic.p50_ns),
        age(topic.p99_ns),
        topic.publishers.to_string(),
        topic.subscribers.to_string(),
        topic.lost.to_string(),
        topic.behind.to_string(),
        topic.domains.join(" "),
        units::bytes(topic.memory_bytes),
    ]
}

fn cells(topic: &TopicFigures, texts: [String; COLUMNS.len()], name_width: usize) -> Vec<Cell<'static>> {
    let cell = |(text, (heading, ..)): (String, (&str, Option<Sort>, u8))| match heading {
        "TOPIC" => Cell::new(shorten(&text, name_width).bold()),
        "DOMAINS" => Cell::new(text),
        "LOST" => {
            let cell = Cell::new(Line::from(text).right_aligned());
            // Current losses matter more than past ones.
            match topic.lost_per_second > 0.0 {
                true => cell.style(Style::new().fg(Color::Red)),
                false if topic.lost > 0 => cell.style(Style::new().fg(Color::Yellow)),
                false => cell,
            }
        }
        _ => Cell::new(Line::from(text).right_aligned()),
    };
    texts.into_iter().zip(COLUMNS).map(cell).collect()
}

fn chosen(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let Some(topic) = app.selected() else { return };
    let title = Line::from(vec![
        Span::from(format!(" {} ", Foreign(&topic.name))).bold(),
        format!(
            "{} ({}), depth {}, {} published ",
            Foreign(&topic.type_name),
            topic.encoding,
            topic.depth,
            topic.published
        )
        .into(),
    ]);
    let block = Block::bordered().title(title);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let [curve, people] = Layout::vertical([Constraint::Length(3), Constraint::Min(0)]).areas(inside);
    let width = usize::from(curve.width);
    // A curve of rates. Only its shape matters, so whole tenths of a hertz are precise enough.
    let mut rates: Vec<u64> =
        app.rates(&topic.name).rev().take(width).map(|rate| (rate * 10.0) as u64).collect();
    rates.reverse();
    frame.render_widget(Sparkline::default().data(&rates).style(Style::new().fg(Color::Cyan)), curve);
    let room = usize::from(people.height);
    let (shown, left) = match topic.participants.len() {
        n if n > room && room > 0 => (room - 1, n + 1 - room),
        n => (n.min(room), 0),
    };
    let participants = &topic.participants[..shown];
    let mut lines = participant_lines(participants, people.width.into());
    if left > 0 {
        lines.push(Line::from(format!("and {left} more").dim()));
    }
    frame.render_widget(Paragraph::new(lines), people);
}

/// The participants, with the same columns in each line.
fn participant_lines(participants: &[Participant], width: usize) -> Vec<Line<'static>> {
    // The cells of a line, and the ranks of the columns.
    const RANKS: [u8; 8] = [0, 0, 4, 5, 3, 1, 2, 0];
    let cells = |it: &Participant| {
        let is_publisher = it.role == "publisher";
        let figure = |name: &str, count: u64| {
            if is_publisher { String::new() } else { format!("{name} {count}") }
        };
        [
            it.role.to_owned(),
            Foreign(&it.node).to_string(),
            it.pid.map_or_else(|| "-".into(), |pid| pid.to_string()),
            it.domain.clone(),
            if is_publisher {
                format!("memory {}", units::bytes(it.memory_bytes))
            } else {
                figure("taken", it.taken)
            },
            figure("lost", it.lost),
            figure("behind", it.behind),
            it.waits.clone().unwrap_or_else(|| if it.alive { "" } else { "gone" }.to_owned()),
        ]
    };
    let rows: Vec<_> = participants.iter().map(cells).collect();
    let demands: Vec<Demand> = (0..RANKS.len())
        .map(|at| Demand {
            width: rows.iter().map(|it| it[at].width()).max().unwrap_or(0),
            flexible: at == 1 || at == 7,
            rank: RANKS[at],
        })
        .collect();
    let widths = fit(&demands, 2, width);
    let line = |(it, cells): (&Participant, [String; RANKS.len()])| {
        let mut spans: Vec<Span<'static>> = Vec::new();
        for (at, (text, width)) in cells.into_iter().zip(&widths).enumerate() {
            let Some(width) = width.filter(|width| *width > 0) else { continue };
            let text = shorten(&text, width);
            let padding = " ".repeat(width.saturating_sub(text.width()));
            let text = if at == 2 { format!("{padding}{text}  ") } else { format!("{text}{padding}  ") };
            spans.push(match at {
                0 => text.dim(),
                1 => text.bold(),
                7 if it.waits.is_some() => text.fg(Color::Red),
                7 => text.fg(Color::Yellow),
                _ => text.into(),
            });
        }
        Line::from(spans)
    };
    participants.iter().zip(rows).map(line).collect()
}

fn hints(app: &App) -> Paragraph<'_> {
    if app.typing {
        return Paragraph::new(Line::from(vec![
            "/".bold(),
            app.filter.as_str().into(),
            "█".dim(),
            "   Enter keeps it, Esc clears it".dim(),
        ]));
    }
    let mut spans = vec!["q quit  ↑↓ choose  s sort  / filter  r reverse".dim()];
    if !app.filter.is_empty() {
        spans.push(format!("   only {:?} (Esc: all)", app.filter).fg(Color::Yellow));
    }
    Paragraph::new(Line::from(spans))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::super::snapshot::tests::topic;
    use super::super::snapshot::{Look, Samples, Snapshot};
    use super::*;

    fn screen(app: &mut App, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(app, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        (0..height)
            .map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned())
            .collect()
    }

    fn app() -> App {
        let samples = Samples { ages_ns: vec![1_500, 2_500], bytes: 2048, messages: 2 };
        let before = Look { topics: vec![topic("lidar/points", 100, 0)], ..Look::default() };
        let after = Look {
            topics: vec![topic("lidar/points", 150, 4), topic("pose", 7, 0)],
            samples: [("lidar/points".to_owned(), samples)].into(),
            ..Look::default()
        };
        let mut app = App::new("/dev/shm/situ-0".into());
        app.update(Snapshot::between(&before, &after, Duration::from_secs(1)));
        app
    }

    #[test]
    fn topics_stand_in_a_table_with_the_chosen_one_below() {
        let screen = screen(&mut app(), 120, 30);
        assert_eq!(
            screen[0],
            "situ top  /dev/shm/situ-0   0 nodes   2 topics   50.0 Hz   50.0 KiB/s   2.00 MiB"
        );
        assert_eq!(screen[1], "domains  host 2.00 MiB (2 pub, 2 sub)");
        let words: Vec<&str> = screen[2].split_whitespace().collect();
        assert_eq!(words.join(" "), "TOPIC▾ RATE BANDWIDTH P50 P99 PUB SUB LOST BEHIND DOMAINS MEMORY");
        let words: Vec<&str> = screen[3].split_whitespace().collect();
        assert_eq!(words.join(" "), "lidar/points 50.0 Hz 50.0 KiB/s 1.50 µs 2.50 µs 1 1 4 3 host 1.00 MiB");
        assert!(screen[4].starts_with("pose"), "{}", screen[4]);
        assert!(screen[4].contains(" - "), "not sampled: {}", screen[4]);
        let title = screen.iter().find(|line| line.contains("150 published")).expect("the chosen topic");
        assert!(title.contains("lidar/points demo::Pose (flat), depth 1024"), "{title}");
        let line = screen.iter().find(|line| line.contains("subscriber")).expect("a participant");
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words.join(" ").contains("taken 5 lost 4 behind 3"), "{line}");
        assert_eq!(screen[29], "q quit  ↑↓ choose  s sort  / filter  r reverse");
    }

    #[test]
    fn every_domain_has_a_line_with_what_was_copied_into_it() {
        let mut app = app();
        let mut device = app.snapshot.domains[0].clone();
        (device.domain, device.copies, device.bytes_copied) = ("vulkan:0".to_owned(), 129, 34_000_000);
        app.snapshot.domains.push(device);
        let wide = screen(&mut app, 80, 30);
        assert_eq!(wide[1], "domains  host 2.00 MiB (2 pub, 2 sub)");
        assert_eq!(wide[2], "         vulkan:0 2.00 MiB (2 pub, 2 sub), 129 copies into it, 32.4 MiB");
        assert!(wide[3].starts_with("TOPIC"), "{}", wide[3]);
        assert!(screen(&mut app, 80, 10)[2].starts_with("TOPIC"), "a small terminal shows only the topics");
    }

    #[test]
    fn the_filter_is_shown_while_it_is_typed() {
        let mut app = app();
        for c in "/lid".chars() {
            app.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        }
        let screen = screen(&mut app, 120, 30);
        assert!(screen[3].starts_with("lidar/points") && screen[4].is_empty(), "{screen:?}");
        assert!(screen[29].starts_with("/lid█"), "{}", screen[29]);
    }

    #[test]
    fn names_of_other_processes_cannot_control_the_terminal() {
        let mut app = app();
        app.snapshot.topics[0].participants[0].node = "\u{1b}]0;x\u{7}\u{202e}evil\nrow".to_owned();
        app.snapshot.topics[0].type_name = "a\u{9b}2Jb\u{2066}".to_owned();
        let screen = screen(&mut app, 160, 30).join("\n");
        assert!(screen.contains(r"\u{1b}]0;x\u{7}\u{202e}evil\nrow"), "{screen}");
        assert!(screen.contains(r"a\u{9b}2Jb\u{2066}"), "{screen}");
    }

    #[test]
    fn every_size_of_terminal_works() {
        let mut many = app();
        let participants = vec![many.snapshot.topics[0].participants[0].clone(); 50];
        many.snapshot.topics[0].participants = participants;
        for (width, height) in [(1, 1), (20, 5), (40, 19), (60, 20), (300, 80)] {
            let lines = screen(&mut many, width, height);
            assert!(height != 20 || lines.iter().any(|line| line.contains("more")), "{lines:?}");
            screen(&mut App::new(String::new()), width, height);
        }
    }
}
