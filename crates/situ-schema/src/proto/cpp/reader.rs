//! C++ readers for the messages of a `.proto` file, and the layouts of their fields.

use std::fmt::Write;

use super::names::Names;
use super::types::{int32, scalar};
use crate::codegen::cpp::writer::CodeWriter;
use crate::proto::methods::Methods;
use crate::proto::model::{Field, Kind, Message, Scalar, oneofs};

/// Writes the layout and the reader of a message; bodies that need other readers come later.
pub fn message(names: &Names, it: &Message, code: &mut CodeWriter, bodies: &mut CodeWriter) {
    let slots = it.slots();
    let [class, layout] = ["Reader", "Layout"].map(|end| names.simple(&it.full_name, end));
    let full = &it.full_name[1..];
    self::layout(names, &layout, full, &slots, code);

    // Qualified, because a field may have the name of the layout.
    let layout = names.qualified(&it.full_name, "Layout");
    let table = format!("::situ::protobuf::table<{layout}>");
    code.gap();
    code.line(match &it.extends {
        None => format!("/// Reads a `{full}` where it lies. Text and bytes are borrowed from the reader."),
        Some(other) => format!(
            "/// Reads `{full}`, an extension, of a `{}`. Text and bytes are borrowed from the reader.",
            &other[1..]
        ),
    });
    code.line(format!("class [[nodiscard]] {class} {{"));
    code.line(" public:");
    code.indent();
    code.line("/// A message without fields.");
    code.line(format!("{class}() noexcept = default;"));
    code.line(
        "/// Finds the fields of an encoded message; if it is none, error() tells, and there are no fields.",
    );
    code.line(format!(
        "explicit {class}(::std::span<const ::std::uint8_t> bytes) noexcept : table_(bytes) {{}}"
    ));
    code.line(format!(
        "explicit {class}(::situ::protobuf::nested message) noexcept : table_(::std::move(message)) {{}}"
    ));
    if let Some(other) = &it.extends {
        let other = names.qualified(other, "Reader");
        code.line(format!("explicit {class}(const {other}& extended) noexcept;"));
        bodies.line(format!(
            "inline {class}::{class}(const {other}& extended) noexcept : \
             {class}(::situ::protobuf::extension::message_of(extended)) {{}}"
        ));
    }
    let error = "::situ::protobuf::read_error";
    code.line(format!("[[nodiscard]] const {error}& error() const& noexcept {{ return table_.error(); }}"));
    code.line(format!("[[nodiscard]] {error} error() const&& noexcept {{ return table_.error(); }}"));
    code.line("/// The message as bytes.");
    borrowed(code, "::std::span<const ::std::uint8_t>", "as_bytes", "return table_.bytes();");
    code.line("/// The fields that are not known.");
    let unknown = format!("::situ::protobuf::unknown_fields<{layout}>");
    borrowed(code, &unknown, "unknown_fields", "return table_.unknown_fields();");
    let methods = names.methods(it);
    for (slot, field) in slots.iter().enumerate() {
        getter(names, it, (slot, field), &methods[field.name.as_str()], code, bodies);
    }
    code.dedent();
    code.gap();
    code.line(" private:");
    code.indent();
    code.line("friend ::situ::protobuf::extension;");
    code.line(format!("{table} table_;"));
    code.dedent();
    code.line("};");
}

/// A getter whose result borrows from the reader. It is deleted for temporary readers.
fn borrowed(code: &mut CodeWriter, result: &str, name: &str, body: &str) {
    code.line(format!("[[nodiscard]] {result} {name}() const& noexcept {{ {body} }}"));
    code.line(format!("{result} {name}() const&& = delete;"));
}

fn layout(names: &Names, name: &str, full: &str, slots: &[&Field], code: &mut CodeWriter) {
    let count = slots.len();
    code.gap();
    code.line(format!("/// Which fields a `{full}` has."));
    code.line(format!("struct {name} {{"));
    code.indent();
    code.line(format!("static constexpr ::std::size_t size = {count};"));
    let pairs: Vec<String> = oneofs(slots).iter().map(|(from, to)| format!("{{{from}, {to}}}")).collect();
    let pairs = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(", ")) };
    code.line(format!(
        "static constexpr ::std::array<::std::pair<::std::uint16_t, ::std::uint16_t>, {count}> oneofs{{{pairs}}};"
    ));
    slot_function(slots, code);
    accepts_function(names, slots, code);
    code.dedent();
    code.line("};");
}

/// The slot of a field of a number and wire type.
fn slot_function(slots: &[&Field], code: &mut CodeWriter) {
    code.line(
        "static constexpr int slot(::std::uint32_t number, ::situ::protobuf::wire_type wire) noexcept {",
    );
    code.indent();
    if slots.is_empty() {
        code.line("return static_cast<void>(number), static_cast<void>(wire), -1;");
    } else {
        code.line("using wire_type = ::situ::protobuf::wire_type;");
        code.line("switch (number) {");
        code.indent();
        for (slot, field) in slots.iter().enumerate() {
            let wire = if field.is_group { "group".to_owned() } else { field.wire().to_lowercase() };
            let packed =
                if field.is_repeated && field.is_numeric() { " || wire == wire_type::bytes" } else { "" };
            code.line(format!("case {}:", field.number));
            code.line(format!("  return wire == wire_type::{wire}{packed} ? {slot} : -1;"));
        }
        code.line("default:");
        code.line("  return -1;");
        code.dedent();
        code.line("}");
    }
    code.dedent();
    code.line("}");
}

/// Whether a closed enum has a number.
fn accepts_function(names: &Names, slots: &[&Field], code: &mut CodeWriter) {
    code.line("static constexpr bool accepts(int slot, ::std::int32_t number) noexcept {");
    code.indent();
    let closed: Vec<(usize, &[i32])> = (0..)
        .zip(slots)
        .filter_map(|(slot, field)| Some((slot, names.model.closed_numbers(field)?)))
        .collect();
    if closed.is_empty() {
        code.line("return static_cast<void>(slot), static_cast<void>(number), true;");
    } else {
        code.line("switch (slot) {");
        code.indent();
        for (slot, numbers) in closed {
            let same: Vec<String> = numbers.iter().map(|it| format!("number == {}", int32(*it))).collect();
            code.line(format!("case {slot}:"));
            code.line(format!("  return {};", same.join(" || ")));
        }
        code.line("default:");
        code.line("  return true;");
        code.dedent();
        code.line("}");
    }
    code.dedent();
    code.line("}");
}

fn getter(
    names: &Names,
    message: &Message,
    (slot, it): (usize, &Field),
    methods: &Methods,
    code: &mut CodeWriter,
    bodies: &mut CodeWriter,
) {
    let (name, number) = (&it.name, it.number);
    let Methods { get: own, has, .. } = methods;
    let layout = names.qualified(&message.full_name, "Layout");
    code.gap();
    if !it.is_repeated {
        code.line(format!("/// Whether there is a field {number}."));
        code.line(format!("[[nodiscard]] bool {has}() const noexcept {{ return table_.has({slot}); }}"));
    }
    code.line(format!("/// `{name}`, field {number}."));
    match (&it.kind, it.is_repeated) {
        (Kind::Scalar(_) | Kind::Enum(_), is_repeated) => {
            let (value, kind) = number_type(names, &it.kind);
            if is_repeated {
                let result = format!("::situ::protobuf::numbers<{kind}, {layout}>");
                borrowed(code, &result, own, &format!("return table_.all<{kind}>({slot});"));
            } else {
                code.line(format!(
                    "[[nodiscard]] {value} {own}() const noexcept {{ return table_.get<{kind}>({slot}, {}); }}",
                    default(names, it)
                ));
            }
        }
        (Kind::String, false) => {
            let body = format!("return table_.get_string({slot}{});", text_default(it));
            borrowed(code, "::std::string_view", own, &body);
        }
        (Kind::Bytes, false) => {
            let body = format!("return table_.get_bytes({slot}{});", text_default(it));
            borrowed(code, "::std::span<const ::std::uint8_t>", own, &body);
        }
        (Kind::String, true) => {
            let result = format!("::situ::protobuf::strings<{layout}>");
            borrowed(code, &result, own, &format!("return table_.all_strings({slot});"));
        }
        (Kind::Bytes, true) => {
            let result = format!("::situ::protobuf::byte_strings<{layout}>");
            borrowed(code, &result, own, &format!("return table_.all_bytes({slot});"));
        }
        (Kind::Message(other), is_repeated) => {
            let reader = names.qualified(other, "Reader");
            let (result, body) = if is_repeated {
                (
                    format!("::situ::protobuf::messages<{reader}, {layout}>"),
                    format!("table_.all_messages<{reader}>({slot})"),
                )
            } else {
                let get = if it.is_group { "get_group" } else { "get_message" };
                (reader.clone(), format!("table_.{get}<{reader}>({slot})"))
            };
            // The result keeps the buffer alive if the buffer is not the caller's.
            code.line(format!("{result} {own}() const;"));
            let class = names.simple(&message.full_name, "Reader");
            bodies.line(format!("inline {result} {class}::{own}() const {{ return {body}; }}"));
        }
    }
}

/// The type of a number in C++, and its kind.
fn number_type(names: &Names, kind: &Kind) -> (String, String) {
    match kind {
        Kind::Scalar(it) => {
            let (name, value) = scalar(*it);
            (value.to_owned(), format!("::situ::protobuf::kind::{name}"))
        }
        Kind::Enum(name) => {
            let value = names.qualified(name, "");
            (value.clone(), format!("::situ::protobuf::kind::enumeration<{value}>"))
        }
        _ => (String::new(), String::new()),
    }
}

/// The default of a number, as C++ writes it.
fn default(names: &Names, it: &Field) -> String {
    let text = it.default.as_deref();
    let (value, _) = number_type(names, &it.kind);
    match (&it.kind, text) {
        (Kind::Enum(name), None) => {
            let first = names.model.places[name].numbers.first().map_or(0, |it| *it);
            format!("static_cast<{value}>({})", int32(first))
        }
        (Kind::Enum(name), Some(text)) => format!("{value}::{}", names.enumerator(name, text)),
        (Kind::Scalar(Scalar::Bool), text) => text.unwrap_or("false").to_owned(),
        (Kind::Scalar(Scalar::Float | Scalar::Double), Some(text)) => match text {
            "inf" => format!("::std::numeric_limits<{value}>::infinity()"),
            "-inf" => format!("-::std::numeric_limits<{value}>::infinity()"),
            "nan" | "-nan" => format!("::std::numeric_limits<{value}>::quiet_NaN()"),
            number => format!("static_cast<{value}>({})", with_point(number)),
        },
        (Kind::Scalar(Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64), Some("-9223372036854775808")) => {
            "(-9223372036854775807 - 1)".to_owned()
        }
        (Kind::Scalar(Scalar::Uint32 | Scalar::Fixed32), Some(text)) => format!("{text}U"),
        (Kind::Scalar(Scalar::Uint64 | Scalar::Fixed64), Some(text)) => format!("{text}ULL"),
        (_, Some(text)) => text.parse().map_or_else(|_| text.to_owned(), int32),
        (_, None) => "0".to_owned(),
    }
}

/// A number that C++ takes for a double.
fn with_point(number: &str) -> String {
    if number.contains(['.', 'e', 'E']) { number.to_owned() } else { format!("{number}.0") }
}

/// The default of a string or of bytes, as a further argument. It has a length because it may contain zeros.
fn text_default(it: &Field) -> String {
    let Some(text) = &it.default else { return String::new() };
    let bytes = match it.kind {
        Kind::Bytes => unescape(text),
        _ => text.clone().into_bytes(),
    };
    let mut literal = String::new();
    for byte in &bytes {
        // An octal escape ends after three digits.
        match byte {
            b'"' | b'\\' => literal.extend(['\\', *byte as char]),
            b' '..=b'~' => literal.push(*byte as char),
            _ => {
                let _ = write!(literal, "\\{byte:03o}");
            }
        }
    }
    format!(", ::std::string_view(\"{literal}\", {})", bytes.len())
}

/// Protobuf escapes bytes as C does.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(digit) = rest.next_if(|it| matches!(it, b'0'..=b'7')) else { break };
                    value = value * 8 + u32::from(digit - b'0');
                }
                bytes.push(value as u8);
            }
            Some(b'x') => {
                let mut value = 0;
                while let Some(digit) = rest.peek().and_then(|it| (*it as char).to_digit(16)) {
                    value = value * 16 + digit;
                    rest.next();
                }
                bytes.push(value as u8);
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b't') => bytes.push(b'\t'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    bytes
}
