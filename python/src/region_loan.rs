//! Regions that are written in place, in the memory where subscribers read them.
//!
//! A view of a part of such a region is the way to it: steps from the root. Each access goes this way anew,
//! so no view reaches memory that is not its own any more, whatever has moved or grown. What a view stands
//! for may have been replaced or removed since it was made: then it is stale, and raises. The region counts
//! such changes, and notes for each place when its value, or what lies below it, was last replaced.
//!
//! Arrays show the memory itself. They are pinned: the region refuses changes that would move or free it.
//!
//! Nothing here calls Python, because the region is locked meanwhile, and Python may run any code.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Arc;

use situ_bus::DetachedLoan;
use situ_region::dynamic::{DynamicRegion, EditError, OwnedKey, Part, PartMut, Pin, Step};
use situ_region::{Backing, BufferError, Options, total_for};
use situ_schema::dynamic::{
    ReadError, RegionPart, RegionTypes, RegionVersions, RegionView, Value, WriteError, WriteProblem,
};
use situ_schema::model::{Primitive, Type, TypeId};
use situ_schema::{RegionType, Schema};

use crate::port::Port;

/// The number of notes of replaced values that a region keeps. With more, the deepest are forgotten, and
/// views of all that lies beside them become stale.
const MAX_NOTES: usize = 4096;

/// The memory of a loan.
pub struct PortMemory {
    pub port: Arc<Port>,
    /// `None` once it was taken out to be published.
    pub loan: Option<DetachedLoan>,
}

// SAFETY: a detached loan is numbers and an address. The publisher knows the rest, and is locked when the
// loan is used.
unsafe impl Send for PortMemory {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl Sync for PortMemory {}

impl PortMemory {
    fn extent(&self) -> (NonNull<u8>, usize) {
        let Some(loan) = &self.loan else { return (NonNull::dangling(), 0) };
        let (body, size) = loan.body_in_slot();
        NonNull::new(body).map_or((NonNull::dangling(), 0), |body| (body, size))
    }
}

// SAFETY: a body in a slot begins at a multiple of 64. Pages of a memory file are initialized, and the
// owner's mapping is readable and writable. Only this loan uses the slot until it is published or given back.
// It grows in place.
unsafe impl Backing for PortMemory {
    fn memory(&mut self) -> (NonNull<u8>, usize) {
        self.extent()
    }

    fn is_zero(&self) -> bool {
        false
    }

    fn grow(&mut self, total: usize) -> Option<(NonNull<u8>, usize)> {
        let (_, had) = self.extent();
        let (loan, grown) = self.port.change(self.loan.take()?, |loan| loan.grow_body(total));
        self.loan = Some(loan);
        let clean_from = grown?.ok()?;
        let (memory, size) = self.extent();
        // Bytes of an earlier message in the slot.
        let dirty = clean_from.min(size).saturating_sub(had);
        // SAFETY: these bytes, behind the memory that was lent before, now belong to the loan.
        unsafe { memory.add(had).write_bytes(0, dirty) };
        Some((memory, size))
    }
}

impl Drop for PortMemory {
    fn drop(&mut self) {
        if let Some(loan) = self.loan.take() {
            self.port.take_back(loan);
        }
    }
}

/// When a value was last replaced as a whole, and when one of its elements was last moved or removed.
#[derive(Clone, Copy, Default)]
struct Note {
    own: u64,
    below: u64,
}

/// A region that is lent.
pub struct RegionLoan {
    region: DynamicRegion<PortMemory>,
    types: Arc<RegionTypes>,
    versions: RegionVersions,
    port: Arc<Port>,
    /// Counts changes that make views stale.
    count: u64,
    notes: HashMap<Box<[Step]>, Note>,
}

/// Why a part of a region cannot be read or changed.
pub enum Problem {
    /// It was replaced or removed since the view was made.
    Stale,
    /// It cannot be changed.
    Edit(EditError),
    /// The value cannot be written.
    Write(WriteError),
    /// It cannot be read.
    Read(ReadError),
}

impl From<EditError> for Problem {
    fn from(error: EditError) -> Self {
        match error {
            EditError::NotThere => Self::Stale,
            error => Self::Edit(error),
        }
    }
}

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Self {
        match error.problem {
            WriteProblem::Region(error) => error.into(),
            _ => Self::Write(error),
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

type Outcome<T> = Result<T, Problem>;

/// The way to a part of a region. A view knows the first steps since some time; the others, from there on,
/// are gone for the first time.
#[derive(Clone)]
pub struct Way {
    pub steps: Arc<[Step]>,
    known: usize,
    since: u64,
}

impl Way {
    /// The way to a part of this part.
    pub fn to(&self, more: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: self.steps.iter().cloned().chain(more).collect(), ..*self }
    }
}

/// What lies at a place.
pub enum Found {
    /// An optional value that is absent.
    Absent,
    /// A value without parts.
    Value(Value),
    /// A struct.
    Struct(TypeId),
    /// Numbers, one behind the other: their address, their kind, the lengths of the dimensions, and what
    /// keeps them in their place.
    Numbers(usize, Primitive, Vec<u64>, Pin),
    /// A sequence, or an array of other values than numbers.
    List,
    /// A set.
    Set,
    /// A map.
    Map,
    /// A union: its discriminator, and the index of the selected case.
    Union(TypeId, Value, Option<u32>),
}

impl RegionLoan {
    /// A new region in the memory of a loan.
    pub fn begin(
        schema: &Schema,
        id: TypeId,
        types: Arc<RegionTypes>,
        memory: PortMemory,
        limit: u32,
    ) -> Result<Self, BufferError> {
        let port = memory.port.clone();
        let options = Options { limit, ..Options::default() };
        let region = DynamicRegion::with_backing(types.types().clone(), memory, options)?;
        let versions = RegionVersions::of(schema, id, region.bytes()).unwrap_or_default();
        Ok(Self { region, types, versions, port, count: 0, notes: HashMap::new() })
    }

    /// The publisher.
    pub fn port(&self) -> &Arc<Port> {
        &self.port
    }

    /// What the image says of versions.
    pub fn versions(&self) -> &RegionVersions {
        &self.versions
    }

    /// The present image.
    pub fn bytes(&self) -> &[u8] {
        self.region.bytes()
    }

    /// The canonical image.
    pub fn canonical(&self) -> Vec<u8> {
        self.region.canonical()
    }

    /// Ends the region. Returns the publisher and the loan, whose body is the image.
    pub fn finish(self) -> (Arc<Port>, Option<DetachedLoan>) {
        let (mut memory, size) = self.region.into_backing();
        let port = memory.port.clone();
        port.learn(total_for(u32::try_from(size).unwrap_or(u32::MAX)).saturating_add(size / 4));
        let loan = memory.loan.take().map(|loan| port.change(loan, |loan| loan.shrink_body(size)).0);
        (port, loan)
    }

    /// The way to the root, from now on.
    pub fn root(&self) -> Way {
        Way { steps: Arc::new([]), known: 0, since: self.count }
    }

    /// Fails if what a way led to was replaced or removed since.
    fn check(&self, way: &Way) -> Outcome<()> {
        let Way { steps, known, since } = way;
        if self.notes.is_empty() {
            return Ok(());
        }
        for count in 0..=*known {
            let Some(note) = self.notes.get(&steps[..count]) else { continue };
            if note.own > *since || (count < *known && note.below > *since) {
                return Err(Problem::Stale);
            }
        }
        Ok(())
    }

    fn note(&mut self, steps: &[Step], own: bool) {
        self.count += 1;
        if self.notes.len() >= MAX_NOTES {
            self.forget();
        }
        let note = self.notes.entry(steps.into()).or_default();
        if own {
            note.own = self.count;
        } else {
            note.below = self.count;
        }
    }

    /// Forgets the deepest notes. In their place, what contains each of them notes that something below it
    /// was replaced. Members of the root are few, and keep their notes.
    fn forget(&mut self) {
        while self.notes.len() > MAX_NOTES / 2 {
            let deepest = self.notes.keys().map(|steps| steps.len()).max().unwrap_or(0);
            if deepest < 2 {
                return;
            }
            let deep: Vec<_> = self.notes.keys().filter(|steps| steps.len() == deepest).cloned().collect();
            for steps in deep {
                let Some(note) = self.notes.remove(&steps) else { continue };
                let above = self.notes.entry(steps[..deepest - 1].into()).or_default();
                above.below = above.below.max(note.own).max(note.below);
            }
        }
    }

    /// Notes that elements of a container were moved or removed.
    pub fn note_below(&mut self, way: &Way) {
        self.note(&way.steps, false);
    }

    /// Notes that a value was replaced or removed, if it has parts.
    pub fn note_replaced(&mut self, way: &Way) {
        self.note(&way.steps, true);
    }

    /// Where a part lies.
    pub fn part(&self, way: &Way) -> Outcome<Part<'_>> {
        self.check(way)?;
        Ok(self.region.part(&way.steps)?)
    }

    /// A part, for changing it.
    pub fn edit(&mut self, way: &Way) -> Outcome<PartMut<'_>> {
        self.check(way)?;
        Ok(self.region.edit(&way.steps)?)
    }

    /// Makes a shared link lead to the value of another.
    pub fn share(&mut self, from: &Way, to: &Way) -> Outcome<()> {
        self.check(from)?;
        self.check(to)?;
        self.region.share(&from.steps, &to.steps)?;
        self.note(&to.steps, true);
        Ok(())
    }

    fn region_type(&self, part: Part<'_>) -> Outcome<&RegionType> {
        self.types.region_type(part.type_number()).ok_or(Problem::Stale)
    }

    /// The number of elements, keys or entries.
    pub fn len(&self, way: &Way) -> Outcome<u32> {
        Ok(self.part(way)?.len().unwrap_or(0))
    }

    /// The keys of a set or map.
    pub fn keys(&self, way: &Way) -> Outcome<Vec<OwnedKey>> {
        Ok(self.part(way)?.keys().into_iter().map(Into::into).collect())
    }

    /// All of a part as a value of the schema's type.
    pub fn value(&self, schema: &Schema, ty: &Type, way: &Way) -> Outcome<Value> {
        let part = self.part(way)?;
        let region_type = self.region_type(part)?;
        let mut view = RegionView::new(schema, self.region.bytes(), &self.versions)?;
        Ok(view.value(ty, region_type, u64::from(part.at()))?)
    }

    /// Where a struct lies.
    pub fn place(&self, way: &Way) -> Outcome<u64> {
        Ok(u64::from(self.part(way)?.at()))
    }

    /// What lies at a place, whose type in the schema is `ty`, and the way to it: through an optional value
    /// to what it holds.
    pub fn find(&mut self, schema: &Schema, ty: &Type, way: &Way) -> Outcome<(Found, Way)> {
        let mut steps = way.steps.to_vec();
        let mut part = self.part(way)?;
        let mut region_type = self.region_type(part)?;
        while let RegionType::Optional(_) | RegionType::Unique(_) | RegionType::Shared(_) = region_type {
            let Some(value) = part.part(&Step::Value) else { return Ok((Found::Absent, way.clone())) };
            steps.push(Step::Value);
            part = value;
            region_type = self.region_type(part)?;
        }
        let found_at = Way { known: steps.len(), steps: steps.into(), since: self.count };
        let (at, region_type) = (u64::from(part.at()), region_type.clone());
        let look = |region_type: &RegionType| {
            let mut view = RegionView::new(schema, self.region.bytes(), &self.versions)?;
            view.part(ty, region_type, at)
        };
        let found = match &region_type {
            RegionType::Struct(id) => Found::Struct(*id),
            RegionType::Set(..) => Found::Set,
            RegionType::Map(..) => Found::Map,
            RegionType::Array(element, _) if !is_number(element) => Found::List,
            other => match look(other)? {
                RegionPart::Value(value) => Found::Value(value),
                RegionPart::Struct(id, _) => Found::Struct(id),
                RegionPart::List(..) => Found::List,
                RegionPart::Map(..) => Found::Map,
                RegionPart::Union(id, discriminator, case) => {
                    Found::Union(id, discriminator, case.map(|(index, ..)| index as u32))
                }
                RegionPart::Numbers(at, primitive, lengths) => {
                    let size = lengths.iter().product::<u64>() * primitive.size();
                    // The image has less than 2 GiB, and the place was found in it.
                    let (first, end) = (at as u32, (at + size) as u32);
                    let pin = self.region.pin(first..end);
                    Found::Numbers(self.region.address(first) as usize, primitive, lengths, pin)
                }
            },
        };
        Ok((found, found_at))
    }
}

/// Whether an element is a number, or an array of numbers.
fn is_number(element: &RegionType) -> bool {
    match element {
        RegionType::Primitive(_) | RegionType::Enum(_) | RegionType::Bitmask(_) => true,
        RegionType::Array(element, _) => is_number(element),
        _ => false,
    }
}
