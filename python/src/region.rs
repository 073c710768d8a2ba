//! Regions, read where they lie: members of structs, and the views of sequences, sets and maps.
//!
//! A struct of a region is a message that knows where it begins. What a look at a member finds is either a
//! value without parts, which is copied, or another view. Every look checks what it reads, because another
//! process may have written anything.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PySequence};
use situ_schema::RegionType;
use situ_schema::dynamic::{Places, ReadError, RegionPart, RegionVersions, RegionView, Value};
use situ_schema::model::{self, Type, TypeId};

use crate::array::{Array, into_numpy};
use crate::content::{State, Struct, View, instantiate};
use crate::errors::Kind as Error;
use crate::hold::Memory;
use crate::objects::{numpy_if_array, to_object};
use crate::sync::lock;
use crate::types::{Item, Kind, Part, Types};
use crate::union::Union;

/// A region that is held, with what its image says of versions.
#[derive(Clone)]
pub struct Region {
    pub view: View,
    pub versions: RegionVersions,
}

impl Region {
    fn malformed(py: Python<'_>, name: &str, error: &ReadError) -> PyErr {
        Error::Malformed.error(py, format!("`{name}` of a region is malformed: {error}"))
    }

    fn look<T>(
        &self,
        py: Python<'_>,
        name: &str,
        memory: &Memory,
        look: impl FnOnce(&mut RegionView<'_>) -> Result<T, ReadError>,
    ) -> PyResult<T> {
        RegionView::new(&self.view.types.schema, memory.body(), &self.versions)
            .and_then(|mut view| look(&mut view))
            .map_err(|error| Self::malformed(py, name, &error))
    }

    /// All of a struct that begins at `at`, as a value.
    pub fn decode(&self, py: Python<'_>, id: TypeId, at: u64) -> PyResult<Value> {
        let memory = self.view.hold.memory(py)?;
        self.look(py, self.view.types.schema.name(id).as_str(), &memory, |view| view.decode(id, at))
    }

    /// A member of a struct that begins at `at`.
    pub fn member<'py>(
        &self,
        py: Python<'py>,
        id: TypeId,
        index: usize,
        at: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let memory = self.view.hold.memory(py)?;
        let plan = self.view.types.plan(id);
        let (member, name) = (&plan.members[index], &plan.members[index].name);
        let Some(place) = plan.region(&self.view.types.schema).and_then(|it| it.get(index)) else {
            return Err(Error::Malformed.error(py, format!("`{name}` has no form in regions")));
        };
        let part = self.look(py, name, &memory, |view| view.member(place, at))?;
        self.object(py, &memory, &member.part, part, name)
    }

    /// The numbers of a member as the package's own array.
    pub fn array<'py>(
        &self,
        py: Python<'py>,
        id: TypeId,
        index: usize,
        at: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let memory = self.view.hold.memory(py)?;
        let plan = self.view.types.plan(id);
        let name = &plan.members[index].name;
        let place = plan.region(&self.view.types.schema).and_then(|it| it.get(index));
        let found =
            place.map(|place| self.look(py, name, &memory, |view| view.member(place, at))).transpose()?;
        match found {
            Some(RegionPart::Numbers(at, primitive, lengths)) => {
                Ok(self.numbers(py, &memory, at, primitive, &lengths, name)?.into_any())
            }
            _ => Err(Error::Conversion.error(py, format!("`{name}` has no numbers in an array"))),
        }
    }

    fn numbers<'py>(
        &self,
        py: Python<'py>,
        memory: &Arc<Memory>,
        at: u64,
        primitive: model::Primitive,
        lengths: &[u64],
        name: &str,
    ) -> PyResult<Bound<'py, Array>> {
        let item = Item::number(primitive);
        let size = lengths.iter().try_fold(item.size, |size, it| size.checked_mul(*it));
        match size.and_then(|size| memory.place(true, at, size)) {
            Some(place) => {
                Bound::new(py, Array::new(memory.clone(), place, &self.view.types, &item, lengths))
            }
            None => Err(Error::Malformed.error(py, format!("`{name}` of a region ends behind its memory"))),
        }
    }

    /// The value of a type at a place.
    fn at<'py>(
        &self,
        py: Python<'py>,
        part: &Part,
        ty: &RegionType,
        at: u64,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let memory = self.view.hold.memory(py)?;
        let found = self.look(py, name, &memory, |view| view.part(&part.ty, ty, at))?;
        self.object(py, &memory, part, found, name)
    }

    fn object<'py>(
        &self,
        py: Python<'py>,
        memory: &Arc<Memory>,
        part: &Part,
        found: RegionPart,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let types = &self.view.types;
        match found {
            RegionPart::Value(value) => numpy_if_array(py, to_object(py, types, part, &value)?),
            RegionPart::Struct(id, at) => {
                let (hold, versions) = (self.view.hold.clone(), self.versions.clone());
                Ok(instantiate(py, types, id, State::Region { hold, at, versions })?.into_any())
            }
            RegionPart::Numbers(at, primitive, lengths) => {
                into_numpy(py, self.numbers(py, memory, at, primitive, &lengths, name)?)
            }
            RegionPart::List(element_type, places) => {
                let element = match &part.kind {
                    Kind::Array { element, .. } | Kind::Sequence { element, .. } => element.clone(),
                    _ => return Err(Error::Malformed.error(py, format!("`{name}` is no sequence"))),
                };
                let (region, name) = (self.clone(), name.to_owned());
                Ok(Bound::new(py, RegionList { region, element, element_type, places, name })?.into_any())
            }
            RegionPart::Map(key_type, value_type, value_at, places, is_sorted) => {
                let Type::Map { key, value, .. } = types.schema.resolve(&part.ty) else {
                    return Err(Error::Malformed.error(py, format!("`{name}` is no map")));
                };
                // Integers and texts are ordered in Python as in the region. A NaN has no order in Python.
                let is_ordered = match types.schema.resolve(key) {
                    Type::Primitive(of) => !of.is_float(),
                    it => matches!(it, Type::String { .. }),
                };
                let map = RegionMap {
                    region: self.clone(),
                    key: types.part(key),
                    value: types.part(value),
                    key_type,
                    value_type,
                    value_at,
                    places,
                    is_ordered: is_sorted && is_ordered,
                    name: name.to_owned(),
                };
                Ok(Bound::new(py, map)?.into_any())
            }
            RegionPart::Union(id, discriminator, case) => self.union(py, id, &discriminator, case),
        }
    }

    fn union<'py>(
        &self,
        py: Python<'py>,
        id: TypeId,
        discriminator: &Value,
        case: Option<(usize, RegionType, u64)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let types = &self.view.types;
        let model::Kind::Union(it) = &types.schema.definition(id).kind else {
            return Ok(py.None().into_bound(py));
        };
        let discriminator = to_object(py, types, &types.part(&it.discriminator), discriminator)?;
        let (name, value) = match case.and_then(|(index, ty, at)| Some((it.cases.get(index)?, ty, at))) {
            Some((case, ty, at)) => {
                let name = &case.member.name;
                (Some(name.clone()), self.at(py, &types.part(&case.member.ty), &ty, at, name)?)
            }
            None => (None, py.None().into_bound(py)),
        };
        Union::make(py, types, id, discriminator, name, value)
    }
}

impl Struct {
    /// The region in which it lies, and where it begins. Of a region that is being written, these are its
    /// present bytes.
    pub fn region(&self, py: Python<'_>) -> PyResult<Option<(Region, u64)>> {
        if let Some(spot) = self.spot() {
            let (at, versions) =
                spot.with(py, |loan| Ok((loan.place(&spot.way)?, loan.versions().clone())))?;
            return Ok(Some((Region { view: spot.view, versions }, at)));
        }
        let content = lock(&self.content);
        let Some(content) = content.as_ref() else { return Ok(None) };
        Ok(match &content.state {
            State::Region { hold, at, versions } => {
                let view = View { types: content.types.clone(), hold: hold.clone() };
                Some((Region { view, versions: versions.clone() }, *at))
            }
            _ => None,
        })
    }

    /// Its content as a value, if it is a struct of this type in a region.
    pub fn region_value(&self, py: Python<'_>, types: &Arc<Types>, id: TypeId) -> PyResult<Option<Value>> {
        let Some((region, at)) = self.region(py)? else { return Ok(None) };
        let (own, plan) = self.plan(py)?;
        let is_same = Arc::ptr_eq(&own, types) && plan.id == id;
        if is_same { region.decode(py, id, at).map(Some) } else { Ok(None) }
    }

    /// All of a struct of a region as objects. Regions may have cycles; reading a whole one has limits, and
    /// the objects have none.
    pub fn of_region<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((region, at)) = self.region(py)? else { return Ok(None) };
        let (types, plan) = self.plan(py)?;
        let value = region.decode(py, plan.id, at)?;
        to_object(py, &types, &types.part(&Type::Named(plan.id)), &value).map(Some)
    }
}

/// A sequence, an array or a set in a region.
#[pyclass(frozen, module = "situ", name = "RegionList")]
pub struct RegionList {
    region: Region,
    element: Arc<Part>,
    element_type: RegionType,
    places: Places,
    name: String,
}

/// A map in a region.
#[pyclass(frozen, module = "situ", name = "RegionMap")]
pub struct RegionMap {
    region: Region,
    key: Part,
    value: Part,
    key_type: RegionType,
    value_type: RegionType,
    /// How far values lie behind their keys.
    value_at: u64,
    places: Places,
    /// Whether the keys are in the order in which Python has them.
    is_ordered: bool,
    name: String,
}

/// Tells Python's abstract classes of the views.
pub fn register(py: Python<'_>) -> PyResult<()> {
    PySequence::register::<RegionList>(py)?;
    PyMapping::register::<RegionMap>(py)
}

impl RegionList {
    fn element<'py>(&self, py: Python<'py>, index: u64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(at) = self.places.get(index) else { return Ok(None) };
        let name = format!("{}[{index}]", self.name);
        self.region.at(py, &self.element, &self.element_type, at, &name).map(Some)
    }
}

#[pymethods]
impl RegionList {
    fn __len__(&self) -> usize {
        self.places.len() as usize
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let length = self.__len__() as isize;
        let at = if index < 0 { index + length } else { index };
        let found = if at < 0 { None } else { self.element(py, at as u64)? };
        found.ok_or_else(|| {
            let text = format!("`{}` has {length} elements, and no element {index}", self.name);
            PyIndexError::new_err(text)
        })
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        for index in 0..self.places.len() {
            if let Some(it) = self.element(py, index)?
                && it.eq(value)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !other.is_instance_of::<PyList>() && !other.is_instance_of::<Self>() {
            return Ok(false);
        }
        if other.len()? != self.__len__() {
            return Ok(false);
        }
        for index in 0..self.__len__() {
            if !self.__getitem__(py, index as isize)?.eq(other.get_item(index)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = self.places.len().min(8);
        let mut texts = Vec::new();
        for index in 0..shown {
            if let Some(it) = self.element(py, index)? {
                texts.push(it.repr()?.to_string());
            }
        }
        if self.places.len() > shown {
            texts.push(format!("... {} elements", self.places.len()));
        }
        Ok(format!("[{}]", texts.join(", ")))
    }
}

impl RegionMap {
    fn key_at<'py>(&self, py: Python<'py>, index: u64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(at) = self.places.get(index) else { return Ok(None) };
        self.region.at(py, &self.key, &self.key_type, at, &self.name).map(Some)
    }

    fn value_of<'py>(&self, py: Python<'py>, index: u64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(at) = self.places.get(index) else { return Ok(None) };
        let name = format!("{}[...]", self.name);
        self.region.at(py, &self.value, &self.value_type, at + self.value_at, &name).map(Some)
    }

    /// The position of a key. Keys that are in order are found in few looks.
    fn find(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        if !self.is_ordered {
            for index in 0..self.places.len() {
                if let Some(it) = self.key_at(py, index)?
                    && it.eq(key)?
                {
                    return Ok(Some(index));
                }
            }
            return Ok(None);
        }
        let (mut low, mut high) = (0, self.places.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(it) = self.key_at(py, middle)? else { return Ok(None) };
            match it.lt(key) {
                Ok(true) => low = middle + 1,
                Ok(false) => high = middle,
                // A key of another type is not in the map.
                Err(error) if error.is_instance_of::<PyTypeError>(py) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        match self.key_at(py, low)? {
            Some(it) if it.eq(key)? => Ok(Some(low)),
            _ => Ok(None),
        }
    }

    fn pairs<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let mut pairs = Vec::new();
        for index in 0..self.places.len() {
            if let (Some(key), Some(value)) = (self.key_at(py, index)?, self.value_of(py, index)?) {
                pairs.push((key, value));
            }
        }
        Ok(pairs)
    }
}

#[pymethods]
impl RegionMap {
    fn __len__(&self) -> usize {
        self.places.len() as usize
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.find(py, key)?.map(|index| self.value_of(py, index)).transpose()?.flatten();
        found.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.find(py, key)?.is_some())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.keys(py)?)?.try_iter()?.into_any())
    }

    /// The value of a key, or `default` if it is not there.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(py, key)? {
            Some(index) => self.value_of(py, index),
            None => Ok(default),
        }
    }

    /// The keys, in the order of the region.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut keys = Vec::new();
        for index in 0..self.places.len() {
            keys.extend(self.key_at(py, index)?);
        }
        Ok(keys)
    }

    /// The values, in the order of the keys. Structs and containers among them are views.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        Ok(self.pairs(py)?.into_iter().map(|(_, value)| value).collect())
    }

    /// Pairs of keys and values.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        self.pairs(py)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !other.is_instance_of::<PyDict>() && !other.is_instance_of::<Self>() {
            return Ok(false);
        }
        if other.len()? != self.__len__() {
            return Ok(false);
        }
        for (key, value) in self.pairs(py)? {
            if !other.contains(&key)? || !other.get_item(&key)?.eq(value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut texts = Vec::new();
        for index in 0..self.places.len().min(8) {
            if let (Some(key), Some(value)) = (self.key_at(py, index)?, self.value_of(py, index)?) {
                texts.push(format!("{}: {}", key.repr()?, value.repr()?));
            }
        }
        if self.places.len() > 8 {
            texts.push(format!("... {} entries", self.places.len()));
        }
        Ok(format!("{{{}}}", texts.join(", ")))
    }
}
