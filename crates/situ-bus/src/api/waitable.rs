//! Typed subscribers, clients and servers as sources of wait sets.

use situ_layout::Message;
use situ_region::RegionMessage;

use crate::api::region::RegionSubscriber;
use crate::api::service::{Client, Server};
use crate::api::typed::Subscriber;
use crate::wait_set::source::{Source, Waitable};

impl<T: Message> Waitable for Subscriber<T> {
    fn source(&self) -> Source {
        self.raw().source()
    }
}

impl<T: RegionMessage> Waitable for RegionSubscriber<T> {
    fn source(&self) -> Source {
        self.raw().source()
    }
}

impl<Q: Message, P: Message> Waitable for Client<Q, P> {
    fn source(&self) -> Source {
        self.raw().source()
    }
}

impl<Q: Message, P: Message> Waitable for Server<Q, P> {
    fn source(&self) -> Source {
        self.raw().source()
    }
}
