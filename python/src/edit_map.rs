//! Maps and sets of a region that is being written, with the methods of dicts and sets.

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyTuple};
use situ_region::dynamic::{OwnedKey, Step};
use situ_schema::dynamic::{Value, key_of, set_key_in_region};

use crate::convert::to_value;
use crate::edit::{EditMap, EditSet, Spot, has_parts, key_object};
use crate::errors::Kind as Error;
use crate::types::Part;

/// An object as a key. `None` if it is none of the type.
fn key(py: Python<'_>, spot: &Spot, part: &Part, object: &Bound<'_, PyAny>) -> Option<(Value, OwnedKey)> {
    let types = &spot.view.types;
    let value = to_value(py, types, part, object).ok()?;
    let key = key_of(&types.schema, &part.ty, &value).ok()?;
    Some((value, key))
}

/// As `key`, with an exception for an object that is no key.
fn good_key(
    py: Python<'_>,
    spot: &Spot,
    part: &Part,
    object: &Bound<'_, PyAny>,
) -> PyResult<(Value, OwnedKey)> {
    let types = &spot.view.types;
    let value = to_value(py, types, part, object).map_err(|fail| fail.within(&spot.name).raise(py))?;
    let key = key_of(&types.schema, &part.ty, &value).map_err(|error| Error::Conversion.error(py, error))?;
    Ok((value, key))
}

fn missing(object: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err(object.clone().unbind())
}

/// An iterator over a list that was made now.
fn iterate<'py>(list: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
    Ok(list.try_iter()?.into_any())
}

impl EditMap {
    fn at(&self, key: &OwnedKey) -> Spot {
        let shown = match key {
            OwnedKey::Integer(it) => it.to_string(),
            OwnedKey::Float(it) => format!("{:?}", f32::from_bits(*it)),
            OwnedKey::Double(it) => format!("{:?}", f64::from_bits(*it)),
            OwnedKey::Text(it) => format!("{it:?}"),
        };
        self.spot.to([Step::Key(key.clone())], format!("{}[{shown}]", self.spot.name))
    }

    fn all_keys(&self, py: Python<'_>) -> PyResult<Vec<OwnedKey>> {
        self.spot.with(py, |loan| loan.keys(&self.spot.way))
    }

    fn has(&self, py: Python<'_>, key: &OwnedKey) -> PyResult<bool> {
        self.spot.with(py, |loan| Ok(loan.part(&self.spot.way)?.contains(key.borrow())))
    }

    /// The value of a key, if it has one.
    fn find<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(OwnedKey, Bound<'py, PyAny>)>> {
        let Some((_, key)) = key(py, &self.spot, &self.key, object) else { return Ok(None) };
        if !self.has(py, &key)? {
            return Ok(None);
        }
        let value = self.at(&key).object(py, &self.value)?;
        Ok(Some((key, value)))
    }

    fn put(&self, py: Python<'_>, key: (&Value, &OwnedKey), value: &Value) -> PyResult<()> {
        let schema = &self.spot.view.types.schema;
        let at = self.at(key.1);
        self.spot.with(py, |loan| {
            let place = loan.edit(&self.spot.way)?;
            let was_there = place.as_part().contains(key.1.borrow());
            let types = (&self.key.ty, &self.value.ty, self.bound);
            let set = set_key_in_region(schema, place, types, (key.0, value));
            if was_there && has_parts(&self.value) {
                loan.note_replaced(&at.way);
            }
            Ok(set?)
        })
    }

    fn take(&self, py: Python<'_>, key: &OwnedKey) -> PyResult<bool> {
        let at = self.at(key);
        self.spot.with(py, |loan| {
            let removed = loan.edit(&self.spot.way)?.remove_key(key.borrow())?;
            if removed && has_parts(&self.value) {
                loan.note_replaced(&at.way);
            }
            Ok(removed)
        })
    }
}

#[pymethods]
impl EditMap {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.spot.with(py, |loan| loan.len(&self.spot.way))? as usize)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.find(py, key)?.map(|(_, value)| value).ok_or_else(|| missing(key))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key_value, key) = good_key(py, &self.spot, &self.key, key)?;
        let value = to_value(py, &self.spot.view.types, &self.value, value);
        let value = value.map_err(|fail| fail.within(&self.at(&key).name).raise(py))?;
        self.put(py, (&key_value, &key), &value)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let found = self::key(py, &self.spot, &self.key, key);
        match found {
            Some((_, found)) if self.take(py, &found)? => Ok(()),
            _ => Err(missing(key)),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self::key(py, &self.spot, &self.key, key) {
            Some((_, key)) => self.has(py, &key),
            None => Ok(false),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        iterate(&self.keys(py)?)
    }

    /// The keys, in the order in which they lie in the region.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let keys = PyList::empty(py);
        for key in self.all_keys(py)? {
            keys.append(key_object(py, &self.spot, &self.key, &key)?)?;
        }
        Ok(keys)
    }

    /// The values, in the order of the keys.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let values = PyList::empty(py);
        for key in self.all_keys(py)? {
            values.append(self.at(&key).object(py, &self.value)?)?;
        }
        Ok(values)
    }

    /// The keys with their values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let items = PyList::empty(py);
        for key in self.all_keys(py)? {
            let value = self.at(&key).object(py, &self.value)?;
            items.append((key_object(py, &self.spot, &self.key, &key)?, value))?;
        }
        Ok(items)
    }

    /// The value of a key, or `default`.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.find(py, key)? {
            Some((_, value)) => Ok(value),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// Removes a key, and returns a copy of its value. Without the key, returns `default` if it is given.
    #[pyo3(signature = (key, *default))]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if default.len() > 1 {
            return Err(PyTypeError::new_err("pop takes a key and at most one default"));
        }
        if let Some((_, found)) = self::key(py, &self.spot, &self.key, key)
            && self.has(py, &found)?
        {
            let value = self.at(&found).copy(py, &self.value)?;
            self.take(py, &found)?;
            return Ok(value);
        }
        default.get_item(0).map_err(|_| missing(key))
    }

    /// Removes the last key, and returns it with a copy of its value.
    fn popitem<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let Some(key) = self.all_keys(py)?.pop() else {
            return Err(PyKeyError::new_err(format!("`{}` is empty", self.spot.name)));
        };
        let value = self.at(&key).copy(py, &self.value)?;
        self.take(py, &key)?;
        Ok((key_object(py, &self.spot, &self.key, &key)?, value))
    }

    /// The value of a key. If it is missing, `default` becomes its value; without `default`, that of its
    /// type.
    #[pyo3(signature = (key, default = None))]
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (key_value, found) = good_key(py, &self.spot, &self.key, key)?;
        if !self.has(py, &found)? {
            match default {
                Some(default) => {
                    let value = to_value(py, &self.spot.view.types, &self.value, default);
                    let value = value.map_err(|fail| fail.within(&self.at(&found).name).raise(py))?;
                    self.put(py, (&key_value, &found), &value)?;
                }
                None => {
                    let count = self.__len__(py)? as u64 + 1;
                    if let Some(bound) = self.bound.filter(|bound| count > u64::from(*bound)) {
                        let text = format!("`{}`: {count} entries exceed the bound {bound}", self.spot.name);
                        return Err(Error::Conversion.error(py, text));
                    }
                    self.spot.with(py, |loan| {
                        loan.edit(&self.spot.way)?.insert_key(found.borrow())?;
                        Ok(())
                    })?;
                }
            }
        }
        self.at(&found).object(py, &self.value)
    }

    /// Sets the values of several keys, of a mapping, of pairs, or of names.
    #[pyo3(signature = (other = None, **names))]
    fn update(
        &self,
        py: Python<'_>,
        other: Option<&Bound<'_, PyAny>>,
        names: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        if let Some(other) = other {
            let pairs = match other.cast::<PyMapping>() {
                Ok(mapping) => mapping.items()?.into_any(),
                Err(_) => other.clone(),
            };
            for pair in pairs.try_iter()? {
                let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair?.extract()?;
                self.__setitem__(py, &key, &value)?;
            }
        }
        for (key, value) in names.into_iter().flatten() {
            self.__setitem__(py, &key, &value)?;
        }
        Ok(())
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.spot.with(py, |loan| {
            loan.edit(&self.spot.way)?.clear()?;
            loan.note_below(&self.spot.way);
            Ok(())
        })
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<PyMapping>() else { return Ok(false) };
        if other.len()? != self.__len__(py)? {
            return Ok(false);
        }
        for item in self.items(py)? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            if !other.contains(&key)? || !value.eq(other.get_item(&key)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let keys = self.all_keys(py)?;
        let mut texts = Vec::new();
        for key in keys.iter().take(8) {
            let shown = key_object(py, &self.spot, &self.key, key)?.repr()?;
            texts.push(format!("{shown}: {}", self.at(key).object(py, &self.value)?.repr()?));
        }
        if keys.len() > 8 {
            texts.push(format!("... {} entries", keys.len()));
        }
        Ok(format!("{{{}}}", texts.join(", ")))
    }
}

impl EditSet {
    fn all(&self, py: Python<'_>) -> PyResult<Vec<OwnedKey>> {
        self.spot.with(py, |loan| loan.keys(&self.spot.way))
    }

    fn take(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some((_, key)) = key_in(py, self, key) else { return Ok(false) };
        self.spot.with(py, |loan| Ok(loan.edit(&self.spot.way)?.remove_key(key.borrow())?))
    }
}

fn key_in(py: Python<'_>, set: &EditSet, object: &Bound<'_, PyAny>) -> Option<(Value, OwnedKey)> {
    key(py, &set.spot, &set.key, object)
}

#[pymethods]
impl EditSet {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.spot.with(py, |loan| loan.len(&self.spot.way))? as usize)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some((_, key)) = key_in(py, self, key) else { return Ok(false) };
        self.spot.with(py, |loan| Ok(loan.part(&self.spot.way)?.contains(key.borrow())))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let keys = PyList::empty(py);
        for key in self.all(py)? {
            keys.append(key_object(py, &self.spot, &self.key, &key)?)?;
        }
        iterate(&keys)
    }

    /// Adds a key.
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let (_, key) = good_key(py, &self.spot, &self.key, key)?;
        if let Some(bound) = self.bound.filter(|bound| self.__len__(py).is_ok_and(|it| it >= *bound as usize))
            && !self.spot.with(py, |loan| Ok(loan.part(&self.spot.way)?.contains(key.borrow())))?
        {
            let text = format!("`{}`: one more key exceeds the bound {bound}", self.spot.name);
            return Err(Error::Conversion.error(py, text));
        }
        self.spot.with(py, |loan| {
            loan.edit(&self.spot.way)?.insert_key(key.borrow())?;
            Ok(())
        })
    }

    /// Removes a key, if it is there.
    fn discard(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.take(py, key).map(drop)
    }

    /// Removes a key, which must be there.
    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.take(py, key)? { Ok(()) } else { Err(missing(key)) }
    }

    /// Removes the last key, and returns it.
    fn pop<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(key) = self.all(py)?.pop() else {
            return Err(PyKeyError::new_err(format!("`{}` is empty", self.spot.name)));
        };
        self.spot.with(py, |loan| Ok(loan.edit(&self.spot.way)?.remove_key(key.borrow())?))?;
        key_object(py, &self.spot, &self.key, &key)
    }

    /// Adds all keys of others.
    #[pyo3(signature = (*others))]
    fn update(&self, py: Python<'_>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        for other in others {
            for key in other.try_iter()? {
                self.add(py, &key?)?;
            }
        }
        Ok(())
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.spot.with(py, |loan| Ok(loan.edit(&self.spot.way)?.clear()?))
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<bool> {
        let Ok(length) = other.len() else { return Ok(false) };
        if length != self.__len__(py)? {
            return Ok(false);
        }
        for key in self.__iter__(py)?.try_iter()? {
            if !other.contains(key?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let keys = self.all(py)?;
        let mut texts = Vec::new();
        for key in keys.iter().take(8) {
            texts.push(key_object(py, &self.spot, &self.key, key)?.repr()?.to_string());
        }
        if keys.len() > 8 {
            texts.push(format!("... {} keys", keys.len()));
        }
        Ok(format!("{{{}}}", texts.join(", ")))
    }
}
