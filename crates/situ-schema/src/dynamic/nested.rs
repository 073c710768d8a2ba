//! Arrays of several dimensions. A value holds them as lists of lists; in bytes, their elements follow each
//! other.

use std::borrow::Cow;

use situ_layout::NoMemory;

use super::error::{ReadError, WriteError, WriteProblem, other_type};
use super::value::{Numbers, Value};
use super::{Budget, memory};

/// Splits the elements of an array, in the order of their bytes, into lists by its dimensions.
pub(super) fn nest(elements: Value, dimensions: &[u32], budget: &mut Budget) -> Result<Value, ReadError> {
    let mut nested = elements;
    for length in dimensions.iter().skip(1).rev() {
        let length = *length as usize;
        let count = match &nested {
            Value::Numbers(numbers) => numbers.len(),
            Value::List(values) => values.len(),
            _ => return Ok(nested),
        };
        budget.take((count / length.max(1)) as u64)?;
        nested = Value::List(match nested {
            Value::Numbers(numbers) => split_numbers(&numbers, length)?,
            Value::List(values) => {
                let mut rest = values.into_iter();
                let mut lists = Vec::new();
                for _ in 0..count / length.max(1) {
                    let mut list = Vec::new();
                    for value in rest.by_ref().take(length) {
                        memory::push(&mut list, value)?;
                    }
                    memory::push(&mut lists, Value::List(list))?;
                }
                lists
            }
            other => return Ok(other),
        });
    }
    Ok(nested)
}

fn split_numbers(numbers: &Numbers, length: usize) -> Result<Vec<Value>, NoMemory> {
    macro_rules! split {
        ($($kind:ident)*) => {
            match numbers {
                $(Numbers::$kind(all) => {
                    let mut lists = Vec::new();
                    for part in all.chunks_exact(length.max(1)) {
                        let part = memory::list(part.iter().copied())?;
                        memory::push(&mut lists, Value::Numbers(Numbers::$kind(part)))?;
                    }
                    Ok(lists)
                })*
            }
        };
    }
    split!(U8 I8 U16 I16 U32 I32 U64 I64 F32 F64)
}

/// Returns the elements of an array in the order of their bytes. The value must have its dimensions.
pub(super) fn elements<'v>(value: &'v Value, dimensions: &[u32]) -> Result<Cow<'v, Value>, WriteError> {
    if let [length] = dimensions {
        check_count(value, *length)?;
        return Ok(Cow::Borrowed(value));
    }
    let mut elements = Vec::new();
    collect(value, dimensions, &mut elements)?;
    Ok(Cow::Owned(Value::List(elements)))
}

fn collect(value: &Value, dimensions: &[u32], elements: &mut Vec<Value>) -> Result<(), WriteError> {
    let Some((length, inner)) = dimensions.split_first() else {
        elements.push(value.clone());
        return Ok(());
    };
    check_count(value, *length)?;
    match value {
        Value::Numbers(numbers) if inner.is_empty() => {
            elements.extend((0..numbers.len()).filter_map(|at| numbers.get(at)));
            Ok(())
        }
        Value::List(values) => {
            let mut each = values.iter().enumerate();
            each.try_for_each(|(at, it)| collect(it, inner, elements).map_err(|error| error.in_element(at)))
        }
        other => Err(other_type("a list of lists", other)),
    }
}

fn check_count(value: &Value, length: u32) -> Result<(), WriteError> {
    let found = match value {
        Value::Numbers(numbers) => numbers.len(),
        Value::List(values) => values.len(),
        other => return Err(other_type("a list", other)),
    };
    if found as u64 != u64::from(length) {
        return Err(WriteProblem::OtherCount { expected: length.into(), found: found as u64 }.into());
    }
    Ok(())
}
