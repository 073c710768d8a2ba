//! The writer's state: a cursor in a chunk, and the open messages.
//!
//! The length of an open message stands in a *slot* in front of its content. While the message lies in one
//! chunk, the slot is *narrow*: as wide as the last length at this depth, at first one byte. If the length
//! needs more or fewer bytes when the message ends, its content is moved, so that every length is minimal.
//! For each open narrow slot, [`SPARE`] bytes at the end of the chunk stay free, so that widening always
//! finds room. Fields therefore need to check only one bound. When the writer leaves the chunk, all narrow
//! slots in it become *wide* ones of [`WIDE`] bytes, which are patched when their messages end.
//!
//! A group is a level, too, but has a tag at its end instead of a length. Its slot has no bytes and never
//! grows.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::delegate::{Chunk, Delegate, Patch};
use super::error::WriteError;
use super::wire::{
    MAX_FIELD, MAX_LENGTH, MAX_TAG, MAX_VARINT, WIDE, WireType, put_number, put_padded_varint, put_varint,
    tag, varint_size,
};

/// The maximum nesting of messages below the first one. Readers commonly stop at 100.
pub const MAX_LEVELS: usize = 128;

/// The number of bytes by which a narrow slot may grow.
const SPARE: usize = WIDE - 1;

/// The smallest chunk that a message can begin in, in bytes.
pub const MIN_CHUNK: usize = WIDE;

/// The number of levels whose last width is stored, in three bits each.
const WIDTH_LEVELS: u32 = 21;

/// The value of [`Level::chunk_or_width`] for a group, which has no slot.
const GROUP: u32 = u32::MAX;

/// An open message.
#[derive(Clone, Copy)]
struct Level {
    /// Narrow: the address of its content. Wide: the offset of its content in the whole message, in bytes.
    content: u64,
    /// Wide: the chunk of its slot. Narrow: the width of its slot. [`GROUP`] for a group.
    chunk_or_width: u32,
    /// Wide: the offset of the slot in that chunk. Group: the tag of its end.
    slot: u32,
}

impl Level {
    /// Narrow: the slot's width in bytes.
    fn width(&self) -> usize {
        if self.chunk_or_width == GROUP { 0 } else { self.chunk_or_width as usize }
    }

    /// Narrow: the number of bytes by which the slot grows when it becomes wide.
    fn growth(&self) -> usize {
        if self.chunk_or_width == GROUP { 0 } else { WIDE - self.chunk_or_width as usize }
    }
}

/// The state of a writer. Members that every field checks come first. Members that begin as zero lie
/// together: one store sets them, and no load has to wait for two stores.
#[repr(C)]
pub(super) struct Core {
    /// The place of the next byte: `start <= cursor <= end`.
    pub(super) cursor: *mut u8,
    /// The limit for fields: the end of the chunk minus the spare bytes, or `cursor` after an error.
    pub(super) end: *mut u8,
    /// The chunk.
    start: *mut u8,
    chunk_end: *mut u8,
    delegate: NonNull<dyn Delegate>,
    /// The number of bytes in earlier chunks.
    before: u64,
    /// By level, the width of the slot that was closed last, minus one.
    widths: u64,
    /// The number of the chunk.
    number: u32,
    /// The number of open levels.
    depth: u32,
    /// Levels from this one on are narrow, those below are wide.
    narrow_from: u32,
    /// Levels below this one end by the slow path: `narrow_from`, or all after an error or in the tight
    /// state.
    slow_below: u32,
    /// Levels below this one begin by the fast path if there is room: none in the tight state. In that state
    /// the delegate has no more memory. The spare bytes are in use too, so widening has to check for room.
    quick_below: u32,
    error: Option<WriteError>,
    levels: [MaybeUninit<Level>; MAX_LEVELS],
}

impl Core {
    /// # Safety
    /// The delegate must outlive the core, which has the only reference to it. `first` is its first chunk.
    #[inline(always)]
    pub(super) unsafe fn new(delegate: NonNull<dyn Delegate>, first: Option<Chunk>) -> Self {
        let error = if first.is_some() { None } else { Some(WriteError::Full { written: 0 }) };
        let chunk = first.unwrap_or(Chunk { start: NonNull::dangling(), len: 0 });
        let start = chunk.start.as_ptr();
        // SAFETY: the chunk has that many bytes.
        let end = unsafe { start.add(chunk.len) };
        Self {
            cursor: start,
            end,
            start,
            chunk_end: end,
            delegate,
            before: 0,
            number: 0,
            depth: 0,
            narrow_from: 0,
            slow_below: if error.is_none() { 0 } else { u32::MAX },
            quick_below: MAX_LEVELS as u32,
            error,
            widths: 0,
            levels: [const { MaybeUninit::uninit() }; MAX_LEVELS],
        }
    }

    /// Returns the number of bytes that a field may have without more memory.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.end as usize - self.cursor as usize
    }

    /// Returns the length of the whole message so far, in bytes.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.before + (self.cursor as usize - self.start as usize) as u64
    }

    #[inline]
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Stores the first error. From then on there is no room for any field.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, error: WriteError) {
        if self.error.is_none() {
            self.error = Some(error);
        }
        self.end = self.cursor;
        self.slow_below = u32::MAX;
    }

    #[inline]
    fn is_tight(&self) -> bool {
        self.quick_below == 0
    }

    pub(super) fn error(&self) -> Option<WriteError> {
        self.error
    }

    /// Checks a field number. If it is invalid, stores the error and returns false.
    #[inline(always)]
    pub(super) fn check(&mut self, field: u32) -> bool {
        if field.wrapping_sub(1) < MAX_FIELD {
            return true;
        }
        self.fail(WriteError::InvalidField { field });
        false
    }

    #[inline(always)]
    pub(super) fn varint_field(&mut self, field: u32, value: u64, max_size: usize) {
        if !self.check(field) {
            return;
        }
        let tag = tag(field, WireType::Varint);
        if self.room() < varint_size(u64::from(tag)) + max_size {
            return self.varint_field_slow(tag, value);
        }
        // SAFETY: there is room for the tag and the longest value.
        unsafe { self.cursor = put_number(put_varint(self.cursor, u64::from(tag)), value) };
    }

    #[cold]
    #[inline(never)]
    fn varint_field_slow(&mut self, tag: u32, value: u64) {
        let mut bytes = [0; MAX_TAG + MAX_VARINT];
        // SAFETY: the array has room for the longest of both.
        let len = unsafe {
            let start = bytes.as_mut_ptr();
            put_varint(put_varint(start, u64::from(tag)), value) as usize - start as usize
        };
        self.put(&bytes[..len]);
    }

    #[inline(always)]
    pub(super) fn fixed_field<const N: usize>(&mut self, field: u32, wire: WireType, value: [u8; N]) {
        if !self.check(field) {
            return;
        }
        let tag = tag(field, wire);
        if self.room() < varint_size(u64::from(tag)) + N {
            return self.bytes_slow(tag, None, &value);
        }
        // SAFETY: there is room for the tag and the value.
        unsafe {
            let at = put_varint(self.cursor, u64::from(tag));
            at.cast::<[u8; N]>().write(value);
            self.cursor = at.add(N);
        }
    }

    #[inline(always)]
    pub(super) fn bytes_field(&mut self, field: u32, bytes: &[u8]) {
        if !self.check(field) {
            return;
        }
        let tag = tag(field, WireType::Bytes);
        let room = self.room();
        // Two comparisons, because a very long length could overflow one.
        if bytes.len() > room || room - bytes.len() < varint_size(u64::from(tag)) + MAX_TAG {
            return self.bytes_slow(tag, Some(bytes.len()), bytes);
        }
        // SAFETY: there is room for the tag, the length and the bytes. The length has at most five bytes: the
        // chunk is shorter than 2^31 bytes, or the length is checked below.
        unsafe {
            let at = put_varint(self.cursor, u64::from(tag));
            let at = if bytes.len() < 0x80 {
                at.write(bytes.len() as u8);
                at.add(1)
            } else if bytes.len() as u64 <= MAX_LENGTH {
                put_varint(at, bytes.len() as u64)
            } else {
                return self.fail(WriteError::TooLong { length: bytes.len() as u64 });
            };
            at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            self.cursor = at.add(bytes.len());
        }
    }

    /// Writes a tag, a length if there is one, and bytes, across chunks if necessary.
    #[cold]
    #[inline(never)]
    pub(super) fn bytes_slow(&mut self, tag: u32, length: Option<usize>, bytes: &[u8]) {
        if bytes.len() as u64 > MAX_LENGTH {
            return self.fail(WriteError::TooLong { length: bytes.len() as u64 });
        }
        self.put_varint(u64::from(tag));
        if let Some(length) = length {
            self.put_varint(length as u64);
        }
        self.put(bytes);
    }

    /// Writes a varint without a tag.
    #[inline(always)]
    pub(super) fn put_varint(&mut self, value: u64) {
        if self.room() < MAX_VARINT {
            return self.put_varint_slow(value);
        }
        // SAFETY: there is room for the longest.
        unsafe { self.cursor = put_number(self.cursor, value) };
    }

    #[cold]
    #[inline(never)]
    fn put_varint_slow(&mut self, value: u64) {
        let mut bytes = [0; MAX_VARINT];
        // SAFETY: the array has room for the longest.
        let len = unsafe { put_varint(bytes.as_mut_ptr(), value) as usize } - bytes.as_ptr() as usize;
        self.put(&bytes[..len]);
    }

    /// Writes bytes, across as many chunks as they need.
    #[inline]
    pub(super) fn put(&mut self, mut bytes: &[u8]) {
        loop {
            let count = bytes.len().min(self.room());
            // SAFETY: there is room for that many.
            unsafe {
                self.cursor.copy_from_nonoverlapping(bytes.as_ptr(), count);
                self.cursor = self.cursor.add(count);
            }
            bytes = &bytes[count..];
            if bytes.is_empty() || !self.more(bytes.len()) {
                return;
            }
        }
    }

    /// Begins a message, string or packed field whose length is not yet known.
    #[inline(always)]
    pub(super) fn open(&mut self, field: u32) {
        if !self.check(field) {
            // Counted, so that the matching end has a level to end.
            self.depth += 1;
            return;
        }
        let tag = tag(field, WireType::Bytes);
        let width = self.width();
        if self.room() < varint_size(u64::from(tag)) + width + WIDE || self.depth >= self.quick_below {
            return self.open_slow(tag);
        }
        // SAFETY: there is room for the tag, the slot and its spare bytes, and a free place among the levels.
        unsafe {
            let content = put_varint(self.cursor, u64::from(tag)).add(width);
            self.cursor = content;
            self.end = self.end.sub(SPARE);
            self.push(content, width as u32, 0);
        }
    }

    /// Begins a group, which has no length but a tag at its end.
    pub(super) fn open_group(&mut self, field: u32) {
        if !self.check(field) {
            self.depth += 1;
            return;
        }
        if self.depth as usize >= MAX_LEVELS {
            self.fail(WriteError::TooDeep);
        }
        self.put_varint(u64::from(tag(field, WireType::GroupStart)));
        self.begin_level(0, GROUP, tag(field, WireType::GroupEnd));
    }

    /// Returns the expected width of the length of a message at this depth.
    #[inline(always)]
    fn width(&self) -> usize {
        if self.depth < WIDTH_LEVELS { 1 + (self.widths >> (3 * self.depth) & 7) as usize } else { 1 }
    }

    /// # Safety
    /// A place among the levels must be free.
    #[inline(always)]
    unsafe fn push(&mut self, content: *mut u8, width: u32, slot: u32) {
        let level = Level { content: content as usize as u64, chunk_or_width: width, slot };
        // SAFETY: the caller's promise.
        unsafe { self.levels.get_unchecked_mut(self.depth as usize).write(level) };
        self.depth += 1;
    }

    #[cold]
    #[inline(never)]
    fn open_slow(&mut self, tag: u32) {
        if self.depth as usize >= MAX_LEVELS {
            self.fail(WriteError::TooDeep);
        }
        self.put_varint(u64::from(tag));
        self.begin_level(1, 1, 0);
    }

    /// Begins a level behind a slot of `bytes` bytes, when there is room for the slot and its spare bytes.
    fn begin_level(&mut self, bytes: usize, width: u32, slot: u32) {
        while self.error.is_none() {
            let needed = if self.is_tight() { bytes } else { bytes + SPARE };
            if self.room() >= needed {
                // SAFETY: there is room for the slot and its spare bytes. A place among the levels is free:
                // otherwise there would be an error.
                unsafe {
                    self.cursor = self.cursor.add(bytes);
                    if !self.is_tight() {
                        self.end = self.end.sub(SPARE);
                    }
                    return self.push(self.cursor, width, slot);
                }
            }
            if self.cursor == self.start && !self.is_tight() {
                let length = self.chunk_end as usize - self.start as usize;
                // A chunk that can grow is never too small.
                if !self.grow(WIDE) {
                    self.fail(WriteError::ChunkTooSmall { length });
                }
            } else {
                self.more(needed);
            }
        }
        self.depth += 1;
    }

    /// Ends the message that opened this level, counted from 1, and messages in it whose handles were leaked.
    #[inline(always)]
    pub(super) fn close_level(&mut self, level: u32) {
        self.close_above(level);
        if self.depth == level {
            self.close(level - 1);
        }
    }

    /// Ends messages within the one that opened this level. Only leaked handles leave such messages open.
    #[inline(always)]
    pub(super) fn close_above(&mut self, level: u32) {
        if self.depth > level {
            self.close_leaked(level);
        }
    }

    #[cold]
    #[inline(never)]
    fn close_leaked(&mut self, level: u32) {
        while self.depth > level {
            self.close(self.depth - 1);
        }
    }

    /// Ends the innermost message, which has the level `depth`.
    #[inline(always)]
    fn close(&mut self, depth: u32) {
        self.depth = depth;
        if depth < self.slow_below {
            return self.close_slow();
        }
        // SAFETY: the level is narrow, or a group, and was pushed when there was no error.
        let level = unsafe { self.levels.get_unchecked(depth as usize).assume_init_ref() };
        let (content, width) = (level.content as usize, level.chunk_or_width);
        // The spare bytes of this level's slot are room again. SAFETY: they were taken from the chunk's end
        // when the level was opened.
        self.end = unsafe { self.end.add(SPARE) };
        let length = self.cursor as usize - content;
        if width != 1 || length >= 0x80 {
            return self.close_moving(width, length);
        }
        // SAFETY: the slot is the byte in front of the content.
        unsafe { self.cursor.sub(length + 1).write(length as u8) };
    }

    /// Writes a length into a slot of `width` bytes, and moves the content if the length needs more or fewer
    /// bytes. For a group, writes its end.
    #[inline(never)]
    fn close_moving(&mut self, width: u32, length: usize) {
        if width == GROUP {
            return self.close_group();
        }
        let width = width as usize;
        if length as u64 > MAX_LENGTH {
            return self.fail(WriteError::TooLong { length: length as u64 });
        }
        let needed = varint_size(length as u64);
        if needed > width && (self.chunk_end as usize - self.cursor as usize) < needed - width {
            // Without room: possible only in the tight state.
            let written = self.position();
            return self.fail(WriteError::Full { written });
        }
        // SAFETY: the slot lies in front of the content, and behind the content there is room for its growth.
        unsafe {
            let content = self.cursor.sub(length);
            let slot = content.sub(width);
            if needed != width {
                slot.add(needed).copy_from(content, length);
            }
            put_varint(slot, length as u64);
            self.cursor = slot.add(needed + length);
        }
        // The next message at this depth probably has a similar length.
        if self.depth < WIDTH_LEVELS && !self.is_tight() {
            let shift = 3 * self.depth;
            self.widths = self.widths & !(7 << shift) | (needed as u64 - 1) << shift;
        }
    }

    /// Writes the tag at the end of a group that was the innermost level.
    fn close_group(&mut self) {
        // SAFETY: there is no error, so it was pushed.
        let tag = unsafe { self.levels[self.depth as usize].assume_init_ref() }.slot;
        self.put_varint(u64::from(tag));
    }

    #[cold]
    #[inline(never)]
    fn close_slow(&mut self) {
        if self.error.is_some() {
            return;
        }
        // SAFETY: there is no error, so it was pushed.
        let level = unsafe { self.levels[self.depth as usize].assume_init() };
        if self.depth >= self.narrow_from {
            let length = self.cursor as usize - level.content as usize;
            return self.close_moving(level.chunk_or_width, length);
        }
        self.narrow_from = self.depth;
        if !self.is_tight() {
            self.slow_below = self.depth;
        }
        if level.chunk_or_width == GROUP {
            return self.close_group();
        }
        let length = self.position() - level.content;
        if length > MAX_LENGTH {
            return self.fail(WriteError::TooLong { length });
        }
        let mut patch = Patch { chunk: level.chunk_or_width, offset: level.slot, bytes: [0; WIDE] };
        // SAFETY: the array is that wide, and a length below 2^35 fits.
        unsafe { put_padded_varint(patch.bytes.as_mut_ptr(), length, WIDE) };
        if self.delegate().patch(patch).is_err() {
            self.fail(WriteError::PatchListFull);
        }
    }

    #[inline]
    fn delegate(&mut self) -> &mut dyn Delegate {
        // SAFETY: it outlives the core, which has the only reference to it.
        unsafe { self.delegate.as_mut() }
    }

    /// Makes room if possible. Returns false after an error.
    #[cold]
    #[inline(never)]
    fn more(&mut self, wanted: usize) -> bool {
        if self.error.is_some() {
            return false;
        }
        if !self.is_tight() {
            if self.grow(wanted) {
                return true;
            }
            if self.delegate().has_next() {
                return self.leave();
            }
            self.tighten();
            if self.cursor < self.end {
                return true;
            }
        }
        let written = self.position();
        self.fail(WriteError::Full { written });
        false
    }

    /// Begins the tight state: there are no spare bytes any more, and slots have one byte, so that a message
    /// fits if its minimal form does. From the first slot to the last, the bytes behind a slot move by the
    /// sum by which all slots up to it shrink.
    fn tighten(&mut self) {
        let (from, to) = (self.narrow_from as usize, self.depth as usize);
        let mut shrunk = 0;
        for index in from..to {
            let behind = if index + 1 < to {
                // SAFETY: there is no error, so all levels that are open were pushed.
                let next = unsafe { self.levels[index + 1].assume_init_ref() };
                next.content as usize - next.width()
            } else {
                self.cursor as usize
            };
            // SAFETY: as above.
            let level = unsafe { self.levels[index].assume_init_mut() };
            let content = level.content as usize;
            // Each slot shrinks to one byte; a group has none.
            shrunk += level.width().saturating_sub(1);
            // SAFETY: the content lies in the chunk, and the slots in front of it have `shrunk` bytes more
            // than they need.
            unsafe {
                let start = self.start.add(content - self.start as usize);
                start.sub(shrunk).copy_from(start, behind - content);
            }
            level.content = (content - shrunk) as u64;
            if level.chunk_or_width != GROUP {
                level.chunk_or_width = 1;
            }
        }
        // SAFETY: `shrunk` bytes were moved away from there.
        self.cursor = unsafe { self.cursor.sub(shrunk) };
        self.end = self.chunk_end;
        self.widths = 0;
        (self.slow_below, self.quick_below) = (u32::MAX, 0);
    }

    /// Requests a larger chunk from the delegate, with room for `wanted` bytes. The chunk may move.
    fn grow(&mut self, wanted: usize) -> bool {
        let used = self.cursor as usize - self.start as usize;
        let spare = self.chunk_end as usize - self.end as usize;
        let Some(chunk) = self.delegate().grow(used, wanted.saturating_add(spare + MAX_TAG + MAX_VARINT))
        else {
            return false;
        };
        debug_assert!(chunk.len >= used + spare);
        let (old, start) = (self.start as usize, chunk.start.as_ptr());
        for level in &mut self.levels[self.narrow_from as usize..self.depth as usize] {
            // SAFETY: there is no error, so all levels that are open were pushed.
            let level = unsafe { level.assume_init_mut() };
            level.content = level.content - old as u64 + start as usize as u64;
        }
        self.start = start;
        // SAFETY: the chunk begins with the used bytes, and is longer than the used and spare bytes.
        unsafe {
            self.cursor = start.add(used);
            self.chunk_end = start.add(chunk.len);
            self.end = self.chunk_end.sub(spare);
        }
        true
    }

    /// Leaves the chunk: narrow slots become wide, and the next chunk begins. Returns false after an error.
    fn leave(&mut self) -> bool {
        let pending = self.widen();
        let used = self.cursor as usize - self.start as usize;
        if u32::try_from(used).is_err() {
            self.fail(WriteError::TooLong { length: used as u64 });
            return false;
        }
        let Some(chunk) = self.delegate().next(used, pending) else {
            let written = self.position();
            self.fail(WriteError::Full { written });
            return false;
        };
        self.before += used as u64;
        self.number += 1;
        self.start = chunk.start.as_ptr();
        self.cursor = self.start;
        // SAFETY: the chunk has that many bytes.
        self.chunk_end = unsafe { self.start.add(chunk.len) };
        self.end = self.chunk_end;
        if chunk.len == 0 {
            self.fail(WriteError::ChunkTooSmall { length: 0 });
            return false;
        }
        true
    }

    /// Makes the narrow slots wide, and returns their number. From the last slot to the first, the bytes
    /// behind a slot move back by the sum by which all slots up to it grow.
    fn widen(&mut self) -> usize {
        let (from, to) = (self.narrow_from as usize, self.depth as usize);
        let mut pending = to - from;
        // SAFETY: there is no error, so all levels that are open were pushed.
        let narrow = unsafe { &mut *(&raw mut self.levels[from..to] as *mut [Level]) };
        let mut growth: usize = narrow.iter().map(Level::growth).sum();
        let start = self.start as usize;
        let mut behind = self.cursor as usize;
        // SAFETY: the chunk's end has a spare byte for each byte by which a slot grows.
        self.cursor = unsafe { self.cursor.add(growth) };
        for level in narrow.iter_mut().rev() {
            let (content, width) = (level.content as usize, level.width());
            // SAFETY: the content lies in the chunk, with `growth` more bytes behind it.
            let from = unsafe {
                let from = self.start.add(content - start);
                from.add(growth).copy_from(from, behind - content);
                from
            };
            behind = content - width;
            if level.chunk_or_width == GROUP {
                pending -= 1;
                continue;
            }
            growth -= level.growth();
            // SAFETY: the slot lies in front of the content, and the bytes that it grows into are free by
            // now.
            unsafe { put_padded_varint(from.sub(width).add(growth), 0, WIDE) };
            // The slot's new offset; its own growth is behind it.
            level.slot = (behind - start + growth) as u32;
            level.content = self.before + u64::from(level.slot) + WIDE as u64;
            level.chunk_or_width = self.number;
        }
        (self.narrow_from, self.slow_below) = (self.depth, self.depth);
        pending
    }

    /// Ends the whole message, and returns its length in bytes.
    #[inline]
    pub(super) fn finish(&mut self) -> Result<u64, WriteError> {
        self.close_above(0);
        if let Some(error) = self.error {
            return Err(error);
        }
        let used = self.cursor as usize - self.start as usize;
        self.delegate().finish(used);
        let length = self.position();
        // The delegate owns the chunk again.
        self.end = self.cursor;
        self.slow_below = u32::MAX;
        self.error = Some(WriteError::Finished);
        Ok(length)
    }

    /// Begins another message.
    pub(super) fn restart(&mut self) {
        let first = self.delegate().first();
        self.error = if first.is_some() { None } else { Some(WriteError::Full { written: 0 }) };
        let chunk = first.unwrap_or(Chunk { start: NonNull::dangling(), len: 0 });
        self.start = chunk.start.as_ptr();
        self.cursor = self.start;
        // SAFETY: the chunk has that many bytes.
        self.chunk_end = unsafe { self.start.add(chunk.len) };
        self.end = self.chunk_end;
        (self.before, self.number, self.depth, self.narrow_from) = (0, 0, 0, 0);
        self.slow_below = if self.error.is_none() { 0 } else { u32::MAX };
        self.quick_below = MAX_LEVELS as u32;
    }
}
