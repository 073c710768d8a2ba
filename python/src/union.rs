//! Values of unions.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use situ_schema::model::TypeId;

use crate::types::Types;

/// A value of a union: which case is selected, and its value.
#[pyclass(frozen, subclass, module = "situ", name = "Union")]
pub struct Union {
    /// The discriminator; `None` if the case says it.
    #[pyo3(get)]
    pub discriminator: Py<PyAny>,
    /// The name of the selected case; `None` if the discriminator selects none.
    #[pyo3(get)]
    pub case: Option<String>,
    /// The value of the case.
    #[pyo3(get)]
    pub value: Py<PyAny>,
}

impl Union {
    /// The value of a case: of the case's class, if it was generated.
    pub fn make<'py>(
        py: Python<'py>,
        types: &Types,
        id: TypeId,
        discriminator: Bound<'py, PyAny>,
        case: Option<String>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(class) = types.union_class(py, id)? {
            let of_case = match &case {
                Some(case) => class.getattr("__situ_cases__")?.get_item(case)?,
                None => class,
            };
            return of_case.call1((value, discriminator));
        }
        let (discriminator, value) = (discriminator.unbind(), value.unbind());
        Ok(Bound::new(py, Self { discriminator, case, value })?.into_any())
    }
}

#[pymethods]
impl Union {
    /// The value of a case. A discriminator is needed only if several select it.
    #[new]
    #[pyo3(signature = (case, value = None, discriminator = None))]
    fn new(
        py: Python<'_>,
        case: Option<String>,
        value: Option<Py<PyAny>>,
        discriminator: Option<Py<PyAny>>,
    ) -> Self {
        let none = |it: Option<Py<PyAny>>| it.unwrap_or_else(|| py.None());
        Self { case, value: none(value), discriminator: none(discriminator) }
    }

    /// The objects that it refers to, for Python's search for cycles. A cycle is cut in another of its
    /// objects: a union never changes.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.value)?;
        visit.call(&self.discriminator)
    }

    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("case", "value")
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let other = other.get();
        Ok(self.case == other.case && self.value.bind(py).eq(&other.value)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.case.clone(), self.value.clone_ref(py)).into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(match &self.case {
            Some(case) => format!("Union({case:?}, {})", self.value.bind(py).repr()?),
            None => format!("Union(None, discriminator={})", self.discriminator.bind(py).repr()?),
        })
    }
}
