//! The domains that a process has, and how to find those of Situ.

use std::str::FromStr;
use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::domain::cuda::CudaDomain;
use crate::domain::emulated::{EmulatedDomain, EmulatedOptions};
use crate::domain::host::HostDomain;
use crate::domain::traits::{Capabilities, Domain, DomainError, DomainId, DomainKind, HOST};
#[cfg(feature = "vulkan")]
use crate::domain::vulkan::VulkanDomain;

/// The domains that a process has access to: the host, and those that were found or added. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Domains {
    all: Arc<[Arc<dyn Domain>]>,
}

impl Default for Domains {
    fn default() -> Self {
        Self::host_only()
    }
}

impl Domains {
    /// The host's shared memory alone.
    pub fn host_only() -> Self {
        Self { all: Arc::new([Arc::new(HostDomain)]) }
    }

    /// The host and all devices that Situ finds: of CUDA with the feature `cuda`, of Vulkan with the feature
    /// `vulkan`. An emulated one is never found, only added. This opens the drivers, which takes some hundred
    /// milliseconds the first time.
    pub fn detect() -> Self {
        let devices = DETECTED.iter().filter_map(|(_, devices)| devices().ok()).flatten();
        devices.fold(Self::host_only(), Self::with)
    }

    /// These and another domain, which replaces one with the same id.
    #[must_use]
    pub fn with(self, domain: Arc<dyn Domain>) -> Self {
        let id = domain.id();
        let others = self.all.iter().filter(|other| other.id() != id).cloned();
        Self { all: others.chain([domain]).collect() }
    }

    /// The domain with this id.
    pub fn get(&self, id: DomainId) -> Result<&Arc<dyn Domain>, DomainError> {
        self.all.iter().find(|domain| domain.id() == id).ok_or_else(|| DomainError::Absent {
            domain: id,
            reason: "this process was not given it; add it to its domains".to_owned(),
        })
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Domain>> {
        self.all.iter()
    }
}

/// All devices of a kind, or why there are none.
type Devices = fn() -> Result<Vec<Arc<dyn Domain>>, DomainError>;

/// The kinds of devices that are searched.
const DETECTED: [(DomainKind, Devices); 2] = [(DomainKind::CUDA, cuda), (DomainKind::VULKAN, vulkan)];

#[cfg(feature = "cuda")]
fn cuda() -> Result<Vec<Arc<dyn Domain>>, DomainError> {
    let devices = CudaDomain::all()?;
    Ok(devices.into_iter().map(|device| Arc::new(device) as Arc<dyn Domain>).collect())
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Vec<Arc<dyn Domain>>, DomainError> {
    Err(left_out(DomainKind::CUDA))
}

#[cfg(feature = "vulkan")]
fn vulkan() -> Result<Vec<Arc<dyn Domain>>, DomainError> {
    let devices = VulkanDomain::all()?;
    Ok(devices.into_iter().map(|device| Arc::new(device) as Arc<dyn Domain>).collect())
}

#[cfg(not(feature = "vulkan"))]
fn vulkan() -> Result<Vec<Arc<dyn Domain>>, DomainError> {
    Err(left_out(DomainKind::VULKAN))
}

/// The error for a kind of devices that this program was built without.
#[cfg(not(all(feature = "cuda", feature = "vulkan")))]
fn left_out(kind: DomainKind) -> DomainError {
    DomainError::Absent {
        domain: DomainId { kind, number: 0 },
        reason: format!(
            "this program was built without it; enable the feature `{kind}` of the crate `situ` in Cargo.toml"
        ),
    }
}

/// Opens one of Situ's domains by its id: `host`, `emulated:0`, `vulkan:0`, `cuda:0`. An emulated device may
/// have any number.
pub fn find(id: DomainId) -> Result<Arc<dyn Domain>, DomainError> {
    if id.kind == DomainKind::EMULATED {
        let options = EmulatedOptions { number: id.number, ..EmulatedOptions::default() };
        return Ok(Arc::new(EmulatedDomain::new(options)));
    }
    let absent = |reason: String| DomainError::Absent { domain: id, reason };
    if id == HOST {
        return Ok(Arc::new(HostDomain));
    }
    let Some((_, devices)) = DETECTED.iter().find(|(kind, _)| *kind == id.kind) else {
        return Err(absent("it is none of Situ's; make it with the crate that brings it".to_owned()));
    };
    let devices = devices()?;
    let there = devices.len();
    devices
        .into_iter()
        .find(|device| device.id() == id)
        .ok_or_else(|| absent(format!("there are {there} of this kind, numbered from 0")))
}

/// A domain's name and capabilities, or why it is absent.
pub type Surveyed = (DomainId, Result<(String, Capabilities), DomainError>);

/// All of Situ's domains: their names and capabilities, or why they are absent.
pub fn survey() -> Vec<Surveyed> {
    let describe = |domain: &Arc<dyn Domain>| (domain.id(), Ok((domain.name(), domain.capabilities())));
    let always = Domains::host_only().with(Arc::new(EmulatedDomain::default()));
    let mut found: Vec<Surveyed> = always.iter().map(describe).collect();
    for (kind, devices) in DETECTED {
        match devices() {
            Ok(devices) => found.extend(devices.iter().map(describe)),
            Err(error) => found.push((DomainId { kind, number: 0 }, Err(error))),
        }
    }
    found
}

/// A text that names no domain.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no memory domain: use host, emulated:0, vulkan:0 or cuda:0")]
pub struct InvalidDomain(String);

situ_layout::debug_as_text!(InvalidDomain);

impl FromStr for DomainId {
    type Err = InvalidDomain;

    /// The inverse of its `Display`; the number may be left out where it is 0.
    fn from_str(text: &str) -> Result<Self, InvalidDomain> {
        let invalid = || InvalidDomain(text.to_owned());
        let (kind, number) = text.split_once(':').unwrap_or((text, "0"));
        let number = number.parse().map_err(|_| invalid())?;
        let known = [DomainKind::HOST, DomainKind::EMULATED, DomainKind::VULKAN, DomainKind::CUDA];
        let kind = match known.into_iter().find(|known| known.to_string() == kind) {
            Some(kind) => kind,
            None => {
                let number = kind.strip_prefix("kind").and_then(|number| number.parse().ok());
                DomainKind::from_number(number.ok_or_else(invalid)?)
            }
        };
        if kind == DomainKind::HOST && number != 0 {
            return Err(invalid());
        }
        Ok(Self { kind, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_they_are_read() {
        for text in ["host", "emulated:0", "vulkan:1", "cuda:4294967295", "kind1024:3"] {
            assert_eq!(text.parse::<DomainId>().unwrap().to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(DomainId { kind: DomainKind::CUDA, number: 0 }));
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:4294967296", "host:1", "kind:0", ":0"] {
            assert_eq!(text.parse::<DomainId>(), Err(InvalidDomain(text.to_owned())));
        }
    }

    #[test]
    fn a_domain_that_is_not_there_says_so() {
        let id = DomainId { kind: DomainKind::from_number(2000), number: 7 };
        let error = Domains::host_only().get(id).unwrap_err().to_string();
        assert!(error.starts_with("domain kind2000:7 is absent"), "{error}");
        assert!(matches!(find(id), Err(DomainError::Absent { domain, .. }) if domain == id));
        assert_eq!(find(HOST).unwrap().id(), HOST);
        assert_eq!(survey()[0].0, HOST);
    }
}
