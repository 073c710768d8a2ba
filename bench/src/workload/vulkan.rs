//! The filter on Vulkan devices: a compute shader, and a clock for its times.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use naga::back::spv;
use naga::front::wgsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use situ::memory::Stream;
use situ::memory::vulkan::ash::{self, vk};
use situ::memory::vulkan::{VulkanDomain, VulkanMemory, VulkanStream};

use super::bilateral::{Bilateral, Extent, SIGMA_R, SIGMA_S};
use super::span::Span;
use crate::failure::Failure;
use crate::os::monotonic_ns;

const NAME: &str = "vulkan";
const SHADER: &str = include_str!("bilateral.wgsl");
/// Threads of a work group, as in the shader.
const GROUP: (u32, u32) = (32, 4);
const TIMEOUT: Duration = Duration::from_secs(20);

fn failure(what: &'static str, why: impl Into<String>) -> Failure {
    Failure::System { system: NAME, what, why: why.into() }
}

fn wrap<E: std::fmt::Debug>(what: &'static str) -> impl FnOnce(E) -> Failure {
    Failure::system(NAME, what)
}

/// The filter's objects on a device. One filter runs at a time: its times must be read before the next is
/// launched.
pub struct Kernels {
    domain: VulkanDomain,
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
    queries: vk::QueryPool,
    /// One pipeline for each radius and extent.
    pipelines: RefCell<BTreeMap<(usize, usize, usize), vk::Pipeline>>,
    /// Nanoseconds of a tick of the device's clock.
    tick: f64,
    /// The offset from the device's clock to CLOCK_MONOTONIC, in nanoseconds.
    ahead: Cell<f64>,
    /// Whether a filter was launched whose times have not been read.
    pending: Cell<bool>,
}

/// Compiles the shader.
fn compile(filter: &Bilateral, extent: Extent) -> Result<Vec<u32>, Failure> {
    let log2_e = std::f32::consts::LOG2_E;
    let source = format!(
        "const RADIUS: i32 = {};\nconst WIDTH: i32 = {};\nconst HEIGHT: i32 = {};\nconst SPATIAL: f32 = {:?};\n\
         const TONAL: f32 = {:?};\n{SHADER}",
        filter.radius(),
        extent.width,
        extent.height,
        -log2_e / (2.0 * SIGMA_S * SIGMA_S),
        -log2_e / (2.0 * SIGMA_R * SIGMA_R),
    );
    let module =
        wgsl::parse_str(&source).map_err(|error| failure("shader", error.emit_to_string(&source)))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(wrap("shader"))?;
    let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
    spv::write_vec(&module, &info, &options, None).map_err(wrap("shader"))
}

impl Kernels {
    /// Creates the filter's objects, and sets the clock through this stream.
    pub fn new(domain: &VulkanDomain, stream: &VulkanStream) -> Result<Self, Failure> {
        let handles = domain.handles().map_err(wrap("handles"))?;
        let device = handles.device;
        let bindings: [_; 2] = std::array::from_fn(|binding| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding as u32)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        });
        let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: 2 }];
        // SAFETY: the handles are valid as long as the domain, which `Self` keeps. All arguments live across
        // the calls. If a later call fails, objects of earlier calls are not destroyed, because the process
        // then gives up.
        let (kernels, valid_bits) = unsafe {
            let properties = handles.instance.get_physical_device_properties(handles.physical);
            let families = handles.instance.get_physical_device_queue_family_properties(handles.physical);
            let valid_bits = families[handles.queue_family as usize].timestamp_valid_bits;
            let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set_layout =
                device.create_descriptor_set_layout(&create, None).map_err(wrap("set layout"))?;
            let set_layouts = [set_layout];
            let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
            let layout = device.create_pipeline_layout(&create, None).map_err(wrap("layout"))?;
            let create = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = device.create_descriptor_pool(&create, None).map_err(wrap("descriptor pool"))?;
            let allocate =
                vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&set_layouts);
            let sets = device.allocate_descriptor_sets(&allocate).map_err(wrap("descriptor set"))?;
            let create =
                vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
            let queries = device.create_query_pool(&create, None).map_err(wrap("query pool"))?;
            let kernels = Self {
                domain: domain.clone(),
                set_layout,
                layout,
                pool,
                set: sets[0],
                queries,
                pipelines: RefCell::default(),
                tick: f64::from(properties.limits.timestamp_period),
                ahead: Cell::new(0.0),
                pending: Cell::new(false),
            };
            (kernels, valid_bits)
        };
        if valid_bits == 0 {
            return Err(failure("clock", "the device's queues have no clock"));
        }
        kernels.set_clock(stream)?;
        Ok(kernels)
    }

    fn device(&self) -> Result<&ash::Device, Failure> {
        Ok(self.domain.handles().map_err(wrap("handles"))?.device)
    }

    /// Reads the device's clock a few times. The fastest reading gives its offset to ours.
    fn set_clock(&self, stream: &VulkanStream) -> Result<(), Failure> {
        let queries = self.queries;
        let mut best = f64::MAX;
        for _ in 0..10 {
            let before = monotonic_ns();
            // SAFETY: both commands are valid on every queue with a clock. The query pool lives as long as
            // `self`, and the stream is waited for.
            unsafe {
                stream.submit(Vec::new(), move |device, commands| {
                    device.cmd_reset_query_pool(commands, queries, 0, 2);
                    for query in 0..2 {
                        let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
                        device.cmd_write_timestamp(commands, stage, queries, query);
                    }
                })
            }
            .map_err(wrap("submit"))?;
            stream.synchronize(TIMEOUT).map_err(wrap("synchronize"))?;
            let after = monotonic_ns();
            let took = (after - before) as f64;
            if took < best {
                best = took;
                self.ahead.set((before + after) as f64 / 2.0 - self.read()?[0] * self.tick);
            }
        }
        Ok(())
    }

    fn read(&self) -> Result<[f64; 2], Failure> {
        let mut ticks = [0_u64; 2];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: the query pool belongs to this object, and the work that wrote both queries has finished.
        unsafe { self.device()?.get_query_pool_results(self.queries, 0, &mut ticks, flags) }
            .map_err(wrap("query results"))?;
        Ok(ticks.map(|ticks| ticks as f64))
    }

    /// The times at which the last filter began and ended, in nanoseconds of CLOCK_MONOTONIC. `None` if none
    /// was launched since the last call. The stream must have passed it.
    pub fn times(&self) -> Result<Option<(u64, u64)>, Failure> {
        if !self.pending.replace(false) {
            return Ok(None);
        }
        let [started, ended] = self.read()?.map(|ticks| (ticks * self.tick + self.ahead.get()) as u64);
        Ok(Some((started, ended)))
    }

    fn pipeline(&self, filter: &Bilateral, extent: Extent) -> Result<vk::Pipeline, Failure> {
        let key = (filter.radius(), extent.width, extent.height);
        if let Some(pipeline) = self.pipelines.borrow().get(&key) {
            return Ok(*pipeline);
        }
        let code = compile(filter, extent)?;
        let device = self.device()?;
        let create = vk::ShaderModuleCreateInfo::default().code(&code);
        // SAFETY: a compiler that validates has written the code, and all arguments live across the calls.
        let pipeline = unsafe {
            let module = device.create_shader_module(&create, None).map_err(wrap("shader module"))?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let create = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(self.layout)];
            let made = device.create_compute_pipelines(vk::PipelineCache::null(), &create, None);
            device.destroy_shader_module(module, None);
            made.map_err(|(_, result)| result).map_err(wrap("pipeline"))?[0]
        };
        self.pipelines.borrow_mut().insert(key, pipeline);
        Ok(pipeline)
    }

    /// Enqueues the filter.
    pub fn launch(
        &self,
        stream: &VulkanStream,
        filter: &Bilateral,
        extent: Extent,
        input: &Span,
        output: &Span,
    ) -> Result<(), Failure> {
        if self.pending.get() {
            return Err(failure("launch", "the times of the last filter were not read"));
        }
        let pipeline = self.pipeline(filter, extent)?;
        let range = |span: &Span| {
            let memory = span.memory.as_any().downcast_ref::<VulkanMemory>();
            let buffer =
                memory.ok_or_else(|| failure("launch", "the memory belongs to another domain"))?.buffer();
            Ok([vk::DescriptorBufferInfo { buffer, offset: span.offset, range: span.len }])
        };
        let ranges: [_; 2] = [range(input)?, range(output)?];
        let writes: [_; 2] = std::array::from_fn(|binding| {
            vk::WriteDescriptorSet::default()
                .dst_set(self.set)
                .dst_binding(binding as u32)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&ranges[binding])
        });
        // SAFETY: the last launch has finished, so the set is not in use. The buffers live as long as their
        // memory.
        unsafe { self.device()?.update_descriptor_sets(&writes, &[]) };
        let (layout, set, queries) = (self.layout, self.set, self.queries);
        let groups = ((extent.width as u32).div_ceil(GROUP.0), (extent.height as u32).div_ceil(GROUP.1));
        let memory = vec![Arc::clone(&input.memory), Arc::clone(&output.memory)];
        // SAFETY: the pipeline fits its layout and the set. All of them live as long as `self`, which waits
        // for the device before it destroys them.
        unsafe {
            stream.submit(memory, move |device, commands| {
                device.cmd_reset_query_pool(commands, queries, 0, 2);
                device.cmd_write_timestamp(commands, vk::PipelineStageFlags::BOTTOM_OF_PIPE, queries, 0);
                device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline);
                let point = vk::PipelineBindPoint::COMPUTE;
                device.cmd_bind_descriptor_sets(commands, point, layout, 0, &[set], &[]);
                device.cmd_dispatch(commands, groups.0, groups.1, 1);
                device.cmd_write_timestamp(commands, vk::PipelineStageFlags::BOTTOM_OF_PIPE, queries, 1);
            })
        }
        .map_err(wrap("submit"))?;
        self.pending.set(true);
        Ok(())
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let Ok(handles) = self.domain.handles() else { return };
        let device = handles.device;
        // SAFETY: all objects were made from the device. Once the device is idle, no work uses them. If
        // waiting for it fails, the device is lost and runs nothing.
        unsafe {
            let _ = device.device_wait_idle();
            for pipeline in self.pipelines.get_mut().values() {
                device.destroy_pipeline(*pipeline, None);
            }
            device.destroy_query_pool(self.queries, None);
            device.destroy_descriptor_pool(self.pool, None);
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}
