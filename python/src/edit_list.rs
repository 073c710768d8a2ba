//! Sequences and arrays of a region that is being written, with the methods of lists.

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySequence, PySlice, PyTuple};
use situ_region::dynamic::Step;
use situ_schema::dynamic::{Value, insert_in_region};
use situ_schema::model::Primitive;

use crate::convert::{Fail, item_bytes, to_value};
use crate::edit::{EditList, Spot};
use crate::errors::Kind as Error;
use crate::types::{Item, Kind};

impl EditList {
    fn at(&self, index: u32) -> Spot {
        self.spot.to([Step::Element(index)], format!("{}[{index}]", self.spot.name))
    }

    fn length(&self, py: Python<'_>) -> PyResult<u32> {
        self.spot.with(py, |loan| loan.len(&self.spot.way))
    }

    fn index(&self, py: Python<'_>, index: isize) -> PyResult<u32> {
        let length = self.length(py)?;
        let at = if index < 0 { index + length as isize } else { index };
        match u32::try_from(at) {
            Ok(at) if at < length => Ok(at),
            _ => {
                let text = format!("`{}` has {length} elements, and no element {index}", self.spot.name);
                Err(PyIndexError::new_err(text))
            }
        }
    }

    fn grows(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_fixed {
            let text = format!("`{}` is an array: its length is fixed", self.spot.name);
            return Err(Error::Conversion.error(py, text));
        }
        Ok(())
    }

    fn value(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        let value = to_value(py, &self.spot.view.types, &self.element, object);
        value.map_err(|fail| fail.within(&self.spot.name).raise(py))
    }

    /// Inserts values. If not all fit, none is inserted.
    fn insert_all(&self, py: Python<'_>, index: u32, values: &[Value]) -> PyResult<()> {
        let schema = &self.spot.view.types.schema;
        self.spot.with(py, |loan| {
            let way = &self.spot.way;
            let length = loan.len(way)?;
            for (at, value) in (index..).zip(values) {
                let place = loan.edit(way)?;
                let inserted = insert_in_region(schema, place, (&self.element.ty, self.bound), at, value);
                if let Err(error) = inserted {
                    loan.edit(way)?.remove(index..at)?;
                    return Err(error.into());
                }
            }
            if index < length && !values.is_empty() {
                loan.note_below(way);
            }
            Ok(())
        })
    }

    fn remove_range(&self, py: Python<'_>, first: u32, end: u32) -> PyResult<()> {
        self.spot.with(py, |loan| {
            loan.edit(&self.spot.way)?.remove(first..end)?;
            loan.note_below(&self.spot.way);
            Ok(())
        })
    }

    fn find(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let mut index = 0;
        // The length may change: comparing runs code of Python.
        while index < self.length(py)? {
            if self.at(index).object(py, &self.element)?.eq(value)? {
                return Ok(Some(index));
            }
            index += 1;
        }
        Ok(None)
    }

    fn missing(&self, value: &Bound<'_, PyAny>) -> PyErr {
        let shown = value.repr().map_or_else(|_| "?".to_owned(), |it| it.to_string());
        PyValueError::new_err(format!("{shown} is not in `{}`", self.spot.name))
    }

    fn slice(&self, py: Python<'_>, slice: &Bound<'_, PySlice>) -> PyResult<Vec<u32>> {
        let indices = slice.indices(self.length(py)? as isize)?;
        let steps = (0..indices.slicelength as isize).map(|it| indices.start + it * indices.step);
        Ok(steps.map(|it| it as u32).collect())
    }
}

#[pymethods]
impl EditList {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.length(py)? as usize)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let all = PyList::empty(py);
            for index in self.slice(py, slice)? {
                all.append(self.at(index).object(py, &self.element)?)?;
            }
            return Ok(all.into_any());
        }
        self.at(self.index(py, index.extract()?)?).object(py, &self.element)
    }

    fn __setitem__(&self, py: Python<'_>, index: isize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = self.value(py, value)?;
        self.at(self.index(py, index)?).set(py, &self.element, &value)
    }

    fn __delitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<()> {
        self.grows(py)?;
        let Ok(slice) = index.cast::<PySlice>() else {
            let index = self.index(py, index.extract()?)?;
            return self.remove_range(py, index, index + 1);
        };
        let mut indices = self.slice(py, slice)?;
        indices.sort_unstable();
        match indices[..] {
            [] => Ok(()),
            [first, .., last] if last - first + 1 == indices.len() as u32 => {
                self.remove_range(py, first, last + 1)
            }
            _ => indices.iter().rev().try_for_each(|index| self.remove_range(py, *index, index + 1)),
        }
    }

    /// Appends an element.
    fn append(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.grows(py)?;
        let value = self.value(py, value)?;
        self.insert_all(py, self.length(py)?, &[value])
    }

    /// Appends all elements. If there is no room for all, none is appended.
    fn extend(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        self.grows(py)?;
        let item = match &self.element.kind {
            // Characters may be given as text.
            Kind::Primitive(Primitive::Char8 | Primitive::WChar) => None,
            Kind::Primitive(it) => Some(Item::number(*it)),
            _ => None,
        };
        if let Some(item) = item {
            let packed: Result<Vec<u8>, Fail> = item_bytes(py, &item, values, None);
            let bytes = packed.map_err(|fail| fail.within(&self.spot.name).raise(py))?;
            let more = bytes.len() as u64 / item.size;
            let length = self.length(py)?;
            if let Some(bound) = self.bound.filter(|bound| u64::from(length) + more > u64::from(*bound)) {
                let text = format!("`{}`: more elements exceed the bound {bound}", self.spot.name);
                return Err(Error::Conversion.error(py, text));
            }
            return self.spot.with(py, |loan| {
                let length = loan.len(&self.spot.way)?;
                Ok(loan.edit(&self.spot.way)?.insert_bytes(length, &bytes)?)
            });
        }
        let mut all = Vec::new();
        for value in values.try_iter()? {
            all.push(self.value(py, &value?)?);
        }
        self.insert_all(py, self.length(py)?, &all)
    }

    fn __iadd__(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        self.extend(py, values)
    }

    /// Inserts an element before another. Views of the elements behind it become stale.
    fn insert(&self, py: Python<'_>, index: isize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.grows(py)?;
        let value = self.value(py, value)?;
        let length = self.length(py)? as isize;
        let at = if index < 0 { (index + length).max(0) } else { index.min(length) };
        self.insert_all(py, at as u32, &[value])
    }

    /// Removes an element, and returns a copy of it.
    #[pyo3(signature = (index = -1))]
    fn pop<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        self.grows(py)?;
        let index = self.index(py, index)?;
        let last = self.at(index).copy(py, &self.element)?;
        self.remove_range(py, index, index + 1)?;
        Ok(last)
    }

    /// Removes the first element that is equal to a value.
    fn remove(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.grows(py)?;
        match self.find(py, value)? {
            Some(index) => self.remove_range(py, index, index + 1),
            None => Err(self.missing(value)),
        }
    }

    /// Removes all elements.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.grows(py)?;
        self.remove_range(py, 0, self.length(py)?)
    }

    /// Appends default elements, or removes elements at the end, so that there are `count`.
    fn resize(&self, py: Python<'_>, count: u32) -> PyResult<()> {
        self.grows(py)?;
        let length = self.length(py)?;
        if count <= length {
            return if count < length { self.remove_range(py, count, length) } else { Ok(()) };
        }
        if let Some(bound) = self.bound.filter(|bound| count > *bound) {
            let text = format!("`{}`: {count} elements exceed the bound {bound}", self.spot.name);
            return Err(Error::Conversion.error(py, text));
        }
        self.spot.with(py, |loan| {
            loan.edit(&self.spot.way)?.reserve(count)?;
            for index in length..count {
                let inserted = loan.edit(&self.spot.way)?.insert(index).map(drop);
                if let Err(error) = inserted {
                    loan.edit(&self.spot.way)?.remove(length..index)?;
                    return Err(error.into());
                }
            }
            Ok(())
        })
    }

    /// Reverses the elements. Views of them become stale.
    fn reverse(&self, py: Python<'_>) -> PyResult<()> {
        self.grows(py)?;
        self.spot.with(py, |loan| {
            let order: Vec<u32> = (0..loan.len(&self.spot.way)?).rev().collect();
            loan.edit(&self.spot.way)?.reorder(&order)?;
            loan.note_below(&self.spot.way);
            Ok(())
        })
    }

    /// Exchanges two elements. Views of them become stale.
    fn swap(&self, py: Python<'_>, first: isize, second: isize) -> PyResult<()> {
        self.grows(py)?;
        let (first, second) = (self.index(py, first)?, self.index(py, second)?);
        self.spot.with(py, |loan| {
            let mut order: Vec<u32> = (0..loan.len(&self.spot.way)?).collect();
            order.swap(first as usize, second as usize);
            loan.edit(&self.spot.way)?.reorder(&order)?;
            loan.note_below(&self.spot.way);
            Ok(())
        })
    }

    /// The position of the first element that is equal to a value.
    #[pyo3(name = "index")]
    fn index_of(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<u32> {
        self.find(py, value)?.ok_or_else(|| self.missing(value))
    }

    /// How many elements are equal to a value.
    fn count(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (mut count, mut index) = (0, 0);
        while index < self.length(py)? {
            count += usize::from(self.at(index).object(py, &self.element)?.eq(value)?);
            index += 1;
        }
        Ok(count)
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.find(py, value)?.is_some())
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let is_sequence = other.cast::<PySequence>().is_ok() && !other.is_instance_of::<PyTuple>();
        if !is_sequence || other.len()? != self.__len__(py)? {
            return Ok(false);
        }
        let mut index = 0;
        while index < self.length(py)? {
            if !self.at(index).object(py, &self.element)?.eq(other.get_item(index)?)? {
                return Ok(false);
            }
            index += 1;
        }
        Ok(true)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (length, mut texts) = (self.length(py)?, Vec::new());
        for index in 0..length.min(8) {
            texts.push(self.at(index).object(py, &self.element)?.repr()?.to_string());
        }
        if length > 8 {
            texts.push(format!("... {length} elements"));
        }
        Ok(format!("[{}]", texts.join(", ")))
    }
}
