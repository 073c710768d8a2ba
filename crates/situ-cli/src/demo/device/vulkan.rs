//! The demo's filter on a Vulkan device: a compute shader, compiled during the build of this program.

use std::sync::Arc;

use situ::memory::vulkan::ash::{self, vk};
use situ::memory::vulkan::{VulkanDomain, VulkanMemory, VulkanStream};
use situ::memory::{DomainError, DomainId, Stream};

use super::Place;
use crate::demo::frames::Shape;

const CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/edges.spv"));
/// The pixels of a work group, as in the shader: 64 threads with four pixels each.
const GROUP: u64 = 256;
/// The number of groups in a dimension that every device supports.
const MAX_GROUPS: u64 = 65_535;

/// The loaded shader. It processes one image at a time: each launch must be complete before the next.
pub struct Kernel {
    domain: VulkanDomain,
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
    pipeline: vk::Pipeline,
}

fn refused(domain: DomainId, action: &str, reason: impl ToString) -> DomainError {
    DomainError::Refused { domain, action: action.to_owned(), reason: reason.to_string() }
}

impl Kernel {
    /// Creates the objects that the shader needs on a device.
    pub fn new(domain: &VulkanDomain) -> Result<Self, DomainError> {
        use situ::memory::Domain;
        let id = domain.id();
        let device = domain.handles()?.device;
        let failed = |result: vk::Result| refused(id, "prepare the demo's filter", result);
        let code = ash::util::read_spv(&mut std::io::Cursor::new(CODE))
            .map_err(|error| refused(id, "read the demo's filter", error))?;
        let bindings: [_; 2] = std::array::from_fn(|binding| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding as u32)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        });
        let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: 2 }];
        let constants =
            [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 12 }];
        // SAFETY: the device lives as long as the domain, which `Self` keeps. The arguments live across the
        // calls. The code comes from a compiler that validates. If a call fails, the earlier objects are not
        // destroyed, because the process then exits.
        unsafe {
            let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set_layout = device.create_descriptor_set_layout(&create, None).map_err(failed)?;
            let set_layouts = [set_layout];
            let create = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&set_layouts)
                .push_constant_ranges(&constants);
            let layout = device.create_pipeline_layout(&create, None).map_err(failed)?;
            let create = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = device.create_descriptor_pool(&create, None).map_err(failed)?;
            let allocate =
                vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&set_layouts);
            let set = device.allocate_descriptor_sets(&allocate).map_err(failed)?[0];
            let create = vk::ShaderModuleCreateInfo::default().code(&code);
            let module = device.create_shader_module(&create, None).map_err(failed)?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let create = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
            let made = device.create_compute_pipelines(vk::PipelineCache::null(), &create, None);
            device.destroy_shader_module(module, None);
            let pipeline = made.map_err(|(_, result)| failed(result))?[0];
            Ok(Self { domain: domain.clone(), set_layout, layout, pool, set, pipeline })
        }
    }

    /// Enqueues the filter. The previous launch must be complete.
    pub fn launch(
        &self,
        stream: &dyn Stream,
        shape: &Shape,
        from: &Place,
        to: &Place,
    ) -> Result<(), DomainError> {
        let id = stream.domain();
        let stream = stream
            .as_any()
            .downcast_ref::<VulkanStream>()
            .ok_or_else(|| refused(id, "launch the demo's filter", "not a stream of Vulkan"))?;
        let groups = to.len.div_ceil(GROUP);
        if groups > MAX_GROUPS {
            return Err(refused(id, "launch the demo's filter", "the image has more than 16 million pixels"));
        }
        let range = |place: &Place| {
            let memory = place.memory.as_any().downcast_ref::<VulkanMemory>();
            let memory = memory.ok_or(DomainError::Foreign { domain: id, found: place.memory.domain() })?;
            // The shader reads and writes whole words, and a slot has room for them.
            let range = place.len.next_multiple_of(4);
            Ok::<_, DomainError>([vk::DescriptorBufferInfo {
                buffer: memory.buffer(),
                offset: place.offset,
                range,
            }])
        };
        let ranges = [range(from)?, range(to)?];
        let writes: [_; 2] = std::array::from_fn(|binding| {
            vk::WriteDescriptorSet::default()
                .dst_set(self.set)
                .dst_binding(binding as u32)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&ranges[binding])
        });
        // SAFETY: the previous launch is complete, so the set is not in use; the buffers live as long as
        // their memory.
        unsafe { self.domain.handles()?.device.update_descriptor_sets(&writes, &[]) };
        let (layout, set, pipeline) = (self.layout, self.set, self.pipeline);
        let constants: Vec<u8> =
            [shape.width, shape.height, shape.step].iter().flat_map(|n| (*n as u32).to_ne_bytes()).collect();
        let memory = vec![Arc::clone(&from.memory), Arc::clone(&to.memory)];
        // SAFETY: the pipeline fits its layout, the set and the constants. All of them live as long as
        // `self`, which waits for the device before it destroys them.
        unsafe {
            stream.submit(memory, move |device, commands| {
                let point = vk::PipelineBindPoint::COMPUTE;
                device.cmd_bind_pipeline(commands, point, pipeline);
                device.cmd_bind_descriptor_sets(commands, point, layout, 0, &[set], &[]);
                device.cmd_push_constants(commands, layout, vk::ShaderStageFlags::COMPUTE, 0, &constants);
                device.cmd_dispatch(commands, groups as u32, 1, 1);
            })
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let Ok(handles) = self.domain.handles() else { return };
        let device = handles.device;
        // SAFETY: all of these were made from the device, and none is in use once the device is idle. If
        // waiting for it fails, the device is lost and runs nothing any more.
        unsafe {
            let _ = device.device_wait_idle();
            device.destroy_pipeline(self.pipeline, None);
            device.destroy_descriptor_pool(self.pool, None);
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}
