//! The state of `situ top` and its changes by keys, without a terminal.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::TableState;

use super::snapshot::{Snapshot, TopicFigures};

/// The number of rates of a topic that are kept for its curve.
const HISTORY: usize = 240;
/// The number of rows that a page key moves by.
const PAGE: usize = 10;

/// A column that the topics can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Name,
    Rate,
    Bandwidth,
    Latency,
    Subscribers,
    Lost,
    Memory,
}

impl Sort {
    /// All of them, in the order in which `s` cycles through them.
    pub const ALL: [Sort; 7] =
        [Sort::Name, Sort::Rate, Sort::Bandwidth, Sort::Latency, Sort::Subscribers, Sort::Lost, Sort::Memory];

    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// Sorts names ascending and figures descending.
    fn compare(self, a: &TopicFigures, b: &TopicFigures) -> Ordering {
        let order = match self {
            Sort::Name => Ordering::Equal,
            Sort::Rate => b.rate_hz.total_cmp(&a.rate_hz),
            Sort::Bandwidth => b.bytes_per_second.total_cmp(&a.bytes_per_second),
            Sort::Latency => b.p99_ns.cmp(&a.p99_ns),
            Sort::Subscribers => b.subscribers.cmp(&a.subscribers),
            Sort::Lost => b.lost.cmp(&a.lost),
            Sort::Memory => b.memory_bytes.cmp(&a.memory_bytes),
        };
        order.then_with(|| a.name.cmp(&b.name))
    }
}

/// What the program does after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Draw again.
    Continue,
    /// Quit.
    Quit,
}

/// The complete state of the screen.
#[derive(Debug)]
pub struct App {
    /// The root directory.
    pub root: String,
    /// The figures.
    pub snapshot: Snapshot,
    /// The column to sort by.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub reversed: bool,
    /// Only topics whose name or type contains this text are shown.
    pub filter: String,
    /// Whether keys go to the filter.
    pub typing: bool,
    /// The chosen row among the topics shown.
    pub table: TableState,
    /// The name of the topic in that row. It stays chosen when the order changes.
    chosen: Option<String>,
    rates: HashMap<String, VecDeque<f64>>,
}

impl App {
    /// The initial state, without figures.
    pub fn new(root: String) -> Self {
        Self {
            root,
            snapshot: Snapshot::default(),
            sort: Sort::Name,
            reversed: false,
            filter: String::new(),
            typing: false,
            table: TableState::default(),
            chosen: None,
            rates: HashMap::new(),
        }
    }

    /// Takes new figures.
    pub fn update(&mut self, snapshot: Snapshot) {
        self.rates.retain(|name, _| snapshot.topics.iter().any(|topic| topic.name == *name));
        for topic in &snapshot.topics {
            let rates = self.rates.entry(topic.name.clone()).or_default();
            rates.push_back(topic.rate_hz);
            if rates.len() > HISTORY {
                rates.pop_front();
            }
        }
        self.snapshot = snapshot;
        self.arrange();
    }

    /// The topics shown, in order.
    pub fn shown(&self) -> Vec<&TopicFigures> {
        let wanted = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let topics = self.snapshot.topics.iter();
        let mut shown: Vec<_> = topics.filter(|topic| has(&topic.name) || has(&topic.type_name)).collect();
        shown.sort_by(|a, b| {
            let order = self.sort.compare(a, b);
            if self.reversed { order.reverse() } else { order }
        });
        shown
    }

    /// The topic in the chosen row.
    pub fn selected(&self) -> Option<&TopicFigures> {
        self.shown().get(self.table.selected()?).copied()
    }

    /// The latest rates of a topic, oldest first.
    pub fn rates(&self, topic: &str) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.rates.get(topic).into_iter().flatten().copied()
    }

    /// Keeps the chosen topic chosen after a new order. If it is no longer shown, chooses the row that takes
    /// its place.
    fn arrange(&mut self) {
        let names: Vec<String> = self.shown().iter().map(|topic| topic.name.clone()).collect();
        let kept = self.chosen.as_ref().and_then(|chosen| names.iter().position(|name| name == chosen));
        self.select(kept.or(self.table.selected()).unwrap_or(0), &names);
    }

    fn select(&mut self, row: usize, names: &[String]) {
        let row = row.min(names.len().saturating_sub(1));
        self.chosen = names.get(row).cloned();
        self.table.select(self.chosen.is_some().then_some(row));
    }

    fn go(&mut self, step: impl FnOnce(usize) -> usize) {
        let names: Vec<String> = self.shown().iter().map(|topic| topic.name.clone()).collect();
        self.select(step(self.table.selected().unwrap_or(0)), &names);
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Action::Quit;
        }
        if self.typing {
            match key.code {
                KeyCode::Char(c) => self.filter.push(c),
                KeyCode::Backspace => _ = self.filter.pop(),
                KeyCode::Enter => self.typing = false,
                KeyCode::Esc => {
                    self.typing = false;
                    self.filter.clear();
                }
                _ => {}
            }
            self.arrange();
            return Action::Continue;
        }
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Esc if self.filter.is_empty() => return Action::Quit,
            KeyCode::Esc => {
                self.filter.clear();
                self.arrange();
            }
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('s') => {
                self.sort = self.sort.next();
                self.arrange();
            }
            KeyCode::Char('r') => {
                self.reversed = !self.reversed;
                self.arrange();
            }
            KeyCode::Up | KeyCode::Char('k') => self.go(|row| row.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.go(|row| row + 1),
            KeyCode::PageUp => self.go(|row| row.saturating_sub(PAGE)),
            KeyCode::PageDown => self.go(|row| row + PAGE),
            KeyCode::Home => self.go(|_| 0),
            KeyCode::End => self.go(|_| usize::MAX),
            _ => {}
        }
        Action::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(app: &mut App, keys: &str) -> Action {
        let mut last = Action::Continue;
        for c in keys.chars() {
            let code = match c {
                '\n' => KeyCode::Enter,
                '\x1b' => KeyCode::Esc,
                '\x08' => KeyCode::Backspace,
                'v' => KeyCode::Down,
                '^' => KeyCode::Up,
                c => KeyCode::Char(c),
            };
            last = app.key(KeyEvent::new(code, KeyModifiers::NONE));
        }
        last
    }

    fn figures(name: &str, rate_hz: f64, lost: u64) -> TopicFigures {
        TopicFigures { name: name.into(), rate_hz, lost, ..TopicFigures::default() }
    }

    fn app() -> App {
        let mut app = App::new("/root".into());
        app.update(Snapshot {
            topics: vec![figures("a", 1.0, 0), figures("b", 30.0, 1), figures("camera", 2.0, 9)],
            ..Snapshot::default()
        });
        app
    }

    fn names(app: &App) -> String {
        app.shown().iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn chosen(app: &App) -> &str {
        app.selected().map_or("", |topic| topic.name.as_str())
    }

    #[test]
    fn s_goes_through_the_columns_and_the_chosen_topic_stays_chosen() {
        let mut app = app();
        assert_eq!((names(&app).as_str(), chosen(&app)), ("a b camera", "a"));
        press(&mut app, "s");
        assert_eq!((app.sort, names(&app).as_str(), chosen(&app)), (Sort::Rate, "b camera a", "a"));
        press(&mut app, "r");
        assert_eq!((names(&app).as_str(), app.table.selected()), ("a camera b", Some(0)));
        press(&mut app, "rssss");
        assert_eq!((app.sort, names(&app).as_str()), (Sort::Lost, "camera b a"));
        press(&mut app, "ss");
        assert_eq!(app.sort, Sort::Name, "the columns repeat");
    }

    #[test]
    fn arrows_stop_at_the_ends() {
        let mut app = app();
        press(&mut app, "^");
        assert_eq!(chosen(&app), "a");
        press(&mut app, "vvvvv");
        assert_eq!(chosen(&app), "camera");
        app.key(KeyEvent::new(KeyCode::Home, KeyModifiers::NONE));
        assert_eq!(chosen(&app), "a");
        app.key(KeyEvent::new(KeyCode::End, KeyModifiers::NONE));
        assert_eq!(chosen(&app), "camera");
        app.update(Snapshot::default());
        assert!(app.selected().is_none());
        assert_eq!(press(&mut app, "v^"), Action::Continue);
    }

    #[test]
    fn the_filter_takes_keys_until_it_is_left() {
        let mut app = app();
        assert_eq!(press(&mut app, "/qs"), Action::Continue, "`q` is text while typing");
        assert_eq!((app.filter.as_str(), names(&app).as_str()), ("qs", ""));
        press(&mut app, "\x08\x08CAM\n");
        assert_eq!((names(&app).as_str(), chosen(&app), app.typing), ("camera", "camera", false));
        assert_eq!(press(&mut app, "\x1b"), Action::Continue, "the first Esc clears the filter");
        assert_eq!(names(&app), "a b camera");
        assert_eq!(press(&mut app, "\x1b"), Action::Quit);
        assert_eq!(press(&mut app, "q"), Action::Quit);
    }

    #[test]
    fn rates_are_kept_for_existing_topics() {
        let mut app = app();
        for rate in 0..300 {
            app.update(Snapshot { topics: vec![figures("a", rate.into(), 0)], ..Snapshot::default() });
        }
        assert_eq!((app.rates("a").count(), app.rates("a").next_back()), (HISTORY, Some(299.0)));
        assert_eq!(app.rates("b").count(), 0);
    }
}
