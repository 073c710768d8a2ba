//! Memory for values whose number or size comes from a message. If there is none, reading ends with an error.

use situ_layout::NoMemory;

/// Appends a value to a list.
pub(super) fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), NoMemory> {
    list.try_reserve(1).map_err(|_| NoMemory { bytes: (list.len() + 1).saturating_mul(size_of::<T>()) })?;
    list.push(value);
    Ok(())
}

/// Appends bytes.
pub(super) fn extend(list: &mut Vec<u8>, bytes: &[u8]) -> Result<(), NoMemory> {
    list.try_reserve(bytes.len()).map_err(|_| NoMemory { bytes: list.len().saturating_add(bytes.len()) })?;
    list.extend_from_slice(bytes);
    Ok(())
}

/// A list of values.
pub(super) fn list<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, NoMemory> {
    let mut list = Vec::new();
    let bytes = values.len().saturating_mul(size_of::<T>());
    list.try_reserve_exact(values.len()).map_err(|_| NoMemory { bytes })?;
    list.extend(values);
    Ok(list)
}

/// A copy of a text.
pub(super) fn text(text: &str) -> Result<String, NoMemory> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| NoMemory { bytes: text.len() })?;
    copy.push_str(text);
    Ok(copy)
}
