//! The screen of `situ top`: a summary line, the topics, the chosen topic, and the keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table};

use situ::layout::foreign::Foreign;

use super::app::{App, Sort};
use super::snapshot::{Participant, TopicFigures};
use crate::output::units;

/// The maximum number of lines for the chosen topic.
const DETAILS: u16 = 12;
/// With fewer lines than this, only the topics are shown.
const SMALL: u16 = 20;
/// The maximum number of lines for memory domains, one each.
const MAX_DOMAINS: usize = 4;
/// The headings of the columns, and the sort order of the sortable ones.
const COLUMNS: [(&str, Option<Sort>); 11] = [
    ("TOPIC", Some(Sort::Name)),
    ("RATE", Some(Sort::Rate)),
    ("BANDWIDTH", Some(Sort::Bandwidth)),
    ("P50", None),
    ("P99", Some(Sort::Latency)),
    ("PUB", None),
    ("SUB", Some(Sort::Subscribers)),
    ("LOST", Some(Sort::Lost)),
    ("BEHIND", None),
    ("DOMAINS", None),
    ("MEMORY", Some(Sort::Memory)),
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
    frame.render_widget(summary(app), head);
    topics(app, frame, body);
    if details > 0 {
        chosen(app, frame, foot);
    }
    frame.render_widget(hints(app), keys);
}

fn summary(app: &App) -> Paragraph<'_> {
    let snapshot = &app.snapshot;
    let rate: f64 = snapshot.topics.iter().map(|topic| topic.rate_hz).sum();
    let bytes: f64 = snapshot.topics.iter().map(|topic| topic.bytes_per_second).sum();
    let memory: u64 = snapshot.topics.iter().map(|topic| topic.memory_bytes).sum();
    let mut first = vec![
        "situ top".bold(),
        format!(
            "  {}   {} node(s), {} topic(s)   {}   {}   {}",
            app.root,
            snapshot.nodes,
            snapshot.topics.len(),
            units::hertz(rate),
            units::bandwidth(bytes),
            units::bytes(memory)
        )
        .into(),
    ];
    if snapshot.dead_nodes > 0 {
        first.push(format!("   {} dead node(s)", snapshot.dead_nodes).fg(Color::Yellow));
    }
    let mut lines = vec![Line::from(first)];
    for (index, domain) in snapshot.domains.iter().enumerate() {
        let mut text = format!(
            "{} {} ({} pub, {} sub)",
            domain.domain,
            units::bytes(domain.memory_bytes),
            domain.publishers,
            domain.subscribers
        );
        if domain.copies > 0 {
            let copied = units::bytes(domain.bytes_copied);
            text.push_str(&format!(", {} copies into it, {copied}", domain.copies));
        }
        lines.push(Line::from(vec![if index == 0 { "domains  " } else { "         " }.dim(), text.into()]));
    }
    Paragraph::new(lines)
}

fn topics(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let header = Row::new(COLUMNS.map(|(name, sort)| {
        let mark = match (sort == Some(app.sort), app.reversed) {
            (false, _) => "",
            (true, false) => "▾",
            (true, true) => "▴",
        };
        let text = format!("{name}{mark}");
        let style = if mark.is_empty() { Style::new().dim() } else { Style::new().bold() };
        if matches!(name, "TOPIC" | "DOMAINS") {
            Cell::new(text).style(style)
        } else {
            Cell::new(Line::from(text).right_aligned()).style(style)
        }
    }));
    let rows: Vec<Row<'static>> = app.shown().into_iter().map(row).collect();
    let widths = [
        Constraint::Min(16),
        Constraint::Length(9),
        Constraint::Length(11),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(4),
        Constraint::Length(4),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(16),
        Constraint::Length(9),
    ];
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

fn row(topic: &TopicFigures) -> Row<'static> {
    let right = |text: String| Cell::new(Line::from(text).right_aligned());
    let age = |ns: Option<u64>| right(ns.map_or_else(|| "-".into(), units::duration));
    let lost = right(topic.lost.to_string());
    Row::new([
        Cell::new(Foreign(&topic.name).to_string().bold()),
        right(units::hertz(topic.rate_hz)),
        right(units::bandwidth(topic.bytes_per_second)),
        age(topic.p50_ns),
        age(topic.p99_ns),
        right(topic.publishers.to_string()),
        right(topic.subscribers.to_string()),
        // Current losses matter more than past ones.
        match topic.lost_per_second > 0.0 {
            true => lost.style(Style::new().fg(Color::Red)),
            false if topic.lost > 0 => lost.style(Style::new().fg(Color::Yellow)),
            false => lost,
        },
        right(topic.behind.to_string()),
        Cell::new(topic.domains.join(" ")),
        right(units::bytes(topic.memory_bytes)),
    ])
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
    let mut lines: Vec<Line<'_>> = topic.participants.iter().take(shown).map(participant).collect();
    if left > 0 {
        lines.push(Line::from(format!("and {left} more").dim()));
    }
    frame.render_widget(Paragraph::new(lines), people);
}

fn participant(it: &Participant) -> Line<'static> {
    let pid = it.pid.map_or_else(|| "-".into(), |pid| pid.to_string());
    let figures = if it.role == "publisher" {
        format!("memory {}", units::bytes(it.memory_bytes))
    } else {
        format!("taken {}  lost {}  behind {}", it.taken, it.lost, it.behind)
    };
    let mut spans = vec![
        format!("{:<11}", it.role).dim(),
        format!("{:<24} ", Foreign(&it.node).to_string()).bold(),
        format!("{pid:>8}  {:<12}  {figures}", it.domain).into(),
    ];
    if let Some(waits) = &it.waits {
        spans.push(format!("  {waits}").fg(Color::Red));
    }
    if !it.alive {
        spans.push("  gone".fg(Color::Yellow));
    }
    Line::from(spans)
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
    let mut spans = vec!["q quit  ↑↓ choose  s sort  r reverse  / filter".dim()];
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
            "situ top  /dev/shm/situ-0   0 node(s), 2 topic(s)   50.0 Hz   50.0 KiB/s   2.00 MiB"
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
        assert!(
            screen
                .iter()
                .any(|line| line.contains("subscriber") && line.contains("taken 5  lost 4  behind 3"))
        );
        assert_eq!(screen[29], "q quit  ↑↓ choose  s sort  r reverse  / filter");
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
