//! A layer for `tracing-subscriber`: spans become slices, events become messages of a log.
//!
//! ```
//! use tracing_subscriber::prelude::*;
//!
//! tracing_subscriber::registry().with(situ_trace::layer::layer()).init();
//! ```
//!
//! The category is the target of a span or event, so that `--category my_crate*` selects a crate. The fields
//! that a span has when it is entered are the arguments of its slice. An event has the name of its level; its
//! text is its message, followed by its other fields, which are also its arguments.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use tracing_core::callsite::Identifier;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::category::Category;
use super::event::{Event, Kind};
use super::log::{Log, Severity};
use super::names::{Label, Name};
use super::process::now_ns;
use super::thread;
use super::value::{Argument, Value};

/// Creates a layer that writes into Situ's traces.
pub fn layer() -> TraceLayer {
    TraceLayer { _private: () }
}

/// Writes spans and events into Situ's traces. Created by [`layer`].
#[derive(Debug, Clone, Default)]
pub struct TraceLayer {
    _private: (),
}

/// The names of a span or event. They last as long as the program.
struct Site {
    category: &'static Category,
    name: Name,
    /// In the order of the metadata's fields.
    fields: Vec<Name>,
    /// The index of the field with the message of an event.
    message: Option<usize>,
    severity: Severity,
    file: &'static str,
    line: u32,
}

#[derive(Default)]
struct Sites {
    sites: HashMap<Identifier, &'static Site>,
    categories: HashMap<&'static str, &'static Category>,
}

static SITES: RwLock<Option<Sites>> = RwLock::new(None);

/// Returns the site of a span or event. It is never freed, because the source has a limited number of them.
fn site(metadata: &'static Metadata<'static>) -> &'static Site {
    let id = metadata.callsite();
    {
        let sites = SITES.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(site) = sites.as_ref().and_then(|sites| sites.sites.get(&id)) {
            return site;
        }
    }
    let mut sites = SITES.write().unwrap_or_else(PoisonError::into_inner);
    let Sites { sites, categories } = sites.get_or_insert_default();
    sites.entry(id).or_insert_with(|| {
        let target = metadata.target();
        let category =
            *categories.entry(target).or_insert_with(|| Box::leak(Box::new(Category::new(target))));
        Box::leak(Box::new(Site {
            category,
            name: Name::new(metadata.name()),
            fields: metadata.fields().iter().map(|field| Name::new(field.name())).collect(),
            message: metadata.fields().field("message").map(|field| field.index()),
            severity: severity(*metadata.level()),
            file: metadata.file().unwrap_or_default(),
            line: metadata.line().unwrap_or_default(),
        }))
    })
}

fn severity(level: Level) -> Severity {
    match level {
        Level::TRACE => Severity::Trace,
        Level::DEBUG => Severity::Debug,
        Level::INFO => Severity::Info,
        Level::WARN => Severity::Warn,
        Level::ERROR => Severity::Error,
    }
}

/// A recorded value.
#[derive(Debug)]
enum Recorded {
    Bool(bool),
    Uint(u64),
    Int(i64),
    Double(f64),
    Text(String),
}

impl Recorded {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Double(value) => Value::Double(*value),
            Self::Text(value) => Value::Text(value),
        }
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(out),
            Self::Uint(value) => value.fmt(out),
            Self::Int(value) => value.fmt(out),
            Self::Double(value) => value.fmt(out),
            Self::Text(value) => value.fmt(out),
        }
    }
}

/// The values of a span or event, by their fields' indices.
#[derive(Debug, Default)]
struct Values(Vec<(usize, Recorded)>);

impl Values {
    fn put(&mut self, field: &Field, value: Recorded) {
        match self.0.iter_mut().find(|(place, _)| *place == field.index()) {
            Some((_, known)) => *known = value,
            None => self.0.push((field.index(), value)),
        }
    }
}

impl Visit for Values {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Recorded::Bool(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, Recorded::Uint(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Recorded::Int(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Recorded::Double(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Recorded::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Recorded::Text(format!("{value:?}")));
    }
}

impl Values {
    /// Returns them as arguments. `without` is the index of a field that is none.
    fn arguments(&self, site: &'static Site, without: Option<usize>) -> Vec<Argument<'_>> {
        let fields = self.0.iter().filter(|(index, _)| Some(*index) != without);
        fields
            .filter_map(|(index, value)| {
                Some(Argument { name: Label::Known(site.fields.get(*index)?), value: value.value() })
            })
            .collect()
    }

    /// Returns the text of an event: its message, then its other fields.
    fn text(&self, site: &'static Site) -> String {
        let message = self.0.iter().find(|(index, _)| Some(*index) == site.message);
        let mut text = message.map(|(_, message)| message.to_string()).unwrap_or_default();
        for (index, value) in self.0.iter().filter(|(index, _)| Some(*index) != site.message) {
            if let Some(name) = site.fields.get(*index) {
                let space = if text.is_empty() { "" } else { " " };
                text.push_str(&format!("{space}{}={value}", name.text()));
            }
        }
        text
    }
}

fn begin(site: &'static Site, values: &Values) {
    let event = Event::new(Kind::Begin, Some(site.category), Some(Label::Known(&site.name)));
    thread::write(&Event { arguments: &values.arguments(site, None), ..event });
}

thread_local! {
    /// One bit for each span that this thread is in, the innermost lowest: whether its slice was begun. Spans
    /// beyond the last bit count as not begun.
    static BEGUN: Cell<u128> = const { Cell::new(0) };
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TraceLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut values = Values::default();
            attributes.record(&mut values);
            span.extensions_mut().insert(values);
        }
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(values) = span.extensions_mut().get_mut::<Values>()
        {
            record.record(values);
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let mut is_begun = false;
        if let Some(span) = context.span(id) {
            let site = site(span.metadata());
            if site.category.is_enabled() {
                is_begun = true;
                match span.extensions().get::<Values>() {
                    Some(values) => begin(site, values),
                    None => begin(site, &Values::default()),
                }
            }
        }
        BEGUN.set(BEGUN.get() << 1 | u128::from(is_begun));
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        let begun = BEGUN.get();
        BEGUN.set(begun >> 1);
        if begun & 1 != 0 {
            thread::write(&Event::end(now_ns()));
        }
    }

    fn on_event(&self, event: &tracing_core::Event<'_>, _: Context<'_, S>) {
        let site = site(event.metadata());
        if site.category.is_enabled() {
            let mut values = Values::default();
            event.record(&mut values);
            let text = values.text(site);
            let log = Log { severity: site.severity, text: &text, file: site.file, line: site.line };
            thread::write(&Event::log(site.category, log, &values.arguments(site, site.message)));
        }
    }
}
