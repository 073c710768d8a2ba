//! Parts of a region that is being written: structs, sequences, sets and maps.
//!
//! Objects of Python become values before the region is locked, and values become objects after that: both
//! run code of Python, which may use the region itself.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyMapping, PySequence};
use situ_region::dynamic::{EditError, OwnedKey, Step};
use situ_schema::dynamic::{Value, set_in_region};
use situ_schema::model::{self, Primitive, Type};

use crate::array::{Array, into_numpy};
use crate::content::{State, Struct, View, instantiate};
use crate::convert::to_member_value;
use crate::errors::Kind as Error;
use crate::objects::{numpy_if_array, to_object};
use crate::region_loan::{Found, Problem, RegionLoan, Way};
use crate::sync::lock;
use crate::types::{Item, Kind, Part, StructPlan};
use crate::union::Union;

/// A part of a region that is being written.
#[derive(Clone)]
pub struct Spot {
    pub view: View,
    pub way: Way,
    /// What errors call it.
    pub name: String,
}

impl Spot {
    /// A part of it.
    pub fn to(&self, steps: impl IntoIterator<Item = Step>, name: String) -> Self {
        Self { view: self.view.clone(), way: self.way.to(steps), name }
    }

    /// Uses the region, which is locked meanwhile. `with` must not call Python.
    pub fn with<R>(
        &self,
        py: Python<'_>,
        with: impl FnOnce(&mut RegionLoan) -> Result<R, Problem>,
    ) -> PyResult<R> {
        let memory = self.view.hold.memory(py)?;
        let gone = || Error::Released.error(py, "the loan is published, and cannot be changed any more");
        let Some(region) = memory.region() else { return Err(gone()) };
        let port = lock(region).as_ref().map(|region| region.port().clone());
        port.ok_or_else(gone)?.check(py)?;
        let (result, used) = {
            let mut region = lock(region);
            let Some(region) = region.as_mut() else { return Err(gone()) };
            let result = with(region);
            (result, region.bytes().len())
        };
        result.map_err(|problem| problem_error(py, &self.name, problem, used))
    }

    /// Its value as an object: a view, if it has parts.
    pub fn object<'py>(&self, py: Python<'py>, part: &Part) -> PyResult<Bound<'py, PyAny>> {
        let types = &self.view.types;
        let (found, way) = self.with(py, |loan| loan.find(&types.schema, &part.ty, &self.way))?;
        let spot = Self { way, ..self.clone() };
        match found {
            Found::Absent => Ok(py.None().into_bound(py)),
            Found::Value(value) => numpy_if_array(py, to_object(py, types, part, &value)?),
            Found::Struct(id) => {
                let state = State::Edit { hold: spot.view.hold, way: spot.way };
                Ok(instantiate(py, types, id, state)?.into_any())
            }
            Found::Numbers(address, primitive, lengths, pin) => {
                let (memory, item) = (self.view.hold.memory(py)?, Item::number(primitive));
                let array = Array::pinned(memory, address, types, &item, &lengths, pin);
                into_numpy(py, Bound::new(py, array)?)
            }
            Found::List => spot.list(py, part),
            Found::Set => {
                let Kind::Sequence { element, bound, .. } = &part.kind else {
                    return Err(self.malformed(py));
                };
                Ok(Bound::new(py, EditSet { spot, key: element.clone(), bound: *bound })?.into_any())
            }
            Found::Map => {
                let Type::Map { key, value, bound } = types.schema.resolve(&part.ty) else {
                    return Err(self.malformed(py));
                };
                let (key, value, bound) = (types.part(key), types.part(value), *bound);
                Ok(Bound::new(py, EditMap { spot, key, value, bound })?.into_any())
            }
            Found::Union(id, discriminator, case) => {
                let model::Kind::Union(it) = &types.schema.definition(id).kind else {
                    return Err(self.malformed(py));
                };
                let discriminator = to_object(py, types, &types.part(&it.discriminator), &discriminator)?;
                let found = case.and_then(|index| Some((index, it.cases.get(index as usize)?)));
                let (name, value) = match found {
                    Some((index, case)) => {
                        let name = case.member.name.clone();
                        let inner = spot.to([Step::Case(index)], format!("{}.{name}", self.name));
                        (Some(name), inner.object(py, &types.part(&case.member.ty))?)
                    }
                    None => (None, py.None().into_bound(py)),
                };
                Union::make(py, types, id, discriminator, name, value)
            }
        }
    }

    fn malformed(&self, py: Python<'_>) -> PyErr {
        Error::Malformed.error(py, format!("`{}` is of another kind than its type", self.name))
    }

    /// The list of a sequence or an array.
    pub fn list<'py>(self, py: Python<'py>, part: &Part) -> PyResult<Bound<'py, PyAny>> {
        let types = &self.view.types;
        let (element, bound, is_fixed) = match &part.kind {
            Kind::Sequence { element, bound, .. } => (element.clone(), *bound, false),
            Kind::Array { element, dimensions, .. } if dimensions.len() == 1 => (element.clone(), None, true),
            Kind::Array { element, dimensions, .. } => {
                // A row of an array of several dimensions.
                let (element, dimensions) = (Box::new(element.ty.clone()), dimensions[1..].to_vec());
                (Arc::new(types.part(&Type::Array { element, dimensions })), None, true)
            }
            _ => return Err(self.malformed(py)),
        };
        Ok(Bound::new(py, EditList { spot: self, element, bound, is_fixed })?.into_any())
    }

    /// A copy of its value as an object of its own.
    pub fn copy<'py>(&self, py: Python<'py>, part: &Part) -> PyResult<Bound<'py, PyAny>> {
        let types = &self.view.types;
        let value = self.with(py, |loan| loan.value(&types.schema, &part.ty, &self.way))?;
        numpy_if_array(py, to_object(py, types, part, &value)?)
    }

    /// Sets it. Views of what it was become stale.
    pub fn set(&self, py: Python<'_>, part: &Part, value: &Value) -> PyResult<()> {
        let types = &self.view.types;
        self.with(py, |loan| {
            let set = loan
                .edit(&self.way)
                .and_then(|place| set_in_region(&types.schema, place, &part.ty, value).map_err(Into::into));
            let is_untouched = matches!(set, Err(Problem::Stale | Problem::Edit(EditError::Pinned)));
            if has_parts(part) && !is_untouched {
                loan.note_replaced(&self.way);
            }
            set
        })
    }
}

/// The exception for a part of a region of `used` bytes that could not be read or changed.
#[cold]
pub fn problem_error(py: Python<'_>, name: &str, problem: Problem, used: usize) -> PyErr {
    match problem {
        Problem::Stale => Error::Released.error(
            py,
            format!("`{name}` was replaced or removed after it was taken from the loan: take it again"),
        ),
        Problem::Edit(EditError::Full(full)) => Error::RegionFull.error(
            py,
            format!(
                "`{name}`: the loan's region is full: it may have {} bytes, and has {used}; lend it with \
                     more room, `loan(room=...)`",
                full.limit
            ),
        ),
        Problem::Edit(EditError::Pinned) => Error::Borrowed.error(
            py,
            format!(
                "arrays of `{name}` still exist, and this would move or free what they show: `del` them \
                     first, or take copies of them"
            ),
        ),
        Problem::Edit(error) => Error::Conversion.error(py, format!("`{name}`: {error}")),
        Problem::Write(error) => Error::Conversion.error(py, format!("`{name}`: {error}")),
        Problem::Read(error) => Error::Malformed.error(py, format!("`{name}`: {error}")),
    }
}

/// Whether views of parts of such a value can exist.
pub fn has_parts(part: &Part) -> bool {
    !matches!(
        part.kind,
        Kind::Primitive(_) | Kind::Text(_) | Kind::WideText(_) | Kind::Enum(_) | Kind::Bitmask(..)
    )
}

impl Struct {
    /// The part of a region that is being written, if it is one.
    pub fn spot(&self) -> Option<Spot> {
        let content = lock(&self.content);
        let content = content.as_ref()?;
        let State::Edit { hold, way } = &content.state else { return None };
        let view = View { types: content.types.clone(), hold: hold.clone() };
        Some(Spot { view, way: way.clone(), name: content.types.schema.name(content.plan.id).to_string() })
    }
}

impl Spot {
    fn member(&self, py: Python<'_>, plan: &StructPlan, index: usize) -> PyResult<Self> {
        let name = &plan.members[index].name;
        match plan.region(&self.view.types.schema).and_then(|it| it.get(index)) {
            Some(place) => Ok(self.to(place.steps(), name.clone())),
            None => Err(Error::Malformed.error(py, format!("`{name}` has no form in regions"))),
        }
    }

    /// A member of a struct.
    pub fn get_member<'py>(
        &self,
        py: Python<'py>,
        plan: &StructPlan,
        index: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, plan, index)?.object(py, &plan.members[index].part)
    }

    /// Sets a member of a struct.
    pub fn set_member(
        &self,
        py: Python<'_>,
        plan: &StructPlan,
        index: usize,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let member = &plan.members[index];
        let place = self.member(py, plan, index)?;
        let value = to_member_value(py, &self.view.types, member, object).map_err(|fail| fail.raise(py))?;
        place.set(py, &member.part, &value)
    }

    /// The numbers of a member as the package's own array.
    pub fn array_of<'py>(
        &self,
        py: Python<'py>,
        plan: &StructPlan,
        index: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (spot, part) = (self.member(py, plan, index)?, &plan.members[index].part);
        let types = &self.view.types;
        match spot.with(py, |loan| loan.find(&types.schema, &part.ty, &spot.way))? {
            (Found::Numbers(address, primitive, lengths, pin), _) => {
                let (memory, item) = (self.view.hold.memory(py)?, Item::number(primitive));
                let array = Array::pinned(memory, address, types, &item, &lengths, pin);
                Ok(Bound::new(py, array)?.into_any())
            }
            _ => Err(Error::Conversion.error(py, format!("`{}` has no numbers in an array", spot.name))),
        }
    }

    /// A member as a list, also if it is shown as an array.
    pub fn list_of<'py>(
        &self,
        py: Python<'py>,
        plan: &StructPlan,
        index: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (spot, part) = (self.member(py, plan, index)?, &plan.members[index].part);
        let types = &self.view.types;
        let found = spot.with(py, |loan| {
            let (found, way) = loan.find(&types.schema, &part.ty, &spot.way)?;
            Ok(matches!(found, Found::List | Found::Numbers(..)).then_some(way))
        })?;
        match found {
            Some(way) => Self { way, ..spot }.list(py, part),
            None => {
                let text = format!("`{}` is no sequence or array, or is absent", spot.name);
                Err(Error::Conversion.error(py, text))
            }
        }
    }

    /// Lets a member that is a shared link lead to the value of another struct's member.
    pub fn share(
        &self,
        py: Python<'_>,
        (plan, index): (&StructPlan, usize),
        other: &Self,
        (other_plan, other_index): (&StructPlan, usize),
    ) -> PyResult<()> {
        let to = self.member(py, plan, index)?;
        let from = other.member(py, other_plan, other_index)?;
        if !Arc::ptr_eq(&self.view.hold, &other.view.hold) {
            let text = format!("`{}`: a link cannot lead to another message: assign a copy", to.name);
            return Err(Error::Conversion.error(py, text));
        }
        to.with(py, |loan| loan.share(&from.way, &to.way))
    }
}

/// A sequence or an array in a region that is being written. Its methods are in `edit_list`.
#[pyclass(frozen, module = "situ", name = "EditList")]
pub struct EditList {
    pub spot: Spot,
    pub element: Arc<Part>,
    pub bound: Option<u32>,
    /// It is an array.
    pub is_fixed: bool,
}

/// A map in a region that is being written. Its methods are in `edit_map`.
#[pyclass(frozen, module = "situ", name = "EditMap")]
pub struct EditMap {
    pub spot: Spot,
    pub key: Part,
    pub value: Part,
    pub bound: Option<u32>,
}

/// A set in a region that is being written. Its methods are in `edit_map`.
#[pyclass(frozen, module = "situ", name = "EditSet")]
pub struct EditSet {
    pub spot: Spot,
    pub key: Arc<Part>,
    pub bound: Option<u32>,
}

/// Tells Python's abstract classes of the views.
pub fn register(py: Python<'_>) -> PyResult<()> {
    PySequence::register::<EditList>(py)?;
    PyMapping::register::<EditMap>(py)?;
    let abc = py.import("collections.abc")?;
    for (base, view) in [
        ("MutableSequence", py.get_type::<EditList>()),
        ("MutableMapping", py.get_type::<EditMap>()),
        ("MutableSet", py.get_type::<EditSet>()),
    ] {
        abc.getattr(base)?.call_method1("register", (view,))?;
    }
    Ok(())
}

/// A key as an object.
pub fn key_object<'py>(
    py: Python<'py>,
    spot: &Spot,
    part: &Part,
    key: &OwnedKey,
) -> PyResult<Bound<'py, PyAny>> {
    let value = match (key, &part.kind) {
        (OwnedKey::Text(text), _) => Value::Text(text.clone()),
        (OwnedKey::Integer(it), Kind::Enum(_)) => {
            Value::Enum { value: i32::try_from(*it).unwrap_or(0), name: None }
        }
        (OwnedKey::Integer(it), Kind::Primitive(Primitive::Bool)) => Value::Bool(*it != 0),
        (OwnedKey::Integer(it), Kind::Primitive(Primitive::Char8)) => Value::Char(*it as u8),
        (OwnedKey::Integer(it), Kind::Primitive(Primitive::WChar)) => Value::WChar(*it as u16),
        (OwnedKey::Float(it), _) => Value::Float(f32::from_bits(*it)),
        (OwnedKey::Double(it), _) => Value::Double(f64::from_bits(*it)),
        (OwnedKey::Integer(it), _) => match u64::try_from(*it) {
            Ok(it) => Value::Unsigned(it),
            Err(_) => Value::Signed(i64::try_from(*it).unwrap_or(0)),
        },
    };
    to_object(py, &spot.view.types, part, &value)
}
