//! Copies from any domain to any other, and the registration of host pages with the driver of a device.

mod copier;
mod registered;

pub use copier::{Copier, Enqueuing, Route};
pub use registered::Registered;
