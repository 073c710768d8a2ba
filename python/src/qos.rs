//! Quality of service, from the keyword arguments of Python.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use situ_bus::{
    Durability, History, Liveliness, Placement, PublisherQos, Reliability, ServiceOptions, SubscriberQos,
    Trust, WhenFull,
};

use crate::errors::Kind as Error;
use crate::port::SLICE;

/// A time in seconds.
pub fn duration(py: Python<'_>, name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Error::Conversion.error(py, format!("`{name}`: {seconds} is no time in seconds")))
}

/// A time in seconds; `None`: no limit.
pub fn limit(py: Python<'_>, name: &str, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        // Longer than any process lives.
        Some(seconds) if seconds == f64::INFINITY => Ok(None),
        Some(seconds) => duration(py, name, seconds).map(Some),
        None => Ok(None),
    }
}

struct Options<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Options<'_, 'py> {
    fn get<T: for<'a> FromPyObject<'a, 'py>>(&self, name: &str) -> PyResult<Option<T>> {
        match self.0.get_item(name)? {
            Some(value) if !value.is_none() => match value.extract::<T>() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(self.wrong(name, &value)),
            },
            _ => Ok(None),
        }
    }

    fn wrong(&self, name: &str, value: &Bound<'py, PyAny>) -> PyErr {
        let text = format!(
            "`{name}` cannot be {}",
            value.repr().map_or_else(|_| "this".into(), |it| it.to_string())
        );
        Error::Conversion.error(value.py(), text)
    }

    fn time(&self, name: &str) -> PyResult<Option<Duration>> {
        limit(self.0.py(), name, self.get(name)?)
    }

    /// One of several words.
    fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> PyResult<Option<T>> {
        let Some(given) = self.get::<String>(name)? else { return Ok(None) };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == given) {
            return Ok(Some(*value));
        }
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let text = format!("`{name}` cannot be {given:?}: it is one of {}", all.join(", "));
        Err(Error::Conversion.error(self.0.py(), text))
    }

    fn reliability(&self) -> PyResult<Option<Reliability>> {
        let reliable = self.get::<bool>("reliable")?;
        Ok(reliable.map(|it| if it { Reliability::Reliable } else { Reliability::BestEffort }))
    }

    fn durability(&self) -> PyResult<Option<Durability>> {
        self.word(
            "durability",
            &[("volatile", Durability::Volatile), ("transient_local", Durability::TransientLocal)],
        )
    }

    fn liveliness(&self) -> PyResult<Option<Liveliness>> {
        self.word(
            "liveliness",
            &[("automatic", Liveliness::Automatic), ("manual", Liveliness::ManualByTopic)],
        )
    }

    fn user_data(&self) -> PyResult<Vec<u8>> {
        Ok(self.get("user_data")?.unwrap_or_default())
    }
}

/// In which memory domain: `domain`, such as `cuda:0`.
pub fn placement(options: &Bound<'_, PyDict>) -> PyResult<Placement> {
    let options = Options(options);
    let mut placement = Placement::default();
    if let Some(name) = options.get::<String>("domain")? {
        placement.domain = name.parse().map_err(|_| {
            let text = format!(
                "there is no memory domain {name:?}: it is one like host, cuda:0, vulkan:0, emulated:0"
            );
            Error::Conversion.error(options.0.py(), text)
        })?;
    }
    placement.capacity = options.get("capacity")?;
    Ok(placement)
}

/// What a publisher offers, and how long it waits for room.
pub fn of_publisher(options: &Bound<'_, PyDict>) -> PyResult<(PublisherQos, Option<Duration>)> {
    let options = Options(options);
    let usual = PublisherQos::default();
    let block = match options.0.get_item("block")? {
        Some(value) if value.is_none() => None,
        Some(_) => options.time("block")?,
        None => Some(Duration::from_secs(1)),
    };
    let when_full = match block {
        Some(Duration::ZERO) => WhenFull::Fail,
        // The wait is repeated, so that signals are handled meanwhile.
        block => WhenFull::Block(Some(block.map_or(SLICE, |block| block.min(SLICE)))),
    };
    let qos = PublisherQos {
        reliability: options.reliability()?.unwrap_or(usual.reliability),
        durability: options.durability()?.unwrap_or(usual.durability),
        depth: options.get("depth")?.unwrap_or(usual.depth),
        when_full,
        deadline: options.time("deadline")?,
        lifespan: options.time("lifespan")?,
        liveliness: options.liveliness()?.unwrap_or(usual.liveliness),
        lease: options.time("lease")?,
        best_available: options.get("best_available")?.unwrap_or(false),
        user_data: options.user_data()?,
        ..usual
    };
    Ok((qos, block))
}

/// What a subscriber requests.
pub fn of_subscriber(options: &Bound<'_, PyDict>) -> PyResult<SubscriberQos> {
    let options = Options(options);
    let usual = SubscriberQos::default();
    let trust = [("same_user", Trust::SameUser), ("everyone", Trust::Everyone), ("nobody", Trust::Nobody)];
    Ok(SubscriberQos {
        reliability: options.reliability()?.unwrap_or(usual.reliability),
        durability: options.durability()?.unwrap_or(usual.durability),
        history: options.get("keep_last")?.map_or(usual.history, History::KeepLast),
        deadline: options.time("deadline")?,
        liveliness: options.liveliness()?.unwrap_or(usual.liveliness),
        lease: options.time("lease")?,
        best_available: options.get("best_available")?.unwrap_or(false),
        trust: options.word("trust", &trust)?.unwrap_or(usual.trust),
        max_held: options.get("max_held")?.unwrap_or(usual.max_held),
        reception_times: options.get("reception_times")?.unwrap_or(false),
        user_data: options.user_data()?,
        ..usual
    })
}

/// The options of a client or a server.
pub fn of_service(options: &Bound<'_, PyDict>) -> PyResult<ServiceOptions> {
    let options = Options(options);
    let usual = ServiceOptions::default();
    Ok(ServiceOptions {
        max_calls: options.get("max_calls")?.unwrap_or(usual.max_calls),
        depth: options.get("depth")?.unwrap_or(usual.depth),
        max_held: options.get("max_held")?.unwrap_or(usual.max_held),
        user_data: options.user_data()?,
        ..usual
    })
}
