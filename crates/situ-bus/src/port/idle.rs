//! What a subscriber does while it finds no message: it looks after dead participants.

use situ_memory::sync::atomic::Ordering;

use crate::port::subscriber::RawSubscriber;
use crate::protocol::ring::Look;
use crate::timeouts::REPAIR_INTERVAL_NS;

impl RawSubscriber {
    /// Checks once a second whether a publisher died and left a pool behind. It is called by takes that find
    /// no message. Within the second it costs, now and then, one read of a coarse clock, which is no system
    /// call.
    #[inline(always)]
    pub(crate) fn look_after_the_dead(&self) {
        if let Some(now) = self.empty.now_and_then()
            && now.saturating_sub(self.core().topic.looked_ns.load(Ordering::Relaxed)) > REPAIR_INTERVAL_NS
        {
            self.repair(now);
        }
    }

    #[cold]
    fn repair(&self, now: u64) {
        self.core().topic.looked_ns.store(now, Ordering::Relaxed);
        self.core().topic.repair_if_free();
        self.copies().tidy(0);
        self.pools().forget_gone(self.core());
        // A row has its lap modulo 2^22. To a subscriber that slept for more than half of these laps, a row
        // of a later lap looks like one of an earlier lap.
        let (number, ring) = (self.cursor(), self.core().topic.ring_of(self.cursor()));
        if ring.has_lapped(number) && ring.look(number) == Look::NotYet {
            let nearer = self.core().topic.end().saturating_sub(ring.depth()).max(number);
            self.count_lost(number, nearer);
            self.advance(nearer);
        }
    }
}
