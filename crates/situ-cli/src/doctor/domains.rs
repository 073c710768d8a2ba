//! The check of memory domains: the available ones, and the reasons that others are absent.

use situ::memory::{self, DomainError, Surveyed};

use super::Check;
use crate::commands::domain;

const NAME: &str = "memory domain";

/// Checks every domain that Situ supports. An absent domain is not a fault: most machines have no such
/// device.
pub fn checks() -> Vec<Check> {
    memory::survey().into_iter().map(judge).collect()
}

fn judge((id, found): Surveyed) -> Check {
    match found {
        Ok((name, capabilities)) => Check::ok(
            NAME,
            format!("{id}: {name}; streams are ordered by {}", domain::order(capabilities.order)),
        ),
        Err(DomainError::Absent { reason, .. }) => Check::ok(NAME, format!("{id} is absent: {reason}")),
        Err(error) => Check::warn(
            NAME,
            format!("{id} does not work: {error}"),
            "The device exists, but its driver refuses it: see the driver's messages in the kernel's log (`dmesg`).",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn an_absent_domain_is_no_fault_and_a_refused_one_is_a_warning() {
        let domain: memory::DomainId = "cuda:0".parse().unwrap();
        let absent = judge((domain, Err(DomainError::Absent { domain, reason: "no driver".into() })));
        assert_eq!((absent.status, absent.found.as_str()), (Status::Ok, "cuda:0 is absent: no driver"));
        let refused = DomainError::Refused { domain, action: "start".into(), reason: "busy".into() };
        assert_eq!(judge((domain, Err(refused))).status, Status::Warn);
        assert!(checks()[0].found.starts_with("host: "), "{:?}", checks());
    }
}
