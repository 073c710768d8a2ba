//! What the builders of publishers and subscribers say of quality of service beyond the usual choices, and
//! the events of typed publishers and subscribers.

use std::time::Duration;

use situ_layout::Message;
use situ_region::RegionMessage;

use crate::api::region::{RegionPublisher, RegionSubscriber};
use crate::api::typed::{Publisher, PublisherBuilder, Subscriber, SubscriberBuilder};
use crate::events::event::Event;
use crate::events::status::{
    DeadlineMissedStatus, IncompatibleQosStatus, LivelinessChangedStatus, LivelinessLostStatus,
    MatchedStatus, MessagesLostStatus,
};
use crate::qos::Liveliness;
use crate::qos_profile::QosProfile;

impl<T, F> PublisherBuilder<T, F> {
    /// Offers the quality of service of a profile of ROS.
    pub fn profile(self, profile: QosProfile) -> Self {
        self.qos(profile.into())
    }

    /// Promises to show that it is alive at least this often, by publishing or by `assert_liveliness`.
    pub fn manual_liveliness(mut self, lease: Duration) -> Self {
        let qos = self.qos_mut();
        (qos.liveliness, qos.lease) = (Liveliness::ManualByTopic, Some(lease));
        self
    }
}

impl<T, F> SubscriberBuilder<T, F> {
    /// Requests the quality of service of a profile of ROS.
    pub fn profile(self, profile: QosProfile) -> Self {
        self.qos(profile.into())
    }

    /// Requests that publishers show at least this often that they are alive.
    pub fn manual_liveliness(mut self, lease: Duration) -> Self {
        let qos = self.qos_mut();
        (qos.liveliness, qos.lease) = (Liveliness::ManualByTopic, Some(lease));
        self
    }
}

macro_rules! events {
    ($($(#[$meta:meta])* $name:ident -> $status:ty;)*) => {
        $(
            $(#[$meta])*
            pub fn $name(&self) -> Event<$status> {
                self.raw().$name()
            }
        )*
    };
}

macro_rules! of_publisher {
    ($type:ident, $message:ident) => {
        impl<T: $message> $type<T> {
            events! {
                /// See [`RawPublisher::matched_event`](crate::RawPublisher::matched_event).
                matched_event -> MatchedStatus;
                /// See [`RawPublisher::incompatible_qos_event`](crate::RawPublisher::incompatible_qos_event).
                incompatible_qos_event -> IncompatibleQosStatus;
                /// See [`RawPublisher::deadline_missed_event`](crate::RawPublisher::deadline_missed_event).
                deadline_missed_event -> DeadlineMissedStatus;
                /// See [`RawPublisher::liveliness_lost_event`](crate::RawPublisher::liveliness_lost_event).
                liveliness_lost_event -> LivelinessLostStatus;
            }

            /// See [`RawPublisher::assert_liveliness`](crate::RawPublisher::assert_liveliness).
            pub fn assert_liveliness(&self) {
                self.raw().assert_liveliness();
            }
        }
    };
}

macro_rules! of_subscriber {
    ($type:ident, $message:ident) => {
        impl<T: $message> $type<T> {
            events! {
                /// See [`RawSubscriber::matched_event`](crate::RawSubscriber::matched_event).
                matched_event -> MatchedStatus;
                /// See
                /// [`RawSubscriber::incompatible_qos_event`](crate::RawSubscriber::incompatible_qos_event).
                incompatible_qos_event -> IncompatibleQosStatus;
                /// See [`RawSubscriber::deadline_missed_event`](crate::RawSubscriber::deadline_missed_event).
                deadline_missed_event -> DeadlineMissedStatus;
                /// See
                /// [`RawSubscriber::liveliness_changed_event`](crate::RawSubscriber::liveliness_changed_event).
                liveliness_changed_event -> LivelinessChangedStatus;
                /// See [`RawSubscriber::messages_lost_event`](crate::RawSubscriber::messages_lost_event).
                messages_lost_event -> MessagesLostStatus;
            }
        }
    };
}

of_publisher!(Publisher, Message);
of_publisher!(RegionPublisher, RegionMessage);
of_subscriber!(Subscriber, Message);
of_subscriber!(RegionSubscriber, RegionMessage);
