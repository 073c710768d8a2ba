//! Events of publishers and subscribers: their statuses as dicts, and as sources of wait sets.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use situ_bus::{
    DeadlineMissedStatus, Event, IncompatibleQosStatus, LivelinessChangedStatus, LivelinessLostStatus,
    MatchedStatus, MessagesLostStatus, RawPublisher, RawSubscriber, Source, Waitable,
};

enum Kind {
    Matched(Event<MatchedStatus>),
    Incompatible(Event<IncompatibleQosStatus>),
    Deadline(Event<DeadlineMissedStatus>),
    LivelinessLost(Event<LivelinessLostStatus>),
    LivelinessChanged(Event<LivelinessChangedStatus>),
    Lost(Event<MessagesLostStatus>),
}

/// An event of an endpoint. A wait set reports it when its status has changed.
#[pyclass(frozen, module = "situ", name = "Event")]
pub struct EventHandle {
    event: Kind,
}

impl EventHandle {
    /// The event of this name of a publisher.
    pub fn of_publisher(raw: &RawPublisher, kind: &str) -> Option<Self> {
        let event = match kind {
            "matched" => Kind::Matched(raw.matched_event()),
            "incompatible_qos" => Kind::Incompatible(raw.incompatible_qos_event()),
            "deadline_missed" => Kind::Deadline(raw.deadline_missed_event()),
            "liveliness_lost" => Kind::LivelinessLost(raw.liveliness_lost_event()),
            _ => return None,
        };
        Some(Self { event })
    }

    /// The event of this name of a subscriber.
    pub fn of_subscriber(raw: &RawSubscriber, kind: &str) -> Option<Self> {
        let event = match kind {
            "matched" => Kind::Matched(raw.matched_event()),
            "incompatible_qos" => Kind::Incompatible(raw.incompatible_qos_event()),
            "deadline_missed" => Kind::Deadline(raw.deadline_missed_event()),
            "liveliness_changed" => Kind::LivelinessChanged(raw.liveliness_changed_event()),
            "messages_lost" => Kind::Lost(raw.messages_lost_event()),
            _ => return None,
        };
        Some(Self { event })
    }

    /// The source by which a wait set waits for it.
    pub fn source(&self) -> Source {
        match &self.event {
            Kind::Matched(it) => it.source(),
            Kind::Incompatible(it) => it.source(),
            Kind::Deadline(it) => it.source(),
            Kind::LivelinessLost(it) => it.source(),
            Kind::LivelinessChanged(it) => it.source(),
            Kind::Lost(it) => it.source(),
        }
    }
}

#[pymethods]
impl EventHandle {
    /// The status as a dict. Its changes are those since the last call.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = PyDict::new(py);
        let totals = |total: u64, change: u64| {
            status.set_item("total_count", total)?;
            status.set_item("total_count_change", change)
        };
        match &self.event {
            Kind::Matched(it) => {
                let it = it.take();
                totals(it.total_count, it.total_count_change)?;
                status.set_item("current_count", it.current_count)?;
                status.set_item("current_count_change", it.current_count_change)?;
            }
            Kind::Incompatible(it) => {
                let it = it.take();
                totals(it.total_count, it.total_count_change)?;
                status.set_item("policies", it.policies.iter().map(|it| it.name()).collect::<Vec<_>>())?;
            }
            Kind::Deadline(it) => {
                let it = it.take();
                totals(it.total_count, it.total_count_change)?;
            }
            Kind::LivelinessLost(it) => {
                let it = it.take();
                totals(it.total_count, it.total_count_change)?;
            }
            Kind::LivelinessChanged(it) => {
                let it = it.take();
                status.set_item("alive_count", it.alive_count)?;
                status.set_item("not_alive_count", it.not_alive_count)?;
                status.set_item("alive_count_change", it.alive_count_change)?;
                status.set_item("not_alive_count_change", it.not_alive_count_change)?;
            }
            Kind::Lost(it) => {
                let it = it.take();
                totals(it.total_count, it.total_count_change)?;
            }
        }
        Ok(status)
    }
}
