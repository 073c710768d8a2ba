//! The device's part of a stream: command buffers in order, and copies over staging memory. Where the device
//! can import pages of the host, it copies directly from and to them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use super::device::Device;
use super::memory::VulkanMemory;
use super::page_table::Span;
use super::pages;
use crate::domain::traits::{DomainError, Memory};

/// Half of the staging memory in bytes: the CPU copies one half while the device copies the other.
const HALF: u64 = 2 << 20;
/// The largest number of command buffers in flight.
const MAX_IN_FLIGHT: usize = 32;

/// A range of the device's memory.
pub struct Place {
    pub memory: Arc<dyn Memory>,
    pub offset: u64,
}

impl Place {
    /// The memory; code that makes places has checked that it is a Vulkan device's.
    pub fn vulkan(&self) -> Option<&VulkanMemory> {
        self.memory.as_any().downcast_ref()
    }
}

/// What work keeps alive until it is done. Dropped in order: buffers, then the memory under them.
#[derive(Default)]
pub struct Kept {
    _pages: Vec<Span>,
    _memory: Vec<Arc<dyn Memory>>,
}

impl Kept {
    /// Keeps memory.
    pub fn memory(memory: Vec<Arc<dyn Memory>>) -> Self {
        Self { _pages: Vec::new(), _memory: memory }
    }
}

/// A command buffer in flight.
struct Flight {
    /// The value of the timeline when it is done.
    value: u64,
    commands: vk::CommandBuffer,
    _kept: Kept,
}

/// Memory that both the CPU and the device reach.
struct Staging {
    buffer: vk::Buffer,
    block: vk::DeviceMemory,
    mapped: *mut u8,
    /// The values of the timeline at which the halves are free.
    free_at: [u64; 2],
    turn: usize,
}

/// The device's part of a stream. Only the stream's thread uses it.
pub struct Transfer {
    device: Arc<Device>,
    queue: usize,
    pool: vk::CommandPool,
    idle: Vec<vk::CommandBuffer>,
    flights: VecDeque<Flight>,
    /// Counts submissions.
    timeline: vk::Semaphore,
    submitted: u64,
    staging: Option<Staging>,
}

// SAFETY: the pointer is to memory that is mapped while the value lives. One thread at a time uses the
// handles, because all methods that use them take `&mut self`.
unsafe impl Send for Transfer {}

impl Transfer {
    pub fn new(device: Arc<Device>) -> Result<Self, DomainError> {
        let create = vk::CommandPoolCreateInfo::default()
            .queue_family_index(device.queue_family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER | vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: `create` lives across the call.
        let pool = unsafe { device.raw.create_command_pool(&create, None) }
            .map_err(|result| device.refused("make a stream", result))?;
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let create = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: as above.
        let timeline = unsafe { device.raw.create_semaphore(&create, None) }.map_err(|result| {
            // SAFETY: no other code has the pool.
            unsafe { device.raw.destroy_command_pool(pool, None) };
            device.refused("make a stream", result)
        })?;
        let queue = device.take_queue();
        let (idle, flights) = (Vec::new(), VecDeque::new());
        Ok(Self { device, queue, pool, idle, flights, timeline, submitted: 0, staging: None })
    }

    /// Records and submits work on places of pools, after all work that was submitted before.
    pub fn run(
        &mut self,
        places: &[vk::Buffer],
        kept: Kept,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<(), DomainError> {
        let device = self.device.clone();
        let fail = |result| device.refused("record work", result);
        let commands = self.commands()?;
        let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        let raw = &device.raw;
        // SAFETY: the command buffer is idle and of this thread's pool. `kept` keeps the buffers alive until
        // it is done. For what `record` enqueues, see the promise at `VulkanStream::submit`.
        unsafe {
            raw.begin_command_buffer(commands, &begin).map_err(fail)?;
            barrier(&device, commands, places, Side::Before);
            record(raw, commands);
            barrier(&device, commands, places, Side::After);
            raw.end_command_buffer(commands).map_err(fail)?;
        }
        let value = self.submitted + 1;
        let (values, semaphores, buffers) = ([value], [self.timeline], [commands]);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
        let submit = vk::SubmitInfo::default()
            .command_buffers(&buffers)
            .signal_semaphores(&semaphores)
            .push_next(&mut timeline);
        // SAFETY: the command buffer was just recorded; what it uses is kept alive below.
        unsafe { device.submit(self.queue, submit) }?;
        self.submitted = value;
        self.flights.push_back(Flight { value, commands, _kept: kept });
        Ok(())
    }

    /// A command buffer that is not in flight.
    fn commands(&mut self) -> Result<vk::CommandBuffer, DomainError> {
        self.retire()?;
        if self.flights.len() >= MAX_IN_FLIGHT {
            self.pass(self.flights[0].value)?;
            self.retire()?;
        }
        if let Some(commands) = self.idle.pop() {
            return Ok(commands);
        }
        let allocate = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: the pool belongs to this thread.
        let commands = unsafe { self.device.raw.allocate_command_buffers(&allocate) }
            .map_err(|result| self.device.refused("make a command buffer", result))?;
        Ok(commands[0])
    }

    /// Releases what is done.
    fn retire(&mut self) -> Result<(), DomainError> {
        if self.flights.is_empty() {
            return Ok(());
        }
        // SAFETY: the semaphore belongs to the device.
        let done = unsafe { self.device.raw.get_semaphore_counter_value(self.timeline) }
            .map_err(|result| self.device.refused("look at its work", result))?;
        while self.flights.front().is_some_and(|flight| flight.value <= done) {
            let Some(flight) = self.flights.pop_front() else { break };
            self.idle.push(flight.commands);
        }
        Ok(())
    }

    /// Waits until the device has done everything up to this value of the timeline.
    fn pass(&self, value: u64) -> Result<(), DomainError> {
        let (semaphores, values) = ([self.timeline], [value]);
        let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // A driver resets a device that hangs, after seconds: that error ends this loop.
        const SLICE: Duration = Duration::from_secs(1);
        let begin = Instant::now();
        loop {
            // SAFETY: the semaphore belongs to the device.
            match unsafe { self.device.raw.wait_semaphores(&wait, SLICE.as_nanos() as u64) } {
                Ok(()) => return Ok(()),
                Err(vk::Result::TIMEOUT) if begin.elapsed() < Duration::from_secs(60) => {}
                Err(vk::Result::TIMEOUT) => {
                    return Err(DomainError::TimedOut { domain: self.device.id(), waited: begin.elapsed() });
                }
                Err(result) => return Err(self.device.refused("wait for its work", result)),
            }
        }
    }

    /// Waits until the device has done all submitted work.
    pub fn drain(&mut self) -> Result<(), DomainError> {
        self.pass(self.submitted)?;
        self.retire()
    }

    /// Copies within the device.
    pub fn copy(&mut self, from: Place, to: Place, len: u64) -> Result<(), DomainError> {
        let (Some(source), Some(target)) = (from.vulkan(), to.vulkan()) else { return Ok(()) };
        let (source, target) = (source.buffer(), target.buffer());
        let region = [vk::BufferCopy { src_offset: from.offset, dst_offset: to.offset, size: len }];
        let places: &[vk::Buffer] = if source == target { &[source] } else { &[source, target] };
        // SAFETY: the ranges were checked when the copy was enqueued.
        self.run(places, Kept::memory(vec![from.memory, to.memory]), |raw, commands| unsafe {
            raw.cmd_copy_buffer(commands, source, target, &region)
        })
    }

    /// Copies bytes of the host to the device. The caller may change them again when everything submitted
    /// here is done.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes until then; `keep` is what that needs, if anything.
    pub unsafe fn upload(
        &mut self,
        from: *const u8,
        keep: Option<Arc<dyn Memory>>,
        to: Place,
        len: u64,
    ) -> Result<(), DomainError> {
        let Some(target) = to.vulkan().map(VulkanMemory::buffer) else { return Ok(()) };
        let memory: Vec<_> = std::iter::once(to.memory.clone()).chain(keep).collect();
        if let Some(spans) = pages::spans(&self.device, from, len) {
            let regions = regions(&spans, |at, done, size| vk::BufferCopy {
                src_offset: at,
                dst_offset: to.offset + done,
                size,
            });
            return self.run(&[target], Kept { _pages: spans, _memory: memory }, |raw, commands| {
                for (source, region) in regions {
                    // SAFETY: the pages are kept until it is done; the ranges were checked when the copy was
                    // enqueued.
                    unsafe { raw.cmd_copy_buffer(commands, source, target, &[region]) };
                }
            });
        }
        for piece in pieces(len) {
            let (buffer, mapped, begin, turn) = self.half()?;
            let size = piece.end - piece.start;
            // SAFETY: the half is free, has HALF bytes, and the source is readable by the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(from.add(piece.start as usize), mapped, size as usize) };
            let region = [vk::BufferCopy { src_offset: begin, dst_offset: to.offset + piece.start, size }];
            // SAFETY: as above.
            self.run(&[target], Kept::memory(memory.clone()), |raw, commands| unsafe {
                raw.cmd_copy_buffer(commands, buffer, target, &region)
            })?;
            self.took(turn);
        }
        Ok(())
    }

    /// Copies bytes of the device to the host. They are there when everything submitted here is done.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes until then, and no other code uses it.
    pub unsafe fn download(&mut self, from: Place, to: *mut u8, len: u64) -> Result<(), DomainError> {
        let Some(source) = from.vulkan().map(VulkanMemory::buffer) else { return Ok(()) };
        let memory = vec![from.memory.clone()];
        if let Some(spans) = pages::spans(&self.device, to, len) {
            let regions = regions(&spans, |at, done, size| vk::BufferCopy {
                src_offset: from.offset + done,
                dst_offset: at,
                size,
            });
            return self.run(&[source], Kept { _pages: spans, _memory: memory }, |raw, commands| {
                for (target, region) in regions {
                    // SAFETY: as in `upload`.
                    unsafe { raw.cmd_copy_buffer(commands, source, target, &[region]) };
                }
            });
        }
        // The device fills one half while the CPU empties the other.
        let mut full: Option<(u64, *mut u8, Range<u64>)> = None;
        for piece in pieces(len) {
            let (buffer, mapped, begin, turn) = self.half()?;
            let size = piece.end - piece.start;
            let region = [vk::BufferCopy { src_offset: from.offset + piece.start, dst_offset: begin, size }];
            // SAFETY: as in `upload`.
            self.run(&[source], Kept::memory(memory.clone()), |raw, commands| unsafe {
                raw.cmd_copy_buffer(commands, source, buffer, &region)
            })?;
            self.took(turn);
            if let Some(last) = full.replace((self.submitted, mapped, piece)) {
                // SAFETY: by the caller's promise.
                unsafe { self.empty(last, to) }?;
            }
        }
        match full {
            // SAFETY: by the caller's promise.
            Some(last) => unsafe { self.empty(last, to) },
            None => Ok(()),
        }
    }

    /// Copies a half that the device has filled to the host.
    ///
    /// # Safety
    /// As for `download`.
    unsafe fn empty(&self, full: (u64, *mut u8, Range<u64>), to: *mut u8) -> Result<(), DomainError> {
        let (value, mapped, piece) = full;
        self.pass(value)?;
        // SAFETY: the half holds the piece and the device has left it; the target is writable by the caller's
        // promise.
        unsafe {
            let len = (piece.end - piece.start) as usize;
            std::ptr::copy_nonoverlapping(mapped.cast_const(), to.add(piece.start as usize), len);
        }
        Ok(())
    }

    /// The next half of the staging memory, when it is free: the buffer, the half's bytes, its offset, and
    /// its number.
    fn half(&mut self) -> Result<(vk::Buffer, *mut u8, u64, usize), DomainError> {
        if self.staging.is_none() {
            self.staging = Some(Staging::new(&self.device)?);
        }
        let Some(staging) = &mut self.staging else {
            return Err(self.device.refused("stage a copy", vk::Result::ERROR_UNKNOWN));
        };
        let turn = staging.turn;
        staging.turn = 1 - turn;
        let (buffer, begin, free_at) = (staging.buffer, turn as u64 * HALF, staging.free_at[turn]);
        let mapped = staging.mapped.wrapping_add(begin as usize);
        self.pass(free_at)?;
        Ok((buffer, mapped, begin, turn))
    }

    /// Notes that the half is in use until the last submission is done.
    fn took(&mut self, turn: usize) {
        if let Some(staging) = &mut self.staging {
            staging.free_at[turn] = self.submitted;
        }
    }
}

/// The buffers of consecutive spans, and the copy of each. The arguments of `region` are the offset in the
/// span's buffer, how many bytes came before, and how many bytes the span has.
fn regions(
    spans: &[Span],
    region: impl Fn(u64, u64, u64) -> vk::BufferCopy,
) -> Vec<(vk::Buffer, vk::BufferCopy)> {
    let mut done = 0;
    spans
        .iter()
        .map(|span| {
            let before = done;
            done += span.len;
            (span.buffer(), region(span.at, before, span.len))
        })
        .collect()
}

/// Cuts a copy into pieces that fit half of the staging memory.
fn pieces(len: u64) -> impl Iterator<Item = Range<u64>> {
    (0..len.div_ceil(HALF)).map(move |index| index * HALF..((index + 1) * HALF).min(len))
}

enum Side {
    Before,
    After,
}

/// Stands before and after all work of a stream. The work sees what earlier work of this queue, other
/// processes and the CPU wrote to these buffers. Later work, other processes and the CPU see what it wrote.
///
/// # Safety
/// The command buffer is being recorded, and the buffers live until it is done.
unsafe fn barrier(device: &Device, commands: vk::CommandBuffer, places: &[vk::Buffer], side: Side) {
    let everything = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
    // For other processes the memory is handed over as to a foreign queue, and back.
    let (source, target) = match side {
        Side::Before => (vk::QUEUE_FAMILY_EXTERNAL, device.queue_family),
        Side::After => (device.queue_family, vk::QUEUE_FAMILY_EXTERNAL),
    };
    let memory = [vk::MemoryBarrier::default().src_access_mask(everything).dst_access_mask(everything)];
    let buffers: Vec<_> = places
        .iter()
        .map(|buffer| {
            vk::BufferMemoryBarrier::default()
                .src_access_mask(everything)
                .dst_access_mask(everything)
                .src_queue_family_index(source)
                .dst_queue_family_index(target)
                .buffer(*buffer)
                .offset(0)
                .size(vk::WHOLE_SIZE)
        })
        .collect();
    let stages = vk::PipelineStageFlags::ALL_COMMANDS | vk::PipelineStageFlags::HOST;
    // SAFETY: by the caller's promise.
    unsafe {
        let flags = vk::DependencyFlags::empty();
        device.raw.cmd_pipeline_barrier(commands, stages, stages, flags, &memory, &buffers, &[]);
    }
}

impl Staging {
    fn new(device: &Device) -> Result<Self, DomainError> {
        let fail = |result| device.refused("make staging memory", result);
        let create = vk::BufferCreateInfo::default()
            .size(2 * HALF)
            .usage(vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: all arguments live across the calls. What was made is destroyed again if a later step
        // fails, before other code has it.
        unsafe {
            let buffer = device.raw.create_buffer(&create, None).map_err(fail)?;
            let needed = device.raw.get_buffer_memory_requirements(buffer);
            let kind = device.memory_type(
                needed.memory_type_bits,
                vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT,
                vk::MemoryPropertyFlags::HOST_CACHED,
            );
            let allocate = |kind| {
                let allocate =
                    vk::MemoryAllocateInfo::default().allocation_size(needed.size).memory_type_index(kind);
                device.raw.allocate_memory(&allocate, None)
            };
            let block = match kind.ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT).and_then(allocate) {
                Ok(block) => block,
                Err(result) => {
                    device.raw.destroy_buffer(buffer, None);
                    return Err(fail(result));
                }
            };
            let mapped = device
                .raw
                .bind_buffer_memory(buffer, block, 0)
                .and_then(|()| device.raw.map_memory(block, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()));
            match mapped {
                Ok(mapped) => Ok(Self { buffer, block, mapped: mapped.cast(), free_at: [0; 2], turn: 0 }),
                Err(result) => {
                    device.raw.destroy_buffer(buffer, None);
                    device.raw.free_memory(block, None);
                    Err(fail(result))
                }
            }
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // If waiting failed, the device may still use these resources, so they are never released.
        if self.drain().is_err() && !self.flights.is_empty() {
            std::mem::forget(std::mem::take(&mut self.flights));
            std::mem::forget(self.device.clone());
            return;
        }
        // SAFETY: nothing is in flight.
        unsafe {
            if let Some(staging) = &self.staging {
                self.device.raw.destroy_buffer(staging.buffer, None);
                self.device.raw.free_memory(staging.block, None);
            }
            self.device.raw.destroy_semaphore(self.timeline, None);
            self.device.raw.destroy_command_pool(self.pool, None);
        }
    }
}
