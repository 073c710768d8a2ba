//! The events of publishers and subscribers, and a publisher's signs of life.

use std::sync::Arc;

use crate::clock::now_ns;
use crate::events::endpoint_events::{EndpointEvents, Origin, Side};
use crate::events::event::Event;
use crate::events::lease::Lease;
use crate::events::status::{
    DeadlineMissedStatus, IncompatibleQosStatus, LivelinessChangedStatus, LivelinessLostStatus,
    MatchedStatus, MessagesLostStatus,
};
use crate::port::publisher::RawPublisher;
use crate::port::subscriber::RawSubscriber;
use crate::qos::Terms;
use crate::topic::StateWord;

impl RawPublisher {
    fn events(&self) -> &Arc<EndpointEvents> {
        self.events.get_or_init(|| {
            EndpointEvents::new(Origin {
                topic: self.topic.clone(),
                peers: self.node.peers.clone(),
                living: self.node.living.clone(),
                side: Side::Publisher,
                terms: self.terms,
                deadline: self.deadline.clone(),
                lease: self.lease.clone(),
            })
        })
    }

    /// A subscriber that matches has come or gone.
    pub fn matched_event(&self) -> Event<MatchedStatus> {
        Event::new(self.events())
    }

    /// A subscriber has come that requests more than this publisher offers.
    pub fn incompatible_qos_event(&self) -> Event<IncompatibleQosStatus> {
        Event::new(self.events())
    }

    /// It has not published within its [deadline](crate::PublisherQos::deadline).
    pub fn deadline_missed_event(&self) -> Event<DeadlineMissedStatus> {
        Event::new(self.events())
    }

    /// It has not shown within its [lease](crate::PublisherQos::lease) that it is alive.
    pub fn liveliness_lost_event(&self) -> Event<LivelinessLostStatus> {
        Event::new(self.events())
    }

    /// The number of subscribers that match: the status of [`matched_event`](Self::matched_event). Each call
    /// of one of these functions begins to count the changes anew.
    pub fn matched_status(&self) -> MatchedStatus {
        self.events().take()
    }

    /// The status of [`incompatible_qos_event`](Self::incompatible_qos_event).
    pub fn incompatible_qos_status(&self) -> IncompatibleQosStatus {
        self.events().take()
    }

    /// The status of [`deadline_missed_event`](Self::deadline_missed_event).
    pub fn deadline_missed_status(&self) -> DeadlineMissedStatus {
        self.events().take()
    }

    /// The status of [`liveliness_lost_event`](Self::liveliness_lost_event).
    pub fn liveliness_lost_status(&self) -> LivelinessLostStatus {
        self.events().take()
    }

    /// Shows that the publisher is alive. Publishing shows it too. Without a
    /// [lease](crate::PublisherQos::lease), or with automatic liveliness, it does nothing.
    pub fn assert_liveliness(&self) {
        if let Some(lease) = self.lease.as_ref().filter(|_| !self.is_inherited()) {
            self.assert_at(lease, now_ns());
        }
    }

    #[inline]
    pub(crate) fn assert_at(&self, lease: &Lease, now: u64) {
        let was_lost = lease.assert(&self.topic, self.topic.publisher(self.entry), now);
        if was_lost && let Some(events) = self.events.get() {
            events.tell();
        }
    }

    /// The number of subscribers that match at the moment.
    pub fn subscribers(&self) -> usize {
        let matches = |terms: Terms| !self.topic.is_mixed() || self.terms.satisfies(terms);
        self.topic.places.active().filter(|place| matches(place.terms())).count()
    }

    /// The number of deadlines that passed without a message, including the current one.
    pub fn deadlines_missed(&self) -> u64 {
        self.deadline.as_ref().map_or(0, |deadline| deadline.missed(now_ns()))
    }
}

impl RawSubscriber {
    fn events(&self) -> &Arc<EndpointEvents> {
        self.events.get_or_init(|| {
            let core = self.core();
            EndpointEvents::new(Origin {
                topic: core.topic.clone(),
                peers: core.node.peers.clone(),
                living: core.node.living.clone(),
                side: Side::Subscriber(core.own.index),
                terms: Terms::of_subscriber(self.qos()),
                deadline: self.deadline.clone(),
                lease: None,
            })
        })
    }

    /// A publisher that matches has come or gone.
    pub fn matched_event(&self) -> Event<MatchedStatus> {
        Event::new(self.events())
    }

    /// A publisher has come that offers less than this subscriber requests.
    pub fn incompatible_qos_event(&self) -> Event<IncompatibleQosStatus> {
        Event::new(self.events())
    }

    /// It has not taken a message within its [deadline](crate::SubscriberQos::deadline).
    pub fn deadline_missed_event(&self) -> Event<DeadlineMissedStatus> {
        Event::new(self.events())
    }

    /// A publisher that matches has come or gone, has not shown in time that it is alive, or has shown it
    /// again.
    pub fn liveliness_changed_event(&self) -> Event<LivelinessChangedStatus> {
        Event::new(self.events())
    }

    /// It has found that messages are lost.
    pub fn messages_lost_event(&self) -> Event<MessagesLostStatus> {
        Event::new(self.events())
    }

    /// The number of publishers that match: the status of [`matched_event`](Self::matched_event). Each call
    /// of one of these functions begins to count the changes anew.
    pub fn matched_status(&self) -> MatchedStatus {
        self.events().take()
    }

    /// The status of [`incompatible_qos_event`](Self::incompatible_qos_event).
    pub fn incompatible_qos_status(&self) -> IncompatibleQosStatus {
        self.events().take()
    }

    /// The status of [`deadline_missed_event`](Self::deadline_missed_event).
    pub fn deadline_missed_status(&self) -> DeadlineMissedStatus {
        self.events().take()
    }

    /// The status of [`liveliness_changed_event`](Self::liveliness_changed_event).
    pub fn liveliness_changed_status(&self) -> LivelinessChangedStatus {
        self.events().take()
    }

    /// The status of [`messages_lost_event`](Self::messages_lost_event).
    pub fn messages_lost_status(&self) -> MessagesLostStatus {
        self.events().take()
    }

    /// Reports lost messages.
    pub(crate) fn tell_lost(&self) {
        if let Some(events) = self.events.get() {
            events.tell();
        }
    }

    /// The number of publishers that match at the moment.
    pub fn publishers(&self) -> usize {
        let topic = &self.core().topic;
        let requested = Terms::of_subscriber(self.qos());
        let matches = |index: &usize| {
            let entry = topic.publisher(*index);
            let word = StateWord::read(&entry.state);
            topic.is_present(*index, word) && (!topic.is_mixed() || entry.terms(word).satisfies(requested))
        };
        (0..topic.used_entries()).filter(matches).count()
    }

    /// The number of deadlines that passed without a message, including the current one.
    pub fn deadlines_missed(&self) -> u64 {
        self.deadline.as_ref().map_or(0, |deadline| deadline.missed(now_ns()))
    }
}
