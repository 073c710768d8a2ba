//! Types of messages as the package uses them: where members lie, what Python makes of them.
//!
//! All uses of one type in a process share one `Types`, so that two topics with the same type have the same
//! classes. They are found by the canonical text of their schema.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyType};
use situ_bus::{Encoding, TypeDescription};
use situ_schema::dynamic::{RegionTypes, StructMember, region_members};
use situ_schema::model::{self, Member, Primitive, Type, TypeId};
use situ_schema::{Extent, Schema};

use crate::errors::{Kind as Error, module};
use crate::sync::lock;

/// A root type with all types that it needs.
pub struct Types {
    pub schema: Schema,
    pub root: TypeId,
    /// The package around generated classes; `None` for classes that are made at their first use.
    pub family: Option<String>,
    /// Whether a struct of the schema has weak links.
    pub has_weak_links: bool,
    plans: Vec<OnceLock<Arc<StructPlan>>>,
    classes: Vec<PyOnceLock<Py<PyAny>>>,
}

/// A type of messages, of a part of one, or of an enum.
#[pyclass(frozen, module = "situ", name = "Type")]
pub struct TypeHandle {
    pub types: Arc<Types>,
    pub id: TypeId,
}

impl TypeHandle {
    /// A handle.
    pub fn new(types: Arc<Types>, id: TypeId) -> Self {
        Self { types, id }
    }

    /// The type as a participant registers it. `flat`: with flat messages, if it has a flat form.
    pub fn describe(&self, flat: bool, user_header_size: u32) -> TypeDescription {
        let (schema, id) = (&self.types.schema, self.id);
        let flat = flat && schema.is_flattable(id);
        let size = schema.flat_layout(id).filter(|_| flat && !schema.has_bulk(id));
        TypeDescription {
            name: schema.name(id).to_string(),
            schema: schema.canonical(id),
            schema_hash: schema.schema_hash(id),
            layout_hash: if flat { schema.layout_hash(id) } else { 0 },
            encoding: if flat { Encoding::Flat } else { Encoding::Xcdr1 },
            fixed_size: size.and_then(|it| it.extent.size.try_into().ok()).unwrap_or_default(),
            user_header_size,
        }
    }

    /// The type as a participant registers it that publishes regions.
    pub fn describe_region(&self, types: &RegionTypes, user_header_size: u32) -> TypeDescription {
        TypeDescription {
            encoding: Encoding::Region,
            layout_hash: types.types().layout_hash(),
            fixed_size: 0,
            ..self.describe(false, user_header_size)
        }
    }

    /// The type as a participant registers it that reads messages of any layout by their schema.
    pub fn describe_any_layout(&self, user_header_size: u32) -> TypeDescription {
        let is_flat = self.types.schema.is_flat(self.id);
        let description = self.describe(is_flat, user_header_size);
        TypeDescription { encoding: Encoding::Region, layout_hash: 0, ..description }
    }
}

/// A struct as Python sees it: the members of its bases first.
pub struct StructPlan {
    pub id: TypeId,
    pub members: Vec<MemberPlan>,
    pub names: Arc<[String]>,
    index: HashMap<String, usize>,
    /// The size of its flat form, if it has one.
    pub size: Option<u64>,
    /// Where its members lie in regions, if it has a form there.
    region: OnceLock<Option<Vec<StructMember>>>,
}

/// A member of a struct.
pub struct MemberPlan {
    pub name: String,
    pub part: Part,
    pub optional: bool,
    /// Whether it is a weak link, which only regions have.
    pub weak: bool,
    pub bulk: bool,
    /// Where it lies in the flat form.
    pub at: u64,
    /// Where the value of an optional member lies, from `at` on.
    pub value_at: u64,
}

/// A value's type, with its flat layout where it has one.
pub struct Part {
    pub ty: Type,
    pub kind: Kind,
    /// The size of its flat form; 0 if it has none.
    pub size: u64,
}

/// What a value is.
pub enum Kind {
    /// A boolean, number or character.
    Primitive(Primitive),
    /// A string.
    Text(Option<u32>),
    /// A wide string.
    WideText(Option<u32>),
    /// An enum.
    Enum(TypeId),
    /// A bitmask.
    Bitmask(TypeId, Primitive),
    /// A struct.
    Struct(TypeId),
    /// A union.
    Union(TypeId),
    /// A fixed array.
    Array { element: Arc<Part>, dimensions: Vec<u32>, item: Option<Item> },
    /// A sequence. `data` is where its elements begin, in a flat message.
    Sequence { element: Arc<Part>, bound: Option<u32>, data: u64, item: Option<Item> },
    /// A map.
    Map,
}

/// An element that arrays can have: a number, or a struct of numbers.
#[derive(Clone)]
pub struct Item {
    /// As numpy's array interface writes it.
    pub typestr: String,
    /// The size of one number or struct.
    pub size: u64,
    /// The lengths of an element that is an array itself.
    pub inner: Vec<u64>,
    /// The struct.
    pub of: Option<TypeId>,
}

impl Item {
    /// A number.
    pub fn number(primitive: Primitive) -> Self {
        let typestr = typestr(primitive).to_owned();
        Self { typestr, size: primitive.size(), inner: Vec::new(), of: None }
    }

    /// The size of one element of the outer array.
    pub fn stride(&self) -> u64 {
        self.inner.iter().fold(self.size, |size, length| size.saturating_mul(*length))
    }
}

/// The primitive as numpy's array interface writes it.
fn typestr(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "|b1",
        Primitive::I8 => "|i1",
        Primitive::U8 | Primitive::Char8 => "|u1",
        Primitive::I16 => "<i2",
        Primitive::U16 | Primitive::WChar => "<u2",
        Primitive::I32 => "<i4",
        Primitive::U32 => "<u4",
        Primitive::I64 => "<i8",
        Primitive::U64 => "<u8",
        Primitive::F32 => "<f4",
        Primitive::F64 => "<f8",
    }
}

/// By the package around generated classes, the name and the schema.
type Known = HashMap<(Option<String>, String, String), Weak<Types>>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
static GENERATED: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

impl Types {
    /// The type of this name in a canonical schema.
    pub fn of(py: Python<'_>, text: &str, name: &str) -> PyResult<Arc<Self>> {
        Self::of_family(py, text, name, None)
    }

    /// The type of this name in a canonical schema, with the classes of a package of generated code.
    pub fn of_family(py: Python<'_>, text: &str, name: &str, family: Option<&str>) -> PyResult<Arc<Self>> {
        let key = (family.map(str::to_owned), name.to_owned(), text.to_owned());
        if let Some(types) = lock(&KNOWN).get(&key).and_then(Weak::upgrade) {
            return Ok(types);
        }
        let schema = Schema::from_idl(text).map_err(|error| Error::Schema.error(py, error))?;
        let Some(root) = schema.find(name) else {
            return Err(Error::Schema.error(py, format!("the schema does not define {name}")));
        };
        let count = schema.definitions().len();
        let structs = schema.definitions().filter_map(|(_, it)| it.kind.as_struct());
        let has_weak_links = structs.flat_map(|it| &it.members).any(Member::is_weak);
        let types = Arc::new(Self {
            root,
            schema,
            family: family.map(str::to_owned),
            has_weak_links,
            plans: (0..count).map(|_| OnceLock::new()).collect(),
            classes: (0..count).map(|_| PyOnceLock::new()).collect(),
        });
        let mut known = lock(&KNOWN);
        known.retain(|_, it| it.strong_count() > 0);
        known.insert(key, Arc::downgrade(&types));
        Ok(types)
    }

    /// The type of this name in any schema.
    pub fn in_schema(py: Python<'_>, schema: &Schema, id: TypeId) -> PyResult<Arc<Self>> {
        Self::of(py, &schema.canonical(id), schema.name(id).as_str())
    }

    /// The plan of a struct.
    pub fn plan(&self, id: TypeId) -> &Arc<StructPlan> {
        self.plans[id.index()].get_or_init(|| Arc::new(StructPlan::new(&self.schema, id)))
    }

    /// The class of a struct, enum or bitmask, made at its first use.
    pub fn class<'py>(self: &Arc<Self>, py: Python<'py>, id: TypeId) -> PyResult<Bound<'py, PyAny>> {
        let class = self.classes[id.index()].get_or_try_init(py, || {
            if let Some(class) = self.generated(py, id)? {
                return Ok(class.unbind());
            }
            let handle = TypeHandle::new(self.clone(), id);
            let make = module(py, &MODULE, "situ._types")?.getattr("make_class")?;
            Ok::<_, PyErr>(make.call1((handle,))?.unbind())
        })?;
        Ok(class.bind(py).clone())
    }

    /// The generated class of a type, if there is one.
    fn generated<'py>(&self, py: Python<'py>, id: TypeId) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(family) = &self.family else { return Ok(None) };
        let find = module(py, &GENERATED, "situ.generated")?.getattr("find_class")?;
        let found = find.call1((family, self.schema.name(id).as_str(), self.schema.schema_hash(id)))?;
        Ok(Some(found).filter(|it| !it.is_none()))
    }

    /// The class of a union, if it was generated. Values of other unions are of the class `situ.Union`.
    pub fn union_class<'py>(&self, py: Python<'py>, id: TypeId) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.family.is_none() {
            return Ok(None);
        }
        let class = self.classes[id.index()].get_or_try_init(py, || {
            Ok::<_, PyErr>(self.generated(py, id)?.map_or_else(|| py.None(), Bound::unbind))
        })?;
        Ok(Some(class.bind(py).clone()).filter(|it| !it.is_none()))
    }

    /// Makes a generated class the class of the root.
    pub fn bind(&self, py: Python<'_>, class: Py<PyAny>) {
        // A module that is imported again keeps the classes of the first import.
        let _ = self.classes[self.root.index()].set(py, class);
    }

    /// The class of a struct.
    pub fn struct_class<'py>(self: &Arc<Self>, py: Python<'py>, id: TypeId) -> PyResult<Bound<'py, PyType>> {
        Ok(self.class(py, id)?.cast_into::<PyType>()?)
    }

    /// What a type is.
    pub fn part(&self, ty: &Type) -> Part {
        Part::new(&self.schema, ty)
    }
}

impl StructPlan {
    fn new(schema: &Schema, id: TypeId) -> Self {
        let mut members = Vec::new();
        add_members(schema, id, 0, &mut members);
        let size = schema.flat_layout(id).map(|layout| layout.extent.size);
        let names = members.iter().map(|it| it.name.clone()).collect();
        let index = members.iter().enumerate().map(|(at, it)| (it.name.clone(), at)).collect();
        Self { id, members, names, index, size, region: OnceLock::new() }
    }

    /// Where its members lie in regions; `None` if it has no form there.
    pub fn region(&self, schema: &Schema) -> Option<&[StructMember]> {
        self.region.get_or_init(|| region_members(schema, self.id)).as_deref()
    }

    /// The position of a member.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }
}

fn add_members(schema: &Schema, id: TypeId, at: u64, members: &mut Vec<MemberPlan>) {
    let Some(it) = schema.definition(id).kind.as_struct() else { return };
    let places = schema.flat_layout(id).map(|layout| &layout.members[..]).unwrap_or_default();
    let own = places.len().saturating_sub(it.members.len());
    if let Some(base) = it.base {
        add_members(schema, base, at, members);
    }
    for (index, member) in it.members.iter().enumerate() {
        let place = places.get(own + index).map_or(0, |place| place.offset);
        members.push(MemberPlan::new(schema, member, at + place));
    }
}

impl MemberPlan {
    fn new(schema: &Schema, member: &Member, at: u64) -> Self {
        let part = Part::new(schema, &member.ty);
        let value_at = match schema.flat_extent(&member.ty) {
            // The presence byte, then padding up to the value.
            Ok(extent) if member.optional => extent.align.max(1),
            _ => 0,
        };
        let (optional, weak, bulk) = (member.optional, member.is_weak(), member.bulk);
        Self { name: member.name.clone(), part, optional, weak, bulk, at, value_at }
    }
}

impl Part {
    fn new(schema: &Schema, ty: &Type) -> Self {
        let size = schema.flat_extent(ty).map_or(0, |extent| extent.size);
        let kind = if let Some((element, dimensions)) = schema.array(ty) {
            let item = Item::of(schema, element);
            Kind::Array { element: Arc::new(Self::new(schema, element)), dimensions, item }
        } else {
            match schema.resolve(ty) {
                Type::Primitive(primitive) => Kind::Primitive(*primitive),
                Type::String { bound } => Kind::Text(*bound),
                Type::WString { bound } => Kind::WideText(*bound),
                Type::Sequence { element, bound } => Kind::Sequence {
                    data: schema.container_layout(ty).map_or(0, |it| it.data_offset),
                    item: Item::of(schema, element),
                    element: Arc::new(Self::new(schema, element)),
                    bound: *bound,
                },
                Type::Map { .. } | Type::Array { .. } => Kind::Map,
                Type::Named(id) => match &schema.definition(*id).kind {
                    model::Kind::Struct(_) => Kind::Struct(*id),
                    model::Kind::Union(_) => Kind::Union(*id),
                    model::Kind::Enum(_) => Kind::Enum(*id),
                    model::Kind::Bitmask(it) => Kind::Bitmask(*id, it.storage()),
                    model::Kind::Alias(inner) => return Self::new(schema, inner),
                },
            }
        };
        Self { ty: ty.clone(), kind, size }
    }
}

impl Item {
    fn of(schema: &Schema, ty: &Type) -> Option<Self> {
        if let Some((element, dimensions)) = schema.array(ty) {
            let inner = dimensions.iter().map(|it| u64::from(*it)).collect();
            return Self::of(schema, element).map(|item| Self { inner, ..item });
        }
        match schema.resolve(ty) {
            Type::Primitive(primitive) => Some(Self::number(*primitive)),
            Type::Named(id) => match &schema.definition(*id).kind {
                model::Kind::Enum(_) => Some(Self::number(Primitive::I32)),
                model::Kind::Bitmask(it) => Some(Self::number(it.storage())),
                model::Kind::Struct(_) if schema.is_plain(ty) => {
                    let Extent { size, .. } = schema.flat_extent(ty).ok()?;
                    Some(Self { typestr: format!("|V{size}"), size, inner: Vec::new(), of: Some(*id) })
                }
                _ => None,
            },
            _ => None,
        }
    }
}
