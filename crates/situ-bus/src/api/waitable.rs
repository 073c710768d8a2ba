//! Typed subscribers as sources of wait sets.

use situ_layout::Message;
use situ_region::RegionMessage;

use crate::api::region::RegionSubscriber;
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
