//! The bus: nodes, topics, publishing and taking, waiting, liveness and repair.
//!
//! A topic is a ring of references in one shared file, and the cursors of its subscribers in another.
//! Publishing stores a reference to a slot of the publisher's own pool. Taking holds the slot and reads it in
//! place. There is no daemon: a participant that finds a dead participant repairs the state that it left. The
//! formats are specified in `spec/topic.md` and `spec/pool.md`.
//!
//! ```text
//!    publisher A: pool        topic: ring of rows              subscriber
//!   +----+----+----+         +---+---+---+---+---+          cursor = 7
//!   | s0 | s1 | s2 | <------ | 5 | 6 | 7 |   |   | <------- 1. look at row 7
//!   +----+----+----+   +---- +---+---+---+---+---+          2. hold the slot (name it in my ledger)
//!    publisher B: pool |       one compare-and-swap         3. read in place
//!   +----+----+----+   |       claims row and order         4. release (clear the name)
//!   | s0 | s1 | s2 | <-+
//!   +----+----+----+
//! ```

pub mod protocol;

#[cfg(not(loom))]
mod api;
#[cfg(not(loom))]
mod blackboard;
#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
mod copy;
#[cfg(not(loom))]
mod events;
#[cfg(not(loom))]
mod execute;
#[cfg(not(loom))]
mod graph;
#[cfg(not(loom))]
mod node;
#[cfg(not(loom))]
mod observe;
#[cfg(not(loom))]
mod port;
#[cfg(not(loom))]
mod qos;
#[cfg(not(loom))]
mod qos_profile;
#[cfg(not(loom))]
mod service;
#[cfg(not(loom))]
mod synchronize;
#[cfg(not(loom))]
mod timeouts;
#[cfg(not(loom))]
mod topic;
#[cfg(not(loom))]
mod trust;
#[cfg(not(loom))]
mod wait;
#[cfg(not(loom))]
mod wait_set;

#[cfg(not(loom))]
pub(crate) use situ_memory::root;
pub use situ_memory::wake;
#[cfg(not(loom))]
pub use situ_memory::{Root, RootError};

#[cfg(not(loom))]
pub use self::{
    api::region::{
        EditError, InRegion, PublishRegionError, RegionLoan, RegionPublisher, RegionSample, RegionSubscriber,
        describe_region,
    },
    api::service::{
        Client, ClientOf, PendingCall, Refusal, ReplyLoan, Request, RequestLoan, Server, ServerOf,
        ServiceBuilder, describe_service,
    },
    api::service_async::{AsyncCall, AsyncCallError, AsyncClient, Requests},
    api::service_callbacks::CallbackClient,
    api::service_errors::{
        AnswerValueError, CallValueError, INVALID_REQUEST, ReceiveReplyError, ReceiveRequestError,
    },
    api::service_form::{Regions, ServiceMessage},
    api::service_outcome::OperationError,
    api::service_region::{RegionReplyLoan, RegionRequestLoan},
    api::service_rights::{
        MakeServiceError, RemoveServiceError, ServiceRights, make_service, remove_service,
    },
    api::stream::Messages,
    api::typed::{
        Loan, PublishValueError, Publisher, PublisherBuilder, ReceiveError, Sample, Subscriber,
        SubscriberBuilder, Value, describe,
    },
    blackboard::errors::{BlackboardReaderError, BlackboardWriterError, GetValueError, SetValueError},
    blackboard::list::{blackboards, clean_blackboards},
    blackboard::reader::{RawBlackboardReader, WriterState},
    blackboard::typed::{BlackboardReader, BlackboardWriter, Versioned},
    blackboard::writer::RawBlackboardWriter,
    clock::{now_ns, steady_now},
    copy::copy_error::CopyError,
    events::event::Event,
    events::status::{
        DeadlineMissedStatus, EventStatus, IncompatibleQosStatus, LivelinessChangedStatus,
        LivelinessLostStatus, MatchedStatus, MessagesLostStatus,
    },
    execute::callback::{
        CallbackError, CallbackFailure, CallbackGroup, CallbackResult, Permanent, Temporary,
    },
    execute::executor::{Executor, InGroup, SpinError},
    execute::stop::Stopper,
    graph::changes::GraphChanges,
    graph::endpoint_info::{EndpointInfo, EndpointQos, EndpointRole},
    graph::read::{Graph, GraphNode, GraphService, GraphTopic},
    graph::watch::{GraphWatch, GraphWatchError},
    node::endpoint::EndpointId,
    node::handle::{Cleaned, Node, NodeError, clean, clean_topics},
    node::liveness::{NodeId, NodeInfo},
    node::node_file::MAX_USER_DATA,
    node::options::NodeOptions,
    node::peer::Peer,
    observe::observer::{Observer, Seen},
    observe::read_message::ObservedMessage,
    observe::service::{ServiceEvent, ServiceEventKind, ServiceObserver},
    observe::{hook, inspect},
    port::batch::Published,
    port::device_span::DeviceSpan,
    port::growing::GROWING_ROOM,
    port::loan::{DetachedLoan, LoanError, RawLoan},
    port::placement::Placement,
    port::publish_error::{PublishError, SlowSubscriber},
    port::publisher::RawPublisher,
    port::sample::{CopyCounter, RawSample},
    port::sample_payload::IncompleteError,
    port::subscriber::{RawSubscriber, TakeError},
    qos::{
        Durability, History, Liveliness, PublisherQos, QosPolicies, QosPolicy, Reliability, SubscriberQos,
        WhenFull,
    },
    qos_profile::QosProfile,
    service::answer::{DetachedReplyLoan, RawReplyLoan},
    service::client::{RawClient, RawReply, RawRequestLoan},
    service::description::ServiceDescription,
    service::errors::{AnswerError, CallError, ReplyError, RequestError},
    service::options::ServiceOptions,
    service::request::{RawRequest, RequestHandle, RequestId},
    service::server::RawServer,
    synchronize::policy::{ApproximateTime, ExactTime, SynchronizerError, SynchronizerPolicy},
    synchronize::queues::SynchronizerCounts,
    synchronize::stamped::{SampleSource, Stamped, StampedTopics},
    synchronize::synchronizer::Synchronizer,
    topic::removal::{Removed, RemovedPart},
    topic::standing::{MakeTopicError, RemoveTopicError, TopicRights, make_topic, remove_topic},
    topic::{Encoding, RegisterError, TextTooLong, TypeDescription},
    trust::{Limits, Trust},
    wait::interrupt::{Interrupted, Interrupter, Wait},
    wait::reactor::EventFd,
    wait::wait_any::{wait_any, wait_any_with},
    wait_set::clock::{Clock, SimulatedClock},
    wait_set::guard_condition::GuardCondition,
    wait_set::set::{ReadySources, WaitSet},
    wait_set::source::{
        AttachError, Descriptor, IoReadiness, ReadySource, Source, SourceId, WaitError, Waitable,
    },
    wait_set::timer::{Timer, TimerCall, TimerError},
};
