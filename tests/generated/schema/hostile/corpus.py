#!/usr/bin/env python3
"""Writes the corpus of hostile names: names.idl, the packages of ROS `std` and `names`, and names.proto with
plain.proto. A hostile name means something in Rust, in C++, in one of their libraries, or in generated code. The
corpus has each of them in each place where a schema may have it. The test is that the generated code compiles."""

import pathlib

HERE = pathlib.Path(__file__).parent

RUST = """abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen
if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type typeof
union unsafe unsized use virtual where while yield""".split()
CPP = """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not
not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using
virtual void volatile wchar_t while xor xor_eq""".split()
LIBRARIES = """BIG_ENDIAN BUFSIZ DOMAIN EOF ERANGE FILE HUGE_VAL INFINITY INT_MAX LITTLE_ENDIAN NAN NULL OVERFLOW PATH_MAX
RAND_MAX SEEK_SET SIGINT UNDERFLOW abs assert core errno int32_t linux log major max min minor offsetof size_t std stdin stderr
stdout time uint8_t unix value_type bool8 bulk_lengths_of self_""".split()
RUST_LIBRARY = """Box BTreeMap Clone Copy Debug Default Drop Eq Err Error Fn From Hash I Into Iterator None Ok Option Ord
PartialEq Result Rc Self Send Sized Some String Sync Vec core std alloc u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 usize isize str
char bool""".split()
SITU = """x y A B C D E F G H K L M N O P Q R S T U V W X Y Z S_ T_ Table Table_ table table_ SituStorage SituStorage_ Storage
Storage_ Unbounded Flat Heap Ros Value Key Visitor Structure Message Messages Other Held Held0 situ situ_held situ_schemas
situ_types Member Members Check Facts Invalid Lines MemoryMut Slide Stored Version Writer Ref Mut fixed PLACES COUNT SIZES
ALIGNMENT CANONICAL Region Maybe Vector Text Bool base base_ bulk_lengths body_size init_at layout_hash schema schema_ schema_hash
situ_storage Self_ as_ref clone load_into part reborrow set share store to_message set_ discriminator discriminator_ select case_
begin end index payload Nothing holds get get_if alternative at cases try_set visit_active has_x x x_if x_mut set_x try_set_x y
has_y push_y add_y insert_y new_ empty is_empty contains insert remove enumerator_name situ_default label value
name names labels initial index_of lengths message messages visit visit_ Part Visitor_ values key result other place body
new default_ init from_raw raw Case Payload""".split()
WORDS = list(dict.fromkeys(RUST + CPP + LIBRARIES + RUST_LIBRARY + SITU))
IDL_KEYWORDS = """abstract any alias attribute bitfield bitmask bitset boolean case char component connector const consumes
context custom default double exception emits enum eventtype factory false finder fixed float getraises getter home import in
inout interface local long manages map mirrorport module multiple native object octet oneway out primarykey private port porttype
provides public publishes raises readonly setraises sequence setter short string struct supports switch true truncatable typedef
typeid typename typeprefix unsigned union uses valuebase valuetype void wchar wstring int8 uint8 int16 int32 int64 uint16 uint32
uint64""".split()


def idl(word):
    return f"_{word}" if word.lower() in IDL_KEYWORDS else word


def apart(words):
    """IDL forbids names that differ only in case within a scope. Returns the first of each such group, then the others."""
    seen, first, rest = set(), [], []
    for word in words:
        (rest if word.lower() in seen else first).append(word)
        seen.add(word.lower())
    return first, rest


def blocks(text):
    return "\n".join(text) + "\n"


def write_idl():
    types = RUST_LIBRARY + SITU + LIBRARIES + ["union", "class", "template", "operator", "type", "self", "fn"]
    types = [it for it in dict.fromkeys(types)]
    lines = ["// Written by corpus.py: names that mean something elsewhere, in each place where IDL may have a name.", ""]
    for number, words in enumerate(apart(types)):
        lines += [f"module types{number} {{"]
        for at, word in enumerate(words):
            # The next one uses each in turn, in containers too.
            used = idl(words[at - 1]) if at % 16 else "long"
            if at % 8 == 1:
                lines += [f"enum {idl(word)} {{ one_{at}, two_{at} }};"]
            elif at % 8 == 3:
                lines += [f"union {idl(word)} switch (long) {{ case 1: {used} x; case 2: sequence<{used}> y; }};"]
            elif at % 8 == 5:
                lines += [f"typedef sequence<{used}, 3> {idl(word)};"]
            elif at % 8 == 6:
                lines += [f"@appendable @region struct {idl(word)} {{ long x; {used} y; }};"]
            elif at % 8 == 7:
                lines += [f"struct {idl(word)} {{ @optional @external {used} y; long x; }};"]
            else:
                lines += [f"struct {idl(word)} {{ {used} x; sequence<string<3>, 2> y; }};"]
        lines += ["};"]
    for number, words in enumerate(apart(WORDS)):
        lines += [f"module places{number} {{"]
        lines += ["struct Members {"] + [f"  sequence<uint8, 2> {idl(it)};" for it in words] + ["};"]
        lines += ["@flat struct Numbers {"] + [f"  uint8 {idl(it)};" for it in words] + ["};"]
        lines += ["struct Derived : Members {", "  long derived;", "};", "module enumerators {"]
        lines += ["enum Words {"] + [f"  {idl(it)}," for it in words[:-1]] + [f"  {idl(words[-1])}", "};"]
        lines += ["struct Chosen { Words one; @default(" + idl(words[0]) + ") Words other; };", "};"]
        lines += [f"union Cases switch (long) {{"]
        lines += [f"  case {at}: {'string' if at % 2 else 'long'} {idl(it)};" for at, it in enumerate(words)] + ["};"]
        lines += [f"union PlainCases switch (long) {{"]
        lines += [f"  case {at}: long {idl(it)};" for at, it in enumerate(words) if at % 3 == 0 or "x" in it] + ["};"]
        for part in range(0, len(words), 64):
            some = words[part : part + 64]
            lines += [f"@bit_bound(64) bitmask Flags{part} {{"] + [f"  {idl(it)}," for it in some[:-1]]
            lines += [f"  {idl(some[-1])}", "};"]
        lines += ["module constants {"] + [f"const long {idl(it)} = {at};" for at, it in enumerate(words)] + ["};"]
        lines += ["@flat struct Bulks {"] + [f"  @bulk sequence<uint8> {idl(it)};" for it in words[::8]] + ["};"]
        lines += ["};"]
    # Nested modules, and separate ones.
    for word in ["std", "core", "alloc", "S", "T", "self", "class", "crate", "template", "Storage", "detail", "mod", "super",
                 "errno", "NULL", "exp", "open", "read", "index", "main", "situ_held", "situ_schemas", "SituStorage"]:  # fmt: skip
        lines += [f"module {idl(word)} {{"]
        lines += ["struct Point { double x; string name; sequence<Point> more; };"]
        lines += ["enum Kind { ONE, TWO }; @bit_bound(8) bitmask Flags { a, b };"]
        lines += ["union Which switch (Kind) { case ONE: Point point; case TWO: string text; };"]
        lines += ["const string TEXT = \"text\"; const double RATIO = 0.5;"]
        lines += ["module std { struct Size { long std; }; module situ { struct Inner { Size size; Which which; }; }; };"]
        lines += ["};"]
    # Without a module.
    lines += [f"struct {it} {{ long x; string y; }};" for it in ["time", "div", "log", "Foo", "Foo_", "Foo__", "Bar_", "Bar"]]
    lines += ["union Sum switch (long) { case 1: Foo x; case 2: Foo_ y; };", "struct Sum_ { Sum x; };", "struct Sum_cases { long x; };"]
    lines += ["const long signal = 3;", "enum abs { ABS_ONE, ABS_TWO };"]
    lines += ["module a { module b__c { struct d { long x; }; }; };", "module a__b { module c { struct d { string x; }; }; };"]
    (HERE / "names.idl").write_text(blocks(lines))


def write_ros():
    types = [it for it in dict.fromkeys(RUST_LIBRARY + SITU + LIBRARIES) if it[0].isupper() and "_" not in it]
    fields = [it for it in WORDS if it.islower() and not it.endswith("_") and "__" not in it]
    constants = [it for it in WORDS if it.isupper() and not it.endswith("_")] + ["SELF", "CLASS", "NEW", "X", "Y", "SET_Y"]
    for package in ("names", "std"):
        folder = HERE / "share" / package
        (folder / "msg").mkdir(parents=True, exist_ok=True)
        (folder / "srv").mkdir(exist_ok=True)
        (folder / "action").mkdir(exist_ok=True)
        (folder / "package.xml").write_text(f'<package format="3"><name>{package}</name><version>0.0.0</version></package>\n')
        for at, name in enumerate(types if package == "names" else ["S", "String", "T", "Std"]):
            used = types[at - 1] if at % 8 and package == "names" else "string"
            text = [f"{used} x", "string[<=2] y", f"int32 {name.upper()}=1"]
            (folder / "msg" / f"{name}.msg").write_text(blocks(text))
        members = [f"string<=3 {it}" for it in dict.fromkeys(fields)]
        names = [f"int32 {it}={at}" for at, it in enumerate(dict.fromkeys(constants))]
        (folder / "msg" / "Everything.msg").write_text(blocks(names + members))
        if package == "names":
            all = [f"{name} member_{at}" for at, name in enumerate(types)] + ["std/S s", "std/String text", "std/T t"]
            (folder / "msg" / "All.msg").write_text(blocks(all))
        for name in ("Service", "S", "Future"):
            (folder / "srv" / f"{name}.srv").write_text("int32 S=1\nint32 s\n---\nint32 T=2\nint32 t\n")
    numbers = [f"int32 {it}" for it in dict.fromkeys(fields)]
    (HERE / "share/names/srv/Everything.srv").write_text(blocks(numbers + ["---"] + numbers))


def message(name, fields, more=""):
    return [f"message {name} {{"] + [f"  {it} = {at};" for at, it in enumerate(fields, 1)] + ([more] if more else []) + ["}"]


def write_proto():
    own = """add add_x append as_bytes block bytes entry error extended_ extension fixed give_back has_error has_has_x has_s home_ int32
        it message nested new new_ number parent_ place_ raw s_in_pieces set_s_in_pieces string table take_over try_from wire wire_type
        FieldsLayout FieldsReader FieldsReader_ FieldsWriter __FILE__ __LINE__ _Bool SITU_PROTOBUF_INLINE""".split()
    words = list(dict.fromkeys(WORDS + own))
    # Without a package: enums of these names, as only an enum's name does not change beside other types.
    lines = ["// Written by corpus.py: enums in no package.", 'syntax = "proto2";', ""]
    lines += [f"enum {word} {{ V{at} = {at}; }}" for at, word in enumerate(words) if word != "std"]
    (HERE / "plain.proto").write_text(blocks(lines))

    lines = ["// Written by corpus.py: names that mean something elsewhere, in each place where .proto may have a name.", 'syntax = "proto2";']
    lines += ["", "package std.template.self.situ;", "", 'import "plain.proto";', ""]
    kinds = ["optional int32", "optional string", "repeated string", "optional bytes", "optional Words", "repeated Words",
             "optional Fields", "repeated int32", "repeated double"]  # fmt: skip
    # A single underscore is no name.
    fields = []
    for at, word in enumerate(words):
        kind = kinds[at % len(kinds)]
        end = f" [default = {word}]" if kind == "optional Words" else " [packed = true]" if "double" in kind else ""
        fields.append(f"{kind} {word} = {at + 1}{end};")
    lines += ["message Fields {", "  enum Words {"] + [f"    {it} = {at};" for at, it in enumerate(words)]
    # Names of enumerators and of fields share one scope.
    lines[lines.index("message Fields {")] = "message Enumerators {"
    lines += ["  }", "}", "message Fields {"]
    lines += [f"  {it}".replace("Words ", "Enumerators.Words ") for it in fields] + ["}"]
    lines += ["message Types {"]
    lines += [f"  optional .{it} field_{at} = {at + 1};" for at, it in enumerate(words) if it != "std"] + ["}"]
    # Each has content, so that it is a module too.
    modules = """self Self super crate type mod fn core std alloc u8 str Outer outer situ class template and Result Option Clone it
        key value other f state __FILE__ NULL errno""".split()
    for at, word in enumerate(modules):
        lines += [f"message {word} {{", "  message D { optional int32 x = 1; }", f"  enum eq {{ EQ_{at} = 0; }}"]
        lines += [f"  optional D {word} = 1; map<string, eq> more = 2; oneof {word.lower()}_ {{ int32 {word}Reader = 3; eq e = 4; }}", "}"]
    lines += ["enum shelf { BOOK = 0; }", "message Shelf { message M { optional shelf x = 1; } optional M m = 1; }"]
    lines += ["message C { message D { optional int32 x = 1; } enum E { C1 = 0; } optional D d = 1; optional C_D other = 2; }"]
    lines += ["message C_D { optional C.E x = 1; }", "enum C_E { C2 = 0; }", "enum C_DReader { C3 = 0; }", "message CWriter { optional C_E x = 1; }"]
    lines += ["message set_a { optional int32 aWriter = 1; optional set_a has_aWriter = 2; }"]
    lines += message(
        "Accessors",
        ["optional string x", "optional int32 has_x", "optional string s", "optional string s_in_pieces",
         "optional int32 set_s_in_pieces", "optional int32 table_", "optional int32 error", "optional int32 new",
         "optional int32 self", "optional int32 self_", "optional int32 typeid", "optional int32 NAN", "optional C.D d",
         "optional C_D c_d", "optional Enumerators.Words choice", "optional int32 try_from"],
        "  extensions 100 to max;",
    )  # fmt: skip
    extensions = "class std self foo_bar fooBar FooBar Accessors accessors x has_x error table_ new try_from NULL".split()
    lines += ["message Extensions {", "  extend .std.template.self.situ.Accessors {"]
    lines += [f"    optional string {it} = {at};" for at, it in enumerate(extensions, 100)] + ["  }", "}"]
    lines += ["extend Accessors {", "  optional group Group = 200 { optional int32 group = 1; }", "  repeated int32 C = 201;".replace(" C ", " c "), "}"]
    lines += ["message CExtension { optional int32 x = 1; }"]
    lines += ["service operator { rpc delete(C) returns (C_D); }", "service Service { rpc self(C) returns (C_D); }"]
    (HERE / "names.proto").write_text(blocks(lines))


if __name__ == "__main__":
    write_idl()
    write_ros()
    write_proto()
