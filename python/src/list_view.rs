//! Sequences and arrays of texts, structs, unions and sequences, in a flat message that is held.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::Kind as Error;
use crate::view::{Access, ListView};

impl ListView {
    fn place(&self, index: isize) -> PyResult<u64> {
        let length = self.__len__() as isize;
        let at = if index < 0 { index + length } else { index };
        if at < 0 || at >= length {
            return Err(PyIndexError::new_err(format!(
                "`{}` has {length} elements, and no element {index}",
                self.name
            )));
        }
        let inner = self.lengths.iter().skip(1).product::<u64>();
        Ok(self.at + at as u64 * inner * self.element.size)
    }
}

#[pymethods]
impl ListView {
    fn __len__(&self) -> usize {
        self.lengths.first().map_or(0, |it| *it as usize)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let at = self.place(index)?;
        let memory = self.view.hold.memory(py)?;
        let name = format!("{}[{index}]", self.name);
        if self.lengths.len() > 1 {
            let (view, element) = (self.view.clone(), self.element.clone());
            let inner = Self { view, element, at, lengths: self.lengths[1..].to_vec(), name };
            return Ok(Bound::new(py, inner)?.into_any());
        }
        Access { py, view: &self.view, memory: &memory, name: &name }.value(&self.element, at)
    }

    fn __setitem__(&self, py: Python<'_>, index: isize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let at = self.place(index)?;
        let memory = self.view.hold.memory(py)?;
        let name = format!("{}[{index}]", self.name);
        if self.lengths.len() > 1 {
            return Err(Error::Conversion.error(py, "set the elements of its rows"));
        }
        Access { py, view: &self.view, memory: &memory, name: &name }.set(&self.element, at, value)
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        for index in 0..self.__len__() {
            if self.__getitem__(py, index as isize)?.eq(value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(length) = other.len() else { return Ok(false) };
        if length != self.__len__() {
            return Ok(false);
        }
        for index in 0..length {
            if !self.__getitem__(py, index as isize)?.eq(other.get_item(index)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let list = PyList::empty(py);
        let shown = self.__len__().min(8);
        for index in 0..shown {
            list.append(self.__getitem__(py, index as isize)?.repr()?)?;
        }
        let mut texts: Vec<String> = list.extract()?;
        if self.__len__() > shown {
            texts.push(format!("... {} elements", self.__len__()));
        }
        Ok(format!("[{}]", texts.join(", ")))
    }
}
