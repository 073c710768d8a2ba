//! Names that a writer sends once, and refers to by number after that.

use std::sync::atomic::{AtomicU32, Ordering};

/// The names up to this number are interned; what comes later is written out each time.
pub(super) const MOST_INTERNED: u32 = 8192;

static NEXT: AtomicU32 = AtomicU32::new(1);

/// The name of an event, an argument or a category. Made once, as a static, where it is used.
// The layout is that of `situ_trace_name` in C.
#[repr(C)]
#[derive(Debug)]
pub struct Name {
    text: *const u8,
    len: usize,
    /// 0 until it is first used.
    number: AtomicU32,
}

// SAFETY: the text is never written, and lives as long as the program.
unsafe impl Sync for Name {}
// SAFETY: as above.
unsafe impl Send for Name {}

impl Name {
    /// A name.
    pub const fn new(text: &'static str) -> Self {
        Self { text: text.as_ptr(), len: text.len(), number: AtomicU32::new(0) }
    }

    /// The text. What is not UTF-8, which only C can make it, is empty.
    pub fn text(&self) -> &str {
        // SAFETY: a `&'static str`, or what C promised to be as good.
        let bytes = unsafe { std::slice::from_raw_parts(self.text, self.len) };
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Its number in this process.
    #[inline(always)]
    pub(super) fn number(&self) -> u32 {
        match self.number.load(Ordering::Relaxed) {
            0 => self.take_number(),
            number => number,
        }
    }

    #[cold]
    fn take_number(&self) -> u32 {
        let number = take_number();
        // Of two threads that come at once, the first one's number stays; the other is never used.
        match self.number.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => number,
            Err(first) => first,
        }
    }
}

/// A number that nobody else has; from 1.
pub(super) fn take_number() -> u32 {
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(1)).unwrap_or(u32::MAX)
}

/// What a writer has sent since its state was last cleared.
#[derive(Debug)]
pub(super) struct Sent([u64; (MOST_INTERNED / 64) as usize]);

impl Sent {
    pub(super) const fn nothing() -> Self {
        Self([0; (MOST_INTERNED / 64) as usize])
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Whether it was sent. Of what is never interned: yes.
    #[inline(always)]
    pub(super) fn has(&self, number: u32) -> bool {
        self.0.get((number / 64) as usize).is_none_or(|word| word >> (number % 64) & 1 != 0)
    }

    /// Notes that it is sent; whether it was not before.
    pub(super) fn add(&mut self, number: u32) -> bool {
        let is_new = !self.has(number);
        if let Some(word) = self.0.get_mut((number / 64) as usize) {
            *word |= 1 << (number % 64);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        static ONE: Name = Name::new("one");
        static OTHER: Name = Name::new("other");
        let number = ONE.number();
        assert_eq!(ONE.number(), number);
        assert_ne!(OTHER.number(), number);
        assert_eq!(ONE.text(), "one");
    }

    #[test]
    fn what_was_sent_is_known_until_it_is_cleared() {
        let mut sent = Sent::nothing();
        assert!(!sent.has(70) && sent.add(70) && sent.has(70) && !sent.add(70));
        assert!(!sent.has(6) && !sent.has(71));
        assert!(sent.has(MOST_INTERNED), "never interned, so never missing");
        sent.clear();
        assert!(!sent.has(70));
    }
}
