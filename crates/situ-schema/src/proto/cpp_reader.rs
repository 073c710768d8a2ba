//! C++ readers for the messages of a `.proto` file.

use std::fmt::Write;

use super::cpp_names::Names;
use super::cpp_types::{int32, scalar};
use super::methods::Methods;
use super::model::{Field, Kind, Message, Scalar, oneofs};

/// Writes the layout and the reader of a message; bodies that need other readers come later.
pub fn message(names: &Names, it: &Message, text: &mut String, bodies: &mut String) {
    let slots = it.slots();
    let [class, layout] = ["Reader", "Layout"].map(|end| names.simple(&it.full_name, end));
    let full = &it.full_name[1..];
    self::layout(names, &layout, full, &slots, text);

    // A field may be called as its layout is.
    let layout = names.qualified(&it.full_name, "Layout");
    let table = format!("::situ::protobuf::table<{layout}>");
    let _ = match &it.extends {
        None => writeln!(
            text,
            "\n/// Reads a `{full}` where it lies. Text and bytes are borrowed from the reader."
        ),
        Some(other) => writeln!(
            text,
            "\n/// Reads `{full}`, an extension, of a `{}`. Text and bytes are borrowed from the reader.",
            &other[1..]
        ),
    };
    let _ = writeln!(text, "class [[nodiscard]] {class} {{\n public:");
    let _ = writeln!(text, "  /// A message without fields.\n  {class}() noexcept = default;");
    text.push_str("  /// Finds the fields of an encoded message; if it is none, error() tells, and there are no fields.\n");
    let _ = writeln!(
        text,
        "  explicit {class}(::std::span<const ::std::uint8_t> bytes) noexcept : table_(bytes) {{}}"
    );
    let _ = writeln!(
        text,
        "  explicit {class}(::situ::protobuf::nested message) noexcept : table_(::std::move(message)) {{}}"
    );
    if let Some(other) = &it.extends {
        let other = names.qualified(other, "Reader");
        let _ = writeln!(text, "  explicit {class}(const {other}& extended) noexcept;");
        let _ = writeln!(
            bodies,
            "inline {class}::{class}(const {other}& extended) noexcept : \
             {class}(::situ::protobuf::extension::message_of(extended)) {{}}"
        );
    }
    text.push_str("  [[nodiscard]] const ::situ::protobuf::read_error& error() const& noexcept { return table_.error(); }\n");
    text.push_str(
        "  [[nodiscard]] ::situ::protobuf::read_error error() const&& noexcept { return table_.error(); }\n",
    );
    text.push_str("  /// The message as bytes.\n");
    borrowed(text, "::std::span<const ::std::uint8_t>", "as_bytes", "return table_.bytes();");
    text.push_str("  /// The fields that are not known.\n");
    let unknown = format!("::situ::protobuf::unknown_fields<{layout}>");
    borrowed(text, &unknown, "unknown_fields", "return table_.unknown_fields();");
    let methods = names.methods(it);
    for (slot, field) in slots.iter().enumerate() {
        getter(names, it, (slot, field), &methods[field.name.as_str()], text, bodies);
    }
    let _ = writeln!(text, "\n private:\n  friend ::situ::protobuf::extension;\n  {table} table_;\n}};");
}

/// A getter whose result is borrowed from the reader, so that it is not to be had of one that ends at once.
fn borrowed(text: &mut String, result: &str, name: &str, body: &str) {
    let _ = writeln!(text, "  [[nodiscard]] {result} {name}() const& noexcept {{ {body} }}");
    let _ = writeln!(text, "  {result} {name}() const&& = delete;");
}

fn layout(names: &Names, name: &str, full: &str, slots: &[&Field], text: &mut String) {
    let count = slots.len();
    let _ = writeln!(text, "\n/// Which fields a `{full}` has.\nstruct {name} {{");
    let _ = writeln!(text, "  static constexpr ::std::size_t size = {count};");
    let pairs: Vec<String> = oneofs(slots).iter().map(|(from, to)| format!("{{{from}, {to}}}")).collect();
    let pairs = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(", ")) };
    let _ = writeln!(
        text,
        "  static constexpr ::std::array<::std::pair<::std::uint16_t, ::std::uint16_t>, {count}> oneofs{{{pairs}}};"
    );
    text.push_str(
        "  static constexpr int slot(::std::uint32_t number, ::situ::protobuf::wire_type wire) noexcept {\n",
    );
    if slots.is_empty() {
        text.push_str("    return static_cast<void>(number), static_cast<void>(wire), -1;\n  }\n");
    } else {
        text.push_str("    using wire_type = ::situ::protobuf::wire_type;\n    switch (number) {\n");
        for (slot, field) in slots.iter().enumerate() {
            let wire = if field.is_group { "group".to_owned() } else { field.wire().to_lowercase() };
            let packed =
                if field.is_repeated && field.is_numeric() { " || wire == wire_type::bytes" } else { "" };
            let _ = writeln!(
                text,
                "      case {}:\n        return wire == wire_type::{wire}{packed} ? {slot} : -1;",
                field.number
            );
        }
        text.push_str("      default:\n        return -1;\n    }\n  }\n");
    }
    text.push_str("  static constexpr bool accepts(int slot, ::std::int32_t number) noexcept {\n");
    let closed: Vec<(usize, &[i32])> = (0..)
        .zip(slots)
        .filter_map(|(slot, field)| Some((slot, names.model.closed_numbers(field)?)))
        .collect();
    if closed.is_empty() {
        text.push_str("    return static_cast<void>(slot), static_cast<void>(number), true;\n  }\n};\n");
        return;
    }
    text.push_str("    switch (slot) {\n");
    for (slot, numbers) in closed {
        let same: Vec<String> = numbers.iter().map(|it| format!("number == {}", int32(*it))).collect();
        let _ = writeln!(text, "      case {slot}:\n        return {};", same.join(" || "));
    }
    text.push_str("      default:\n        return true;\n    }\n  }\n};\n");
}

fn getter(
    names: &Names,
    message: &Message,
    (slot, it): (usize, &Field),
    methods: &Methods,
    text: &mut String,
    bodies: &mut String,
) {
    let (name, number) = (&it.name, it.number);
    let Methods { get: own, has, .. } = methods;
    let layout = names.qualified(&message.full_name, "Layout");
    if !it.is_repeated {
        let _ = writeln!(text, "\n  /// Whether there is a field {number}.");
        let _ =
            writeln!(text, "  [[nodiscard]] bool {has}() const noexcept {{ return table_.has({slot}); }}");
    } else {
        text.push('\n');
    }
    let _ = writeln!(text, "  /// `{name}`, field {number}.");
    match (&it.kind, it.is_repeated) {
        (Kind::Scalar(_) | Kind::Enum(_), is_repeated) => {
            let (value, kind) = number_type(names, &it.kind);
            if is_repeated {
                let result = format!("::situ::protobuf::numbers<{kind}, {layout}>");
                borrowed(text, &result, own, &format!("return table_.all<{kind}>({slot});"));
            } else {
                let _ = writeln!(
                    text,
                    "  [[nodiscard]] {value} {own}() const noexcept {{ return table_.get<{kind}>({slot}, {}); }}",
                    default(names, it)
                );
            }
        }
        (Kind::String, false) => {
            let body = format!("return table_.get_string({slot}{});", text_default(it));
            borrowed(text, "::std::string_view", own, &body);
        }
        (Kind::Bytes, false) => {
            let body = format!("return table_.get_bytes({slot}{});", text_default(it));
            borrowed(text, "::std::span<const ::std::uint8_t>", own, &body);
        }
        (Kind::String, true) => {
            let result = format!("::situ::protobuf::strings<{layout}>");
            borrowed(text, &result, own, &format!("return table_.all_strings({slot});"));
        }
        (Kind::Bytes, true) => {
            let result = format!("::situ::protobuf::byte_strings<{layout}>");
            borrowed(text, &result, own, &format!("return table_.all_bytes({slot});"));
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
            // Elements hold what they lie in, but only where it is not the program's.
            let _ = writeln!(text, "  {result} {own}() const;");
            let class = names.simple(&message.full_name, "Reader");
            let _ = writeln!(bodies, "inline {result} {class}::{own}() const {{ return {body}; }}");
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

/// The default of a string or of bytes as a further argument, with its length, as there may be zeros in it.
fn text_default(it: &Field) -> String {
    let Some(text) = &it.default else { return String::new() };
    let bytes = match it.kind {
        Kind::Bytes => unescape(text),
        _ => text.clone().into_bytes(),
    };
    let mut literal = String::new();
    for byte in &bytes {
        // Three octal digits end by themselves.
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
