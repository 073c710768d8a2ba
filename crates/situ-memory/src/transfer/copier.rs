//! Copies from any domain to any other, by the shortest available route.
//!
//! ```text
//!   the target's domain reaches the source       one copy by the target's stream       direct
//!   the CPU may touch the source                 one copy by the target's stream       from the host
//!   the CPU may touch the target                 one copy by the source's stream       to the host
//!   otherwise                                    through host memory, in pieces        staged
//! ```

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::set::Domains;
use crate::domain::traits::{DomainError, DomainId, Memory, Stream, StreamOrder, check_range};
use crate::sync::fence::{Fence, FenceState};

/// How many bytes go through host memory at a time.
const PIECE: u64 = 8 << 20;

/// The route of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// Directly from memory to memory, by the target's domain.
    Direct,
    /// From host memory, by the target's domain.
    FromHost,
    /// To host memory, by the source's domain.
    ToHost,
    /// Through host memory: twice the work, because neither reaches the other.
    Staged,
}

/// The domains of source and target, each with whether the CPU may touch the memory.
type Ends = ((DomainId, bool), (DomainId, bool));

/// The route of copies between two domains, the domain of the stream that makes them, and whether they can be
/// enqueued.
#[derive(Debug, Clone, Copy)]
struct Way {
    by: DomainId,
    route: Route,
    enqueues: bool,
}

/// Copies between domains. Keeps the streams that it has used in each, and memory for staging.
#[derive(Debug)]
pub struct Copier {
    domains: Domains,
    /// The ways that were looked up before.
    ways: Vec<(Ends, Way)>,
    /// The streams for copies that the call waits for.
    streams: Vec<Arc<dyn Stream>>,
    /// The streams for enqueued copies: separate ones, because they may wait for slow work.
    queues: Vec<Arc<Queue>>,
    staging: Vec<u8>,
}

impl Copier {
    /// A copier between these domains.
    pub fn new(domains: Domains) -> Self {
        Self { domains, ways: Vec::new(), streams: Vec::new(), queues: Vec::new(), staging: Vec::new() }
    }

    /// Copies `len` bytes of `from`, at an offset, to `to`, at another, after a fence if one is given. Waits
    /// until the copy is done, for `timeout` at most. Returns the route. The caller checks whether the fence
    /// was poisoned.
    ///
    /// After an error the target may hold anything. After [`DomainError::TimedOut`] the work may still be
    /// under way, and the target must not be used again. This then keeps both memories mapped for ever, so
    /// that the work does no harm.
    pub fn copy(
        &mut self,
        (from, from_offset): (&Arc<dyn Memory>, u64),
        (to, to_offset): (&Arc<dyn Memory>, u64),
        len: u64,
        after: Option<&Fence>,
        timeout: Duration,
    ) -> Result<Route, DomainError> {
        check_range(from.as_ref(), from_offset, len)?;
        check_range(to.as_ref(), to_offset, len)?;
        let result = self.route((from, from_offset), (to, to_offset), len, after, timeout);
        if let Err(DomainError::TimedOut { .. }) = &result {
            std::mem::forget((from.clone(), to.clone(), std::mem::take(&mut self.staging)));
            // Stuck work must not delay later copies.
            self.streams.clear();
        }
        result
    }

    /// The way from memory to memory. It is looked up once, because the taker of a message waits for the
    /// answer.
    fn way(&mut self, from: &Arc<dyn Memory>, to: &Arc<dyn Memory>) -> Result<Way, DomainError> {
        let end = |memory: &Arc<dyn Memory>| -> Result<_, DomainError> {
            Ok((memory.domain(), memory.host(0, 0)?.is_some()))
        };
        let ends = (end(from)?, end(to)?);
        if let Some((_, way)) = self.ways.iter().find(|(known, _)| *known == ends) {
            return Ok(*way);
        }
        let reaches = self.domains.get(to.domain())?.reaches(from.domain());
        let (by, route) = match (ends.0.1, ends.1.1) {
            _ if reaches => (to.domain(), Route::Direct),
            (true, _) => (to.domain(), Route::FromHost),
            (false, true) => (from.domain(), Route::ToHost),
            (false, false) => (from.domain(), Route::Staged),
        };
        let enqueues =
            route != Route::Staged && self.domains.get(by)?.capabilities().order != StreamOrder::Host;
        let way = Way { by, route, enqueues };
        self.ways.push((ends, way));
        Ok(way)
    }

    /// The stream on which [`enqueue`](Self::enqueue) can copy from one memory to the other: `given` if it
    /// can, else one of this copier's. `None` if the copy is staged, or if such streams do all work in the
    /// call.
    pub fn stream_for<'s>(
        &mut self,
        given: Option<&'s dyn Stream>,
        from: &Arc<dyn Memory>,
        to: &Arc<dyn Memory>,
    ) -> Result<Option<Enqueuing<'s>>, DomainError> {
        let Way { by, route, enqueues } = self.way(from, to)?;
        if !enqueues {
            return Ok(None);
        }
        Ok(Some(match given.filter(|stream| stream.domain() == by) {
            Some(stream) => Enqueuing { route, stream: Chosen::Given(stream) },
            None => Enqueuing { route, stream: Chosen::Own(self.queue(by)?) },
        }))
    }

    /// Enqueues a copy on a stream that [`stream_for`](Self::stream_for) returned for these memories, then
    /// its completion: see [`Stream::complete_copy`]. Waits for nothing.
    ///
    /// After an error the copy's fence is poisoned, and the target must not be used again.
    pub fn enqueue(
        stream: &Enqueuing<'_>,
        (from, from_offset): (&Arc<dyn Memory>, u64),
        (to, to_offset): (&Arc<dyn Memory>, u64),
        len: u64,
        (fence, source): (&Fence, Option<&Fence>),
        kept: Box<dyn Any + Send>,
    ) -> Result<(), DomainError> {
        let route = stream.route;
        if let Chosen::Own(queue) = &stream.stream {
            *queue.last() = Some(fence.clone());
        }
        let stream = stream.stream();
        let begun = check_range(from.as_ref(), from_offset, len)
            .and_then(|()| check_range(to.as_ref(), to_offset, len))
            .and_then(|()| begin(stream, route, (from, from_offset), (to, to_offset), len));
        // The memories too: source and target must stay mapped, also if the caller is gone.
        let kept = Box::new((kept, from.clone(), to.clone()));
        if let Err(error) = begun {
            fence.poison();
            std::mem::forget(kept);
            return Err(error);
        }
        stream.complete_copy(fence, source, kept)
    }

    fn route(
        &mut self,
        (from, from_offset): (&Arc<dyn Memory>, u64),
        (to, to_offset): (&Arc<dyn Memory>, u64),
        len: u64,
        after: Option<&Fence>,
        timeout: Duration,
    ) -> Result<Route, DomainError> {
        let Way { by, route, .. } = self.way(from, to)?;
        let stream = self.stream(by)?;
        if let Some(fence) = after {
            stream.wait(fence, timeout)?;
        }
        if route == Route::Staged {
            return self.staged((from, from_offset), (to, to_offset), len, timeout);
        }
        begin(stream.as_ref(), route, (from, from_offset), (to, to_offset), len)?;
        stream.synchronize(timeout)?;
        Ok(route)
    }

    fn staged(
        &mut self,
        (from, from_offset): (&Arc<dyn Memory>, u64),
        (to, to_offset): (&Arc<dyn Memory>, u64),
        len: u64,
        timeout: Duration,
    ) -> Result<Route, DomainError> {
        let start = Instant::now();
        let (down, up) = (self.stream(from.domain())?, self.stream(to.domain())?);
        self.staging.resize(usize::try_from(len.min(PIECE)).unwrap_or(0), 0);
        let buffer = self.staging.as_mut_ptr();
        let mut done = 0;
        while done < len {
            let piece = PIECE.min(len - done);
            let left = || timeout.saturating_sub(start.elapsed());
            // SAFETY: the buffer has room for a piece, and each stream is waited for before the buffer is
            // touched again. If that times out, `copy` gives the buffer up instead of freeing it.
            unsafe {
                down.copy_to_host(from, from_offset + done, buffer, piece)?;
                down.synchronize(left())?;
                up.copy_from_host(buffer, to, to_offset + done, piece)?;
                up.synchronize(left())?;
            }
            done += piece;
        }
        Ok(Route::Staged)
    }

    /// The queue that it uses in a domain; a new one if the last copy or its source failed.
    fn queue(&mut self, domain: DomainId) -> Result<Arc<Queue>, DomainError> {
        self.queues.retain(|queue| queue.stream.domain() != domain || !queue.has_failed());
        if let Some(queue) = self.queues.iter().find(|queue| queue.stream.domain() == domain) {
            return Ok(queue.clone());
        }
        let queue = Arc::new(Queue { stream: self.domains.get(domain)?.stream()?, last: Mutex::new(None) });
        self.queues.push(queue.clone());
        Ok(queue)
    }

    /// The stream that it uses in a domain.
    fn stream(&mut self, domain: DomainId) -> Result<Arc<dyn Stream>, DomainError> {
        if let Some(stream) = self.streams.iter().find(|stream| stream.domain() == domain) {
            return Ok(stream.clone());
        }
        let stream = self.domains.get(domain)?.stream()?;
        self.streams.push(stream.clone());
        Ok(stream)
    }
}

/// A stream for enqueued copies. No caller synchronizes with it: the fences of its copies tell their results.
#[derive(Debug)]
struct Queue {
    stream: Arc<dyn Stream>,
    /// The fence of the last copy.
    last: Mutex<Option<Fence>>,
}

impl Queue {
    fn last(&self) -> MutexGuard<'_, Option<Fence>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it may have failed: then later copies would fail, too.
    fn has_failed(&self) -> bool {
        self.last().as_ref().is_some_and(|fence| fence.state() == FenceState::Poisoned)
    }
}

/// A stream to enqueue copies on: see [`Copier::stream_for`].
#[derive(Debug)]
pub struct Enqueuing<'s> {
    route: Route,
    stream: Chosen<'s>,
}

#[derive(Debug)]
enum Chosen<'s> {
    Given(&'s dyn Stream),
    Own(Arc<Queue>),
}

impl Enqueuing<'_> {
    /// The stream.
    pub fn stream(&self) -> &dyn Stream {
        match &self.stream {
            Chosen::Given(stream) => *stream,
            Chosen::Own(queue) => queue.stream.as_ref(),
        }
    }

    /// Whether it is the given one: later work on that stream comes after the copy without a wait.
    pub fn is_given(&self) -> bool {
        matches!(self.stream, Chosen::Given(_))
    }
}

/// Enqueues a copy that takes one stream's work, on a stream of the domain that the route needs. Ranges are
/// checked. The caller keeps both memories until the stream has passed the copy.
fn begin(
    stream: &dyn Stream,
    route: Route,
    (from, from_offset): (&Arc<dyn Memory>, u64),
    (to, to_offset): (&Arc<dyn Memory>, u64),
    len: u64,
) -> Result<(), DomainError> {
    match route {
        Route::FromHost if let Some(source) = from.host(from_offset, len)? => {
            // SAFETY: the range is checked, and mapped while `from` is, which the caller keeps. By the bus's
            // protocol no process writes it meanwhile. If one does so nevertheless, the copy holds a mixture,
            // as with any message of a broken publisher.
            unsafe { stream.copy_from_host(source, to, to_offset, len) }
        }
        Route::ToHost if let Some(target) = to.host(to_offset, len)? => {
            // SAFETY: as above; the target belongs to the caller.
            unsafe { stream.copy_to_host(from, from_offset, target, len) }
        }
        _ => stream.copy(from, from_offset, to, to_offset, len),
    }
}
