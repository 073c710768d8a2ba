//! Messages of Python as the bytes that are sent: flat, or as CDR.

use pyo3::prelude::*;
use situ_schema::dynamic;

use crate::convert::to_struct_value;
use crate::errors::Kind as Error;
use crate::types::TypeHandle;

/// An encoded message. One that is serialized has a body only.
pub struct Encoded {
    pub head: Vec<u8>,
    /// The alignment of the head.
    pub align: usize,
    pub body: Vec<u8>,
}

/// Encodes a message of a type, which may be given in any way.
pub fn encode(
    py: Python<'_>,
    handle: &TypeHandle,
    flat: bool,
    message: &Bound<'_, PyAny>,
) -> PyResult<Encoded> {
    let (types, id) = (&handle.types, handle.id);
    let value = to_struct_value(py, types, id, message)?;
    let encoded = if flat {
        let align = types.schema.flat_layout(id).map_or(1, |it| it.extent.align as usize);
        dynamic::to_flat(&types.schema, id, &value).map(|it| Encoded { head: it.head, align, body: it.body })
    } else {
        let cdr = dynamic::to_cdr(&types.schema, id, &value, situ_wire::Encoding::Xcdr1);
        cdr.map(|body| Encoded { head: Vec::new(), align: 1, body })
    };
    encoded.map_err(|error| Error::Conversion.error(py, error))
}
