//! Types that do not depend on the storage, in regions: they are copied in and out as Rust values.

use super::Generator;
use super::call::Call;
use super::composite::Spelling;
use super::stored::Part;
use super::writer::{CodeWriter, LITERAL};

/// How plain values are copied.
const PLAIN: &str = "fn put(memory: REGION::MemoryMut<'_>, at: u32, value: &Self) {
    REGION::put_plain(memory, at, ::core::slice::from_ref(value));
}

fn get(from: REGION::Ref<'_, Self>) -> Self {
    *from
}

fn put_all(memory: REGION::MemoryMut<'_>, at: u32, values: &[Self]) {
    REGION::put_plain(memory, at, values);
}

fn slice(image: &[u8], at: u32, count: u32) -> ::core::option::Option<&[Self]> {
    ::core::option::Option::Some(REGION::plain_values(image, at, count))
}";

/// How values that are not plain are assigned.
const ASSIGN: &str = "fn assign(
    memory: REGION::MemoryMut<'_>,
    at: u32,
    value: Self,
) -> ::core::result::Result<(), REGION::Full> {
    <Self as REGION::Copied<Self>>::put(memory, at, &value);
    ::core::result::Result::Ok(())
}";

/// Enums and bitmasks in regions.
const NEWTYPE: &str = "const SIZE: u32 = <NUMBER as REGION::Stored>::SIZE;
const ALIGN: u32 = <NUMBER as REGION::Stored>::ALIGN;
const LINKS: bool = false;
const DENSE: bool = true;
const ANY: bool = true;

fn kind() -> ::std::string::String {
    <NUMBER as REGION::Stored>::kind()
}

fn write(writer: &mut REGION::Writer<'_>, from: u32, to: u32) {
    <NUMBER as REGION::Stored>::write(writer, from, to);
}

fn check<const __CANONICAL: bool>(
    _: &mut REGION::Check<'_, __CANONICAL>,
    _: u32,
) -> ::core::result::Result<(), REGION::Invalid> {
    ::core::result::Result::Ok(())
}

fn show(
    walk: &REGION::ShowWalk<'_>,
    at: u32,
    f: &mut ::core::fmt::Formatter<'_>,
) -> ::core::fmt::Result {
    REGION::show_plain::<Self>(walk, at, f)
}";

/// The default of an enum that does not begin with zero.
const BEGIN: &str = "fn begin(memory: REGION::MemoryMut<'_>, at: u32) {
    let default = <Self as ::core::default::Default>::default();
    REGION::put_plain(memory, at, &[default]);
}";

/// Enums as keys are ordered and hashed as their numbers.
const KEY: &str = "type View<'a> = Self;

fn view(image: &[u8], at: u32) -> Self {
    Self(<i32 as REGION::Key>::view(image, at))
}

fn compare(image: &[u8], at: u32, other: Self) -> ::core::cmp::Ordering {
    <i32 as REGION::Key>::compare(image, at, other.0)
}

fn hash(key: Self, seed: u32) -> u64 {
    <i32 as REGION::Key>::hash(key.0, seed)
}

fn put(
    memory: REGION::MemoryMut<'_>,
    at: u32,
    key: Self,
) -> ::core::result::Result<(), REGION::Full> {
    <i32 as REGION::Key>::put(memory, at, key.0)
}";

/// Keys of messages are those of regions.
const KEY_OF: &str = "fn view_of(key: &Self) -> Self {
    *key
}

fn read(
    view: Self,
    to: &mut Self,
) -> ::core::result::Result<(), LAYOUT::AssignError> {
    *to = view;
    ::core::result::Result::Ok(())
}";

/// Enums select cases.
const DISCRIMINATOR: &str = "type Value = Self;

fn get(image: &[u8], at: u32) -> Self {
    <Self as REGION::Key>::view(image, at)
}

fn set(memory: REGION::MemoryMut<'_>, at: u32, value: Self) {
    REGION::put_plain(memory, at, &[value]);
}";

impl Generator<'_> {
    /// The implementation for a message that can be published.
    pub fn region_message(&self, code: &mut CodeWriter, form: &str, message: &str) {
        self.implement_stored(code, ("impl", &self.region_crate("RegionMessage"), form), |code| {
            code.assign("type Message", message, ";");
        });
    }

    /// Functions with the paths of the crate in place of `REGION` and `LAYOUT`.
    pub fn functions(&self, code: &mut CodeWriter, text: &str) {
        let (region, layout) = (self.region_crate(""), self.layout(""));
        code.lines(&text.replace("REGION::", &region).replace("LAYOUT::", &layout));
    }

    /// A type that is the same within regions and outside, for a reason: it is copied as bytes.
    pub fn plain(&self, code: &mut CodeWriter, name: &str, reason: &str) {
        code.gap();
        code.line(format!("// SAFETY: {reason}."));
        code.line(format!("unsafe impl {} for {name} {{}}", self.region_crate("Plain")));
        let copied = self.region_crate("Copied<Self>");
        self.implement_stored(code, ("impl", &copied, name), |code| self.functions(code, PLAIN));
    }

    /// The function that writes a value.
    fn put(&self, code: &mut CodeWriter, inside: impl FnOnce(&mut CodeWriter)) {
        let memory = format!("mut memory: {}<'_>", self.region_crate("MemoryMut"));
        code.procedure("fn put", &[&memory, "at: u32", "value: &Self"]);
        code.indent();
        inside(code);
        code.dedent();
        code.line("}");
    }

    /// The head of the function that reads a value.
    fn get(&self) -> String {
        format!("fn get(from: {}<'_, Self>) -> Self", self.region_crate("Ref"))
    }

    /// A struct that is the same within regions and outside, beside its fields.
    pub fn plain_struct(&self, code: &mut CodeWriter, name: &str, parts: &[Part]) {
        code.gap();
        code.closed("const _: () =", "};", |code| {
            code.line(format!("LAYOUT.assert_plain::<{name}>();"));
            for (index, Part { field, .. }) in parts.iter().enumerate() {
                let member = format!("|it: &{name}| &it.{field}");
                let offset = format!("::core::mem::offset_of!({name}, {field})");
                code.call(&Call::new(format!("M{index}.assert_plain"), &[&member, &offset]), ";");
            }
        });
        self.plain(code, name, "its members are plain and leave no padding, as proved above");
    }

    /// Copies a struct member by member, beside its fields.
    pub fn copied_struct(&self, code: &mut CodeWriter, name: &str, parts: &[Part]) {
        let copied = self.region_crate("Copied<Self>");
        self.implement_stored(code, ("impl", &copied, name), |code| {
            self.put(code, |code| {
                for (index, Part { field, .. }) in parts.iter().enumerate() {
                    let arguments = ["memory.reborrow()", "at", &format!("&value.{field}")];
                    code.call(&Call::new(format!("M{index}.put"), &arguments), ";");
                }
            });
            code.gap();
            code.block(self.get(), |code| {
                let fields = parts.iter().enumerate();
                let fields: Vec<String> =
                    fields.map(|(index, it)| format!("{}: M{index}.get(from)", it.field)).collect();
                match &fields[..] {
                    [field] if field.len() <= LITERAL => code.line(format!("Self {{ {field} }}")),
                    _ => code.block("Self", |code| fields.iter().for_each(|it| code.line(format!("{it},")))),
                }
            });
        });
        self.assigned_copy(code, name);
    }

    /// Copies the selected case of a union.
    pub fn copied_union(
        &self,
        code: &mut CodeWriter,
        (name, case_name): (&str, &str),
        parts: &[Part],
        get_mut: impl Fn(&str) -> String,
    ) {
        let copied = self.region_crate("Copied<Self>");
        self.implement_stored(code, ("impl", &copied, name), |code| {
            self.put(code, |code| {
                code.line("// It has no blocks, so the previous value needs no release.");
                let function = self.region_crate("union_begin_at::<Self>");
                let arguments = ["memory.reborrow()", "at", "value.discriminator()"];
                code.call_from("let place = ", &Call::new(function, &arguments), ";");
                code.block("match value.case()", |code| {
                    for (index, Part { field, .. }) in parts.iter().enumerate() {
                        let call = Call::new(format!("M{index}.put"), &["memory", "place", "value"]);
                        code.arm(&format!("{case_name}::{field}(value)"), &call);
                    }
                    code.line(format!("{case_name}::Nothing => {{}}"));
                });
            });
            code.gap();
            code.block(self.get(), |code| {
                let made = Call::new(self.layout("default_value::<Self>"), &[]);
                code.call_from("let mut made = ", &made, ";");
                code.line(format!("made.select({}(from));", self.region_crate("union_discriminator")));
                for (index, Part { label, accessor, .. }) in parts.iter().enumerate() {
                    let from = format!("from.{accessor}()");
                    let to = format!("made.{}()", get_mut(label));
                    code.call(&Call::new(format!("M{index}.get_case"), &[&from, &to]), ";");
                }
                code.line("made");
            });
        });
        self.assigned_copy(code, name);
    }

    /// Assigns a value that is not plain by copying it.
    fn assigned_copy(&self, code: &mut CodeWriter, name: &str) {
        let assign = self.region_crate("Assign<Self>");
        self.implement_stored(code, ("impl", &assign, name), |code| self.functions(code, ASSIGN));
    }

    /// Stores and loads a value by copying it.
    pub fn conversions_of_value(&self, code: &mut CodeWriter, name: &str) {
        let spelling = Spelling { used: name.to_owned(), ..Spelling::default() };
        self.storing(code, name, &spelling, |code| {
            let function = self.region_crate("convert::store_copy::<Self, Self>");
            code.call(&Call::new(function, &["memory.reborrow()", "at", "from", "body"]), "?;");
        });
        self.loading(code, name, &spelling, |code| {
            let function = self.region_crate("convert::load_copy::<Self, Self>");
            code.call(&Call::new(function, &["from", "to", "bodies"]), "?;");
        });
    }

    /// An enum or bitmask in a region: its number.
    pub fn stored_newtype(&self, code: &mut CodeWriter, name: &str, number: &str, has_default: bool) {
        self.implement_stored(code, ("impl", &self.region_crate("Stored"), name), |code| {
            self.functions(code, &NEWTYPE.replace("NUMBER", number));
            if has_default {
                code.gap();
                self.functions(code, BEGIN);
            }
        });
        self.plain(code, name, "the type is a transparent number, which is plain");
    }

    /// An enum as a key, and as the discriminator of a union.
    pub fn region_key(&self, code: &mut CodeWriter, name: &str) {
        for (of, text) in [("Key", KEY), ("KeyOf<Self>", KEY_OF), ("Discriminator", DISCRIMINATOR)] {
            self.implement_stored(code, ("impl", &self.region_crate(of), name), |code| {
                self.functions(code, text);
            });
        }
    }
}
