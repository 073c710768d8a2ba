//! Structs, unions, aliases and constants.

use super::names::{CaseNames, Idents, Named};
use super::types::{self, hash, named, primitive, spell, spell_member, value};
use super::writer::CodeWriter;
use crate::model::{Case, Constant, Kind, Literal, Member, Primitive, Struct, Type, TypeId, Union};

/// `template <class S>` with the type's requirement on its storage.
pub fn template_head(schema: &Named, id: TypeId) -> String {
    let concept = if schema.is_flattable(id) { "storage_policy" } else { "unbounded_storage" };
    format!("template <::situ::{concept} S>")
}

/// A constant, in a namespace (`inline`) or a struct (`static`).
pub fn constant(schema: &Named, constant: &Constant, name: &str, storage: &str) -> String {
    let ty = match schema.resolve(&constant.ty) {
        Type::Primitive(of) => primitive(*of).to_owned(),
        Type::WString { .. } => "::std::u16string_view".to_owned(),
        Type::Named(id) => named(schema, *id),
        _ => "::std::string_view".to_owned(),
    };
    let value = value(schema, &constant.ty, &constant.value);
    format!("{storage} constexpr {ty} {} = {value};", name)
}

/// A typedef.
pub fn alias(code: &mut CodeWriter, schema: &Named, id: TypeId, ty: &Type) {
    let definition = schema.definition(id);
    code.docs(&definition.docs);
    let name = schema.simple(id);
    let template = schema.template(id);
    if !schema.is_template(id) {
        code.line(format!("using {name} = {};", spell(schema, ty)));
        return same_in_all_storages(code, schema, id);
    }
    code.line(template_head(schema, id));
    code.line(format!("using {template} = {};", spell(schema, ty)));
    let storage = match schema.as_struct(ty) {
        _ if schema.is_flat(id) => "flat",
        Some((_, it)) if it.region => "in_region",
        _ => "heap",
    };
    code.line(format!("using {name} = {template}<::situ::{storage}>;"));
}

/// The template of aliases for a type that is the same in all storages.
fn same_in_all_storages(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let (name, template) = (schema.simple(id), schema.template(id));
    if !template.is_empty() {
        code.line("template <::situ::storage_policy>");
        code.line(format!("using {template} = {name};"));
    }
}

/// The default storage of a struct or union.
fn default_alias(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let is_single = !schema.is_template(id);
    let storage = match &schema.definition(id).kind {
        Kind::Struct(it) if it.region => "in_region",
        _ if schema.is_flat(id) || is_single && schema.is_flattable(id) => "flat",
        _ => "heap",
    };
    let name = schema.simple(id);
    code.gap();
    code.line(format!("using {name} = {}<::situ::{storage}>;", schema.class(id)));
    if is_single {
        code.line("/// The same in all storages.");
        same_in_all_storages(code, schema, id);
    }
}

/// The schema that a topic carries for a struct.
pub fn schema_text(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let name = schema.name(id);
    code.gap();
    code.line(template_head(schema, id));
    code.line(format!("struct schema_text<{}<S>> {{", schema.qualified(name, schema.class(id))));
    code.edge(format!(
        "  static constexpr ::std::string_view value = R\"situ({})situ\";",
        schema.canonical(id)
    ));
    code.line("};");
}

/// The documentation of a member, and its unit.
fn member_docs(code: &mut CodeWriter, member: &Member) {
    let mut docs = member.docs.clone();
    if let Some(unit) = &member.unit {
        if !docs.is_empty() {
            docs.push_str("\n\n");
        }
        docs.push_str("Unit: ");
        docs.push_str(unit);
    }
    code.docs(&docs);
}

/// `::situ::member_info{"height", 1}`.
fn member_info(member: &Member) -> String {
    let name = types::text_literal(&member.name);
    let flags = [("key", member.key), ("must_understand", member.must_understand)];
    let flags: String =
        flags.iter().filter(|(_, on)| *on).map(|(name, _)| format!(", .{name} = true")).collect();
    if flags.is_empty() {
        format!("::situ::member_info{{{name}, {}}}", member.id)
    } else {
        format!("::situ::member_info{{.name = {name}, .id = {}{flags}}}", member.id)
    }
}

/// What structs and unions say about themselves: how to change their storage, their name and extensibility.
fn traits(code: &mut CodeWriter, schema: &Named, id: TypeId, extensibility: &str) {
    let definition = schema.definition(id);
    let class = schema.class(id);
    let (rebound, in_region) = match schema.is_template(id) {
        true => (format!("{class}<Other>"), format!("{class}<::situ::in_region>")),
        false => (class.to_owned(), class.to_owned()),
    };
    code.line("template <class Other>");
    code.line(format!("using situ_rebind = {rebound};"));
    if schema.has_region(id) {
        code.line("/// The type in regions.");
        code.line(format!("using in_region = {in_region};"));
    }
    code.line(format!("static constexpr ::std::string_view situ_name = \"{}\";", definition.name));
    code.line(format!(
        "static constexpr ::situ::extensibility situ_extensibility = ::situ::extensibility::{extensibility};"
    ));
}

fn extensibility(of: crate::model::Extensibility) -> &'static str {
    match of {
        crate::model::Extensibility::Final => "final",
        crate::model::Extensibility::Appendable => "appendable",
        crate::model::Extensibility::Mutable => "mutable_",
    }
}

/// A struct.
pub fn structure(code: &mut CodeWriter, schema: &Named, id: TypeId, it: &Struct) {
    let definition = schema.definition(id);
    let (class, members) = (schema.class(id), schema.members(id));
    code.docs(&definition.docs);
    code.line(template_head(schema, id));
    if it.is_appended_in_regions() {
        code.line(format!("struct {class} : ::situ::appended<S> {{"));
    } else {
        code.line(format!("struct {class} {{"));
    }
    code.indent();
    for constant in schema.constants_of(id) {
        code.docs(&constant.docs);
        code.line(self::constant(schema, constant, members.get(constant.name.simple()), "static"));
    }
    code.gap();
    if let Some(base) = it.base {
        code.line(format!("/// The members of {}.", schema.name(base)));
        code.line(format!("{} base{{}};", named(schema, base)));
    }
    for member in &it.members {
        member_docs(code, member);
        let name = members.get(&member.name);
        let initial = types::initializer(schema, member);
        code.line(format!("{} {name}{initial};", spell_member(schema, member)));
    }
    code.gap();
    if !schema.is_plain(&Type::Named(id)) {
        code.line("/// Writes the members alone. (A defaulted constructor may zero the whole object first.)");
        code.line(format!("{class}() {{}}"));
    }
    code.line(format!("[[nodiscard]] friend bool operator==(const {class}&, const {class}&) = default;"));

    code.gap();
    code.line("// What Situ knows about the type.");
    code.line("using situ_storage = S;");
    let base = it.base.map(|_| "decltype(base)".to_owned());
    let own = it.members.iter().map(|member| format!("decltype({})", members.get(&member.name)));
    let member_types: Vec<String> = base.into_iter().chain(own).collect();
    code.list("using situ_types = ::situ::type_list<", &member_types, ",", ">;");
    traits(code, schema, id, extensibility(it.extensibility));
    code.line(format!("static constexpr ::std::uint64_t schema_hash = {};", hash(schema.schema_hash(id))));
    code.line(format!(
        "static constexpr ::std::uint64_t layout_hash = ::situ::if_flat<S>({});",
        hash(schema.layout_hash(id))
    ));
    code.line(format!("static constexpr ::std::string_view schema = ::situ::schema_text<{class}>::value;"));
    code.gap();
    bulk(code, schema, id, it);
    code.gap();
    visitor(code, schema, it, &members);
    weak_members(code, schema, id, it, &members);
    region_parts(code, schema, id, it);
    code.dedent();
    code.line("};");
    default_alias(code, schema, id);
}

/// The members as regions name and place them.
fn region_parts(code: &mut CodeWriter, schema: &Named, id: TypeId, it: &Struct) {
    if !schema.has_region(id) {
        return;
    }
    let (class, members) = (schema.class(id), schema.members(id));
    let base = it.base.map(|_| ("base", "base"));
    let own = it.members.iter().map(|member| (members.get(&member.name), member.name.as_str()));
    let parts: Vec<String> = base
        .into_iter()
        .chain(own)
        .map(|(name, label)| format!("Part<&{class}::{name}, offsetof({class}, {name})>{{\"{label}\"}}"))
        .collect();
    code.line(format!("static constexpr bool situ_appended = {};", it.is_appended_in_regions()));
    code.line("template <template <auto, ::std::size_t> class Part>");
    code.line("static constexpr auto situ_region_parts() {");
    code.indent();
    code.list("return ::std::tuple{", &parts, ",", "};");
    code.dedent();
    code.line("}");
}

/// A function that visits the members of one or more messages, inherited members first.
fn visitor(code: &mut CodeWriter, schema: &Named, it: &Struct, members: &Idents) {
    code.line("template <class Visitor, class... Messages>");
    code.line("static constexpr bool situ_members(Visitor&& visit, Messages&... messages) {");
    code.indent();
    let base = it.base.map(|base| format!("{}::situ_members(visit, messages.base...)", named(schema, base)));
    let own =
        it.members.iter().filter(|member| !member.is_weak()).map(|member| {
            format!("visit({}, messages.{}...)", member_info(member), members.get(&member.name))
        });
    let mut calls: Vec<String> = base.into_iter().chain(own).collect();
    if calls.is_empty() {
        calls.push("(static_cast<void>(visit), (static_cast<void>(messages), ...), true)".to_owned());
    }
    code.list("return ", &calls, " &&", ";");
    code.dedent();
    code.line("}");
}

/// Whether a struct or one of its bases has weak links.
fn has_weak_links(schema: &Named, id: TypeId) -> bool {
    schema.definition(id).kind.as_struct().is_some_and(|it| {
        it.members.iter().any(Member::is_weak) || it.base.is_some_and(|base| has_weak_links(schema, base))
    })
}

/// A function that visits the weak links, which the other visitor leaves out because only regions have them.
fn weak_members(code: &mut CodeWriter, schema: &Named, id: TypeId, it: &Struct, members: &Idents) {
    if !has_weak_links(schema, id) {
        return;
    }
    code.line("static constexpr bool situ_has_weak_links = true;");
    code.line("template <class Visitor, class... Messages>");
    code.line("static constexpr bool situ_weak_members(Visitor&& visit, Messages&... messages) {");
    code.indent();
    let base = it.base.filter(|base| has_weak_links(schema, *base));
    let base =
        base.map(|base| format!("{}::situ_weak_members(visit, messages.base...)", named(schema, base)));
    let own = it.members.iter().filter(|member| member.is_weak()).map(|member| {
        format!("visit({}, messages.{}...)", types::text_literal(&member.name), members.get(&member.name))
    });
    let calls: Vec<String> = base.into_iter().chain(own).collect();
    code.list("return ", &calls, " &&", ";");
    code.dedent();
    code.line("}");
}

/// A member that has bulk fields, or is one.
struct Bulk {
    name: String,
    is_field: bool,
}

fn bulk_members(schema: &Named, it: &Struct, members: &Idents) -> Vec<Bulk> {
    let holds_bulk = |ty: &Type| schema.as_struct(ty).is_some_and(|(id, _)| schema.has_bulk(id));
    let base = it.base.filter(|base| schema.has_bulk(*base));
    let base = base.map(|_| Bulk { name: "base".to_owned(), is_field: false });
    let own = it.members.iter().filter(|member| member.bulk || !member.optional && holds_bulk(&member.ty));
    let own = own.map(|member| Bulk { name: members.get(&member.name).to_owned(), is_field: member.bulk });
    base.into_iter().chain(own).collect()
}

/// The lengths of bulk fields, and construction with them.
fn bulk(code: &mut CodeWriter, schema: &Named, id: TypeId, it: &Struct) {
    let class = schema.class(id);
    let fields = bulk_members(schema, it, &schema.members(id));
    if fields.is_empty() {
        code.line("using bulk_lengths = ::situ::no_bulk;");
    } else {
        code.line("/// How many elements each bulk field holds.");
        code.line("struct bulk_lengths {");
        code.indent();
        for field in &fields {
            if field.is_field {
                code.line(format!("::std::size_t {} = 0;", field.name));
            } else {
                code.line(format!(
                    "typename decltype({class}::{})::bulk_lengths {}{{}};",
                    field.name, field.name
                ));
            }
        }
        code.line("friend constexpr bool operator==(const bulk_lengths&, const bulk_lengths&) = default;");
        code.dedent();
        code.line("};");
    }
    code.line(
        "/// The size of a body with bulk fields of these lengths; nothing when they exceed their bounds.",
    );
    code.line("[[nodiscard]] static constexpr ::std::optional<::std::size_t> body_size(");
    code.line("    const bulk_lengths& lengths) noexcept {");
    code.line(format!("  return ::situ::detail::body_size<{class}>(lengths);"));
    code.line("}");
    code.line("/// Constructs a message at an address: default values, and bulk fields of these lengths.");
    code.line(format!("static {class}* init_at(void* place, const bulk_lengths& lengths) {{"));
    code.line(format!("  return ::situ::detail::init_at<{class}>(place, lengths);"));
    code.line("}");
    code.line(format!("static {class}* init_at(void* place) {{ return init_at(place, bulk_lengths{{}}); }}"));
    if fields.is_empty() {
        return;
    }
    code.gap();
    let parameters = [
        format!("{class}* message"),
        "const bulk_lengths& lengths".to_owned(),
        "::situ::body_layout& body".to_owned(),
    ];
    code.list("static constexpr bool situ_place_bulk(", &parameters, ",", ") {");
    code.indent();
    let calls: Vec<String> = fields
        .iter()
        .map(|Bulk { name, .. }| {
            format!("::situ::detail::place_bulk(message, &{class}::{name}, lengths.{name}, body)")
        })
        .collect();
    code.list("return ", &calls, " &&", ";");
    code.dedent();
    code.line("}");
    code.line(format!("static constexpr bulk_lengths situ_bulk_lengths(const {class}& message) {{"));
    code.indent();
    let lengths: Vec<String> = fields
        .iter()
        .map(|Bulk { name, is_field }| {
            if *is_field {
                format!("static_cast<::std::size_t>(message.{name}.size())")
            } else {
                format!("::situ::bulk_lengths_of(message.{name})")
            }
        })
        .collect();
    code.list("return {", &lengths, ",", "};");
    code.dedent();
    code.line("}");
}

/// The discriminator of a union in C++.
struct Discriminator {
    /// Its type.
    ty: String,
    /// The integer type that a `switch` over it uses.
    switched: &'static str,
}

impl Discriminator {
    fn of(schema: &Named, it: &Union) -> Self {
        let ty = spell(schema, &it.discriminator);
        let switched = match schema.resolve(&it.discriminator) {
            Type::Primitive(Primitive::Bool) => "int",
            Type::Primitive(Primitive::Char8) => "::std::uint8_t",
            Type::Primitive(Primitive::WChar) => "::std::uint16_t",
            Type::Primitive(of) => primitive(*of),
            _ => "::std::int32_t",
        };
        Self { ty, switched }
    }

    fn value(&self, schema: &Named, it: &Union, value: i128) -> String {
        match schema.resolve(&it.discriminator) {
            Type::Primitive(of) => match of {
                Primitive::Bool | Primitive::I32 => types::integer(*of, value),
                _ => format!("{}{{{}}}", self.ty, types::integer(*of, value)),
            },
            Type::Named(id) => match &schema.definition(*id).kind {
                Kind::Enum(of) => {
                    of.enumerators.iter().position(|it| i128::from(it.value) == value).map_or_else(
                        || format!("{}{{{value}}}", self.ty),
                        |index| {
                            types::value(schema, &it.discriminator, &Literal::Enumerator { of: *id, index })
                        },
                    )
                }
                _ => value.to_string(),
            },
            _ => value.to_string(),
        }
    }

    fn label(&self, value: i128) -> String {
        match self.switched {
            "::std::int32_t" => types::integer(Primitive::I32, value),
            "::std::int64_t" => types::integer(Primitive::I64, value),
            "::std::uint64_t" => types::integer(Primitive::U64, value),
            "::std::uint32_t" => types::integer(Primitive::U32, value),
            _ => value.to_string(),
        }
    }
}

/// A union.
pub fn union(code: &mut CodeWriter, schema: &Named, id: TypeId, it: &Union) {
    let definition = schema.definition(id);
    let (template, cases) = (schema.template(id), schema.cases_of(id));
    let discriminator = Discriminator::of(schema, it);
    union_cases(code, schema, id, it, cases, &discriminator);
    code.gap();
    code.docs(&definition.docs);
    code.line(template_head(schema, id));
    code.line(format!("class {template}"));
    code.indent();
    code.indent();
    let mut arguments = vec!["S".to_owned(), discriminator.ty.clone(), cases.to_owned()];
    arguments.extend(it.cases.iter().map(|case| spell(schema, &case.member.ty)));
    let head = ": public ::situ::union_of<";
    code.list(head, &arguments, ",", "> {");
    code.dedent();
    code.dedent();
    code.line(" public:");
    code.indent();
    code.line("// What Situ knows about the type.");
    code.line("using situ_storage = S;");
    traits(code, schema, id, extensibility(it.extensibility));
    let infos: Vec<String> = it.cases.iter().map(|case| member_info(&case.member)).collect();
    code.list(
        &format!("static constexpr ::std::array<::situ::member_info, {}> situ_cases{{{{", it.cases.len()),
        &infos,
        ",",
        "}};",
    );
    for ((index, case), names) in it.cases.iter().enumerate().zip(schema.cases(id)) {
        accessors(code, schema, it, (index, case, &names), &discriminator);
    }
    code.dedent();
    code.line("};");
    default_alias(code, schema, id);
}

/// Which alternative each value of the discriminator selects.
fn union_cases(
    code: &mut CodeWriter,
    schema: &Named,
    id: TypeId,
    it: &Union,
    cases: &str,
    discriminator: &Discriminator,
) {
    let Discriminator { ty, switched } = discriminator;
    code.line(format!("struct {cases} {{"));
    code.indent();
    let initial = discriminator.value(schema, it, schema.default_discriminator(it));
    code.line(format!("static constexpr {ty} initial = {initial};"));
    code.line(format!("static constexpr ::std::size_t index_of({ty} value) noexcept {{"));
    code.indent();
    code.line(format!("switch (static_cast<{switched}>(value)) {{"));
    code.indent();
    for (index, case) in it.cases.iter().enumerate().filter(|(_, case)| !case.labels.is_empty()) {
        for label in &case.labels {
            code.line(format!("case {}:", discriminator.label(*label)));
        }
        code.line(format!("  return {index};"));
    }
    code.line("default:");
    match it.cases.iter().position(|case| case.is_default) {
        Some(index) => code.line(format!("  return {index};")),
        None => code.line("  return ::situ::no_alternative;"),
    }
    code.dedent();
    code.line("}");
    code.dedent();
    code.line("}");
    code.line(format!("static constexpr ::std::string_view name = \"{}\";", schema.name(id)));
    let count = it.cases.len();
    let texts = |code: &mut CodeWriter, what: &str, texts: Vec<String>| {
        let head = format!("static constexpr ::std::array<::std::string_view, {count}> {what}{{{{");
        code.list(&head, &texts, ",", "}};");
    };
    texts(code, "names", it.cases.iter().map(|case| types::text_literal(&case.member.name)).collect());
    texts(code, "labels", it.cases.iter().map(|case| types::text_literal(&labels(case))).collect());
    code.dedent();
    code.line("};");
}

/// The labels of a case, in the spelling of a region's layout text.
fn labels(case: &Case) -> String {
    let mut numbers = case.labels.clone();
    numbers.sort_unstable();
    let numbers = numbers.iter().map(i128::to_string);
    numbers.chain(case.is_default.then(|| "default".to_owned())).collect::<Vec<_>>().join(",")
}

/// The methods that test, read and set one case.
fn accessors(
    code: &mut CodeWriter,
    schema: &Named,
    union: &Union,
    (index, case, names): (usize, &Case, &CaseNames),
    discriminator: &Discriminator,
) {
    let CaseNames { get: name, has, get_if, set, try_set, emplace, try_emplace } = names;
    let first = case.labels.first().copied().or_else(|| schema.unlabelled(union)).unwrap_or(0);
    let first = discriminator.value(schema, union, first);
    code.gap();
    member_docs(code, &case.member);
    code.line(format!(
        "[[nodiscard]] bool {has}() const noexcept {{ return this->template holds<{index}>(); }}"
    ));
    code.line(format!("[[nodiscard]] auto& {name}() {{ return this->template get<{index}>(); }}"));
    code.line(format!(
        "[[nodiscard]] const auto& {name}() const {{ return this->template get<{index}>(); }}"
    ));
    code.line(format!(
        "[[nodiscard]] auto* {get_if}() noexcept {{ return this->template get_if<{index}>(); }}"
    ));
    code.line(format!(
        "[[nodiscard]] const auto* {get_if}() const noexcept {{ return this->template get_if<{index}>(); }}"
    ));
    code.line("template <class Value>");
    code.line(format!("auto& {set}(Value&& value, {} label = {first}) {{", discriminator.ty));
    code.line(format!("  return this->template set<{index}>(label, ::std::forward<Value>(value));"));
    code.line("}");
    code.line("template <class Value>");
    code.line(format!(
        "[[nodiscard]] auto* {try_set}(Value&& value, {} label = {first}) {{",
        discriminator.ty
    ));
    code.line(format!("  return this->template try_set<{index}>(label, ::std::forward<Value>(value));"));
    code.line("}");
    for (head, name, function) in
        [("auto&", emplace, "emplace_at"), ("[[nodiscard]] auto*", try_emplace, "try_emplace_at")]
    {
        code.line("template <class... Args>");
        code.line(format!("{head} {name}(Args&&... args) {{"));
        code.line(format!(
            "  return this->template {function}<{index}>({first}, ::std::forward<Args>(args)...);"
        ));
        code.line("}");
    }
}
