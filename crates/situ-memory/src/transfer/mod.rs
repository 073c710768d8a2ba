//! Copies from any domain to any other, and the registration of host pages with the driver of a device.
//!
//! ```text
//!   copier      copies by the shortest available route
//!   registered  which pages of host memory a device's driver has registered
//! ```

mod copier;
mod registered;

pub use copier::{Copier, Enqueuing, Route};
pub use registered::Registered;
