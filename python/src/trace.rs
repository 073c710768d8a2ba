//! Slices and instants of Python's code in traces.
//!
//! Names and categories of traces live as long as the process. Those that Python's code uses are kept in a
//! table, which has a limit: a program that makes names of numbers does not fill the memory.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};
use situ_trace::{Argument, Category, Event, Kind, Label, Name, Value};

use crate::sync::lock;

/// How many names, and how many categories, are kept. Further names are written as `OTHER`.
const MAX_NAMES: usize = 4096;
/// The number of arguments of an event.
const MAX_ARGUMENTS: usize = 16;

static OTHER: Name = Name::new("(other)");
static NAMES: LazyLock<Mutex<HashMap<String, &'static Name>>> = LazyLock::new(Mutex::default);
static CATEGORIES: LazyLock<Mutex<HashMap<String, &'static Category>>> = LazyLock::new(Mutex::default);
static PYTHON: Category = Category::new("python");

fn name(text: &str) -> &'static Name {
    let mut names = lock(&NAMES);
    if let Some(name) = names.get(text) {
        return name;
    }
    if names.len() >= MAX_NAMES {
        return &OTHER;
    }
    let made: &'static Name = Box::leak(Box::new(Name::new(Box::leak(text.to_owned().into_boxed_str()))));
    names.insert(text.to_owned(), made);
    made
}

fn category(text: &str) -> &'static Category {
    if text == "python" {
        return &PYTHON;
    }
    let mut categories = lock(&CATEGORIES);
    if let Some(category) = categories.get(text) {
        return category;
    }
    if categories.len() >= MAX_NAMES {
        return &PYTHON;
    }
    let name: &'static str = Box::leak(text.to_owned().into_boxed_str());
    let made: &'static Category = Box::leak(Box::new(Category::new(name)));
    categories.insert(text.to_owned(), made);
    made
}

/// Whether a category's events are recorded at the moment.
#[pyfunction]
#[pyo3(signature = (category = "python"))]
pub fn trace_enabled(category: &str) -> bool {
    self::category(category).is_enabled()
}

enum Kept {
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
}

/// Begins a slice, or writes an instant. Returns whether something was written.
#[pyfunction]
pub fn trace_event(
    is_instant: bool,
    name: &str,
    category: &str,
    flow: Option<u64>,
    arguments: &Bound<'_, PyDict>,
) -> PyResult<bool> {
    let category = self::category(category);
    if !category.is_enabled() {
        return Ok(false);
    }
    let mut kept = Vec::new();
    for (key, value) in arguments.iter().take(MAX_ARGUMENTS) {
        let key: String = key.extract()?;
        let value = if let Ok(it) = value.cast::<PyBool>() {
            Kept::Bool(it.is_true())
        } else if value.is_instance_of::<PyInt>() {
            value.extract().map_or_else(|_| Kept::Text(value.to_string()), Kept::Int)
        } else if value.is_instance_of::<PyFloat>() {
            Kept::Double(value.extract()?)
        } else {
            Kept::Text(value.str()?.to_string())
        };
        kept.push((self::name(&key), value));
    }
    let arguments: Vec<Argument<'_>> = kept
        .iter()
        .map(|(name, value)| {
            let value = match value {
                Kept::Bool(it) => Value::Bool(*it),
                Kept::Int(it) => Value::Int(*it),
                Kept::Double(it) => Value::Double(*it),
                Kept::Text(it) => Value::Text(it),
            };
            Argument { name: Label::Known(name), value }
        })
        .collect();
    let kind = if is_instant { Kind::Instant } else { Kind::Begin };
    situ_trace::write_event(&Event {
        flows: flow.as_slice(),
        arguments: &arguments,
        ..Event::new(kind, Some(category), Some(Label::Known(self::name(name))))
    });
    Ok(true)
}

/// Ends the slice that began last on this thread.
#[pyfunction]
pub fn trace_end() {
    situ_trace::write_event(&Event::new(Kind::End, None, None));
}
