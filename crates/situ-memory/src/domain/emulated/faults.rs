//! Faults on demand: what an emulated device refuses, and when.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is going to fail. Each number says how many operations of its kind succeed before: 0 is the very
/// next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// This allocation of memory is refused. Making a pool is an allocation, and so is giving a part of it
    /// memory.
    pub refuse_allocation: Option<u64>,
    /// This copy fails.
    pub fail_copy: Option<u64>,
    /// At this copy or kernel the device is lost, for good.
    pub lose_device: Option<u64>,
}

#[derive(Debug)]
struct Shared {
    plan: Mutex<FaultPlan>,
    lost: AtomicBool,
}

/// Makes an emulated device fail. Clones drive the same device.
#[derive(Debug, Clone)]
pub struct Faults {
    shared: Arc<Shared>,
}

impl Faults {
    pub(super) fn new(plan: FaultPlan) -> Self {
        Self { shared: Arc::new(Shared { plan: Mutex::new(plan), lost: AtomicBool::new(false) }) }
    }

    /// Replaces the plan; faults that have not happened yet are cancelled.
    pub fn plan(&self, plan: FaultPlan) {
        *self.shared.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    /// Loses the device now. Its current work is not finished, its fences are poisoned, and every call fails.
    pub fn lose_device(&self) {
        self.shared.lost.store(true, Ordering::Release);
    }

    /// Whether the device is lost.
    pub fn is_lost(&self) -> bool {
        self.shared.lost.load(Ordering::Acquire)
    }

    /// Whether the allocation that is about to happen is refused.
    pub(super) fn strikes_allocation(&self) -> bool {
        self.strikes(|plan| &mut plan.refuse_allocation)
    }

    /// Whether the copy that is about to happen fails.
    pub(super) fn strikes_copy(&self) -> bool {
        self.strikes(|plan| &mut plan.fail_copy)
    }

    /// Whether the device is lost, or is lost by the operation that is about to happen.
    pub(super) fn strikes_device(&self) -> bool {
        if self.strikes(|plan| &mut plan.lose_device) {
            self.lose_device();
        }
        self.is_lost()
    }

    fn strikes(&self, which: fn(&mut FaultPlan) -> &mut Option<u64>) -> bool {
        let mut plan = self.shared.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let left = which(&mut plan);
        match left {
            Some(0) => left.take().is_some(),
            Some(more) => {
                *more -= 1;
                false
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_happens_once_and_in_its_turn() {
        let faults = Faults::new(FaultPlan { fail_copy: Some(2), ..FaultPlan::default() });
        let struck: Vec<bool> = (0..5).map(|_| faults.strikes_copy()).collect();
        assert_eq!(struck, [false, false, true, false, false]);
        assert!(!faults.strikes_allocation() && !faults.strikes_device());
        faults.plan(FaultPlan { lose_device: Some(1), ..FaultPlan::default() });
        assert_eq!([faults.strikes_device(), faults.strikes_device()], [false, true]);
        assert!(faults.is_lost() && faults.strikes_device(), "it stays lost");
    }
}
